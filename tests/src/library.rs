//! A home whose sessions hold known texts of several languages, so that a search can be asked for what stands in them.
//!
//! The texts lie in `tests/library/*.txt`, which say how they are written. Beside them a home gets heaps: long outputs of a
//! tool, and long texts that a person pasted, in which every word of the library stands, but nowhere beside those that it
//! belongs to. So each word of a query has many sessions, and only the expected ones have all of it.

use std::fs;
use std::io;
use std::path::Path;

use crate::cmd::NOW;
use crate::model::repository;

mod rows;

/// How many heaps the words are dealt to.
const HEAPS: usize = 30;

/// The longest run of letters without a blank that a heap takes as one word, in characters: about a word of Chinese.
const LONGEST: usize = 2;

/// A session to be written.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub name: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its working directory.
    pub project: String,
    /// The model that answers.
    pub model: String,
    /// When it began, in days before [`NOW`].
    pub age: u64,
    /// The generation of its log.
    pub generation: u64,
    /// Plain lines instead of Zstandard.
    pub is_raw: bool,
    /// What was said, in order. A prompt begins a turn.
    pub parts: Vec<Part>,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// By a person.
    Prompt(String),
    /// By the model, to itself.
    Reasoning(String),
    /// By the model.
    Answer(String),
    /// A call of a tool.
    Call {
        /// Its name.
        tool: String,
        /// JSON.
        arguments: String,
    },
    /// What came of the earliest call that has no result yet.
    Result {
        /// The output.
        text: String,
        /// It failed.
        is_error: bool,
    },
    /// An attempt that the service refused; the next part belongs to another one. Only V4 has it here.
    Failure {
        /// Such as `SERVER`.
        code: String,
        /// In words.
        message: String,
    },
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Part::Prompt(text) | Part::Reasoning(text) | Part::Answer(text) | Part::Result { text, .. } => {
                text
            }
            Part::Call { arguments, .. } => arguments,
            Part::Failure { message, .. } => message,
        }
    }
}

/// All sessions of the library, by file and place in it.
pub fn sessions() -> io::Result<Vec<Session>> {
    let folder = repository().join("tests/library");
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    let mut sessions = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let read = read(&text).map_err(|what| io::Error::other(format!("{}: {what}", file.display())))?;
        sessions.extend(read);
    }
    Ok(sessions)
}

/// Write the library and its heaps into a home; how many sessions that is.
pub fn stock(home: &Path) -> io::Result<usize> {
    let mut sessions = sessions()?;
    sessions.extend(heaps(&sessions));
    for session in &sessions {
        rows::write(home, session)?;
    }
    Ok(sessions.len())
}

/// Sessions out of one file.
fn read(text: &str) -> Result<Vec<Session>, String> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut is_head = false;
    for (at, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("line {}: {what}: {line}", at + 1);
        if let Some(name) = line.strip_prefix("=== ") {
            is_head = true;
            sessions.push(Session::new(name));
            continue;
        }
        // What stands in front of the first session is for people.
        let Some(session) = sessions.last_mut() else { continue };
        if let Some(part) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')).and_then(begin) {
            is_head = false;
            session.parts.push(part);
        } else if is_head && !line.is_empty() {
            let (name, value) = line.split_once(": ").ok_or_else(|| wrong("no `name: value`"))?;
            session.set(name, value).ok_or_else(|| wrong("not understood"))?;
        } else if let Some(part) = session.parts.last_mut() {
            part.push(line);
        }
    }
    for part in sessions.iter_mut().flat_map(|session| &mut session.parts) {
        part.trim();
    }
    Ok(sessions)
}

