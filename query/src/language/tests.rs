//! Queries and what they mean.
use dshlog_codec::{Generation, Millis, Seq};
use jiff::tz::TimeZone;

use super::*;
use crate::document::Document;
use crate::session::{Session, Soundness};

/// Wednesday, 2026-12-02, half past ten in Berlin.
const NOW: &str = "2026-12-02T09:30:00Z";

fn parse(text: &str) -> Result<Query, QueryError> {
    Query::parse(text, NOW.parse().unwrap(), &TimeZone::get("Europe/Berlin").unwrap())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    match parse(text) {
        Ok(query) => assert_eq!(query.root.to_string(), expected, "{text}"),
        Err(error) => panic!("{text}: {error:?}"),
    }
}

#[test]
fn words_and_operators() {
    for (text, expected) in [
        ("login", "login|~login"),
        ("  login\t", "login|~login"),
        ("12 34", "(12 AND 34)"),
        ("1 AND 2", "(1 AND 2)"),
        ("1 OR 2", "(1 OR 2)"),
        ("1 2 OR 3 4", "((1 AND 2) OR (3 AND 4))"),
        ("1 (2 OR 3) 4", "(1 AND (2 OR 3) AND 4)"),
        ("((1))", "1"),
        ("(1 2)", "(1 AND 2)"),
        ("1 -2", "(1 AND -2)"),
        ("1 NOT 2", "(1 AND -2)"),
        ("1 AND NOT 2", "(1 AND -2)"),
        ("1 -(2 OR 3)", "(1 AND -(2 OR 3))"),
        ("1 -\"2 3\"", "(1 AND -\"2 3\")"),
        ("1 --2", "(1 AND 2)"),
        ("1 - 2", "(1 AND 2)"),
        ("1->2", "\"1 2\""),
        ("1-2", "\"1 2\""),
        ("NOT NOT 1", "--1"),
        ("1 OR 2 OR 3", "(1 OR 2 OR 3)"),
        ("1 *** 2", "(1 AND 2)"),
        ("1\u{3000}2", "(1 AND 2)"),
        ("\"12 34\"", "\"12 34\""),
        ("\u{201c}12 34\u{201d}", "\"12 34\""),
        ("\"1 \\\"2\\\" 3\"", "\"1 2 3\""),
        ("\"OR\"", "or"),
        ("\"C:\\1\"", "\"c 1\""),
        ("1\"2 3\"4", "(1 AND \"2 3\" AND 4)"),
        ("12*", "12*"),
        ("\"1 2\"*", "\"1 2*\""),
        ("read_f*", "\"read f*\""),
        ("-12* 3", "(-12* AND 3)"),
        ("/a+b/", "/a+b/"),
        ("/a b/ 1", "(/a b/ AND 1)"),
        ("/a\\/b/", "/a/b/"),
        ("(/a+/ OR 1)", "(/a+/ OR 1)"),
        ("1 -/x/", "(1 AND -/x/)"),
        ("/1/2/3", "\"1 2 3\""),
        ("/1/2/", "\"1 2\""),
        ("/12", "12"),
        ("//", ""),
        ("f1()", "f1"),
        ("(f1(2) 3)", "(\"f1 2\" AND 3)"),
        ("1,2", "\"1 2\""),
    ] {
        if expected.is_empty() {
            assert!(parse(text).is_err(), "{text}");
        } else {
            check(text, expected);
        }
    }
}

#[test]
fn what_is_no_field_is_text() {
    for (text, expected) in [
        ("12:30", "\"12 30\""),
        ("http://x1", "\"http x1\""),
        ("session://x1", "\"session x1\""),
        ("std::fs", "\"std fs\""),
        ("model::x", "\"model x\""),
        ("C:\\x", "\"c x\""),
        ("TODO:fix", "\"todo fix\""),
        ("foo:bar", "\"foo bar\""),
        ("Role:user", "\"role user\""),
        ("key:\"1 2\"", "(key|~key AND \"1 2\")"),
        ("12 role: 34", "(12 AND role|~role AND 34)"),
        ("a.role:user", "\"a role user\""),
    ] {
        check(text, expected);
    }
}

