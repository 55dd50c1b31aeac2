//! Whether a log is where it belongs (`docs/spec/storage.md`, section 5), and what the official reader would say of
//! the root around it (sections 4.1 to 4.3).

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::key::{encode_id, project_key};
use super::name::{file_name, parse_name};
use super::walk::{GenerationFile, SessionFolder, Walk, Why};
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

    /// Refuse the log for its folder: when the other encoding is there too ([`ErrorKind::MixedEncodings`]). The
    /// official reader looks at this before anything else, and in the whole root.
    pub fn check_folder(&self) -> Result<()> {
        let folder = SessionFolder::read(&self.folder_path())?;
        let is_this = |g: &&GenerationFile| (g.generation, g.encoding) == (self.generation, self.encoding);
        match folder.generations.iter().find(is_this) {
            Some(file) => folder.check_encodings(file),
            None => Err(Error::from(ErrorKind::NotFound).in_file(&self.path(), Some(self.generation))),
        }
    }
}

/// Refuse a header that does not lead to the path it was read from ([`ErrorKind::Identity`]).
///
/// The official reader asks this of V0..V3 before it looks at the body, and of V4 after the body's rows, relations and
/// payloads, but before unknown event types.
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

/// Refuse a header with another id than the one that was asked for ([`ErrorKind::Identity`]).
pub fn check_id(member: &Member, header: &Header, asked: &JsString) -> Result<()> {
    if header.id == *asked {
        return Ok(());
    }
    let expected = format!("the session `{}`", header.id.to_lossy().escape_debug());
    Err(Error::from(ErrorKind::Identity { expected }).in_file(&member.path(), Some(member.generation)))
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::header::CwdRule;
    use crate::home::testing::Tree;
    use std::os::unix::fs::symlink;

    fn header(id: &str, cwd: Option<&str>) -> Header {
        let cwd = cwd.map_or(String::new(), |cwd| format!(",\"cwd\":\"{cwd}\""));
        let line = format!(
            r#"{{"type":"session","version":4,"id":"{id}","createdAt":1{cwd},"isSeeded":false,"delegationDepth":0}}"#
        );
        Header::parse(&line, CwdRule::Any).unwrap()
    }

    fn member(path: &Path) -> Member {
        match Placement::of(path, path.ancestors().nth(3)) {
            Placement::Member(member) => member,
            Placement::Stray => panic!("{} is a stray", path.display()),
        }
    }

    #[test]
    fn members_and_strays() {
        let root = Some(Path::new("/r"));
        for (path, root, is_member) in [
            ("/h/sessions/p/s/session.v4.jsonl.zstd", None, true),
            ("/sessions/p/s/session.jsonl", None, true),
            ("/h/sessions/p/s/session.v04.jsonl", None, false),
            ("/h/sessions/p/s/copy.jsonl", None, false),
            ("/h/sessions/p/session.jsonl", None, false),
            ("/h/sessions/p/s/deeper/session.jsonl", None, false),
            ("/r/p/s/session.jsonl", None, false),
            ("/r/p/s/session.jsonl", root, true),
            ("/other/p/s/session.jsonl", root, false),
            ("/session.jsonl", root, false),
        ] {
            let found = Placement::of(Path::new(path), root);
            assert_eq!(found != Placement::Stray, is_member, "{path}");
            if let Placement::Member(member) = found {
                assert_eq!(member.path(), Path::new(path));
            }
        }
    }

    #[test]
    fn a_root_may_be_spelled_through_a_link() {
        let tree = Tree::new(&["real/p/s/session.jsonl"]);
        symlink(tree.at("real"), tree.at("link")).unwrap();
        let path = tree.at("real/p/s/session.jsonl");
        assert_eq!(Placement::of(&path, Some(&tree.at("elsewhere"))), Placement::Stray);
        assert_ne!(Placement::of(&path, Some(&tree.at("link"))), Placement::Stray);
    }

    #[test]
    fn identity() {
        let check = |path: &str, header: &Header| match check_identity(&member(Path::new(path)), header) {
            Ok(()) => None,
            Err(e) => match e.kind() {
                ErrorKind::Identity { expected } => Some(expected.clone()),
                other => panic!("{other}"),
            },
        };
        let path = "/nowhere/--a-b--/x/session.v4.jsonl";
        assert_eq!(check(path, &header("x", Some("/a/b"))), None);
        assert_eq!(check(path, &header("x", Some("/a-b"))), None, "keys are lossy");
        let expected = |text: &str| Some(text.to_owned());
        assert_eq!(check(path, &header("x", Some("/a/c"))), expected("--a-c--/x/session.v4.jsonl"));
        assert_eq!(check(path, &header("x", None)), expected("_no-cwd/x/session.v4.jsonl"));
        assert_eq!(check(path, &header("y/", Some("/a/b"))), expected("--a-b--/y~002F/session.v4.jsonl"));
        assert_eq!(check(path, &header("", Some("/a/b"))), expected("no folder (empty id)"));
        let windows = r"C:\\a\\b";
        assert_eq!(check("/nowhere/--C-a-b--/x/session.v4.jsonl", &header("x", Some(windows))), None);
    }

    #[test]
    fn identity_sees_through_links() {
        let tree = Tree::new(&["--a--/x/session.v4.jsonl"]);
        symlink(tree.at("--a--"), tree.at("--old--")).unwrap();
        let moved = member(&tree.at("--old--/x/session.v4.jsonl"));
        assert!(check_identity(&moved, &header("x", Some("/a"))).is_ok());
        assert!(check_identity(&moved, &header("y", Some("/a"))).is_err());
    }

    #[test]
    fn the_id_that_was_asked_for() {
        let member = member(Path::new("/nowhere/--a--/x/session.v4.jsonl"));
        assert!(check_id(&member, &header("x", Some("/a")), &"x".into()).is_ok());
        let error = check_id(&member, &header("y", Some("/a")), &"x".into()).unwrap_err();
        assert_eq!(error.code(), "identity");
    }

    #[test]
    fn a_folder_with_both_encodings() {
        let tree = Tree::new(&[
            "p/same/session.v4.jsonl",
            "p/same/session.v4.jsonl.zstd",
            "p/older/session.v3.jsonl",
            "p/older/session.v4.jsonl.zstd",
            "p/fine/session.v3.jsonl.zstd",
            "p/fine/session.v4.jsonl.zstd",
        ]);
        let check = |path: &str| member(&tree.at(path)).check_folder().map_err(|e| e.code());
        assert_eq!(check("p/same/session.v4.jsonl.zstd"), Err("mixed-encodings"));
        assert_eq!(check("p/same/session.v4.jsonl"), Err("mixed-encodings"));
        assert_eq!(check("p/older/session.v4.jsonl.zstd"), Err("mixed-encodings"));
        assert_eq!(check("p/older/session.v3.jsonl"), Err("mixed-encodings"));
        assert_eq!(check("p/fine/session.v3.jsonl.zstd"), Ok(()));
        assert_eq!(check("p/fine/session.v2.jsonl.zstd"), Err("not-found"));
    }

    /// What the official reader refuses, by sections 3.3, 4.1 and 4.3 of the specification.
    #[test]
    fn refusals_of_the_official_reader() {
        #[track_caller]
        fn check(files: &[&str], expected: &[(&str, &str)]) {
            let mut all = vec!["p/s/session.v4.jsonl.zstd"];
            all.extend(files);
            let tree = Tree::new(&all);
            let walk = Walk::new(tree.path()).unwrap();
            let session = walk.sessions.iter().find(|s| s.path == tree.at("p/s")).unwrap();
            let found = official_refusals(&walk, session, Encoding::Zstd);
            let mut found: Vec<_> = found
                .iter()
                .map(|r| {
                    let path = r.path().strip_prefix(tree.path()).unwrap().to_str().unwrap();
                    (r.spec().unwrap_or("-"), path)
                })
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
        check(&["p/t/session.v3.jsonl.zstd", "q/u/session.v4.jsonl.zstd"], &[]);
        check(&["q/t/session.jsonl"], &[("R11", "q/t/session.jsonl")]);
        check(&["p/whatever.jsonl"], &[("R10", "p/whatever.jsonl")]);
        check(&["q/s.jsonl.zstd"], &[("R10", "q/s.jsonl.zstd")]);
        check(&["x.jsonl", "p/t/x.jsonl", "p/t/deep/session.jsonl"], &[]);
        check(&["q/s.jsonl/"], &[("R10", "q/s.jsonl")]);
        check(&["q/t.jsonl/"], &[]);
        check(&["q/s"], &[("-", "q/s")]);
        check(&["q/s/session.v3.jsonl.zstd"], &[("R9", "q/s")]);
        check(&["q/s/notes.txt"], &[]);
        check(&["q/t/session.v4.jsonl/"], &[("R11", "q/t/session.v4.jsonl")]);
    }
}
