//! The file that an export is written to: there is all of it, or none.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::exit::{Failure, shown};

/// Refuse, before any work, a file that would be overwritten.
pub(super) fn check(path: &Path, force: bool) -> Result<(), Failure> {
    // A link to nowhere is there, too.
    if !force && path.symlink_metadata().is_ok() {
        return Err(exists(path));
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
    // Those of any other new file: what the umask leaves.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let unnamed = builder.tempfile_in(folder).map_err(|error| failed(error.kind().into()))?;
    let mut out = BufWriter::with_capacity(64 * 1024, unnamed);
    fill(&mut out)?;
    let unnamed = out.into_inner().map_err(|error| failed(error.into_error()))?;
    unnamed.as_file().sync_all().map_err(failed)?;
    let named = if force { unnamed.persist(path) } else { unnamed.persist_noclobber(path) };
    if let Err(error) = named {
        return Err(match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => failed(error.error),
        });
    }
    // A system that cannot bring a folder to disk has done so with the file.
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
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
}
