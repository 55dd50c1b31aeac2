//! Where images and files are stored that messages cite (`docs/spec/storage.md`, section 1).

use std::path::{Path, PathBuf};

/// The file of an attachment below the folder `attachments` of a home; nothing for what is no id of one. Ids are foreign
/// text, so nothing else may become part of a path.
pub(crate) fn object(folder: &Path, id: &str) -> Option<PathBuf> {
    let digest = id.strip_prefix("sha256:")?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let first = digest.get(..2).filter(|_| is_digest)?;
    Some(folder.join("v1/objects").join(first).join(digest))
}