#[test]
fn fields() {
    for (text, expected) in [
        ("role:user", "role:user"),
        ("role:user,tool", "(role:user OR role:tool)"),
        ("-role:tool 1", "(-role:tool AND 1)"),
        ("tool:bash", "tool:bash"),
        ("tool:\"two words\"", "tool:two words"),
        ("tool:mcp__*", "tool:mcp__*"),
        ("model:deepseek*", "model:deepseek*"),
        ("session:8d178ff3", "session:8d178ff3"),
        ("parent:8d178ff3", "parent:8d178ff3"),
        ("preset:explore", "preset:explore"),
        ("project:~/work", "project:~/work"),
        ("project:\"/tmp/my work\"", "project:/tmp/my work"),
        ("project:C:\\work", "project:C:\\work"),
        ("project:a,b", "(project:a OR project:b)"),
        ("generation:4", "generation:4"),
        ("generation:v3", "generation:3"),
        ("generation:V0", "generation:0"),
        ("turn:3", "turn:3"),
        ("turn:3,4", "(turn:3 OR turn:4)"),
        ("is:error", "is:error"),
        ("is:fork", "is:fork"),
        ("is:subagent", "is:subagent"),
        ("is:replaced", "is:replaced"),
        ("is:inherited", "is:inherited"),
        ("is:partial", "is:partial"),
        ("has:image", "has:image"),
        ("has:file", "has:file"),
        ("in:title", "in:title"),
        ("in:text", "in:prompt,context,answer"),
        ("in:args", "in:call"),
        ("in:title,reasoning", "(in:title OR in:reasoning)"),
        ("in:todo,system,summary", "(in:todo OR in:system OR in:summary)"),
        ("(role:user) 1", "(role:user AND 1)"),
        ("role:user 1 OR is:error", "((role:user AND 1) OR is:error)"),
        ("-12 project:x", "(-12 AND project:x)"),
    ] {
        check(text, expected);
    }
}

/// Berlin is an hour ahead of UTC in winter, two in summer.
#[test]
fn dates() {
    for (text, expected) in [
        ("after:2026-11-30", "after:2026-11-29T23:00:00Z"),
        ("before:2026-11-30", "before:2026-11-29T23:00:00Z"),
        ("on:2026-11-30", "(after:2026-11-29T23:00:00Z AND before:2026-11-30T23:00:00Z)"),
        ("on:2026-10-25", "(after:2026-10-24T22:00:00Z AND before:2026-10-25T23:00:00Z)"),
        ("on:2026-11", "(after:2026-10-31T23:00:00Z AND before:2026-11-30T23:00:00Z)"),
        ("on:2026", "(after:2025-12-31T23:00:00Z AND before:2026-12-31T23:00:00Z)"),
        ("after:2026-11-30T12:00", "after:2026-11-30T11:00:00Z"),
        ("after:2026-11-30T12:00:00Z", "after:2026-11-30T12:00:00Z"),
        ("after:2026-11-30T12:00:00+02:00", "after:2026-11-30T10:00:00Z"),
        ("after:\"2026-11-30 12:00\"", "after:2026-11-30T11:00:00Z"),
        ("after:today", "after:2026-12-01T23:00:00Z"),
        ("after:Today", "after:2026-12-01T23:00:00Z"),
        ("before:yesterday", "before:2026-11-30T23:00:00Z"),
        ("on:yesterday", "(after:2026-11-30T23:00:00Z AND before:2026-12-01T23:00:00Z)"),
        ("before:now", "before:2026-12-02T09:30:00Z"),
        ("on:now", "(after:2026-12-01T23:00:00Z AND before:2026-12-02T23:00:00Z)"),
        ("after:3d", "after:2026-11-29T09:30:00Z"),
        ("after:2w", "after:2026-11-18T09:30:00Z"),
        ("after:36h", "after:2026-11-30T21:30:00Z"),
        ("after:90m", "after:2026-12-02T08:00:00Z"),
        ("after:2mo", "after:2026-10-02T08:30:00Z"),
        ("after:1y", "after:2025-12-02T09:30:00Z"),
        ("after:\"3d ago\"", "after:2026-11-29T09:30:00Z"),
        ("on:1d", "(after:2026-11-30T23:00:00Z AND before:2026-12-01T23:00:00Z)"),
        ("after:monday", "after:2026-11-29T23:00:00Z"),
        ("after:wednesday", "after:2026-12-01T23:00:00Z"),
        ("after:last-wednesday", "after:2026-11-24T23:00:00Z"),
        ("after:\"last monday\"", "after:2026-11-29T23:00:00Z"),
        ("on:last-week", "(after:2026-11-22T23:00:00Z AND before:2026-11-29T23:00:00Z)"),
        ("on:this-week", "(after:2026-11-29T23:00:00Z AND before:2026-12-06T23:00:00Z)"),
        ("on:\"last month\"", "(after:2026-10-31T23:00:00Z AND before:2026-11-30T23:00:00Z)"),
        ("on:last-year", "(after:2024-12-31T23:00:00Z AND before:2025-12-31T23:00:00Z)"),
    ] {
        check(text, expected);
    }
}

