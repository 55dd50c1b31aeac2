//! What every command promises.

use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::{PROGRAM, place};
use dshlog_tests::cmd::Place;

#[test]
fn help() {
    let place = Place::empty(PROGRAM);
    assert_snapshot!("help", place.told(&["-h"]));
    for command in [
        "ls",
        "search",
        "index",
        "read",
        "request",
        "diff",
        "stats",
        "export",
        "verify",
        "migrate",
        "fork",
        "doctor",
        "serve",
        "replay",
        "new-scenario",
        "record",
        "completions",
        "man",
    ] {
        assert_snapshot!(format!("help-{command}"), place.told(&[command, "-h"]));
        let help = place.told(&[command, "--help"]);
        let examples = help.split("Examples:").nth(1).unwrap_or_default();
        assert!(examples.matches("\n  dshlog ").count() >= 2, "{command} shows two examples");
    }
}

#[test]
fn wrong_usage() {
    let place = place(&["v4-thinking"]);
    let told: String = [
        &["no-such-command"][..],
        &["read"],
        &["read", "latest", "--events", "--rows"],
        &["read", "latest", "--format", "table"],
        &["read", "latest", "--format", "json"],
        &["read", "latest", "--follow", "--messages"],
        &["read", "latest", "--long"],
        &["ls", "--format", "text"],
        &["migrate"],
        &["migrate", "latest", "--all"],
        &["migrate", "latest", "--format", "text"],
        &["man", "no-such-command"],
        &["request", "latest", "--format", "table"],
        &["request", "latest", "--turn", "1", "--at", "3"],
        &["request", "latest", "--step", "1"],
        &["read", "latest", "--type", "[", "--events"],
        &["search"],
        &["search", "x", "--scan", "--update"],
        &["search", "x", "--format", "table"],
        &["search", "x", "--open", "0"],
        &["index", "--watch", "--rebuild"],
        &["index", "--status", "--jobs", "2"],
        &["index", "--format", "csv"],
        &["export", "--all"],
        &["export", "latest", "--all", "--out", "set"],
        &["export", "--all", "--out", "set", "--format", "html"],
        &["export", "--all", "--out", "-"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("wrong-usage", told);
}

/// Who stops reading gets no error.
#[test]
fn a_closed_pipe_is_no_error() {
    let place = place(&["v4-compact"]);
    for args in [
        &["read", "latest"][..],
        &["read", "latest", "--events"],
        &["request", "latest"],
        &["request", "latest", "--format", "messages"],
        &["export", "latest"],
        &["export", "--all", "--out", "set", "-q"],
        &["ls"],
        &["search", "one", "-q"],
        &["search", "one", "-q", "--scan", "--format", "jsonl"],
        &["index"],
        &["index", "--status", "--format", "json"],
        &["stats"],
        &["diff", "latest", "latest"],
        &["replay", "latest", "-q"],
        &["replay", "latest", "-q", "--format", "json"],
        &["verify"],
        &["doctor"],
        &["completions", "bash"],
    ] {
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
    for args in MIGRATE {
        let place = self::place(&OLD);
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        check_migrated(&place, args);
    }
}

/// Old sessions, and ways to migrate them; one after the other, so that there are some behind the first that is told.
const OLD: [&str; 3] = ["v3-fork", "v3-thinking", "v0-0.1.0rc6-bash-echo"];
const MIGRATE: [&[&str]; 2] =
    [&["migrate", "--all", "--jobs", "1"], &["migrate", "--all", "--jobs", "1", "--format", "json"]];

/// Who writes logs goes on, whatever becomes of what is said of it.
#[track_caller]
fn check_migrated(place: &Place, args: &[&str]) {
    let told = place.told(&["migrate", "--all", "--format", "json"]);
    assert_eq!(told.matches(r#""status":"current""#).count(), 4, "{args:?}: {told}");
}

/// A completion script and a manual page come out whole.
#[test]
fn scripts_and_pages() {
    let place = Place::empty(PROGRAM);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.told(&["completions", shell]);
        assert!(
            ["verify", "search", "rebuild", "no-update"].iter().all(|word| script.contains(word))
                && script.ends_with("[0]\n"),
            "{shell}"
        );
    }
    for page in [&["man"][..], &["man", "read"], &["man", "search"], &["man", "index"]] {
        let page = place.told(page);
        assert!(page.contains(".TH dshlog") && page.ends_with("[0]\n"));
    }
}

/// No colours but where they were asked for.
#[test]
fn colours() {
    let place = place(&["v4-thinking"]);
    let has_colour = |command: &mut Command| command.output().unwrap().stdout.contains(&0x1b);
    assert!(!has_colour(&mut place.command(&["read", "latest"])));
    assert!(has_colour(&mut place.command(&["read", "latest", "--color", "always"])));
    assert!(has_colour(place.command(&["read", "latest", "--color", "always"]).env("NO_COLOR", "1")));
    assert!(!has_colour(&mut place.command(&["ls", "--color", "never"])));
    assert!(has_colour(&mut place.command(&["search", "demo", "--color", "always"])));
    assert!(!has_colour(&mut place.command(&["search", "demo"])));
}

/// Help that cannot be written is a failure, as any other output is.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let place = place(&["v4-thinking"]);
    for args in [
        &["--help"][..],
        &["--version"],
        &["read", "latest"],
        &["man"],
        &["search", "demo"],
        &["index", "--status"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let status = place.command(args).stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(4), "{args:?}");
    }
    for args in MIGRATE {
        let place = self::place(&OLD);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = place.command(args).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{args:?}");
        assert_eq!(told.matches("error: cannot write the output").count(), 1, "{args:?}: {told}");
        check_migrated(&place, args);
    }
}

/// Output that fails long before the last session neither stops a migration nor hides how it ended.
#[cfg(target_os = "linux")]
#[test]
fn whoever_listens_all_is_migrated() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into();
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer.into()
    };
    let streams: [(&dyn Fn() -> Stdio, i32); 2] = [(&closed, 1), (&full, 4)];
    for (args, (stream, code)) in MIGRATE.into_iter().flat_map(|args| streams.map(|stream| (args, stream))) {
        let place = place(&OLD);
        // More than any buffer holds is told of them, and before the others.
        for number in 0..300 {
            let folder = place.home().join(format!("sessions/--a--/{number}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("session.v3.jsonl"), "").unwrap();
        }
        let status = place.command(args).stdout(stream()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
        check_migrated(&place, args);
    }
}
