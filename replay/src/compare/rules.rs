//! What is set aside before two logs are compared: the table of rules, and the places in events that each one speaks of.
//!
//! Two runs of one scenario never give the same log: ids are drawn, clocks go on, temporary folders have other names. A
//! rule names one such reason. Links stay: an id is not deleted but renamed, so that two events that share an id must
//! share one in the other log too (`docs/spec/agent-loop.md`, 12, "What must come out equal").

use std::collections::HashMap;

use dshlog_codec::check::EventType;

/// One reason for which equal sessions have different logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Names that are drawn: of sessions, messages, calls, retries, commands, compactions, jobs, goals, approvals,
    /// workflow runs. Each is renamed to what stands in its place in the other log, also where it occurs in a text.
    Ids,
    /// Numbers of turns and steps; they are renumbered as the two logs are aligned.
    Turns,
    /// Seqs, and whatever names an event by its seq; renumbered likewise.
    Seqs,
    /// Moments and lengths of time, in envelopes, streams and payloads.
    Times,
    /// The working directory of a session, as the beginning of any path in any text.
    Folders,
    /// Versions of the format.
    Versions,
    /// Ports of addresses of this machine, in texts that tell of a failure.
    Ports,
    /// The place of what comes when it is ready: titles, ends of jobs, results of calls that run side by side.
    /// Acknowledgements of deliveries are left out.
    Floating,
    /// Token counts. Not by default.
    Usage,
    /// How the text of a stream was cut into pieces. Not by default.
    Chunks,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 10] = [
        Rule::Ids,
        Rule::Turns,
        Rule::Seqs,
        Rule::Times,
        Rule::Folders,
        Rule::Versions,
        Rule::Ports,
        Rule::Floating,
        Rule::Usage,
        Rule::Chunks,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Ids => "ids",
            Rule::Turns => "turns",
            Rule::Seqs => "seqs",
            Rule::Times => "times",
            Rule::Folders => "folders",
            Rule::Versions => "versions",
            Rule::Ports => "ports",
            Rule::Floating => "floating",
            Rule::Usage => "usage",
            Rule::Chunks => "chunks",
        }
    }

    /// True when it holds unless somebody says otherwise.
    fn is_default(self) -> bool {
        !matches!(self, Rule::Usage | Rule::Chunks)
    }
}

/// The rules that hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules(u16);

impl Default for Rules {
    fn default() -> Self {
        Rule::ALL.into_iter().filter(|rule| rule.is_default()).fold(Rules::NONE, Rules::with)
    }
}

impl Rules {
    /// Nothing is set aside.
    pub const NONE: Rules = Rules(0);

    /// These, and `rule`.
    #[must_use]
    pub fn with(self, rule: Rule) -> Rules {
        Rules(self.0 | 1 << rule as u16)
    }

    /// These, without `rule`.
    #[must_use]
    pub fn without(self, rule: Rule) -> Rules {
        Rules(self.0 & !(1 << rule as u16))
    }

    /// True when `rule` is among them.
    pub fn has(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u16 != 0
    }

    /// Those that hold, in the order of [`Rule::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.into_iter().filter(move |rule| self.has(*rule))
    }
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A drawn name.
    Id,
    /// The name of a tool call, where it is advertised. A model may use it again for a later call.
    CallStart,
    /// The name of a tool call.
    Call,
    /// A turn's number.
    Turn,
    /// A step's number within the turn that its event names.
    Step,
    /// The seq of an event.
    Seq,
    /// Seqs of events.
    Seqs,
    /// What tells nothing.
    Aside,
    /// A text that tells of a failure.
    Failure,
    /// The same, in a tool's result that is an error.
    Result,
    /// The prompt of a request for a title, which quotes the seqs of messages.
    Prompt,
    /// Pieces of one text.
    Pieces,
}

/// A row of the table.
struct Row {
    /// The rule; none for places that are looked at whatever holds.
    rule: Option<Rule>,
    class: Class,
    /// Event types; `session` is the header, [`EVERY`] all known types, [`MESSAGE`] all places of messages.
    kinds: &'static [&'static str],
    /// JSON pointers in the row of the event, or in the message; `*` is any element of a list.
    pointers: &'static [&'static str],
}

const fn row(
    rule: Rule,
    class: Class,
    kinds: &'static [&'static str],
    pointers: &'static [&'static str],
) -> Row {
    Row { rule: Some(rule), class, kinds, pointers }
}

