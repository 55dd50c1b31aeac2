//! `dshlog record`: a command between a service and its scenario. The command is a shell that asks as an agent would, and writes
//! a log as one would.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use dshlog_fixture_server::{FixtureServer, Script};
use dshlog_tests::cmd::Place;
use serde_json::Value;

use crate::PROGRAM;

const SCRIPT: &str = r#"
    [[exchanges]]
    match.last_user.contains = "hello"
    match.headers = [{ name = "x-api-key", value.equals = "sk-0123456789abcdef01" }]
    respond.message.blocks = [{ type = "text", text = "Hello to you." }]

    [[exchanges]]
    [exchanges.respond]
    message.blocks = [{ type = "text", text = "This is cut" }]
    fault = { how = "close", after = { events = 3 } }
"#;

/// Asks twice through what Bash has for a client, prints the answers, and writes a log.
const AGENT: &str = r#"
    address=${DEEPSEEK_BASE_URL#http://}
    ask() {
        body="{\"model\":\"m\",\"metadata\":{\"key\":\"sk-0123456789abcdef01\"},\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"$1\"}]}"
        exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
        printf 'POST /v1/messages HTTP/1.1\r\nx-api-key: sk-0123456789abcdef01\r\nconnection: close\r\ncontent-length: %s\r\n\r\n%s' "${#body}" "$body" >&3
        cat <&3
        exec 3<&- 3>&-
    }
    ask "${1:-hello there}"
    ask "and once more"
    mkdir -p "$DSH_HOME/sessions/--tmp-lab--/session-1"
    printf '%s\n' '{"type":"session","version":4,"id":"session-1","createdAt":0,"cwd":"/tmp/lab","isSeeded":false,"delegationDepth":0}' \
        > "$DSH_HOME/sessions/--tmp-lab--/session-1/session.v4.jsonl"
"#;

fn place() -> Place {
    let place = Place::empty(PROGRAM);
    fs::write(place.path().join("agent.sh"), AGENT).unwrap();
    place
}

/// Runs the agent under `dshlog record` with these arguments.
fn record(place: &Place, args: &[&str], said: &str) -> Output {
    let command = ["record", "--scenario", "run"];
    let agent = ["--", "/bin/bash", "agent.sh", said];
    place.command(&[&command[..], args, &agent].concat()).env("PATH", "/usr/bin:/bin").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The bodies of the answers, as the agent printed them.
fn events(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().filter(|line| line.starts_with("data: ")).map(str::to_owned).collect()
}

#[test]
fn what_was_recorded_is_played_again_without_the_service() {
    let place = place();
    place.add("v4-present");
    let service = FixtureServer::spawn(Script::from_toml(SCRIPT).unwrap()).unwrap();
    let first = record(&place, &["--upstream", &service.url()], "hello there");
    assert_eq!(
        text(&first.stderr),
        "note: kept in run: 2 requests, 2 exchanges, 0 side rules, 1 session logs\n",
        "{}",
        text(&first.stdout)
    );
    assert_eq!(first.status.code(), Some(0));
    let verdict = service.stop();
    assert!(verdict.is_good(), "the key went through: {verdict}");
    assert!(
        text(&first.stdout).contains("Hello to you.")
            && !text(&first.stdout).contains("message_stop\n\nmessage_stop")
    );

    let run = place.path().join("run");
    let mut names: Vec<_> =
        fs::read_dir(&run).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["0000.body", "0001.body", "home", "requests.jsonl", "script.json"]);
    for name in names.iter().filter(|name| *name != "home") {
        let kept = fs::read_to_string(run.join(name)).unwrap();
        assert!(!kept.contains("0123456789abcdef01"), "{name}: {kept}");
    }
    // Only the log that was written meanwhile, whole.
    let verified = place.told(&["verify", "run/home/sessions/--tmp-lab--/session-1"]);
    assert!(verified.ends_with("[0]\n"), "{verified}");
    assert_eq!(fs::read_dir(run.join("home/sessions")).unwrap().count(), 1);

    // The service is gone.
    let second = record(&place, &["--mode", "replay"], "hello there");
    let told = text(&second.stderr);
    assert_eq!((second.status.code(), events(&second)), (Some(0), events(&first)), "{told}");
    assert!(told.contains("2 requests: 2 served (2 exact"), "{told}");

    // Another question is a miss.
    let other = record(&place, &["--mode", "replay"], "good bye");
    let told = text(&other.stderr);
    assert_eq!(other.status.code(), Some(1), "{told}");
    assert!(told.contains("error: request 0 is not exchanges[0] `request 0`; "), "{told}");
    assert!(told.contains("good bye") && told.contains("1 diverged"), "{told}");

    // `dshlog serve` takes the script, too, and what was recorded is never overwritten.
    assert_eq!(
        place.told(&["serve", "run/script.json", "--check"]),
        "$ dshlog serve run/script.json --check\nthe script is sound: 2 exchanges, 0 side rules\n[0]\n"
    );
    let again = record(&place, &["--upstream", "http://127.0.0.1:9"], "hello");
    assert_eq!(
        (text(&again.stderr).as_str(), again.status.code()),
        (
            "error: run is not empty\nhint: name a new folder: what was recorded before is never overwritten\n",
            Some(3)
        )
    );
    assert_eq!(text(&again.stdout), "", "the command did not run");
}

#[test]
fn passing_through_keeps_nothing() {
    let place = place();
    let service = FixtureServer::spawn(Script::from_toml(SCRIPT).unwrap()).unwrap();
    let mut command = place.command(&["record", "--", "/bin/bash", "agent.sh"]);
    let output = command
        .env("PATH", "/usr/bin:/bin")
        .env("DSHLOG_MODE", "passthrough")
        .env("DEEPSEEK_BASE_URL", service.url())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    assert!(text(&output.stdout).contains("Hello to you.") && service.stop().is_good());
    assert!(!place.path().join("run").exists());
}

#[test]
fn a_service_that_is_not_there_is_told_and_kept() {
    let place = place();
    let output = record(&place, &["--upstream", "http://127.0.0.1:9"], "hello there");
    let told = text(&output.stderr);
    assert_eq!(told.matches("is not in the script: the service could not be asked").count(), 2, "{told}");
    assert!(told.contains("2 requests, 0 exchanges") && text(&output.stdout).contains("502"), "{told}");
    let list = fs::read_to_string(place.path().join("run/requests.jsonl")).unwrap();
    let first: Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
    assert_eq!((&first["end"], &first["answer"]), (&"unreachable".into(), &Value::Null));
}

#[test]
fn how_the_command_ends_and_what_cannot_be() {
    let place = Place::empty(PROGRAM);
    let upstream = ["--upstream", "http://127.0.0.1:9"];
    let told = |args: &[&str]| {
        let told = place.told(&[&["record"][..], args].concat());
        told.split_once('\n').unwrap().1.to_owned()
    };
    let failing = told(&[&upstream[..], &["--scenario", "a", "--", "/bin/sh", "-c", "exit 7"]].concat());
    assert_eq!(
        failing,
        "! warning: /bin/sh ended with exit status: 7\n\
         ! note: kept in a: 0 requests, 0 exchanges, 0 side rules, 0 session logs\n[1]\n"
    );
    let missing = told(&[&upstream[..], &["--scenario", "b", "--", "./no-such-program"]].concat());
    assert!(
        missing.contains("! error: cannot run ./no-such-program: ") && missing.ends_with("[4]\n"),
        "{missing}"
    );
    assert_eq!(
        told(&["--scenario", "c", "--", "true"]),
        "! error: nothing says which service requests go to\n\
         ! hint: --upstream URL, or DEEPSEEK_BASE_URL in the environment\n[2]\n"
    );
    assert_eq!(
        told(&[&upstream[..], &["--", "true"]].concat()),
        "! error: nothing says where the scenario lies\n! hint: --scenario DIR\n[2]\n"
    );
    let address = told(&["--upstream", "ftp://h", "--scenario", "c", "--", "true"]);
    assert!(
        address.contains("\"ftp://h\" is no address of a service") && address.ends_with("[2]\n"),
        "{address}"
    );
    let script = told(&["--mode", "replay", "--scenario", "none", "--", "true"]);
    assert!(script.contains("! hint: record the scenario first") && script.ends_with("[2]\n"), "{script}");
}

/// What the command was given in its environment is not kept, whoever says it.
#[test]
fn secrets_of_the_environment_are_masked() {
    let place = place();
    let service = FixtureServer::spawn(Script::from_toml(SCRIPT).unwrap()).unwrap();
    let line = r#"mkdir -p "$DSH_HOME/sessions/--tmp--/s"; printf '%s\n%s\n' \
        '{"type":"session","version":4,"id":"s","createdAt":0,"cwd":"/tmp","isSeeded":false,"delegationDepth":0}' \
        "{\"type\":\"note\",\"seq\":0,\"time\":0,\"data\":{\"said\":\"$DB_PASSWORD $PLAIN\"}}" > "$DSH_HOME/sessions/--tmp--/s/session.v4.jsonl""#;
    let output = place
        .command(&["record", "--scenario", "run", "--upstream", &service.url(), "--", "/bin/sh", "-c", line])
        .env("PATH", "/usr/bin:/bin")
        .env("DB_PASSWORD", "swordfish-7")
        .env("PLAIN", "nothing-to-hide")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let log = place.path().join("run/home/sessions/--tmp--/s/session.v4.jsonl");
    let kept = fs::read_to_string(log).unwrap();
    assert!(kept.contains("*********** nothing-to-hide") && !kept.contains("swordfish"), "{kept}");
}

/// Who ends the recorder ends what it runs, with all that this has started; what was said so far is kept.
#[cfg(unix)]
#[test]
fn an_end_from_outside() {
    let place = place();
    for (signal, agent) in [
        ("TERM", "sleep 1000 & echo $! > pid; wait"),
        ("INT", "sleep 1000 & echo $! > pid; wait"),
        ("TERM", "trap 'exit 3' TERM; (trap '' TERM; exec sleep 1000) & echo $! > pid; wait"),
    ] {
        let folder = tempfile::tempdir_in(place.path()).unwrap();
        let scenario = folder.path().join("run").display().to_string();
        let pid = folder.path().join("pid");
        let agent = agent.replace("> pid", &format!("> '{}'", pid.display()));
        let mut child = place
            .command(&[
                "record",
                "--scenario",
                &scenario,
                "--upstream",
                "http://127.0.0.1:9",
                "--",
                "/bin/sh",
                "-c",
                &agent,
            ])
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while !fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let number = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &number]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(1), "{signal}");
        assert!(Path::new(&scenario).join("requests.jsonl").exists());
        let sleeper = fs::read_to_string(&pid).unwrap();
        let is_there = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.trim())).unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
        };
        let is_gone = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !is_there()
        });
        assert!(is_gone, "{signal}: {agent}");
    }
}
