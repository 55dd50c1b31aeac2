//! Who wrote an event, as far as its log tells. No log names the release of dsh that wrote it.

use dshlog_codec::json::{Doc, Js};
use dshlog_codec::{At, ErrorKind, Generation, Limits, LogFile};

use super::finding::Writer;

/// The releases of dsh that write a format (`docs/spec/storage.md`, section 2.3). V1 and V2 were never written by a
/// published one.
pub(crate) fn releases(generation: Generation) -> Option<&'static str> {
    match generation.0 {
        0 => Some("dsh up to 0.1.2-rc.1"),
        3 => Some("dsh 0.1.5-rc.1"),
        4 => Some("dsh 0.2"),
        5.. => Some("a newer dsh"),
        _ => None,
    }
}

/// Who wrote a log whose header is refused. `named` is what the file's name says, which counts least.
pub(crate) fn of_header(kind: &ErrorKind, named: Generation) -> Writer {
    let runtime = match kind {
        // What only unreleased builds wrote.
        ErrorKind::HeaderRetired { .. } => None,
        ErrorKind::Newer { version } => releases(Generation(*version)),
        ErrorKind::VersionMismatch { header, .. } => {
            header.parse().ok().and_then(|version| releases(Generation(version)))
        }
        _ => releases(named),
    };
    Writer { runtime, ..Writer::default() }
}

/// Codes of what is wrong with the type of an event.
const OF_TYPES: [&str; 2] = ["unknown-event", "retired-event"];

/// Who wrote what is wrong at `at`. `required` has the types of the log that its generation does not know and cannot pass
/// over; they are to blame only where `code` says so. Reads the log once more, up to that place.
pub(crate) fn writer(log: &LogFile, at: &At, required: &[String], code: &str) -> Writer {
    let mut writer = Writer { runtime: releases(log.generation()), ..Writer::default() };
    if let Some(line) = at.line {
        read(log, line, &mut writer);
    }
    if OF_TYPES.contains(&code) && !required.is_empty() {
        writer.events = required.to_vec();
        writer.plugin = required.first().and_then(|name| plugin(name)).map(str::to_owned);
    }
    writer
}

/// The name that a plugin puts in front of its types, up to the first slash. Types of dsh itself look the same, so this is
/// asked of unknown types only.
pub(crate) fn plugin(kind: &str) -> Option<&str> {
    let (name, _) = kind.split_once('/')?;
    let name = name.strip_prefix("plugin:").unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

fn read(log: &LogFile, last: u64, writer: &mut Writer) {
    let Ok(mut lines) = log.lines(&Limits::default()) else { return };
    while let Ok(Some((line, place))) = lines.next_line() {
        let is_last = place.line >= last;
        let text = String::from_utf8_lossy(line);
        // The header is no event, and most lines tell nothing of the model.
        if place.line > 1 && (is_last || text.contains("\"request/header\"")) {
            see(&text, is_last, writer);
        }
        if is_last {
            return;
        }
    }
}

fn see(line: &str, is_last: bool, writer: &mut Writer) {
    let Ok(doc) = Doc::parse(line) else { return };
    let row = doc.root();
    let text = |value: Option<Js<'_>>| value.and_then(Js::as_str).map(|text| text.to_lossy().into_owned());
    if row.get("type").is_some_and(|kind| kind.is("request/header")) {
        let config = row.path(&["data", "header", "config"]);
        let member = |name| text(config.and_then(|config| config.get(name)));
        writer.model = member("provider").zip(member("model"));
    }
    if is_last {
        writer.events.extend(text(row.get("type")));
        writer.time = row.get("time").and_then(Js::as_safe_integer);
        let source = row.path(&["data", "message", "source"]).or_else(|| row.path(&["data", "source"]));
        writer.plugin = text(source.and_then(|source| source.get("plugin")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dshlog_codec::Encoding;

    const LOG: &str = r#"{"type":"session","version":4,"id":"a","createdAt":1,"isSeeded":false,"delegationDepth":0}
{"type":"request/header","seq":0,"time":1,"data":{"header":{"config":{"provider":"p","model":"old"}}}}
{"type":"request/header","seq":1,"time":2,"data":{"header":{"config":{"provider":"p","model":"m"}}}}
{"type":"user/message","seq":2,"time":3,"data":{"source":{"kind":"plugin","plugin":"notes"}}}
{"type":"x-lab/note","seq":3,"time":4,"data":null}
{"type":"request/header","seq":4,"time":5,"data":{"header":{"config":{"provider":"p","model":"new"}}}}
"#;

    #[track_caller]
    fn check(
        line: Option<u64>,
        required: &[&str],
        code: &str,
        expected: (Option<&str>, &[&str], Option<&str>),
    ) {
        let log = LogFile::from_bytes(LOG.into(), Generation(4), Encoding::Raw);
        let required: Vec<String> = required.iter().map(|&name| name.to_owned()).collect();
        let writer = writer(&log, &At { line, ..At::default() }, &required, code);
        let model = writer.model.as_ref().map(|(_, model)| model.as_str());
        let events: Vec<&str> = writer.events.iter().map(String::as_str).collect();
        assert_eq!((writer.plugin.as_deref(), &*events, model), expected);
        assert_eq!(writer.runtime, Some("dsh 0.2"));
    }

    #[test]
    fn the_log_tells_as_far_as_it_goes() {
        check(Some(4), &[], "message-source", (Some("notes"), &["user/message"], Some("m")));
        check(Some(4), &["x-lab/note"], "message-source", (Some("notes"), &["user/message"], Some("m")));
        check(
            Some(5),
            &["x-lab/note", "x"],
            "unknown-event",
            (Some("x-lab"), &["x-lab/note", "x"], Some("m")),
        );
        check(Some(2), &[], "request-header", (None, &["request/header"], Some("old")));
        check(Some(1), &[], "header-malformed", (None, &[], None));
        check(None, &[], "frame-magic", (None, &[], None));
    }

    #[test]
    fn headers_say_more_than_names() {
        let mismatch =
            |header: &str| ErrorKind::VersionMismatch { name: Generation(3), header: header.into() };
        for (kind, expected) in [
            (ErrorKind::HeaderRetired { member: "sandboxMode" }, None),
            (ErrorKind::Newer { version: 5 }, Some("a newer dsh")),
            (mismatch("4"), Some("dsh 0.2")),
            (mismatch("1"), None),
            (mismatch("4.5"), None),
            (ErrorKind::NoHeader, Some("dsh 0.1.5-rc.1")),
        ] {
            assert_eq!(of_header(&kind, Generation(3)).runtime, expected, "{kind}");
        }
    }

    #[test]
    fn codes_of_types_are_codes() {
        let page = include_str!("../../../docs/codes.md");
        for code in OF_TYPES {
            assert!(page.contains(&format!("\n| `{code}` |")), "{code}");
        }
    }

    #[test]
    fn plugins_by_the_types_of_their_events() {
        for (kind, expected) in [
            ("x-lab/note", Some("x-lab")),
            ("plugin:todo/write", Some("todo")),
            ("a/b/c", Some("a")),
            ("note", None),
            ("/note", None),
        ] {
            assert_eq!(plugin(kind), expected, "{kind}");
        }
    }
}