const EVERY: &str = "*";
const MESSAGE: &str = "message";
const ANSWERS: &[&str] = &["assistant/message", "assistant/attempt"];
const COMMANDS: &[&str] = &["command/run", "command/done"];
const COMPACTIONS: &[&str] = &["compaction/start", "compaction/summary", "compaction/end"];
const DISPATCHES: &[&str] = &["tool/ptc-dispatch-start", "tool/ptc-dispatch"];
const JOBS: &[&str] = &["job/registered", "job/settled"];
const TITLES: &[&str] = &["session/title", "session/title-llm-request"];
const WORKFLOWS: &[&str] = &[
    "tool-workflow/run-start",
    "tool-workflow/run-end",
    "tool-workflow/agent-start",
    "tool-workflow/agent-end",
];

/// The header.
pub(super) const HEADER: &str = "session";

/// A message that stands by itself.
pub(super) const ALONE: &str = "message alone";

/// What a request holds.
pub(super) const REQUEST: &str = "request";

/// Where messages stand (`docs/spec/events-v4.md`, 6.1).
const MESSAGES: [(&str, &str); 10] = [
    (ALONE, ""),
    (REQUEST, "/messages/*"),
    ("user/message", "/data"),
    ("system/message", "/data/message"),
    ("developer/message", "/data/message"),
    ("assistant/message", "/data/message"),
    ("tool/result", "/data/message"),
    ("agent/inbox/spliced", "/data/inserted/*"),
    ("session/title-llm-request", "/data/messages/*"),
    ("team/message/queued", "/data/message"),
];

