//! What lies below a sessions root (`docs/spec/storage.md`, sections 3 and 4), without opening a file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::key::decode_id;
use super::lock::LOCK_NAME;
use super::name::{Temp, is_flat_log_name, parse_name};
use crate::at::At;
use crate::error::{Error, ErrorKind, Result};
use crate::json::JsString;
use crate::types::{Encoding, Generation};

/// Everything below one root, in the order of names.
#[derive(Debug)]
pub struct Walk {
    /// The root.
    pub root: PathBuf,
    /// False when there is no such folder, which the official reader takes for a root without sessions.
    pub exists: bool,
    /// Names of the project folders that are no links.
    pub projects: Vec<OsString>,
    /// The folders that hold at least one generation.
    pub sessions: Vec<SessionFolder>,
    /// Everything else, with the reason.
    pub passed_over: Vec<PassedOver>,
}

/// Something below a root that is no session.
#[derive(Debug)]
pub struct PassedOver {
    /// Where it is.
    pub path: PathBuf,
    /// Why it is none.
    pub why: Why,
}

/// Why something was passed over.
#[derive(Debug)]
pub enum Why {
    /// No part of the layout: a stray file, a dangling link, a device.
    Foreign,
    /// A file in a project folder with a log's suffix: the old flat layout. The official reader refuses the root.
    FlatLog,
    /// Left behind by a writer that did not come to an end.
    Temp(Temp),
    /// A link to a project folder, which the official reader never looks into.
    LinkedProject,
    /// A folder without a canonical generation.
    NoLog,
    /// The operating system did not let us look.
    Unreadable(io::Error),
}

/// A folder with at least one canonical generation.
#[derive(Clone, Debug)]
pub struct SessionFolder {
    /// Name of the project folder.
    pub project: OsString,
    /// Name of the session folder.
    pub folder: OsString,
    /// Where it is.
    pub path: PathBuf,
    /// The id that the name stands for, when some id is encoded so. The header has the last word.
    pub id: Option<JsString>,
    /// True for a link to a folder: found by id, but not listed by the official reader.
    pub is_link: bool,
    /// The generations, oldest first; never empty.
    pub generations: Vec<GenerationFile>,
    /// Names left behind by writers that did not come to an end.
    pub temps: Vec<(OsString, Temp)>,
    /// Names that are no part of the format.
    pub foreign: Vec<OsString>,
    /// True when a lock file is there. It stays behind every writer and says nothing of one at work.
    pub has_lock_file: bool,
}

/// An entry with a canonical name. Whether it can be read, only opening it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerationFile {
    /// From the name.
    pub generation: Generation,
    /// From the name.
    pub encoding: Encoding,
    /// Where it is.
    pub path: PathBuf,
    /// What it is, links followed.
    pub kind: EntryKind,
    /// True when the name is a link.
    pub is_link: bool,
    /// Size in bytes; 0 unless it is a file.
    pub len: u64,
    /// When it was last written, where the system knows.
    pub modified: Option<SystemTime>,
}

/// What an entry is, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder, which no log can be. The official reader fails on its whole root.
    Folder,
    /// A pipe, a device.
    Other,
    /// It cannot be looked at: a link to nothing, or no permission.
    Unknown,
}

