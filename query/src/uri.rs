//! Databases by names that tell SQLite how to open them.

use std::fmt::Write as _;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Open a database for reading, with a switch of SQLite's (`immutable`, `readonly_shm`) on.
pub(crate) fn open_read_only(path: &Path, switch: &str) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri(path, switch), flags)
}

fn uri(path: &Path, switch: &str) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            // Slashes too: two at the beginning would name a host.
            _ => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri + "?" + switch + "=1"
}