/// The part that a line in brackets begins: `prompt`, `call bash`, `result error`, `failure SERVER`.
fn begin(line: &str) -> Option<Part> {
    let (kind, more) = line.split_once(' ').unwrap_or((line, ""));
    let text = String::new();
    Some(match (kind, more) {
        ("prompt", "") => Part::Prompt(text),
        ("reasoning", "") => Part::Reasoning(text),
        ("answer", "") => Part::Answer(text),
        ("result", "") => Part::Result { text, is_error: false },
        ("result", "error") => Part::Result { text, is_error: true },
        ("call", tool) => Part::Call { tool: tool.to_owned(), arguments: text },
        ("failure", code) => Part::Failure { code: code.to_owned(), message: text },
        _ => return None,
    })
}

impl Part {
    fn held(&mut self) -> &mut String {
        match self {
            Part::Prompt(text) | Part::Reasoning(text) | Part::Answer(text) | Part::Result { text, .. } => {
                text
            }
            Part::Call { arguments, .. } => arguments,
            Part::Failure { message, .. } => message,
        }
    }

    fn push(&mut self, line: &str) {
        let text = self.held();
        text.push_str(line);
        text.push('\n');
    }

    fn trim(&mut self) {
        let text = self.held();
        *text = text.trim_matches('\n').to_owned();
    }
}

impl Session {
    fn new(name: &str) -> Session {
        Session {
            name: name.to_owned(),
            title: None,
            project: "/tmp/library".to_owned(),
            model: "deepseek-flash".to_owned(),
            age: 10,
            generation: 4,
            is_raw: false,
            parts: Vec::new(),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "title" => self.title = Some(value.to_owned()),
            "project" => value.clone_into(&mut self.project),
            "model" => value.clone_into(&mut self.model),
            "age" => self.age = value.parse().ok()?,
            "log" => {
                let (generation, form) = value.strip_prefix('v')?.split_once(' ')?;
                self.generation = generation.parse().ok()?;
                self.is_raw = match form {
                    "raw" => true,
                    "zstd" => false,
                    _ => return None,
                };
            }
            _ => return None,
        }
        Some(())
    }

    /// When it began, epoch milliseconds.
    fn start(&self) -> u64 {
        let now: u64 = NOW.parse().unwrap_or(0);
        (now - self.age * 24 * 60 * 60) * 1000
    }
}

/// Sessions to which the words of the others are dealt like cards.
fn heaps(sessions: &[Session]) -> Vec<Session> {
    let mut heaps = vec![String::new(); HEAPS];
    let mut next = 0;
    for text in sessions.iter().flat_map(|session| &session.parts).map(Part::text) {
        for word in text.split_whitespace().flat_map(words) {
            // Neighbours are HEAPS words apart, so that no query finds two of them in one heap by their distance alone.
            let heap = &mut heaps[next % HEAPS];
            heap.push_str(&word);
            heap.push_str(if next % 11 == 0 { " .\n" } else { " / " });
            next += 1;
        }
        // Words of one text do not always meet the same heaps.
        next += 7;
    }
    let session = |(number, text): (usize, String)| {
        let mut session = Session::new(&format!("heap-{number:02}"));
        "/tmp/heap".clone_into(&mut session.project);
        session.age = 2 + number as u64;
        session.is_raw = number.is_multiple_of(2);
        let done = Part::Answer("That is all of it.".to_owned());
        session.parts = if number.is_multiple_of(3) {
            vec![Part::Prompt(format!("Here is heap {number}.\n{text}")), done]
        } else {
            let arguments = format!(r#"{{"file_path":"heap-{number}.txt"}}"#);
            vec![
                Part::Prompt(format!("Show me heap {number}.")),
                Part::Call { tool: "read".to_owned(), arguments },
                Part::Result { text, is_error: false },
                done,
            ]
        };
        session
    };
    heaps.into_iter().enumerate().map(session).collect()
}

/// A run without blanks, in pieces of few characters where its script puts no blanks between words.
fn words(run: &str) -> Vec<String> {
    let has_blanks = |c| c < '\u{2e80}' || ('\u{ac00}'..='\u{d7a3}').contains(&c);
    if run.chars().all(has_blanks) {
        return vec![run.to_owned()];
    }
    let chars: Vec<char> = run.chars().collect();
    chars.chunks(LONGEST).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests;
