//! Which home and which sessions root (`docs/spec/storage.md`, section 1).

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::platform::HOME_VARIABLE;
use crate::error::{Error, Result};

/// What the process was started with. Handed in, so that the library never reads the environment itself.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The value of an environment variable.
    pub var: &'a dyn Fn(&str) -> Option<OsString>,
    /// The working directory, absolute.
    pub cwd: &'a Path,
}

/// What the person asked for, before the environment is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// A home.
    pub home: Option<&'a Path>,
    /// A sessions root.
    pub root: Option<&'a Path>,
}

/// A place where sessions lie. Both paths are absolute; neither need exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The home, unless only a root is known.
    pub path: Option<PathBuf>,
    /// The sessions root.
    pub root: PathBuf,
}

impl Home {
    /// The place to look at: the asked-for root, else the asked-for home, else `$DSH_SESSION_ROOT`, else `$DSH_HOME`,
    /// else `~/.dsh`. Blank variables count as unset; a leading `~` is expanded.
    ///
    /// A root without variables, `./.sessions` of the SDK runtimes before 0.1.2, is never guessed.
    pub fn resolve(asked: Asked<'_>, around: Surroundings<'_>) -> Result<Home> {
        let variable = |name| (around.var)(name).filter(|value| !is_blank(value)).map(PathBuf::from);
        if let Some(root) = asked.root {
            let home = asked.home.map(|home| around.expand(home)).transpose()?;
            return Ok(Home::of_root(around.expand(root)?, home));
        }
        if let Some(home) = asked.home {
            return Ok(Home::of_home(around.expand(home)?));
        }
        if let Some(root) = variable("DSH_SESSION_ROOT") {
            return Ok(Home::of_root(around.expand(&root)?, None));
        }
        match variable("DSH_HOME") {
            Some(home) => Ok(Home::of_home(around.expand(&home)?)),
            None => Ok(Home::of_home(around.expand(Path::new("~/.dsh"))?)),
        }
    }

    /// The place that a folder is: a home when it has a folder `sessions`, else a root. `folder` is absolute.
    pub fn at(folder: &Path) -> Home {
        if folder.join("sessions").is_dir() {
            Home::of_home(folder.to_owned())
        } else {
            Home::of_root(folder.to_owned(), None)
        }
    }

    fn of_home(home: PathBuf) -> Home {
        Home { root: home.join("sessions"), path: Some(home) }
    }

    /// Every stock profile has its root in its home, so a root of that name tells the home.
    fn of_root(root: PathBuf, home: Option<PathBuf>) -> Home {
        let parent = || root.parent().filter(|_| root.ends_with("sessions")).map(Path::to_owned);
        Home { path: home.or_else(parent), root }
    }
}

impl Surroundings<'_> {
    /// A path as dsh reads it from a setting: `~` expanded, then absolute.
    fn expand(self, path: &Path) -> Result<PathBuf> {
        // dsh takes `~\` too, on every system.
        let backslash = path.to_str().and_then(|text| text.strip_prefix("~\\")).map(Path::new);
        let Some(rest) = path.strip_prefix("~").ok().or(backslash) else {
            return Ok(absolute(self.cwd, path));
        };
        let own = (self.var)(HOME_VARIABLE).filter(|value| !value.is_empty()).ok_or_else(|| {
            let reason = io::Error::new(io::ErrorKind::NotFound, format!("`{HOME_VARIABLE}` is not set"));
            Error::io("find the home folder", path, reason)
        })?;
        // Relative to it, even when a slash too many makes the rest look absolute.
        let rest = rest.strip_prefix("/").unwrap_or(rest);
        Ok(absolute(self.cwd, &Path::new(&own).join(rest)))
    }
}

/// `path` from `cwd`, with `.` and `..` taken out by text alone, as dsh does: links are not followed.
pub fn absolute(cwd: &Path, path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = out.pop(),
            part => out.push(part),
        }
    }
    out
}

