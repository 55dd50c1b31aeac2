//! `dshlog verify`.

use insta::assert_snapshot;

use crate::place;

#[test]
fn a_home() {
    let place = place(&["v4-fork", "v3-fork", "v4-torn-raw-torn", "broken-z-wrong-id"]);
    let told: String = [
        &["verify"][..],
        &["verify", "--format", "json"],
        &["verify", "--jobs", "1", "-q"],
        &["verify", "home/sessions/--tmp-ws-project--"],
        &["verify", "nowhere", "home"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("verify", told);
}

#[test]
fn one_log() {
    let place = place(&["v4-thinking"]);
    assert_snapshot!("verify-one", place.told(&["verify"]) + &place.told(&["verify", "nowhere"]));
}

/// Results come in the order of names, however many work on them.
#[test]
fn the_number_of_jobs_changes_nothing() {
    let place = place(&["v4-fork", "v3-fork", "v4-torn-raw-torn", "broken-z-wrong-id", "v4-subagent"]);
    let alone = place.run(&["verify", "--jobs", "1"]).stdout;
    for jobs in ["2", "7"] {
        assert_eq!(place.run(&["verify", "--jobs", jobs]).stdout, alone, "--jobs {jobs}");
    }
}
