//! Conversations that a real runtime can have again (`corpora/runs`), each with a description of how it came to be.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::model::repository;

/// A captured conversation.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its folder.
    pub folder: PathBuf,
    /// `run.json`.
    pub info: Value,
}

impl Run {
    /// The conversation of this name.
    ///
    /// # Panics
    /// When there is none: a test cannot go on.
    pub fn of(name: &str) -> Self {
        let folder = repository().join("corpora/runs").join(name);
        let info = fs::read(folder.join("run.json")).map(|text| serde_json::from_slice(&text));
        let info = info.expect("a run is described").expect("a description is JSON");
        Run { folder, info }
    }

    /// Its logs, those that no other session began first.
    pub fn logs(&self) -> Vec<PathBuf> {
        let mut logs: Vec<&Value> = self.list("logs").iter().collect();
        logs.sort_by_key(|log| log["root"] != true);
        logs.into_iter().filter_map(|log| Some(self.folder.join(log["path"].as_str()?))).collect()
    }

    /// The commands that were run: words, and the code that each ended with.
    pub fn commands(&self) -> impl Iterator<Item = (Vec<&str>, Option<i64>)> {
        self.list("commands").iter().map(|told| {
            let words = told["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
            (words.collect(), told["exit"].as_i64())
        })
    }

    /// Texts of a list, such as `patches`.
    pub fn texts<'r>(&'r self, list: &str) -> impl Iterator<Item = &'r str> {
        self.list(list).iter().filter_map(Value::as_str)
    }

    /// Variables of its environment.
    pub fn env(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.info["env"].as_object().into_iter().flatten();
        variables.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// A list of the description.
    pub fn list(&self, name: &str) -> &[Value] {
        self.info[name].as_array().map_or(&[], Vec::as_slice)
    }
}

/// Put into a folder what the working directories of the conversations had in them. Searches tell the oldest file first.
///
/// # Errors
/// When it cannot be written.
pub fn fill(folder: &Path) -> io::Result<()> {
    for (name, age) in [("a", 10), ("b", 0)] {
        let path = folder.join(format!("{name}.txt"));
        fs::write(&path, format!("{name}\nline 2\n"))?;
        let time = SystemTime::now() - Duration::from_secs(age);
        File::options().append(true).open(path)?.set_modified(time)?;
    }
    Ok(())
}
