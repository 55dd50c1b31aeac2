//! The write lock between processes (`docs/spec/storage.md`, section 11).
#![expect(clippy::unwrap_used, reason = "a test may stop")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use dshlog_codec::Class;
use dshlog_codec::home::{LOCK_NAME, WriteLock};

#[cfg(unix)]
#[path = "lock/unix.rs"]
mod unix;

/// Set in a second process: what it shall hold, and how.
const FOLDER: &str = "DSHLOG_TEST_LOCK_FOLDER";
const HOW: &str = "DSHLOG_TEST_LOCK_HOW";

/// A second process that holds a lock until its input ends. Its output is kept open, for it speaks when it ends.
struct Holder(Child, BufReader<ChildStdout>);

impl Holder {
    fn start(folder: &Path, how: &str) -> Holder {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "second_process", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .env(HOW, how)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let held = output.by_ref().lines().map_while(Result::ok).any(|line| line.ends_with("held"));
        assert!(held, "the second process did not get its lock");
        Holder(child, output)
    }

    fn let_go(mut self) {
        drop(self.0.stdin.take());
        self.1.read_to_end(&mut Vec::new()).unwrap();
        assert!(self.0.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Not a test by itself: the body of the second process.
#[test]
fn second_process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let held: Box<dyn std::any::Any> = match std::env::var(HOW).unwrap().as_str() {
        "lock" => Box::new(WriteLock::acquire(folder).unwrap()),
        #[cfg(unix)]
        how => Box::new(unix::hold(folder, how)),
        #[cfg(not(unix))]
        how => panic!("{how}"),
    };
    println!("held");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(held);
}

fn is_locked(folder: &Path) -> bool {
    match WriteLock::acquire(folder) {
        Ok(_) => false,
        Err(e) => {
            assert_eq!((e.code(), e.class()), ("locked", Class::Locked), "{e}");
            assert_eq!(e.position().path, Some(folder.join(LOCK_NAME)));
            true
        }
    }
}

#[test]
fn probing_makes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("project/session");
    assert!(!WriteLock::is_held(&folder).unwrap());
    assert!(!folder.exists());

    let lock = WriteLock::acquire(&folder).unwrap();
    assert!(WriteLock::is_held(&folder).unwrap());
    // Below Unix the lock is a file, on Windows there is none.
    assert_eq!(folder.join(LOCK_NAME).exists(), cfg!(unix));
    drop(lock);
    assert!(!WriteLock::is_held(&folder).unwrap());
}

#[test]
fn one_process_cannot_hold_it_twice() {
    let temp = tempfile::tempdir().unwrap();
    let lock = WriteLock::acquire(temp.path()).unwrap();
    assert!(is_locked(temp.path()));
    drop(lock);
    assert!(!is_locked(temp.path()));
}

#[test]
fn two_processes() {
    let temp = tempfile::tempdir().unwrap();
    let holder = Holder::start(temp.path(), "lock");
    assert!(is_locked(temp.path()));
    assert!(WriteLock::is_held(temp.path()).unwrap());
    holder.let_go();
    assert!(!is_locked(temp.path()));

    let holder = Holder::start(temp.path(), "lock");
    assert!(is_locked(temp.path()));
    holder.kill();
    assert!(!is_locked(temp.path()), "the system lets go for a process that died");
}
