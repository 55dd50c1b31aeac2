//! Tool calls: which argument tells what a call is about, how its result went, and what is worth showing of it.

use dshlog_codec::json::{Doc, Js};

use super::payload::{content, count, text, text_or_empty};
use super::{Inner, Mood, Output, Record, ToolRun};

/// Arguments that say what a call is about, the most telling first.
const TELLING: [&str; 22] = [
    "command",
    "file_path",
    "path",
    "pattern",
    "query",
    "queries",
    "url",
    "prompt",
    "script",
    "code",
    "plan",
    "objective",
    "cd",
    "job_id",
    "question",
    "message",
    "action",
    "files",
    "todos",
    "name",
    "id",
    "description",
];

/// Inner entries that a folded call keeps.
const INNER_KEPT: usize = 200;

/// A call that waits for its result. Lives no longer than its step.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: String,
    pub(super) seq: u64,
    pub(super) time: i64,
    pub(super) run: ToolRun,
    /// That it runs has been told.
    pub(super) announced: bool,
    /// Calls inside it that wait for theirs: id, time, run.
    pub(super) inner: Vec<(String, i64, ToolRun)>,
}

impl Pending {
    pub(super) fn add(&mut self, inner: Inner, full: bool) {
        if full || self.run.inner.len() < INNER_KEPT {
            self.run.inner.push(inner);
        } else {
            self.run.dropped += 1;
        }
    }
}

/// A call that has just begun.
pub(super) fn started(name: String, arguments: Option<Js<'_>>, full: bool) -> ToolRun {
    ToolRun {
        argument: argument(&name, arguments, full),
        name,
        mood: Mood::Warn,
        outcome: "no result".to_owned(),
        millis: None,
        output: Output::Text(String::new()),
        inner: Vec::new(),
        dropped: 0,
        pruned: None,
        record: None,
    }
}

/// What is known of a call before its result.
pub(super) fn record(id: &str, time: i64, arguments: Option<Js<'_>>) -> Box<Record> {
    let arguments = arguments.map(|value| match value.as_str() {
        Some(text) => text.to_lossy().into_owned(),
        None => value.raw().to_owned(),
    });
    Box::new(Record {
        id: id.to_owned(),
        time,
        arguments: arguments.unwrap_or_default(),
        result: None,
        is_error: false,
        error: None,
        text: String::new(),
        attached: Vec::new(),
    })
}

fn argument(tool: &str, arguments: Option<Js<'_>>, full: bool) -> String {
    let Some(value) = arguments else { return String::new() };
    // The model writes arguments as text; code that calls tools hands them over as values.
    if let Some(raw) = value.as_str() {
        let raw = raw.to_lossy().into_owned();
        return match Doc::parse(raw.clone()) {
            Ok(doc) => telling(tool, doc.root(), full),
            Err(_) => raw,
        };
    }
    telling(tool, value, full)
}

fn telling(tool: &str, arguments: Js<'_>, full: bool) -> String {
    if !arguments.is_object() {
        return spelled(arguments);
    }
    match arguments.member_count() {
        0 => return String::new(),
        1 if full => return first_telling(arguments).unwrap_or_else(|| arguments.raw().to_owned()),
        _ if full => return spelled(arguments),
        _ => {}
    }
    // The list itself follows as a fact of its own.
    if tool == "todo_write" && arguments.get("todos").is_some_and(Js::is_array) {
        return String::new();
    }
    let mut shown = first_telling(arguments).unwrap_or_else(|| arguments.raw().to_owned());
    if let (Some(_), Some(path)) = (arguments.get("pattern"), text(Some(arguments), "path")) {
        shown = format!("{} in {path}", text_or_empty(Some(arguments), "pattern"));
    }
    if let Some(offset) = count(Some(arguments), "offset") {
        shown = match count(Some(arguments), "limit") {
            Some(limit) => format!("{shown}:{offset}-{}", offset.saturating_add(limit).saturating_sub(1)),
            None => format!("{shown}:{offset}-"),
        };
    }
    shown
}

