//! From text to terms: words, parts of identifiers, pairs of Chinese, Japanese and Korean characters.
//!
//! Index and scan ask the same analyzer, so they agree on what matches. Terms stand at positions: a needle of several
//! slots is found where its terms stand one behind the other.
//!
//! | text | terms (position) |
//! |---|---|
//! | `Running` | `running` (0), stem `run` (0) |
//! | `read_file` | `read` (0), `file` (1) |
//! | `camelCaseName` | `camel` (0), `case` (1), `name` (2), whole `camelcasename` (0) |
//! | `登录错误` | pairs `登录` (0), `录错` (1), `错误` (2), last `误` (3); words `登录` (0), `错误` (2) |
//! | `修复login` | `修复` (0), `复` (1), `login` (2) |
//!
//! The last character of a run is a term of its own, so that one character is found as the beginning of a pair or as the
//! end of a run, and so that `修复login` asks for a run that ends there.

mod needle;

use std::ops::Range;

pub use needle::{Needle, Slot};

/// Number of the rules. An index made with others is rebuilt.
pub const VERSION: u32 = 1;

/// One term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// As it stands in the index. Stems and words of a segmenter begin with a mark, so that they are never taken for
    /// what was written.
    pub term: &'a str,
    /// Where it stands, in terms.
    pub position: u32,
    /// Where it stands, in bytes of the text.
    pub bytes: Range<usize>,
}

/// Makes terms. Keeps its buffers; one for each thread.
#[derive(Default)]
pub struct Analyzer {}

impl Analyzer {
    /// A new one.
    pub fn new() -> Self {
        Analyzer::default()
    }

    /// Show every term of `text` to `see`, in the order of positions.
    pub fn each(&mut self, text: &str, see: &mut dyn FnMut(&Token<'_>)) {
        let mut position = 0;
        let mut at = 0;
        for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
            let trimmed = word.trim_end_matches(|c: char| !c.is_alphanumeric());
            if !trimmed.is_empty() {
                let term = trimmed.to_lowercase();
                see(&Token { term: &term, position, bytes: at..at + trimmed.len() });
                position += 1;
            }
            at += word.len();
        }
    }
}
