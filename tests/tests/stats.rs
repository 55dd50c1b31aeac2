//! `dshlog stats`, and `ls --tree`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use dshlog_tests::cmd::Place;
use dshlog_tests::model::Corpora;

use crate::{PROGRAM, place};

fn json(place: &Place, args: &[&str]) -> Value {
    let output = place.run(&[&["stats", "--format", "json"][..], args].concat());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The figures that the tables below name, out of a total or a row.
fn figures(object: &Value) -> Vec<u64> {
    [
        "/tokens/input",
        "/tokens/output",
        "/requests/answers",
        "/requests/attempts",
        "/requests/titles",
        "/requests/compactions",
        "/requests/searches",
        "/requests/unmetered",
        "/retries",
        "/turns/all",
        "/turns/open",
        "/steps",
        "/tools/calls",
        "/tools/nested",
        "/tools/errors",
        "/tools/unknown",
        "/tools/ms/sum",
        "/modelMs/sum",
        "/firstTokenMs/sum",
        "/decode/ms",
    ]
    .iter()
    .map(|pointer| {
        object.pointer(pointer).unwrap_or_else(|| panic!("{pointer} in {object}")).as_u64().unwrap()
    })
    .collect()
}

/// Real homes against counts of another program, in another language, over the events as the official reader gives them
/// (`current.jsonl` of each log): tokens in, out; answers, attempts, titles, compactions, searches, unmetered; retries;
/// turns, open; steps; calls, nested, errors, unknown; ms of tools, models, first tokens, decoding. Last the outcomes.
#[test]
fn real_homes() {
    for (case, expected, outcomes, failures) in REAL {
        let place = place(&[case]);
        let total = json(&place, &["--by", "none"])["total"].clone();
        assert_eq!(figures(&total), expected, "{case}");
        let named = |list: &Value| -> Vec<String> {
            let words = list.as_array().unwrap().iter();
            words.map(|entry| format!("{} {}", entry["name"].as_str().unwrap(), entry["count"])).collect()
        };
        assert_eq!(named(&total["turns"]["outcomes"]).join(", "), outcomes, "{case}");
        assert_eq!(named(&total["failures"]).join(", "), failures, "{case}");
    }
}

type Real<'a> = (&'a str, [u64; 20], &'a str, &'a str);
const REAL: [Real<'_>; 20] = [
    ("v4-fork", [380, 29, 3, 0, 1, 0, 0, 1, 0, 3, 0, 3, 0, 0, 0, 0, 0, 273, 266, 7], "completed 3", ""),
    (
        "v4-retry-500",
        [130, 10, 1, 1, 1, 0, 0, 2, 1, 1, 0, 1, 0, 0, 0, 0, 0, 651, 641, 10],
        "completed 1",
        "SERVER 1",
    ),
    ("v4-ptc", [380, 29, 3, 0, 1, 0, 0, 1, 0, 1, 0, 3, 4, 2, 3, 0, 718, 146, 141, 5], "completed 1", ""),
    (
        "v4-kill-tool-resumed",
        [240, 18, 2, 0, 1, 0, 0, 1, 0, 2, 0, 2, 2, 0, 0, 1, 119, 329, 285, 44],
        "completed 1, interrupted 1",
        "",
    ),
    ("v4-kill-tool-open", [110, 8, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 2, 0, 0, 1, 119, 171, 140, 31], "", ""),
    ("v4-compact", [1040, 83, 6, 0, 1, 1, 0, 1, 0, 5, 0, 6, 1, 0, 1, 0, 51, 275, 252, 23], "completed 5", ""),
    ("v4-web", [250, 19, 2, 0, 1, 0, 1, 2, 0, 1, 0, 2, 2, 0, 2, 0, 89, 149, 135, 14], "completed 1", ""),
    ("v3-steer", [500, 38, 4, 0, 0, 0, 0, 0, 0, 2, 0, 4, 2, 0, 2, 0, 87, 314, 287, 27], "completed 2", ""),
    (
        "v4-cancel-stream",
        [130, 10, 2, 0, 1, 0, 0, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0, 938, 378, 19],
        "aborted 1, completed 1",
        "",
    ),
    (
        "v4-sse-error",
        [130, 10, 1, 1, 1, 0, 0, 2, 1, 1, 0, 1, 0, 0, 0, 0, 0, 678, 142, 536],
        "completed 1",
        "SERVER 1",
    ),
    ("v4-subagent", [690, 54, 5, 0, 1, 0, 0, 1, 0, 3, 0, 5, 2, 0, 1, 0, 94, 420, 411, 9], "completed 3", ""),
    (
        "v4-tools-parallel",
        [240, 18, 2, 0, 1, 0, 0, 1, 0, 1, 0, 2, 3, 0, 2, 0, 146, 392, 358, 34],
        "completed 1",
        "",
    ),
    ("v4-thinking", [900, 33, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 183, 162, 21], "completed 1", ""),
    (
        "v4-workflow",
        [530, 41, 4, 0, 1, 0, 0, 1, 0, 3, 0, 4, 1, 0, 0, 0, 909, 226, 209, 17],
        "completed 3",
        "",
    ),
    (
        "v0-0.1.1rc1-compaction-auto",
        [2620, 70, 4, 0, 0, 1, 0, 0, 0, 4, 0, 4, 0, 0, 0, 0, 0, 238, 202, 36],
        "completed 4",
        "",
    ),
    (
        "v0-0.1.0rc7-store-fork",
        [168, 51, 3, 0, 0, 0, 0, 0, 0, 3, 0, 3, 0, 0, 0, 0, 0, 323, 290, 33],
        "completed 3",
        "",
    ),
    (
        "v0-0.1.2rc1-subagent-fork",
        [224, 68, 4, 0, 0, 0, 0, 0, 0, 3, 0, 4, 1, 0, 0, 0, 34, 201, 178, 23],
        "completed 3",
        "",
    ),
    (
        "v0-0.1.0rc6-code-mode",
        [112, 34, 2, 0, 0, 0, 0, 0, 0, 1, 0, 2, 3, 2, 0, 0, 1232, 175, 138, 37],
        "completed 1",
        "",
    ),
    (
        "v0-0.1.1rc1-retry-exhausted",
        [56, 17, 1, 3, 0, 0, 0, 3, 2, 2, 0, 2, 0, 0, 0, 0, 0, 90, 50, 40],
        "completed 1, error 1",
        "SERVER 3",
    ),
    (
        "v0-0.1.2rc1-kill9-mid-tool",
        [56, 17, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 178, 147, 31],
        "",
        "",
    ),
];

