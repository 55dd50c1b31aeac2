//! The same documents in SQLite's FTS5, asked as dsh asks it (`docs/spec/query.md`, sections 6 to 8), but for its tokenizer:
//! with `trigram` it finds what is in the middle of a word, as the index does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dshlog_query::Document;
use rusqlite::Connection;

use super::Outcome;

/// Tells all documents, with the ids of their sessions.
type Tell<'a> = dyn FnMut(&mut dyn FnMut(&str, Document) -> Outcome<()>) -> Outcome<()> + 'a;

pub(crate) struct Fts {
    database: Connection,
    path: PathBuf,
    pub(crate) built: Duration,
}

impl Fts {
    pub(crate) fn build(path: &Path, documents: &mut Tell<'_>) -> Outcome<Fts> {
        let _ = fs::remove_file(path);
        let start = Instant::now();
        let mut database = Connection::open(path)?;
        database.execute_batch(
            "PRAGMA journal_mode = off; PRAGMA synchronous = off;
             CREATE VIRTUAL TABLE docs USING fts5(text, session UNINDEXED, seq UNINDEXED, time UNINDEXED, length UNINDEXED,
               tokenize = 'trigram')",
        )?;
        let change = database.transaction()?;
        {
            let mut insert = change.prepare("INSERT INTO docs VALUES (?1, ?2, ?3, ?4, ?5)")?;
            documents(&mut |session, document| {
                let length = document.text.chars().count() as u64;
                insert.execute((&document.text, session, document.seq.0, document.time.0, length))?;
                Ok(())
            })?;
        }
        change.commit()?;
        Ok(Fts { database, path: path.to_owned(), built: start.elapsed() })
    }

    pub(crate) fn size(&self) -> Outcome<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }

    /// The best event of each session: by spans that highlighting marks, then the shorter text, then the later one.
    pub(crate) fn search(&self, word: &str) -> Outcome<()> {
        let phrase = format!("\"{}\"", word.replace('"', "\"\""));
        let mut select = self.database.prepare_cached(
            "WITH hits AS (
               SELECT session, seq, time, length, highlight(docs, 0, char(1), char(2)) AS marked FROM docs WHERE docs MATCH ?1),
             spans AS (SELECT *, length(marked) - length(replace(marked, char(1), '')) AS spans FROM hits),
             ranked AS (SELECT *, row_number() OVER (PARTITION BY session ORDER BY spans DESC, length, time DESC, seq DESC) AS n
               FROM spans)
             SELECT session, seq, marked FROM ranked WHERE n = 1 ORDER BY spans DESC, length, time DESC, session LIMIT 20",
        )?;
        let rows = select.query_map([phrase], |row| row.get::<_, String>(2))?;
        for row in rows {
            std::hint::black_box(row?);
        }
        Ok(())
    }
}
