//! Colours for JSON, shell and diffs, by tokens: a help for the eye, not a parser. Whatever the text is, the tokens put
//! together are the text.

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Nothing in particular.
    Plain,
    /// The name of a member, or of an option.
    Name,
    /// A string.
    Text,
    /// A number, `true`, `null`, a variable.
    Value,
    /// A keyword, or the program that a shell runs.
    Word,
    /// A comment.
    Aside,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
}

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// JSON.
    Json,
    /// POSIX shell, more or less.
    Shell,
    /// Unified differences.
    Diff,
}

impl Language {
    /// The one that a word behind a fence names.
    pub(super) fn named(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "json" | "jsonc" | "json5" | "jsonl" => Language::Json,
            "sh" | "bash" | "shell" | "zsh" | "console" | "shellsession" => Language::Shell,
            "diff" | "patch" => Language::Diff,
            _ => return None,
        })
    }

    /// JSON, when a text looks like it.
    pub(super) fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_json = (text.starts_with('{') && text.ends_with('}') && text.contains('"'))
            || (text.starts_with("[{") && text.ends_with("}]"));
        is_json.then_some(Language::Json)
    }
}

/// The tokens of a text; neighbours differ.
pub(super) fn tokens(language: Language, text: &str) -> Vec<(Token, &str)> {
    let mut painter = Painter { text, at: 0, tokens: Vec::new() };
    match language {
        Language::Json => json(&mut painter),
        Language::Shell => shell(&mut painter),
        Language::Diff => diff(&mut painter),
    }
    painter.tokens.into_iter().map(|(token, from, to)| (token, &text[from..to])).collect()
}

/// Goes over a text once; what is taken is a token.
struct Painter<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<(Token, usize, usize)>,
}

impl<'a> Painter<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, token: Token, length: usize) {
        if length == 0 {
            return;
        }
        let end = self.at + length;
        match self.tokens.last_mut() {
            Some((last, _, to)) if *last == token => *to = end,
            _ => self.tokens.push((token, self.at, end)),
        }
        self.at = end;
    }

    fn take_while(&mut self, token: Token, goes_on: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.take(token, rest.find(|c| !goes_on(c)).unwrap_or(rest.len()));
    }

    fn take_line(&mut self, token: Token) {
        self.take_while(token, |c| c != '\n');
    }
}

/// The length of a string that begins here, quotes and all; to the end when it is not closed.
fn quoted(text: &str, quote: char, has_escapes: bool) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if has_escapes => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn json(painter: &mut Painter<'_>) {
    while let Some(c) = painter.next() {
        match c {
            '"' => {
                let rest = painter.rest();
                let length = quoted(rest, '"', true);
                let is_name = rest[length..].trim_start().starts_with(':');
                painter.take(if is_name { Token::Name } else { Token::Text }, length);
            }
            '-' | '0'..='9' => painter
                .take_while(Token::Value, |c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')),
            c if c.is_alphabetic() => painter.take_while(Token::Value, char::is_alphanumeric),
            c => painter.take(Token::Plain, c.len_utf8()),
        }
    }
}

const KEYWORDS: [&str; 15] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "!",
    "time",
];

fn shell(painter: &mut Painter<'_>) {
    // The next word is a program.
    let mut is_program = true;
    while let Some(c) = painter.next() {
        let starts_word = painter.text[..painter.at]
            .chars()
            .next_back()
            .is_none_or(|before| before.is_whitespace() || ";|&(){}".contains(before));
        match c {
            '#' if starts_word => painter.take_line(Token::Aside),
            '\'' => painter.take(Token::Text, quoted(painter.rest(), '\'', false)),
            '"' => painter.take(Token::Text, quoted(painter.rest(), '"', true)),
            '\\' => {
                let next = painter.rest().chars().nth(1).map_or(0, char::len_utf8);
                painter.take(Token::Plain, 1 + next);
            }
            '$' => {
                painter.take(Token::Value, 1);
                if painter.rest().starts_with('{') {
                    let rest = painter.rest();
                    painter.take(Token::Value, rest.find('}').map_or(rest.len(), |end| end + 1));
                } else {
                    painter.take_while(Token::Value, |c| c.is_alphanumeric() || c == '_');
                }
            }
            '\n' | ';' | '|' | '&' | '(' | '{' => {
                painter.take(Token::Plain, 1);
                is_program = true;
            }
            '-' if starts_word && !is_program => {
                painter.take_while(Token::Name, |c| c.is_alphanumeric() || c == '-' || c == '_');
            }
            c if starts_word && is_program && !c.is_whitespace() => {
                let rest = painter.rest();
                let length = rest
                    .find(|c: char| c.is_whitespace() || ";|&(){}'\"$`".contains(c))
                    .unwrap_or(rest.len());
                let word = &rest[..length];
                // An assignment may stand in front of the program.
                if word.contains('=') {
                    painter.take(Token::Plain, length);
                } else {
                    painter.take(Token::Word, length.max(c.len_utf8()));
                    is_program = KEYWORDS.contains(&word);
                }
            }
            c => painter.take(Token::Plain, c.len_utf8()),
        }
    }
}

