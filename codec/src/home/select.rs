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
    #[error("{}", too_few(*.back, *.count))]
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

fn too_few(back: usize, count: usize) -> String {
    match count {
        0 => "there is no session".to_owned(),
        1 => format!("`latest~{back}` needs more than the one session"),
        count => format!("`latest~{back}` needs more than the {count} sessions"),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::testing::Tree;
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    /// Written in this order.
    const LOGS: [&str; 6] = [
        "p/session-8d17/session.v4.jsonl.zstd",
        "p/session-8d18/session.v3.jsonl.zstd",
        "p/session-9/session.v4.jsonl",
        "q/session-9/session.v4.jsonl",
        "q/8d/session.jsonl",
        "q/a~002Fb/session.jsonl",
    ];

    fn home() -> (Tree, Walk) {
        let tree = Tree::new(&LOGS);
        for (n, path) in (0..).zip(LOGS) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + n);
            File::options().write(true).open(tree.at(path)).unwrap().set_modified(time).unwrap();
        }
        let walk = Walk::new(tree.path()).unwrap();
        (tree, walk)
    }

    #[test]
    fn names_and_prefixes() {
        let (tree, walk) = home();
        let none: &[&str] = &[];
        for (typed, expected) in [
            ("session-8d17", &["p/session-8d17"] as &[_]),
            ("8d17", &["p/session-8d17"]),
            ("session-8d1", &["p/session-8d17", "p/session-8d18"]),
            ("8d1", &["p/session-8d17", "p/session-8d18"]),
            // Whole, though two others begin so.
            ("8d", &["q/8d"]),
            ("9", &["p/session-9", "q/session-9"]),
            ("8", &["p/session-8d17", "p/session-8d18", "q/8d"]),
            ("a/b", &["q/a~002Fb"]),
            ("a~002F", &["q/a~002Fb"]),
            ("a", &["q/a~002Fb"]),
            ("", none),
            ("SESSION-8d17", none),
            ("d17", none),
            ("session-8d17x", none),
        ] {
            let expected: Vec<_> = expected.iter().map(|path| tree.at(path)).collect();
            let found = match by_name(OsStr::new(typed), &walk.sessions) {
                Ok(session) => vec![session.path.clone()],
                Err(SelectError::NoMatch { name }) if name == typed => vec![],
                Err(SelectError::Ambiguous { name, candidates }) if name == typed => candidates,
                Err(e) => panic!("{e}"),
            };
            assert_eq!(found, expected, "{typed}");
        }
    }

    #[test]
    fn latest_counts_back_by_time() {
        let (tree, walk) = home();
        let find = |typed: &str| by_name(OsStr::new(typed), &walk.sessions).map(|s| s.path.clone());
        assert_eq!(find("latest").unwrap(), tree.at("q/a~002Fb"));
        assert_eq!(find("latest~0").unwrap(), tree.at("q/a~002Fb"));
        assert_eq!(find("latest~2").unwrap(), tree.at("q/session-9"));
        assert_eq!(find("latest~5").unwrap(), tree.at("p/session-8d17"));
        assert!(matches!(find("latest~6"), Err(SelectError::TooFew { back: 6, count: 6 })));
        assert!(matches!(find("latest~x"), Err(SelectError::NoMatch { .. })));
    }

    #[test]
    fn the_newest_generation_gives_the_time() {
        let (tree, _) = home();
        // An older generation that was touched later does not count.
        tree.add("p/session-8d17/session.v3.jsonl.zstd");
        let walk = Walk::new(tree.path()).unwrap();
        assert_eq!(by_name(OsStr::new("latest"), &walk.sessions).unwrap().path, tree.at("q/a~002Fb"));
    }

    #[test]
    fn paths_and_names() {
        for (typed, is_path) in [
            ("./x", true),
            ("a/b", true),
            ("x/", true),
            (".", true),
            ("..", true),
            ("session.v4.jsonl", true),
            ("copy.jsonl.zstd", true),
            ("session-8d17", false),
            ("latest~2", false),
            ("v1.2", false),
            ("", false),
        ] {
            assert_eq!(looks_like_path(OsStr::new(typed)), is_path, "{typed}");
        }
    }

    #[test]
    fn a_path_or_a_name() {
        let (tree, _) = home();
        fs::write(tree.at("q/copy"), "x").unwrap();
        fs::write(tree.at("q/8d17"), "x").unwrap();
        let cwd = tree.at("q");
        let find = |typed: &str| select(OsStr::new(typed), &cwd, || Walk::new(tree.path()));
        let log = |typed: &str| find(typed).unwrap().log().unwrap().to_owned();
        assert_eq!(log("8d/session.jsonl"), tree.at("q/8d/session.jsonl"));
        assert_eq!(log("./8d"), tree.at("q/8d/session.jsonl"));
        assert_eq!(log("../p/session-8d17"), tree.at("p/session-8d17/session.v4.jsonl.zstd"));
        // A name comes before a file that happens to be called so, which comes before nothing at all.
        assert_eq!(log("8d17"), tree.at("p/session-8d17/session.v4.jsonl.zstd"));
        assert_eq!(log("./8d17"), tree.at("q/8d17"));
        assert_eq!(log("copy"), tree.at("q/copy"));
        // An id may hold a slash.
        assert_eq!(log("a/b"), tree.at("q/a~002Fb/session.jsonl"));
        assert!(matches!(find("nothing"), Err(SelectError::NoMatch { .. })));
        assert!(
            matches!(find("./nothing"), Err(SelectError::Read(e)) if e.class() == crate::Class::NotFound)
        );
        assert!(matches!(find(".."), Err(SelectError::Read(e)) if e.code() == "not-found"));
    }

    #[test]
    fn a_path_needs_no_walk() {
        let (tree, _) = home();
        let found = select(OsStr::new("8d/session.jsonl"), &tree.at("q"), || panic!("walked"));
        assert!(matches!(found, Ok(Target::File(_))));
    }
}
