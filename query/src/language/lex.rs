//! From what was typed to tokens that know their place.

use std::ops::Range;

use super::field::Field;
use super::{QueryError, nearest};

/// The smallest parts of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    /// `-` right in front of something, or `NOT`.
    Not,
    And,
    Or,
    /// As typed.
    Word(String),
    /// Ends in `*`, which is cut off.
    Prefix(String),
    Phrase(String),
    Pattern(String),
    Field(Field, Vec<Value>),
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) at: Range<usize>,
}

/// All tokens of `text`, each with its place.
pub(super) fn lex(text: &str) -> Result<Vec<(Token, Range<usize>)>, QueryError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Result<Option<(Token, Range<usize>)>, QueryError> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        let start = self.at;
        let Some(first) = self.peek() else { return Ok(None) };
        let token = match first {
            '(' => self.take(1, Token::Open),
            ')' => self.take(1, Token::Close),
            '-' if self.is_exclusion() => self.take(1, Token::Not),
            c if is_quote(c) => self.phrase()?,
            '/' => match self.pattern() {
                Some(pattern) => pattern,
                None => self.word(),
            },
            _ => match self.field()? {
                Some(field) => field,
                None => self.word(),
            },
        };
        Ok(Some((token, start..self.at)))
    }

    fn take(&mut self, bytes: usize, token: Token) -> Token {
        self.at += bytes;
        token
    }

    /// `-x` leaves out x; `- x`, `--x` and `->` are texts.
    fn is_exclusion(&self) -> bool {
        let next = self.rest().chars().nth(1);
        next.is_some_and(|c| !c.is_whitespace() && !matches!(c, '-' | '>' | ')'))
    }

    fn phrase(&mut self) -> Result<Token, QueryError> {
        let text = self.quoted()?;
        if self.peek() == Some('*') {
            self.at += 1;
            return Ok(Token::Prefix(text));
        }
        Ok(Token::Phrase(text))
    }

    /// What stands between quotes; the lexer stands on the first.
    fn quoted(&mut self) -> Result<String, QueryError> {
        let start = self.at;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                // Only a quote needs it, so that paths of Windows need none.
                '\\' if self.rest().get(at + 1..).is_some_and(|rest| rest.starts_with('"')) => {
                    text.push('"');
                    chars.next();
                }
                c if is_quote(c) => {
                    self.at += at + c.len_utf8();
                    return Ok(text);
                }
                c => text.push(c),
            }
        }
        let end = start + self.peek().map_or(0, char::len_utf8);
        Err(QueryError::new("this quote is never closed", start..end)
            .hint("end the phrase with `\"`; a quote inside one is written `\\\"`"))
    }

    /// `/…/`, when what follows the second slash can follow a pattern. Paths have no such slash, mostly.
    fn pattern(&mut self) -> Option<Token> {
        let mut is_escaped = false;
        let inner = self.rest().get(1..)?;
        let end = inner.find(|c: char| {
            let is_end = c == '/' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        })?;
        let (pattern, behind) = (inner.get(..end)?, inner.get(end + 1..)?);
        let is_last = behind.chars().next().is_none_or(|c| c.is_whitespace() || c == ')');
        if pattern.is_empty() || !is_last {
            return None;
        }
        self.at += end + 2;
        Some(Token::Pattern(pattern.replace("\\/", "/")))
    }

    fn word(&mut self) -> Token {
        let word = self.run(false);
        match word {
            "OR" => return Token::Or,
            "AND" => return Token::And,
            "NOT" => return Token::Not,
            _ => {}
        }
        match word.strip_suffix('*') {
            Some(begin) if begin.chars().any(char::is_alphanumeric) => Token::Prefix(begin.to_owned()),
            _ => Token::Word(word.to_owned()),
        }
    }

    /// Up to a blank, a quote, or a parenthesis that does not belong to the run; of values also up to a comma.
    fn run(&mut self, is_value: bool) -> &'a str {
        let rest = self.rest();
        let mut depth = 0_u32;
        let end = rest.find(|c: char| match c {
            '(' => {
                depth += 1;
                false
            }
            ')' if depth == 0 => true,
            ')' => {
                depth -= 1;
                false
            }
            ',' => is_value,
            c => c.is_whitespace() || is_quote(c),
        });
        let run = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += run.len();
        run
    }

    /// `name:value,…`, when the name is one of ours.
    fn field(&mut self) -> Result<Option<Token>, QueryError> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(length);
        let Some(value) = behind.strip_prefix(':') else { return Ok(None) };
        if value.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, ':' | ')' | ',')) {
            return Ok(None);
        }
        let Some(field) = Field::of_name(name) else {
            return match nearest(name, Field::ALL.iter().map(|field| field.name()), 4) {
                Some(meant) if !value.starts_with("//") => {
                    Err(QueryError::new(format!("there is no field `{name}:`"), self.at..self.at + length)
                        .hint(format!("did you mean `{meant}:`? To find the text, quote it")))
                }
                _ => Ok(None),
            };
        };
        self.at += length + 1;
        let mut values = Vec::new();
        loop {
            let start = self.at;
            let text = match self.peek() {
                Some(c) if is_quote(c) => self.quoted()?,
                _ => self.run(true).to_owned(),
            };
            if text.trim().is_empty() {
                return Err(QueryError::new(format!("a value of `{name}:` is missing here"), start..self.at)
                    .hint(field.example()));
            }
            values.push(Value { text, at: start..self.at });
            if self.peek() != Some(',') {
                return Ok(Some(Token::Field(field, values)));
            }
            self.at += 1;
        }
    }
}

/// Quotes as keyboards and input methods write them.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}')
}
