//! What mends a thing: commands for a shell, and what to say where there is none.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::home::file_name;
use dshlog_codec::{Encoding, Generation, Limits, LogFile};

use super::finding::{By, Mend};
use super::look::{Fault, Lock, Session, Wrong};
use crate::render::shell::quoted;

/// What mends a refused session, and the commands for it.
pub(crate) fn refusal(session: &Session, fault: &Fault, root: &Path) -> (Mend, Vec<String>) {
    match &session.lock {
        Lock::None | Lock::Free => {}
        Lock::Held => {
            return (Mend::new(By::Person, "end the dsh that is at work on it, then look again"), Vec::new());
        }
        Lock::Unknown(_) => {
            return (Mend::new(By::Person, "see who may open its lock file, then look again"), Vec::new());
        }
    }
    match &fault.wrong {
        Wrong::Identity { belongs } => identity(session, belongs, root),
        Wrong::Version { says } => version(session, *says, root),
        Wrong::Encodings => {
            let files = session.file.iter().chain(&session.older);
            let reads = files.map(|file| format!("dshlog read {}", quoted(&file.path)));
            (
                Mend::new(By::Person, "read each, and move what you do not want out of the folder"),
                reads.collect(),
            )
        }
        Wrong::Retired => (
            Mend::new(
                By::Command,
                "nothing can make it readable yet; set aside, it no longer hides the others",
            ),
            vec![aside(root, &session.folder)],
        ),
        Wrong::Newer => (Mend::new(By::Person, "a newer dsh reads it"), Vec::new()),
        Wrong::NoHeader => {
            (Mend::new(By::Nothing, "nothing can: no event was ever written to it"), Vec::new())
        }
        Wrong::Unread => (Mend::new(By::Person, "see what the file is and who may read it"), Vec::new()),
        Wrong::Limit | Wrong::Content => {
            let text = "nothing can yet; `dshlog read` shows what stands in front of the fault by `--lenient`, and an old log that \
                 is sound but refused by a step by `--as-stored`";
            (Mend::new(By::Nothing, text), Vec::new())
        }
    }
}

/// A folder that was moved or renamed goes back to where its header leads, when nothing lies there. A log that was copied
/// into the folder of another session goes alone.
fn identity(session: &Session, belongs: &str, root: &Path) -> (Mend, Vec<String>) {
    if !session.older.is_empty() {
        let text = "set the one file aside when the other logs in its folder are of another session: `dshlog read FOLDER \
                    --header --generation N` says whose they are";
        let file = session.path();
        let mut name = file.to_owned().into_os_string();
        name.push(".set-aside");
        let command = format!("mv -n -- {} {}", quoted(file), quoted(Path::new(&name)));
        return (Mend::new(By::Command, text), vec![command]);
    }
    let place = Path::new(belongs).parent();
    let target = place.map(|place| root.join(place)).filter(|target| target.symlink_metadata().is_err());
    match target {
        Some(target) if target.parent().and_then(Path::parent) == Some(root) => {
            let project = target.parent().unwrap_or(root);
            let command = moved(&session.folder, project, &target);
            (Mend::new(By::Command, "move the folder to where its header leads"), vec![command])
        }
        _ => (
            Mend::new(
                By::Command,
                "another session lies where its header leads; set aside, it no longer hides others",
            ),
            vec![aside(root, &session.folder)],
        ),
    }
}

/// A log whose name says the wrong version gets the right one, when it reads by it.
fn version(session: &Session, says: Option<u64>, root: &Path) -> (Mend, Vec<String>) {
    if let (Some(file), Some(says)) = (&session.file, says) {
        let target = session.folder.join(file_name(Generation(says), file.encoding));
        let is_free = target.symlink_metadata().is_err();
        if is_free && reads_as(&file.path, Generation(says), file.encoding) {
            let command = format!("mv -n -- {} {}", quoted(&file.path), quoted(&target));
            return (Mend::new(By::Command, "give the file the name that its header says"), vec![command]);
        }
    }
    (
        Mend::new(By::Command, "nothing can make it readable yet; set aside, it no longer hides the others"),
        vec![aside(root, &session.folder)],
    )
}

/// True when the rows of a file are those of `generation`, to the end.
fn reads_as(path: &Path, generation: Generation, encoding: Encoding) -> bool {
    if generation > Generation::CURRENT {
        return false;
    }
    let Ok(file) = File::open(path) else { return false };
    let reader = LogFile::from_source(Arc::new(file), generation, encoding)
        .and_then(|log| log.read(&Limits::default()));
    let Ok(mut reader) = reader else { return false };
    loop {
        match reader.next_event() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Move something out of the root, to a folder beside it, where dsh does not look. Its project folder stays its name there.
pub(crate) fn aside(root: &Path, path: &Path) -> String {
    let mut name = root.file_name().unwrap_or_default().to_owned();
    name.push("-set-aside");
    let mut folder = root.with_file_name(name);
    if let Ok(below) = path.strip_prefix(root)
        && let Some(project) = below.parent().filter(|project| !project.as_os_str().is_empty())
    {
        folder.push(project);
    }
    let target = folder.join(path.file_name().unwrap_or_default());
    moved(path, &folder, &target)
}

/// Move a session to another home beside this one.
pub(crate) fn to_home(home: &Path, root: &Path, session: &Path) -> String {
    let below: PathBuf = session.strip_prefix(root).unwrap_or(session).into();
    let target = home.join("sessions").join(below);
    moved(session, target.parent().unwrap_or(home), &target)
}

fn moved(path: &Path, folder: &Path, target: &Path) -> String {
    format!("mkdir -p -- {} && mv -n -- {} {}", quoted(folder), quoted(path), quoted(target))
}

/// Remove a file, or a folder that has nothing in it.
pub(crate) fn remove(path: &Path, is_folder: bool) -> String {
    format!("{} -- {}", if is_folder { "rmdir" } else { "rm" }, quoted(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_set_aside_beside_the_root() {
        let root = Path::new("/h/sessions");
        let check = |path: &str, expected: &str| assert_eq!(aside(root, Path::new(path)), expected);
        check(
            "/h/sessions/p/s",
            "mkdir -p -- /h/sessions-set-aside/p && mv -n -- /h/sessions/p/s /h/sessions-set-aside/p/s",
        );
        check(
            "/h/sessions/x",
            "mkdir -p -- /h/sessions-set-aside && mv -n -- /h/sessions/x /h/sessions-set-aside/x",
        );
        assert_eq!(
            to_home(Path::new("/h-raw"), root, Path::new("/h/sessions/p/s")),
            "mkdir -p -- /h-raw/sessions/p && mv -n -- /h/sessions/p/s /h-raw/sessions/p/s"
        );
    }
}
