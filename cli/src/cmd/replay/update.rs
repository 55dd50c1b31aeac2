//! `replay --update`: what came out is what a scenario expects from now on. The record stays as it is.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use dshlog_codec::home::encode_id;
use dshlog_replay::scenario::{FILE, Scenario, Settings};
use tempfile::NamedTempFile;
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::exit::Failure;

/// The table of subagents in a scenario's file.
const SUBAGENTS: &str = "expected_subagents";

/// A log that is not the expected one.
pub(super) struct Change {
    /// The subagent of the record that it is of; nothing for the session itself.
    pub(super) subagent: Option<String>,
    /// What came out.
    pub(super) log: PathBuf,
    /// It is the record again.
    pub(super) is_record: bool,
}

/// Put logs into the folder of a scenario, and name them in its file; or take out the names of others, where what is
/// expected is the record again.
pub(super) fn accept(scenario: &Scenario, changes: &[Change]) -> Result<(), Failure> {
    let Some(folder) = &scenario.folder else { return Ok(()) };
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|fault| Failure::io("read", &path, fault))?;
    let mut file: DocumentMut = text.parse().map_err(|fault| cannot(&path, &fault))?;
    for change in changes {
        let named = if change.is_record { None } else { Some(change.name()) };
        if let Some(name) = &named {
            let expected = folder.join(name);
            File::open(&change.log)
                .and_then(|mut log| replace(&expected, |file| io::copy(&mut log, file).map(drop)))
                .map_err(|fault| Failure::io("write", &expected, fault))?;
        }
        name(&mut file, change.subagent.as_deref(), named);
    }
    let mut new = file.to_string();
    if text.contains("\r\n") {
        // The document knows one kind of line end.
        new = new.replace('\n', "\r\n");
    }
    Settings::parse(&new).map_err(|fault| cannot(&path, &fault))?;
    replace(&path, |file| file.write_all(new.as_bytes())).map_err(|fault| Failure::io("write", &path, fault))
}

/// Say in the file of a scenario which log is expected, or that it is the record again. All else stays as somebody wrote it.
fn name(file: &mut DocumentMut, subagent: Option<&str>, named: Option<String>) {
    match (subagent, named) {
        (None, Some(name)) => put(file.as_table_mut(), "expected", name),
        (None, None) => drop(file.remove("expected")),
        (Some(id), Some(name)) => {
            let table = file.entry(SUBAGENTS).or_insert_with(|| Item::Table(Table::new()));
            if let Some(table) = table.as_table_like_mut() {
                put(table, id, name);
            }
        }
        (Some(id), None) => {
            let Some(table) = file.get_mut(SUBAGENTS).and_then(Item::as_table_like_mut) else { return };
            table.remove(id);
            if table.is_empty() {
                file.remove(SUBAGENTS);
            }
        }
    }
}

/// Set a value, with the remark behind it that the old one had.
fn put(table: &mut dyn TableLike, key: &str, name: String) {
    let mut value = Value::from(name);
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(key, Item::Value(value));
}

fn cannot(path: &Path, fault: &dyn std::fmt::Display) -> Failure {
    Failure::failed(format!("cannot change {}: {fault}", path.display()))
}

impl Change {
    /// `expected`, whose it is, and what tells the form of the log.
    fn name(&self) -> String {
        let name = self.log.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let form = name.strip_prefix("session").unwrap_or(".v4.jsonl");
        let id = self
            .subagent
            .as_ref()
            .map(|id| encode_id(&id.as_str().into()).unwrap_or_else(|| "subagent".to_owned()));
        let id = id.map(|id| format!(".{id}")).unwrap_or_default();
        format!("expected{id}{form}")
    }
}

/// Write a file beside the one that it takes the place of, so that there is always one of the two.
fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    write(file.as_file_mut())?;
    // Others may read a suite as they read its other files.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn changed(text: &str, subagent: Option<&str>, named: Option<&str>, result: &str) {
        let mut file: DocumentMut = text.parse().unwrap();
        name(&mut file, subagent, named.map(str::to_owned));
        assert_eq!(file.to_string(), result);
        Settings::parse(result).unwrap();
    }

    #[test]
    fn one_line_is_changed() {
        changed(
            "# a\nsession = \"s\"\nagent = \"core\" # b\n",
            None,
            Some("e"),
            "# a\nsession = \"s\"\nagent = \"core\" # b\nexpected = \"e\"\n",
        );
        changed("session = \"s\"", None, Some("e"), "session = \"s\"\nexpected = \"e\"\n");
        changed(
            "session = \"s\"\nexpected = 'x' # y\n[env]\nexpected = \"z\"\n",
            None,
            Some("e"),
            "session = \"s\"\nexpected = \"e\" # y\n[env]\nexpected = \"z\"\n",
        );
        changed("expected = 'x'\nsession = \"s\"\n", None, None, "session = \"s\"\n");
        let other = "session = \"s\"\n\n[env]\nexpected = \"z\"\n";
        changed(other, None, None, other);
    }

    #[test]
    fn subagents_have_a_table() {
        let bare = "session = \"s\"\n";
        let named = "session = \"s\"\n\n[expected_subagents]\na-1 = \"e\"\n";
        changed(bare, Some("a-1"), Some("e"), named);
        changed(named, Some("a-1"), None, bare);
        changed(named, Some("b"), None, named);
        changed(
            "session = \"s\"\nexpected_subagents = { a = \"x\" }\n",
            Some("a"),
            Some("e"),
            "session = \"s\"\nexpected_subagents = { a = \"e\" }\n",
        );
    }
}