fn is_blank(value: &OsStr) -> bool {
    value.to_str().is_some_and(|text| text.trim().is_empty())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(home: Option<&str>, root: Option<&str>, vars: &[(&str, &str)], expected: (Option<&str>, &str)) {
        let asked = Asked { home: home.map(Path::new), root: root.map(Path::new) };
        let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        let found = Home::resolve(asked, Surroundings { var: &var, cwd: Path::new("/srv/here") }).unwrap();
        assert_eq!(
            (found.path.as_deref(), found.root.as_path()),
            (expected.0.map(Path::new), Path::new(expected.1))
        );
    }

    #[test]
    fn homes() {
        let me = ("HOME", "/home/me");
        check(None, None, &[me], (Some("/home/me/.dsh"), "/home/me/.dsh/sessions"));
        check(None, None, &[me, ("DSH_HOME", "")], (Some("/home/me/.dsh"), "/home/me/.dsh/sessions"));
        check(None, None, &[me, ("DSH_HOME", " \t")], (Some("/home/me/.dsh"), "/home/me/.dsh/sessions"));
        check(None, None, &[("DSH_HOME", "/d")], (Some("/d"), "/d/sessions"));
        check(None, None, &[("DSH_HOME", "d/../e")], (Some("/srv/here/e"), "/srv/here/e/sessions"));
        check(None, None, &[me, ("DSH_HOME", "~")], (Some("/home/me"), "/home/me/sessions"));
        check(None, None, &[me, ("DSH_HOME", "~/x")], (Some("/home/me/x"), "/home/me/x/sessions"));
        check(None, None, &[me, ("DSH_HOME", "~//x")], (Some("/home/me/x"), "/home/me/x/sessions"));
        check(None, None, &[me, ("DSH_HOME", "~\\x")], (Some("/home/me/x"), "/home/me/x/sessions"));
        check(
            None,
            None,
            &[me, ("DSH_HOME", "~you/x")],
            (Some("/srv/here/~you/x"), "/srv/here/~you/x/sessions"),
        );
        check(Some("../h"), None, &[me, ("DSH_HOME", "/d")], (Some("/srv/h"), "/srv/h/sessions"));
    }

    #[test]
    fn roots() {
        let (me, dsh) = (("HOME", "/home/me"), ("DSH_HOME", "/d"));
        let root = ("DSH_SESSION_ROOT", "/r");
        check(None, None, &[me, dsh, root], (None, "/r"));
        check(None, None, &[root], (None, "/r"));
        check(
            None,
            None,
            &[me, ("DSH_SESSION_ROOT", "~/.dsh/sessions")],
            (Some("/home/me/.dsh"), "/home/me/.dsh/sessions"),
        );
        check(None, None, &[dsh, ("DSH_SESSION_ROOT", "  ")], (Some("/d"), "/d/sessions"));
        // What is typed wins over what is set.
        check(Some("/h"), None, &[dsh, root], (Some("/h"), "/h/sessions"));
        check(None, Some("s"), &[dsh, root], (None, "/srv/here/s"));
        check(Some("/h"), Some("/s"), &[dsh, root], (Some("/h"), "/s"));
    }

    #[test]
    fn no_home_folder_is_an_error_only_when_it_is_needed() {
        let none = |_: &str| None;
        let around = Surroundings { var: &none, cwd: Path::new("/w") };
        let error = Home::resolve(Asked::default(), around).unwrap_err();
        assert_eq!(error.code(), "io");
        assert_eq!(error.class(), crate::Class::NotFound);
        assert!(Home::resolve(Asked { home: Some(Path::new("/h")), root: None }, around).is_ok());
    }

    #[test]
    fn a_folder_with_sessions_is_a_home() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(Home::at(temp.path()), Home { path: None, root: temp.path().to_owned() });
        std::fs::create_dir(temp.path().join("sessions")).unwrap();
        let home = Home { path: Some(temp.path().to_owned()), root: temp.path().join("sessions") };
        assert_eq!(Home::at(temp.path()), home);
        assert_eq!(Home::at(&temp.path().join("sessions")), home);
    }

    #[test]
    fn absolute_paths_by_text() {
        for (path, expected) in
            [("a", "/w/x/a"), ("../a/./b", "/w/a/b"), ("/../..", "/"), ("", "/w/x"), ("/a/b/", "/a/b")]
        {
            assert_eq!(absolute(Path::new("/w/x"), Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