impl Walk {
    /// Look at everything below `root`. Fails only when the root itself is there and cannot be read.
    pub fn new(root: &Path) -> Result<Walk> {
        let mut walk = Walk {
            root: root.to_owned(),
            exists: true,
            projects: Vec::new(),
            sessions: Vec::new(),
            passed_over: Vec::new(),
        };
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                walk.exists = false;
                return Ok(walk);
            }
            Err(e) => return Err(Error::io("read the sessions root", root, e)),
        };
        for entry in entries {
            match entry {
                Ok(entry) => walk.see_in_root(&entry),
                Err(e) => walk.pass_over(root.to_owned(), Why::Unreadable(e)),
            }
        }
        walk.projects.sort();
        // By names rather than whole paths: comparing paths takes them apart each time.
        walk.sessions.sort_by(|a, b| (&a.project, &a.folder).cmp(&(&b.project, &b.folder)));
        walk.passed_over.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(walk)
    }

    fn see_in_root(&mut self, entry: &DirEntry) {
        let path = entry.path();
        match Kind::of(entry) {
            Kind::Folder { link: false } => {}
            Kind::Folder { link: true } => return self.pass_over(path, Why::LinkedProject),
            Kind::File | Kind::Other => return self.pass_over(path, Why::Foreign),
        }
        let name = entry.file_name();
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(e) => return self.pass_over(path, Why::Unreadable(e)),
        };
        for entry in entries {
            match entry {
                Ok(entry) => self.see_in_project(&name, &entry),
                Err(e) => self.pass_over(path.clone(), Why::Unreadable(e)),
            }
        }
        // The name does not keep sessions from being found inside, so it is only reported.
        if let Some(temp) = Temp::parse(&name) {
            self.pass_over(path, Why::Temp(temp));
        }
        self.projects.push(name);
    }

    fn see_in_project(&mut self, project: &OsStr, entry: &DirEntry) {
        let (name, path) = (entry.file_name(), entry.path());
        let is_link = match Kind::of(entry) {
            Kind::Folder { link } => link,
            Kind::File if is_flat_log_name(&name) => return self.pass_over(path, Why::FlatLog),
            Kind::File | Kind::Other => return self.pass_over(path, Why::Foreign),
        };
        let folder = match SessionFolder::collect(project.to_owned(), name, path, is_link) {
            Ok(folder) => folder,
            Err((path, e)) => return self.pass_over(path, Why::Unreadable(e)),
        };
        if folder.generations.is_empty() {
            for (name, temp) in &folder.temps {
                self.pass_over(folder.path.join(name), Why::Temp(*temp));
            }
            let why = Temp::parse(&folder.folder).map_or(Why::NoLog, Why::Temp);
            self.pass_over(folder.path, why);
        } else {
            self.sessions.push(folder);
        }
    }

    fn pass_over(&mut self, path: PathBuf, why: Why) {
        self.passed_over.push(PassedOver { path, why });
    }
}

/// What an entry of a folder is; a link to a folder is a folder, any other link is something else.
enum Kind {
    File,
    Folder { link: bool },
    Other,
}

impl Kind {
    fn of(entry: &DirEntry) -> Kind {
        match entry.file_type() {
            Ok(t) if t.is_dir() => Kind::Folder { link: false },
            Ok(t) if t.is_file() => Kind::File,
            Ok(t) if t.is_symlink() && entry.path().is_dir() => Kind::Folder { link: true },
            _ => Kind::Other,
        }
    }
}

impl SessionFolder {
    /// Look at one folder. Refuses a folder without a canonical generation as [`ErrorKind::NotFound`].
    pub fn read(path: &Path) -> Result<SessionFolder> {
        let name = |path: Option<&Path>| path.and_then(Path::file_name).unwrap_or_default().to_owned();
        let is_link = path.is_symlink();
        let folder = SessionFolder::collect(name(path.parent()), name(Some(path)), path.to_owned(), is_link)
            .map_err(|(path, e)| Error::io("read the session folder", &path, e))?;
        if folder.generations.is_empty() { Err(folder.error(ErrorKind::NotFound)) } else { Ok(folder) }
    }

    fn collect(
        project: OsString,
        folder: OsString,
        path: PathBuf,
        is_link: bool,
    ) -> Result<SessionFolder, (PathBuf, io::Error)> {
        let mut found = SessionFolder {
            id: folder.to_str().and_then(decode_id),
            project,
            folder,
            path,
            is_link,
            generations: Vec::new(),
            temps: Vec::new(),
            foreign: Vec::new(),
            has_lock_file: false,
        };
        let entries: Vec<DirEntry> = match fs::read_dir(&found.path).and_then(Iterator::collect) {
            Ok(entries) => entries,
            Err(e) => return Err((found.path, e)),
        };
        for entry in &entries {
            found.see(entry);
        }
        found.generations.sort_by_key(|file| (file.generation, file.encoding == Encoding::Zstd));
        found.temps.sort_by(|a, b| a.0.cmp(&b.0));
        found.foreign.sort();
        Ok(found)
    }