/// What stands at the place of the error, the message, and the hint.
#[test]
fn errors_point_at_their_place() {
    for (text, place, message, hint) in [
        ("", "", "the query is empty", "say what to look for"),
        ("  ", "  ", "the query is empty", ""),
        ("***", "***", "nothing to look for", "a pattern finds signs"),
        ("*", "*", "nothing to look for", ""),
        ("1 OR ***", "***", "nothing to look for", ""),
        ("\"\"", "\"\"", "nothing to look for", ""),
        ("-foo", "-foo", "only says what to leave out", "say what to look for, too"),
        ("-a -b", "-a -b", "only says what to leave out", ""),
        ("-is:error", "-is:error", "only says what to leave out", ""),
        ("1 OR -2", "-2", "this side of `OR` only says", ""),
        ("1 \"2 3", "\"", "this quote is never closed", "end the phrase"),
        ("tool:\"x", "\"", "this quote is never closed", ""),
        ("(1", "(", "this `(` is never closed", ""),
        ("((1)", "(", "this `(` is never closed", ""),
        ("1)", ")", "there is no `(` for this `)`", "quote them"),
        (")", ")", "something is missing in front of this `)`", ""),
        ("1 ()", "()", "there is nothing in these parentheses", ""),
        ("OR 1", "OR", "something is missing in front", "in small letters"),
        ("1 OR", "", "something is missing at the end", ""),
        ("1 OR OR 2", "OR", "something is missing in front", ""),
        ("1 AND", "", "something is missing at the end", ""),
        ("1 NOT", "", "something is missing at the end", ""),
        ("(1 OR) 2", ")", "something is missing in front of this `)`", ""),
        ("rol:user", "rol", "there is no field `rol:`", "did you mean `role:`?"),
        ("1 projct:x", "projct", "there is no field `projct:`", "did you mean `project:`?"),
        ("befor:today", "befor", "there is no field", "`before:`"),
        ("sesion:1", "sesion", "there is no field", "`session:`"),
        ("is:eror", "eror", "`is:` knows no `eror`", "did you mean `is:error`?"),
        ("is:Error", "Error", "`is:` knows no `Error`", "did you mean `is:error`?"),
        ("is:good", "good", "`is:` knows no `good`", "error, fork, subagent"),
        ("has:imgae", "imgae", "`has:` knows no", "`has:image`"),
        ("role:humn", "humn", "`role:` knows no", "user, assistant, tool, system"),
        ("in:titel", "titel", "`in:` knows no", "`in:title`"),
        ("in:title,reslt", "reslt", "`in:` knows no", "`in:result`"),
        ("role:user,", "", "a value of `role:` is missing", "role:user"),
        ("tool:\" \"", "\" \"", "a value of `tool:` is missing", "tool:bash"),
        ("after:yesterdy", "yesterdy", "`yesterdy` is no date", "did you mean `yesterday`?"),
        ("1 after:tommorow", "tommorow", "is no date", "2026-11-30"),
        ("on:mondy", "mondy", "is no date", "`monday`"),
        ("after:2026-02-30", "2026-02-30", "is no date", ""),
        ("after:2026-13", "2026-13", "is no date", ""),
        ("after:99999999999d", "99999999999d", "is no date", ""),
        ("after:4000000000y", "4000000000y", "is no date", ""),
        ("turn:0", "0", "`0` is no turn", "from 1"),
        ("turn:x", "x", "`x` is no turn", ""),
        ("generation:5", "5", "`5` is no generation", "0 to 4"),
        ("/(a/", "/(a/", "no regular expression: unclosed group", "quote it"),
        ("1 /[/", "/[/", "no regular expression", ""),
        ("/a*/", "/a*/", "would find everything", ""),
        ("/(a{1000}){1000}/", "/(a{1000}){1000}/", "this pattern is too big", "smaller"),
    ] {
        let error = parse(text).map(|query| query.root.to_string()).expect_err(text);
        assert_eq!(text.get(error.at.clone()), Some(place), "{text}: {error:?}");
        assert!(error.message.contains(message), "{text}: {error:?}");
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{text}: {error:?}");
    }
}

#[test]
fn what_is_too_much_is_refused() {
    let message = |text: &str| parse(text).expect_err("too much").message;
    assert!(message(&"a ".repeat(1 << 19)).contains("1048576 bytes"));
    assert!(message(&"a ".repeat(65)).contains("more than 64 words"));
    assert!(parse(&"a ".repeat(64)).is_ok());
    assert!(message(&format!("{}a{}", "(".repeat(40), ")".repeat(40))).contains("more than 32"));
    assert!(message(&"NOT ".repeat(4000)).contains("more than 32"));
    assert!(message(&"-(".repeat(8000)).contains("more than 32"));
    assert!(message(&format!("\"{}\"", "1 ".repeat(300))).contains("in a row"));
    assert!(message(&format!("/{}/", "(".repeat(200) + &")".repeat(200))).contains("regular expression"));
}

