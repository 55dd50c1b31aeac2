//! What is so where the lock is a file, and the real runtime, which is had for Linux alone.
#![expect(clippy::print_stderr, reason = "a test may speak")]

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use super::*;

/// Lock the file in another way than a writer does, as long as the answer lives.
pub(crate) fn hold(folder: &Path, how: &str) -> File {
    let path = folder.join(LOCK_NAME);
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    match how {
        "shared" => file.lock_shared().unwrap(),
        "posix" => {
            rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
        }
        how => panic!("{how}"),
    }
    file
}

#[test]
fn the_lock_file_is_made_and_stays() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("project/session");
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
fn what_a_link_leads_to_is_locked_and_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let log = temp.path().join("session.v3.jsonl");
    fs::write(&log, "text").unwrap();
    std::os::unix::fs::symlink("session.v3.jsonl", temp.path().join(LOCK_NAME)).unwrap();
    let lock = WriteLock::acquire(temp.path()).unwrap();
    assert!(File::open(&log).unwrap().try_lock().is_err(), "another file is locked");
    drop(lock);
    assert_eq!(fs::read(&log).unwrap(), b"text");
}

#[test]
fn a_pipe_is_no_lock_and_not_waited_for() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join(LOCK_NAME);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for answer in [WriteLock::acquire(temp.path()).err(), WriteLock::is_held(temp.path()).err()] {
        assert_eq!(answer.map(|error| error.code()), Some("io"));
    }
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
