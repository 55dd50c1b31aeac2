//! What requests hold that no log does: bytes of images, ids of uploads, the home of the run.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use dshlog_codec::home::Member;
use dshlog_replay::request::image::{Attachments, MOST_BYTES};
use sha2::{Digest as _, Sha256};

use crate::args::Request;
use crate::attachments::object;
use crate::ctx::Ctx;
use crate::exit::Failure;

/// The folder of images, and what was said on the command line.
#[derive(Debug, Default)]
pub(super) struct Files {
    folder: Option<PathBuf>,
    home: Option<String>,
    ids: HashMap<String, String>,
    wrong: RefCell<BTreeSet<PathBuf>>,
}

impl Files {
    pub(super) fn new(ctx: &Ctx, args: &Request, member: Option<&Member>) -> Result<Self, Failure> {
        let home = member.and_then(|member| home_of(ctx, member));
        let ids = args.file_ids.as_deref().map(read_ids).transpose()?.unwrap_or_default();
        Ok(Files {
            folder: args.attachments.clone().or_else(|| home.as_ref().map(|home| home.join("attachments"))),
            home: args.home_path.clone().or_else(|| home.map(|home| home.to_string_lossy().into_owned())),
            ids,
            wrong: RefCell::default(),
        })
    }

    /// The folder of images, where one is known.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Stored images that are not what their name says.
    pub(super) fn wrong(&self) -> Vec<PathBuf> {
        self.wrong.borrow().iter().cloned().collect()
    }
}

impl Attachments for Files {
    fn file_id(&self, attachment: &str) -> Option<&str> {
        self.ids.get(attachment).map(String::as_str)
    }

    fn bytes(&self, attachment: &str) -> Option<Vec<u8>> {
        let path = object(self.folder.as_ref()?, attachment)?;
        let stored = std::fs::metadata(&path).ok()?;
        // What is no file might never end.
        if !stored.is_file() || stored.len() > MOST_BYTES {
            self.wrong.borrow_mut().insert(path);
            return None;
        }
        let bytes = std::fs::read(&path).ok()?;
        let digest = attachment.strip_prefix("sha256:")?;
        if !is_digest(Sha256::digest(&bytes).as_ref(), digest) {
            self.wrong.borrow_mut().insert(path);
            return None;
        }
        Some(bytes)
    }

    fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }
}

/// Whether a name has the hex digits of a digest.
fn is_digest(digest: &[u8], name: &str) -> bool {
    let digit = |half: u8| char::from_digit(u32::from(half), 16);
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).eq(name.chars().map(Some))
}

/// The home that a session belongs to. A root has its name from the home's profile; of another root the home is the one
/// that switches and environment name.
fn home_of(ctx: &Ctx, member: &Member) -> Option<PathBuf> {
    let parent = member.root.parent().filter(|_| member.root.ends_with("sessions"));
    parent.map(Path::to_owned).or_else(|| ctx.home().ok()?.path)
}

fn read_ids(path: &Path) -> Result<HashMap<String, String>, Failure> {
    let text = std::fs::read(path).map_err(|error| Failure::io("read", path, error))?;
    serde_json::from_slice(&text).map_err(|error| {
        Failure::usage(format!("{} is no map of ids: {error}", path.display()))
            .hint(r#"`{"sha256:…": "file_…"}` is one"#)
    })
}
