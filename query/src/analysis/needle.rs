//! What a part of a query looks for, in terms.

/// Terms that must stand one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle {
    /// For each position what may stand there; never empty.
    pub slots: Vec<Slot>,
    /// Terms that make a match better and none: words of a segmenter.
    pub better: Vec<String>,
}

/// What may stand at one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Any of these terms. More than one only in a needle of one slot.
    Any(Vec<String>),
    /// Any term that begins so, marked ones (stems, words) excepted. Only in the last slot.
    Prefix(String),
}

impl Needle {
    /// What somebody typed without quotes: words match in any form of them. Nothing when no term is in it.
    pub fn word(text: &str) -> Option<Needle> {
        Needle::phrase(text)
    }

    /// What somebody quoted: the very words, in this order.
    pub fn phrase(text: &str) -> Option<Needle> {
        let mut slots = Vec::new();
        super::Analyzer::new().each(text, &mut |token| slots.push(Slot::Any(vec![token.term.to_owned()])));
        (!slots.is_empty()).then_some(Needle { slots, better: Vec::new() })
    }

    /// What somebody typed with a star behind it.
    pub fn prefix(text: &str) -> Option<Needle> {
        let mut needle = Needle::phrase(text)?;
        if let Some(last) = needle.slots.last_mut()
            && let Slot::Any(terms) = last
        {
            *last = Slot::Prefix(terms.swap_remove(0));
        }
        Some(needle)
    }
}
