//! `dshlog doctor`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use insta::assert_snapshot;
use serde_json::Value;

use crate::{PROGRAM, place};
use dshlog_tests::cmd::{NOW, Place};

const PROJECT: &str = "home/sessions/--tmp-ws-project--";

/// Exit code, and the one document.
#[track_caller]
fn report(place: &Place, args: &[&str]) -> (i32, Value) {
    let output = place.run(&[&["doctor", "--format", "json"][..], args].concat());
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), serde_json::from_str(&told).unwrap())
}

/// The findings of a code.
fn findings<'a>(report: &'a Value, code: &str) -> Vec<&'a Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["code"] == code).collect()
}

/// The only finding of a code.
#[track_caller]
fn finding<'a>(report: &'a Value, code: &str) -> &'a Value {
    let found = findings(report, code);
    assert_eq!(found.len(), 1, "{code} in {report}");
    found[0]
}

/// The only thing that the only finding of a code is about.
#[track_caller]
fn subject<'a>(report: &'a Value, code: &str) -> &'a Value {
    let finding = finding(report, code);
    assert_eq!(finding["count"], 1, "{finding}");
    &finding["subjects"][0]
}

/// All codes that are found, with what dsh loses to them.
fn codes(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| (text(&finding["code"]), text(&finding["blocks"]))).collect()
}

/// The log of the only session whose id contains `id`.
fn log(place: &Place, id: &str) -> PathBuf {
    let projects = fs::read_dir(place.home().join("sessions")).unwrap();
    let sessions = projects.flat_map(|project| fs::read_dir(project.unwrap().path()).unwrap());
    let folder = sessions.map(|s| s.unwrap().path()).find(|s| s.to_string_lossy().contains(id)).unwrap();
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.into_iter().rfind(|file| file.to_string_lossy().contains(".jsonl")).unwrap()
}

