//! Whether two generations of one session tell the same story where they overlap.
//!
//! A migration leaves the old file as it is (`docs/spec/storage.md`, 13.2), and from then on dsh appends to the new one. So
//! the older log, carried to V4, must be a beginning of the newer one: the same header, and the same events up to its end.
//!
//! One thing in the carried log is not of the old file: the `subagent/catalog` events that the last step appends for
//! children which the log does not name. They are made from the logs of other sessions, as these are at the moment of the
//! migration (`docs/spec/storage.md`, 13.3). Since then children may have come or gone, or have become readable, and none
//! of this is a contradiction between the two files. So these events are passed over on both sides: in the older log as it
//! is carried now, and in the newer one where it says nothing else.

use std::collections::VecDeque;

use dshlog_codec::json::{Js, Tape, first_difference};
use dshlog_codec::{At, Event, Generation, Header, Limits, LogFile, LogReader, Place};

use crate::fault::shortened;
use crate::run::{Run, RunError};

/// A comparison of an older log with a newer one of the same session. Both are walked side by side, so memory is that of
/// two walks.
///
/// What cannot be read of the newer log is not compared: that log has faults of its own to report.
pub struct Overlap {
    newer: Newer,
    /// Time of the last event that both have; of the session before the first.
    time: i64,
    /// Where the event before stood in the older file.
    place: Place,
    own: Vec<u8>,
    other: Vec<u8>,
    found: Vec<Disagreement>,
}

/// What two generations do not agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// The headers or an event of both differ. What comes behind such an event is not compared.
    Differs {
        /// Where in the older file: the line that the event came of, its seq in V4, and the pointer into the row as V4 has
        /// it.
        at: At,
        /// The value there in the older log, shortened; nothing when it has none.
        older: Option<String>,
        /// The value there in the newer log.
        newer: Option<String>,
    },
    /// The older log goes on where the newer one has ended.
    Longer {
        /// The first event that only the older file has.
        at: At,
        /// How many there are, in V4.
        events: u64,
    },
}

/// The events of the newer log, one after the other.
enum Newer {
    Current(Box<LogReader>),
    /// An old log too, until its run is over. `ready` holds what came of the last row.
    Old {
        run: Option<Box<Run>>,
        ready: VecDeque<Vec<u8>>,
    },
    /// It cannot be read from here on, or has told another story.
    Lost,
}

impl Overlap {
    /// Begin, with the headers. `older` is the header of the older log, as stored. Fails when the newer log cannot be read.
    pub fn open(older: &Header, newer: &LogFile, limits: &Limits) -> Result<Overlap, RunError> {
        let (header, newer) = if newer.generation() < Generation::CURRENT {
            // Whatever children it has would only add events that are not compared.
            let run = Run::open(newer, Generation::CURRENT, Some(Vec::new()), limits)?;
            (run.header().clone(), Newer::Old { run: Some(Box::new(run)), ready: VecDeque::new() })
        } else {
            let reader = newer.read(limits)?;
            (reader.header().clone(), Newer::Current(Box::new(reader)))
        };
        let mut overlap = Overlap {
            newer,
            time: i64::try_from(older.created_at).unwrap_or(i64::MAX),
            place: Place::default(),
            own: Vec::new(),
            other: Vec::new(),
            found: Vec::new(),
        };
        older.to_current().print(&mut overlap.own);
        header.print(&mut overlap.other);
        overlap.compare(At { line: Some(1), ..At::default() });
        Ok(overlap)
    }

    /// The next event of the older log, carried to V4.
    pub fn see(&mut self, event: &Event<'_>) {
        let place = std::mem::replace(&mut self.place, event.place);
        // No row of an old log is both another event and an entry of the catalog, so this one was made at the end.
        if is_catalog(event) && event.place == place {
            return;
        }
        if let Some(Disagreement::Longer { events, .. }) = self.found.last_mut() {
            *events += 1;
            return;
        }
        if matches!(self.newer, Newer::Lost) {
            return;
        }
        match self.newer.next(&mut self.other) {
            Err(_) => self.newer = Newer::Lost,
            Ok(false) => self.found.push(Disagreement::Longer { at: event.at(), events: 1 }),
            Ok(true) => {
                self.own.clear();
                event.print_row(&mut self.own);
                if self.own != self.other {
                    self.differ(event);
                }
                self.time = event.time.0;
            }
        }
    }

