//! From an error to what to do next.

use dshlog_codec::{Class, Error, ErrorKind};

/// Hints for a log that could not be read.
pub(crate) fn for_error(error: &Error) -> Vec<String> {
    let hint = match error.kind() {
        ErrorKind::Newer { version } => {
            format!("a newer dsh wrote this; look for a dshlog that reads V{version}")
        }
        ErrorKind::NoHeader => {
            "the writer stopped before the header was complete; there is nothing to read".to_owned()
        }
        ErrorKind::HeaderMalformed { .. } | ErrorKind::HeaderRetired { .. } | ErrorKind::HeaderFrame => {
            "`read --rows` shows the stored lines".to_owned()
        }
        ErrorKind::MixedEncodings { .. } => {
            "dsh refuses a folder that holds both; a copy of one of them elsewhere can be read".to_owned()
        }
        ErrorKind::Identity { .. } => {
            "dsh will not find this session here; name a copy outside the home to read it".to_owned()
        }
        ErrorKind::VersionMismatch { .. } => {
            "a copy with another name is read by what its header says".to_owned()
        }
        // The events are there, but may not stand where they stand.
        ErrorKind::Rule { .. } => {
            "`--lenient` shows the events all the same; `dshlog verify` has the code of the fault".to_owned()
        }
        ErrorKind::Migration { .. } => {
            "`--as-stored` shows the events as they are stored, `--lenient` those in front of it".to_owned()
        }
        ErrorKind::Shrank { .. } | ErrorKind::Changed => "a writer is at work; try again".to_owned(),
        _ => match error.class() {
            Class::Unsupported => "`--lenient` reads past what it does not know".to_owned(),
            Class::Corrupt => {
                "`--lenient` reads up to the damage, `--rows` shows the stored lines".to_owned()
            }
            Class::Locked => "end the dsh that holds it, or read without writing".to_owned(),
            Class::Limit => {
                "this reader holds lines and frames in memory, and this one is too large".to_owned()
            }
            Class::NotFound => "`dshlog ls DIR` lists the sessions of a home or a root".to_owned(),
            Class::Misplaced | Class::Io => return Vec::new(),
        },
    };
    vec![hint]
}