/// The table. Payloads are those of `docs/spec/events-v4.md`, 7.
const TABLE: &[Row] = &[
    row(Rule::Ids, Class::Id, &[HEADER], &["/id", "/parentSession"]),
    row(
        Rule::Ids,
        Class::Id,
        &[MESSAGE],
        &[
            "/id",
            "/source/compactionId",
            "/source/sourceCommandId",
            "/source/goalId",
            "/source/senderSessionId",
            "/senderId",
            "/targetId",
        ],
    ),
    row(Rule::Ids, Class::Call, &[MESSAGE], &["/toolCallId", "/source/callId"]),
    row(Rule::Ids, Class::CallStart, &["assistant/message"], &["/data/message/content/*/id"]),
    row(Rule::Ids, Class::CallStart, &[ALONE], &["/content/*/id"]),
    row(Rule::Ids, Class::CallStart, &[REQUEST], &["/messages/*/content/*/id"]),
    row(
        Rule::Ids,
        Class::CallStart,
        ANSWERS,
        &["/data/stream/*/id", "/data/stream/*/chunk/id", "/data/stream/*/chunk/block/id"],
    ),
    row(
        Rule::Ids,
        Class::Call,
        &["tool/call", "approval/asked", "deliverables/presented"],
        &["/data/callId"],
    ),
    row(Rule::Ids, Class::Call, DISPATCHES, &["/data/rootCallId", "/data/parentCallId", "/data/subCallId"]),
    row(Rule::Ids, Class::Call, JOBS, &["/data/toolCall/callId", "/data/toolCall/rootCallId"]),
    row(Rule::Ids, Class::Id, JOBS, &["/data/jobId", "/data/owner"]),
    row(Rule::Ids, Class::Id, &["llm/retry", "llm/retry-started"], &["/data/retryId"]),
    row(Rule::Ids, Class::Id, COMMANDS, &["/data/commandId"]),
    row(Rule::Ids, Class::Id, COMPACTIONS, &["/data/compactionId", "/data/sourceCommandId"]),
    row(Rule::Ids, Class::Id, &["approval/asked", "approval/decided"], &["/data/id"]),
    row(Rule::Ids, Class::Id, &["goal/change"], &["/data/goal/id", "/data/cleared/id"]),
    row(Rule::Ids, Class::Id, &["session-log-deepseek/delivery-accepted"], &["/data/sessionId"]),
    row(Rule::Ids, Class::Id, &["subagent/catalog"], &["/data/childId"]),
    row(Rule::Ids, Class::Id, WORKFLOWS, &["/data/runId", "/data/childId"]),
    row(
        Rule::Ids,
        Class::Id,
        &["feedback/message-put", "feedback/message-delete"],
        &["/data/sessionId", "/data/messageId", "/data/item/messageId"],
    ),
    row(
        Rule::Ids,
        Class::Id,
        &["team/member", "team/task", "team/message/queued", "team/message/delivered"],
        &["/data/teamId", "/data/messageId", "/data/targetId", "/data/member/id", "/data/task/id"],
    ),
    row(Rule::Turns, Class::Turn, &[EVERY], &["/data/turn"]),
    row(Rule::Turns, Class::Step, &[EVERY], &["/data/step"]),
    row(Rule::Seqs, Class::Aside, &[EVERY], &["/seq"]),
    row(Rule::Seqs, Class::Seq, &[EVERY], &["/surfaceOp/startSeq", "/surfaceOp/endSeq"]),
    row(Rule::Seqs, Class::Seqs, &[EVERY], &["/sourceEventSeqs"]),
    row(Rule::Seqs, Class::Seq, &["command/done"], &["/data/sourceEventSeq"]),
    row(
        Rule::Seqs,
        Class::Seq,
        &["compaction/summary", "compaction/prune"],
        &["/data/shadowedRange/start", "/data/shadowedRange/end"],
    ),
    row(Rule::Seqs, Class::Seqs, &["compaction/summary", "compaction/prune"], &["/data/shadowedSeqs"]),
    row(Rule::Seqs, Class::Seqs, TITLES, &["/data/messageSeqs"]),
    row(Rule::Seqs, Class::Prompt, &["session/title-llm-request"], &["/data/messages/*/content/*/text"]),
    row(Rule::Seqs, Class::Seq, &["image/offload"], &["/data/targets/*/seq"]),
    row(Rule::Seqs, Class::Seq, &["developer/message"], &["/data/headerSeq"]),
    row(Rule::Seqs, Class::Seq, &["session-log-deepseek/delivery-accepted"], &["/data/throughSeq"]),
    row(Rule::Times, Class::Aside, &[EVERY], &["/time"]),
    row(Rule::Times, Class::Aside, &[HEADER], &["/createdAt"]),
    row(
        Rule::Times,
        Class::Aside,
        ANSWERS,
        &["/data/stream/*/time", "/data/stream/*/time0", "/data/stream/*/dt"],
    ),
    row(Rule::Times, Class::Aside, &["llm/retry"], &["/data/delayMs"]),
    row(Rule::Times, Class::Aside, &["hook/result"], &["/data/durationMs"]),
    row(
        Rule::Times,
        Class::Aside,
        &["goal/change"],
        &["/data/createdAt", "/data/updatedAt", "/data/clearedAt"],
    ),
    row(Rule::Times, Class::Aside, JOBS, &["/data/startedAt", "/data/finishedAt"]),
    row(Rule::Times, Class::Aside, &["subagent/catalog"], &["/data/childCreatedAt"]),
    row(
        Rule::Times,
        Class::Aside,
        &["feedback/message-put"],
        &["/data/item/createdAt", "/data/item/updatedAt"],
    ),
    row(Rule::Times, Class::Aside, &["schedule/change"], &["/data/acceptedAt"]),
    row(Rule::Versions, Class::Aside, &[HEADER], &["/version"]),
    row(
        Rule::Versions,
        Class::Aside,
        &["session-log-deepseek/delivery-accepted"],
        &["/data/sessionFormatVersion"],
    ),
    row(Rule::Versions, Class::Aside, &["subagent/catalog", "subagent/descriptor"], &["/data/version"]),
    row(Rule::Ports, Class::Failure, ANSWERS, &["/data/stream/*/chunk/reason/failure/message"]),
    row(Rule::Ports, Class::Failure, &["llm/retry"], &["/data/failure/message"]),
    row(Rule::Ports, Class::Failure, &["turn/end"], &["/data/reason/error/message"]),
    row(Rule::Ports, Class::Failure, &["compaction/end"], &["/data/error/message", "/data/error"]),
    row(Rule::Ports, Class::Failure, &["tool/result", "tool/ptc-dispatch"], &["/data/error/message"]),
    row(Rule::Ports, Class::Result, &["tool/result"], &["/data/message/content/*/text"]),
    row(Rule::Ports, Class::Result, &[ALONE], &["/content/*/text"]),
    row(Rule::Ports, Class::Failure, &[REQUEST], &["/messages/*/content/*/text"]),
    row(Rule::Ports, Class::Failure, &["web/deepseek-search-llm-request"], &["/data/endpoint"]),
    row(Rule::Usage, Class::Aside, &["assistant/message", "compaction/summary"], &["/data/usage"]),
    row(Rule::Usage, Class::Aside, ANSWERS, &["/data/stream/*/chunk/usage"]),
    row(
        Rule::Usage,
        Class::Aside,
        &["compaction/summary", "compaction/prune"],
        &["/data/shadowedTokenCount"],
    ),
    // An id may be cut in two, so texts are looked at whole.
    Row {
        rule: None,
        class: Class::Pieces,
        kinds: ANSWERS,
        pointers: &["/data/stream/*/texts", "/data/stream/*/args"],
    },
];

