//! `dshlog serve`, as a person and a test runner meet it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::PROGRAM;
use dshlog_tests::cmd::Place;

const SCRIPT: &str = r#"
    [[exchanges]]
    name = "greets"
    match.last_user.contains = "hello"
    respond.message.blocks = [{ type = "text", text = "Hello to you." }]

    [[exchanges]]
    respond = { status = 429, headers = { retry-after = "1" }, error = { type = "rate_limit_error", message = "Slow down" } }
"#;

/// The program while it serves.
struct Serving {
    child: Child,
    out: BufReader<ChildStdout>,
    address: String,
}

impl Serving {
    fn start(place: &Place, args: &[&str]) -> Serving {
        let mut child = place
            .command(&[&["serve", "script.toml"][..], args].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let (_, address) = line.split_once("http://").unwrap_or_else(|| panic!("{line}"));
        let address = address.trim_end().trim_end_matches(|c: char| !c.is_ascii_digit()).to_owned();
        let address = address.split('"').next().unwrap().to_owned();
        Serving { child, out, address }
    }

    /// Asks, and gives status and body.
    fn ask(&self, text: &str) -> (u16, String) {
        let body = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": text }] })
            .to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nx-api-key: s3cret\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len(),
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer[9..12].parse().unwrap(), answer)
    }

    /// Waits for the end: stdout behind the first line, stderr, exit code.
    fn end(mut self) -> (String, String, Option<i32>) {
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (out, err, self.child.wait().unwrap().code())
    }
}

fn place(script: &str) -> Place {
    let place = Place::empty(PROGRAM);
    fs::write(place.path().join("script.toml"), script).unwrap();
    place
}

#[test]
fn a_script_is_played_once() {
    let place = place(SCRIPT);
    let serving = Serving::start(&place, &["--once"]);
    assert!(serving.ask("hello there").1.contains("Hello to you."));
    assert_eq!(serving.ask("again").0, 429);
    let (out, err, code) = serving.end();
    assert_eq!(
        out,
        "   0  POST /v1/messages  unchecked  exchanges[0] `greets`\n   1  POST /v1/messages  unchecked  exchanges[1]\n\
         2 requests: 2 served (0 exact, 0 normalized, 2 not compared), 0 diverged, 0 unmatched; every exchange was asked for\n",
    );
    assert_eq!((err.as_str(), code), ("", Some(0)));
}

#[test]
fn what_does_not_fit_is_told_at_once_and_kept() {
    let place = place(SCRIPT);
    let serving = Serving::start(&place, &["--once", "--capture", "asked", "--format", "json"]);
    assert_eq!(serving.ask("good bye").0, 400);
    assert_eq!(serving.ask("hello").0, 200);
    assert_eq!(serving.ask("x").0, 429);
    let (out, _, code) = serving.end();
    let told: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(told.iter().all(|line| line["schema"] == "dshlog.serve/1"));
    let events: Vec<&str> = told.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["request", "request", "request", "verdict"]);
    assert_eq!(told[0]["outcome"], "unmatched");
    assert_eq!(told[0]["report"]["nearest"]["firstPlace"], "/messages/0/content");
    assert_eq!((&told[3]["unmatched"], &told[3]["good"], code), (&json!(1), &json!(false), Some(1)));

    let asked = place.path().join("asked");
    let list = fs::read_to_string(asked.join("requests.jsonl")).unwrap();
    assert!(
        list.lines().count() == 3 && list.contains(r#"["x-api-key","***"]"#) && !list.contains("s3cret"),
        "{list}"
    );
    let body: Value = serde_json::from_slice(&fs::read(asked.join("0001.body")).unwrap()).unwrap();
    assert_eq!(body["messages"][0]["content"], "hello");
    // What is there is never overwritten.
    let again = place.told(&["serve", "script.toml", "--capture", "asked"]);
    assert_eq!(
        again,
        "$ dshlog serve script.toml --capture asked\n! error: asked is not empty\n\
         ! hint: name a new folder: what was captured before is never overwritten\n[3]\n",
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_with_a_verdict() {
    let place = place(SCRIPT);
    let serving = Serving::start(&place, &[]);
    assert_eq!(serving.ask("hello").0, 200);
    let id = serving.child.id().to_string();
    assert!(
        std::process::Command::new("/bin/sh")
            .args(["-c", &format!("kill -INT {id}")])
            .status()
            .unwrap()
            .success()
    );
    let (out, _, code) = serving.end();
    assert!(out.ends_with("1 requests: 1 served (0 exact, 0 normalized, 1 not compared), 0 diverged, 0 unmatched; not asked for: exchanges[1]\n"), "{out}");
    assert_eq!(code, Some(1));
}

#[test]
fn scripts_that_cannot_be_are_told_before_anything_is_served() {
    let told = |script: &str, args: &[&str]| {
        let place = place(script);
        place.told(&[&["serve", "script.toml"][..], args].concat())
    };
    assert_eq!(
        told(SCRIPT, &["--check"]),
        "$ dshlog serve script.toml --check\nthe script is sound: 2 exchanges, 0 side rules\n[0]\n",
    );
    assert_eq!(
        told("exchanges = [{ times = 0 }, { match.model = { equals = \"a\", lacks = \"a\" } }]", &[]),
        "$ dshlog serve script.toml\n! error: script.toml: `exchanges[0].times`: served 0 times: take it out\n\
         ! error: script.toml: `exchanges[1].match.model`: can never match: `equals` contradicts another condition on the same text\n\
         ! hint: docs/script.md in the repository explains scripts\n[2]\n",
    );
    assert_eq!(
        told("exchange = []", &[]),
        "$ dshlog serve script.toml\n! error: script.toml: `exchange`: unknown field `exchange`, expected one of `name`, \
         `conversation`, `exchanges`, `side`\n! hint: docs/script.md in the repository explains scripts\n[2]\n",
    );
    let missing = Place::empty(PROGRAM).told(&["serve", "none.toml"]);
    assert!(missing.contains("! error: cannot read none.toml: ") && missing.ends_with("[4]\n"), "{missing}");
}

#[test]
fn other_machines_are_warned_of() {
    let place = place(SCRIPT);
    let serving = Serving::start(&place, &["--once", "--listen", "0.0.0.0"]);
    serving.ask("hello");
    serving.ask("x");
    let (_, err, _) = serving.end();
    assert_eq!(err, "warning: 0.0.0.0 can be reached from other machines; whoever reaches it is answered\n");
}
