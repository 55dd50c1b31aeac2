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