/// Every request that a real runtime sent to a model and that came to an end is one of ours: the larger corpora have the
/// requests of whole homes as the server got them. Each compaction that failed had sent one, too, of which its log says
/// nothing.
#[test]
fn requests_of_the_wire() {
    let Some(shared) = Corpora::shared() else { return };
    let mut cases: Vec<_> =
        fs::read_dir(shared.dir.join("wire")).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|case| case.join("requests.jsonl").is_file() && case.join("home").is_dir());
    assert!(cases.len() > 50, "only {} homes", cases.len());
    let place = Place::empty(PROGRAM);
    for case in cases {
        let requests = fs::read_to_string(case.join("requests.jsonl")).unwrap();
        // This parser refuses lone surrogates, which bodies may hold.
        let sent = requests
            .lines()
            .map(|line| serde_json::from_str::<Value>(&line.replace("\\ud", "\\u0")).unwrap());
        let is_counted = |request: &Value| {
            !request["path"].as_str().unwrap().ends_with("/files") && request["lost"] != true
        };
        let total = json(&place, &["--by", "none", case.join("home").to_str().unwrap()])["total"].clone();
        let count = |pointer: &str| total.pointer(pointer).unwrap().as_u64().unwrap();
        assert_eq!(
            count("/requests/all") + count("/failedCompactions"),
            sent.filter(is_counted).count() as u64,
            "{}",
            case.display()
        );
    }
}

