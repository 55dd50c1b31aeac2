//! Runs of scripts that put no spaces between words.

use std::ops::Range;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{compose, is_combining_mark};

use super::class::Class;
use super::{Kind, Token, WORD_MARK};

/// A segmenter sees this many characters at once; a run without any punctuation may be as long as its text.
const SEGMENTED: usize = 256;

/// Makes pairs and words out of runs. Keeps its buffers.
pub(super) struct Run {
    segmenter: WordSegmenterBorrowed<'static>,
    /// The folded characters, and their bytes in the piece.
    chars: Vec<(char, Range<usize>)>,
    /// Words by the characters that they begin and end in front of.
    words: Vec<Range<usize>>,
    text: String,
    term: String,
}

impl Default for Run {
    fn default() -> Self {
        Run {
            segmenter: WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()),
            chars: Vec::new(),
            words: Vec::new(),
            text: String::new(),
            term: String::new(),
        }
    }
}

impl Run {
    /// Show the terms of a run that begins at byte `start` of its text.
    pub(super) fn each(
        &mut self,
        piece: &str,
        start: usize,
        class: Class,
        position: &mut u32,
        see: &mut dyn FnMut(&Token<'_>),
    ) {
        self.read(piece, class);
        self.words.clear();
        if class == Class::Han {
            self.segment();
        }
        let mut words = self.words.iter().peekable();
        for (at, (c, bytes)) in self.chars.iter().enumerate() {
            let from = start + bytes.start;
            let next = self.chars.get(at + 1);
            self.term.clear();
            self.term.push(*c);
            let (kind, to) = match next {
                Some((next, bytes)) => {
                    self.term.push(*next);
                    (Kind::Pair, bytes.end)
                }
                None => (Kind::Last, bytes.end),
            };
            see(&Token { term: &self.term, position: *position, bytes: from..start + to, kind });
            if let Some(word) = words.next_if(|word| word.start == at)
                && let Some(chars) = self.chars.get(word.clone())
            {
                self.term.clear();
                self.term.push(WORD_MARK);
                self.term.extend(chars.iter().map(|(c, _)| *c));
                let to = start + chars.last().map_or(bytes.end, |(_, bytes)| bytes.end);
                see(&Token { term: &self.term, position: *position, bytes: from..to, kind: Kind::Word });
            }
            *position = position.saturating_add(1);
        }
    }

    /// Fold the characters: one width for all, composed. Marks of dense scripts are letters.
    fn read(&mut self, piece: &str, class: Class) {
        self.chars.clear();
        for (from, c) in piece.char_indices() {
            let to = from + c.len_utf8();
            if matches!(c, '\u{200c}' | '\u{200d}') {
                continue;
            }
            if class == Class::Dense {
                self.chars.push((c, from..to));
                continue;
            }
            for folded in std::iter::once(c).nfkc() {
                // Marks of kana, and letters that make a syllable of Hangul when names of files are decomposed.
                let whole = self.chars.last().and_then(|(last, _)| compose(*last, folded));
                match self.chars.last_mut() {
                    Some((last, bytes)) if whole.is_some() || is_combining_mark(folded) => {
                        *last = whole.unwrap_or(*last);
                        bytes.end = to;
                    }
                    _ => self.chars.push((folded, from..to)),
                }
            }
        }
    }

    fn segment(&mut self) {
        let mut first = 0;
        for chunk in self.chars.chunks(SEGMENTED) {
            self.text.clear();
            self.text.extend(chunk.iter().map(|(c, _)| *c));
            let (mut from, mut at) = (0, first);
            for to in self.segmenter.segment_str(&self.text).skip(1) {
                let length = self.text.get(from..to).map_or(0, |word| word.chars().count());
                if (2..=8).contains(&length) {
                    self.words.push(at..at + length);
                }
                (from, at) = (to, at + length);
            }
            first += chunk.len();
        }
    }
}
