//! Running a recorded session again, by whoever is to be judged.
//!
//! [`core`] drives the embedded agent core, [`command`] a process; both are answered by a fixture server that says what the
//! record says ([`answers`], [`crate::script`]). What comes of it is a log and what the server was asked; whether that is what was recorded,
//! `dshlog_replay::compare` tells. Not for: reading the record, which may be of any generation.

pub mod answers;
pub mod command;
pub mod core;
pub mod dsh;
mod group;
mod images;
pub mod kin;
mod stage;

use std::time::{Duration, Instant};

use dshlog_fixture_server::script::{Matcher, Response, Side};
use dshlog_fixture_server::{Kind, Script};

use crate::Position;

pub use answers::{Answers, Asked, Unserved};
pub use command::{CommandRun, Ended};
pub use core::{CoreRun, Transport};

/// What the server was asked, against what the record implies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// Requests that the record implies.
    pub expected: usize,
    /// Requests that came.
    pub asked: usize,
    /// Those among them that are what the record implies.
    pub alike: usize,
    /// The first one that is not.
    pub first: Option<WireDifference>,
}

/// A request that is not what the record implies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireDifference {
    /// Its number, from 1.
    pub number: usize,
    /// Where it stands in the session; nothing for one more than the record has.
    pub position: Option<Position>,
    /// The first place in its body that differs, as a JSON pointer; empty when it is missing, or one too many.
    pub pointer: String,
    /// How.
    pub what: String,
}

impl Wire {
    /// Every request that the record implies came, and no other.
    pub fn is_equal(&self) -> bool {
        self.first.is_none() && self.alike == self.expected && self.asked == self.expected
    }

    /// Compare the bodies that came, in order, with those that the record implies.
    fn of(expected: &[Asked], came: &[impl AsRef<[u8]>]) -> Self {
        let mut wire = Wire { expected: expected.len(), asked: came.len(), ..Wire::default() };
        for number in 0..expected.len().max(came.len()) {
            let (one, other) = (expected.get(number), came.get(number).map(AsRef::as_ref));
            let found = match (one, other) {
                (Some(one), Some(other)) if one.body == other => {
                    wire.alike += 1;
                    continue;
                }
                (Some(one), Some(other)) => place(&one.body, other),
                (Some(_), None) => (String::new(), "it was not asked".to_owned()),
                _ => (String::new(), "the record has no such request".to_owned()),
            };
            let (pointer, what) = found;
            let position = one.map(|one| one.position);
            wire.first.get_or_insert(WireDifference { number: number + 1, position, pointer, what });
        }
        wire
    }
}

/// A script that a server takes, also of a record in which nobody asks for anything.
fn playable(mut script: Script) -> Script {
    if script.exchanges.is_empty() && script.side.is_empty() {
        let matcher = Matcher { kind: Some(Kind::Title), ..Matcher::default() };
        let respond = Response::error(404, "not_found_error", "nobody asks in the record");
        script.side.push(Side { matcher, respond, ..Side::default() });
    }
    script
}

/// When so much time is over; of a time that no clock reaches, some day.
fn deadline(time: Duration) -> Instant {
    const DAY: Duration = Duration::from_hours(24);
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now + DAY)
}

/// Where two bodies differ first.
fn place(expected: &[u8], actual: &[u8]) -> (String, String) {
    use dshlog_fixture_server::json;
    let (Ok(expected), Ok(actual)) = (json::parse(expected), json::parse(actual)) else {
        return (String::new(), "one of the bodies is no JSON".to_owned());
    };
    match json::diff::differences(&expected, &actual, 1).into_iter().next() {
        Some(found) => {
            let told = found.to_string();
            let what = told.strip_prefix(&format!("{}: ", found.pointer)).unwrap_or(&told).to_owned();
            (found.pointer, what)
        }
        None => (String::new(), "the same JSON in another spelling".to_owned()),
    }
}

/// Why a scenario could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The record does not run again.
    #[error("the record cannot be run again")]
    Agent(#[from] crate::agent::AgentError),
    /// No server.
    #[error("no server for its model")]
    Server(#[from] dshlog_fixture_server::ServerError),
    /// A record that no server can play, so that no agent behind HTTP can be given it.
    #[error("the record cannot be served")]
    Script(#[from] crate::script::ScriptError),
    /// A folder for the agent.
    #[error("cannot {action} {}", path.display())]
    Folder {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: std::path::PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The agent does not start.
    #[error("cannot start `{command}`")]
    Start {
        /// What was to be started.
        command: String,
        /// Why it does not.
        #[source]
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(body: &str) -> Asked {
        Asked { position: Position { turn: 1, step: 1, attempt: 1 }, body: body.into() }
    }

    #[test]
    fn requests_are_compared_in_order() {
        let expected = [asked(r#"{"a":[1,{"b":"x"}]}"#), asked("{}")];
        let wire = Wire::of(&expected, &[r#"{"a":[1,{"b":"x"}]}"#, "{}"]);
        assert!(wire.is_equal() && wire.alike == 2);

        let wire = Wire::of(&expected, &[r#"{"a":[1,{"b":"y"}]}"#, "{}"]);
        let first = wire.first.unwrap();
        assert_eq!((wire.alike, first.number, &*first.pointer), (1, 1, "/a/1/b"));
        assert_eq!(first.what, r#"expected "x", is "y""#);

        let wire = Wire::of(&expected, &[r#"{"a":[1,{"b":"x"}]}"#]);
        assert!(!wire.is_equal());
        assert_eq!(wire.first.unwrap().what, "it was not asked");

        let wire = Wire::of(&expected[..1], &[r#"{"a":[1,{"b":"x"}]}"#, "{}"]);
        assert_eq!((wire.expected, wire.asked), (1, 2));
        assert_eq!(wire.first.unwrap().position, None);
    }
}
