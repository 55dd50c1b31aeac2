//! The session log of dsh: from bytes to validated events and back, for all five generations.

pub mod at;
pub mod check;
pub mod error;
pub mod event;
pub mod header;
pub mod json;
pub mod pack;
pub mod types;

pub use at::{At, Place};
pub use error::{Class, Error, ErrorKind, Result};
pub use event::Event;
pub use header::Header;
pub use types::{Encoding, Generation, Millis, Seq};
