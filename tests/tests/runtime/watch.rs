//! `dshlog index --watch` beside the real dsh: what was said in a finished turn is found, while the runtime goes on.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dshlog_tests::runtime::{ModelServer, Moved, Runtime};

use super::PROGRAM;

/// Words that stand nowhere else.
const WORDS: [&str; 4] = ["quillfern", "ambervault", "翡翠迷宮", "snake_oiled_gearbox"];

/// So long a follower may take before the test gives up. How long it takes is printed, and stands in `docs/index.md`.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn finished_turns_are_found_while_the_runtime_writes() {
    let Some(runtime) = Runtime::find() else { return };
    let moved = Moved::case("v4-multi-turn");
    let session = moved.sessions.iter().find(|session| session.can_go_on).unwrap();
    let index = tempfile::tempdir().unwrap();
    let index = index.path().join("index");
    let follower = Follower::start(&moved.home(), &index);
    wait_for(&moved.home(), &index, "the", &session.id);

    for word in WORDS {
        let answer = format!("Noted: {word} it is.");
        let model = ModelServer::start(&answer);
        let prompt = format!("Remember the word {word}.");
        let output = runtime.turn(&moved.home(), session, &model, &prompt).unwrap().output().unwrap();
        assert!(output.status.success(), "{word}: {}", String::from_utf8_lossy(&output.stderr));
        let took = wait_for(&moved.home(), &index, word, &session.id);
        eprintln!("{word}: found {} ms after the runtime had ended", took.as_millis());
    }
    drop(follower);
}

/// Search until the session is found, and say how long that took.
fn wait_for(home: &Path, index: &Path, word: &str, id: &str) -> Duration {
    let start = Instant::now();
    loop {
        let output = Command::new(PROGRAM)
            .args(["search", word, "--no-update", "--format", "json", "--home"])
            .arg(home)
            .arg("--index")
            .arg(index)
            .output()
            .unwrap();
        if output.status.success() {
            let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(found["hits"][0]["session"]["id"], id, "{word}: {found}");
            return start.elapsed();
        }
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(start.elapsed() < PATIENCE, "{word} is not found: {told}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// `dshlog index --watch`, until it is dropped.
struct Follower(Child);

impl Follower {
    fn start(home: &Path, index: &Path) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["index", "--watch", "--home"]).arg(home).arg("--index").arg(index);
        Follower(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
