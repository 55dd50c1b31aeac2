//! The write lock between processes (`docs/spec/storage.md`, section 11).
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may stop and speak")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use dshlog_codec::Class;
use dshlog_codec::home::{LOCK_NAME, WriteLock};

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
    let file =
        || File::options().read(true).write(true).create(true).truncate(true).open(folder.join(LOCK_NAME));
    let held: Box<dyn std::any::Any> = match std::env::var(HOW).unwrap().as_str() {
        "lock" => Box::new(WriteLock::acquire(folder).unwrap()),
        "shared" => {
            let file = file().unwrap();
            file.lock_shared().unwrap();
            Box::new(file)
        }
        "posix" => {
            let file = file().unwrap();
            rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
            Box::new(file)
        }
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
fn the_lock_file_is_made_and_stays() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("project/session");
    assert!(!WriteLock::is_held(&folder).unwrap());
    assert!(!folder.exists(), "probing makes nothing");

    let lock = WriteLock::acquire(&folder).unwrap();
    for made in [&folder, &temp.path().join("project")] {
        assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o077, 0);
    }
    let path = folder.join(LOCK_NAME);
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    assert!(WriteLock::is_held(&folder).unwrap());
    drop(lock);
    assert!(path.exists());
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
    assert!(!is_locked(temp.path()), "the kernel lets go for a process that died");
}

#[test]
fn a_shared_lock_blocks_a_writer_and_is_none() {
    let temp = tempfile::tempdir().unwrap();
    let holder = Holder::start(temp.path(), "shared");
    assert!(is_locked(temp.path()));
    assert!(!WriteLock::is_held(temp.path()).unwrap());
    holder.let_go();
}

#[test]
fn a_posix_record_lock_is_not_seen() {
    let temp = tempfile::tempdir().unwrap();
    let holder = Holder::start(temp.path(), "posix");
    assert!(!is_locked(temp.path()));
    assert!(!WriteLock::is_held(temp.path()).unwrap());
    holder.let_go();
}

#[test]
fn deleting_a_held_file_lets_a_second_writer_in() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join(LOCK_NAME);
    let first = WriteLock::acquire(temp.path()).unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    fs::remove_file(&path).unwrap();
    // The file of the name is a new one, so the old lock means nothing for it.
    let second = WriteLock::acquire(temp.path()).unwrap();
    assert_ne!(fs::metadata(&path).unwrap().ino(), inode);
    drop(first);
    assert!(is_locked(temp.path()), "closing the old file does not touch the new lock");
    drop(second);
}

/// Somebody who exchanges the lock file all the time: whoever believes a lock, believes one on the file that is there.
#[test]
fn a_lock_is_on_the_file_that_is_there() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join(LOCK_NAME);
    let done = std::sync::atomic::AtomicBool::new(false);
    let (mut held, mut astray) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                // Only what nobody holds, as a careful cleaner would do.
                if let Ok(file) = File::open(&path)
                    && file.try_lock().is_ok()
                {
                    _ = fs::remove_file(&path);
                }
            }
        });
        for _ in 0..2000 {
            // Refused now and then, while the other one holds it.
            if let Ok(_lock) = WriteLock::acquire(temp.path()) {
                held += 1;
                astray += u32::from(!WriteLock::is_held(temp.path()).is_ok_and(|held| held));
            }
        }
        // Judged only when the other thread is told to end, or a failure would wait for it for ever.
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(held > 0);
    assert_eq!(astray, 0, "of {held} locks held, some on a file that is no longer there");
}

/// The real runtime, where it is installed; a visible skip elsewhere.
fn runtime() -> Option<PathBuf> {
    let cache = std::env::var_os("DSHLOG_ORACLE_CACHE").map(PathBuf::from);
    let runtime = cache.map(|cache| cache.join("runtime/dsh")).filter(|runtime| runtime.exists());
    if runtime.is_none() {
        eprintln!("skipped: no real runtime (DSHLOG_ORACLE_CACHE)");
    }
    runtime
}

/// A home with one raw session of the corpora. Gives the home, the session folder and the id.
fn home_with_session() -> (tempfile::TempDir, PathBuf, std::ffi::OsString) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../corpora/v4-raw-jsonl/home/sessions")
        .canonicalize()
        .unwrap();
    let temp = tempfile::tempdir().unwrap();
    let only = |folder: &Path| fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    let project = only(&source);
    let session = only(&project.path());
    let folder = temp.path().join("sessions").join(project.file_name()).join(session.file_name());
    fs::create_dir_all(&folder).unwrap();
    fs::copy(session.path().join("session.v4.jsonl"), folder.join("session.v4.jsonl")).unwrap();
    (temp, folder, session.file_name())
}

/// The real runtime with nothing but a plugin that opens the session for writing.
fn runtime_that_holds(runtime: &Path, home: &Path, id: &std::ffi::OsStr) -> Child {
    let profile = home.join("profiles/hold");
    fs::create_dir_all(&profile).unwrap();
    let package =
        r#"{"name":"dsh-profile-hold","private":true,"dependencies":{},"dsh":{"profile":{"bundles":[]}}}"#;
    fs::write(profile.join("package.json"), package).unwrap();
    fs::write(profile.join("cordis.patch.yml"), "[]\n").unwrap();
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runtime/hold-lock.mjs");
    let patch = home.join("patch.yml");
    fs::write(&patch, format!("- insert:\n  - id: hold-lock\n    name: \"{}\"\n", plugin.display())).unwrap();
    Command::new(runtime)
        .args(["--profile", "hold", "--patch"])
        .arg(&patch)
        .env("DSH_HOME", home)
        .env("DSH_TELEMETRY_DISABLED", "1")
        .env("HOLD_ROOT", home.join("sessions"))
        .env("HOLD_ID", id)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn the_real_runtime_keeps_us_out() {
    let Some(runtime) = runtime() else { return };
    let (home, folder, id) = home_with_session();
    let mut holder = runtime_that_holds(&runtime, home.path(), &id);
    let mut said = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    assert!(is_locked(&folder));
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    assert!(WriteLock::acquire(&folder).is_ok());
}

#[test]
fn we_keep_the_real_runtime_out() {
    let Some(runtime) = runtime() else { return };
    let (home, folder, id) = home_with_session();
    let lock = WriteLock::acquire(&folder).unwrap();
    let output = runtime_that_holds(&runtime, home.path(), &id).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("SessionAlreadyOwnedError"), "{told}");
    drop(lock);
    let mut holder = runtime_that_holds(&runtime, home.path(), &id);
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
}
