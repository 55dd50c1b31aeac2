//! The short forms of the format, decode and encode side by side: ranges in `sourceEventSeqs`
//! (`docs/spec/rows.md`, section 5), packed rows of V0 and V1 (section 4), compact streams of V2 and later (section 6).
//!
//! Each form is checked whole before anything is handed out, and then handed out piece by piece: what a row claims to
//! stand for may be far longer than the row. No rule on the order of rows is here.

pub mod deltas;
pub mod packed;
pub mod ranges;
pub mod stream;

pub use deltas::{Delta, DeltaKind, Deltas, Walk};
pub use packed::{PackedRow, RowText, pack};
pub use ranges::Ranges;
pub use stream::{Chunk, Compactor, Expand, Record, expand, records};

/// Which rule a form breaks, in a few words; what [`crate::ErrorKind::RowShape`] holds.
pub type Fault = &'static str;

/// Append an integer in the safe range, which JavaScript prints as plain digits.
fn print_integer(out: &mut Vec<u8>, integer: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

#[cfg(test)]
mod vectors {

    use crate::json::{Doc, Js, print};

    /// One of the files of cases in `docs/spec/vectors`.
    pub(super) fn load(name: &str) -> Doc {
        let path = format!("{}/../docs/spec/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
        Doc::parse(std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// JSON that a case holds as text, parsed; nothing when the case has no such member.
    pub(super) fn text_member(case: Js<'_>, name: &str) -> Option<Doc> {
        let text = case.get(name)?.as_str().unwrap().to_owned();
        Some(Doc::parse(text.as_str().unwrap()).unwrap())
    }

    /// `value` as the official code prints it.
    pub(super) fn printed(value: Js<'_>) -> String {
        let mut out = Vec::new();
        print(&mut out, value);
        String::from_utf8(out).unwrap()
    }
}
