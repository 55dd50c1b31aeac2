//! Whole requests against whole expectations, with requests of real runtimes (`tests/data`).

use dshlog_fixture_server::script::{Exchange, Expect, Level, OnDiverged, Response};
use dshlog_fixture_server::{FixtureServer, Outcome, Rule, Script, ServerThread, Verdict};
use serde_json::{Value, json};

use crate::common::{ask, messages};

const MESSAGES: &str = include_str!("../data/messages.json");
const CHAT: &str = include_str!("../data/chat.json");

fn both() -> [(&'static str, Value); 2] {
    [
        ("/v1/messages", serde_json::from_str(MESSAGES).unwrap()),
        ("/chat/completions", serde_json::from_str(CHAT).unwrap()),
    ]
}

fn server(expect: Expect) -> ServerThread {
    let exchange = Exchange { expect: Some(expect), respond: Response::text("ok"), ..Exchange::default() };
    FixtureServer::spawn(Script { exchanges: vec![exchange], ..Script::default() }).unwrap()
}

/// Asks once; gives the status, the verdict, and the places that differ.
#[track_caller]
fn judge(expect: Expect, path: &str, body: &Value) -> (u16, Verdict, Vec<String>) {
    let server = server(expect);
    let status = ask(&server, path, body).status;
    let places = match &server.captures()[0].outcome {
        Outcome::Diverged { differences, .. } => {
            differences.iter().map(|found| found.pointer.clone()).collect()
        }
        _ => Vec::new(),
    };
    (status, server.stop(), places)
}

#[test]
fn the_very_request_is_exact() {
    for (path, body) in both() {
        let (status, verdict, _) = judge(Expect::body(body.clone()), path, &body);
        assert_eq!((status, verdict.exact, verdict.is_good()), (200, 1, true));
        // What dsh adds, and what grows with every request, is no part of it.
        let mut more = body.clone();
        more["dsh_session_log"] = json!({"version": 1});
        more["dsh_plugin_packages"] = json!({"version": 1});
        assert_eq!(judge(Expect::body(body), path, &more).1.exact, 1);
    }
}

#[test]
fn the_same_scenario_in_another_working_directory_still_fits() {
    for (path, body) in both() {
        for folder in
            ["/home/somebody/elsewhere", "/x", "/tmp/ws/demo/inner", "/tmp/ws", "/tmp/with blank", "/tmp/ünï"]
        {
            let moved: Value =
                serde_json::from_str(&body.to_string().replace("/tmp/ws/demo", folder)).unwrap();
            let (status, verdict, places) = judge(Expect::body(body.clone()), path, &moved);
            assert_eq!((status, verdict.normalized, places), (200, 1, vec![]), "{folder}");
            let exact = Expect { level: Level::Exact, ..Expect::body(body.clone()) };
            assert_eq!(judge(exact, path, &moved).0, 400);
            let without = Expect::body(body.clone()).with_rules([Rule::Ids, Rule::Dates]);
            assert_eq!(judge(without, path, &moved).0, 400);
        }
    }
}

#[test]
fn a_request_that_lost_five_tools_does_not_pass() {
    for (path, body) in both() {
        let mut lost = body.clone();
        lost["tools"].as_array_mut().unwrap().drain(3..8);
        let (status, verdict, places) = judge(Expect::body(body), path, &lost);
        assert_eq!((status, verdict.diverged, verdict.is_good()), (400, 1, false));
        assert_eq!(places, ["/tools/3"]);
    }
}

#[test]
fn a_changed_system_prompt_does_not_pass() {
    for (path, body) in both() {
        let mut changed = body.clone();
        let place = if path.ends_with("completions") { "/messages/0/content" } else { "/system" };
        let system = changed.pointer_mut(place).unwrap();
        *system = Value::from(system.as_str().unwrap().replacen(" the ", " a ", 1));
        let (status, verdict, places) = judge(Expect::body(body), path, &changed);
        assert_eq!((status, verdict.diverged), (400, 1));
        assert_eq!(places, [place]);
    }
}

#[test]
fn a_changed_request_is_told_with_its_place_and_may_be_answered() {
    let [(path, body), _] = both();
    let mut changed = body.clone();
    changed["messages"][2]["content"][0]["is_error"] = json!(false);
    changed["max_tokens"] = json!(5);
    let one = server(Expect::body(body.clone()));
    let got = ask(&one, path, &changed);
    let message = got.json()["error"]["message"].clone();
    assert_eq!(
        message,
        "fixture server: the request is not what exchanges[0] expects\n  \
        /max_tokens: expected 256000, is 5\n  /messages/2/content/0/is_error: expected true, is false"
    );
    assert_eq!(got.json()["report"]["places"][0], "/max_tokens");

    let expect = Expect { on_diverged: OnDiverged::Answer, ..Expect::body(body.clone()) };
    let (status, verdict, places) = judge(expect, path, &changed);
    assert_eq!((status, verdict.diverged, verdict.is_good(), places.len()), (200, 1, false, 2));

    let expect = Expect {
        ignore: vec!["/max_tokens".into(), "/messages/2/content/0/is_error".into()],
        ..Expect::body(body)
    };
    assert_eq!(judge(expect, path, &changed).1.exact, 1);
}

#[test]
fn drawn_names_and_moments_differ_but_links_must_not() {
    let with = |a: &str, b: &str, date: &str| {
        messages(&format!(
            "session-{a} and session-{b}, today {date}, at http://127.0.0.1:{}/",
            date.len() * 1000
        ))
    };
    let (a, b, c) = (
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "7c9e6679-7425-40de-944b-e07fc1f90ae7",
        "16fd2706-8baf-433b-82eb-8c7fada847da",
    );
    let expected = with(a, b, "2026-12-01");
    let path = "/messages";
    assert_eq!(
        judge(Expect::body(expected.clone()), path, &with(c, a, "2027-01-31T10:00:00Z")).1.normalized,
        1
    );
    // One id where there were two.
    assert_eq!(judge(Expect::body(expected), path, &with(c, c, "2026-12-01")).1.diverged, 1);
}