fn first_telling(arguments: Js<'_>) -> Option<String> {
    let value = TELLING.iter().find_map(|name| arguments.get(name))?;
    if let Some(text) = value.as_str() {
        return Some(text.to_lossy().into_owned());
    }
    let words: Option<Vec<String>> = value
        .as_array()?
        .map(|word| match word.as_str() {
            Some(word) => Some(word.to_lossy().into_owned()),
            None => text(Some(word), "path"),
        })
        .collect();
    words.map(|words| words.join(", "))
}

/// Every argument, one a line.
fn spelled(arguments: Js<'_>) -> String {
    let mut lines = Vec::new();
    for (name, value) in arguments.members() {
        let value = match value.as_str() {
            Some(text) => text.to_lossy().into_owned(),
            None => value.raw().to_owned(),
        };
        lines.push(format!("{}: {value}", name.to_lossy()));
    }
    if lines.is_empty() { arguments.raw().to_owned() } else { lines.join("\n") }
}

/// What a result in event `seq` says. `message` holds `content`, `isError`; `holder` holds `error`, `meta`.
pub(super) fn settle(
    run: &mut ToolRun,
    seq: u64,
    message: Option<Js<'_>>,
    holder: Option<Js<'_>>,
    full: bool,
) {
    let content = content(message.and_then(|message| message.get("content")));
    let wrapped = message
        .and_then(|message| message.get("content"))
        .and_then(|blocks| blocks.elements().next())
        .and_then(|block| block.get("isError"));
    let failed = message.and_then(|message| message.get("isError")).or(wrapped).is_some_and(Js::is_true);
    let error = holder.and_then(|holder| holder.get("error"));
    let code = text(error, "code").or_else(|| text(error, "name"));
    if let Some(record) = &mut run.record {
        record.result = Some(seq);
        record.is_error = failed;
        record.error.clone_from(&code);
        record.text.clone_from(&content.text);
        record.attached.clone_from(&content.attached);
    }
    let mut text = content.text;
    let exit = take_exit_code(&mut text);
    run.mood = if failed || exit.is_some_and(|code| code != 0) { Mood::Bad } else { Mood::Good };
    run.outcome = match (exit, code) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(code)) => words_of(&code),
        (None, None) if failed => "failed".to_owned(),
        (None, None) => String::new(),
    };
    if !full {
        text = unwrapped(&text);
    }
    for attached in content.attached {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text = format!("{text}[{attached}]");
    }
    run.output = match diffs(holder.and_then(|holder| holder.get("meta"))) {
        Some(lines) if !failed => Output::Diff(lines),
        _ => Output::Text(text),
    };
}

/// `FS_NOT_FOUND` reads as `fs not found`.
fn words_of(code: &str) -> String {
    if code.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
        code.to_ascii_lowercase().replace('_', " ")
    } else {
        code.to_owned()
    }
}

/// Take the line with the exit code off the end: `[exit code: 1]`, `[Command finished with exit code 0]`.
fn take_exit_code(text: &mut String) -> Option<i64> {
    let trimmed = text.trim_end();
    let start = trimmed.rfind('\n').map_or(0, |at| at + 1);
    let line = trimmed[start..].strip_prefix('[')?.strip_suffix(']')?;
    let (_, after) = line.rsplit_once("exit code")?;
    let code = after.trim_start_matches([':', ' ']).parse().ok()?;
    text.truncate(start);
    Some(code)
}

/// Without the envelope that file tools put around what they show.
fn unwrapped(text: &str) -> String {
    let Some(rest) = text.strip_prefix("<path>") else { return text.to_owned() };
    let Some((_, rest)) = rest.split_once("<content>\n") else { return text.to_owned() };
    let mut inner = rest.strip_suffix("</content>").unwrap_or(rest).trim_end_matches('\n');
    if let Some((before, end)) = inner.rsplit_once('\n')
        && end.starts_with("(End of file")
    {
        inner = before.trim_end_matches('\n');
    }
    inner.to_owned()
}

