//! What a scripted server was asked, and how that went.

use std::io::{self, Write};

use dshlog_fixture_server::{Capture, Outcome, Script, Verdict, json};
use serde_json::{Value, json};

use super::text::visible;
use crate::args::Format;

/// The form of what programs read.
const SCHEMA: &str = "dshlog.serve/1";

/// A script that can be used.
pub(crate) fn sound(format: Format, script: &Script, out: &mut dyn Write) -> io::Result<()> {
    let (exchanges, side) = (script.exchanges.len(), script.side.len());
    match format {
        Format::Json => line("script", json!({ "exchanges": exchanges, "side": side }), out),
        _ => writeln!(out, "the script is sound: {exchanges} exchanges, {side} side rules"),
    }
}

/// Where the server listens.
pub(crate) fn listening(format: Format, url: &str, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Json => line("listening", json!({ "url": url }), out),
        _ => writeln!(out, "listening on {url}"),
    }
}

/// One request.
pub(crate) fn request(format: Format, capture: &Capture, out: &mut dyn Write) -> io::Result<()> {
    if format == Format::Json {
        return line("request", capture.to_json(false), out);
    }
    write!(out, "{:>4}", capture.n)?;
    if !capture.method.is_empty() {
        write!(out, "  {} {}", visible(&capture.method), visible(&capture.target))?;
    }
    write!(out, "  {}", capture.outcome.name())?;
    match &capture.outcome {
        Outcome::Served { label, lane, .. } => {
            write!(out, "  {}", visible(label))?;
            if let Some(lane) = lane.as_deref().filter(|lane| *lane != "main") {
                write!(out, " in `{}`", visible(lane))?;
            }
            writeln!(out)
        }
        Outcome::Diverged { label, differences, .. } => {
            writeln!(out, "  {}", visible(label))?;
            differences.iter().try_for_each(|difference| indented(&difference.to_string(), out))
        }
        Outcome::Unmatched(report) => {
            writeln!(out)?;
            indented(&report.to_string(), out)
        }
        Outcome::Refused { status, why } => writeln!(out, "  {status}: {}", visible(why)),
        Outcome::Left(why) => writeln!(out, "  {}", visible(why)),
        Outcome::Elsewhere { status } => writeln!(out, "  {status}"),
    }
}

/// The sum.
pub(crate) fn verdict(format: Format, verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Json => line("verdict", verdict.to_json(), out),
        _ => writeln!(out, "{}", visible(&verdict.to_string())),
    }
}

fn indented(text: &str, out: &mut dyn Write) -> io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "      {}", visible(line)))
}

fn line(event: &str, mut members: Value, out: &mut dyn Write) -> io::Result<()> {
    if let Some(members) = members.as_object_mut() {
        members.insert("schema".to_owned(), SCHEMA.into());
        members.insert("event".to_owned(), event.into());
    }
    writeln!(out, "{}", json::print(&members))
}
