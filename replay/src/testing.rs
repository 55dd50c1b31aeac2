//! Logs of a few rows, for tests.

use dshlog_codec::json::Doc;
use dshlog_codec::{Event, Place};

/// Show each row to `see` as an event.
pub(crate) fn see_all<'r>(rows: impl IntoIterator<Item = &'r &'r str>, mut see: impl FnMut(&Event<'_>)) {
    for row in rows {
        let doc = Doc::parse(*row).unwrap();
        see(&Event::from_row(doc.root(), Place::default()));
    }
}

/// The log of `docs/spec/surface.md`, 11.3: the open step of a turn, with three calls. The first one was answered, the third
/// one began.
pub(crate) const OPEN_STEP: [&str; 9] = [
    r#"{"type":"turn/start","seq":0,"time":2000,"data":{"turn":1}}"#,
    r#"{"type":"step/start","seq":1,"time":2001,"data":{"turn":1,"step":1}}"#,
    r#"{"type":"system/message","seq":2,"time":2002,"data":{"turn":1,"step":1,"message":{"id":"s","role":"system","content":[]}},"surfaceOp":"append"}"#,
    r#"{"type":"user/message","seq":3,"time":2003,"data":{"id":"u","role":"user","content":[]},"surfaceOp":"append"}"#,
    r#"{"type":"request/header","seq":4,"time":2004,"data":{"reason":"initial","header":{}}}"#,
    r#"{"type":"assistant/message","seq":5,"time":2005,"data":{"turn":1,"step":1,"message":{"id":"a","role":"assistant","content":[{"type":"text","text":"c0"},{"type":"tool-call","id":"c1"},{"type":"tool-call","id":"c2"},{"type":"tool-call","id":"c3"}]}},"surfaceOp":"append"}"#,
    r#"{"type":"tool/call","seq":6,"time":2006,"data":{"turn":1,"step":1,"callId":"c1"}}"#,
    r#"{"type":"tool/result","seq":7,"time":2007,"data":{"turn":1,"step":1,"message":{"id":"r","role":"tool","toolCallId":"c1","source":{"kind":"tool","callId":"c1"},"content":[]}},"surfaceOp":"append"}"#,
    r#"{"type":"tool/call","seq":8,"time":2008,"data":{"turn":1,"step":1,"callId":"c3"}}"#,
];
