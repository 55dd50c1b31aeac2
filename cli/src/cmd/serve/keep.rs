//! What was asked, in a folder.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use dshlog_fixture_server::Capture;

use crate::exit::{Failure, shown};

/// The list of requests.
const LIST: &str = "requests.jsonl";

/// A folder of captures: `requests.jsonl` has a line for each request, `0000.body` its body as it came.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    list: File,
}

impl Folder {
    /// A new folder, or an empty one.
    pub(super) fn new(path: &Path) -> Result<Folder, Failure> {
        fs::create_dir_all(path).map_err(|fault| Failure::io("make", path, fault))?;
        let mut entries = fs::read_dir(path).map_err(|fault| Failure::io("read", path, fault))?;
        if entries.next().is_some() {
            return Err(Failure::refused(format!("{} is not empty", shown(path)))
                .hint("name a new folder: what was captured before is never overwritten"));
        }
        let list = path.join(LIST);
        let file = File::create_new(&list).map_err(|fault| Failure::io("write", &list, fault))?;
        Ok(Folder { path: path.to_owned(), list: file })
    }

    /// Writes a request down.
    pub(super) fn keep(&mut self, capture: &Capture) -> Result<(), Failure> {
        if !capture.body.is_empty() {
            let path = self.path.join(format!("{:04}.body", capture.n));
            let written = File::create_new(&path).and_then(|mut file| file.write_all(&capture.body));
            written.map_err(|fault| Failure::io("write", &path, fault))?;
        }
        let mut told = capture.to_json(true);
        if let Some(members) = told.as_object_mut() {
            // The body has a file of its own.
            members.retain(|name, _| name != "body" && name != "bodyText");
        }
        let mut line = dshlog_fixture_server::json::print(&told);
        line.push('\n');
        let list = self.path.join(LIST);
        self.list.write_all(line.as_bytes()).map_err(|fault| Failure::io("write", &list, fault))
    }
}
