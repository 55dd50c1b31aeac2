//! How a session in a store is named: `STORE#ID`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dshlog_codec::home::encode_id;
use dshlog_codec::json::JsString;

use super::open::{has_magic, head, is_written};
use super::{APPLICATION, Store};

/// A session in a store, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The store.
    pub store: PathBuf,
    /// The id, or what was typed in its place.
    pub id: String,
}

impl Place {
    /// What a path of the form `STORE#ID` leads to; nothing when there is such a file, or no such store.
    pub fn of(path: &Path) -> Option<Place> {
        let has_mark = path.as_os_str().as_encoded_bytes().contains(&b'#');
        if !has_mark || path.symlink_metadata().is_ok() {
            return None;
        }
        // An id may hold slashes, and both it and a name may hold the mark.
        path.ancestors().find_map(|part| {
            let name = part.file_name()?.to_str()?;
            let rest = path.strip_prefix(part).ok()?.to_str()?;
            name.match_indices('#').find_map(|(at, _)| {
                let store = part.with_file_name(&name[..at]);
                let id = &name[at + 1..];
                let id = if rest.is_empty() { id.to_owned() } else { format!("{id}/{rest}") };
                (at > 0 && is_database(&store)).then_some(Place { store, id })
            })
        })
    }

    /// The path that leads to it. The id is written as in the name of a folder, so that it is one name.
    pub fn path(&self) -> PathBuf {
        let mut path = OsString::from(&self.store);
        path.push("#");
        path.push(encode_id(&JsString::from(self.id.as_str())).unwrap_or_default());
        path.into()
    }
}

/// True for a SQLite database, whosever it is.
pub fn is_database(path: &Path) -> bool {
    head(path).is_ok_and(|head| has_magic(&head))
}

/// True for a store of any version.
pub fn is_store(path: &Path) -> bool {
    let Ok(head) = head(path) else { return false };
    if !has_magic(&head) {
        return false;
    }
    let application = head.get(68..72).map(|bytes| bytes.iter().fold(0, |n, byte| n << 8 | u32::from(*byte)));
    match application {
        Some(APPLICATION) => true,
        // The mark of a new one may stand in the writer's own file yet.
        Some(0) if is_written(path) => Store::open(path).is_ok(),
        _ => false,
    }
}
