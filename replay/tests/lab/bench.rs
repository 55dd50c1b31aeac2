//! One run of the lab: a script, a server, the core, and what came of it.

use std::path::PathBuf;

use dshlog_codec::check::Checker;
use dshlog_codec::header::CwdRule;
use dshlog_codec::json::Js;
use dshlog_codec::{Encoding, Generation, Header, Limits, LogFile, Millis};
use dshlog_fixture_server::{Capture, FixtureServer, Script, Verdict};
use dshlog_replay::NewEvent;
use dshlog_replay::agent::Log;
use dshlog_replay::agent::http::{Endpoint, HttpModel};
use dshlog_replay::agent::live::{Setup, converse_seen};
use dshlog_replay::agent::tools::{Call, Declaration, Notes, Outcome, Tools};
use dshlog_replay::wire::Dialect;
use serde_json::Value;

const HEADER: &str = r#"{"type":"session","version":4,"id":"session-1","createdAt":0,"cwd":"/tmp/lab","isSeeded":false,"delegationDepth":0}"#;
const QUESTION: &str = "Does a failed model attempt enter the next history?";
/// The note.
pub(crate) const NOTE: &str = "A failed model attempt: stays in the log, not in the history.";
/// What stands behind its preview.
pub(crate) const HIDDEN: &str = "stays in the log, not in the history";

/// The text of a file of the lab.
pub(crate) fn lab_file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/lab").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// What a run is made of.
pub(crate) struct Bench {
    script: Script,
    header: Header,
}

/// What came of a run.
pub(crate) struct Run {
    pub(crate) log: Log,
    pub(crate) captures: Vec<Capture>,
    /// The bodies, byte for byte, and read.
    pub(crate) bodies: Vec<Vec<u8>>,
    pub(crate) requests: Vec<Value>,
    pub(crate) verdict: Verdict,
}

impl Bench {
    pub(crate) fn new(script: &str) -> Self {
        Bench {
            script: Script::from_toml(&lab_file(script)).unwrap(),
            header: Header::parse(HEADER, CwdRule::Any).unwrap(),
        }
    }

    pub(crate) fn named(mut self, id: &str) -> Self {
        self.header.id = id.into();
        self
    }

    pub(crate) fn header_line(&self) -> Vec<u8> {
        let mut line = Vec::new();
        self.header.to_current().print(&mut line);
        line.push(b'\n');
        line
    }

    pub(crate) fn run(mut self, setup: Setup, tools: &dyn Tools) -> Run {
        self.run_seen(setup, tools, &mut |_| {})
    }

    /// Run, and have the log judged.
    pub(crate) fn run_seen(
        &mut self,
        setup: Setup,
        tools: &dyn Tools,
        seen: &mut dyn FnMut(&NewEvent),
    ) -> Run {
        let server = FixtureServer::spawn(std::mem::take(&mut self.script)).unwrap();
        let endpoint = Endpoint::new(server.url(), Dialect::Messages);
        let mut model = HttpModel::new(endpoint, Millis(0));
        let header = self.header.clone();
        let (log, outcome) = converse_seen(header, setup, &[QUESTION], &mut model, tools, seen);
        outcome.unwrap();
        drop(model);
        let captures = server.captures();
        let bodies: Vec<Vec<u8>> = captures.iter().map(|capture| capture.body.to_vec()).collect();
        let requests = bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect();
        let run = Run { log, captures, bodies, requests, verdict: server.stop() };
        run.judge(&self.header);
        run
    }
}

impl Run {
    /// The log as its file.
    pub(crate) fn lines(&self) -> String {
        let mut bytes = Vec::new();
        self.log.write_lines(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// What `dshlog verify` says of it: nothing.
    fn judge(&self, header: &Header) {
        let file = LogFile::from_bytes(self.lines().into_bytes(), Generation::CURRENT, Encoding::Raw);
        let mut reader = file.read(&Limits::default()).unwrap();
        let mut checker = Checker::new(header);
        while let Some(event) = reader.next_event().unwrap() {
            checker.see(&event);
        }
        let verdict = checker.finish(0);
        assert!(verdict.storage.is_none() && verdict.session.is_none(), "{verdict:?}");
    }

    /// How the turn ended.
    pub(crate) fn end(&self) -> String {
        let end = self.log.rows().last().unwrap().event();
        assert!(end.is("turn/end"), "{}", end.kind);
        end.data.unwrap().path(&["reason", "kind"]).and_then(Js::as_str).unwrap().to_string()
    }

    /// The last text that the model said.
    pub(crate) fn last_text(&self) -> Option<String> {
        let mut spoken =
            self.log.rows().iter().map(NewEvent::event).filter(|event| event.is("assistant/message"));
        let last = spoken.next_back()?;
        let blocks = last.member("message")?.get("content")?.elements();
        let text = blocks.filter(|block| block.get("type").is_some_and(|kind| kind.is("text"))).last()?;
        Some(text.get("text")?.as_str()?.to_string())
    }
}

/// A policy over the notes: `session` may not be read.
pub(crate) struct Denied(pub(crate) Notes);

impl Tools for Denied {
    fn declared(&self) -> Vec<Declaration> {
        self.0.declared()
    }

    fn call(&self, call: &Call) -> Outcome {
        let denied = call.tool() == "read_note"
            && call
                .parsed()
                .is_ok_and(|arguments| arguments.root().get("id").is_some_and(|id| id.is("session")));
        if denied { Outcome::failed("the policy denied reading \"session\"") } else { self.0.call(call) }
    }
}
