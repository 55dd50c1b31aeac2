//! The program, run as a person would run it, in an environment of its own: no variables but those set here, an own home,
//! UTC, 100 columns, a clock that stands still.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::repository;

/// When everything happens: soon after the last log of [`Place::with`] was used. Epoch seconds.
pub const NOW: &str = "1796110000";

/// A folder of its own for one test, with a home in it.
#[derive(Debug)]
pub struct Place {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Place {
    /// A place with an empty home.
    ///
    /// # Panics
    /// Where no folder can be made: a test cannot go on.
    pub fn empty(program: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(folder.path().join("home")).expect("a folder can be made in it");
        Place { program: program.into(), folder }
    }

    /// A place whose home holds the sessions of these cases of the corpora, the last one used last.
    ///
    /// # Panics
    /// Where a case is not there or cannot be copied.
    pub fn with(program: &str, cases: &[&str]) -> Self {
        let place = Self::empty(program);
        let mut used = first_use();
        for case in cases {
            let from = repository().join("corpora").join(case).join("home");
            copy(&from, &place.home(), &mut used).unwrap_or_else(|e| panic!("{case} cannot be copied: {e}"));
        }
        place
    }

    /// Put the sessions of one more case into the home.
    ///
    /// # Panics
    /// Where it is not there or cannot be copied.
    pub fn add(&self, case: &str) {
        let from = repository().join("corpora").join(case).join("home");
        copy(&from, &self.home(), &mut first_use())
            .unwrap_or_else(|e| panic!("{case} cannot be copied: {e}"));
    }

    /// Put cases of the corpora into `corpora/`, as they lie in the repository; within a home, the last one was used last.
    ///
    /// # Panics
    /// Where a case is not there or cannot be copied.
    pub fn add_corpora(&self, cases: &[&str]) {
        for case in cases {
            let below = Path::new("corpora").join(case).join("home");
            copy(&repository().join(&below), &self.path().join(&below), &mut first_use())
                .unwrap_or_else(|e| panic!("{case} cannot be copied: {e}"));
        }
    }

    /// The home.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The working directory.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program with arguments, not yet run.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.placed(&self.program);
        command.args(args);
        command
    }

    /// What a shell prints, both streams in one, for a line that calls the program by its name.
    ///
    /// # Panics
    /// When there is no shell.
    #[cfg(unix)]
    pub fn shell(&self, line: &str) -> String {
        let tools = self.program.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let output = self
            .placed("/bin/sh".as_ref())
            .args(["-c", &format!("{{ {line}\n}} 2>&1")])
            .env("PATH", format!("{tools}:/usr/bin:/bin"))
            .output()
            .expect("the shell starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn placed(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("DSH_HOME", self.home())
            .env("TZ", "UTC")
            .env("DSHLOG_NOW", NOW)
            .env("COLUMNS", "100");
        command
    }

    /// Run it.
    ///
    /// # Panics
    /// When the program cannot be started.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program starts")
    }

    /// Run it, and put everything that came of it into one text: stdout, stderr, exit code. Names of folders that are
    /// other ones in each run are replaced.
    pub fn told(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr: String = String::from_utf8_lossy(&output.stderr)
            .lines()
            .flat_map(|line| ["! ", line, "\n"])
            .map(str::to_owned)
            .collect();
        let code = output.status.code().map_or_else(|| "killed".to_owned(), |code| code.to_string());
        self.redacted(&format!("$ dshlog {}\n{stdout}{stderr}[{code}]\n", args.join(" ")))
    }

    /// A text with the name of this place taken out, and what an index is called after it.
    pub fn redacted(&self, text: &str) -> String {
        let own = self.path().to_string_lossy().into_owned();
        // Where the temporary folder is a link, the program may name what it leads to.
        let real =
            self.path().canonicalize().map_or_else(|_| own.clone(), |p| p.to_string_lossy().into_owned());
        unnamed(&text.replace(&real, "[place]").replace(&own, "[place]"))
    }
}

/// A text without the digits that tell the index of one home from those of others.
fn unnamed(text: &str) -> String {
    let start = "/dshlog/home-";
    let mut pieces = text.split(start);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let name = piece.bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str(start);
        out.push_str(&"x".repeat(name));
        out.push_str(piece.get(name..).unwrap_or_default());
    }
    out
}

/// Some moment, so that lists are in a known order.
fn first_use() -> SystemTime {
    UNIX_EPOCH + Duration::from_mins(29_935_000)
}

/// Copy a folder; each log gets a later time of use than the one before.
fn copy(from: &Path, to: &Path, used: &mut SystemTime) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut entries: Vec<_> = fs::read_dir(from)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target, used)?;
        } else {
            fs::copy(entry.path(), &target)?;
            *used += Duration::from_mins(1);
            File::options().write(true).open(&target)?.set_modified(*used)?;
        }
    }
    Ok(())
}
