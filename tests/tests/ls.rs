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
    assert_snapshot!("ls-empty", place.told(&["ls"]) + &place.told(&["ls", "nowhere"]));
}
