//! What every command promises.

use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::{PROGRAM, place};
use dshlog_tests::cmd::Place;

#[test]
fn help() {
    let place = Place::empty(PROGRAM);
    let told: String = [
        &["-h"][..],
        &["ls", "-h"],
        &["read", "-h"],
        &["verify", "-h"],
        &["migrate", "-h"],
        &["doctor", "-h"],
        &["completions", "-h"],
        &["man", "-h"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    for command in ["ls", "read", "verify", "migrate", "doctor", "completions", "man"] {
        let help = place.told(&[command, "--help"]);
        let examples = help.split("Examples:").nth(1).unwrap_or_default();
        assert_eq!(examples.matches("\n  dshlog ").count(), 2, "{command} shows two examples");
    }
    assert_snapshot!("help", told);
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
        &["read", "latest", "--type", "[", "--events"],
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
        &["ls"],
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
}

/// A completion script and a manual page come out whole.
#[test]
fn scripts_and_pages() {
    let place = Place::empty(PROGRAM);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.told(&["completions", shell]);
        assert!(script.contains("verify") && script.ends_with("[0]\n"), "{shell}");
    }
    for page in [&["man"][..], &["man", "read"]] {
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
}

/// Help that cannot be written is a failure, as any other output is.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let place = place(&["v4-thinking"]);
    for args in [&["--help"][..], &["--version"], &["read", "latest"], &["man"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let status = place.command(args).stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(4), "{args:?}");
    }
}
