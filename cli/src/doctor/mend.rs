//! What mends a thing: commands for a shell, and what to say where there is none.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::home::file_name;
use dshlog_codec::{Class, Encoding, Generation, Limits, LogFile};

use super::finding::{By, Mend};
use super::look::{Fault, Lock, Session};
use crate::render::text::visible;

/// What mends a refused session, and the commands for it.
pub(crate) fn refusal(session: &Session, fault: &Fault, root: &Path) -> (Mend, Vec<String>) {
    if session.lock == Lock::Held {
        return (Mend::new(By::Person, "end the dsh that is at work on it, then look again"), Vec::new());
    }
    match fault.code {
        "identity" => identity(session, fault, root),
        "version-mismatch" => version(session, fault, root),
        "mixed-encodings" => {
            let files = session.file.iter().chain(&session.older);
            let reads = files.map(|file| format!("dshlog read {}", quoted(&file.path)));
            (
                Mend::new(By::Person, "read each, and move what you do not want out of the folder"),
                reads.collect(),
            )
        }
        "header-retired" => (
            Mend::new(
                By::Command,
                "nothing can make it readable yet; set aside, it no longer hides the others",
            ),
            vec![aside(root, &session.folder)],
        ),
        "newer-format" => (Mend::new(By::Person, "a newer dsh reads it"), Vec::new()),
        "no-header" => (Mend::new(By::Nothing, "nothing can: no event was ever written to it"), Vec::new()),
        _ if matches!(fault.class, Class::Io | Class::NotFound) => {
            (Mend::new(By::Person, "see what the file is and who may read it"), Vec::new())
        }
        _ => {
            let text =
                "nothing can yet; `dshlog read` shows what can be read of it by `--lenient` or `--as-stored`";
            (Mend::new(By::Nothing, text), Vec::new())
        }
    }
}

/// A folder that was moved or renamed goes back to where its header leads, when nothing lies there.
fn identity(session: &Session, fault: &Fault, root: &Path) -> (Mend, Vec<String>) {
    let place = fault.belongs.as_ref().and_then(|below| Path::new(below).parent());
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
fn version(session: &Session, fault: &Fault, root: &Path) -> (Mend, Vec<String>) {
    if let (Some(file), Some(says)) = (&session.file, fault.says) {
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

/// A path as one word of a shell. What would act on a terminal or hide from the eye is spelled in octal, in the quotes of
/// bash, zsh and POSIX 2024.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_str();
    if let Some(text) = text.filter(|text| visible(text) == *text) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,~".contains(c);
        if !text.is_empty() && !text.starts_with('~') && text.chars().all(is_plain) {
            return text.to_owned();
        }
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut word = String::from("$'");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\'' | b'\\' => word.extend(['\\', char::from(byte)]),
            b' '..=b'~' => word.push(char::from(byte)),
            _ => drop(write!(word, "\\{byte:03o}")),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word() {
        for (path, expected) in [
            ("/h/sessions/--a--/session-1/x.tmp", "/h/sessions/--a--/session-1/x.tmp"),
            ("/h/a~0020b", "/h/a~0020b"),
            ("~/x", "'~/x'"),
            ("", "''"),
            ("/h/my home", "'/h/my home'"),
            ("/h/it's", r"'/h/it'\''s'"),
            ("/h/$(rm)", "'/h/$(rm)'"),
            ("/h/é", "'/h/é'"),
            ("/h/\u{1b}[31m'\\", r"$'/h/\033[31m\'\\'"),
            ("/h/a\nb", r"$'/h/a\012b'"),
            ("/h/\u{202e}x", r"$'/h/\342\200\256x'"),
        ] {
            assert_eq!(quoted(Path::new(path)), expected, "{path:?}");
        }
    }

    /// A shell hands on the very path.
    #[cfg(unix)]
    #[test]
    fn a_shell_reads_what_was_meant() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        use std::process::Command;
        for bytes in [&b"/a b/it's"[..], b"/\x1b[2J\n$(x)`\\", b"/\xff\xfe0", "/\u{202e}7".as_bytes()] {
            let word = quoted(Path::new(OsStr::from_bytes(bytes)));
            let Ok(output) = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output() else {
                return eprintln!("no bash here: skipped");
            };
            assert_eq!(output.stdout, bytes, "{word}");
        }
    }

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
