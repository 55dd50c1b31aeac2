//! What the pages say is what the program does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use dshlog_tests::cmd::Place;
use dshlog_tests::model::{Corpora, repository};
use serde_json::Value;

use crate::PROGRAM;

fn page(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap()
}

/// Every command on the pages prints what stands below it. `…` stands for anything.
#[cfg(unix)]
#[test]
fn examples() {
    for (name, at_least) in pages_with_examples() {
        let mut compared = 0;
        for block in page(&name).split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
            for example in format!("\n{block}").split("\n$ ").skip(1) {
                let (line, expected) = example.split_once('\n').unwrap();
                let place = Place::empty(PROGRAM);
                place.add_corpora(&cases(line));
                let told = place.shell(line);
                let expected = expected.trim_end();
                assert!(
                    fits(expected, told.trim_end()),
                    "{name}\n$ {line}\n--- on the page\n{expected}\n--- is\n{told}"
                );
                compared += 1;
            }
        }
        assert!(compared >= at_least, "only {compared} examples in {name}");
    }
}

/// Pages that show the program at work, and how many examples each has at the least.
#[cfg(unix)]
fn pages_with_examples() -> Vec<(String, usize)> {
    let mut pages = vec![("README.md".to_owned(), 6), ("docs/output.md".to_owned(), 10)];
    for entry in fs::read_dir(repository().join("docs")).unwrap() {
        let name = format!("docs/{}", entry.unwrap().file_name().to_str().unwrap());
        let is_page = Path::new(&name).extension().is_some_and(|end| end == "md")
            && pages.iter().all(|(known, _)| *known != name);
        if is_page && page(&name).contains("```console\n") {
            pages.push((name, 1));
        }
    }
    pages
}

/// The cases of the corpora that a command names.
#[cfg(unix)]
fn cases(line: &str) -> Vec<&str> {
    // A case has the home of its sessions in it, and may lie deeper than others.
    line.split("corpora/").skip(1).filter_map(|rest| rest.split("/home").next()).collect()
}

/// True when `text` is `expected` with something in place of each `…`.
#[cfg(unix)]
fn fits(expected: &str, text: &str) -> bool {
    let Some((first, rest)) = expected.split_once('…') else { return expected == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('…').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

/// Every command that the README gives for the first minutes is there.
#[test]
fn start() {
    let readme = page("README.md");
    for line in [
        "cargo install --locked --path cli && dshlog read corpora/v4-multi-turn/home/sessions/*/*",
        ".ci/run test",
    ] {
        assert!(readme.contains(&format!("```\n{line}\n```")), "{line}");
    }
    assert!(repository().join("corpora/v4-multi-turn/home/sessions").is_dir());
    assert!(page(".ci/run").contains("${1:-all}"));
}

/// Members that were printed, by the heading of `docs/output.md` they belong under. Members of `header` and `data` have
/// headings of their own, or another page.
#[derive(Default)]
struct Printed {
    members: BTreeMap<String, BTreeSet<String>>,
    codes: BTreeSet<String>,
}

impl Printed {
    fn run(&mut self, place: &Place, args: &[&str]) {
        self.take(place.run(args));
    }

    fn take(&mut self, output: std::process::Output) {
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            // This parser refuses lone surrogates, which logs may hold.
            let document: Value = serde_json::from_str(&line.replace("\\ud", "\\u0")).unwrap();
            match document.get("schema").and_then(Value::as_str) {
                Some(schema) => self.object(&format!("`{schema}`"), "", &document),
                None if document.is_array() => {
                    for message in document.as_array().unwrap() {
                        self.members_of("Messages", message);
                    }
                }
                None if document["type"] == "session" => self.members_of("The header", &document),
                None => self.members_of("An event", &document),
            }
        }
    }

    fn members_of(&mut self, heading: &str, object: &Value) {
        let names = object.as_object().unwrap().keys().cloned();
        self.members.entry(heading.to_owned()).or_default().extend(names);
    }

    fn object(&mut self, heading: &str, below: &str, object: &Value) {
        for (name, value) in object.as_object().unwrap() {
            let path = if below.is_empty() { name.clone() } else { format!("{below}.{name}") };
            self.members.entry(heading.to_owned()).or_default().insert(path.clone());
            match value {
                Value::Object(_) if name == "header" => self.members_of("The header", value),
                // A document within a document has a heading of its own.
                Value::Object(inner) if inner.contains_key("schema") => {
                    let schema = inner["schema"].as_str().unwrap();
                    self.object(&format!("`{schema}`"), "", value);
                }
                // Any JSON, out of a log.
                Value::Object(_) if name == "value" => {}
                Value::Object(_) => self.object(heading, &path, value),
                Value::Array(items) => {
                    for item in items.iter().filter(|item| item.is_object()) {
                        self.object(heading, &format!("{path}[]"), item);
                    }
                }
                Value::String(code) if name == "code" => _ = self.codes.insert(code.clone()),
                _ => {}
            }
        }
    }
}

/// A home with everything in it that is no session, and a log of Windows beside it.
fn strays(place: &Place) -> String {
    let project = place.home().join("sessions/--tmp-ws-project--");
    fs::create_dir_all(project.join("empty")).unwrap();
    fs::write(project.join("flat.jsonl"), "").unwrap();
    fs::write(place.home().join("sessions/stray.txt"), "").unwrap();
    let session = project.join("session-a");
    fs::create_dir(&session).unwrap();
    fs::write(session.join("session.v4.jsonl.0123456789ab.tmp"), "").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&project, place.home().join("sessions/--link--")).unwrap();
    let log = place.path().join("windows.jsonl");
    let header = r#"{"type":"session","version":4,"id":"a","createdAt":1,"cwd":"C:\\w","isSeeded":false,"delegationDepth":0}"#;
    fs::write(&log, format!("{header}\n")).unwrap();
    log.display().to_string()
}

