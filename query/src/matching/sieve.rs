//! Which texts hold none of the terms of a query, told without analysing them.
//!
//! A term of plain characters stands in the text as it is but for its case, so a search for its letters settles most
//! texts. A text with characters that folding changes, such as `é` or `Ａ`, is always let through.

use regex::{Regex, RegexBuilder};

use crate::analysis::{STEM_MARK, WORD_MARK};

/// Lets through what may hold a term.
pub(super) struct Sieve {
    letters: Letters,
}

enum Letters {
    /// Every text may hold one.
    All,
    /// None does: nothing is asked for.
    None,
    /// Those with these letters.
    Of(Regex),
}

impl Sieve {
    /// For these terms and beginnings of terms.
    pub(super) fn new<'a>(terms: impl Iterator<Item = &'a str>) -> Sieve {
        let mut all: Vec<&str> = terms.map(letters).collect();
        all.sort_unstable();
        all.dedup();
        let letters = if all.is_empty() {
            Letters::None
        } else if all.iter().any(|letters| letters.is_empty()) {
            Letters::All
        } else {
            let pattern = all.iter().map(|letters| regex::escape(letters)).collect::<Vec<_>>().join("|");
            // One that cannot be built, since it is too large, is not needed for right answers.
            let built = RegexBuilder::new(&pattern).case_insensitive(true).build();
            built.map_or(Letters::All, Letters::Of)
        };
        Sieve { letters }
    }

    /// False when no term stands in the text. True says nothing.
    pub(super) fn lets_through(&self, text: &str) -> bool {
        match &self.letters {
            Letters::All => true,
            Letters::None => false,
            Letters::Of(pattern) => pattern.is_match(text) || !is_all_plain(text),
        }
    }
}

/// The letters that every plain text with this term has, but for their case.
fn letters(term: &str) -> &str {
    match (term.strip_prefix(WORD_MARK), term.strip_prefix(STEM_MARK)) {
        (Some(word), _) => word,
        (_, Some(stem)) => root(stem),
        _ => term,
    }
}

/// What all words of a stem begin with. The rules for English end a stem with a letter of their own in few ways: `happy`
/// is `happi`, `relational` `relate`, `capability` `capabl`, `dying` `die`, `skies` `sky`.
fn root(stem: &str) -> &str {
    let without = |ending: &str| stem.strip_suffix(ending);
    let long = || without("ble").map(|_| 2).or_else(|| without("ie").map(|_| 2));
    let short = || stem.ends_with(['i', 'e', 'y']) || stem.ends_with("bl");
    let cut = long().unwrap_or(usize::from(short()));
    stem.get(..stem.len().saturating_sub(cut)).unwrap_or_default()
}

/// True for a text of plain characters.
fn is_all_plain(text: &str) -> bool {
    text.is_ascii() || text.chars().all(is_plain)
}

/// True for characters that stand in terms as they are, or in none, and change nothing of what stands beside them.
fn is_plain(c: char) -> bool {
    matches!(c,
        '\0'..='\x7f'
        // Dashes, quotes, ellipses; arrows; lines and boxes; signs and dingbats.
        | '\u{2010}'..='\u{2027}' | '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{25ff}' | '\u{2600}'..='\u{27bf}'
        // Punctuation, kana, Han, Hangul.
        | '\u{3000}'..='\u{301f}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fe}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        // Punctuation of full width.
        | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff3d}' | '\u{ff5b}'..='\u{ff65}'
        // Pictures, without colours of skin.
        | '\u{1f300}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6ff}' | '\u{1f900}'..='\u{1f9ff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::Analyzer;

    /// Every term of a text lets it through. The pattern itself would take too long to build for each.
    #[track_caller]
    fn check(analyzer: &mut Analyzer, text: &str) {
        let (lower, is_plain) = (text.to_ascii_lowercase(), is_all_plain(text));
        analyzer.each(text, &mut |token| {
            assert!(!is_plain || lower.contains(letters(token.term)), "{:?} of {text:?}", token.term);
        });
    }

    #[test]
    fn texts_that_hold_nothing_are_kept_back() {
        for (term, text, passes) in [
            ("run", "He RUNS", true),
            ("run", "walk", false),
            ("run", "walk — “away” … 登录 ✅", false),
            ("run", "wälk", true),
            ("run", "ｒｕｎ", true),
            ("\u{2}happi", "Happy", true),
            ("\u{2}happi", "hap", false),
            ("\u{1}登录", "登录", true),
            ("\u{1}登录", "登 录", false),
            ("", "anything", true),
        ] {
            assert_eq!(Sieve::new(std::iter::once(term)).lets_through(text), passes, "{term:?} {text:?}");
        }
        assert!(!Sieve::new(std::iter::empty()).lets_through("anything"));
    }

    #[test]
    fn plain_characters_are_plain_in_every_place() {
        let mut analyzer = Analyzer::new();
        for c in ('\0'..=char::MAX).filter(|c| is_plain(*c)) {
            check(&mut analyzer, &format!("ab{c}cd {c}{c} 登{c}录 e{c}"));
        }
    }

    /// Words of all endings that the rules for stems know, on bodies that meet their conditions and fail them.
    #[test]
    fn every_word_begins_with_the_root_of_its_stem() {
        let bodies = "rel rat happ cap oper abl hop hopp fall tr b syz general univers comm arsen d l t sk id gentl ugl \
            earl onl singl succ proc exc in out cann herr ear news how gener feud agr pleas activ sensit hast conform \
            radical differ vil analog vietnam predict cease control roll sens siz enjo gr be";
        let endings = "s es ies ied us ss sses eed eedly ed edly ing ingly at ate ates ated bl ble bly iz ize ized y ys \
            tional ational ation ator enci ency ence anci ancy ance abli ably able entli ently ent izer ization alism ality \
            aliti alli ally fulness fully fulli ously ousness ous iveness ivity iviti ive ility biliti bility ogi ogy og \
            lessly lessli li ly alize icate icity iciti ical ful ness ative al er ic ible ant ement ment ism iti ity ion \
            sion tion e le l ie i ely ies";
        let mut analyzer = Analyzer::new();
        let endings: Vec<&str> = endings.split_whitespace().chain([""]).collect();
        for body in bodies.split_whitespace() {
            for first in &endings {
                for second in &endings {
                    check(&mut analyzer, &format!("{body}{first}{second}"));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn terms_of_any_text_let_it_through(text in "\\PC{0,40}") {
            check(&mut Analyzer::new(), &text);
        }

        #[test]
        fn terms_of_mixed_texts_let_them_through(text in "[a-cA-Céé\u{301}ſKß 登录錯ガガ한국👍🏽✅\u{fe0f}…—\u{200d}]{0,30}") {
            check(&mut Analyzer::new(), &text);
        }

        #[test]
        fn terms_of_words_let_them_through(text in "[a-z]{1,12}") {
            check(&mut Analyzer::new(), &text);
        }
    }
}
