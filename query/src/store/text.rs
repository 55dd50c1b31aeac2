//! The text that the runtime of V0 would have written for what stands in a store.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};

use dshlog_codec::json::{Doc, JsString, print_string};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// Text that is held in memory; what is longer goes to a file.
const HELD: usize = 64 << 20;

const SESSION: &str = "SELECT version, id, created_at, cwd, parent_session, seed_length, origin, delegation_depth, \
    agent_preset FROM sessions WHERE id = ?1";

const EVENTS: &str = "SELECT type, seq, time, data, source_event_seqs, surface_op, ignorable FROM events \
    WHERE session_id = ?1 ORDER BY seq";

/// A text on its way.
#[derive(Debug, Default)]
pub(super) struct Spool {
    held: Vec<u8>,
    file: Option<File>,
}

/// A text that is whole.
pub(super) enum Whole {
    /// In memory.
    Held(Vec<u8>),
    /// In a file without a name.
    Written(File),
}

impl Spool {
    fn end_line(&mut self) -> io::Result<()> {
        self.held.push(b'\n');
        if self.held.len() > HELD { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<Whole> {
        if self.file.is_some() {
            self.write()?;
        }
        Ok(match self.file {
            Some(file) => Whole::Written(file),
            None => Whole::Held(self.held),
        })
    }
}

/// The header line of a session; nothing when there is no such session.
pub(super) fn header(database: &Connection, id: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut select = database.prepare_cached(SESSION)?;
    select
        .query_row([id], |row| {
            let mut line = b"{\"type\":\"session\"".to_vec();
            for (at, name) in ["version", "id", "createdAt", "cwd", "parentSession", "seedLength", "origin"]
                .into_iter()
                .enumerate()
            {
                member(&mut line, name, row.get_ref(at)?);
            }
            // A store leaves out the 0 that files say.
            match row.get_ref(7)? {
                ValueRef::Null => line.extend_from_slice(b",\"delegationDepth\":0"),
                depth => member(&mut line, "delegationDepth", depth),
            }
            member(&mut line, "agentPreset", row.get_ref(8)?);
            line.extend_from_slice(b"}\n");
            Ok(line)
        })
        .optional()
}

/// The whole log. False when there is no such session.
pub(super) fn log(database: &Connection, id: &str, spool: &mut Spool) -> rusqlite::Result<bool> {
    let Some(header) = header(database, id)? else { return Ok(false) };
    spool.held.extend_from_slice(&header);
    let mut select = database.prepare_cached(EVENTS)?;
    let mut rows = select.query([id])?;
    while let Some(row) = rows.next()? {
        event(&mut spool.held, row)?;
        // An error of ours goes through SQLite's in this guise only.
        spool.end_line().map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    }
    Ok(true)
}

/// A row as a line without its end. Of what no runtime stored, the line is what the reader of V0 then refuses.
fn event(line: &mut Vec<u8>, row: &Row<'_>) -> rusqlite::Result<()> {
    let begin = line.len();
    line.push(b'{');
    for (at, name) in ["type", "seq", "time"].into_iter().enumerate() {
        member(line, name, row.get_ref(at)?);
    }
    for (at, name) in [(3, "data"), (4, "sourceEventSeqs"), (5, "surfaceOp")] {
        let value = row.get_ref(at)?;
        let ValueRef::Text(_) = value else {
            member(line, name, value);
            continue;
        };
        // The line ends where the reader sees an end, which JSON may have between its parts: a carriage return is as good.
        let json = lossy(value).replace('\n', "\r");
        if Doc::parse(json.as_str()).is_err() {
            // Alone: between others, half a value could be a part of a whole one.
            line.truncate(begin);
            line.extend_from_slice(json.as_bytes());
            return Ok(());
        }
        key(line, name);
        line.extend_from_slice(json.as_bytes());
    }
    match row.get_ref(6)? {
        ValueRef::Integer(1) => line.extend_from_slice(b",\"ignorable\":true"),
        ignorable => member(line, "ignorable", ignorable),
    }
    line.push(b'}');
    Ok(())
}

/// A member, unless it is absent.
fn member(line: &mut Vec<u8>, name: &str, value: ValueRef<'_>) {
    if matches!(value, ValueRef::Null) {
        return;
    }
    key(line, name);
    match value {
        ValueRef::Null => {}
        ValueRef::Integer(number) => line.extend_from_slice(number.to_string().as_bytes()),
        ValueRef::Real(number) if number.is_finite() => {
            line.extend_from_slice(number.to_string().as_bytes());
        }
        ValueRef::Real(_) => line.extend_from_slice(b"null"),
        ValueRef::Text(_) | ValueRef::Blob(_) => print_string(line, &JsString::from(&*lossy(value))),
    }
}

fn key(line: &mut Vec<u8>, name: &str) {
    if line.last() != Some(&b'{') {
        line.push(b',');
    }
    line.push(b'"');
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":");
}

/// A text, with U+FFFD for what is none.
pub(super) fn lossy(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes),
        _ => Cow::Borrowed(""),
    }
}
