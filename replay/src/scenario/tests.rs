use std::path::Path;
use std::time::Duration;

use super::*;
use crate::agent::Mode;
use crate::compare::Rule;

fn read(text: &str) -> Result<Scenario, String> {
    let settings = Settings::parse(text).map_err(|fault| fault.to_string())?;
    settings.scenario(Path::new("/suite/case")).map_err(|fault| fault.to_string())
}

#[test]
fn what_is_not_said_is_the_usual() {
    let read = read(r#"session = "sessions/p/s""#).unwrap();
    let usual = Scenario::of_session("case".to_owned(), "/suite/case/sessions/p/s".into());
    assert_eq!(read, Scenario { folder: Some("/suite/case".into()), ..usual });
}

#[test]
fn everything_can_be_said() {
    let read = read(
        r#"
        session = "sessions/p/s/session.v4.jsonl"
        expected = "expected.v4.jsonl"
        expected_subagents = { s-1 = "expected.s-1.v4.jsonl" }
        agent = "my-agent --fast"
        dialect = "chat"
        patches = ["no-titles.yml"]
        prompts = ["one", "two"]
        timeout_s = 0.5
        idle_timeout_ms = 400
        title_wait_ms = 300
        compare = { what = ["requests"], keep = ["folders"], ignore = ["usage"] }
        retry = { most = 1, codes = ["SERVER", "RATE_LIMIT"] }
        env = { A = "1" }
        "#,
    )
    .unwrap();
    assert_eq!(read.agent, AgentChoice::Command("my-agent --fast".to_owned()));
    assert_eq!(read.expected, Some("/suite/case/expected.v4.jsonl".into()));
    assert_eq!(read.expected_subagents, [("s-1".to_owned(), "/suite/case/expected.s-1.v4.jsonl".into())]);
    assert_eq!(read.dialect, Some(Dialect::Chat));
    assert_eq!(read.patches, [PathBuf::from("/suite/case/no-titles.yml")]);
    assert_eq!(read.timeout, Duration::from_millis(500));
    assert_eq!(read.title_wait(), Duration::from_millis(300));
    assert_eq!(read.idle, Duration::from_millis(400));
    assert_eq!(read.compared, Compared { events: false, requests: true });
    assert!(!read.rules.has(Rule::Folders) && read.rules.has(Rule::Usage) && read.rules.has(Rule::Ids));
    let codes = ["RATE_LIMIT", "SERVER"].map(str::to_owned).to_vec();
    assert_eq!(read.retry.unwrap().mode, Mode::Normal { most: 1, codes });
    assert_eq!(read.env, [("A".to_owned(), "1".to_owned())]);
}

#[test]
fn what_cannot_be_is_told_with_its_place() {
    for (text, expected) in [
        ("", "`session`: a scenario needs the path of a recorded session"),
        ("session = 1", "`session`: invalid type: integer `1`, expected a string"),
        (r#"session = "/etc""#, "`session`: `/etc` leads out of the folder of the scenario"),
        (r#"session = "../x""#, "`session`: `../x` leads out of the folder of the scenario"),
        (
            "session = \"s\"\npatches = [\"a\", \"/b\"]",
            "`patches[1]`: `/b` leads out of the folder of the scenario",
        ),
        (
            "session = \"s\"\nexpected_subagents.x = \"../b\"",
            "`expected_subagents.x`: `../b` leads out of the folder of the scenario",
        ),
        (
            "session = \"s\"\ndialect = \"c\"",
            "`dialect`: no model is spoken to in `c`; `messages` and `chat` are known",
        ),
        (
            "session = \"s\"\nenv.DSH_HOME = \"/home/me/.dsh\"",
            "`env.DSH_HOME`: every run has its own, so that it leads nowhere else",
        ),
        ("session = \"s\"\ntimeout_s = 0", "`timeout_s`: no time that somebody could wait"),
        ("session = \"s\"\ntimeout_s = nan", "`timeout_s`: no time that somebody could wait"),
        (
            "session = \"s\"\ncompare.keep = [\"id\"]",
            "`compare.keep`: no rule is called `id`; there are ids, turns, seqs, times, folders, versions, ports, \
             floating, usage, chunks",
        ),
        (
            "session = \"s\"\ncompare = { keep = [\"ids\"], ignore = [\"ids\"] }",
            "`compare.keep`: `ids` cannot be kept and ignored",
        ),
        ("session = \"s\"\ncompare.what = []", "`compare.what`: nothing would be compared"),
        (
            "session = \"s\"\ncompare.what = [\"messages\"]",
            "`compare.what`: `messages` cannot be compared; `events` and `requests` can",
        ),
    ] {
        assert_eq!(read(text).unwrap_err(), expected, "{text}");
    }
    for text in ["session = ", "sessions = \"s\"\nsession = \"s\""] {
        let fault = read(text).unwrap_err();
        assert!(fault.contains("line 1") || fault.starts_with("`sessions`: unknown field"), "{fault}");
    }
}

#[test]
fn a_suite_is_a_folder_of_scenarios() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b", "a", "no-scenario"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        if name.len() == 1 {
            std::fs::write(folder.path().join(name).join(FILE), "session = \"s\"").unwrap();
        }
    }
    let found = suite(folder.path()).unwrap();
    let names: Vec<String> = found.iter().map(|path| Scenario::load(path).unwrap().name).collect();
    assert_eq!(names, ["a", "b"]);
    let told = Scenario::load(&folder.path().join("none")).unwrap_err().to_string();
    assert!(told.starts_with("cannot read ") && told.ends_with("none/scenario.toml"), "{told}");
}