    /// What was found: the headers first.
    pub fn finish(self) -> Vec<Disagreement> {
        self.found
    }

    /// The texts of an event are not the same.
    fn differ(&mut self, event: &Event<'_>) {
        if !is_catalog(event) && self.is_only_catalog() {
            self.found.push(Disagreement::Longer { at: event.at(), events: 1 });
        } else if self.compare(event.at()) {
            self.newer = Newer::Lost;
        }
    }

    /// Look for a difference between `own` and `other`. True when there is one; then it is kept.
    fn compare(&mut self, at: At) -> bool {
        let (mut own, mut other) = (Tape::new(), Tape::new());
        let (Some(own), Some(other)) = (parse(&self.own, &mut own), parse(&self.other, &mut other)) else {
            return false;
        };
        let Some(difference) = first_difference(own, other) else { return false };
        let at = At { pointer: Some(difference.pointer), ..at };
        let shown = |value: Option<Js<'_>>| value.map(|value| shortened(value.raw()));
        let (older, newer) = (shown(difference.left), shown(difference.right));
        self.found.push(Disagreement::Differs { at, older, newer });
        true
    }

    /// True when the newer log holds nothing from `other` on but entries of the catalog with the time of the last event
    /// before them, which is what a migration leaves at the end. Walks over them; `other` stays.
    fn is_only_catalog(&mut self) -> bool {
        let (mut text, mut tape) = (self.other.clone(), Tape::new());
        loop {
            let event = parse(&text, &mut tape).map(|row| Event::from_row(row, Place::default()));
            if !event.is_some_and(|event| is_catalog(&event) && event.time.0 == self.time) {
                return false;
            }
            match self.newer.next(&mut text) {
                Ok(true) => {}
                Ok(false) => return true,
                Err(_) => return false,
            }
        }
    }
}

impl Newer {
    /// Put the row of the next event into `text`. False at the end.
    fn next(&mut self, text: &mut Vec<u8>) -> Result<bool, RunError> {
        text.clear();
        match self {
            Newer::Current(reader) => {
                let Some(event) = reader.next_event()? else { return Ok(false) };
                event.print_row(text);
            }
            Newer::Old { run, ready } => {
                while ready.is_empty()
                    && let Some(open) = run
                {
                    let done = open.advance(|event| {
                        let mut row = Vec::new();
                        event.print_row(&mut row);
                        ready.push_back(row);
                        Ok(())
                    })?;
                    if done.is_some() {
                        *run = None;
                    }
                }
                let Some(row) = ready.pop_front() else { return Ok(false) };
                *text = row;
            }
            Newer::Lost => return Ok(false),
        }
        Ok(true)
    }
}

fn is_catalog(event: &Event<'_>) -> bool {
    event.is("subagent/catalog")
}

fn parse<'a>(text: &'a [u8], tape: &'a mut Tape) -> Option<Js<'a>> {
    // The printer writes lone surrogates as escapes, so this is always UTF-8.
    let text = std::str::from_utf8(text).ok()?;
    tape.parse(text).ok()?;
    Js::root(text, tape)
}

#[cfg(test)]
mod tests {
    use dshlog_codec::Encoding;

    use super::*;
    use crate::children::Child;