/// What was printed and stands on none of the pages: headings, and members by heading.
fn missing(printed: &Printed, pages: &[&str]) -> Vec<String> {
    let sections: BTreeMap<&str, &str> = pages
        .iter()
        .flat_map(|page| page.split("\n## "))
        .flat_map(|section| section.split("\n### "))
        .filter_map(|section| section.split_once('\n'))
        .collect();
    let mut missing = Vec::new();
    for (heading, members) in &printed.members {
        let Some(section) = sections.get(heading.as_str()) else {
            missing.push(format!("## {heading}"));
            continue;
        };
        for member in members {
            // An object's members may be told in its own row, and several members in one.
            let rows = |name: &str| {
                let (name, plain) = (format!("`{name}`"), format!("`{}`", name.trim_end_matches("[]")));
                section.lines().filter(move |line| {
                    let first = line.strip_prefix("| ").and_then(|line| line.split(" |").next());
                    first.is_some_and(|cell| cell.split(", ").any(|told| told == name || told == plain))
                })
            };
            let told = rows(member).next().is_some()
                || member.rmatch_indices('.').any(|(dot, _)| {
                    let (object, names) = (&member[..dot], &member[dot + 1..]);
                    let tells = |row: &str| names.split('.').all(|name| row.contains(&format!("`{name}`")));
                    rows(object).any(tells)
                });
            if !told {
                missing.push(format!("{heading}: {member}"));
            }
        }
    }
    missing
}

/// The same of search and its index.
#[test]
fn every_member_of_search_is_described() {
    let place = Place::empty(PROGRAM);
    for case in ["v4-fork", "v4-multi-turn", "v4-torn-checksum-torn", "broken-r-cut-in-header-line"] {
        place.add(case);
    }
    let mut printed = Printed::default();
    printed.run(&place, &["index", "--format", "json"]);
    printed.run(&place, &["index", "--status", "--format", "json"]);
    printed.run(&place, &["search", "one", "--limit", "1", "--format", "json"]);
    printed.run(&place, &["search", "one", "--scan", "--format", "jsonl"]);
    // A hit in the document is one of a line.
    let document = printed.members.get_mut("`dshlog.search/1`").unwrap();
    let hits: Vec<String> = document
        .extract_if(.., |name| name.starts_with("hits[]."))
        .map(|name| name[7..].to_owned())
        .collect();
    printed.members.entry("`dshlog.hit/1`".to_owned()).or_default().extend(hits);
    let pages = [page("docs/index.md"), page("docs/search.md")];
    assert_eq!(
        missing(&printed, &[&pages[0], &pages[1]]),
        [] as [String; 0],
        "the pages say nothing of these"
    );

    for (heading, member) in [
        ("`dshlog.index/1`", "unsound[].reason"),
        ("`dshlog.search/1`", "cursor"),
        ("`dshlog.hit/1`", "score.age"),
    ] {
        assert!(printed.members[heading].contains(member), "nothing printed {heading} {member}");
    }
}