/// The events that a fork inherited count in its parent, and nowhere when that is not there.
#[test]
fn inherited_events_count_once() {
    let place = place(&["v4-fork"]);
    let home = json(&place, &["--by", "session"]);
    let rows = home["rows"].as_array().unwrap();
    assert_eq!((home["inheritedEvents"].as_u64(), home["withoutParent"].as_u64()), (Some(20), Some(0)));
    let [parent, child] = rows.as_slice() else { panic!("two sessions") };
    let tokens = |object: &Value| object["tokens"]["input"].as_u64().unwrap();
    assert_eq!(tokens(parent) + tokens(child), tokens(&home["total"]));

    let [parent, child] = [parent, child].map(|row| row["session"].as_str().unwrap().to_owned());
    let by_name = |name: &str| json(&place, &["--by", "none", name]);
    let ids: Vec<(String, Value)> =
        [parent, child].into_iter().map(|id| (id.clone(), by_name(&id))).collect();
    let heir = ids.iter().find(|(_, alone)| alone["inheritedEvents"] == 20).unwrap();
    assert_eq!(heir.1["withoutParent"], 1);
    let sum: u64 = ids.iter().map(|(_, alone)| tokens(&alone["total"])).sum();
    assert_eq!(sum, tokens(&home["total"]));
}

/// A session counts by its newest log, and once, however often it is named.
#[test]
fn each_session_counts_once() {
    let place = place(&["v3-continued-by-v4"]);
    let home = json(&place, &["--by", "none"]);
    assert_eq!(home["sessions"], 1);
    let path = place.home();
    let twice = json(&place, &["--by", "none", "latest", path.to_str().unwrap(), "latest"]);
    assert_eq!(twice, home);
    let project = place.home().join("sessions/--tmp-ws-project--");
    assert_eq!(json(&place, &["--by", "none", project.to_str().unwrap()]), home);
}

