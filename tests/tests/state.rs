//! `dshlog read --state`, and what `read` tells of the surface.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use insta::assert_snapshot;
use serde_json::Value;

use crate::place;
use dshlog_tests::cmd::Place;

/// Every state that has a form of its own, over a log that fills it.
#[test]
fn forms() {
    for (case, names) in [
        ("v4-approval", "approvals,permissions,toolCalls"),
        ("v4-goal", "goal"),
        ("v4-multi-turn", "tokenUsage,sessionStats,turnOutline,turnBoundary,titleInput,modelSelection"),
        ("v4-plan-mode", "plan"),
        ("v4-subagent", "subagentCatalog,workingDirectory"),
        ("v4-wire-subagent-fork", "subagent,subagentTiming,inbox,llmRetry"),
        ("v4-todo", "todos"),
        ("v4-tool-error", "toolCalls"),
        ("v4-raw-jsonl", "jobs"),
    ] {
        assert_snapshot!(format!("state-{case}"), place(&[case]).told(&["read", "latest", "--state", names]));
    }
    // Nothing in any of them.
    let names =
        "approvals,goal,inbox,jobs,subagentCatalog,subagentTiming,todos,toolCalls,turnOutline,title,llmRetry";
    assert_snapshot!("state-empty", place(&["v4-empty"]).told(&["read", "latest", "--state", names]));
}

