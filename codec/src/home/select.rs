//! From the name that a person types to a session.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::name::parse_name;
use super::root::absolute;
use super::walk::{GenerationFile, SessionFolder, Walk};
use crate::error::{Error, Result};
use crate::json::JsString;

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Target {
    /// This very file, whatever lies beside it.
    File(PathBuf),
    /// A session, by its folder or its id.
    Folder(SessionFolder),
}

impl Target {
    /// The log to read: the file, or the generation that stands for the folder.
    pub fn log(&self) -> Result<&Path> {
        match self {
            Target::File(path) => Ok(path),
            Target::Folder(folder) => folder.chosen().map(|file: &GenerationFile| file.path.as_path()),
        }
    }
}

/// Why a name stands for no session.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// Nothing has this name.
    #[error("no session is named `{name}`")]
    NoMatch {
        /// What was typed.
        name: String,
    },
    /// Several sessions could be meant.
    #[error("`{name}` could be any of {} sessions", .candidates.len())]
    Ambiguous {
        /// What was typed.
        name: String,
        /// Their folders, in the order of names.
        candidates: Vec<PathBuf>,
    },
    /// `latest~N` goes back beyond the first session.
    #[error("`latest~{back}` needs more than {count} sessions")]
    TooFew {
        /// How far back.
        back: usize,
        /// How many sessions there are.
        count: usize,
    },
    /// The place that the name leads to cannot be looked at.
    #[error(transparent)]
    Read(#[from] Error),
}

/// Find what `typed` stands for: a path when it looks like one, else a session below the root, else a path after all.
///
/// `walk` looks at the root and is asked only when it is needed. A relative path starts at `cwd`.
pub fn select(typed: &OsStr, cwd: &Path, walk: impl FnOnce() -> Result<Walk>) -> Result<Target, SelectError> {
    let path = absolute(cwd, Path::new(typed));
    let is_there = path.symlink_metadata().is_ok();
    if looks_like_path(typed) && is_there {
        return Ok(at_path(&path)?);
    }
    // Not there: an id may hold a slash.
    let walk = walk()?;
    match by_name(typed, &walk.sessions) {
        Ok(folder) => Ok(Target::Folder(folder.clone())),
        Err(SelectError::NoMatch { .. }) if is_there || looks_like_path(typed) => Ok(at_path(&path)?),
        Err(e) => Err(e),
    }
}

/// True for a name that a person means as a path: with a separator, `.`, `..`, or the name of a log.
pub fn looks_like_path(typed: &OsStr) -> bool {
    let path = Path::new(typed);
    let is_name = path.components().count() == 1 && path.file_name() == Some(typed);
    let extension = path.extension().and_then(OsStr::to_str);
    !typed.is_empty() && (!is_name || matches!(extension, Some("jsonl" | "zstd")))
}

/// The log or session folder at a path.
pub fn at_path(path: &Path) -> Result<Target> {
    let metadata = path.metadata().map_err(|e| Error::io("look at", path, e))?;
    if metadata.is_dir() && path.file_name().is_none_or(|name| parse_name(name).is_none()) {
        SessionFolder::read(path).map(Target::Folder)
    } else {
        Ok(Target::File(path.to_owned()))
    }
}

/// The session that a name stands for: `latest`, `latest~2` (the third last, by the time of its newest generation),
/// an id, or the beginning of exactly one id. `session-` at the beginning of ids may be left out, and the encoded form
/// that the folder has is as good as the id. A whole id wins over ids that only begin so.
pub fn by_name<'a>(typed: &OsStr, sessions: &'a [SessionFolder]) -> Result<&'a SessionFolder, SelectError> {
    if let Some(back) = parse_latest(typed) {
        return latest(back, sessions);
    }
    let name = || typed.to_string_lossy().into_owned();
    let typed_bytes = typed.as_encoded_bytes();
    if typed_bytes.is_empty() {
        return Err(SelectError::NoMatch { name: name() });
    }
    let having = |fits: fn(&[u8], &[u8]) -> bool| {
        sessions.iter().filter(move |s| names(s).any(|known| fits(known, typed_bytes))).collect::<Vec<_>>()
    };
    let mut found = having(|known, typed| known == typed);
    if found.is_empty() {
        found = having(<[u8]>::starts_with);
    }
    match found.as_slice() {
        [] => Err(SelectError::NoMatch { name: name() }),
        [only] => Ok(only),
        several => {
            let candidates = several.iter().map(|s| s.path.clone()).collect();
            Err(SelectError::Ambiguous { name: name(), candidates })
        }
    }
}

/// The names that a session goes by.
fn names(session: &SessionFolder) -> impl Iterator<Item = &[u8]> {
    let whole = [session.id.as_ref().map(JsString::as_wtf8), Some(session.folder.as_encoded_bytes())];
    whole.into_iter().flatten().flat_map(|name| [Some(name), name.strip_prefix(b"session-")]).flatten()
}

fn parse_latest(typed: &OsStr) -> Option<usize> {
    match typed.to_str()?.strip_prefix("latest")? {
        "" => Some(0),
        back => back.strip_prefix('~')?.parse().ok(),
    }
}

/// Links are left out: what they lead to is most often in the list itself.
fn latest(back: usize, sessions: &[SessionFolder]) -> Result<&SessionFolder, SelectError> {
    let mut listed: Vec<_> = sessions.iter().filter(|s| s.is_listed()).map(|s| (s.modified(), s)).collect();
    // A stable sort: sessions of one instant stay in the order of names.
    listed.sort_by_key(|&(modified, _)| std::cmp::Reverse(modified));
    let count = listed.len();
    listed.get(back).map(|&(_, session)| session).ok_or(SelectError::TooFew { back, count })
}
