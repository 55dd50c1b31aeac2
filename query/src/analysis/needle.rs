//! What a part of a query looks for, in terms.

use super::{Analyzer, Kind, STEM_MARK, Token, stem::Stems};

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

/// What is known of the term in the last slot.
struct Ending {
    kind: Kind,
    /// The run of the last character has no other.
    is_alone: bool,
}

impl Needle {
    /// What somebody typed without quotes: words match in any form of them. Nothing when no term is in it.
    pub fn word(text: &str) -> Option<Needle> {
        let (mut needle, ending) = Needle::read(text)?;
        if ending.kind == Kind::Part
            && let [Slot::Any(terms)] = needle.slots.as_mut_slice()
            && let Some(word) = terms.first().cloned()
            && word.bytes().all(|byte| byte.is_ascii_lowercase())
        {
            let stem = Stems::default().plain(&word);
            terms.push(format!("{STEM_MARK}{stem}"));
            if stem != word {
                terms.push(stem);
            }
        }
        Some(needle)
    }

    /// What somebody quoted: the very words, in this order.
    pub fn phrase(text: &str) -> Option<Needle> {
        Some(Needle::read(text)?.0)
    }

    /// What somebody typed with a star behind it.
    pub fn prefix(text: &str) -> Option<Needle> {
        let (mut needle, ending) = Needle::read(text)?;
        // In a run any needle is the beginning of something.
        if ending.kind == Kind::Part
            && let Some(last) = needle.slots.last_mut()
            && let Slot::Any(terms) = last
        {
            *last = Slot::Prefix(terms.swap_remove(0));
        }
        Some(needle)
    }

    fn read(text: &str) -> Option<(Needle, Ending)> {
        let mut needle = Needle { slots: Vec::new(), better: Vec::new() };
        let mut ending = Ending { kind: Kind::Part, is_alone: true };
        Analyzer::new().each(text, &mut |token: &Token<'_>| match token.kind {
            Kind::Part | Kind::Pair | Kind::Last => {
                needle.slots.push(Slot::Any(vec![token.term.to_owned()]));
                ending.is_alone = ending.kind != Kind::Pair;
                ending.kind = token.kind;
            }
            Kind::Word => needle.better.push(token.term.to_owned()),
            Kind::Whole | Kind::Stem => {}
        });
        // What was typed may be the beginning of a longer run.
        if ending.kind == Kind::Last
            && let Some(Slot::Any(mut terms)) = needle.slots.pop()
            && ending.is_alone
        {
            needle.slots.push(Slot::Prefix(terms.swap_remove(0)));
        }
        (!needle.slots.is_empty()).then_some((needle, ending))
    }
}
