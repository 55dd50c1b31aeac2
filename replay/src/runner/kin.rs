//! Which subagent of a run is which one of the record.

use dshlog_codec::check::EventType;
use dshlog_codec::json::JsString;

use crate::agent::rerun::Record;

/// Subagents of a record and of a run of it, by their places in the two lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairing {
    /// One of the record, and the one that takes its place.
    pub pairs: Vec<(usize, usize)>,
    /// Those of the record that did not come to be.
    pub missing: Vec<usize>,
    /// Those that the record does not have.
    pub more: Vec<usize>,
}

/// Pair the subagents of a recorded session with those of the session that took its place. Their ids are drawn, so they are
/// told apart by who began them and by the task that they were given; equal ones go by their age.
pub fn pair(sessions: [&Record; 2], recorded: &[&Record], written: &[&Record]) -> Pairing {
    let mut known: Vec<[JsString; 2]> = vec![sessions.map(|session| session.header().id.clone())];
    let mut pairing = Pairing::default();
    let tasks = [recorded, written].map(|list| list.iter().map(|record| task(record)).collect::<Vec<_>>());
    let mut free = by_age(written);
    let mut open = by_age(recorded);
    // Those with the same task first: a task that changed takes what is left.
    while !open.is_empty() {
        let before = open.len();
        for is_same in [true, false] {
            open.retain(|&number| {
                let Some(one) = recorded.get(number) else { return false };
                let Some(parent) = counterpart(&known, one) else { return true };
                let [own, others] = &tasks;
                let fits = |other: &usize| {
                    let its_parent =
                        written.get(*other).and_then(|other| other.header().parent_session.as_ref());
                    its_parent == Some(&parent) && (!is_same || others.get(*other) == own.get(number))
                };
                let Some(at) = free.iter().position(fits) else { return true };
                let other = free.remove(at);
                if let Some(other) = written.get(other) {
                    known.push([one.header().id.clone(), other.header().id.clone()]);
                }
                pairing.pairs.push((number, other));
                false
            });
        }
        if open.len() == before {
            break;
        }
    }
    pairing.pairs.sort_unstable();
    open.sort_unstable();
    (pairing.missing, pairing.more) = (open, free);
    pairing
}

/// Numbers of sessions, the oldest first.
fn by_age(records: &[&Record]) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..records.len()).collect();
    numbers.sort_by_key(|number| records.get(*number).map(|record| record.header().created_at));
    numbers
}

/// The session that takes the place of the one that began this.
fn counterpart(known: &[[JsString; 2]], record: &Record) -> Option<JsString> {
    let parent = record.header().parent_session.as_ref()?;
    known.iter().find(|[recorded, _]| recorded == parent).map(|[_, written]| written.clone())
}

/// The first thing that a session was told itself, as it stands in its log.
fn task(record: &Record) -> Option<String> {
    let mut own = (record.inherited()..record.len()).filter_map(|at| record.event(at));
    let first = own.find(|event| EventType::of(event.kind) == Some(EventType::UserMessage))?;
    first.member("content").map(|content| content.raw().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::see_all;
    use dshlog_codec::{Generation, Header};

    /// The pairing of the subagents of `root` and `ROOT`.
    fn paired(recorded: &[Record], written: &[Record]) -> Pairing {
        let roots = ["root", "ROOT"].map(|name| session(name, "", 0, ""));
        let [a, b] = &roots;
        pair([a, b], &recorded.iter().collect::<Vec<_>>(), &written.iter().collect::<Vec<_>>())
    }

    /// A session that was begun by another one at this time, with this task.
    fn session(name: &str, parent: &str, time: u64, task: &str) -> Record {
        let header = Header {
            version: Generation::CURRENT,
            id: name.into(),
            created_at: time,
            cwd: None,
            parent_session: Some(parent.into()),
            seed_length: None,
            is_seeded: false,
            is_subagent: true,
            delegation_depth: 1,
            agent_preset: None,
        };
        let mut record = Record::new(header, 0);
        let row = format!(
            r#"{{"seq":0,"time":1,"type":"user/message","data":{{"content":[{{"type":"text","text":"{task}"}}]}}}}"#
        );
        see_all([&&*row], |event| record.see(event).unwrap());
        record.finish();
        record
    }

    #[test]
    fn by_parent_and_task_and_age() {
        let recorded = [
            session("a", "root", 1, "count"),
            session("b", "root", 2, "count"),
            session("c", "root", 3, "write"),
            session("d", "c", 4, "count"),
        ];
        let written = [
            session("D", "C", 14, "count"),
            session("C", "ROOT", 11, "write"),
            session("B", "ROOT", 13, "count"),
            session("A", "ROOT", 12, "count"),
        ];
        let found = paired(&recorded, &written);
        assert_eq!(found, Pairing { pairs: vec![(0, 3), (1, 2), (2, 1), (3, 0)], ..Pairing::default() });
    }

    #[test]
    fn another_task_takes_what_is_left() {
        let recorded = [session("a", "root", 1, "count"), session("b", "root", 2, "write")];
        let written = [session("X", "ROOT", 1, "sing"), session("A", "ROOT", 2, "count")];
        let found = paired(&recorded, &written);
        assert_eq!(found.pairs, [(0, 1), (1, 0)]);
    }

    #[test]
    fn missing_ones_and_more() {
        let recorded = [session("a", "root", 1, "count"), session("b", "a", 2, "count")];
        let written = [session("X", "elsewhere", 1, "count")];
        let found = paired(&recorded, &written);
        assert_eq!(found, Pairing { pairs: Vec::new(), missing: vec![0, 1], more: vec![0] });
    }
}
