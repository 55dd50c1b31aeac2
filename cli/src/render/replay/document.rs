//! `dshlog.replay/1`.

use std::io::{self, Write};

use super::super::diff::{self, Report};
use super::super::json::Object;
use super::Told;

/// Write what is told of a scenario as a document.
pub(crate) fn document(told: &Told, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Object::new("dshlog.replay/1");
    document.text("scenario", &told.name);
    document.text_or_null("session", told.session.as_deref());
    document.text("agent", &told.agent);
    document.text("status", told.status.name());
    document.text_or_null("reason", told.reason.as_deref());
    document.text_or_null("transport", Some(told.transport).filter(|transport| !transport.is_empty()));
    document.text_or_null("fromMemory", told.from_memory.as_deref());
    match told.exit {
        Some(code) => document.raw("exitCode", code.to_string().as_bytes()),
        None => document.raw("exitCode", b"null"),
    }
    match &told.wire {
        Some(wire) => document.object("asked", |object| {
            object.count("expected", wire.expected as u64);
            object.count("came", wire.asked as u64);
            object.count("alike", wire.alike as u64);
            match &wire.first {
                Some(first) => object.object("first", |object| {
                    object.count("number", first.number as u64);
                    object.count_or_null("turn", first.position.map(|at| at.turn));
                    object.count_or_null("step", first.position.map(|at| at.step));
                    object.text("pointer", &first.pointer);
                    object.text("what", &first.what);
                }),
                None => object.raw("first", b"null"),
            }
        }),
        None => document.raw("asked", b"null"),
    }
    reports(&mut document, told.events.as_ref(), told.requests.as_ref());
    match &told.subagents {
        Some(subagents) => document.array("subagents", subagents.iter(), |subagent, object| {
            object.text_or_null("recorded", subagent.recorded.as_deref());
            object.text_or_null("written", subagent.written.as_deref());
            reports(object, subagent.events.as_ref(), subagent.requests.as_ref());
        }),
        None => document.raw("subagents", b"null"),
    }
    document.text("stdout", &told.said[0]);
    document.text("stderr", &told.said[1]);
    document.path("kept", told.kept.as_deref());
    document.flag("updated", told.is_updated);
    document.count("ms", told.millis);
    document.write_line(out)
}

fn reports(object: &mut Object, events: Option<&Report>, requests: Option<&Report>) {
    for (name, report) in [("events", events), ("requests", requests)] {
        match report {
            Some(report) => diff::member(name, report, object),
            None => object.raw(name, b"null"),
        }
    }
}
