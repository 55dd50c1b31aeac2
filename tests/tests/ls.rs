//! `dshlog ls`.

use insta::assert_snapshot;

use crate::{PROGRAM, place};
use dshlog_tests::cmd::Place;

#[test]
fn lists() {
    let place =
        place(&["v4-fork", "v4-subagent", "v3-continued-by-v4", "v4-kill-stream-open", "v4-torn-raw-torn"]);
    let told: String = [
        &["ls"][..],
        &["ls", "--long"],
        &["ls", "--columns", "id,modified,path", "--since", "2026-12-01T04:50"],
        &["ls", "--project", "nowhere"],
        &["ls", "--format", "json", "--until", "2026-12-01T04:42"],
        &["ls", "--long", "--format", "json", "--until", "2026-12-01T04:42"],
        &["ls", "--since", "yesterday"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("ls", told);
}

#[test]
fn older_generations_are_counted() {
    let place = place(&["v0-0.1.0rc6-commands", "v1-0.1.2rc1-delivery", "v3-fork"]);
    let told = place.told(&["ls", "--long"]) + &place.told(&["verify"]);
    assert_snapshot!("ls-older-generations", told);
}

#[test]
fn what_is_left_out_is_said() {
    let place = place(&["broken-z-wrong-id", "v4-thinking"]);
    std::fs::write(place.home().join("sessions/stray.txt"), "x").unwrap();
    let told = place.told(&["ls"])
        + &place.told(&["ls", "--all"])
        + &place.told(&["ls", "--all", "--format", "json"]);
    assert_snapshot!("ls-left-out", told);
}

#[test]
fn a_home_without_sessions() {
    let place = Place::empty(PROGRAM);
    assert_snapshot!(
        "ls-empty",
        place.told(&["ls"]) + &place.told(&["ls", "nowhere"]) + &place.told(&["read", "latest"])
    );
}

/// An empty list says why, and nothing but the reasons is shown where nothing else is.
#[test]
fn nothing_to_list() {
    let place = place(&["broken-z-wrong-id"]);
    let told = place.told(&["ls", "--all"]);
    assert!(told.starts_with("$ dshlog ls --all\n[place]/"), "{told}");
    let place = crate::place(&["v4-thinking"]);
    let told = place.told(&["ls", "--since", "1d", "--project", "nowhere"]);
    assert!(told.contains("does not fit the filters"), "{told}");
    assert!(!place.told(&["ls", "--since", "1d"]).contains("note"));
    std::fs::write(place.home().join("sessions/stray.txt"), "x").unwrap();
    let told = place.told(&["ls"]);
    assert!(told.contains("1 thing that belongs to no session"), "{told}");
}

/// What is shown does not depend on the year in which the tests run.
#[test]
fn another_year() {
    let place = place(&["v4-thinking"]);
    let later = place.command(&["ls"]).env("DSHLOG_NOW", "1830000000").output().unwrap();
    let (now, later) = (place.told(&["ls"]), String::from_utf8(later.stdout).unwrap());
    assert!(now.contains("30 Nov 13:") && later.contains("30 Nov 2026"), "{now}{later}");
}
