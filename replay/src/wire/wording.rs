//! What the words of an error tell of its class (`docs/spec/messages-wire.md`, 6.1).
//!
//! The official code asks regular expressions of JavaScript, which count code units and know no case beyond ASCII.

use std::sync::LazyLock;

use regex::RegexSet;

/// What the tests of JavaScript take for white space.
const SPACE: &str =
    r"[\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]";

/// In these, ` ` is a run of white space, `~` a run of white space or of the two signs that join words, and `=` one of those;
/// `.` is no line end of JavaScript, `<` and `>` are where an ASCII word begins or ends.
const QUOTA: [&str; 5] = [
    "<insufficient~(quota|balance|credits?)>",
    "<(quota|usage~limit)~(exceeded|exhausted|reached)>",
    "<exceed(ed|s)?~((your|the)~)?(current~)?quota>",
    "<(balance|credits?)~(exhausted|depleted)>",
    "<out~of~(credits?|budget)>",
];

const CONTEXT: [&str; 5] = [
    "(^|[^a-z0-9])context=(length|window)=(exceed(ed|s)?|overflow(ed)?|limit=exceeded)($|[^a-z0-9])",
    "<(maximum|max)( (allowed|supported))? context (length|window)>",
    "<(request|prompt|input|messages?) (is |are )?too (large|long) for ((this|the) )?(model('s)? )?context( window)?>",
    "<(input|prompt|request) (is )?too (long|large) for (this|the) model>",
    "<(input|prompt|request|messages?)>.{0,40}<(exceed(s|ed)?|overflows?|is larger than)>.{0,40}<(the )?(model('s)? )?context( (length|window))?>",
];

/// Wording of an account that has run out.
pub(super) fn is_quota(detail: &str) -> bool {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| set(&QUOTA));
    SET.is_match(&units(detail))
}

/// Wording of a prompt that is too long for the model.
pub(super) fn is_context(detail: &str) -> bool {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| set(&CONTEXT));
    SET.is_match(&units(detail))
}

fn set(patterns: &[&str]) -> RegexSet {
    let joiner = format!("{}_-]", SPACE.trim_end_matches(']'));
    let spelled = patterns.iter().map(|pattern| {
        let mut spelled = String::new();
        let mut is_in_class = false;
        for c in pattern.chars() {
            is_in_class = (is_in_class || c == '[') && c != ']';
            match c {
                ' ' => spelled.extend([SPACE, "+"]),
                '~' => spelled.extend([&*joiner, "+"]),
                '=' => spelled.push_str(&joiner),
                '<' | '>' => spelled.push_str(r"(?-u:\b)"),
                '.' => spelled.push_str(r"[^\n\r\x{2028}\x{2029}]"),
                'z' if is_in_class => spelled.push_str("zA-Z"),
                // No letter beyond ASCII is an `s` or a `k` there.
                'a'..='z' if !is_in_class => spelled.extend(['[', c, c.to_ascii_uppercase(), ']']),
                c => spelled.push(c),
            }
        }
        spelled
    });
    RegexSet::new(spelled).expect("the patterns above are sound")
}

/// The text with two characters for each that has two code units, since distances are counted in these.
fn units(text: &str) -> std::borrow::Cow<'_, str> {
    if text.chars().all(|c| c.len_utf16() == 1) {
        return text.into();
    }
    let doubled = text.chars().flat_map(|c| {
        let shown = if c.len_utf16() == 1 { c } else { char::REPLACEMENT_CHARACTER };
        std::iter::repeat_n(shown, c.len_utf16())
    });
    doubled.collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row a form of 6.1, and rows that miss it by a little.
    #[test]
    fn quota() {
        for (detail, expected) in [
            ("insufficient_quota", true),
            ("Insufficient Balance", true),
            ("insufficient -_ credits", true),
            ("insufficient funds", false),
            ("xinsufficient_quota", false),
            ("_insufficient_quota", false),
            ("quota exceeded", true),
            ("usage limit reached", true),
            ("usage-limit exhausted", true),
            ("usagelimit exhausted", false),
            ("You exceeded your current quota", true),
            ("exceeds quota", true),
            ("exceed the_quota.", true),
            ("exceeding quota", false),
            ("credits depleted", true),
            ("balance exhausted!", true),
            ("out of credit", true),
            ("out of budget", true),
            ("out of budgets", false),
            ("out\u{a0}of\u{feff}budget", true),
            ("out\u{85}of budget", false),
            ("in\u{17f}ufficient quota", false),
        ] {
            assert_eq!(is_quota(detail), expected, "{detail}");
        }
    }

    #[test]
    fn context() {
        let far = |count: usize| format!("input {} exceeds the context", "x".repeat(count));
        let astral = |count: usize| format!("input {} exceeds the context", "\u{1f600}".repeat(count));
        for (detail, expected) in [
            ("context_length_exceeded", true),
            ("_context window overflow_", true),
            ("context length limit-exceeded", true),
            ("context  length exceeded", false),
            ("acontext_length_exceeded", false),
            ("context_length_exceeded1", false),
            ("CONTEXT-WINDOW-OVERFLOWED", true),
            ("maximum context length", true),
            ("max allowed context window", true),
            ("maximum_context length", false),
            ("prompt is too long for the model's context window", true),
            ("messages are too large for context", true),
            ("request too large for this model context", true),
            ("input is too long for the model", true),
            ("input is too long for model", false),
            ("messages too long for the model", false),
            ("your input of 5 tokens exceeds the model's context length", true),
            ("the prompt is larger than context", true),
            ("input exceeds\nthe context", false),
            ("input exceeds the\ncontext", true),
            ("input \nexceeds the context", false),
            (&far(38), true),
            (&far(39), false),
            (&astral(19), true),
            (&astral(20), false),
            ("too many tokens", false),
        ] {
            assert_eq!(is_context(detail), expected, "{detail}");
        }
    }
}
