//! Stems of English words.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

use super::STEM_MARK;

/// Words to remember before all are forgotten: finding a stem takes longer than finding a word.
const MOST: usize = 1 << 16;

/// Finds stems, and remembers them.
pub(super) struct Stems {
    stemmer: Stemmer,
    /// The marked stem, or nothing for a word that is its own.
    known: HashMap<Box<str>, Option<Box<str>>>,
}

impl Default for Stems {
    fn default() -> Self {
        Stems { stemmer: Stemmer::create(Algorithm::English), known: HashMap::new() }
    }
}

impl Stems {
    /// The marked stem of a folded word, unless it is the word itself.
    pub(super) fn of(&mut self, word: &str) -> Option<&str> {
        if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return None;
        }
        if self.known.len() >= MOST {
            self.known.clear();
        }
        if !self.known.contains_key(word) {
            let stem = self.stemmer.stem(word);
            let marked = (stem != word).then(|| format!("{STEM_MARK}{stem}").into_boxed_str());
            self.known.insert(word.into(), marked);
        }
        self.known.get(word)?.as_deref()
    }

    /// The stem of a folded word.
    pub(super) fn plain(&self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }
}
