//! `dshlog export`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use dshlog_tests::browser::Browser;
use dshlog_tests::cmd::Place;
use dshlog_tests::grow::{Plan, grow};
use dshlog_tests::hostile::{MARK, hostile};
use dshlog_tests::model::{Corpora, Status, repository};
use insta::assert_snapshot;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;

use crate::{PROGRAM, place};

/// A page of the last session, in a file.
fn page(place: &Place, more: &[&str]) -> PathBuf {
    let args = [&["export", "latest", "--out", "page.html", "--force", "--quiet"], more].concat();
    assert_eq!(place.told(&args).lines().last(), Some("[0]"));
    place.path().join("page.html")
}

#[test]
fn markdown() {
    for (case, more) in [
        ("v4-ptc", &[][..]),
        ("v4-fork", &[]),
        ("v4-tools-parallel", &[]),
        ("v4-retry-500", &[]),
        ("v4-compact", &["--turn", "4"]),
    ] {
        let args = [&["export", "latest", "--format", "md"], more].concat();
        assert_snapshot!(format!("md-{case}"), place(&[case]).told(&args));
    }
}

/// Which form, where to, and what is refused.
#[test]
fn files_and_forms() {
    let place = place(&["v4-multi-turn"]);
    let told: String = [
        &["export", "latest", "--out", "a.jsonl", "--turn", "2"][..],
        &["export", "latest", "--out", "a.jsonl"],
        &["export", "latest", "--out", "a.jsonl", "--force"],
        &["export", "latest", "--out", "nowhere/a.md"],
        &["export", "latest", "--format", "text"],
        &["export", "latest", "--turn", "9"],
        &["export", "latest", "--at", "900"],
        &["export", "latest", "--turn", "1", "--with-children"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("files", told);
    let first = |args: &[&str]| -> String {
        String::from_utf8_lossy(&place.run(args).stdout).chars().take(24).collect()
    };
    assert_eq!(first(&["export", "latest"]), "<!doctype html>\n<html la");
    assert_eq!(first(&["export", "latest", "--out", "-", "--format", "json"]), r#"{"schema":"dshlog.transc"#);
    let lines = fs::read_to_string(place.path().join("a.jsonl")).unwrap();
    assert!(lines.starts_with(r#"{"schema":"dshlog.transcript/1""#) && lines.lines().count() > 10);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "the home and the file, nothing half done");
}

/// A log that dsh refuses is not exported.
#[test]
fn refusals() {
    let place = place(&["broken-z-unknown-required-middle"]);
    assert_snapshot!("refused", place.told(&["export", "latest", "--out", "a.html"]));
    assert!(!place.path().join("a.html").exists());
}

/// The document and the lines hold the same.
#[test]
fn one_document_or_many_lines() {
    for case in ["v4-compact", "v4-fork", "v4-ptc", "v4-wire-image-offload", "v4-retry-500", "v3-subagent"] {
        let place = place(&[case]);
        let run = |format| {
            let output = place.run(&["export", "latest", "--format", format]);
            assert_eq!(output.status.code(), Some(0), "{case}");
            String::from_utf8(output.stdout).unwrap()
        };
        let mut document: Value = serde_json::from_str(&run("json")).unwrap();
        let lines = run("jsonl");
        let mut lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let entries = document.as_object_mut().unwrap().remove("entries").unwrap();
        assert_eq!(lines.next(), Some(document), "{case}");
        assert_eq!(Value::Array(lines.collect()), entries, "{case}");
    }
}

/// Against the surface that the official reader derives: what is on it is what the model sees.
#[test]
fn what_the_model_sees() {
    let corpora = Corpora::own();
    let mut gone = 0;
    for entry in &corpora.entries {
        let Status::Restored(restored) = &entry.status else { continue };
        let Some(surface) = &restored.surface else { continue };
        let place = Place::empty(PROGRAM);
        let output = place.run(&["export", entry.log.to_str().unwrap(), "--format", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut check = |part: &Value, seq: &Value| {
            let (Some(seen), Some(seq)) = (part["seen"].as_str(), seq.as_u64()) else { return };
            assert_eq!(surface.contains(&seq), seen == "yes", "{}: {seq} {part}", entry.case);
            gone += usize::from(seen != "yes");
        };
        for part in document["entries"].as_array().unwrap() {
            match part["kind"].as_str().unwrap() {
                "tool" => check(part, &part["result"]["seq"]),
                "context" => {
                    for item in part["items"].as_array().unwrap() {
                        check(item, &item["seq"]);
                    }
                }
                _ => check(part, &part["seq"]),
            }
        }
    }
    assert!(gone > 5, "only {gone} messages left the surface");
}

/// Every member that programs are given is on the page.
#[test]
fn every_member_is_described() {
    fn names(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    found.insert(name.clone());
                    names(value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            _ => {}
        }
    }
    let page = fs::read_to_string(repository().join("docs/export.md")).unwrap();
    let mut kinds = BTreeSet::new();
    let mut found = BTreeSet::new();
    for entry in &Corpora::own().entries {
        let Status::Restored(_) = &entry.status else { continue };
        let output = Place::empty(PROGRAM).run(&["export", entry.log.to_str().unwrap(), "--format", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        names(&document, &mut found);
        let entries = document["entries"].as_array().unwrap();
        kinds.extend(entries.iter().map(|entry| entry["kind"].as_str().unwrap().to_owned()));
    }
    let missing: Vec<&String> =
        found.iter().chain(&kinds).filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, [] as [&String; 0], "docs/export.md says nothing of these");
    assert_eq!(kinds.len(), 10, "{kinds:?}");
}

/// Nothing of a hostile text reaches a terminal, whatever is shown.
#[test]
fn hostile_text_in_a_terminal() {
    let place = Place::empty(PROGRAM);
    hostile(&place.home()).unwrap();
    for args in [
        &["read", "latest"][..],
        &["read", "latest", "--full"],
        &["read", "latest", "--full", "--seqs", "--color", "always"],
        &["read", "latest", "--width", "40"],
        &["read", "latest", "--surface"],
        &["read", "latest", "--events", "--format", "text"],
        &["ls", "--long"],
        &["export", "latest", "--format", "md"],
        &["export", "latest"],
    ] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let shown = String::from_utf8(output.stdout).unwrap();
        // The surface is a table of seqs.
        assert!(shown.contains(MARK) || args.contains(&"--surface"), "{args:?}");
        for theirs in ["\u{1b}[31;5m", "\u{1b}[2J", "\u{1b}]"] {
            assert!(!shown.contains(theirs), "{args:?}: an escape sequence came through");
        }
        let shown = if args.contains(&"always") { shown.replace("\u{1b}[", "") } else { shown };
        let acting = |c: char| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}')
        };
        assert_eq!(shown.chars().find(|c| acting(*c)), None, "{args:?}");
    }
}

/// A reader of Markdown finds no HTML, no link, no image and no heading in it but ours.
#[test]
fn hostile_text_in_markdown() {
    let place = Place::empty(PROGRAM);
    hostile(&place.home()).unwrap();
    let text = String::from_utf8(place.run(&["export", "latest", "--format", "md"]).stdout).unwrap();
    let mut headings = Vec::new();
    let mut html = String::new();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    for event in Parser::new_ext(&text, options) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => headings.push(level as u8),
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("{event:?}"),
            Event::Html(part) | Event::InlineHtml(part) => html.push_str(&part),
            _ => {}
        }
    }
    for line in html.lines() {
        let inner = line.strip_prefix("<details><summary>").and_then(|line| line.strip_suffix("</summary>"));
        assert!(line == "</details>" || inner.is_some_and(|inner| !inner.contains(['<', '>'])), "{line}");
    }
    assert!(html.contains(MARK), "a summary tells of it");
    // Of the session and of the turn; those of the texts are of the fourth level and below.
    assert_eq!(headings.iter().filter(|level| **level < 4).collect::<Vec<_>>(), [&1, &2]);
    assert!(headings.len() > 2);
}

/// In a browser it is text: no script runs, nothing is fetched, no element comes of it.
#[test]
fn hostile_text_in_a_browser() {
    let Some(mut browser) = Browser::find() else { return };
    let place = Place::empty(PROGRAM);
    hostile(&place.home()).unwrap();
    browser.open(&page(&place, &[]));
    let foreign =
        "script:not([type]), iframe, base, textarea, template, img, [onerror], [onload], [onmouseover]";
    assert_eq!(browser.value(&format!("document.querySelectorAll('{foreign}').length")), 1, "our own script");
    // All of it, folded or not, is there to be found.
    browser.key("O");
    browser.key("/");
    browser.write(MARK);
    browser.key("Enter");
    let hits = browser.value("document.getElementById('hits').textContent");
    let count: u64 = hits.as_str().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(count >= 12, "{hits}");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

/// What a person does with a page: search, fold, keys, light and dark, paper.
#[test]
fn a_page_in_a_browser() {
    let Some(mut browser) = Browser::find() else { return };
    let place = place(&["v4-compact"]);
    browser.open(&page(&place, &[]));
    let hits = "document.getElementById('hits').textContent";

    // Found in what is folded, which opens.
    let prompt = "You are an AI agent";
    let open = "[...document.querySelectorAll('.e details')].filter(fold => fold.open).length";
    assert_eq!(browser.value(open), 0);
    browser.key("/");
    browser.write(prompt);
    browser.key("Enter");
    assert_eq!(browser.value(hits), "1 of 1");
    assert_eq!(browser.value(open), 1);
    browser.key("Escape");
    assert_eq!(browser.value(hits), "");
    browser.key("/");
    browser.write("no such words");
    browser.key("Enter");
    assert_eq!(browser.value(hits), "no hit");
    browser.key("Escape");

    // Turn by turn, entry by entry.
    let focus = "(document.activeElement.closest('.turn') || {}).id";
    browser.value("document.getElementById('turn-4') && scrollTo(0, 0)");
    browser.key("n");
    let first = browser.value(focus);
    browser.key("n");
    let second = browser.value(focus);
    assert!(first.is_string() && second.is_string() && first != second, "{first} {second}");
    browser.key("p");
    assert_eq!(browser.value(focus), first);
    browser.key("j");
    assert_eq!(browser.value("document.activeElement.matches('.e')"), true);

    // Anchors, of events without an entry too.
    browser.value("location.hash = '#seq-34'");
    let at = "new Promise(done => setTimeout(() => done(document.activeElement.id)))";
    assert_eq!(browser.value(at), "seq-34");
    browser.value("location.hash = '#seq-35'");
    assert_eq!(browser.value(at), "seq-34");

    // What the model no longer sees says so, and leads to where that was.
    assert_eq!(browser.value("document.querySelector('#seq-34 > .fate').hash"), "#seq-58");
    assert_eq!(browser.value("document.getElementById('seq-58').matches('.compaction')"), true);

    // Drawings with links into the page.
    let dead = "[...document.querySelectorAll('body :not(svg) > a[href^=\"#\"]')].filter(link => \
                !document.getElementById(decodeURIComponent((link.getAttribute('href')).slice(1)))).length";
    assert_eq!(browser.value(dead), 0);
    assert!(browser.value("document.querySelectorAll('.timeline svg a').length").as_u64().unwrap() >= 5);
    assert_eq!(browser.value("document.querySelectorAll('.tokens svg a').length"), 6);

    let scheme = "getComputedStyle(document.documentElement).colorScheme";
    assert_eq!(browser.value(scheme), "light dark");
    browser.key("t");
    let chosen = browser.value(scheme);
    browser.key("t");
    assert_ne!(browser.value(scheme), chosen);

    assert!(browser.print().len() > 10_000);
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

/// A long page opens and is searched like any other, and stays folded.
#[test]
fn a_long_page_in_a_browser() {
    let Some(mut browser) = Browser::find() else { return };
    let place = Place::empty(PROGRAM);
    let grown = grow(&place.home(), &Plan::bytes(2_000_000)).unwrap();
    browser.open(&page(&place, &[]));
    assert_eq!(browser.value("document.querySelectorAll('.turn').length"), grown.turns);
    browser.key("/");
    browser.write("function");
    browser.key("Enter");
    browser.key("Enter");
    let hits = browser.value("document.getElementById('hits').textContent");
    let count = hits.as_str().unwrap().strip_prefix("2 of ").unwrap().parse::<u64>().unwrap();
    assert!(count > 100, "{hits}");
    let open = browser.value("[...document.querySelectorAll('.e details')].filter(fold => fold.open).length");
    assert!(open.as_u64().unwrap() <= 2, "{open}");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

/// Images are in the page when they are in the home.
#[test]
fn images() {
    let place = place(&["v4-wire-image-offload"]);
    let count = |more: &[&str]| {
        fs::read_to_string(page(&place, more)).unwrap().matches("<img src=\"data:image/").count()
    };
    assert!(count(&[]) > 0);
    assert_eq!(count(&["--no-images"]), 0);
    fs::remove_dir_all(place.home().join("attachments")).unwrap();
    assert_eq!(count(&[]), 0);
}

/// Sessions that were started come behind, and are linked.
#[test]
fn children() {
    let place = place(&["v4-subagent"]);
    let log = parent(&place);
    let export = |more: &[&str]| {
        let args = [&["export", log.to_str().unwrap()], more].concat();
        String::from_utf8(place.run(&args).stdout).unwrap()
    };
    let ids = |documents: &str| -> Vec<(String, Value)> {
        let documents = documents.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        documents
            .map(|document| {
                (
                    document["session"]["id"].as_str().unwrap().to_owned(),
                    document["session"]["parent"].clone(),
                )
            })
            .collect()
    };
    let alone = ids(&export(&["--format", "json"]));
    let all = ids(&export(&["--format", "json", "--with-children"]));
    assert_eq!((alone.len(), &all[0]), (1, &alone[0]));
    assert!(all.len() > 1 && all[1..].iter().all(|(_, parent)| *parent == alone[0].0.as_str()), "{all:?}");
    let page = export(&["--with-children"]);
    assert!(page.contains("<section class=\"session\" id=\"s1\"") && page.contains("href=\"#s1\""));
    assert!(page.contains("id=\"s1-seq-"));
    assert!(!export(&[]).contains("href=\"#s1\""));
}

/// The log of the session that the others in a home came from.
fn parent(place: &Place) -> PathBuf {
    let listed = String::from_utf8(place.run(&["ls", "--format", "json"]).stdout).unwrap();
    let sessions: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let parent = sessions.iter().find(|session| session["parent"].is_null()).unwrap();
    Path::new(parent["path"].as_str().unwrap()).to_owned()
}
