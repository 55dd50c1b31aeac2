//! Where an answer goes on: bound to the query and to the state of the index, and good in any process.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dshlog_query::{Found, Options};
use serde_json::{Value, json};

use crate::args::Search;
use crate::exit::Failure;

/// Number of its form.
const VERSION: u64 = 1;

/// A place in an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    query: String,
    generation: u64,
    /// How many hits stand before it.
    pub(super) offset: usize,
}

impl Cursor {
    pub(super) fn parse(text: &str) -> Result<Cursor, Failure> {
        let read = || {
            let value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
            (value["v"].as_u64()? == VERSION).then_some(())?;
            Some(Cursor {
                query: value["q"].as_str()?.to_owned(),
                generation: value["g"].as_u64()?,
                offset: usize::try_from(value["o"].as_u64()?).ok()?,
            })
        };
        read().ok_or_else(|| {
            Failure::usage("this is no cursor of `dshlog search`")
                .hint("an answer with more to show ends with one")
        })
    }

    fn print(&self) -> String {
        let value = json!({"v": VERSION, "q": self.query, "g": self.generation, "o": self.offset});
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    /// Refuse another query.
    pub(super) fn check_query(&self, query: &str) -> Result<(), Failure> {
        if self.query == query {
            return Ok(());
        }
        Err(Failure::usage("the cursor belongs to another query")
            .hint("query, `--flat` and `--sort` must be the same"))
    }

    /// Refuse another state of the index.
    pub(super) fn check_index(&self, generation: u64) -> Result<(), Failure> {
        if self.generation == generation {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "the index moved from state {} to {generation} since the cursor was given, so pages could overlap",
            self.generation
        ))
        .hint("the same search without `--cursor` begins anew; with `--no-update` the index stays as it is"))
    }
}

/// What tells queries apart, the number of hits aside.
pub(super) fn fingerprint(query: &str, args: &Search) -> String {
    crate::index::digest(format!("{query}\0{}\0{:?}", args.flat, args.sort).as_bytes(), 8)
}

/// Where the next page begins, when there is one.
pub(super) fn next(found: &Found, options: &Options, generation: u64, query: String) -> Option<String> {
    let total = if options.flat { found.documents } else { found.sessions };
    let offset = options.offset.saturating_add(found.hits.len());
    ((offset as u64) < total && !found.hits.is_empty()).then(|| Cursor { query, generation, offset }.print())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back() {
        let cursor = Cursor { query: "ab".to_owned(), generation: 7, offset: 20 };
        assert_eq!(Cursor::parse(&cursor.print()).unwrap(), cursor);
        for text in ["", "x", "e30", "eyJ2IjoyfQ"] {
            assert!(Cursor::parse(text).is_err(), "{text}");
        }
        assert!(cursor.check_query("ab").is_ok() && cursor.check_query("cd").is_err());
        assert!(cursor.check_index(7).is_ok() && cursor.check_index(8).is_err());
    }
}
