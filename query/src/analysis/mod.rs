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

mod class;
mod fold;
mod needle;
mod run;
mod stem;

use std::ops::Range;

pub use needle::{Needle, Slot};

use class::Class;
use run::Run;
use stem::Stems;

/// Number of the rules. An index made with others is rebuilt.
pub const VERSION: u32 = 2;

/// The most bytes of a term. Longer words are cut, in texts and in queries alike.
pub const LONGEST: usize = 64;

/// What marks a word of a segmenter.
pub const WORD_MARK: char = '\u{1}';

/// What marks a stem.
pub const STEM_MARK: char = '\u{2}';

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
    /// What it is.
    pub kind: Kind,
}

/// What a term is to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word, a part of an identifier, an emoji.
    Part,
    /// A whole identifier, beside its parts.
    Whole,
    /// The stem of a word, beside it.
    Stem,
    /// Two characters of a run.
    Pair,
    /// The last character of a run.
    Last,
    /// A word that a segmenter sees in a run, beside its pairs.
    Word,
}

impl Kind {
    /// True for what stands beside the terms of the same position, and says nothing of the next one.
    pub fn is_beside(self) -> bool {
        matches!(self, Kind::Whole | Kind::Stem | Kind::Word)
    }
}

/// Makes terms. Keeps its buffers; one for each thread.
#[derive(Default)]
pub struct Analyzer {
    stems: Stems,
    term: String,
    run: Run,
}

impl Analyzer {
    /// A new one.
    pub fn new() -> Self {
        Analyzer::default()
    }

    /// Show every term of `text` to `see`, in the order of positions.
    pub fn each(&mut self, text: &str, see: &mut dyn FnMut(&Token<'_>)) {
        let mut position = 0;
        let mut at = 0;
        while let Some((class, end)) = class::next_run(text, &mut at) {
            let bytes = at..end;
            at = end;
            let Some(piece) = text.get(bytes.clone()) else { continue };
            match class {
                Class::Word => self.word(piece, bytes.start, &mut position, see),
                Class::Emoji => self.emoji(piece, bytes.start, &mut position, see),
                Class::Han | Class::Hangul | Class::Dense => {
                    self.run.each(piece, bytes.start, class, &mut position, see);
                }
                Class::Other => {}
            }
        }
    }

    /// A run of letters and digits: a word, or an identifier of several.
    fn word(&mut self, piece: &str, start: usize, position: &mut u32, see: &mut dyn FnMut(&Token<'_>)) {
        let first = *position;
        let mut parts = 0;
        for (from, to) in class::parts(piece) {
            let Some(part) = piece.get(from..to) else { continue };
            self.term.clear();
            fold::fold(part, &mut self.term);
            fold::cut(&mut self.term, LONGEST);
            if self.term.is_empty() {
                continue;
            }
            let bytes = start + from..start + to;
            see(&Token { term: &self.term, position: *position, bytes: bytes.clone(), kind: Kind::Part });
            if let Some(stem) = self.stems.of(&self.term) {
                see(&Token { term: stem, position: *position, bytes, kind: Kind::Stem });
            }
            parts += 1;
            if parts == 1 && to < piece.len() {
                // Beside the first part, so that positions never go down.
                self.term.clear();
                fold::fold(piece, &mut self.term);
                fold::cut(&mut self.term, LONGEST);
                let bytes = start..start + piece.len();
                see(&Token { term: &self.term, position: first, bytes, kind: Kind::Whole });
            }
            *position = position.saturating_add(1);
        }
    }

    /// A run of emoji: each is a term, whatever its colour.
    fn emoji(&mut self, piece: &str, start: usize, position: &mut u32, see: &mut dyn FnMut(&Token<'_>)) {
        let mut emoji = piece.char_indices().filter(|(_, c)| !class::is_emoji_modifier(*c)).peekable();
        while let Some((from, c)) = emoji.next() {
            let to = emoji.peek().map_or(piece.len(), |(next, _)| *next);
            self.term.clear();
            self.term.push(c);
            let bytes = start + from..start + to;
            see(&Token { term: &self.term, position: *position, bytes, kind: Kind::Part });
            *position = position.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
