//! `dshlog read --follow`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::{PROGRAM, place};
use dshlog_tests::cmd::Place;

/// Longer than any machine needs, so that what never comes is a failure and no hang.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running `read --follow --events`.
struct Following {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Following {
    fn start(place: &Place, log: &Path, more: &[&str]) -> Self {
        let log = log.to_str().unwrap();
        let mut child = place
            .command(&[&["read", log, "--follow", "--events"], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = lines(child.stdout.take().unwrap());
        let err = lines(child.stderr.take().unwrap());
        Following { child, out, err }
    }

    /// The next lines of stdout are these.
    fn shows(&self, expected: &[&str]) {
        for line in expected {
            assert_eq!(self.out.recv_timeout(PATIENCE).as_deref(), Ok(*line));
        }
    }

    /// Some later line of stderr has this in it.
    fn tells(&self, words: &str) {
        loop {
            let line = self.err.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|e| panic!("nothing says `{words}`: {e}"));
            if line.contains(words) {
                return;
            }
        }
    }

    /// How it ended, and what it said that nobody asked for.
    fn ends(&mut self) -> (ExitStatus, Vec<String>) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "it goes on");
            std::thread::sleep(Duration::from_millis(20));
        };
        (status, self.out.iter().collect())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (give, take) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if give.send(line).is_err() {
                return;
            }
        }
    });
    take
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// The only log of a place.
fn only_log(place: &Place) -> PathBuf {
    let mut path = place.home().join("sessions");
    while path.is_dir() {
        path = std::fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
    }
    path
}

/// The only log of a place, raw, and its lines with their ends.
fn raw_log() -> (Place, PathBuf, String) {
    let place = place(&["v4-raw-jsonl"]);
    let path = only_log(&place);
    let text = std::fs::read_to_string(&path).unwrap();
    (place, path, text)
}

/// The first lines, with their ends.
fn head(text: &str, lines: usize) -> String {
    text.split_inclusive('\n').take(lines).collect()
}

