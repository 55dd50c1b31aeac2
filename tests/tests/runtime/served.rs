//! The fixture server in the place of a model service: what the real dsh makes of its answers.

use std::process::Output;

use dshlog_fixture_server::script::{Expect, Matcher};
use dshlog_fixture_server::{FixtureServer, Kind, Outcome, Script, ServerThread, Verdict, json};
use dshlog_tests::runtime::Runtime;

/// A tool call, an overloaded service, a stream that breaks off, and the answer; in odd chunks.
const SCRIPT: &str = r#"
    [[exchanges]]
    match.last_user.contains = "how many files"
    [exchanges.respond]
    chunks = { size = 11 }
    [exchanges.respond.message]
    blocks = [
        { type = "thinking", text = "I should count them.", signature = "sig" },
        { type = "text", text = "Let me look.", split = [3, 6] },
        { type = "tool_use", id = "call_1", name = "no_such_tool", input = { a = 1 }, split = [2] },
    ]

    [[exchanges]]
    respond = { status = 529, headers = { retry-after = "0.1" }, error = { type = "overloaded_error", message = "Overloaded" } }

    [[exchanges]]
    [exchanges.respond]
    message.blocks = [{ type = "text", text = "This breaks" }]
    fault = { how = "close", after = { events = 3 } }

    [[exchanges]]
    match.results = [{ tool_use_id = "call_1", is_error = true }]
    match.json = [{ pointer = "/messages/1/content/0/signature", equals = "sig" }]
    respond.message.blocks = [{ type = "text", text = "There are three files." }]

    [[side]]
    match.kind = "title"
    respond.message.blocks = [{ type = "text", text = "Counting files" }]
"#;

/// One headless run in a folder of its own.
fn run(runtime: &Runtime, server: &ServerThread) -> Output {
    let place = tempfile::tempdir().unwrap();
    let (home, folder) = (place.path().join("home"), place.path().join("work"));
    std::fs::create_dir_all(&folder).unwrap();
    runtime
        .command(&home)
        .current_dir(&folder)
        .env("DEEPSEEK_BASE_URL", server.url())
        .args(["headless", "how many files are here?"])
        .output()
        .unwrap()
}

/// The script, with what the first run asked as what the next one must ask.
fn expecting(server: &ServerThread) -> Script {
    let mut script = Script::from_toml(SCRIPT).unwrap();
    let captures = server.captures();
    let asked = captures.iter().filter(|capture| capture.kind == Kind::Agent);
    for (exchange, capture) in script.exchanges.iter_mut().zip(asked) {
        exchange.expect = Some(Expect::body(json::parse(&capture.body).unwrap()));
        exchange.matcher = Matcher::default();
    }
    script
}

fn verdict(server: ServerThread) -> Verdict {
    let verdict = server.verdict();
    let captures = server.captures();
    let trouble = captures.iter().filter_map(|capture| match &capture.outcome {
        Outcome::Unmatched(report) => Some(report.to_string()),
        Outcome::Diverged { differences, .. } => Some(format!("{differences:#?}")),
        _ => None,
    });
    let trouble: Vec<String> = trouble.collect();
    drop(server);
    assert!(verdict.is_good(), "{verdict}\n{}", trouble.join("\n"));
    verdict
}

#[test]
fn a_script_in_the_place_of_a_service() {
    let Some(runtime) = Runtime::find() else { return };
    let first = FixtureServer::spawn(Script::from_toml(SCRIPT).unwrap()).unwrap();
    let output = run(&runtime, &first);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "There are three files.", "{output:?}");
    assert!(output.status.success());
    let script = expecting(&first);
    verdict(first);

    // The same scenario in another folder and another home asks the same.
    let second = FixtureServer::spawn(script.clone()).unwrap();
    assert!(run(&runtime, &second).status.success());
    let verdict = verdict(second);
    assert_eq!((verdict.exact, verdict.normalized), (0, 4), "{verdict}");

    // Another system prompt is another request: dsh is told so, and ends its turn.
    let mut script = script;
    let body = script.exchanges[0].expect.as_mut().and_then(|expect| expect.body.as_mut()).unwrap();
    let system = body["system"].as_str().unwrap().replacen("the ", "a ", 1);
    body["system"] = system.into();
    let third = FixtureServer::spawn(script).unwrap();
    let output = run(&runtime, &third);
    assert!(!output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("the request is not what exchanges[0] expects"), "{told}");
    assert_eq!(third.stop().diverged, 1);
}
