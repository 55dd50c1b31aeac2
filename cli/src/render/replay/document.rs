//! `dshlog.replay/1`.

use std::io::{self, Write};

use super::super::diff;
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
    for (name, report) in [("events", &told.events), ("requests", &told.requests)] {
        match report {
            Some(report) => diff::member(name, report, &mut document),
            None => document.raw(name, b"null"),
        }
    }
    document.text("stdout", &told.said[0]);
    document.text("stderr", &told.said[1]);
    document.path("kept", told.kept.as_deref());
    document.flag("updated", told.is_updated);
    document.count("ms", told.millis);
    document.write_line(out)
}