/// A log that grows in pieces that end anywhere is shown as its lines become whole.
#[test]
fn a_growing_log() {
    let source = place(&["v4-raw-jsonl"]);
    let log = source.run(&["read", "latest", "--rows"]).stdout;
    let place = Place::empty(PROGRAM);
    let path = place.path().join("growing.jsonl");
    std::fs::write(&path, &log[..3000]).unwrap();

    let mut child = place
        .command(&["read", "growing.jsonl", "--follow", "--events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let whole: Vec<&str> = std::str::from_utf8(&log).unwrap().lines().collect();
    let (mut shown, mut written) = (0, 3000);
    for end in [3000, 3100, 20_000, log.len()] {
        OpenOptions::new().append(true).open(&path).unwrap().write_all(&log[written..end]).unwrap();
        written = end;
        let complete = log[..end].split(|byte| *byte == b'\n').skip(1).count();
        while shown < complete {
            assert_eq!(lines.next().unwrap().unwrap(), whole[shown], "line {shown}");
            shown += 1;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(shown, whole.len());
}

/// A tail that was torn in the middle of a frame and is completed is shown once.
#[test]
fn a_torn_frame_that_is_completed() {
    let place = place(&["v4-multi-turn"]);
    let path = only_log(&place);
    let bytes = std::fs::read(&path).unwrap();
    let whole = String::from_utf8(place.run(&["read", "latest", "--events"]).stdout).unwrap();
    let whole: Vec<&str> = whole.lines().collect();
    for cut in [bytes.len() - 1, bytes.len() - 30, bytes.len() / 2, bytes.len() / 3] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let following = Following::start(&place, &path, &[]);
        following.shows(&whole[..2]);
        append(&path, &bytes[cut..]);
        following.shows(&whole[2..]);
        assert!(following.out.recv_timeout(Duration::from_millis(500)).is_err(), "nothing comes twice");
    }
}

/// A tail may be cut and written again so that the length is the old one.
#[test]
fn a_tail_that_is_rewritten_in_its_length() {
    let (place, path, text) = raw_log();
    let lines: Vec<&str> = text.lines().collect();
    let torn = "x".repeat(lines[5].len() + 1);
    std::fs::write(&path, head(&text, 5) + &torn).unwrap();
    let following = Following::start(&place, &path, &[]);
    following.shows(&lines[..5]);
    let mut file = File::options().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(head(&text, 5).len() as u64)).unwrap();
    file.write_all(format!("{}\n", lines[5]).as_bytes()).unwrap();
    following.shows(&lines[5..6]);
}

/// Events that were shown and are gone are missed aloud; what comes behind them is shown.
#[test]
fn a_log_that_is_cut() {
    let (place, path, text) = raw_log();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(&path, head(&text, 8)).unwrap();
    let following = Following::start(&place, &path, &[]);
    following.shows(&lines[..8]);
    File::options().write(true).open(&path).unwrap().set_len(head(&text, 5).len() as u64).unwrap();
    following.tells("the log lost 3 events");
    append(&path, &text.as_bytes()[head(&text, 5).len()..]);
    following.shows(&lines[8..]);
}

/// Another file under the name is told, and shown from where the last one ended.
#[test]
fn a_log_that_is_replaced() {
    let (place, path, text) = raw_log();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(&path, head(&text, 4)).unwrap();
    let following = Following::start(&place, &path, &[]);
    following.shows(&lines[..4]);
    let other = place.path().join("other");
    std::fs::write(&other, &text).unwrap();
    std::fs::rename(&other, &path).unwrap();
    following.tells("another file took the place");
    following.shows(&lines[4..]);
}

/// A log that is carried to the next generation goes on there.
#[test]
fn a_newer_generation() {
    let (place, path, text) = raw_log();
    let lines: Vec<&str> = text.lines().collect();
    let old = head(&text, 4).replacen("\"version\":4", "\"version\":3", 1);
    let old_path = path.with_file_name("session.v3.jsonl");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&old_path, &old).unwrap();
    let following = Following::start(&place, &old_path, &["--as-stored"]);
    following.shows(&old.lines().collect::<Vec<_>>());
    let other = place.path().join("other");
    std::fs::write(&other, &text).unwrap();
    std::fs::rename(&other, &path).unwrap();
    following.tells("goes on in");
    following.shows(&lines[4..]);
}

/// A generation that this program cannot read ends it, as it would have refused it at the beginning.
#[test]
fn a_generation_from_the_future() {
    let (place, path, text) = raw_log();
    let lines: Vec<&str> = text.lines().collect();
    let mut following = Following::start(&place, &path, &[]);
    following.shows(&lines);
    let newer = text.replacen("\"version\":4", "\"version\":5", 1);
    std::fs::write(path.with_file_name("session.v5.jsonl"), newer).unwrap();
    following.tells("V5 is newer");
    let (status, rest) = following.ends();
    assert_eq!((status.code(), rest.len()), (Some(3), 0));
}

/// With its folder gone there is nothing to wait for.
#[test]
fn a_folder_that_is_removed() {
    let (place, path, text) = raw_log();
    let lines: Vec<&str> = text.lines().collect();
    let mut following = Following::start(&place, &path, &[]);
    following.shows(&lines);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    following.tells("cannot look at");
    let (status, rest) = following.ends();
    assert_eq!((status.code(), rest.len()), (Some(4), 0));
}

/// Of a log that is refused at the beginning nothing is shown, not even the header.
#[test]
fn a_log_of_broken_frames() {
    let place = place(&["v4-multi-turn"]);
    let path = only_log(&place);
    append(&path, b"no frame");
    let mut following = Following::start(&place, &path, &[]);
    following.tells("error: ");
    let (status, rest) = following.ends();
    assert_eq!((status.code(), rest.len()), (Some(4), 0));
}