    fn log(generation: u64, header: &str, rows: &[&str]) -> LogFile {
        let seed = if generation < 2 { "" } else { r#","isSeeded":false"# };
        let header = format!(
            r#"{{"type":"session","version":{generation},"id":"s1","createdAt":5,"delegationDepth":0{seed}{header}}}"#
        );
        let text = [&[header.as_str()], rows, &[""]].concat().join("\n");
        LogFile::from_bytes(text.into_bytes(), Generation(generation), Encoding::Raw)
    }

    /// The disagreements, a line each.
    fn compare(older: &LogFile, newer: &LogFile, children: Vec<Child>) -> Vec<String> {
        let limits = Limits::default();
        let header = older.header().unwrap();
        let mut overlap = Overlap::open(&header, newer, &limits).unwrap();
        let run = Run::open(older, Generation::CURRENT, Some(children), &limits).unwrap();
        let done = run.each(|event| {
            overlap.see(event);
            Ok::<_, ()>(())
        });
        // A row that the reader drops would make a test say less than it seems to.
        assert_eq!(done.unwrap().source.issue.map(|e| e.to_string()), None);
        let line = |found| match found {
            Disagreement::Differs { at: At { line, seq, pointer, .. }, older, newer } => {
                let seq = seq.map_or("-".into(), |seq: dshlog_codec::Seq| seq.to_string());
                let [older, newer] = [older, newer].map(|value| value.unwrap_or("missing".into()));
                format!("{} {seq} {} {older} {newer}", line.unwrap(), pointer.unwrap())
            }
            Disagreement::Longer { at, events } => {
                format!("{} {} longer by {events}", at.line.unwrap(), at.seq.unwrap())
            }
        };
        overlap.finish().into_iter().map(line).collect()
    }

    fn child(id: &str) -> Child {
        Child { id: id.into(), created_at: 7, fact: None, path: None }
    }

    const A: &str = r#"{"type":"todo/write","seq":0,"time":10,"data":{"a":[1]}}"#;
    const B: &str = r#"{"type":"todo/write","seq":1,"time":20,"data":{"b":2}}"#;
    const C: &str = r#"{"type":"todo/write","seq":2,"time":30,"data":{"c":3}}"#;
    /// As a migration makes it for a child behind `A` and `B`.
    const CHILD: &str = r#"{"type":"subagent/catalog","seq":2,"time":20,"data":{"version":1,"childId":"k","childCreatedAt":7,"mode":"unknown"}}"#;
    /// As a session writes it.
    const LATER: &str = r#"{"type":"subagent/catalog","seq":2,"time":21,"data":{"version":1,"childId":"k","childCreatedAt":7,"mode":"unknown"}}"#;

    #[track_caller]
    fn check(older: &[&str], newer: &[&str], expected: &[&str]) {
        assert_eq!(compare(&log(3, "", older), &log(4, "", newer), vec![]), expected);
    }

    #[test]
    fn the_older_log_is_a_beginning_of_the_newer_one() {
        check(&[], &[], &[]);
        check(&[], &[A], &[]);
        check(&[A, B], &[A, B], &[]);
        check(&[A, B], &[A, B, C], &[]);
        // Spelling and the order of members are no difference.
        check(&[A], &[r#"{ "type":"todo/write","time":10, "seq":0,"data":{"a":[1.0]}}"#], &[]);
    }

    #[test]
    fn differences() {
        let b = r#"{"type":"todo/write","seq":1,"time":20,"data":{"b":{"x":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}}}"#;
        let shortened = r#"{"x":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…"#;
        check(&[A, B, C], &[A, b, C], &[&format!("3 1 /data/b 2 {shortened}")]);
        check(&[A, b], &[A, B], &[&format!("3 1 /data/b {shortened} 2")]);
        // Only the first one: what is behind it cannot be brought together.
        let c = C.replace('3', "4");
        check(&[A, B, C], &[A, b, &c], &[&format!("3 1 /data/b 2 {shortened}")]);
        check(
            &[A, B],
            &[A, r#"{"type":"todo/write","seq":1,"time":20,"data":{},"ignorable":true}"#],
            &["3 1 /data/b 2 missing"],
        );
        check(
            &[A, B],
            &[A, r#"{"type":"todo/write","seq":1,"time":20,"data":{"b":2},"ignorable":true}"#],
            &["3 1 /ignorable missing true"],
        );
    }

    #[test]
    fn an_older_log_that_goes_on() {
        check(&[A, B, C], &[A], &["3 1 longer by 2"]);
        check(&[A], &[], &["2 0 longer by 1"]);
    }

    #[test]
    fn headers() {
        let rows = &[A][..];
        for (older, newer, expected) in [
            (r#","cwd":"/w""#, r#","cwd":"/w""#, &[][..]),
            (r#","cwd":"/w""#, r#","cwd":"/v""#, &[r#"1 - /cwd "/w" "/v""#]),
            ("", r#","parentSession":"p""#, &[r#"1 - /parentSession missing "p""#]),
        ] {
            assert_eq!(compare(&log(3, older, rows), &log(4, newer, rows), vec![]), expected);
        }
        // Both are told: a header says nothing of the events.
        let found = compare(&log(3, "", &[A, B]), &log(4, r#","agentPreset":"x""#, &[A]), vec![]);
        assert_eq!(found, [r#"1 - /agentPreset missing "x""#, "3 1 longer by 1"]);
        // What a step renames is renamed before it is compared.
        let code = r#","agentPreset":"code""#;
        assert_eq!(compare(&log(2, code, &[]), &log(4, r#","agentPreset":"ptc""#, &[]), vec![]), [""; 0]);
        assert_eq!(compare(&log(3, code, &[]), &log(4, code, &[]), vec![]), [""; 0]);
    }

    /// Children come and go after a migration, and are described in logs of their own.
    #[test]
    fn what_is_known_of_children_is_not_compared() {
        for (children, newer) in [
            (vec![], &[A, B, CHILD][..]),
            (vec![child("k")], &[A, B]),
            (vec![child("k")], &[A, B, CHILD]),
            (vec![child("j"), child("k")], &[A, B, CHILD]),
            (vec![child("j")], &[A, B, CHILD, &C.replace("\"seq\":2", "\"seq\":3")]),
            (vec![child("j")], &[A, B, C]),
        ] {
            assert_eq!(compare(&log(3, "", &[A, B]), &log(4, "", newer), children), [""; 0], "{newer:?}");
        }
        assert_eq!(compare(&log(3, "", &[]), &log(4, "", &[]), vec![child("k")]), [""; 0]);
    }

    /// What stands in the old file is compared, entries of the catalog too, and what was made at the end of the newer one is
    /// only passed over where the newer one says nothing else.
    #[test]
    fn what_the_log_itself_says_of_children_is_compared() {
        check(&[A, B, LATER], &[A, B, LATER], &[]);
        check(&[A, B, LATER], &[A, B, CHILD], &["4 2 /time 21 20"]);
        check(&[A, B, C], &[A, B, CHILD], &["4 2 longer by 1"]);
        check(&[A, B, C], &[A, B, LATER], &[r#"4 2 /type "todo/write" "subagent/catalog""#]);
        let next = C.replace("\"seq\":2", "\"seq\":3");
        check(&[A, B, C, &next], &[A, B, CHILD, &next], &[r#"4 2 /type "todo/write" "subagent/catalog""#]);
    }

    /// Both are carried to V4.
    #[test]
    fn two_old_generations() {
        const X: &str = r#"{"type":"sandbox/mode","seq":0,"time":10,"data":{"mode":"read-only"}}"#;
        const Y: &str = r#"{"type":"approval/policy","seq":1,"time":20,"data":{"policy":"ask"}}"#;
        let both = |older: &[&str], newer: &[&str]| {
            compare(&log(2, "", older), &log(3, "", newer), vec![child("k")])
        };
        assert_eq!(both(&[X], &[X, Y]), [""; 0]);
        assert_eq!(both(&[X, Y], &[X]), ["3 1 longer by 1"]);
        let other = Y.replace("ask", "never");
        assert_eq!(both(&[X, Y], &[X, &other]), [r#"3 1 /data/policy "ask" "never""#]);
        // A tail that is dropped is no part of the newer one.
        assert_eq!(both(&[X, Y], &[X, "damaged"]), ["3 1 longer by 1"]);
        let found = compare(&log(2, "", &[]), &log(3, r#","cwd":"/w""#, &[]), vec![]);
        assert_eq!(found, [r#"1 - /cwd missing "/w""#]);
    }

    /// The newer log has a report of its own; nothing is said of what could not be compared.
    #[test]
    fn a_newer_log_that_cannot_be_read() {
        let end = r#"{"type":"turn/end","seq":4,"time":20,"data":{}}"#;
        check(&[A, B, C], &[A, "damaged", end], &[]);
        let newer = LogFile::from_bytes(b"{}\n".to_vec(), Generation::CURRENT, Encoding::Raw);
        assert!(Overlap::open(&log(3, "", &[]).header().unwrap(), &newer, &Limits::default()).is_err());
    }
}