#[test]
fn pages() {
    let place = place(&["v4-fork", "v4-subagent", "v4-retry-500", "v4-compact", "v0-0.1.0rc7-model-switch"]);
    fs::write(place.path().join("prices.toml"), PRICES).unwrap();
    let told: String = [
        &["stats"][..],
        &["stats", "--by", "session", "--since", "2026-11-30"],
        &["stats", "--by", "tool"],
        &["stats", "--by", "day,model", "--price", "prices.toml"],
        &["stats", "--by", "project", "--width", "60"],
        &["stats", "--by", "none", "latest"],
        &["stats", "--project", "nowhere"],
        &["stats", "--since", "2027-01-01"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("stats", told);
}

#[test]
fn ascii() {
    let place = place(&["v4-tools-parallel", "v4-fork"]);
    for (name, value) in [("TERM", "dumb"), ("LC_ALL", "de_DE.ISO-8859-1")] {
        for args in [&["stats", "--by", "tool"][..], &["ls", "--tree"]] {
            let output = place.command(args).env(name, value).output().unwrap();
            assert!(output.stdout.is_ascii() && !output.stdout.is_empty(), "{name} {args:?}");
        }
    }
}

const PRICES: &str = r#"
[[price]]
model = "deepseek-official/deepseek-*"
currency = "USD"
input = 0.27
output = 1.10
from = 2026-01-01
"#;

#[test]
fn programs_get_rows() {
    let place = place(&["v4-retry-500", "v4-tool-error"]);
    fs::write(place.path().join("prices.toml"), PRICES).unwrap();
    let price = ["--price", "prices.toml"];
    let csv = place.run(&[&["stats", "--format", "csv", "--by", "model"][..], &price].concat());
    let csv = String::from_utf8(csv.stdout).unwrap();
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!((lines.len(), lines[2]), (3, ""), "{csv}");
    let row = |name: &str| {
        let at = lines[0].split(',').position(|head| head == name).unwrap();
        lines[1].split(',').nth(at).unwrap()
    };
    let document = json(&place, &[&["--by", "model"][..], &price].concat());
    let total = &document["total"];
    let cost = |input: u64, output: u64| {
        // Thousandths of a millionth, as whole numbers.
        let nanos = input * 270 + output * 1_100;
        format!("0.{nanos:09}").trim_end_matches('0').to_owned()
    };
    let tokens = |name: &str| total["tokens"][name].as_u64().unwrap();
    let expected = cost(tokens("input"), tokens("output"));
    assert_eq!(total["costs"][0]["amount"], expected.as_str());
    assert_eq!((row("cost"), row("currency"), row("unpriced_tokens")), (&*expected, "USD", "0"));
    assert_eq!(document["rows"][0]["model"], row("model"));
    assert_eq!(row("retries"), "1");
    assert_eq!(document["unpriced"], Value::Array(Vec::new()));
    let unpriced = json(&place, &["--by", "none"]);
    assert!(unpriced["total"].get("costs").is_none());
}

/// What cannot be counted is named, and the rest is counted.
#[test]
fn what_is_left_out_is_named() {
    let place = place(&["broken-z-flip-middle-frame", "v4-thinking", "v4-torn-raw-torn"]);
    let told = place.told(&["stats", "--by", "none"]);
    assert_snapshot!("stats-left-out", told);
    let document = json(&place, &[]);
    assert_eq!(document["leftOut"].as_array().unwrap().len(), 1);
    assert_eq!((document["sessions"].as_u64(), document["torn"].as_u64()), (Some(2), Some(1)));
}

#[test]
fn wrong_usage() {
    let place = place(&["v4-thinking"]);
    fs::write(place.path().join("bad.toml"), "[[price]]\nmodel = \"m\"\ninput = -1\n").unwrap();
    let told: String = [
        &["stats", "--by", "none,day"][..],
        &["stats", "--by", "moon"],
        &["stats", "--since", "yesterday"],
        &["stats", "--price", "bad.toml"],
        &["stats", "--price", "none.toml"],
        &["stats", "no-such-session"],
        &["stats", "--format", "jsonl"],
        &["stats", "--home", "nowhere"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("stats-wrong-usage", told);
}

/// A day begins at midnight where the reader is.
#[test]
fn days_of_the_reader() {
    let place = place(&["v4-multi-turn"]);
    let days = |zone: &str| {
        let output =
            place.command(&["stats", "--by", "day", "--format", "json"]).env("TZ", zone).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        (document["rows"][0]["day"].as_str().unwrap().to_owned(), document["total"].clone())
    };
    let (here, total) = days("UTC");
    assert_eq!(here, "2026-11-30");
    let (there, same) = days("Pacific/Kiritimati");
    assert_eq!((there.as_str(), same), ("2026-12-01", total));
}

#[test]
fn trees() {
    let place = place(&["v4-fork", "v4-subagent", "v4-wire-subagent-fork", "v0-0.1.2a3-subagent-depth2"]);
    let sessions = place.home().join("sessions/--tmp-ws-project--");
    // Two sessions that each name the other as parent, and one whose parent never was.
    for (id, parent) in [("ring-a", "ring-b"), ("ring-b", "ring-a"), ("lost", "never-was")] {
        let folder = sessions.join(id);
        fs::create_dir(&folder).unwrap();
        let header = format!(
            r#"{{"type":"session","version":4,"id":"{id}","createdAt":1796000000000,"cwd":"/tmp/ws/project","parentSession":"{parent}","isSeeded":false,"delegationDepth":0}}"#
        );
        let log = folder.join("session.v4.jsonl");
        fs::write(&log, header + "\n").unwrap();
        let used = std::time::UNIX_EPOCH + std::time::Duration::from_mins(29_930_000);
        fs::File::options().write(true).open(&log).unwrap().set_modified(used).unwrap();
    }
    let told: String = [
        &["ls", "--tree"][..],
        &["ls", "--tree", "--long"],
        &["ls", "--tree", "--columns", "relation,parent", "--since", "2026-12-01T04:49"],
        &["ls", "--tree", "--format", "json", "--project", "demo"],
        &["ls", "--tree", "--since", "2026-12-01T04:42", "--until", "2026-12-01T04:43"],
        &[
            "ls",
            "--tree",
            "--long",
            "--format",
            "json",
            "--since",
            "2026-12-01T04:42",
            "--until",
            "2026-12-01T04:43",
        ],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("tree", told);
}

#[test]
fn an_empty_home() {
    let place = Place::empty(PROGRAM);
    fs::create_dir(place.home().join("sessions")).unwrap();
    let told = place.told(&["stats"]);
    assert_eq!(told, "$ dshlog stats\n! note: there is no session to count\n[0]\n");
}
