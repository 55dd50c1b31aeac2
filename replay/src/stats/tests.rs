//! Counting: one row a rule.

use dshlog_codec::Place;
use dshlog_codec::json::Doc;
use proptest::prelude::*;

use super::*;

/// A log out of types and payloads; one millisecond passes with each event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    rows: Vec<String>,
    time: i64,
}

impl Log {
    /// The next event happens then.
    pub(crate) fn at(&mut self, time: i64) -> &mut Self {
        self.time = time;
        self
    }

    /// One more event.
    pub(crate) fn tell(&mut self, kind: &str, data: &str) -> &mut Self {
        let (seq, time) = (self.rows.len(), self.time);
        self.rows.push(format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}}}"#));
        self.time += 1;
        self
    }

    /// Hand every event to `see`.
    pub(crate) fn each(&self, mut see: impl FnMut(&Event<'_>)) {
        for row in &self.rows {
            let doc = Doc::parse(row.as_str()).unwrap();
            see(&Event::from_row(doc.root(), Place::default()));
        }
    }

    fn header(&mut self, model: &str) -> &mut Self {
        let config = format!(r#"{{"header":{{"config":{{"provider":"p","model":"{model}"}}}}}}"#);
        self.tell("request/header", &config)
    }

    fn answer(&mut self, step: u64, usage: &str) -> &mut Self {
        let source = r#""source":{"kind":"model","provider":"p","model":"m"}"#;
        let data =
            format!(r#"{{"turn":1,"step":{step},"message":{{{source}}},"usage":{usage},"stream":[]}}"#);
        self.tell("assistant/message", &data)
    }

    fn call(&mut self, id: &str, name: &str) -> &mut Self {
        self.tell("tool/call", &format!(r#"{{"turn":1,"step":1,"callId":"{id}","name":"{name}"}}"#))
    }

    fn result(&mut self, id: &str, is_error: bool, code: &str) -> &mut Self {
        let error = if code.is_empty() { String::new() } else { format!(r#","error":{{"code":"{code}"}}"#) };
        let message = format!(r#"{{"source":{{"kind":"tool","callId":"{id}"}},"isError":{is_error}}}"#);
        self.tell("tool/result", &format!(r#"{{"turn":1,"step":1,"message":{message}{error}}}"#))
    }

    fn turn(&mut self, number: u64) -> &mut Self {
        self.tell("turn/start", &format!(r#"{{"turn":{number}}}"#))
    }

    fn end(&mut self, number: u64, reason: &str) -> &mut Self {
        self.tell("turn/end", &format!(r#"{{"turn":{number},"reason":{reason}}}"#))
    }

    /// Days of 1000 ms.
    fn stats(&self) -> LogStats {
        self.stats_in(i64::MIN..i64::MAX)
    }

    fn stats_in(&self, window: std::ops::Range<i64>) -> LogStats {
        let day = |time: Millis| i32::try_from(time.0.div_euclid(1000)).ok().map(Day);
        let mut fold = Fold::new(|time: Millis| day(time).filter(|_| window.contains(&time.0)));
        self.each(|event| fold.see(event));
        fold.finish()
    }

    fn total(&self) -> Counters {
        total(&self.stats())
    }
}

fn total(stats: &LogStats) -> Counters {
    stats.cells.values().fold(Counters::default(), |mut all, cell| {
        all.merge(cell);
        all
    })
}

fn named(counts: &Named) -> Vec<(&str, u64)> {
    counts.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}

const SERVER_ERROR: &str = r#"{"turn":1,"step":1,"stream":[
    {"type":"chunk","time":1,"chunk":{"type":"usage","usage":{"inputTokens":1,"outputTokens":1}}},
    {"type":"chunk","time":2,"chunk":{"type":"usage","usage":{"inputTokens":100,"outputTokens":20}}},
    {"type":"chunk","time":3,"chunk":{"type":"finish","reason":{"kind":"error","failure":{"code":"SERVER"}}}}]}"#;

/// Where `tokenUsage` of dsh lets attempts of a step replace each other (P-29), each counts here: two attempts without
/// a retry between them, as behind a compaction, and the answer.
#[test]
fn every_attempt_counts() {
    let mut log = Log::default();
    log.turn(1).tell("step/start", r#"{"turn":1,"step":1}"#).header("m");
    log.tell("assistant/attempt", SERVER_ERROR).tell("assistant/attempt", SERVER_ERROR);
    log.tell("llm/retry-started", r#"{"turn":1,"step":1}"#);
    log.tell("assistant/attempt", r#"{"turn":1,"step":1,"stream":[]}"#);
    log.answer(
        1,
        r#"{"inputTokens":10,"outputTokens":5,"cacheReadTokens":3,"cacheWriteTokens":2,"reasoningTokens":4}"#,
    );
    let total = log.total();
    let tokens = Tokens { input: 210, cache_read: 3, cache_write: 2, output: 45, reasoning: 4 };
    assert_eq!(total.tokens, tokens);
    assert_eq!((tokens.sent(), tokens.total()), (215, 260));
    assert_eq!(total.requests, Requests { answers: 1, attempts: 3, unmetered: 1, ..Requests::default() });
    assert_eq!(named(&total.failures), [("SERVER", 2), ("cut-off", 1)]);
    assert_eq!(total.retries, 1);
}

/// An attempt with more images than the provider takes, for one, never leaves the adapter.
#[test]
fn an_attempt_that_was_not_sent() {
    let mut log = Log::default();
    log.tell("assistant/attempt", &SERVER_ERROR.replace("SERVER", "IMAGE_OFFLOAD_REQUIRED"));
    let total = log.total();
    assert_eq!((total.requests, total.tokens, total.unsent), (Requests::default(), Tokens::default(), 1));
    assert_eq!(named(&total.failures), [("IMAGE_OFFLOAD_REQUIRED", 1)]);
}

/// A message tells its usage itself; only when it does not, its stream does.
#[test]
fn usage_of_an_answer() {
    let mut log = Log::default();
    log.tell("assistant/message", &SERVER_ERROR.replacen('{', r#"{"usage":{"inputTokens":7},"#, 1));
    log.tell("assistant/message", SERVER_ERROR);
    log.tell("assistant/message", r#"{"usage":null,"interrupted":true,"stream":7}"#);
    log.tell("assistant/message", r#"{"usage":{"inputTokens":-1,"outputTokens":1.5,"cacheReadTokens":"3"}}"#);
    let total = log.total();
    assert_eq!(total.tokens, Tokens { input: 107, output: 20, ..Tokens::default() });
    assert_eq!(total.requests, Requests { answers: 4, unmetered: 1, ..Requests::default() });
    assert_eq!(total.interrupted, 1);
}

#[test]
fn requests_of_other_kinds() {
    let mut log = Log::default();
    log.header("m");
    log.tell("session/title-llm-request", r#"{"route":{"provider":"p","model":"small"}}"#);
    log.tell(
        "compaction/summary",
        r#"{"provider":"p","model":"m","llmStreamCall":true,"usage":{"inputTokens":170,"outputTokens":14}}"#,
    );
    log.tell("compaction/summary", r#"{"provider":"p","model":"m","llmStreamCall":true}"#);
    log.tell("compaction/summary", r#"{"provider":"p","model":"m"}"#);
    log.tell("compaction/end", r#"{"error":{"message":"x"}}"#).tell("compaction/end", "{}");
    log.tell("web/deepseek-search-llm-request", r#"{"body":{"model":"searcher"}}"#);
    let stats = log.stats();
    let found = total(&stats);
    let expected = Requests { titles: 1, compactions: 2, searches: 1, unmetered: 3, ..Requests::default() };
    assert_eq!((found.requests, found.requests.total()), (expected, 4));
    assert_eq!(found.tokens, Tokens { input: 170, output: 14, ..Tokens::default() });
    assert_eq!(found.failed_compactions, 1);
    let models: Vec<&str> = stats.cells.keys().map(|key| key.model.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(models, ["m", "searcher", "small"]);
}

#[test]
fn outcomes_of_turns() {
    let mut log = Log::default();
    log.at(100).turn(1).at(350).end(1, r#"{"kind":"completed"}"#);
    log.turn(2).end(2, r#"{"kind":"error","error":{"code":"SERVER"}}"#);
    log.turn(3).end(3, r#"{"kind":"error"}"#);
    log.turn(4).end(4, "null");
    log.turn(5).end(5, r#"{"kind":"aborted","reason":{"kind":"user"}}"#);
    log.turn(6);
    let total = log.total();
    assert_eq!((total.turns, total.open_turns), (6, 1));
    assert_eq!(named(&total.outcomes), [("aborted", 1), ("completed", 1), ("error", 2), ("unknown", 1)]);
    assert_eq!(named(&total.turn_errors), [("SERVER", 1), ("UNKNOWN", 1)]);
    assert_eq!((total.turn_time.count(), total.turn_time.max()), (5, Some(250)));
}

/// Only calls that ran are calls; the results that a closing writes are no answers of tools.
#[test]
fn calls_and_their_ends() {
    let mut log = Log::default();
    log.turn(1);
    log.at(10).call("a", "bash").at(40).result("a", false, "");
    log.result("a", false, "");
    log.at(50).call("b", "bash").at(60).result("b", true, "");
    log.call("c", "read").result("c", true, "TOOL_OUTCOME_UNKNOWN");
    log.call("d", "read").result("d", true, "ABORTED_BEFORE_DISPATCH");
    log.result("e", true, "TOOL_NOT_STARTED");
    log.call("f", "read");
    log.tell("tool/ptc-dispatch-start", r#"{"rootCallId":"f","subCallId":"f/1","name":"grep"}"#);
    log.tell("tool/ptc-dispatch-start", r#"{"rootCallId":"f","subCallId":"f/2","name":"grep"}"#);
    log.end(1, r#"{"kind":"interrupted"}"#);
    log.result("f", true, "");
    log.tell("tool/ptc-dispatch", r#"{"rootCallId":"f","subCallId":"f/1","name":"grep","isError":true}"#);
    let total = log.total();
    let tools: Vec<_> = total
        .tools
        .iter()
        .map(|(name, tool)| {
            let ToolCounters { calls, nested, errors, unknown, latency } = tool;
            (name.as_str(), *calls, *nested, *errors, *unknown, latency.count(), latency.sum())
        })
        .collect();
    assert_eq!(tools, [("bash", 2, 0, 1, 0, 2, 40), ("grep", 2, 2, 1, 1, 1, 4), ("read", 2, 0, 0, 2, 0, 0)]);
    assert_eq!(total.not_started, 2);
    assert_eq!(total.all_tools().calls, 6);
}

/// What lies below the last inherited mark is the parent's; what a fork closes is no turn and no call of the child.
#[test]
fn a_child_counts_its_own_events_only() {
    let mut log = Log::default();
    log.turn(1).tell("step/start", r#"{"turn":1,"step":1}"#).header("m");
    log.answer(1, r#"{"inputTokens":1000}"#).call("a", "bash").call("b", "bash");
    log.tell("session/end-seed", r#"{"inherited":true}"#);
    log.result("a", true, "TOOL_OUTCOME_UNKNOWN").result("c", true, "TOOL_NOT_STARTED");
    log.tell("step/end", r#"{"turn":1,"step":1}"#).end(1, r#"{"kind":"forked"}"#);
    log.tell("session/end-seed", "{}");
    log.turn(2).tell("assistant/attempt", SERVER_ERROR).end(2, r#"{"kind":"completed"}"#);
    let stats = log.stats();
    let found = total(&stats);
    assert_eq!(stats.inherited, 6);
    assert_eq!(found.tokens.input, 100);
    assert_eq!((found.turns, found.not_started, found.all_tools().calls), (1, 0, 0));
    assert_eq!(named(&found.outcomes), [("completed", 1), ("forked", 1)]);
    let models: Vec<_> = stats.cells.keys().map(|key| key.model.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(models, ["m"], "the header of the parent still holds");

    log.tell("session/end-seed", r#"{"inherited":true}"#);
    assert_eq!(log.stats(), LogStats { inherited: 15, ..LogStats::default() }, "only the last mark counts");
}

/// Each thing is counted once, on the day when it began or was settled, and only when that is asked for.
#[test]
fn days_and_windows() {
    let mut log = Log::default();
    log.at(999).turn(1).header("m");
    log.at(1500).call("a", "bash").at(2500).result("a", false, "");
    log.at(2600).answer(1, r#"{"inputTokens":1}"#).at(3100).end(1, r#"{"kind":"completed"}"#);
    let by_day = |stats: &LogStats| -> Vec<(i32, u64, u64, u64)> {
        let row = |(key, c): (&Key, &Counters)| (key.day.0, c.turns, c.all_tools().calls, c.requests.total());
        stats.cells.iter().map(row).collect()
    };
    assert_eq!(by_day(&log.stats()), [(0, 1, 0, 0), (1, 0, 1, 0), (2, 0, 0, 1)]);
    assert_eq!(by_day(&log.stats_in(1000..2600)), [(1, 0, 1, 0)]);
    assert_eq!(by_day(&log.stats_in(1600..9000)), [(2, 0, 0, 1)]);
    assert_eq!(total(&log.stats()).seen, Some((999, 2600)));
}

#[test]
fn rates() {
    let counters = |decode_ms, decode_tokens| Counters { decode_ms, decode_tokens, ..Counters::default() };
    assert_eq!(counters(2_000, 90).decode_rate(), Some(45_000));
    assert_eq!(counters(0, 90).decode_rate(), None);
}

/// JSON has many spellings for one name.
#[test]
fn a_type_counts_however_it_is_escaped() {
    let mut log = Log::default();
    log.tell(r"assistant\u002fmessage", r#"{"usage":{"inputTokens":7}}"#);
    assert_eq!(log.total().tokens.input, 7);
}

/// Any events, however little sense they make together.
fn logs() -> impl Strategy<Value = Log> {
    let event = (0..14_u8, 0..3_u64, 0..4000_i64);
    prop::collection::vec(event, 0..40).prop_map(|events| {
        let mut log = Log::default();
        for (kind, number, time) in events {
            let id = number.to_string();
            log.at(time);
            match kind {
                0 => log.turn(number),
                1 => log.end(number, r#"{"kind":"completed"}"#),
                2 => log.end(number, r#"{"kind":"error","error":{"code":"SERVER"}}"#),
                3 => log.header(&id),
                4 => log.answer(number, r#"{"inputTokens":3,"outputTokens":2}"#),
                5 => log.tell("assistant/attempt", SERVER_ERROR),
                6 => log.call(&id, &id),
                7 => log.result(&id, number == 1, ""),
                8 => log.tell("step/start", &format!(r#"{{"turn":1,"step":{number}}}"#)),
                9 => log.tell("step/end", r#"{"turn":1,"step":1}"#),
                10 => log.tell("session/end-seed", &format!(r#"{{"inherited":{}}}"#, number == 0)),
                11 => log.tell("tool/ptc-dispatch-start", &format!(r#"{{"subCallId":"{id}","name":"x"}}"#)),
                12 => log.tell("session/title-llm-request", "{}"),
                _ => log.tell("tool/ptc-dispatch", &format!(r#"{{"subCallId":"{id}"}}"#)),
            };
        }
        log
    })
}

proptest! {
    #[test]
    fn merging_is_associative(a in logs(), b in logs(), c in logs()) {
        let [a, b, c] = [a, b, c].map(|log| log.total());
        let merged = |one: &Counters, two: &Counters| {
            let mut merged = one.clone();
            merged.merge(two);
            merged
        };
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&a, &Counters::default()), a);
    }

    /// Windows that lie side by side count what the whole counts.
    #[test]
    fn windows_add_up(log in logs(), at in 0..4000_i64) {
        let mut parts = total(&log.stats_in(i64::MIN..at));
        parts.merge(&total(&log.stats_in(at..i64::MAX)));
        prop_assert_eq!(parts, log.total());
    }

    /// Every turn that began came to one end, or to none; every call has a result, or is cut off.
    #[test]
    fn nothing_is_lost(log in logs()) {
        let total = log.total();
        let ended: u64 = total.outcomes.values().sum();
        prop_assert!(total.turns <= ended + total.open_turns);
        for tool in total.tools.values() {
            prop_assert_eq!(tool.calls, tool.latency.count() + tool.unknown);
            prop_assert!(tool.errors <= tool.latency.count() && tool.nested <= tool.calls);
        }
        prop_assert_eq!(total.failures.values().sum::<u64>(), total.requests.attempts + total.unsent);
    }
}
