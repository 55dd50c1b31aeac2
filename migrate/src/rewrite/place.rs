//! Where a new session lies, and the making of its folder (`docs/spec/storage.md`, sections 2, 4.1 and 10.1).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use dshlog_codec::home::{Walk, encode_id, parse_name, project_key};
use dshlog_codec::{Encoding, Generation, Header};

use crate::problem::{Problem, Step};
use crate::publish::Target;
use crate::vfs::{Identity, Kind, Vfs};

/// Longest name of a session folder. dsh also tries it with `.jsonl.zstd` behind it, and file systems end at 255.
const LONGEST_NAME: usize = 244;

/// The place of a session that is not there yet.
#[derive(Clone, Debug)]
pub struct Place {
    root: PathBuf,
    project: String,
    folder: String,
    encoding: Encoding,
}

impl Place {
    /// The place below `root` that this header leads to.
    ///
    /// Refuses a header that no folder can stand for ([`Problem::NoName`]).
    pub fn new(root: &Path, header: &Header, encoding: Encoding) -> Result<Place, Problem> {
        let no_name = |what| Err(Problem::NoName { what });
        let Some(project) = project_key(header.cwd.as_ref()) else {
            return no_name("the working directory is empty");
        };
        let Some(folder) = encode_id(&header.id) else { return no_name("the id is empty") };
        if folder.len() > LONGEST_NAME {
            return no_name("the id makes a name longer than 244 bytes, which dsh cannot open");
        }
        Ok(Place { root: root.to_owned(), project, folder, encoding })
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The session folder.
    pub fn folder(&self) -> PathBuf {
        self.project().join(&self.folder)
    }

    /// The log.
    pub fn log(&self) -> PathBuf {
        self.target().path()
    }

    fn project(&self) -> PathBuf {
        self.root.join(&self.project)
    }

    pub(crate) fn target(&self) -> Target {
        Target { folder: self.folder(), generation: Generation::CURRENT, encoding: self.encoding }
    }

    /// Refuse a place where a session of that id is, in any project of the root, or where dsh would meet something else on
    /// its way to it. Where a writer only left a folder without a log, the place is free. A link to a folder is not: dsh
    /// lists nothing behind one.
    pub(super) fn check_free(&self, vfs: &dyn Vfs, walk: &Walk) -> Result<(), Problem> {
        let projects = walk.projects.iter().map(|name| walk.root.join(name));
        let own = self.project();
        check_entry(vfs, &own)?;
        let is_new = !projects.clone().any(|project| project == own);
        for project in projects.chain(is_new.then_some(own)) {
            self.check_project(vfs, &project)?;
        }
        check_entry(vfs, &self.folder())
    }

    fn check_project(&self, vfs: &dyn Vfs, project: &Path) -> Result<(), Problem> {
        let folder = project.join(&self.folder);
        match kind(vfs, &folder)? {
            None => {}
            Some(Kind::Folder) => check_names(vfs, &folder)?,
            Some(_) => return Err(Problem::InTheWay { path: folder }),
        }
        for suffix in [".jsonl", ".jsonl.zstd"] {
            let flat = project.join(format!("{}{suffix}", self.folder));
            if kind(vfs, &flat)?.is_some() {
                return Err(Problem::InTheWay { path: flat });
            }
        }
        Ok(())
    }

    /// Make the folders that are not there, and their names durable. Those that are there stay as they are.
    pub(crate) fn make(&self, vfs: &dyn Vfs) -> Result<(), Problem> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Problem::Io { step: Step::MakeFolder, path, source }
        };
        let folder = self.folder();
        let mut missing = Vec::new();
        for path in folder.ancestors() {
            match vfs.identity(path) {
                Ok(_) => break,
                Err(e) if e.kind() == io::ErrorKind::NotFound => missing.push(path),
                Err(source) => return Err(failed(path)(source)),
            }
        }
        for path in missing.iter().rev() {
            match vfs.make_folder(path) {
                // Another process may be making the same session.
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(path)(e)),
                _ => {}
            }
        }
        // Of folders that are there nobody knows whether their makers came as far as this.
        let project = self.project();
        let made = missing.iter().copied().chain([&*folder, &*project]);
        let mut parents: Vec<&Path> = made.filter_map(Path::parent).collect();
        parents.sort_unstable();
        parents.dedup();
        parents.into_iter().try_for_each(|parent| vfs.sync_folder(parent).map_err(failed(parent)))
    }
}

/// Refuse what is neither a folder nor free.
fn check_entry(vfs: &dyn Vfs, path: &Path) -> Result<(), Problem> {
    match kind_of(vfs.entry(path), path)? {
        None | Some(Kind::Folder) => Ok(()),
        Some(_) => Err(Problem::InTheWay { path: path.to_owned() }),
    }
}

/// What a name leads to, links followed; nothing where nothing is.
fn kind(vfs: &dyn Vfs, path: &Path) -> Result<Option<Kind>, Problem> {
    kind_of(vfs.identity(path), path)
}

fn kind_of(looked: io::Result<Identity>, path: &Path) -> Result<Option<Kind>, Problem> {
    match looked {
        Ok(found) => Ok(Some(found.kind)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Problem::Io { step: Step::LookAround, path: path.to_owned(), source }),
    }
}

/// Refuse a folder with a log of any generation and encoding.
pub(super) fn check_names(vfs: &dyn Vfs, folder: &Path) -> Result<(), Problem> {
    let names: Vec<OsString> = vfs.names(folder).map_err(|source| Problem::Io {
        step: Step::LookAround,
        path: folder.to_owned(),
        source,
    })?;
    match names.iter().find(|name| parse_name(name).is_some()) {
        Some(name) => Err(Problem::Exists { path: folder.join(name) }),
        None => Ok(()),
    }
}