/// A file, written this long before everything happens.
fn aged(path: &Path, bytes: &[u8], age: Duration) {
    fs::write(path, bytes).unwrap();
    let time = UNIX_EPOCH + Duration::from_secs(NOW.parse().unwrap()) - age;
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// A raw session with nothing in it but its header and these rows.
fn session(place: &Place, id: &str, header: &str, rows: &str) -> PathBuf {
    let folder = place.path().join(PROJECT).join(id);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("session.v4.jsonl");
    let line = format!(
        r#"{{"type":"session","version":4,"id":"{id}","createdAt":1,"cwd":"/tmp/ws/project",{header}"isSeeded":false,"delegationDepth":0}}"#
    );
    fs::write(&path, format!("{line}\n{rows}")).unwrap();
    path
}

/// Let a shell run every command of the findings that a command mends.
#[cfg(unix)]
fn mend(place: &Place, report: &Value) {
    for finding in report["findings"].as_array().unwrap() {
        if finding["mend"]["by"] != "command" || finding["severity"] == "note" {
            continue;
        }
        for command in
            finding["subjects"].as_array().unwrap().iter().flat_map(|s| s["commands"].as_array().unwrap())
        {
            let output = Command::new("bash").args(["-c", command.as_str().unwrap()]).output().unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(place.home().is_dir());
}

#[test]
fn healthy_homes() {
    let place = place(&["v4-fork", "v4-subagent"]);
    assert_snapshot!("healthy", place.told(&["doctor"]) + &place.told(&["doctor", "--format", "json"]));
}

#[test]
fn places_without_sessions() {
    let place = Place::empty(PROGRAM);
    fs::create_dir_all(place.path().join("other/sessions")).unwrap();
    fs::write(place.path().join("file"), "").unwrap();
    let told: String = [
        &["doctor"][..],
        &["doctor", "nowhere"],
        &["doctor", "other"],
        &["doctor", "file"],
        &["doctor", "--format", "table"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("empty", told);
}

/// Old logs are no fault: the next upgrade carries them over.
#[test]
fn before_an_upgrade() {
    let place = place(&["v0-0.1.0rc6-commands", "v1-0.1.2rc1-delivery", "v3-fork", "v3-continued-by-v4"]);
    assert_snapshot!("old", place.told(&["doctor"]) + &place.told(&["doctor", "--home", "home", "-q"]));
    let (code, report) = report(&place, &[]);
    assert_eq!((code, &report["ok"], &report["blocks"]), (0, &true.into(), &"nothing".into()));
    assert_eq!(report["sessions"]["toMigrate"], 4);
}

/// Everything that is wrong with logs, by rule.
#[test]
fn refused_logs() {
    let place = place(&[
        "v0-0.1.2rc1-appended-ignorable-unknown",
        "v0-0.1.1rc1-workflow",
        "v4-prune-outside-turn",
        "broken-z-unknown-required-middle",
        "v4-torn-checksum-torn",
        "v3-torn-checksum-torn",
    ]);
    assert_snapshot!("refused", place.told(&["doctor"]) + &place.told(&["doctor", "--format", "json"]));
}

/// Who wrote an event that only some readers know, as far as the log tells.
#[test]
fn writers() {
    let place = place(&["broken-z-unknown-required-middle", "v0-0.1.2rc1-appended-ignorable-unknown"]);
    let (code, report) = report(&place, &[]);
    assert_eq!(code, 1);
    let unknown = finding(&report, "unknown-event");
    assert_eq!(unknown["mend"]["by"], "nothing");
    let writers: Vec<String> =
        unknown["subjects"].as_array().unwrap().iter().map(|s| s["writer"].to_string()).collect();
    assert_eq!(
        writers,
        [
            r#"{"events":["x-lab/note"],"model":"deepseek-v4-flash","plugin":"x-lab","provider":"deepseek-official","runtime":"dsh up to 0.1.2-rc.1","time":1796046647073}"#,
            r#"{"events":["future/thing"],"model":null,"plugin":"future","provider":null,"runtime":"dsh 0.2","time":1796045003456}"#,
        ]
    );
    let place = crate::place(&["broken-z-unknown-ignorable"]);
    let (code, report) = self::report(&place, &[]);
    assert_eq!(code, 0);
    assert_eq!(subject(&report, "ignorable-event")["detail"], "1 future/thing");
}

/// What hides sessions from dsh, and is gone when the commands have run.
#[cfg(unix)]
#[test]
fn a_root_that_dsh_refuses() {
    let place = place(&[
        "v4-fork",
        "v4-thinking",
        "v4-subagent",
        "v4-torn-raw-torn",
        "broken-v3-wrong-id",
        "broken-z-header-retired-policy",
    ]);
    let project = place.path().join(PROJECT);
    let thinking = log(&place, "48976fcf");
    fs::write(project.join("it's flat.jsonl"), "x").unwrap();
    fs::rename(&thinking, thinking.with_file_name("session.v3.jsonl.zstd")).unwrap();
    assert_snapshot!("root", place.told(&["doctor", "-v"]));

    let (code, before) = report(&place, &[]);
    assert_eq!((code, &before["blocks"]), (1, &"root".into()));
    mend(&place, &before);
    let (_, after) = report(&place, &[]);
    assert_eq!(after["blocks"], "nothing", "{after}");
    assert!(thinking.exists());
    let (code, raw) = report(&place, &["home-raw"]);
    assert_eq!((code, &raw["sessions"]["count"]), (1, &1.into()), "{raw}");
    assert!(place.path().join("home/sessions-set-aside/--tmp-ws-project--/it's flat.jsonl").exists());
}

/// A name is changed only where the rows are those of the version that the header says.
#[test]
fn a_wrong_version() {
    let place = place(&["broken-v3-version-4-header"]);
    let (_, report) = report(&place, &[]);
    let subject = subject(&report, "version-mismatch");
    assert!(subject["commands"][0].as_str().unwrap().contains("home/sessions-set-aside"), "{subject}");
    assert_eq!(subject["writer"]["runtime"], "dsh 0.2");
}

#[test]
fn both_encodings_in_one_folder() {
    let place = place(&["v4-thinking"]);
    let log = log(&place, "48976fcf");
    fs::copy(&log, log.with_file_name("session.v4.jsonl")).unwrap();
    let (code, report) = report(&place, &[]);
    assert_eq!(code, 1);
    assert_eq!(codes(&report), [("mixed-encodings".to_owned(), "root".to_owned())]);
    let commands = subject(&report, "mixed-encodings")["commands"].as_array().unwrap().len();
    assert_eq!(commands, 2);
}

/// A root of raw logs only is read by some profiles.
#[test]
fn a_raw_root() {
    let place = place(&["v4-raw-jsonl"]);
    let (code, report) = report(&place, &[]);
    assert_eq!(code, 0);
    assert_eq!(codes(&report), [("raw-root".to_owned(), "nothing".to_owned())]);
}

/// A copy in another project is misplaced, and there twice.
#[test]
fn the_same_session_twice() {
    let place = place(&["v4-thinking"]);
    let from = log(&place, "48976fcf");
    let folder = place.home().join("sessions/--copy--").join(from.parent().unwrap().file_name().unwrap());
    fs::create_dir_all(&folder).unwrap();
    fs::copy(&from, folder.join(from.file_name().unwrap())).unwrap();
    let (_, report) = report(&place, &[]);
    let list = |code: &str| (code.to_owned(), "list".to_owned());
    assert_eq!(codes(&report), [list("duplicate-id"), list("identity")]);
    assert_eq!(finding(&report, "duplicate-id")["count"], 2);
    // Not where the other one lies.
    let command = subject(&report, "identity")["commands"][0].as_str().unwrap();
    assert!(command.contains("home/sessions-set-aside/--copy--"), "{command}");
}

#[test]
fn names_in_the_way() {
    let place = place(&["v4-thinking"]);
    let id = log(&place, "48976fcf").parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let other = place.home().join("sessions/--other--");
    fs::create_dir_all(other.join(format!("{id}.jsonl.zstd"))).unwrap();
    fs::write(other.join(&id), "x").unwrap();
    let (code, report) = report(&place, &[]);
    assert_eq!(code, 1);
    let found: Vec<_> = findings(&report, "in-the-way")
        .iter()
        .map(|finding| (finding["blocks"].as_str().unwrap(), &finding["subjects"][0]["session"]))
        .collect();
    let id = Value::from(id);
    assert_eq!(found, [("list", &id), ("session", &id)]);
}

/// A session in the way of another one is moved by nobody while a writer is at work on it.
#[cfg(unix)]
#[test]
fn a_session_at_work_in_the_way() {
    let place = Place::empty(PROGRAM);
    session(&place, "a", "", "");
    let log = session(&place, "a.jsonl", "", "");
    let commands = || subject(&report(&place, &[]).1, "in-the-way")["commands"].as_array().unwrap().len();
    let lock = File::create(log.with_file_name("session.lock")).unwrap();
    assert_eq!(commands(), 1);
    lock.lock().unwrap();
    assert_eq!(commands(), 0);
}

/// Temporary files are removed by the command, but not beside a writer at work.
#[cfg(unix)]
#[test]
fn leftovers_and_locks() {
    let place = place(&["v4-thinking", "v3-fork", "v4-fork", "v4-two-sessions"]);
    let (thinking, old) = (log(&place, "48976fcf"), log(&place, "8652561f"));
    let stray = thinking.with_file_name("session.migration.0123456789abcdef.jsonl.zstd.tmp");
    aged(&stray, &[0; 2100], Duration::from_hours(74));
    let busy = old.with_file_name("session.migration.0123456789abcdef.jsonl.zstd.tmp");
    aged(&busy, b"x", Duration::from_secs(5));
    let project = place.path().join(PROJECT);
    fs::create_dir(project.join("session-new")).unwrap();
    aged(&project.join("session-new/session.v4.jsonl.zstd.0123456789ab.tmp"), b"", Duration::from_mins(1));
    fs::create_dir(project.join(".dsh-mkdir-Ab12Cd")).unwrap();
    fs::write(thinking.with_file_name("session.lock"), "").unwrap();
    let locked = File::create(old.with_file_name("session.lock")).unwrap();
    locked.lock().unwrap();

    let told = place.told(&["doctor"]);
    let own = format!("process {}", std::process::id());
    let age = told.split("folder, ").nth(1).map(|rest| rest.split(" old").next().unwrap().to_owned());
    let told = told.replace(&own, "process [own]").replace(&age.unwrap_or_default(), "[age]");
    assert_snapshot!("leftovers", told);
    let (_, report) = report(&place, &[]);
    assert_eq!(report["locks"].to_string(), r#"{"free":1,"held":1}"#);
    mend(&place, &report);
    assert!(!stray.exists() && busy.exists());
    drop(locked);
    let (_, report) = self::report(&place, &[]);
    assert_eq!(subject(&report, "leftover")["path"], *busy.to_str().unwrap());
    assert_eq!(report["sessions"]["notJudged"], 0);
}

/// A lock that may not be opened tells of no writer, and of none that is not there; dsh itself cannot write then.
#[cfg(unix)]
#[test]
fn locks_that_do_not_tell() {
    let place = place(&["v4-thinking", "v3-fork"]);
    let folders =
        [log(&place, "48976fcf"), log(&place, "8652561f")].map(|log| log.parent().unwrap().to_owned());
    for folder in &folders {
        aged(
            &folder.join("session.migration.0123456789abcdef.jsonl.zstd.tmp"),
            b"x",
            Duration::from_hours(9),
        );
        // A link to itself cannot be opened by anybody.
        std::os::unix::fs::symlink("session.lock", folder.join("session.lock")).unwrap();
    }
    let made = place.path().join(PROJECT).join("session-new");
    fs::create_dir(&made).unwrap();
    std::os::unix::fs::symlink("session.lock", made.join("session.lock")).unwrap();
    let (code, report) = report(&place, &[]);
    assert_eq!(code, 4);
    let unknown = finding(&report, "lock-unknown");
    assert_eq!((&unknown["severity"], &unknown["blocks"]), (&"error".into(), &"session".into()));
    assert_eq!(unknown["count"], 3, "{unknown}");
    for code in ["lock-held", "not-judged", "io"] {
        assert_eq!(findings(&report, code).len(), 0, "{code}");
    }
    let leftovers = finding(&report, "leftover");
    assert_eq!((&leftovers["mend"]["by"], &leftovers["count"]), (&"person".into(), &2.into()));
    for subject in leftovers["subjects"].as_array().unwrap() {
        assert_eq!(subject["commands"].as_array().unwrap().len(), 0, "{subject}");
    }
    assert_eq!(
        (&report["sessions"]["current"], &report["sessions"]["notJudged"], &report["locks"]["held"]),
        (&1.into(), &1.into(), &0.into()),
        "the other session of v3-fork is carried over"
    );
}

/// A tail while a writer is at work is an event on its way.
#[cfg(unix)]
#[test]
fn a_tail_in_the_making() {
    let place = place(&["v4-torn-raw-torn"]);
    assert_eq!(subject(&report(&place, &[]).1, "torn-tail")["bytes"], 83);
    let lock = File::create(log(&place, "13224b9f").with_file_name("session.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(findings(&report(&place, &[]).1, "torn-tail").len(), 0);
}

#[test]
fn families() {
    let place = Place::empty(PROGRAM);
    session(&place, "a", r#""parentSession":"b","#, "");
    session(&place, "b", r#""parentSession":"c","#, "");
    session(&place, "c", r#""parentSession":"b","#, "");
    session(&place, "d", r#""parentSession":"d","#, "");
    session(&place, "e", r#""parentSession":"gone","origin":"subagent","#, "");
    session(&place, "f", r#""parentSession":"bad","#, "");
    fs::write(session(&place, "bad", "", ""), "x").unwrap();
    let (_, report) = report(&place, &[]);
    let names = |code: &str| -> Vec<String> {
        let subjects = finding(&report, code)["subjects"].as_array().unwrap();
        subjects.iter().map(|subject| subject["session"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("own-ancestor"), ["b", "c", "d"]);
    assert_eq!(names("orphan"), ["e"]);
    assert_eq!(subject(&report, "orphan")["detail"], "subagent of gone");
}

/// The newest generation hides the older ones, whatever is wrong with it.
#[test]
fn an_older_generation_beside_a_refused_one() {
    let place = place(&["v3-continued-by-v4"]);
    let newest = log(&place, "06ee35e1");
    let bytes = fs::read(&newest).unwrap();
    fs::write(&newest, [&bytes[..], &[0; 64]].concat()).unwrap();
    let (_, report) = report(&place, &[]);
    let beside = subject(&report, "older-beside");
    assert!(beside["path"].as_str().unwrap().ends_with("session.v3.jsonl.zstd"), "{beside}");
    assert_eq!(beside["commands"].as_array().unwrap().len(), 2);
    assert_eq!(findings(&report, "older-generations").len(), 0);
}

#[test]
fn what_this_system_does_not_read() {
    let place = Place::empty(PROGRAM);
    let folder = place.home().join("sessions/--C-w--/a");
    fs::create_dir_all(&folder).unwrap();
    let header = r#"{"type":"session","version":4,"id":"a","createdAt":1,"cwd":"C:\\w","isSeeded":false,"delegationDepth":0}"#;
    fs::write(folder.join("session.v4.jsonl"), format!("{header}\n")).unwrap();
    let (code, report) = report(&place, &[]);
    if cfg!(unix) {
        assert_eq!((code, &subject(&report, "windows-cwd")["detail"]), (1, &r"C:\w".into()));
        assert_eq!(report["sessions"]["refused"], 1);
    }
}

/// Nothing but holes behind two good frames: found to be damaged without reading them.
#[test]
fn a_file_that_dsh_cannot_open() {
    let place = place(&["v4-thinking"]);
    let log = log(&place, "48976fcf");
    File::options().write(true).open(log).unwrap().set_len(1 << 31).unwrap();
    let (_, report) = report(&place, &[]);
    assert_eq!(subject(&report, "too-large")["bytes"], 1_u64 << 31);
    assert_eq!(finding(&report, "frame-magic")["blocks"], "session");
}

/// What is beyond a limit of ours says nothing of dsh.
#[test]
fn a_line_that_is_too_long() {
    let place = Place::empty(PROGRAM);
    let log = session(&place, "a", "", "");
    File::options().write(true).open(log).unwrap().set_len(257 << 20).unwrap();
    let (code, report) = report(&place, &[]);
    assert_eq!(code, 1);
    assert_eq!(
        (&finding(&report, "limit")["severity"], &report["blocks"]),
        (&"warning".into(), &"nothing".into())
    );
    assert_eq!(report["sessions"]["notJudged"], 1);
}

/// A limit of ours does not make good what dsh refuses.
#[test]
fn a_misplaced_log_with_a_line_that_is_too_long() {
    let place = Place::empty(PROGRAM);
    let log = session(&place, "a", "", "");
    File::options().write(true).open(&log).unwrap().set_len(257 << 20).unwrap();
    fs::rename(log.parent().unwrap(), place.path().join(PROJECT).join("b")).unwrap();
    let (_, report) = report(&place, &[]);
    assert_eq!((findings(&report, "identity").len(), findings(&report, "limit").len()), (1, 1));
    assert_eq!((&report["sessions"]["refused"], &report["sessions"]["notJudged"]), (&1.into(), &0.into()));
}

/// A project that lies elsewhere is found once it is no link.
#[cfg(unix)]
#[test]
fn a_linked_project() {
    let place = place(&["v4-thinking"]);
    let project = place.path().join(PROJECT);
    fs::rename(&project, place.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.path().join("elsewhere"), &project).unwrap();
    let (code, report) = report(&place, &[]);
    assert_eq!((code, &report["sessions"]["count"]), (1, &0.into()));
    assert_eq!(codes(&report), [("linked-project".to_owned(), "session".to_owned())]);
    mend(&place, &report);
    let (code, report) = self::report(&place, &[]);
    assert_eq!((code, &report["sessions"]["current"]), (0, &1.into()));
}

/// Things that are no logs, with names that would act on a terminal.
#[cfg(unix)]
#[test]
fn strays_and_hostile_names() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;
    let place = place(&["v4-thinking"]);
    let project = place.path().join(PROJECT);
    let thinking = log(&place, "48976fcf");
    let evil = "\u{1b}[2Jevil\u{202e}";
    fs::write(place.home().join("sessions").join(evil), "").unwrap();
    fs::write(project.join(OsStr::from_bytes(b"\x1b]0;x\x07\xff.jsonl")), "").unwrap();
    fs::create_dir(project.join(format!("{evil}-empty"))).unwrap();
    let folder = project.join(format!("{evil}-session"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("session.v4.jsonl.zstd"), "").unwrap();
    fs::write(folder.join(format!("{evil}-inside")), "").unwrap();
    symlink(&project, place.home().join("sessions/--link--")).unwrap();
    symlink(thinking.parent().unwrap(), project.join("linked")).unwrap();
    let told = place.told(&["doctor", "-v"]);
    assert!(!told.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{told:?}");
    let told: String =
        told.lines().filter(|line| !line.starts_with("! 20")).flat_map(|line| [line, "\n"]).collect();
    assert_snapshot!("strays", told);
    let (_, report) = report(&place, &[]);
    for code in ["foreign", "no-log", "flat-log", "linked-project", "linked-session", "no-header"] {
        assert_eq!(findings(&report, code).len(), 1, "{code}");
    }
    let flat = &finding(&report, "flat-log")["subjects"][0]["commands"][0];
    let output = Command::new("bash").args(["-c", flat.as_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{flat}");
    assert_eq!(findings(&self::report(&place, &[]).1, "flat-log").len(), 0);
}

/// A folder with the name of a log fails the list of dsh, a link that leads nowhere does not.
#[cfg(unix)]
#[test]
fn what_cannot_be_read() {
    let place = place(&["v4-thinking"]);
    let project = place.path().join(PROJECT);
    fs::create_dir(project.join("link")).unwrap();
    std::os::unix::fs::symlink("/nowhere", project.join("link/session.v4.jsonl.zstd")).unwrap();
    let found = |blocks: &str| ("io".to_owned(), blocks.to_owned());
    let (code, before) = report(&place, &[]);
    assert_eq!((code, codes(&before)), (4, vec![found("session")]));
    fs::create_dir_all(project.join("folder/session.v4.jsonl.zstd")).unwrap();
    let (code, after) = report(&place, &[]);
    assert_eq!((code, codes(&after)), (4, vec![found("list"), found("session")]));
}

/// Nothing is written, whatever is found, and the number of threads changes nothing.
#[test]
fn a_reader_only() {
    let cases = ["v4-fork", "v3-subagent", "v4-torn-raw-torn", "broken-z-wrong-id", "v0-0.1.1rc1-workflow"];
    let place = place(&cases);
    let before = listing(&place.home());
    let alone = place.run(&["doctor", "--jobs", "1", "--format", "json"]).stdout;
    for jobs in ["2", "7"] {
        assert_eq!(place.run(&["doctor", "--jobs", jobs, "--format", "json"]).stdout, alone, "--jobs {jobs}");
    }
    assert_eq!(listing(&place.home()), before);
}

/// Every name below a folder, with size and time.
fn listing(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        all.push(format!("{} {} {:?}", entry.path().display(), metadata.len(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            all.extend(listing(&entry.path()));
        }
    }
    all.sort();
    all
}
