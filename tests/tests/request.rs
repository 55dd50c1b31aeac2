//! `dshlog request`, as a person meets it.

use insta::assert_snapshot;

use dshlog_tests::cmd::Place;
use dshlog_tests::model::sha256_hex;

use crate::place;

#[test]
fn views() {
    let place = place(&["wire/v4-tools-changed"]);
    assert_snapshot!("request-step", place.told(&["request", "latest", "--turn", "2"]));
    let titled = crate::place(&["wire/v4-text-model"]);
    assert_snapshot!("request-title", titled.told(&["request", "latest", "--title"]));
    let images = crate::place(&["wire/v4-image-offload"]);
    assert_snapshot!("request-next", images.told(&["request", "latest", "--width", "70"]));
}

/// What a compaction takes off the surface is stated in its event, in tokens of the same estimate.
#[test]
fn estimated_tokens() {
    let place = place(&["v4-compact"]);
    let shown = place.told(&["request", "latest", "--turn", "1", "--tokens"]);
    assert_snapshot!("request-tokens", shown);
    let document = stdout(&place, &["request", "latest", "--compaction", "--tokens", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    let messages = document["estimate"]["messages"].as_array().unwrap();
    let estimated: u64 = messages.iter().skip(1).map(|tokens| tokens.as_u64().unwrap()).sum();
    let events =
        stdout(&place, &["read", "latest", "--events", "--type", "compaction/summary", "--format", "jsonl"]);
    let summary = events.split(|byte| *byte == b'\n').nth(1).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(summary).unwrap();
    assert_eq!(Some(estimated), summary["data"]["shadowedTokenCount"].as_u64());
    // What the provider counted stands beside it, all that was sent.
    let usage = &summary["data"]["usage"];
    let sent =
        ["inputTokens", "cacheReadTokens", "cacheWriteTokens"].iter().filter_map(|name| usage[name].as_u64());
    assert_eq!(document["estimate"]["reported"].as_u64(), Some(sent.sum()));
}

/// What `--full` shows is all there.
#[test]
fn unfolded() {
    let place = place(&["wire/v4-tools-changed"]);
    let folded = place.told(&["request", "latest", "--turn", "2"]);
    let full = place.told(&["request", "latest", "--turn", "2", "--full"]);
    assert!(folded.contains(" lines more") && !full.contains(" lines more"));
    assert!(full.lines().count() > folded.lines().count());
}

fn stdout(place: &Place, args: &[&str]) -> Vec<u8> {
    let output = place.run(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Ways to name one request, each giving the body that was sent. The hashes are those of `corpora/wire`.
#[test]
fn one_request_by_many_names() {
    // The request of turn 2, step 2, which ended in event 36.
    let sent = "802fcac69cb202bcc229b854bec6ee0aa11bcbf332bdb9742a0620c64d1d9dd8";
    let place = place(&["wire/v4-tools-changed"]);
    for which in [
        &["--for", "36"][..],
        &["--turn", "2"],
        &["--turn", "2", "--step", "2"],
        &["--turn", "2", "--step", "2", "--attempt", "1"],
        &["--at", "35"],
    ] {
        let args = [&["request", "latest", "--format", "messages"][..], which].concat();
        let body = stdout(&place, &args);
        assert_eq!(sha256_hex(body.strip_suffix(b"\n").unwrap()), sent, "{which:?}");
    }
}

/// A turn that a restart left open gets its end on the way to V4, so that all later events have other seqs there; `--for`
/// takes those of the file.
#[test]
fn seqs_are_those_of_the_file() {
    let place = place(&["wire/v3-cancel-early"]);
    let stored = stdout(&place, &["read", "latest", "--events", "--as-stored"]);
    let current = stdout(&place, &["read", "latest", "--events"]);
    let last = |events: &[u8]| {
        let text = String::from_utf8(events.to_vec()).unwrap();
        let line = text.lines().rfind(|line| line.contains(r#""type":"assistant/message""#)).unwrap();
        serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap()
    };
    let (seq, carried) = (last(&stored), last(&current));
    assert_eq!(carried, seq + 1, "the case is about this");
    let document = stdout(&place, &["request", "latest", "--for", &seq.to_string(), "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["seq"].as_u64(), Some(seq));
    let header = document["headerSeq"].as_u64().unwrap();
    let stored = String::from_utf8(stored).unwrap();
    assert!(stored.contains(&format!(r#"{{"type":"request/header","seq":{header},"#)));
    let wrong = place.told(&["request", "latest", "--for", &carried.to_string()]);
    assert!(wrong.ends_with("[2]\n"), "{wrong}");
}

/// Members and their order.
#[test]
fn the_document() {
    let place = place(&["wire/v4-compact-fails"]);
    for (which, start, end) in [
        (
            &["--turn", "1"][..],
            r#"{"schema":"dshlog.request/1","turn":1,"step":1,"attempt":1,"headerSeq":10,"config":{"provider":"deepseek-official","model":"deepseek-flash","maxTokens":256000,"reasoningEffort":"high"},"system":"You are an AI agent"#,
            r#","kind":"agent","seq":17,"missing":[],"headers":["#,
        ),
        (
            &["--title"],
            r#"{"schema":"dshlog.request/1","turn":null,"step":null,"attempt":null,"headerSeq":null,"config":{"provider":"deepseek-official","model":"deepseek-flash","maxTokens":4096,"reasoningEffort":"off"},"system":"Create a concise title"#,
            r#","kind":"title","seq":13,"missing":[],"headers":["#,
        ),
        (
            &["--compaction"],
            r#"{"schema":"dshlog.request/1","turn":null,"step":null,"attempt":null,"headerSeq":10,"config":{"provider":"deepseek-official","model":"deepseek-flash","maxTokens":65536,"reasoningEffort":"high"},"system":"You are an AI agent"#,
            r#","kind":"compaction","seq":48,"missing":["instruction"],"headers":["#,
        ),
        (
            &["--for", "39"],
            r#"{"schema":"dshlog.request/1","turn":null,"#,
            r#","kind":"compaction","seq":39,"missing":["instruction","extent"],"headers":["#,
        ),
    ] {
        let args = [&["request", "latest", "--format", "json"][..], which].concat();
        let document = String::from_utf8(stdout(&place, &args)).unwrap();
        let document = document.trim_end();
        let headers = document.rfind(r#","headers":["#).unwrap();
        let members: serde_json::Value = serde_json::from_str(document).unwrap();
        assert_eq!(members["headers"].as_array().unwrap().is_empty(), which == ["--title"], "{which:?}");
        assert_eq!(members["toolHistory"].is_null(), which == ["--title"], "{which:?}");
        let document = &document[..headers + r#","headers":["#.len()];
        assert!(document.starts_with(start), "{which:?}: {}", &document[..400.min(document.len())]);
        assert!(document.ends_with(end), "{which:?}: {}", &document[document.len().saturating_sub(200)..]);
    }
    // The messages are those that `read` derives there.
    let next: serde_json::Value =
        serde_json::from_slice(&stdout(&place, &["request", "latest", "--format", "json"])).unwrap();
    let read: serde_json::Value =
        serde_json::from_slice(&stdout(&place, &["read", "latest", "--messages"])).unwrap();
    assert_eq!(next["messages"], read);
    assert_eq!(next["seq"], serde_json::Value::Null);
}

/// What is told when there is no such request, or no body of it, or one that nobody sent.
#[test]
fn refusals() {
    let place = place(&["wire/v4-tools-changed"]);
    let mut told: String = [
        &["--for", "8"][..],
        &["--for", "999"],
        &["--at", "999"],
        &["--turn", "9"],
        &["--turn", "2", "--step", "7"],
        &["--turn", "2", "--step", "2", "--attempt", "2"],
        &["--compaction"],
        // Behind the call and before its result.
        &["--at", "31", "--format", "messages"],
        &["--at", "3"],
    ]
    .into_iter()
    .map(|which| place.told(&[&["request", "latest"][..], which].concat()))
    .collect();
    let image = crate::place(&["wire/v3-image"]);
    let other = image.run(&["request", "latest", "--turn", "1", "--format", "messages"]);
    told += &String::from_utf8_lossy(&other.stderr);
    let object = image
        .home()
        .join("attachments/v1/objects/7f/7f34c9a33f4c18159f9b579860a2f79e6c9d2518a99e98748110931944fb1d36");
    std::fs::write(&object, "another image").unwrap();
    told += &image.told(&["request", "latest", "--turn", "1", "--format", "chat"]);
    std::fs::remove_file(object).unwrap();
    told += &image.told(&["request", "latest", "--turn", "1", "--format", "chat"]);
    assert_snapshot!("request-refusals", told);
}

/// Uploaded images travel by their ids, when all of them have one.
#[test]
fn uploads() {
    let place = place(&["wire/v4-image-offload"]);
    let ids = place.path().join("ids.json");
    let first = "sha256:44b3912ffe55a4f7bdd00dfafa6ecd8b0f14e745ebab4f89a44246be9efaef31";
    let second = "sha256:32313b8d6aaf60fbcd02cc3479b30ee185946e0a6e162a91c4671201eef912c8";
    let body = |ids_json: &str| {
        std::fs::write(&ids, ids_json).unwrap();
        let args =
            ["request", "latest", "--turn", "2", "--format", "messages", "--home-path", "/tmp/ws/demo-home"];
        stdout(&place, &[&args[..], &["--file-ids", ids.to_str().unwrap()]].concat())
    };
    let sent = body(&format!(r#"{{"{first}":"file_001","{second}":"file_002"}}"#));
    assert_eq!(
        sha256_hex(sent.strip_suffix(b"\n").unwrap()),
        "b4d30f6ed257c2569104e1a175a02b200469da8fc2515b140e77545665fdd0a6"
    );
    let inline = String::from_utf8(body(&format!(r#"{{"{first}":"file_001"}}"#))).unwrap();
    assert_eq!((inline.matches(r#""type":"base64""#).count(), inline.matches("file_001").count()), (2, 0));
    std::fs::write(&ids, "[]").unwrap();
    let args = ["request", "latest", "--format", "messages", "--file-ids", ids.to_str().unwrap()];
    assert_eq!(place.run(&args).status.code(), Some(2));
}

/// What a profile may change of a model.
#[test]
fn routes() {
    let place = place(&["wire/v4-tools-changed"]);
    let body = |more: &[&str]| {
        let args = [&["request", "latest", "--turn", "3", "--format", "messages"][..], more].concat();
        String::from_utf8(stdout(&place, &args)).unwrap()
    };
    let count = |body: &str, what: &str| body.matches(what).count();
    let plain = body(&[]);
    assert_eq!((count(&plain, "tool_addition"), count(&plain, "tool_removal")), (0, 0));
    assert_eq!(body(&["--tool-update", "addition-only"]), plain, "the catalogue has it so");
    assert_eq!(count(&body(&["--tool-update", "none"]), "\"defer_loading\""), 0);
    let images = crate::place(&["wire/v4-text-model"]);
    let args = ["request", "latest", "--turn", "3", "--format", "messages", "--images"];
    let body =
        |images_are: &str| String::from_utf8(stdout(&images, &[&args[..], &[images_are]].concat())).unwrap();
    assert!(
        body("no")
            .contains("[image omitted because this model accepts text only; attachment sha256:7f34c9a3]")
    );
    assert!(body("yes").contains(r#""type":"base64""#));
}

/// A log may end anywhere: what would come next is told of each beginning, or why nothing can.
#[test]
fn every_beginning_of_a_log() {
    let place = place(&["wire/v4-compact-fails"]);
    let events = stdout(&place, &["read", "latest", "--events"]);
    let lines: Vec<&[u8]> = events.split_inclusive(|byte| *byte == b'\n').collect();
    let folder = place.path().join("cut");
    std::fs::create_dir(&folder).unwrap();
    let log = folder.join("session.v4.jsonl");
    for end in 1..=lines.len() {
        std::fs::write(&log, lines[..end].concat()).unwrap();
        // Each form has its turn.
        let format = ["messages", "text", "json"][end % 3];
        let output = place.run(&["request", log.to_str().unwrap(), "--format", format]);
        let has = |kind: &str| {
            let start = format!(r#"{{"type":"{kind}""#);
            lines[..end].iter().any(|line| line.starts_with(start.as_bytes()))
        };
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let (code, expected) = (output.status.code(), if has("request/header") { 0 } else { 3 });
        assert_eq!(code, Some(expected), "{end} lines, {format}: {told}");
        assert_eq!(output.stdout.is_empty(), expected != 0, "{end} lines, {format}");
        // A compaction that has begun and not ended can be asked for.
        if lines[end - 1].starts_with(br#"{"type":"compaction/"#) {
            let compaction = place.run(&["request", log.to_str().unwrap(), "--compaction"]);
            assert_eq!(compaction.status.code(), Some(0), "{end} lines");
        }
    }
}

/// A switch that has no effect is refused, and `--through` takes seqs of the file: event 27 is 17 in V4.
#[test]
fn extents() {
    let place = place(&["v1-0.1.1rc1-compaction-auto"]);
    let code = |args: &[&str]| place.run(&[&["request", "latest"][..], args].concat()).status.code();
    for (args, expected) in [
        (&["--through", "27"][..], Some(2)),
        (&["--instruction", "/dev/null"], Some(2)),
        // The log tells what this one was shown.
        (&["--for", "47", "--through", "27"], Some(2)),
        (&["--for", "51", "--through", "27"], Some(0)),
        (&["--for", "51", "--through", "50"], Some(2)),
        (&["--for", "51", "--through", "999"], Some(2)),
    ] {
        assert_eq!(code(args), expected, "{args:?}");
    }
}

/// What stands in the place of an image and is no file is never waited for.
#[cfg(unix)]
#[test]
fn an_image_that_is_no_file() {
    let place = place(&["wire/v4-image-offload"]);
    let digest = "44b3912ffe55a4f7bdd00dfafa6ecd8b0f14e745ebab4f89a44246be9efaef31";
    let object = place.home().join("attachments/v1/objects/44").join(digest);
    std::fs::remove_file(&object).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &object).unwrap();
    let output = place.run(&["request", "latest", "--turn", "2", "--format", "messages"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not the image that its name says"));
}