fn diff(painter: &mut Painter<'_>) {
    while let Some(c) = painter.next() {
        let rest = painter.rest();
        let token = match c {
            '+' | '-' if rest.starts_with("+++ ") || rest.starts_with("--- ") => Token::Name,
            '+' => Token::Added,
            '-' => Token::Removed,
            '@' => Token::Value,
            _ => Token::Plain,
        };
        painter.take_line(token);
        painter.take_while(Token::Plain, |c| c == '\n');
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Tokens that are not plain, each with a letter for what it is.
    fn painted(language: Language, text: &str) -> String {
        let mut painted = String::new();
        for (token, part) in tokens(language, text) {
            let letter = match token {
                Token::Plain => continue,
                Token::Name => 'n',
                Token::Text => 't',
                Token::Value => 'v',
                Token::Word => 'w',
                Token::Aside => 'a',
                Token::Added => '+',
                Token::Removed => '-',
            };
            let _ = write!(painted, "{letter}[{part}]");
        }
        painted
    }

    #[test]
    fn tokens_of_json() {
        for (text, expected) in [
            (r#"{"a" : "b:", "c":[-1.5e3,true,null]}"#, r#"n["a"]t["b:"]n["c"]v[-1.5e3]v[true]v[null]"#),
            (r#"["\"", "é"]"#, r#"t["\""]t["é"]"#),
            (r#"{"open"#, r#"t["open]"#),
            (r#""\"#, r#"t["\]"#),
        ] {
            assert_eq!(painted(Language::Json, text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_of_a_shell() {
        for (text, expected) in [
            ("ls -la | wc --lines # x", "w[ls]n[-la]w[wc]n[--lines]a[# x]"),
            ("A=1 echo \"$B\" '\\' ${C}d", "w[echo]t[\"$B\"]t['\\']v[${C}]"),
            ("if test a; then cd é; fi", "w[if]w[test]w[then]w[cd]w[fi]"),
            ("echo a#b \\", "w[echo]"),
            ("echo 'open", "w[echo]t['open]"),
            ("`ls`", "w[`]"),
        ] {
            assert_eq!(painted(Language::Shell, text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_of_a_diff() {
        assert_eq!(painted(Language::Diff, "--- a\n@@ 1\n+x\n-y\n z"), "n[--- a]v[@@ 1]+[+x]-[-y]");
    }

    #[test]
    fn languages_have_many_names() {
        for (word, expected) in
            [("JSON", Some(Language::Json)), ("bash", Some(Language::Shell)), ("rust", None)]
        {
            assert_eq!(Language::named(word), expected, "{word}");
        }
        for (text, is_json) in [("{\"a\":1}\n", true), ("[{}]", true), ("{}", false), ("a {\"b\"}", false)] {
            assert_eq!(Language::of(text).is_some(), is_json, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn tokens_make_up_the_text(text in "[a0é \n\"'\\\\{}:,#$|;=+@-]{0,40}") {
            for language in [Language::Json, Language::Shell, Language::Diff] {
                let parts: String = tokens(language, &text).into_iter().map(|(_, part)| part).collect();
                proptest::prop_assert_eq!(&parts, &text);
            }
        }
    }
}
