//! SQLite stores of the V0 era among the sessions of a root.
//!
//! A session in a store is listed as a folder with one log of V0 would be, whose path is `STORE#ID`; [`open`] opens the log
//! behind such a path as behind any other.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dshlog_codec::home::{
    EntryKind, GenerationFile, PassedOver, SelectError, SessionFolder, Walk, Why, by_name, encode_id,
};
use dshlog_codec::json::JsString;
use dshlog_codec::{Encoding, Error, ErrorKind, Generation, Header, Limits, LogFile, Millis, Result};
use dshlog_migrate::children::{Child, Evidence, Warning, describe};
use dshlog_query::store::{Entry, Place, Store, is_database, is_store};

/// Open a log: a file, or a session in a store.
pub(crate) fn open(path: &Path) -> Result<LogFile> {
    match Place::of(path) {
        Some(place) => {
            let mut store = Store::open(&place.store)?;
            let id = id(&mut store, &place.id)?;
            store.log(&id)
        }
        None => LogFile::open(path),
    }
}

/// The header of a log, and no more than that needs.
pub(crate) fn header(path: &Path) -> Result<Header> {
    match Place::of(path) {
        Some(place) => {
            let mut store = Store::open(&place.store)?;
            let id = id(&mut store, &place.id)?;
            store.header(&id)
        }
        None => LogFile::open(path)?.header(),
    }
}

/// What the subagents of a session in a store say of themselves; nothing for any other log. As with folders, one without
/// a readable header is nobody's child.
pub(crate) fn evidence(path: &Path) -> Result<Option<Evidence>> {
    let Some(place) = Place::of(path) else { return Ok(None) };
    let mut store = Store::open(&place.store)?;
    let mut evidence = Evidence::default();
    let parent = id(&mut store, &place.id)?;
    for id in store.children(&parent)? {
        let log = store.log(&id)?;
        let Ok(header) = log.header() else { continue };
        let path = log.path().map(Path::to_owned);
        let fact = describe(&log, &Limits::default()).unwrap_or_else(|fault| {
            let path = path.clone().unwrap_or_default();
            evidence.warnings.push(Warning { id: header.id.clone(), path, fault });
            None
        });
        evidence.children.push(Child { id: header.id, created_at: header.created_at, fact, path });
    }
    Ok(Some(evidence))
}

/// True for the path of a session in a store.
pub(crate) fn is_entry(path: &Path) -> bool {
    Place::of(path).is_some()
}

/// The id that a path means: its own text, else what it stands for as the name of a folder.
fn id(store: &mut Store, text: &str) -> Result<String> {
    if store.entry(text)?.is_some() {
        return Ok(text.to_owned());
    }
    let decoded = dshlog_codec::home::decode_id(text);
    Ok(decoded.map_or_else(|| text.to_owned(), |id| id.to_lossy().into_owned()))
}

/// What lies below a root, the sessions of the stores around it with it.
///
/// Stores are looked for right in the root, and in the home that a root named `sessions` belongs to. A session that has a
/// folder is not taken from a store: the folder came later. A store that cannot be read is passed over as unreadable.
pub(crate) fn walk(root: &Path) -> Result<Walk> {
    if is_database(root) {
        return walk_store(root);
    }
    let mut walk = Walk::new(root)?;
    for path in around(root) {
        walk.passed_over.retain(|passed| passed.path != path);
        match sessions(&path) {
            Ok(sessions) => {
                let is_new = |session: &SessionFolder| {
                    session.id.is_none() || walk.sessions.iter().all(|other| other.id != session.id)
                };
                let new: Vec<SessionFolder> = sessions.into_iter().filter(is_new).collect();
                walk.exists = true;
                walk.sessions.extend(new);
            }
            Err(error) => walk.passed_over.push(unreadable(&path, &error)),
        }
    }
    Ok(walk)
}

/// The sessions of one store, as if it were a root.
fn walk_store(path: &Path) -> Result<Walk> {
    let sessions = sessions(path)?;
    let root = path.to_owned();
    Ok(Walk { root, exists: true, projects: Vec::new(), sessions, passed_over: Vec::new() })
}

/// The stores that belong to a root, in the order of their paths.
pub(crate) fn around(root: &Path) -> Vec<PathBuf> {
    let home = root.parent().filter(|_| root.ends_with("sessions"));
    let mut found: Vec<PathBuf> = [Some(root), home]
        .into_iter()
        .flatten()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(Iterator::flatten)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .filter(|path| is_store(path))
        .collect();
    found.sort();
    found
}

/// The sessions of a store, each as its folder would be.
fn sessions(path: &Path) -> Result<Vec<SessionFolder>> {
    let mut store = Store::open(path)?;
    let entries = store.entries()?;
    entries
        .into_iter()
        .map(|entry| {
            let bytes = store.bytes(&entry.id)?;
            Ok(as_folder(path, &entry, bytes))
        })
        .collect()
}

fn as_folder(store: &Path, entry: &Entry, len: u64) -> SessionFolder {
    let id = JsString::from(entry.id.as_str());
    let path = Place { store: store.to_owned(), id: entry.id.clone() }.path();
    let file = GenerationFile {
        generation: Generation(0),
        encoding: Encoding::Raw,
        path: path.clone(),
        kind: EntryKind::File,
        is_link: false,
        len,
        modified: time(entry.last),
    };
    SessionFolder {
        project: store.file_name().unwrap_or_default().to_owned(),
        folder: encode_id(&id).unwrap_or_default().into(),
        path,
        id: Some(id),
        is_link: false,
        generations: vec![file],
        temps: Vec::new(),
        foreign: Vec::new(),
        has_lock_file: false,
    }
}

fn time(millis: Millis) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(u64::try_from(millis.0).ok()?))
}

fn unreadable(path: &Path, error: &Error) -> PassedOver {
    let reason = std::io::Error::other(crate::exit::without_place(error));
    PassedOver { path: path.to_owned(), why: Why::Unreadable(reason) }
}

/// What a typed path of the form `STORE#NAME` or `STORE` stands for, where it is one: the name is an id, its beginning or
/// `latest`, and may be left out where the store has one session.
pub(crate) fn select(path: &Path) -> Option<Result<SessionFolder, SelectError>> {
    let (store, name) = match Place::of(path) {
        Some(place) => (place.store, Some(place.id)),
        None if is_database(path) => (path.to_owned(), None),
        None => return None,
    };
    let find = || {
        let sessions = sessions(&store)?;
        match name {
            Some(name) => by_name(OsStr::new(&name), &sessions).cloned(),
            None if sessions.len() == 1 => by_name(OsStr::new("latest"), &sessions).cloned(),
            None if sessions.is_empty() => Err(Error::from(ErrorKind::NotFound).in_file(&store, None).into()),
            None => Err(SelectError::Ambiguous {
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                candidates: sessions.into_iter().map(|session| session.path).collect(),
            }),
        }
    };
    Some(find())
}
