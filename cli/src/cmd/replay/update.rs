//! `replay --update`: what came out is what a scenario expects from now on. The record stays as it is.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use dshlog_fixture_server::json::quote;
use dshlog_replay::scenario::{EXPECTED, FILE, Scenario, Settings};
use tempfile::NamedTempFile;

use crate::exit::Failure;

/// Put a log into the folder of a scenario, and name it in its file; or take out the name of another one, when what is
/// expected is the record again.
pub(super) fn accept(scenario: &Scenario, log: &Path, is_record: bool) -> Result<(), Failure> {
    let Some(folder) = &scenario.folder else { return Ok(()) };
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|fault| Failure::io("read", &path, fault))?;
    let named = if is_record { None } else { Some(name(log)) };
    let new = with_expected(&text, named.as_deref());
    // What was edited as a text must say what was meant.
    if Settings::parse(&new).ok().is_none_or(|settings| settings.expected != named) {
        let what = format!("cannot see where `expected` belongs in {}", path.display());
        return Err(Failure::failed(what).hint("give it a line of its own, in front of all tables"));
    }
    if let Some(name) = &named {
        let expected = folder.join(name);
        File::open(log)
            .and_then(|mut log| replace(&expected, |file| io::copy(&mut log, file).map(drop)))
            .map_err(|fault| Failure::io("write", &expected, fault))?;
    }
    replace(&path, |file| file.write_all(new.as_bytes())).map_err(|fault| Failure::io("write", &path, fault))
}

/// The text of a scenario's file with another line for `expected`, or without one. Everything else stays as somebody wrote it.
fn with_expected(text: &str, expected: Option<&str>) -> String {
    let is_meant = |line: &&str| line.split_once('=').is_some_and(|(name, _)| name.trim() == "expected");
    let line = expected.map(|name| format!("expected = {}\n", quote(name)));
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let tables = lines.iter().position(|line| line.trim_start().starts_with('[')).unwrap_or(lines.len());
    let known = lines.iter().take(tables).position(is_meant);
    let session = lines.iter().take(tables).position(|line| line.trim_start().starts_with("session"));
    let at = known.or(session.map(|at| at + 1)).unwrap_or(0);
    lines.splice(at..at + usize::from(known.is_some()), line.as_deref());
    let mut out = String::with_capacity(text.len() + 64);
    for line in lines {
        // The line in front of a new one may be the last, without an end.
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(line);
    }
    out
}

/// `expected`, with what tells the form of the log.
fn name(log: &Path) -> String {
    let name = log.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match name.strip_prefix("session") {
        Some(form) => format!("expected{form}"),
        None => EXPECTED.to_owned(),
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

    #[test]
    fn one_line_is_changed() {
        for (text, expected, result) in [
            (
                "# a\nsession = \"s\"\nagent = \"core\"\n",
                Some("e"),
                "# a\nsession = \"s\"\nexpected = \"e\"\nagent = \"core\"\n",
            ),
            ("session = \"s\"", Some("e"), "session = \"s\"\nexpected = \"e\"\n"),
            (
                "session = \"s\"\nexpected = 'x' # y\n[env]\nexpected = \"z\"\n",
                Some("e"),
                "session = \"s\"\nexpected = \"e\"\n[env]\nexpected = \"z\"\n",
            ),
            ("expected = 'x'\nsession = \"s\"\n", None, "session = \"s\"\n"),
            (
                "session = \"s\"\n[env]\nexpected = \"z\"\n",
                None,
                "session = \"s\"\n[env]\nexpected = \"z\"\n",
            ),
        ] {
            assert_eq!(with_expected(text, expected), result);
        }
    }
}
