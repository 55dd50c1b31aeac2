//! Where in a text the things stand that rules set aside. Each finder gives the next place as a range of bytes.

use super::Search;
use crate::json::{self, Value};

/// How dsh tells the working directory, and what ends it there.
const SENTENCES: [(&str, Form); 2] =
    [("Current working directory: ", Form::Quoted), ("Your working directory is ", Form::Plain)];

#[derive(Clone, Copy)]
enum Form {
    /// A JSON string.
    Quoted,
    /// Up to the full stop of the sentence.
    Plain,
}

/// The working directories that a body speaks of, each with its placeholder. Longer ones come first, since one may
/// begin with the other. A directory that JSON writes otherwise is there in both forms.
pub(super) fn folders(body: &Value) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    collect(body, &mut found);
    let mut named: Vec<(String, &'static str)> = Vec::new();
    let mut placeholders = ["<folder>", "<folder-2>", "<folder-3>", "<folder-4>"].into_iter();
    for folder in found {
        if folder.len() < 2 || named.iter().any(|(known, _)| *known == folder) {
            continue;
        }
        let Some(name) = placeholders.next() else { break };
        let quoted = json::quote(&folder);
        let escaped = quoted.trim_matches('"');
        if escaped != folder {
            named.push((escaped.to_owned(), name));
        }
        named.push((folder, name));
    }
    named.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
    named
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for (sentence, form) in SENTENCES {
                let stated = text.match_indices(sentence);
                found.extend(
                    stated.filter_map(|(at, _)| stated_folder(text.get(at + sentence.len()..)?, form)),
                );
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn stated_folder(text: &str, form: Form) -> Option<String> {
    match form {
        Form::Quoted => {
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
            values.next()?.ok()
        }
        Form::Plain => {
            let line = text.lines().next()?;
            let end = line.find(". ").unwrap_or_else(|| line.trim_end_matches('.').len());
            let folder = line.get(..end)?;
            let is_path = folder.starts_with(['/', '~']) || folder.get(1..3) == Some(":\\");
            is_path.then(|| folder.to_owned())
        }
    }
}

/// A folder as the beginning of a path, or as a whole one.
pub(super) fn folder_at(search: Search<'_>, folder: &str) -> Option<(usize, usize)> {
    search.places_of(folder).find(|(start, end)| {
        let mut behind = search.text.get(*end..).unwrap_or_default().chars();
        let ends = match behind.next() {
            Some('.') => !behind.next().is_some_and(is_name),
            Some(c) => !is_name(c),
            None => true,
        };
        ends && !search.before(*start).is_some_and(|c| is_name(c) || c == '.')
    })
}

/// The home in the path of an attachment.
pub(super) fn home_at(search: Search<'_>) -> Option<(usize, usize)> {
    search.places_of("/attachments/v1/objects/").find_map(|(end, _)| {
        let before = search.text.get(search.from..end)?;
        let opening = before.rfind(|c: char| c == '"' || c == '(' || c.is_whitespace());
        let start = search.from + opening.map_or(0, |at| at + 1);
        (start < end && before.get(start - search.from..)? != "<home>").then_some((start, end))
    })
}

/// A date, with a moment of the day or without.
pub(super) fn date_at(search: Search<'_>) -> Option<(usize, usize)> {
    search.before_dashes(4).find_map(|start| {
        if search.before(start).is_some_and(|c| c.is_ascii_digit()) {
            return None;
        }
        let mut text = Cursor { text: search.text, at: start };
        text.digits(4).filter(|_| text.one_of("-"))?;
        text.digits(2).filter(|month| (1..=12).contains(month) && text.one_of("-"))?;
        text.digits(2).filter(|day| (1..=31).contains(day))?;
        let date = text.at;
        let end = moment(text).unwrap_or(date);
        (!search.after(end).is_some_and(|c| c.is_ascii_digit())).then_some((start, end))
    })
}

/// The end of what follows a date: `T` or a blank, a moment, a time zone.
fn moment(mut text: Cursor<'_>) -> Option<usize> {
    text.one_of("T ").then_some(())?;
    text.digits(2).filter(|_| text.one_of(":"))?;
    text.digits(2)?;
    let mut ahead = text;
    if ahead.one_of(":") && ahead.digits(2).is_some() {
        text = ahead;
        if ahead.one_of(".") && ahead.digit_run() > 0 {
            text = ahead;
        }
    }
    let mut zone = text;
    if zone.one_of("Z") {
        text = zone;
    } else if zone.one_of("+-") && zone.digits(2).is_some() {
        zone.one_of(":");
        if zone.digits(2).is_some() {
            text = zone;
        }
    }
    Some(text.at)
}

/// A UUID.
pub(super) fn uuid_at(search: Search<'_>) -> Option<(usize, usize)> {
    search.before_dashes(8).find_map(|start| {
        let end = start + 36;
        let text = search.text.get(start..end)?;
        let fits = text.bytes().enumerate().all(|(n, byte)| match n {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
        let inside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        (fits && !inside(search.before(start)) && !inside(search.after(end))).then_some((start, end))
    })
}

/// A port behind an address of this machine.
pub(super) fn port_at(search: Search<'_>) -> Option<(usize, usize)> {
    let hosts = ["127.0.0.1:", "localhost:", "[::1]:"];
    let ports = hosts.into_iter().filter_map(|host| {
        search.places_of(host).find_map(|(_, start)| {
            let mut text = Cursor { text: search.text, at: start };
            ((1..=5).contains(&text.digit_run())).then_some((start, text.at))
        })
    });
    ports.min()
}

/// The number of a version.
pub(super) fn version_at(search: Search<'_>) -> Option<(usize, usize)> {
    search.digit_runs().find_map(|start| {
        let mut text = Cursor { text: search.text, at: start };
        for part in 0..3 {
            if text.digit_run() == 0 || (part < 2 && !text.one_of(".")) {
                return None;
            }
        }
        let mut ahead = text;
        ahead.one_of("-");
        if ahead.word(&["rc", "alpha", "beta", "a", "b"]) {
            ahead.one_of(".");
            if ahead.digit_run() > 0 {
                text = ahead;
            }
        }
        let mut behind = text;
        let longer = behind.one_of(".") && behind.digit_run() > 0;
        let inside = search.before(start) == Some('.') || longer;
        (!inside).then_some((start, text.at))
    })
}

/// True for what a name in a path goes on with.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

impl Search<'_> {
    fn places_of(self, part: &str) -> impl Iterator<Item = (usize, usize)> {
        let rest = self.text.get(self.from..).unwrap_or_default();
        rest.match_indices(part).map(move |(at, part)| (self.from + at, self.from + at + part.len()))
    }

    /// The places so many bytes before a dash: what has a dash at a fixed place is found by that, which is fast.
    fn before_dashes(self, length: usize) -> impl Iterator<Item = usize> {
        let rest = self.text.get(self.from..).unwrap_or_default();
        let dashes = rest.match_indices('-').filter_map(move |(at, _)| at.checked_sub(length));
        dashes.map(move |start| self.from + start).filter(move |start| self.text.is_char_boundary(*start))
    }

    /// Where runs of digits begin.
    fn digit_runs(self) -> impl Iterator<Item = usize> {
        let rest = self.text.get(self.from..).unwrap_or_default();
        let mut before = self.before(self.from);
        rest.char_indices().filter_map(move |(at, c)| {
            let begins = c.is_ascii_digit() && !before.is_some_and(|before| before.is_ascii_digit());
            before = Some(c);
            begins.then_some(self.from + at)
        })
    }

    fn before(self, at: usize) -> Option<char> {
        self.text.get(..at)?.chars().next_back()
    }

    fn after(self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }
}

/// A place in a text that moves on over what fits.
#[derive(Clone, Copy)]
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl Cursor<'_> {
    fn digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + count)?;
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
        self.at += count;
        Some(number)
    }

    fn digit_run(&mut self) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += length;
        length
    }

    fn one_of(&mut self, set: &str) -> bool {
        let fits = self.text.get(self.at..).and_then(|rest| rest.chars().next()).filter(|c| set.contains(*c));
        self.at += fits.map_or(0, char::len_utf8);
        fits.is_some()
    }

    fn word(&mut self, words: &[&str]) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let fits = words.iter().find(|word| rest.starts_with(**word));
        self.at += fits.map_or(0, |word| word.len());
        fits.is_some()
    }
}