    fn see(&mut self, entry: &DirEntry) {
        let name = entry.file_name();
        if let Some((generation, encoding)) = parse_name(&name) {
            self.generations.push(GenerationFile::look(entry, generation, encoding));
        } else if let Some(temp) = Temp::parse(&name) {
            self.temps.push((name, temp));
        } else if name == LOCK_NAME {
            self.has_lock_file = true;
        } else {
            self.foreign.push(name);
        }
    }

    /// The newest generation, whatever it is. Of two encodings of one generation, the compressed one.
    pub fn newest(&self) -> Option<&GenerationFile> {
        self.generations.last()
    }

    /// The log of this generation. Of two encodings, the compressed one.
    pub fn of_generation(&self, generation: Generation) -> Option<&GenerationFile> {
        self.generations.iter().rev().find(|file| file.generation == generation)
    }

    /// The next newer log in the encoding of `file`, one of the generations: what was made of it, or of a log between.
    pub fn newer_than(&self, file: &GenerationFile) -> Option<&GenerationFile> {
        self.generations.iter().find(|g| g.generation > file.generation && g.encoding == file.encoding)
    }

    /// The generation that stands for the session: the newest one. A damaged one hides the older ones.
    ///
    /// Refuses a folder with both encodings, as the official reader does: nothing says which one was written last.
    pub fn chosen(&self) -> Result<&GenerationFile> {
        let newest = self.newest().ok_or_else(|| self.error(ErrorKind::NotFound))?;
        self.check_encodings(newest)?;
        Ok(newest)
    }

    /// Refuse `file`, one of the generations, when there is one in the other encoding.
    pub fn check_encodings(&self, file: &GenerationFile) -> Result<()> {
        let Some(other) = self.generations.iter().find(|g| g.encoding != file.encoding) else {
            return Ok(());
        };
        let other = other.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Err(Error::from(ErrorKind::MixedEncodings { other }).in_file(&file.path, Some(file.generation)))
    }

    /// True when both encodings are here.
    pub fn is_mixed(&self) -> bool {
        self.generations.iter().any(|g| Some(g.encoding) != self.newest().map(|newest| newest.encoding))
    }

    /// When the newest generation was last written, in whichever encoding.
    pub fn modified(&self) -> Option<SystemTime> {
        let newest = self.newest()?.generation;
        self.generations.iter().filter(|g| g.generation == newest).filter_map(|g| g.modified).max()
    }

    /// True when the official reader lists such folders at all.
    pub fn is_listed(&self) -> bool {
        !self.is_link
    }

    fn error(&self, kind: ErrorKind) -> Error {
        kind.at(At { path: Some(self.path.clone()), ..At::default() })
    }
}

impl GenerationFile {
    fn look(entry: &DirEntry, generation: Generation, encoding: Encoding) -> GenerationFile {
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|t| t.is_symlink());
        // Through the open folder where it can be: shorter for the system than the whole path.
        let metadata = if is_link { fs::metadata(&path) } else { entry.metadata() };
        let kind = match &metadata {
            Ok(m) if m.is_file() => EntryKind::File,
            Ok(m) if m.is_dir() => EntryKind::Folder,
            Ok(_) => EntryKind::Other,
            Err(_) => EntryKind::Unknown,
        };
        let len = metadata.as_ref().ok().filter(|m| m.is_file()).map_or(0, fs::Metadata::len);
        let modified = metadata.ok().and_then(|m| m.modified().ok());
        GenerationFile { generation, encoding, path, kind, is_link, len, modified }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::home::testing::Tree;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn text(path: &Path, tree: &Tree) -> String {
        path.strip_prefix(tree.path()).unwrap().to_str().unwrap().to_owned()
    }

    fn passed_over(walk: &Walk, tree: &Tree) -> Vec<(String, String)> {
        walk.passed_over
            .iter()
            .map(|p| {
                let why = match &p.why {
                    Why::Unreadable(e) => format!("{:?}", e.kind()),
                    why => format!("{why:?}"),
                };
                (text(&p.path, tree), why)
            })
            .collect()
    }

