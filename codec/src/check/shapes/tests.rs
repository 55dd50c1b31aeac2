//! The tables against the text of the specification, and the rules between members as cases.

use super::shape::Shape;
use super::{ShapeFaultKind, check_payload, check_shape, payloads};
use crate::at::Place;
use crate::event::Event;
use crate::json::Doc;
use crate::types::{Generation, Seq};

/// The blocks of notation in the specification, each name with its right side.
fn notation() -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/events-v0-v3.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut shapes: Vec<(String, String)> = Vec::new();
    for block in page.split("```shape\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            let line = line.split(" -- ").next().unwrap();
            match line.split_once(" = ") {
                Some((name, shape)) if !line.starts_with(' ') => {
                    shapes.push((name.trim_matches('"').to_owned(), shape.to_owned()));
                }
                _ => {
                    let (_, shape) = shapes.last_mut().unwrap();
                    shape.push('\n');
                    shape.push_str(line);
                }
            }
        }
    }
    shapes
}

/// Reads notation with a shape beside it, and panics where they part.
struct Reader<'n> {
    names: &'n [(String, String)],
    text: &'n str,
    depth: usize,
}

impl<'n> Reader<'n> {
    fn skip(&mut self) {
        self.text = self.text.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let rest = self.text.strip_prefix(token);
        self.text = rest.unwrap_or(self.text);
        rest.is_some()
    }

    fn need(&mut self, token: &str) {
        assert!(self.eat(token), "`{token}` expected at {:?}", &self.text[..self.text.len().min(60)]);
    }

    fn word(&mut self) -> &'n str {
        self.skip();
        let end = self.text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        word
    }

    fn quoted(&mut self) -> &'n str {
        self.need("\"");
        let (word, rest) = self.text.split_once('"').unwrap();
        self.text = rest;
        word
    }

    /// One shape of the notation, which must be `shape`.
    fn shape(&mut self, shape: &Shape) {
        self.skip();
        if self.text.starts_with('"') {
            let mut names = vec![self.quoted()];
            while self.eat("|") {
                names.push(self.quoted());
            }
            assert!(matches!(shape, Shape::OneOf(known) if *known == names), "{names:?}");
        } else if self.eat("[") {
            let Shape::List(of, least, most) = shape else { panic!("a list at {}", self.text) };
            self.shape(of);
            self.need("]");
            let bounds = match () {
                () if self.eat("+") => (1, usize::MAX),
                () if self.eat("=1") => (1, 1),
                () => (0, usize::MAX),
            };
            assert_eq!((*least, *most), bounds);
        } else if self.eat("{") {
            self.members(shape);
        } else if self.eat("switch ") {
            self.switch(shape);
        } else {
            self.name(shape);
        }
    }

    fn members(&mut self, shape: &Shape) {
        let Shape::Members(members) = shape else { panic!("an object at {}", self.text) };
        let (mut required, mut optional) = (0, 0);
        let mut open = false;
        while !self.eat("}") {
            if self.eat("...") {
                open = true;
                continue;
            }
            let name = self.word();
            let (table, seen) = if self.eat("?:") {
                (members.optional, &mut optional)
            } else {
                self.need(":");
                (members.required, &mut required)
            };
            *seen += 1;
            let found = table.iter().find(|(key, _)| *key == name);
            self.shape(found.unwrap_or_else(|| panic!("no member {name}")).1);
            self.eat(",");
        }
        assert_eq!(
            (required, optional, open),
            (members.required.len(), members.optional.len(), members.open),
            "{}",
            self.text
        );
    }

    fn switch(&mut self, shape: &Shape) {
        let Shape::Switch { on, cases, other } = shape else { panic!("a switch at {}", self.text) };
        assert_eq!(self.word(), *on);
        self.need("{");
        let mut cases = cases.iter();
        let mut has_other = false;
        while !self.eat("}") {
            if self.eat("other") {
                self.need("=>");
                has_other = true;
                self.shape(other.unwrap());
                continue;
            }
            let (names, shape) = cases.next().unwrap();
            for (i, name) in names.iter().enumerate() {
                assert!(i == 0 || self.eat(","));
                assert_eq!(self.quoted(), *name);
            }
            self.need("=>");
            self.shape(shape);
        }
        assert_eq!((cases.count(), has_other), (0, other.is_some()), "{}", self.text);
    }

    fn name(&mut self, shape: &Shape) {
        let word = self.word();
        let null = self.eat("|null");
        let good = match word {
            "count" if null => matches!(shape, Shape::CountOrNull),
            _ if null => false,
            "str" => matches!(shape, Shape::Str),
            "str1" => matches!(shape, Shape::Str1),
            "bool" => matches!(shape, Shape::Bool),
            "true" => matches!(shape, Shape::True),
            "count" => matches!(shape, Shape::Count),
            "pos" => matches!(shape, Shape::Pos),
            "int" => matches!(shape, Shape::Int),
            "num" => matches!(shape, Shape::Num),
            "json" => matches!(shape, Shape::Any),
            "object" => matches!(shape, Shape::Object),
            "lossless" => matches!(shape, Shape::Lossless),
            "prior" => matches!(shape, Shape::Prior),
            // Block holds itself; once inside it, its own comparison goes on outside.
            "Block" if self.depth > 0 => matches!(shape, Shape::Switch { on: "type", .. }),
            _ if word.parse::<u64>().is_ok() => {
                matches!(shape, Shape::Number(n) if *n == word.parse().unwrap())
            }
            _ => {
                self.named(word, shape);
                true
            }
        };
        assert!(good, "{word}");
    }

    fn named(&mut self, name: &str, shape: &Shape) {
        let names = self.names;
        let (_, text) = names.iter().find(|(known, _)| known == name).expect(name);
        let depth = self.depth + usize::from(name == "Block");
        let mut inner = Reader { names, text, depth };
        // What a rule chooses from is named by the rule, and its plain form is in the table.
        let plain;
        let shape = if let Shape::Choose(choose) = shape {
            plain = Doc::parse(r#"{"version":3}"#).unwrap();
            choose(plain.root(), Generation(1))
        } else {
            shape
        };
        inner.shape(shape);
        inner.skip();
        assert_eq!(inner.text, "", "{name}");
    }
}

