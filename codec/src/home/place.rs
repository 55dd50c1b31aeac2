//! Whether a log is where it belongs (`docs/spec/storage.md`, section 5), and what the official reader would say of
//! the root around it (sections 4.1 to 4.3).

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::key::{encode_id, project_key};
use super::name::{file_name, parse_name};
use super::walk::{SessionFolder, Walk, Why};
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::json::JsString;
use crate::types::{Encoding, Generation};

/// How a path to a log is to be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// As a part of its root: the header must lead to this path, and neighbours count.
    Member(Member),
    /// Alone: no identity, no neighbours.
    Stray,
}

/// A log in its place below a sessions root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The root.
    pub root: PathBuf,
    /// Name of the project folder.
    pub project: OsString,
    /// Name of the session folder.
    pub folder: OsString,
    /// From the file name.
    pub generation: Generation,
    /// From the file name.
    pub encoding: Encoding,
}

impl Placement {
    /// How the log at `path` is to be judged: a canonical name two folders below one named `sessions`, or below
    /// `root`, is a member. `path` is absolute (see [`absolute`](super::absolute)); only to compare with a root that
    /// is spelled differently the file system is asked.
    pub fn of(path: &Path, root: Option<&Path>) -> Placement {
        Placement::member(path, root).map_or(Placement::Stray, Placement::Member)
    }

    fn member(path: &Path, root: Option<&Path>) -> Option<Member> {
        let (generation, encoding) = parse_name(path.file_name()?)?;
        let session = path.parent()?;
        let project = session.parent()?;
        let found = project.parent()?;
        let is_root = found.file_name() == Some(OsStr::new("sessions"))
            || root.is_some_and(|root| is_same(found, root));
        is_root.then_some(Member {
            root: found.to_owned(),
            project: project.file_name()?.to_owned(),
            folder: session.file_name()?.to_owned(),
            generation,
            encoding,
        })
    }
}

impl Member {
    /// The session folder.
    pub fn folder_path(&self) -> PathBuf {
        self.root.join(&self.project).join(&self.folder)
    }

    /// The log.
    pub fn path(&self) -> PathBuf {
        self.folder_path().join(file_name(self.generation, self.encoding))
    }
}

/// Refuse a header that does not lead to the path it was read from ([`ErrorKind::Identity`]).
///
/// Paths that differ as text are compared once more with links and case resolved, so that a file system that takes
/// two spellings for one refuses nothing. Whether the header's version fits the name is another check, made earlier.
pub fn check_identity(member: &Member, header: &Header) -> Result<()> {
    let refuse = |expected: String| {
        let error = Error::from(ErrorKind::Identity { expected });
        Err(error.in_file(&member.path(), Some(member.generation)))
    };
    let Some(project) = project_key(header.cwd.as_ref()) else {
        return refuse("no folder (empty `cwd`)".into());
    };
    let Some(folder) = encode_id(&header.id) else { return refuse("no folder (empty id)".into()) };
    if member.project == *project && member.folder == *folder {
        return Ok(());
    }
    let name = file_name(member.generation, member.encoding);
    if is_same(&member.root.join(&project).join(&folder).join(&name), &member.path()) {
        return Ok(());
    }
    refuse(format!("{project}/{folder}/{name}"))
}

/// True when both paths are one, as text or with links and case resolved.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Something beside a log for which the official reader refuses it, and dshlog does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A log of the old flat layout, anywhere in the root.
    FlatLog(PathBuf),
    /// A generation in the other encoding, anywhere in the root.
    OtherEncoding(PathBuf),
    /// An entry where the flat log of this very session would lie.
    FlatName(PathBuf),
    /// No folder where this session's folder would lie in another project.
    NoFolder(PathBuf),
    /// The same session in another project.
    Duplicate(PathBuf),
}

impl Refusal {
    /// Number in `docs/spec/storage.md`, section 14; nothing for an error of the operating system.
    pub fn spec(&self) -> Option<&'static str> {
        match self {
            Refusal::FlatLog(_) | Refusal::FlatName(_) => Some("R10"),
            Refusal::OtherEncoding(_) => Some("R11"),
            Refusal::Duplicate(_) => Some("R9"),
            Refusal::NoFolder(_) => None,
        }
    }

    /// What is in the way.
    pub fn path(&self) -> &Path {
        match self {
            Refusal::FlatLog(path)
            | Refusal::OtherEncoding(path)
            | Refusal::FlatName(path)
            | Refusal::NoFolder(path)
            | Refusal::Duplicate(path) => path,
        }
    }

    /// True when it hides every session of the root, not only one.
    pub fn is_root_wide(&self) -> bool {
        matches!(self, Refusal::FlatLog(_) | Refusal::OtherEncoding(_))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Refusal::FlatLog(_) | Refusal::FlatName(_) => "old flat layout",
            Refusal::OtherEncoding(_) => "log in the other encoding",
            Refusal::NoFolder(_) => "not a folder",
            Refusal::Duplicate(_) => "same session in another project",
        };
        write!(f, "{what}: {}", self.path().display())
    }
}

/// For what the official reader, set to `encoding`, would refuse every session of a root.
pub fn root_refusals(walk: &Walk, encoding: Encoding) -> Vec<Refusal> {
    let flat = walk.passed_over.iter().filter(|p| matches!(p.why, Why::FlatLog));
    let flat = flat.map(|p| Refusal::FlatLog(p.path.clone()));
    let listed = walk.sessions.iter().filter(|s| s.is_listed());
    let others = listed.flat_map(|s| &s.generations).filter(|g| g.encoding != encoding);
    flat.chain(others.map(|g| Refusal::OtherEncoding(g.path.clone()))).collect()
}

/// For what the official reader, set to `encoding`, would refuse one session of a root, whatever its log holds: the
/// faults of the root first, then those that it meets on the way to this session.
pub fn official_refusals(walk: &Walk, session: &SessionFolder, encoding: Encoding) -> Vec<Refusal> {
    let mut found = root_refusals(walk, encoding);
    let flat_names = ["jsonl", "jsonl.zstd"].map(|suffix| {
        let mut name = session.folder.clone();
        name.push(".");
        name.push(suffix);
        name
    });
    for project in &walk.projects {
        let project_path = walk.root.join(project);
        for path in flat_names.iter().map(|name| project_path.join(name)) {
            // Links followed, any kind of entry; a file was named by the check of the root already.
            if path.exists() && !found.iter().any(|refusal| refusal.path() == path) {
                found.push(Refusal::FlatName(path));
            }
        }
        let path = project_path.join(&session.folder);
        if path.exists() && !path.is_dir() {
            found.push(Refusal::NoFolder(path));
        }
    }
    for other in walk.sessions.iter().filter(|other| other.folder == session.folder) {
        if other.path != session.path {
            found.push(Refusal::Duplicate(other.path.clone()));
        } else if other.is_link {
            // Looked into only now: the check of the root passes over links.
            let mixed = other.generations.iter().filter(|g| g.encoding != encoding);
            found.extend(mixed.map(|g| Refusal::OtherEncoding(g.path.clone())));
        }
    }
    found
}

/// Refuse a header with another id than the one that was asked for ([`ErrorKind::Identity`]).
pub fn check_id(member: &Member, header: &Header, asked: &JsString) -> Result<()> {
    if header.id == *asked {
        return Ok(());
    }
    let expected = format!("the session `{}`", header.id.to_lossy().escape_debug());
    Err(Error::from(ErrorKind::Identity { expected }).in_file(&member.path(), Some(member.generation)))
}