    /// Every case of sections 3.1, 4.2 and 4.3 of the specification that names alone decide. The official reader lists
    /// `p/a` and `p/b` of the files below, or fails for the flat log; a folder in a log's place is ours to skip.
    #[test]
    fn a_messy_root() {
        let tree = Tree::new(&[
            ".DS_Store",
            "x.jsonl",
            "empty-project/",
            "p/.DS_Store",
            "p/notes.txt",
            "p/a/session.v4.jsonl.zstd",
            "p/a/session.v3.jsonl.zstd",
            "p/a/session.lock",
            "p/b/session.v10.jsonl",
            "p/b/session.v9.jsonl",
            "p/b/session.v04.jsonl",
            "p/b/Session.v11.jsonl",
            "p/b/SESSION.V12.jsonl",
            "p/b/session.v13.jsonl.zst",
            "p/b/session.v14.jsonl~",
            "p/b/session.v15.jsonl.0123456789ab.tmp",
            "p/b/session.migration.0123456789abcdef.jsonl.tmp",
            "p/b/._session.v4.jsonl",
            "p/b/deep/session.v16.jsonl",
            "p/folder/session.v4.jsonl.zstd/",
            "p/old-names/session.v04.jsonl",
            "p/empty/",
            "p/half/session.v4.jsonl.zstd.0123456789ab.tmp",
            "p/half/session.lock",
            "p/.dsh-mkdir-a1B2c3/",
            ".dsh-mkdir-d4E5f6/",
            "p/flat.jsonl",
            "p/folder.jsonl/",
        ]);
        fs::create_dir(tree.at("p/dangling")).unwrap();
        symlink("nowhere", tree.at("p/dangling/session.v4.jsonl.zstd")).unwrap();
        symlink("nowhere", tree.at("p/to-nowhere")).unwrap();
        symlink("flat.jsonl", tree.at("p/link.jsonl")).unwrap();
        symlink("a", tree.at("p/linked")).unwrap();
        symlink("p", tree.at("linked-project")).unwrap();

        let walk = Walk::new(tree.path()).unwrap();
        let sessions: Vec<_> = walk.sessions.iter().map(|s| text(&s.path, &tree)).collect();
        assert_eq!(sessions, ["p/a", "p/b", "p/dangling", "p/folder", "p/linked"]);
        let expected = [
            (".DS_Store", "Foreign"),
            (".dsh-mkdir-d4E5f6", "Temp(Folder)"),
            ("linked-project", "LinkedProject"),
            ("p/.DS_Store", "Foreign"),
            ("p/.dsh-mkdir-a1B2c3", "Temp(Folder)"),
            ("p/empty", "NoLog"),
            ("p/flat.jsonl", "FlatLog"),
            ("p/folder.jsonl", "NoLog"),
            ("p/half", "NoLog"),
            ("p/half/session.v4.jsonl.zstd.0123456789ab.tmp", "Temp(FirstWrite(Generation(4), Zstd))"),
            ("p/link.jsonl", "Foreign"),
            ("p/notes.txt", "Foreign"),
            ("p/old-names", "NoLog"),
            ("p/to-nowhere", "Foreign"),
            ("x.jsonl", "Foreign"),
        ];
        assert_eq!(passed_over(&walk, &tree), expected.map(|(path, why)| (path.into(), why.into())));

        let by_name = |name: &str| walk.sessions.iter().find(|s| s.folder == *name).unwrap();
        let newest = |name: &str| {
            let file = by_name(name).chosen().unwrap();
            (file.generation.0, file.encoding, file.kind, file.len)
        };
        assert_eq!(newest("a"), (4, Encoding::Zstd, EntryKind::File, 1));
        assert_eq!(newest("b"), (10, Encoding::Raw, EntryKind::File, 1));
        assert_eq!(newest("folder"), (4, Encoding::Zstd, EntryKind::Folder, 0));
        assert_eq!(newest("dangling"), (4, Encoding::Zstd, EntryKind::Unknown, 0));
        assert_eq!(newest("linked"), (4, Encoding::Zstd, EntryKind::File, 1));
        assert!(by_name("a").has_lock_file && !by_name("b").has_lock_file);
        assert!(by_name("linked").is_link && !by_name("linked").is_listed() && by_name("a").is_listed());
        assert_eq!(by_name("a").id, Some("a".into()));

        let b = by_name("b");
        let temps = ["session.migration.0123456789abcdef.jsonl.tmp", "session.v15.jsonl.0123456789ab.tmp"];
        assert_eq!(b.temps.iter().map(|(name, _)| name.to_str().unwrap()).collect::<Vec<_>>(), temps);
        let foreign = [
            "._session.v4.jsonl",
            "SESSION.V12.jsonl",
            "Session.v11.jsonl",
            "deep",
            "session.v04.jsonl",
            "session.v13.jsonl.zst",
            "session.v14.jsonl~",
        ];
        assert_eq!(b.foreign, foreign);
    }