const DELIVERY: &str = "session-log-deepseek/delivery-accepted";

const DESCRIPTOR: &str = "subagent/descriptor";

#[test]
fn tables_are_those_of_the_specification() {
    let names = notation();
    let mut types = 0;
    for (name, _) in names.iter().filter(|(name, _)| name.contains('/')) {
        for generation in [0, 1] {
            let shape = payloads::payload(name, Generation(generation)).expect(name);
            Reader { names: &names, text: "", depth: 0 }.named(name, shape);
        }
        types += 1;
    }
    assert_eq!(types, 51);
}

/// Hold the payload `data` of an event with seq 9 against its type.
fn checked(kind: &str, data: &str, generation: u64) -> Result<(), super::ShapeFault> {
    let row = format!(r#"{{"type":"{kind}","seq":9,"time":0,"data":{data}}}"#);
    let doc = Doc::parse(row).unwrap();
    check_payload(&Event::from_row(doc.root(), Place::default()), Generation(generation))
}

/// `good` has one digit for each generation that admits the payload.
#[track_caller]
fn check(kind: &str, data: &str, good: &str) {
    for generation in 0..3u64 {
        let said = checked(kind, data, generation);
        assert_eq!(
            said.is_ok(),
            good.contains(&generation.to_string()),
            "{kind} {data} at {generation}: {said:?}"
        );
    }
}

#[test]
fn rules_w() {
    let end = |error: &str| format!(r#"{{"turn":1,"reason":{{"kind":"error","error":{error}}}}}"#);
    let w1 = |error: &str, good| check("turn/end", &end(error), good);
    w1(r#"{"message":"m","code":"c","status":100,"providerRetryAfterMs":0.5}"#, "012");
    w1(r#"{"message":"m","code":"c","status":599}"#, "012");
    w1(r#"{"message":"m","code":"c","status":600}"#, "");
    w1(r#"{"message":"m","code":"c","providerRetryAfterMs":0}"#, "");
    w1(r#"{"message":"m","code":"c","status":null}"#, "");

    let user = |source: &str| {
        format!(r#"{{"id":"u","role":"user","content":[{{"type":"text","text":""}}],"source":{source}}}"#)
    };
    let source = |source: &str, good| check("user/message", &user(source), good);
    source(r#"{"kind":"plugin","plugin":"p","sections":5,"summary":[]}"#, "012");
    source(r#"{"kind":"plugin","plugin":"p","form":"relay"}"#, "012");
    source(r#"{"kind":"plugin","plugin":"p","form":"relay","summary":""}"#, "");
    source(r#"{"kind":"plugin","plugin":"p","form":"zz"}"#, "");
    source(r#"{"kind":"plugin","plugin":"p","form":"notice","summary":""}"#, "012");
    source(r#"{"kind":"plugin","plugin":"p","form":"notice"}"#, "");
    source(r#"{"kind":"plugin","plugin":"p","form":"snapshot","sections":[{"name":"n","text":""}]}"#, "012");
    source(r#"{"kind":"plugin","plugin":"p","form":"snapshot","sections":[{"name":"","text":""}]}"#, "");
    source(r#"{"kind":"plugin","plugin":"p","compactionId":"c"}"#, "");
    source(r#"{"kind":"plugin","plugin":"compact"}"#, "");
    source(r#"{"kind":"plugin","plugin":"compact","compactionId":"c","sourceCommandId":"s"}"#, "012");
    source(r#"{"kind":"plugin","plugin":"compact","compactionId":"c","sourceCommandId":""}"#, "");
    source(r#"{"kind":"zz","anything":1}"#, "012");
    source(r#"{"kind":""}"#, "");
    source("{}", "");

    let references = |list: &str| {
        user(&format!(r#"{{"kind":"session-reference","form":"recall","version":1,"references":[{list}]}}"#))
    };
    let reference = |id: &str, index: u64, original: u64, omitted: u64, rest: &str| {
        format!(
            r#"{{"sessionId":"{id}","label":"","capturedThroughSeq":null,"compacted":false,"originalMessages":{original},"retainedMessages":1,"omittedMessages":{omitted},"omittedBytes":0,"inputIndex":{index},{rest}}}"#
        )
    };
    let w3 = |list: &str, good| check("user/message", &references(list), good);
    w3(&reference("s", 0, 1, 0, r#""truncated":false"#), "012");
    w3(&reference("s", 0, 1, 0, r#""truncated":true"#), "");
    w3(&reference("s", 0, 3, 2, r#""truncated":true"#), "012");
    w3(&reference("s", 0, 3, 1, r#""truncated":true"#), "");
    w3(&reference("s", 0, 0, 0, r#""truncated":false"#), "");
    w3(&reference("s", 0, 1, 0, r#""truncated":false,"capturedFormatVersion":0"#), "");
    w3(&reference("s", 0, 1, 0, r#""truncated":false,"capturedFormatVersion":1"#), "12");
    w3(&reference("s", 0, 1, 0, r#""truncated":false,"capturedFormatVersion":2"#), "2");
    w3(&reference("s", 1, 1, 0, r#""truncated":false"#), "");
    let two = |second: &str| {
        let plain = r#""truncated":false"#;
        format!("{},{}", reference("s", 0, 1, 0, plain), reference(second, 1, 1, 0, plain))
    };
    w3(&two("t"), "012");
    w3(&two("s"), "");

    let tool = |source: &str, content: &str| {
        format!(
            r#"{{"turn":1,"step":1,"message":{{"id":"t","role":"user","content":[{content}],"source":{{"kind":"tool","callId":"{source}"}}}}}}"#
        )
    };
    let result = r#"{"type":"tool-result","toolCallId":"c","content":[]}"#;
    check("tool/result", &tool("c", result), "012");
    check("tool/result", &tool("d", result), "");
    check("tool/result", &tool("c", &format!("{result},{result}")), "");
    check("tool/result", &tool("c", r#"{"type":"text","text":"","toolCallId":"c"}"#), "");
    check("tool/result", &tool("c", r#"{"type":"zz","toolCallId":"c"}"#), "");

    let goal = |phase: &str| {
        format!(
            r#"{{"kind":"goal/change","version":1,"operation":"block","goal":{{"id":"G","revision":1,"objective":"o","maxGoalRounds":1,{phase}}},"roundsStarted":0,"createdAt":0,"updatedAt":0}}"#
        )
    };
    check("goal/change", &goal(r#""phase":"blocked","blockedReason":{"code":"c","message":"m"}"#), "012");
    check("goal/change", &goal(r#""phase":"blocked""#), "");
    check("goal/change", &goal(r#""phase":"active","blockedReason":{"code":"c","message":"m"}"#), "");
    check("goal/change", &goal(r#""phase":"active""#), "012");

    let at = |id: &str, at: &str| {
        format!(
            r#"{{"version":1,"operation":"create","schedule":{{"id":"{id}","kind":"at","prompt":"p","scheduledAt":"{at}"}}}}"#
        )
    };
    for (id, instant, good) in [
        ("i", "2026-01-31T00:00:00.000Z", "012"),
        ("i", "2024-02-29T23:59:59.999Z", "012"),
        ("i", "2023-02-29T00:00:00.000Z", ""),
        ("i", "1900-02-29T00:00:00.000Z", ""),
        ("i", "2000-02-29T00:00:00.000Z", "012"),
        ("i", "0000-01-01T00:00:00.000Z", ""),
        ("i", "2026-01-01T24:00:00.000Z", ""),
        ("i", "2026-01-01T00:00:00Z", ""),
        ("i", "+02026-01-01T00:00:00.00Z", ""),
        (" i", "2026-01-31T00:00:00.000Z", ""),
        ("i\u{feff}", "2026-01-31T00:00:00.000Z", ""),
        ("i\u{85}", "2026-01-31T00:00:00.000Z", "012"),
    ] {
        check("schedule/change", &at(id, instant), good);
    }
    let every = |seconds: u64| {
        format!(
            r#"{{"version":1,"operation":"create","schedule":{{"id":"i","kind":"every","prompt":"p","everySeconds":{seconds},"scheduledAt":"2026-01-31T00:00:00.000Z"}}}}"#
        )
    };
    check("schedule/change", &every(300), "012");
    check("schedule/change", &every(299), "");
}

#[test]
fn rules_x() {
    let prune = |start: u64, end: u64, seqs: &str| {
        format!(
            r#"{{"shadowedRange":{{"start":{start},"end":{end}}},"shadowedSeqs":{seqs},"shadowedTokenCount":0}}"#
        )
    };
    check("compaction/prune", &prune(3, 2, "[3,8,2]"), "012");
    check("compaction/prune", &prune(3, 2, "[3,8,2,2]"), "");
    check("compaction/prune", &prune(3, 8, "[3,8,2]"), "");
    check("compaction/prune", &prune(3, 9, "[3,9]"), "");
    check("compaction/prune", &prune(3, 3, "[]"), "");
    let summary = |rest: &str| {
        format!(
            r#"{{"compactionId":"K","summary":[],"shadowedRange":{{"start":2,"end":2}},"shadowedSeqs":[2],"shadowedTokenCount":0,"provider":"p","model":"m"{rest}}}"#
        )
    };
    check("compaction/summary", &summary(r#","llmStreamCall":true"#), "");
    check("compaction/summary", &summary(r#","llmStreamCall":true,"rawOutput":[]"#), "012");

    let hook = |ms: &str| {
        format!(r#"{{"turn":1,"point":"p","handlerId":"h","decision":"d","durationMs":{ms},"exitCode":-1}}"#)
    };
    check("hook/result", &hook("0.25"), "012");
    check("hook/result", &hook("-0"), "");
    check("hook/result", &hook("-1"), "");

    let retry = |rest: &str| {
        format!(
            r#"{{"retryId":"r","turn":1,"step":1,"provider":"p","policyKey":"k","retry":2,"failure":{{"message":"m","code":"c"}},{rest}}}"#
        )
    };
    check("llm/retry", &retry(r#""mode":"normal","maxRetries":2,"delayMs":2147483647"#), "012");
    check("llm/retry", &retry(r#""mode":"normal","maxRetries":1,"delayMs":0"#), "");
    check("llm/retry", &retry(r#""mode":"normal","delayMs":0"#), "");
    check("llm/retry", &retry(r#""mode":"always","maxRetries":2,"delayMs":0"#), "");
    check("llm/retry", &retry(r#""mode":"always","delayMs":0.5"#), "012");
    check("llm/retry", &retry(r#""mode":"always","delayMs":2147483647.5"#), "");

    let header = |rest: &str| {
        format!(
            r#"{{"header":{{"config":{{"provider":"p","model":"m","maxTokens":1}},{rest}}},"reason":"initial"}}"#
        )
    };
    check("request/header", &header(r#""adapterDefaults":{"maxTokens":true}"#), "012");
    check("request/header", &header(r#""adapterDefaults":{"reasoningEffort":true}"#), "");
    check(
        "request/header",
        &header(r#""tools":[{"name":"n","description":"","parameters":{"x":-0}}]"#),
        "012",
    );

    check("schedule/change", r#"{"version":1,"operation":"delete","id":"i "}"#, "");
    check("schedule/change", r#"{"version":1,"operation":"dispatch","id":"i","acceptedAt":"now"}"#, "");
    check("schedule/change", r#"{"version":1,"operation":"dispatch","id":"i"}"#, "012");
    check("schedule/change", r#"{"version":1,"operation":"zz","id":"i"}"#, "");

    check(DELIVERY, r#"{"sessionId":"s","throughSeq":8}"#, "012");
    check(DELIVERY, r#"{"sessionId":"s","throughSeq":9}"#, "12");
    check(DELIVERY, r#"{"sessionId":"","throughSeq":null}"#, "12");
    check(DELIVERY, r#"{"sessionId":"s","throughSeq":9,"sessionFormatVersion":1}"#, "2");
    check(DELIVERY, r#"{"sessionId":"s","throughSeq":8,"sessionFormatVersion":1}"#, "12");
    check(DELIVERY, r#"{"sessionId":"s","throughSeq":9,"sessionFormatVersion":2}"#, "1");
    check(DELIVERY, r#"{"sessionId":"s","throughSeq":8,"sessionFormatVersion":0}"#, "12");

    check("session/title", r#"{"title":"t","messageSeqs":[2,1],"source":{"kind":"user"}}"#, "012");
    check("session/title", r#"{"title":"t","messageSeqs":[2,2],"source":{"kind":"user"}}"#, "");

    let continuable =
        |rest: &str| format!(r#"{{"mode":"continuable","version":3,"provider":"p","label":"l"{rest}}}"#);
    check(DESCRIPTOR, &continuable(r#","agentProvider":"p","agentModel":"m""#), "012");
    check(DESCRIPTOR, &continuable(r#","agentProvider":"p""#), "");
    check(DESCRIPTOR, &continuable(r#","toolFilter":{}"#), "");
    check(DESCRIPTOR, &continuable(r#","toolFilter":{"deny":[]}"#), "012");
    check(DESCRIPTOR, r#"{"version":2,"anything":[]}"#, "1");
    check(DESCRIPTOR, r#"{"version":"2"}"#, "");
    check(DESCRIPTOR, r#"{"mode":"one-shot","provider":"p"}"#, "");
    assert_eq!(checked(DESCRIPTOR, r#"{"version":2}"#, 0).unwrap_err().kind, ShapeFaultKind::Unsupported);
    assert_eq!(checked(DESCRIPTOR, r#"{"version":null}"#, 0).unwrap_err().kind, ShapeFaultKind::Malformed);

    let policy = |model: &str| {
        format!(
            r#"{{"allowedModels":[{{"provider":"p","model":"m"}},{{"provider":"p","model":"{model}"}}]}}"#
        )
    };
    check("subagent/model-selection-policy", &policy("n"), "012");
    check("subagent/model-selection-policy", &policy(r"\u006d"), "");
}

#[test]
fn a_legacy_goal_message_is_compared_as_text() {
    // 6.5
    let message = |text: &str, change: &str| {
        format!(
            r#"{{"id":"g1","role":"user","content":[{{"text":"<goal_state>{}</goal_state>","type":"text"}}],"source":{{"kind":"goal","goalId":"G","revision":2,"round":0,"change":{change}}}}}"#,
            text.replace('"', "\\\"")
        )
    };
    let clear = r#"{"kind":"goal/change","version":1,"operation":"clear","cleared":{"id":"G","revision":2},"clearedAt":9}"#;
    let state = r#"{"cleared":{"id":"G","revision":2},"clearedAt":9}"#;
    check("user/message", &message(state, clear), "01");
    let spliced = format!(r#"{{"target":"next-turn","start":0,"inserted":[{}]}}"#, message(state, clear));
    check("agent/inbox/spliced", &spliced, "01");
    check("user/message", &message(r#"{"clearedAt":9,"cleared":{"id":"G","revision":2}}"#, clear), "");
    check("user/message", &message(r#"{"cleared":{"id":"G","revision":2},"clearedAt":9.0}"#, clear), "");
    check("user/message", &message(state, &clear.replace("2}", "2.0}")), "01");
    check("user/message", &message(state, &clear.replace("\"G\"", "\"H\"")), "");
    let turned = clear.replace(r#""id":"G","revision":2"#, r#""revision":2,"id":"G""#);
    check("user/message", &message(state, &turned), "");
    check("user/message", &message(r#"{"cleared":{"revision":2,"id":"G"},"clearedAt":9}"#, &turned), "01");
    let goal = r#"{"id":"G","revision":2,"objective":"\ud800","phase":"active","maxGoalRounds":1}"#;
    let create = format!(
        r#"{{"kind":"goal/change","version":1,"operation":"create","goal":{goal},"updatedAt":3,"createdAt":2,"roundsStarted":1}}"#
    );
    let state = format!(r#"{{"goal":{goal},"roundsStarted":1,"createdAt":2,"updatedAt":3}}"#);
    check("user/message", &message(&state.replace('\\', r"\\"), &create), "01");
}

#[test]
fn differences_at_v2() {
    // 6.6
    let message = |stream: &str| {
        format!(
            r#"{{"turn":1,"step":1,"message":{{"id":"a","role":"assistant","content":[],"source":{{"kind":"model","provider":"p","model":"m"}}}}{stream}}}"#
        )
    };
    check("assistant/message", &message(""), "01");
    check("assistant/message", &message(r#","stream":[]"#), "2");
    check("assistant/message", &message(r#","stream":[5]"#), "");
    check("assistant/attempt", r#"{"turn":1,"step":1,"stream":[{}]}"#, "2");
    check("assistant/chunk", "5", "01");
    check("session/end-seed", "{}", "012");
    check("session/end-seed", r#"{"inherited":true}"#, "2");
    check("session/end-seed", r#"{"inherited":false}"#, "");
    check("feedback/message-delete", r#"{"sessionId":"","messageId":""}"#, "2");
    let put = r#"{"sessionId":"","item":{"messageId":"","rating":"positive","version":"","createdAt":0,"updatedAt":0}}"#;
    check("feedback/message-put", put, "2");
    check("toString", "{}", "");
}

#[test]
fn faults_say_where() {
    let check = |kind: &str, data: &str, generation, pointer: &str, what: &str| {
        let fault = checked(kind, data, generation).unwrap_err();
        assert_eq!((&*fault.pointer, &*fault.what), (pointer, what), "{data}");
    };
    check("turn/start", r#"{"a/b":1}"#, 1, "/data/a~1b", "unexpected member `a/b`");
    check("turn/start", r#"{"a/b":1}"#, 2, "/data/turn", "missing member");
    check("turn/start", r#"{"turn":-0}"#, 2, "/data/turn", "-0 is not a count");
    check("zz/y", "{}", 2, "/type", "zz/y");
    let deep = r#"{"id":"u","role":"user","content":[{"type":"text","text":""},{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":null}]}],"source":{"kind":"user"}}"#;
    check("user/message", deep, 0, "/data/content/1/content/0/text", "null is not a string");
    assert_eq!(checked("zz/y", "{}", 0).unwrap_err().kind, ShapeFaultKind::UnknownType);

    let block = Doc::parse(r#"{"type":"image","attachment":5}"#).unwrap();
    let fault = check_shape(&super::BLOCK, block.root(), Seq(0), Generation(2)).unwrap_err();
    assert_eq!((&*fault.pointer, &*fault.what), ("/attachment", "5 is not an object"));
}

#[test]
fn deep_blocks_do_not_exhaust_the_stack() {
    let depth = 100_000;
    let open = r#"{"type":"tool-result","toolCallId":"c","content":["#;
    let data = format!(
        r#"{{"rootCallId":"r","parentCallId":"r","subCallId":"s","name":"n","arguments":0,"isError":true,"content":[{}{}]}}"#,
        open.repeat(depth),
        "]}".repeat(depth)
    );
    check("tool/code-dispatch", &data, "012");
}

#[test]
fn members_of_all_variants() {
    let check =
        |kind, name, has| assert_eq!(super::is_member(kind, name, Generation(2)), has, "{kind} {name}");
    check("goal/change", "cleared", true);
    check("goal/change", "goal", true);
    check("goal/change", "zz", false);
    check("subagent/descriptor", "persona", true);
    check("user/message", "change", false);
    check("assistant/message", "stream", true);
}
