//! Reading a log: container, lines, rows, events, one walk at a time (`docs/spec/storage.md`, sections 7 to 9;
//! `docs/spec/rows.md`, section 10).
//!
//! A walk yields the events of the committed prefix as it finds them, and learns only at the end whether the log as a
//! whole is sound: damage that is followed by a readable `turn/end` is an error, damage that is not is a torn tail. Who
//! must not show events of a refused log walks twice; [`LogFile`] pins the length, so both walks see the same bytes.

mod file;
mod mark;
mod reader;

pub use file::{Limits, LogFile, RawLines};
pub use mark::Mark;
pub use reader::{End, LogReader, Row, Torn};