#[test]
fn points_and_names() {
    let place = place(&["v4-steer"]);
    let told: String = [
        &["read", "latest", "--state", "inbox,todos", "--at", "4,3", "--at", "3"][..],
        &["read", "latest", "--state", "inbox", "--at", "3", "--format", "json"],
        &["read", "latest", "--state", "todo"],
        &["read", "latest", "--state", "todos", "--turn", "1"],
        &["read", "latest", "--state", "todos", "--at", "999"],
        &["read", "latest", "--surface", "--at", "3,4"],
        &["read", "latest", "--state", "todos", "--surface"],
        &["read", "latest", "--state", "todos", "--follow"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("state-points", told);
    assert_snapshot!("state-list", place.told(&["read", "latest", "--state", "list"]));
}

/// The page has a row for each state, and for each member that is printed.
#[test]
fn every_state_is_described() {
    let page = std::fs::read_to_string(dshlog_tests::model::repository().join("docs/state.md")).unwrap();
    let place = place(&["v4-goal"]);
    let documents = |args: &[&str]| -> Vec<Value> {
        let output = String::from_utf8(place.run(args).stdout).unwrap();
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let list = documents(&["read", "latest", "--state", "list", "--format", "json"]);
    let names: Vec<&str> = list.iter().map(|state| state["name"].as_str().unwrap()).collect();
    assert!(names.len() > 20, "{names:?}");
    let states = documents(&["read", "latest", "--state", &names.join(","), "--format", "json"]);
    assert_eq!(states.iter().map(|state| state["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let members = states.iter().flat_map(|state| state.as_object().unwrap().keys().map(String::as_str));
    for name in members.chain(names.iter().copied()) {
        assert!(page.contains(&format!("\n| `{name}` |")), "docs/state.md says nothing of {name}");
    }
}

/// One walk over many points gives what many walks give.
#[test]
fn many_points_are_as_many_walks() {
    let place = place(&["v4-fork"]);
    let names = "subagentCatalog,permissions,turnBoundary,tokenUsage,toolCalls,titleInput";
    let documents = |at: &str| {
        let output = place.run(&["read", "latest", "--state", names, "--format", "json", "--at", at]);
        assert_eq!(output.status.code(), Some(0), "{at}");
        String::from_utf8(output.stdout).unwrap()
    };
    let points = ["0", "5", "9", "20"];
    let together = documents(&points.join(","));
    assert_eq!(together, points.map(documents).concat());
    let first: Value = serde_json::from_str(together.lines().next().unwrap()).unwrap();
    // The cut is known from the start, and belongs to the state.
    assert!(first["state"]["inheritedEventCount"].as_u64().unwrap() > 0);
}

/// The events of a case with a change in them, as a log that lies somewhere.
fn changed(place: &Place, change: impl FnOnce(Vec<String>) -> Vec<String>) -> String {
    let output = place.run(&["read", "latest", "--events"]);
    let lines = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    let log = place.path().join("changed.jsonl");
    std::fs::write(&log, change(lines).join("\n") + "\n").unwrap();
    log.display().to_string()
}

/// A state that dsh cannot make either is told as such, beside the others.
#[test]
fn a_broken_inbox_is_a_finding() {
    let place = place(&["v4-steer"]);
    let log = changed(&place, |mut lines| {
        let splice = lines.iter_mut().find(|line| line.contains("agent/inbox/spliced")).unwrap();
        *splice = splice.replacen("\"start\":0", "\"start\":7", 1);
        lines
    });
    let told: String = ["text", "json"]
        .map(|format| place.told(&["read", &log, "--state", "inbox,todos", "--format", format]))
        .concat();
    assert_snapshot!("state-broken-inbox", told);
    // At a point in front of it there is nothing wrong.
    assert_eq!(place.run(&["read", &log, "--state", "inbox", "--at", "0"]).status.code(), Some(0));
}

#[test]
fn surfaces_are_explained() {
    for case in ["v4-wire-compact-auto", "v0-0.1.0rc7-pruner", "v4-wire-image-offload"] {
        let place = place(&[case]);
        assert_snapshot!(format!("surface-{case}"), place.told(&["read", "latest", "--surface"]));
    }
    let place = place(&["v4-compact"]);
    let before = place.run(&["read", "latest", "--surface", "--format", "json", "--at", "57"]);
    let before: Value = serde_json::from_slice(&before.stdout).unwrap();
    assert_eq!(before["shadowed"], serde_json::json!([]));
    assert_eq!(before["unendedCompactions"][0]["seq"], 56);
    assert_eq!(before["unendedCompactions"][0]["trigger"], "manual");
    let after = place.run(&["read", "latest", "--surface", "--format", "json"]);
    let after: Value = serde_json::from_slice(&after.stdout).unwrap();
    assert_eq!(after["unendedCompactions"], serde_json::json!([]));
    let gone: Vec<_> =
        after["shadowed"].as_array().unwrap().iter().map(|shadowed| &shadowed["seq"]).collect();
    assert_eq!(serde_json::json!(gone), after["nodes"][1]["replaced"]);
}

/// A compaction that was begun when the process ended, and the same after another one took over.
#[test]
fn a_compaction_without_an_end_is_said_plainly() {
    let place = place(&["v4-compact"]);
    let cut = |more: &'static str| {
        changed(&place, move |mut lines| {
            // The header, and events up to the start of the compaction.
            lines.truncate(58);
            assert!(lines[57].contains("compaction/start"));
            lines.extend((!more.is_empty()).then(|| more.to_owned()));
            lines
        })
    };
    let mut told = String::new();
    for more in ["", r#"{"type":"session/end-seed","seq":57,"time":1796045261800,"data":{}}"#] {
        let log = cut(more);
        told += &place.told(&["read", &log, "--surface"]);
        told += &place.told(&["read", &log, "--seq", "54.."]);
    }
    assert_snapshot!("compaction-not-ended", told);
}

/// What people read and the model does not see is marked, as it stood at the point that is shown.
#[test]
fn transcripts_mark_what_the_model_no_longer_sees() {
    let place = place(&["v4-compact"]);
    assert_snapshot!("marks", place.told(&["read", "latest", "--seqs", "--turn", "4"]));
    assert_snapshot!("marks-narrow", place.told(&["read", "latest", "--width", "50", "--turn", "4"]));
    assert_snapshot!("marks-full", place.told(&["read", "latest", "--type", "user/message", "--full"]));
    let mark = |args: &[&str]| place.told(&[&["read", "latest"][..], args].concat()).contains('┊');
    assert!(!mark(&["--at", "55"]), "nothing is compacted yet");
    assert!(mark(&["--at", "60"]));
    // The last turn before it is kept; what the model sees at the end counts, not what is shown.
    assert!(mark(&["--seq", "0..20"]));
    assert!(!mark(&["--seq", "0..20", "--at", "20"]));
    assert!(!mark(&["--lenient"]), "what comes later is not known");
    let pruned = crate::place(&["v0-0.1.0rc7-pruner"]);
    assert_snapshot!("marks-pruned", pruned.told(&["read", "latest"]));
}

/// A result of which the model sees the ends only is still seen.
#[test]
fn a_pruned_result_is_named_where_its_call_stands() {
    let place = place(&["v4-tool-error"]);
    let log = changed(&place, |mut lines| {
        // The header, and events up to the start of the second step.
        lines.truncate(27);
        let result = lines[24].replace("\"seq\":23", "\"seq\":27").replace("cannot read", "cut");
        let op = r#""surfaceOp":{"op":"replace","startSeq":23,"endSeq":23}"#;
        let result = result.replace(r#""surfaceOp":"append""#, op).replace("[22]", "[23]");
        let span = r#"{"shadowedRange":{"start":23,"end":23},"shadowedSeqs":[23],"shadowedTokenCount":20}"#;
        lines.push(format!(r#"{{"type":"compaction/prune","seq":26,"time":1796044945060,"data":{span}}}"#));
        lines.push(result);
        lines
    });
    let told = place.told(&["read", &log, "--seq", "21.."]) + &place.told(&["read", &log, "--surface"]);
    assert_snapshot!("marks-pruned-only", told);
}