/// The same of replay, with what it tells of differences.
#[test]
#[cfg(unix)]
fn every_member_of_replay_is_described() {
    let place = Place::empty(PROGRAM);
    place.add("v4-todo");
    let mut printed = Printed::default();
    printed.run(&place, &["replay", "latest", "-q", "--format", "json", "--agent", "exit 3"]);
    // Another log is expected.
    assert!(place.told(&["new-scenario", "-q", "suite/other", "--from", "latest"]).ends_with("[0]\n"));
    let scenario = place.path().join("suite/other/scenario.toml");
    let text = fs::read_to_string(&scenario).unwrap() + "expected = \"expected.v4.jsonl.zstd\"\n";
    fs::write(&scenario, text).unwrap();
    let own = Corpora::own();
    let other = own.entries.iter().find(|entry| entry.case == "v4-multi-turn").unwrap();
    fs::copy(&other.log, scenario.with_file_name("expected.v4.jsonl.zstd")).unwrap();
    printed.run(&place, &["replay", "suite", "-q", "--format", "json"]);
    // A difference has a table of its own.
    let document = printed.members.get_mut("`dshlog.diff/1`").unwrap();
    *document = document.iter().map(|name| name.trim_start_matches("differences[].").to_owned()).collect();
    let pages = [page("docs/replay.md"), page("docs/diff.md")];
    assert_eq!(
        missing(&printed, &[&pages[0], &pages[1]]),
        [] as [String; 0],
        "the pages say nothing of these"
    );
    for (heading, member) in
        [("`dshlog.replay/1`", "asked.first.pointer"), ("`dshlog.diff/1`", "changes[].a.pointer")]
    {
        assert!(printed.members[heading].contains(member), "nothing printed {heading} {member}");
    }
}

/// Everything that programs are given on the corpora is on the page: schemas, members, codes.
#[test]
fn every_member_is_described() {
    let place = Place::empty(PROGRAM);
    let windows = strays(&place);
    let corpora = Corpora::own();
    let logs: Vec<&str> = corpora.entries.iter().map(|entry| entry.log.to_str().unwrap()).collect();
    let mut printed = Printed::default();
    printed.run(&place, &["ls", "--all", "--format", "json"]);
    printed.run(&place, &["doctor", "--format", "json"]);
    printed.run(&place, &[&["verify", "--format", "json", &windows][..], &logs].concat());
    let mut homes = BTreeSet::new();
    for (entry, log) in corpora.entries.iter().zip(&logs) {
        let home = entry.log.ancestors().nth(4).unwrap().to_str().unwrap();
        if homes.insert(home) {
            printed.run(&place, &["ls", home, "--all", "--long", "--tree", "--format", "json"]);
            printed.run(&place, &["migrate", "--home", home, "--all", "--dry-run", "--format", "json"]);
            printed.run(&place, &["doctor", home, "--format", "json"]);
        }
        printed.run(&place, &["read", log, "--header", "--long", "--format", "json", "--as-stored"]);
        printed.run(&place, &["read", log, "--events"]);
        printed.run(&place, &["read", log, "--surface", "--format", "json"]);
        printed.run(&place, &["read", log, "--messages"]);
    }

    let (output, codes) = (page("docs/output.md"), page("docs/codes.md"));
    let mut missing = missing(&printed, &[&output]);
    for code in &printed.codes {
        if !codes.contains(&format!("\n| `{code}` |")) && !output.contains(&format!("\n| `{code}` |")) {
            missing.push(format!("code {code}"));
        }
    }
    assert_eq!(missing, [] as [String; 0], "docs/output.md says nothing of these");

    let schemas = ["listed", "skipped", "verify", "migrate", "doctor", "session", "surface"]
        .map(|name| format!("`dshlog.{name}/1`"));
    let headings = schemas.iter().map(String::as_str).chain(["The header", "An event", "Messages"]);
    for heading in headings {
        assert!(printed.members.contains_key(heading), "nothing printed {heading}");
    }
    for code in ["torn-tail", "windows-cwd", "foreign", "flat-log", "leftover", "no-log"] {
        assert!(printed.codes.contains(code), "nothing printed {code}");
    }
}