    #[test]
    fn roots_that_are_not_there_or_no_folder() {
        let tree = Tree::new(&["file"]);
        let missing = Walk::new(&tree.at("missing")).unwrap();
        assert!(!missing.exists && missing.sessions.is_empty());
        assert_eq!(Walk::new(&tree.at("file")).unwrap_err().code(), "io");
    }

    #[test]
    fn what_cannot_be_read_does_not_hide_the_rest() {
        let tree = Tree::new(&["p/a/session.jsonl", "p/shut/session.jsonl", "shut/b/session.jsonl"]);
        let mode = |mode| {
            for folder in ["p/shut", "shut"] {
                fs::set_permissions(tree.at(folder), fs::Permissions::from_mode(mode)).unwrap();
            }
        };
        mode(0o000);
        let walk = Walk::new(tree.path());
        let superuser = fs::read_dir(tree.at("shut")).is_ok();
        mode(0o700);
        let walk = walk.unwrap();
        if superuser {
            eprintln!("skipped: the superuser can read every folder");
            return;
        }
        assert_eq!(walk.sessions.iter().map(|s| text(&s.path, &tree)).collect::<Vec<_>>(), ["p/a"]);
        let expected = [("p/shut", "PermissionDenied"), ("shut", "PermissionDenied")];
        assert_eq!(passed_over(&walk, &tree), expected.map(|(path, why)| (path.into(), why.into())));
    }

    #[test]
    fn both_encodings_in_one_folder() {
        let tree = Tree::new(&["p/a/session.v3.jsonl", "p/a/session.v4.jsonl.zstd", "p/b/session.v4.jsonl"]);
        let walk = Walk::new(tree.path()).unwrap();
        let [a, b] = walk.sessions.as_slice() else { panic!("two sessions") };
        let error = a.chosen().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::MixedEncodings { other } if other == "session.v3.jsonl"));
        assert_eq!(error.position().path, Some(tree.at("p/a/session.v4.jsonl.zstd")));
        assert!(a.is_mixed() && !b.is_mixed());
        let [old, new] = a.generations.as_slice() else { panic!("two logs") };
        assert_eq!((a.newer_than(old), a.newer_than(new)), (None, None));
        assert_eq!(b.chosen().unwrap().path, tree.at("p/b/session.v4.jsonl"));
    }

    #[test]
    fn generations_of_one_session() {
        let tree = Tree::new(&[
            "p/a/session.jsonl",
            "p/a/session.v3.jsonl",
            "p/a/session.v3.jsonl.zstd",
            "p/a/session.v10.jsonl",
        ]);
        let folder = SessionFolder::read(&tree.at("p/a")).unwrap();
        let name = |file: Option<&GenerationFile>| file.map(|file| text(&file.path, &tree));
        for (generation, this, newer) in [
            (0, Some("p/a/session.jsonl"), Some("p/a/session.v3.jsonl")),
            (3, Some("p/a/session.v3.jsonl.zstd"), None),
            (4, None, None),
            (10, Some("p/a/session.v10.jsonl"), None),
        ] {
            let found = folder.of_generation(Generation(generation));
            assert_eq!(name(found).as_deref(), this, "V{generation}");
            assert_eq!(name(found.and_then(|f| folder.newer_than(f))).as_deref(), newer, "V{generation}");
        }
    }

    #[test]
    fn one_folder_by_its_path() {
        let tree = Tree::new(&["p/a~002Fb/session.v4.jsonl", "p/none/x"]);
        let folder = SessionFolder::read(&tree.at("p/a~002Fb")).unwrap();
        assert_eq!((folder.project.to_str(), folder.id), (Some("p"), Some("a/b".into())));
        assert_eq!(SessionFolder::read(&tree.at("p/none")).unwrap_err().code(), "not-found");
        assert_eq!(SessionFolder::read(&tree.at("p/missing")).unwrap_err().class(), crate::Class::NotFound);
    }
}
