//! The file that an export is written to: there is all of it, or none.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use dshlog_codec::home::parse_name;

use crate::exit::{Failure, shown};

/// Refuse, before any work, a name that the export may not be given. What a link leads to, a folder, a pipe and a device
/// are never replaced.
pub(super) fn check(path: &Path, force: bool) -> Result<(), Failure> {
    if path.file_name().is_some_and(|name| parse_name(name).is_some()) {
        return Err(Failure::refused(format!("{} is the name of a session log", shown(path)))
            .hint("`--out` names another file"));
    }
    match path.symlink_metadata() {
        Ok(there) if !there.is_file() => Err(Failure::refused(format!("{} is no regular file", shown(path)))
            .hint("only a file is replaced; `--out -` writes to stdout")),
        Ok(_) if !force => Err(exists(path)),
        _ => Ok(()),
    }
}

/// Refuse a file that is read. `check` knows logs by their names only, and a log by itself may have any.
pub(super) fn check_apart(path: &Path, log: &Path) -> Result<(), Failure> {
    let is_same = path.canonicalize().is_ok_and(|path| log.canonicalize().is_ok_and(|log| path == log));
    if is_same {
        return Err(Failure::refused(format!("{} is the log that is exported", shown(path)))
            .hint("`--out` names another file"));
    }
    Ok(())
}

/// Write to a temporary file beside `path`, bring it to disk, and give it its name.
pub(super) fn publish(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |source| Failure::io("write", path, source);
    let folder = path.parent().filter(|folder| *folder != "").unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dshlog-").suffix(".tmp");
    // Made as any other new file, with what the umask leaves.
    let unnamed = builder.make_in(folder, |path| File::create_new(path)).map_err(failed)?;
    let mut out = BufWriter::with_capacity(64 * 1024, unnamed.as_file());
    let filled = fill(&mut out).and_then(|()| out.flush().map_err(failed));
    drop(out);
    filled.map_err(|failure| failure.of_output(path))?;
    // What was for few eyes stays so.
    if let Some(replaced) = path.symlink_metadata().ok().filter(fs::Metadata::is_file) {
        unnamed.as_file().set_permissions(replaced.permissions()).map_err(failed)?;
    }
    unnamed.as_file().sync_all().map_err(failed)?;
    let named = if force { unnamed.persist(path) } else { unnamed.persist_noclobber(path) };
    if let Err(error) = named {
        return Err(match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => failed(error.error),
        });
    }
    // A system that cannot bring a folder to disk has done so with the file.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

fn exists(path: &Path) -> Failure {
    Failure::refused(format!("{} exists", shown(path))).hint("`--force` replaces it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        let fill = |text: &'static str| move |out: &mut dyn Write| Ok(out.write_all(text.as_bytes())?);
        publish(&path, false, fill("one")).unwrap();
        assert!(matches!(check(&path, false), Err(Failure::Refused(_))));
        assert!(matches!(publish(&path, false, fill("two")), Err(Failure::Refused(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        check(&path, true).unwrap();
        publish(&path, true, fill("three")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        let broken = publish(&path, true, |out| {
            out.write_all(b"half")?;
            Err(Failure::usage("stop"))
        });
        assert!(broken.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn names_that_no_export_gets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        for name in ["session.v4.jsonl", "session.jsonl", "session.v3.jsonl.zstd"] {
            assert!(matches!(check(&folder.path().join(name), true), Err(Failure::Refused(_))), "{name}");
        }
        assert!(matches!(check(folder.path(), true), Err(Failure::Refused(_))));
        fs::write(&path, "text").unwrap();
        assert!(matches!(
            check_apart(&folder.path().join(".").join("a.md"), &path),
            Err(Failure::Refused(_))
        ));
        check_apart(&folder.path().join("b.md"), &path).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn only_files_are_replaced() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let at = |name| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink("/dev/null", at("device")).unwrap();
        for name in ["link", "dangling", "device"] {
            for force in [false, true] {
                assert!(matches!(check(&at(name), force), Err(Failure::Refused(_))), "{name}");
            }
        }
        assert!(matches!(check(Path::new("/dev/null"), true), Err(Failure::Refused(_))));

        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o600)).unwrap();
        publish(&at("file"), true, |out| Ok(out.write_all(b"page")?)).unwrap();
        assert_eq!(fs::metadata(at("file")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// The words are of what was named, not of a file that nobody knows.
    #[test]
    fn failures_name_the_file() {
        let path = tempfile::tempdir().unwrap().path().join("gone").join("a.md");
        let error = publish(&path, false, |_| Ok(())).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot write {}: ", path.display())), "{error}");
        assert!(!error.contains(".dshlog-"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        let full = |_: &mut dyn Write| Err(io::Error::from(io::ErrorKind::StorageFull).into());
        let error = publish(&path, false, full).unwrap_err().to_string();
        assert_eq!(error, format!("cannot write {}: no storage space", path.display()));
    }
}