/// Events whose place says nothing: they come when they are ready (`docs/spec/agent-loop.md`, 11 and trap 14). Those of
/// the first kind come anywhere in a session, the others anywhere in their step.
pub(super) fn floats(kind: &str) -> Option<Float> {
    match kind {
        DELIVERY => Some(Float::Out),
        "session/title" | "session/title-llm-request" | "job/settled" => Some(Float::Session),
        "tool/result"
        | "subagent/catalog"
        | "todo/write"
        | "job/registered"
        | "approval/asked"
        | "approval/decided"
        | "deliverables/presented"
        | "web/deepseek-search-llm-request"
        | "tool/ptc-dispatch"
        | "tool/ptc-dispatch-start"
        | "team/member"
        | "team/task" => Some(Float::Step),
        kind if kind.starts_with("tool-workflow/") => Some(Float::Step),
        _ => None,
    }
}

const DELIVERY: &str = "session-log-deepseek/delivery-accepted";

/// How far an event may be from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    /// It is left out.
    Out,
    /// Anywhere in its step.
    Step,
    /// Anywhere.
    Session,
}

/// The table as trees of member names, one an event type.
#[derive(Debug)]
pub(super) struct Places {
    kinds: HashMap<&'static str, Node>,
}

/// A place in a row.
#[derive(Debug, Default)]
pub(super) struct Node {
    members: Vec<(&'static str, Node)>,
    each: Option<Box<Node>>,
    class: Option<Class>,
}

impl Places {
    /// The places that `rules` speak of.
    pub(super) fn of(rules: Rules) -> Self {
        let mut kinds: HashMap<&'static str, Node> = HashMap::new();
        let mut add = |kind: &'static str, base: &'static str, pointer: &'static str, class| {
            let path = base.split('/').skip(1).chain(pointer.split('/').skip(1));
            kinds.entry(kind).or_default().set(path, class);
        };
        for row in TABLE.iter().filter(|row| row.rule.is_none_or(|rule| rules.has(rule))) {
            for pointer in row.pointers {
                for kind in row.kinds {
                    match *kind {
                        EVERY => {
                            for known in EventType::ALL {
                                add(known.name(), "", pointer, row.class);
                            }
                        }
                        MESSAGE => {
                            for (kind, base) in MESSAGES {
                                add(kind, base, pointer, row.class);
                            }
                        }
                        kind => add(kind, "", pointer, row.class),
                    }
                }
            }
        }
        Places { kinds }
    }

    /// The places in rows of this type.
    pub(super) fn kind(&self, kind: &str) -> Option<&Node> {
        self.kinds.get(kind)
    }
}

impl Node {
    fn set(&mut self, path: impl Iterator<Item = &'static str>, class: Class) {
        let mut node = self;
        for name in path {
            node = if name == "*" {
                &mut **node.each.get_or_insert_default()
            } else {
                let at = node.members.iter().position(|(member, _)| *member == name).unwrap_or_else(|| {
                    node.members.push((name, Node::default()));
                    node.members.len() - 1
                });
                &mut node.members[at].1
            };
        }
        node.class = Some(class);
    }

    /// What stands here.
    pub(super) fn class(&self) -> Option<Class> {
        self.class
    }

    /// The place of a member.
    pub(super) fn member(&self, name: dshlog_codec::json::JsStr<'_>) -> Option<&Node> {
        self.members.iter().find(|(member, _)| name == **member).map(|(_, node)| node)
    }

    /// The place of every element.
    pub(super) fn each(&self) -> Option<&Node> {
        self.each.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_a_set() {
        let rules = Rules::default();
        assert!(rules.has(Rule::Ids) && !rules.has(Rule::Usage));
        assert_eq!(rules.without(Rule::Ids).with(Rule::Ids), rules);
        assert_eq!(Rules::NONE.iter().count(), 0);
    }

    /// A row that names no known type would never do anything.
    #[test]
    fn every_type_of_the_table_is_known() {
        let known = |kind: &str| {
            matches!(kind, HEADER | EVERY | MESSAGE | ALONE | REQUEST) || EventType::named(kind).is_some()
        };
        for row in TABLE {
            for kind in row.kinds {
                assert!(known(kind), "{kind}");
            }
        }
        for (kind, _) in MESSAGES {
            assert!(known(kind), "{kind}");
        }
    }
}
