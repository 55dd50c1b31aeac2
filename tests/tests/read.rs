//! `dshlog read`.

use insta::assert_snapshot;

use crate::place;

/// One transcript a case: what each shows of the product is in the name.
#[test]
fn transcripts() {
    for case in [
        "v4-approval",
        "v4-cancel-stream",
        "v4-goal",
        "v4-kill-stream-open",
        "v4-kill-tool-resumed",
        "v4-multi-turn",
        "v4-plan-mode",
        "v4-present",
        "v4-ptc",
        "v4-retry-500",
        "v4-steer",
        "v4-thinking",
        "v4-todo",
        "v4-tools-in-history",
        "v4-tools-parallel",
        "v4-unicode",
        "v4-wire-image-offload",
        "v4-wire-malformed",
        "v4-wire-retry-exhausted",
    ] {
        assert_snapshot!(format!("transcript-{case}"), place(&[case]).told(&["read", "latest"]));
    }
}

#[test]
fn families() {
    let place = place(&["v4-fork"]);
    assert_snapshot!("fork", place.told(&["read", "latest"]));
    for (case, latest) in [("v4-subagent", "latest~1"), ("v4-workflow", "latest~1")] {
        let place = crate::place(&[case]);
        let told = place.told(&["read", "latest"]) + &place.told(&["read", latest]);
        assert_snapshot!(format!("family-{case}"), told);
    }
}

#[test]
fn compaction() {
    let place = place(&["v4-compact"]);
    assert_snapshot!("compaction", place.told(&["read", "latest", "--seq", "45.."]));
    assert_snapshot!("compaction-surface", place.told(&["read", "latest", "--surface"]));
    assert_snapshot!(
        "surface-before",
        place.told(&["read", "latest", "--surface", "--at", "20", "--format", "json"])
    );
}

#[test]
fn layouts() {
    let place = place(&["v4-unicode", "v4-ptc"]);
    assert_snapshot!("narrow", place.told(&["read", "latest", "--width", "60"]));
    assert_snapshot!("narrowest", place.told(&["read", "latest~1", "--width", "40"]));
    assert_snapshot!("wide", place.told(&["read", "latest", "--width", "200"]));
    assert_snapshot!("seqs", place.told(&["read", "latest", "--seqs"]));
    assert_snapshot!("color", place.told(&["read", "latest", "--color", "always"]).replace('\u{1b}', "␛"));
}

#[test]
fn filters() {
    let place = place(&["v4-multi-turn"]);
    let told: String = [
        &["read", "latest", "--turn", "2", "--seqs"][..],
        &["read", "latest", "--events", "--format", "text", "--type", "turn/*", "--type", "step/?nd"],
        &["read", "latest", "--events", "--format", "text", "--seq", "28..32"],
        &["read", "latest", "--at", "10"],
        &["read", "latest", "--turn", "9"],
        &["read", "latest", "--seq", "99.."],
        &["read", "latest", "--at", "50"],
        &["read", "latest", "--seq", "9..7"],
        &["read", "latest", "--rows", "--turn", "1"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("filters", told);
}

#[test]
fn names() {
    let place = place(&["v4-fork"]);
    let told: String = [
        &["read", "latest~1", "--header", "--format", "json"][..],
        &["read", "24291876", "--header", "--format", "json"],
        &["read", "session-24291876", "--header", "--format", "json", "--long"],
        &["read", "latest", "--header", "--format", "json"],
        &["read", "latest", "--header", "--format", "json", "--long"],
        &["read", "session-"],
        &["read", "nothing"],
        &["read", "latest~7"],
        &["read", "./nothing"],
        &["read", "home/sessions"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("names", told);
}

#[test]
fn refusals() {
    for case in [
        "broken-z-unknown-required-middle",
        "broken-z-flip-middle-frame",
        "broken-z-empty-file",
        "broken-z-version-5-header",
        "broken-z-version-5-file",
        "broken-z-wrong-cwd",
        "v4-prune-outside-turn",
    ] {
        let place = place(&[case]);
        let told = place.told(&["read", "latest", "--events"])
            + &place.told(&["read", "latest", "--lenient", "--turn", "3"]);
        assert_snapshot!(format!("refusal-{case}"), told);
    }
}

#[test]
fn older_generations_are_read_in_either_form() {
    let place = place(&["v3-fork"]);
    let told: String = [
        &["read", "latest"][..],
        &["read", "latest", "--as-stored"],
        &["read", "latest", "--as-stored", "--messages"],
        &["read", "latest", "--header", "--format", "json"],
        &["read", "latest", "--header", "--format", "json", "--long"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("older-generation", told);
}

/// A log that no step carries over is refused, shown up to there, or shown as it is stored.
#[test]
fn older_generations_without_a_way_to_the_current_one() {
    let place = place(&["v0-0.1.2a3-appended-schedule-short"]);
    let told: String = [
        &["read", "latest", "--events"][..],
        &["read", "latest", "--messages"],
        &["read", "latest", "--lenient", "--events", "--format", "text", "--type", "turn/*"],
        &["read", "latest", "--as-stored", "--events", "--format", "text", "--type", "turn/*"],
        &["verify"],
        &["ls", "--long"],
        &["ls", "--long", "--all", "--format", "json"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("older-generation-refused", told);
}

#[test]
fn a_torn_tail_is_a_warning() {
    let place = place(&["v4-torn-raw-torn"]);
    assert_snapshot!(
        "torn",
        place.told(&["read", "latest", "--turn", "2"])
            + &place.told(&["read", "latest", "-q", "--turn", "2"])
    );
}

/// Frames behind which the file holds no frame are shown by `--lenient` and `--rows`, and by nothing else.
#[test]
fn broken_frames() {
    let place = place(&["v4-multi-turn"]);
    let mut path = place.home().join("sessions");
    while path.is_dir() {
        path = std::fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
    }
    let whole = place.run(&["read", "latest", "--events"]).stdout;
    let rows = place.run(&["read", "latest", "--rows"]).stdout;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"no frame");
    std::fs::write(&path, bytes).unwrap();
    for (args, code, expected) in [
        (&["--events"][..], 4, &b""[..]),
        (&["--messages"], 4, b""),
        (&[], 4, b""),
        (&["--events", "--lenient"], 0, &whole),
        (&["--rows"], 4, &rows),
    ] {
        let output = place.run(&[&["read", "latest"], args].concat());
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(code), expected), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no Zstandard frame"), "{args:?}");
    }
}