/// Changes of files that a tool noted down.
fn diffs(meta: Option<Js<'_>>) -> Option<Vec<(Mood, String)>> {
    let files = meta?.get("diffs")?;
    let several = files.elements().nth(1).is_some();
    let mut lines = Vec::new();
    for file in files.elements() {
        let old = text_or_empty(Some(file), "oldText");
        let new = text_or_empty(Some(file), "newText");
        if several {
            lines.push((Mood::Plain, text_or_empty(Some(file), "path")));
        }
        diff(&old, &new, &mut lines);
    }
    (!lines.is_empty()).then_some(lines)
}

/// The lines between the common start and the common end, with one line around them.
fn diff(old: &str, new: &str, lines: &mut Vec<(Mood, String)>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let mut push = |mood, mark: char, line: &str| lines.push((mood, format!("{mark} {line}")));
    if start > 0 {
        push(Mood::Plain, ' ', old[start - 1]);
    }
    for line in &old[start..old.len() - end] {
        push(Mood::Bad, '-', line);
    }
    for line in &new[start..new.len() - end] {
        push(Mood::Good, '+', line);
    }
    if end > 0 {
        push(Mood::Plain, ' ', old[old.len() - end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_telling_argument_is_found() {
        for (tool, arguments, expected) in [
            ("bash", r#"{"description":"Say","command":"echo a"}"#, "echo a"),
            ("read", r#"{"file_path":"a.txt","offset":10,"limit":5}"#, "a.txt:10-14"),
            ("grep", r#"{"pattern":"x","path":"src"}"#, "x in src"),
            ("web_search", r#"{"queries":["a","b"]}"#, "a, b"),
            ("present", r#"{"files":[{"path":"r.md","description":"R"}]}"#, "r.md"),
            ("get_goal", "{}", ""),
            ("frobnicate", r#"{"x":1}"#, r#"{"x":1}"#),
            ("bash", "{broken", "{broken"),
        ] {
            let doc = Doc::parse(format!("{arguments:?}")).unwrap();
            assert_eq!(argument(tool, Some(doc.root()), false), expected, "{arguments}");
        }
    }

    #[test]
    fn exit_codes_leave_the_text() {
        for (text, rest, code) in [
            ("5\n[Command finished with exit code 0]", "5\n", Some(0)),
            ("boom\n[exit code: 127]\n", "boom\n", Some(127)),
            ("done\n[status: completed, exit code: -1]", "done\n", Some(-1)),
            ("[exit code: 2]", "", Some(2)),
            ("the exit code 3", "the exit code 3", None),
        ] {
            let mut left = text.to_owned();
            assert_eq!(take_exit_code(&mut left), code, "{text:?}");
            assert_eq!(left, rest, "{text:?}");
        }
    }

    #[test]
    fn diffs_show_the_changed_lines_and_one_around() {
        let mut lines = Vec::new();
        diff("a\nb\nc\nd", "a\nb\nX\nY\nd", &mut lines);
        let shown: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(shown, ["  b", "- c", "+ X", "+ Y", "  d"]);
        lines.clear();
        diff("", "new", &mut lines);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].1, "+ new");
        lines.clear();
        diff("a\na", "a", &mut lines);
        assert_eq!(lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>(), ["  a", "- a"]);
    }

    #[test]
    fn envelopes_of_file_tools_come_off() {
        let text = "<path>/a</path>\n<type>file</type>\n<content>\n1: x\n\n(End of file - total 1 lines)\n</content>";
        assert_eq!(unwrapped(text), "1: x");
        assert_eq!(unwrapped("<path>x"), "<path>x");
    }
}
