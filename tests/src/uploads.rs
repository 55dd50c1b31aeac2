//! The images of captured conversations, and the ids that the service gave them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use dshlog_codec::json::{Doc, Js, JsStr};
use dshlog_replay::request::image::Attachments;

/// The home that the runtimes had which were captured.
const HOME: &str = "/tmp/ws/demo-home";

/// The attachments of a case, and the ids that they had when a request was sent.
#[derive(Clone, Debug, Default)]
pub struct Uploads {
    folder: PathBuf,
    ids: HashMap<String, String>,
}

impl Uploads {
    /// Those of a case, of which none has an id yet.
    pub fn of(case: &Path) -> Self {
        Uploads { folder: case.join("home/attachments"), ids: HashMap::new() }
    }

    /// Takes the answer to an upload, as `responses.jsonl` has it. What is none tells nothing.
    pub fn answered(&mut self, answer: Js<'_>) {
        let found = self.uploaded(answer);
        self.ids.extend(found);
    }

    /// Takes an id that is told elsewhere.
    pub fn known(&mut self, attachment: String, id: String) {
        self.ids.insert(attachment, id);
    }

    /// The image that the answer is about, and the id that it got.
    fn uploaded(&self, answer: Js<'_>) -> Option<(String, String)> {
        let text =
            |value: Js<'_>, name: &str| value.get(name)?.as_str().map(JsStr::to_lossy).map(String::from);
        let file = Doc::parse(text(answer.get("writes")?.elements().next()?, "text")?).ok()?;
        let name = text(file.root(), "filename")?;
        let start = name.strip_prefix("dsh-")?.get(..16)?.to_owned();
        let images = fs::read_dir(self.folder.join("v1/objects").join(start.get(..2)?)).ok()?;
        let mut names = images.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Some((format!("sha256:{}", names.find(|name| name.starts_with(&start))?), text(file.root(), "id")?))
    }
}

impl Attachments for Uploads {
    fn file_id(&self, attachment: &str) -> Option<&str> {
        self.ids.get(attachment).map(String::as_str)
    }

    fn bytes(&self, attachment: &str) -> Option<Vec<u8>> {
        let digest = attachment.strip_prefix("sha256:")?;
        fs::read(self.folder.join("v1/objects").join(digest.get(..2)?).join(digest)).ok()
    }

    fn home(&self) -> Option<&str> {
        Some(HOME)
    }
}
