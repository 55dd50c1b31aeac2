//! JSON as JavaScript means it (`docs/spec/rows.md`, section 1).
//!
//! The official reader parses with the JavaScript parser and prints with the JavaScript printer, and both are part
//! of the format. So this module keeps what a Rust JSON library would lose: lone surrogates, duplicate members (the
//! last value at the first one's place), doubles beyond the safe range, and any depth of nesting.
//!
//! Parsing makes a [`Tape`]: one flat list of nodes over the text, which is not copied. A [`Js`] is a cursor on it.
//! Nothing here knows what a session is.

mod equal;
mod loss;
mod number;
mod print;
mod string;
mod tape;
mod tree;
mod value;

pub use equal::{Digest, deep_digest, deep_digest_blanking};
pub use loss::Losses;
pub use number::{SAFE_INTEGER, print_number};
pub use print::{is_canonical, ordered_members, print, print_str, print_string};
pub use string::{JsStr, JsString};
pub use tape::{JsonError, Kind, Tape};
pub use tree::{Fields, Tree};
pub use value::{Doc, Elements, Js, Members};