#[test]
fn a_capital_makes_case_count() {
    for (text, matches, expected) in [
        ("/err/", "ERR", true),
        ("/Err/", "err", false),
        ("/\\Srr/", "ERR", true),
        ("/^b$/", "a\nB\nc", true),
    ] {
        let Node::Pattern(pattern) = parse(text).unwrap().root else { panic!("{text}") };
        assert_eq!(pattern.is_match(matches), expected, "{text}");
    }
}

fn session(project: &str) -> Session {
    Session {
        id: "session-8d178ff3-aa".to_owned(),
        path: "/r/s".into(),
        entry: None,
        generation: Generation(3),
        project: Some(project.to_owned()),
        created: Millis(0),
        last: Millis(0),
        parent: Some("session-77ab".to_owned()),
        is_seeded: true,
        is_subagent: false,
        preset: Some("Explore".to_owned()),
        title: None,
        soundness: Soundness::Whole,
    }
}

#[test]
fn sessions_by_their_facts() {
    for (text, project, expected) in [
        ("project:/w/shop", "/w/shop", true),
        ("project:/w/shop", "/w/shop/api", true),
        ("project:/w/shop/", "/w/shop", true),
        ("project:/w/shop", "/w/shopping", false),
        ("project:/w/shop", "/x/w/shop", false),
        ("project:shop", "/w/shop", true),
        ("project:SHOP", "/w/shop/api", true),
        ("project:shop", "/w/shopping", false),
        ("project:shop*", "/w/shopping", true),
        ("project:*pp*", "/w/shopping", true),
        ("project:w/shop", "/home/w/shop/api", true),
        ("project:w/shop", "/home/w/x/shop", false),
        ("project:/w/*/api", "/w/shop/api/v1", true),
        ("project:/", "/w", true),
        ("project:C:\\work", "C:\\work\\shop", true),
        ("project:c:/work", "C:\\work\\shop", true),
        ("session:8d17", "/w", true),
        ("session:session-8d17", "/w", true),
        ("session:d178", "/w", false),
        ("parent:77", "/w", true),
        ("parent:78", "/w", false),
        ("is:fork", "/w", true),
        ("is:subagent", "/w", false),
        ("is:partial", "/w", false),
        ("generation:3", "/w", true),
        ("generation:4", "/w", false),
        ("preset:explore", "/w", true),
        ("preset:exp", "/w", false),
    ] {
        let Node::Session(filter) = parse(text).unwrap().root else { panic!("{text}") };
        assert_eq!(filter.admits(&session(project)), expected, "{text} of {project}");
    }
}

#[test]
fn documents_by_their_facts() {
    let document = Document {
        seq: Seq(7),
        nth: 0,
        part: Part::Result,
        time: Millis(1_796_043_600_000),
        turn: Some(2),
        step: None,
        tool: Some("Bash".to_owned()),
        model: None,
        is_error: true,
        has_image: false,
        has_file: false,
        is_inherited: true,
        text: "x".to_owned(),
    };
    for (text, expected) in [
        ("in:result", true),
        ("in:text", false),
        ("role:tool", true),
        ("role:user", false),
        ("tool:bash", true),
        ("tool:b*h", true),
        ("tool:ba", false),
        ("model:*", false),
        ("is:error", true),
        ("is:inherited", true),
        ("has:image", false),
        ("has:file", false),
        ("turn:2", true),
        ("turn:3", false),
        ("on:2026-11-30", true),
        ("after:2026-12-01", false),
        ("before:2026-12-01", true),
    ] {
        let Node::Document(filter) = parse(text).unwrap().root else { panic!("{text}") };
        assert_eq!(filter.admits(&document), expected, "{text}");
    }
}

proptest::proptest! {
    /// No text makes it panic, places lie in the text, and what is said of a query is a query that means the same.
    #[test]
    fn any_text(text in "[-a1 \"()*/:,.\\\\é录OR]{0,40}|(-?(role:user|1|\"a b\"|/x/|12\\*|after:3d|\\(|\\)|OR|NOT) ){0,8}") {
        match parse(&text) {
            Ok(query) => { let _ = query.root.to_string(); }
            Err(error) => { proptest::prop_assert!(text.get(error.at).is_some()); }
        }
    }
}
