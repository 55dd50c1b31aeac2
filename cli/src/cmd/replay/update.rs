//! `replay --update`: what came out is what a scenario expects from now on. The record stays as it is.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use dshlog_replay::scenario::{EXPECTED, FILE, Scenario};
use tempfile::NamedTempFile;
use toml_edit::{DocumentMut, value};

use crate::exit::Failure;

/// Put a log into the folder of a scenario, and name it in its file; or take out the name of another one, when what is
/// expected is the record again.
pub(super) fn accept(scenario: &Scenario, log: &Path, is_record: bool) -> Result<(), Failure> {
    let Some(folder) = &scenario.folder else { return Ok(()) };
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|fault| Failure::io("read", &path, fault))?;
    let mut document: DocumentMut =
        text.parse().map_err(|fault| Failure::refused(format!("{}: {fault}", path.display())))?;
    if is_record {
        document.remove("expected");
    } else {
        let name = name(log);
        let expected = folder.join(&name);
        File::open(log)
            .and_then(|mut log| replace(&expected, |file| io::copy(&mut log, file).map(drop)))
            .map_err(|fault| Failure::io("write", &expected, fault))?;
        document.insert("expected", value(name));
    }
    let text = document.to_string();
    replace(&path, |file| file.write_all(text.as_bytes())).map_err(|fault| Failure::io("write", &path, fault))
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
