//! The session log of dsh: from bytes to validated events and back, for all five generations.

pub mod at;
pub mod check;
pub mod error;
pub mod event;
mod frame;
mod generation;
pub mod header;
pub mod home;
pub mod json;
mod line;
pub mod pack;
pub mod read;
pub mod source;
pub mod stream;
pub mod types;

pub use at::{At, Place};
pub use error::{Class, Error, ErrorKind, Result};
pub use event::Event;
pub use header::Header;
pub use read::{End, Limits, LogFile, LogReader, RawLines, Row, Torn};
pub use types::{Encoding, Generation, Millis, Seq};
