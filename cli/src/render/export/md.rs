//! A session as Markdown.
//!
//! Nothing foreign acts: what is said passes [`prose`], which takes it apart and has its code put between fences of
//! ours; everything else stands between fences longer than any in it. So no text ends its own fence, no HTML comes
//! through, no image is fetched.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use dshlog_codec::Seq;
use dshlog_replay::surface::Fate;
use jiff::tz::TimeZone;

use super::prose::{Block, Span, blocks, spans};
use super::{Session, Sheet, compacted, cost, sign};
use crate::render::text::{lines, one_line, visible, visible_block, width};
use crate::render::units;
use crate::transcript::{Body, Entry, Inner, Item, Note, Output, Said, Seam, ToolRun, Who};

/// Lines and bytes that stand unfolded.
const SHORT: (usize, usize) = (12, 1200);

/// Columns of an argument that stand in the line of its call.
const INLINE: usize = 80;

/// Markdown onto a stream.
pub(crate) struct Markdown<'w> {
    out: &'w mut dyn Write,
    zone: TimeZone,
    is_first: bool,
}

impl<'w> Markdown<'w> {
    /// Markdown with all times in a zone.
    pub(crate) fn new(out: &'w mut dyn Write, zone: TimeZone) -> Self {
        Markdown { out, zone, is_first: true }
    }

    /// A paragraph, or several that are one text already, with an empty line behind.
    fn part(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}\n", text.trim_end_matches('\n'))
    }

    fn said(&mut self, said: &Said, mark: &str) -> io::Result<()> {
        let name = match &said.who {
            Who::You => "You".to_owned(),
            Who::Agent => "dsh".to_owned(),
            Who::Harness(kind) if kind.is_empty() => "harness".to_owned(),
            Who::Harness(kind) => escaped(kind),
        };
        self.part(&format!("**{name}** · {mark}"))?;
        let mut text = prose(&said.text);
        for attached in &said.attached {
            let _ = write!(text, "\n\n\\[{}\\]", escaped(&attached.words));
        }
        if said.interrupted {
            text.push_str("\n\n*… cut off here*");
        }
        let text = text.trim_start_matches('\n');
        if said.who == Who::Agent { self.part(text) } else { self.part(&quote(text)) }
    }

    fn context(&mut self, items: &[Item], mark: &str) -> io::Result<()> {
        let name = |item: &Item| format!("{} {}", item.name, item.detail).trim_end().to_owned();
        let has_text = |item: &&Item| item.text.as_deref().is_some_and(|text| !text.is_empty());
        let names: Vec<String> = items.iter().map(name).collect();
        let head = format!("Told to the model: {} · {mark}", names.join(" · "));
        if items.iter().find(has_text).is_none() {
            return self.part(&format!("*{}*", escaped(&head)));
        }
        let mut inside = String::new();
        for item in items.iter().filter(has_text) {
            let text = item.text.as_deref().unwrap_or_default();
            let _ = write!(inside, "{}\n\n{}\n\n", escaped(&name(item)), fenced(text, ""));
        }
        self.details(&head, &inside)
    }

    fn tool(&mut self, run: &ToolRun, mark: &str) -> io::Result<()> {
        let argument = run.argument.trim();
        let is_short = lines(argument).count() <= 1 && width(argument) <= INLINE;
        let shown = if is_short { argument } else { "" };
        self.part(&format!("{} · {mark}", call(run, shown)))?;
        if !is_short {
            self.part(&fenced(argument, if run.name == "bash" { "sh" } else { "" }))?;
        }
        let mut inside = String::new();
        inner(&mut inside, run, 0);
        if !inside.is_empty() {
            self.part(&inside)?;
        }
        let (text, word) = match &run.output {
            Output::Text(text) => (Cow::Borrowed(text.trim_matches('\n')), ""),
            Output::Diff(changes) => {
                let lines: Vec<&str> = changes.iter().map(|(_, line)| line.as_str()).collect();
                (Cow::Owned(lines.join("\n")), "diff")
            }
        };
        if text.is_empty() {
            return Ok(());
        }
        let count = lines(&text).count();
        if count <= SHORT.0 && text.len() <= SHORT.1 {
            return self.part(&fenced(&text, word));
        }
        let head = format!("{}, {}", units::count(count as u64, "line"), units::bytes(text.len() as u64));
        self.details(&head, &fenced(&text, word))
    }

    fn note(&mut self, note: &Note, mark: &str) -> io::Result<()> {
        let text = visible_block(&note.text);
        let mut rows = text.lines();
        let first = escaped(rows.next().unwrap_or_default());
        let mut part = format!("{} **{}** {first} · {mark}", sign(note.mood), escaped(note.label));
        for row in rows {
            let _ = write!(part, "  \n{}", escaped(row));
        }
        self.part(&part)
    }

    /// Folded Markdown. The empty line ends the HTML, so that what is inside is Markdown again.
    fn details(&mut self, head: &str, inside: &str) -> io::Result<()> {
        let head = escaped_html(&visible(&one_line(head)));
        self.part(&format!("<details><summary>{head}</summary>\n\n{}\n\n</details>", inside.trim_end()))
    }
}

impl Sheet for Markdown<'_> {
    fn begin(&mut self, session: &Session) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.part("---")?;
        }
        let head = &session.head;
        self.part(&format!("# {}", escaped(session.title())))?;
        let created = units::moment(head.created, &self.zone, "%-d %b %Y %H:%M %Z");
        let mut rows = format!("- {}", code(&head.id));
        if let Some(cwd) = &head.cwd {
            let _ = write!(rows, " in {}", code(cwd));
        }
        let _ = write!(rows, "\n- {}, created {created}", head.stored);
        if let Some((relation, parent)) = session.origin() {
            let _ = write!(rows, "\n- {relation} {}", code(parent));
            if head.inherited > 0 {
                let _ = write!(rows, ", {} inherited", units::count(head.inherited, "event"));
            }
        }
        let _ = write!(rows, "\n- {}", escaped(&session.facts().join(" · ")));
        for child in &session.outline.children {
            let label = child.label.as_deref().map(|label| format!(": {}", escaped(&one_line(label))));
            let _ = write!(rows, "\n- started {}{}", code(&child.id), label.unwrap_or_default());
        }
        if let Some(excerpt) = &session.excerpt {
            let _ = write!(rows, "\n- **{excerpt}**");
        }
        self.part(&rows)
    }

    fn entry(&mut self, session: &Session, entry: &Entry) -> io::Result<()> {
        let seen = match &entry.body {
            Body::Tool(run) => run.record.as_ref().and_then(|record| record.result),
            _ => Some(entry.seq),
        };
        let mark = match seen.map_or(Fate::None, |seq| session.outline.surface.fate(Seq(seq))) {
            Fate::None | Fate::Seen => entry.seq.to_string(),
            Fate::Shortened(by) => format!("{}, shortened for the model at {by}", entry.seq),
            Fate::Gone(by) => format!("{}, no longer seen by the model since {by}", entry.seq),
        };
        match &entry.body {
            Body::TurnStart(turn) => {
                let time = units::moment(entry.time, &self.zone, "%-d %b %H:%M:%S");
                self.part(&format!("## Turn {turn} · {time} · {mark}"))
            }
            Body::Said(said) => self.said(said, &mark),
            Body::Thinking(text) => {
                let count = units::count(lines(text.trim()).count() as u64, "line");
                self.details(&format!("Thinking, {count} · {mark}"), &quote(&prose(text)))
            }
            Body::Context(items) => self.context(items, &mark),
            Body::Tool(run) => self.tool(run, &mark),
            Body::Note(note) => self.note(note, &mark),
            Body::Compacted(compaction) => {
                self.part(&format!("---\n\n**Compaction** · {} · {mark}", compacted(compaction)))?;
                self.part(&quote(&prose(&compaction.summary)))?;
                self.part("---")
            }
            Body::Seam(Seam::Fork) => {
                let parent = session.head.parent.as_deref().map(code).unwrap_or_default();
                self.part(&format!("---\n\n**Fork** · everything above comes from {parent} · {mark}\n\n---"))
            }
            Body::Seam(Seam::PickedUp { pause }) => {
                let pause = units::duration(*pause);
                self.part(&format!("---\n\n**Picked up** by a later process after {pause} · {mark}\n\n---"))
            }
            Body::Seam(Seam::Recovered) => {
                self.part("---\n\n**Not in the log**: dsh would append what follows\n\n---")
            }
            Body::TurnEnd(end) => {
                let outcome = escaped(&one_line(&end.outcome));
                self.part(&format!("{} *{outcome}* · {} · {mark}", sign(end.mood), cost(end)))
            }
        }
    }

    fn end(&mut self, _session: &Session) -> io::Result<()> {
        Ok(())
    }
}

/// A call in one line.
fn call(run: &ToolRun, argument: &str) -> String {
    let mut line = format!("{} **{}**", sign(run.mood), escaped(&run.name));
    if !argument.is_empty() {
        let _ = write!(line, " {}", code(argument));
    }
    if !run.outcome.is_empty() {
        let _ = write!(line, " · {}", escaped(&run.outcome));
    }
    if let Some(millis) = run.millis {
        let _ = write!(line, " · {}", units::duration(millis));
    }
    line
}

/// What happened inside a call, as a list; results of inner calls are left out.
fn inner(list: &mut String, run: &ToolRun, depth: usize) {
    for inner in &run.inner {
        let indent = "  ".repeat(depth);
        match inner {
            Inner::Tool(run) => {
                let argument: String = one_line(&run.argument).chars().take(INLINE).collect();
                let _ = writeln!(list, "{indent}- {}", call(run, &argument));
                self::inner(list, run, depth + 1);
            }
            Inner::Note(note) => {
                for (number, line) in note.text.lines().enumerate() {
                    let line = escaped(line);
                    let _ = match (number, note.label) {
                        (0, "") => writeln!(list, "{indent}- {line}"),
                        (0, label) => writeln!(list, "{indent}- {} {label}: {line}", sign(note.mood)),
                        _ => writeln!(list, "{indent}- {line}"),
                    };
                }
            }
        }
    }
}

/// Lines behind the mark of a quote.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 8);
    for line in text.lines() {
        quoted.push_str(if line.is_empty() { ">" } else { "> " });
        quoted.push_str(line);
        quoted.push('\n');
    }
    quoted
}

/// What somebody said, as Markdown that does no more than look like it.
fn prose(text: &str) -> String {
    let text = visible_block(text);
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for block in blocks(&text) {
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        match block {
            // Ours are of the first and the second level.
            Block::Heading(level, heading) => {
                let _ = write!(out, "{} {}", "#".repeat((level + 3).min(6)), line(heading));
            }
            Block::Code(word, code) => out.push_str(&fenced(code, word)),
            Block::Table(text) | Block::Text(text) => {
                for (number, row) in text.lines().enumerate() {
                    if number > 0 {
                        out.push('\n');
                    }
                    out.push_str(&line(row));
                }
            }
        }
    }
    out
}

/// A line of text: its code and its strong words stay what they are.
fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for span in spans(text) {
        match span {
            Span::Plain(text) => escape(&mut out, text),
            Span::Strong(text) => {
                out.push_str("**");
                escape(&mut out, text);
                out.push_str("**");
            }
            Span::Code(text) => out.push_str(&code(text)),
        }
    }
    // A row of these below a paragraph would make a heading of it, in a quote too; or hold a fence.
    let bare = text.trim_start_matches([' ', '\t', '>']);
    let is_rule = matches!(bare.trim_end().as_bytes(), [mark @ (b'=' | b'-'), rest @ ..] if rest.iter().all(|c| c == mark));
    if is_rule || bare.starts_with("~~~") {
        out.insert(text.len() - bare.len(), '\\');
    }
    out
}

/// A line of foreign text in which nothing acts.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    escape(&mut out, &visible(text));
    out
}

fn escape(out: &mut String, text: &str) {
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' => out.extend(['\\', c]),
            // Images, links and the targets of links.
            '[' if before == '!' => out.push_str("\\["),
            '(' | ':' if before == ']' => out.extend(['\\', c]),
            // Headings, in lists and quotes too.
            '#' if before.is_whitespace() || before == '>' => out.push_str("\\#"),
            '~' if before == '~' => out.push_str("\\~"),
            c => out.push(c),
        }
        before = c;
    }
}

fn escaped_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Code within a line, between more backticks than it has in a row.
fn code(text: &str) -> String {
    let text = visible(text);
    let text = if text.is_empty() { " ".into() } else { text };
    let marks = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{marks}{pad}{text}{pad}{marks}")
}

/// Text between fences that are longer than any in it.
fn fenced(text: &str, word: &str) -> String {
    let text = visible_block(text.trim_end_matches('\n'));
    let marks = "`".repeat((longest_run(&text) + 1).max(3));
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    let word: String = word.chars().take_while(|c| is_word(*c)).take(20).collect();
    format!("{marks}{word}\n{text}\n{marks}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;

    #[test]
    fn fences_are_longer_than_those_inside() {
        for (text, word, expected) in [
            ("a\n", "sh", "```sh\na\n```"),
            ("```\n</details>", "", "````\n```\n</details>\n````"),
            ("a ````` b", "x y`", "``````x\na ````` b\n``````"),
            ("\u{1b}[2J\0", "", "```\n\\x1b[2J\\x00\n```"),
        ] {
            assert_eq!(fenced(text, word), expected, "{text:?}");
        }
        for (text, expected) in [
            ("a", "`a`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("", "` `"),
            ("\u{202e}x\n", "`\\u{202e}x\\n`"),
        ] {
            assert_eq!(code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_said_does_not_act() {
        for (text, expected) in [
            ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
            ("a `<b>` c", "a `<b>` c"),
            (r"\`<b>\`", r"\\`<b>\`"),
            ("a ` <b>", r"a \` &lt;b>"),
            ("![x](http://h/x.png)", r"!\[x]\(http://h/x.png)"),
            ("[x](javascript:alert(1))", r"[x]\(javascript:alert(1))"),
            ("[x]: javascript:alert(1)", r"[x]\: javascript:alert(1)"),
            ("&lt;b>", "&amp;lt;b>"),
            ("# Turn 9", "#### Turn 9"),
            ("Turn 9\n---\n===", "Turn 9\n\\---\n\\==="),
            ("```html\n<b>\n</details>", "```html\n<b>\n</details>\n```"),
            ("- ```\n  <b>\n  ```\n<i>", "- \\`\\`\\`\n  &lt;b>\n\n```\n<i>\n```"),
            ("1. ~~~\n<b>\n~~~", "1. ~\\~\\~\n&lt;b>\n\n```\n\n```"),
            ("> ```\n> <b>", "> \\`\\`\\`\n> &lt;b>"),
            ("**<b>** `a", "**&lt;b>** \\`a"),
            ("a\u{1b}[31m\u{202e}", "a\\\\x1b[31m\\\\u{202e}"),
        ] {
            assert_eq!(prose(text), expected, "{text:?}");
        }
        assert_eq!(escaped("a\nb <i>"), "a\\\\nb &lt;i>");
        assert_eq!(quote("a\n\n```\nb"), "> a\n>\n> ```\n> b\n");
    }

    proptest::proptest! {
        /// Whatever is said, a reader of Markdown finds nothing in it that acts, and no heading that could be ours.
        #[test]
        fn nothing_that_is_said_acts(text in r"[a<>/`~#*_=|!\[\]():&;.1 \n\t\\-]{0,40}") {
            let said = prose(&text);
            let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH
                | Options::ENABLE_TASKLISTS | Options::ENABLE_GFM;
            for shown in [quote(&said), format!("before\n\n{said}\n\n## Turn")] {
                let mut titles = 0;
                for event in Parser::new_ext(&shown, options) {
                    let acts = matches!(
                        event,
                        Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Link { .. } | Tag::Image { .. })
                    );
                    proptest::prop_assert!(!acts, "{event:?} in {shown:?}");
                    if let Event::Start(Tag::Heading { level, .. }) = event {
                        titles += usize::from((level as u8) < 4);
                    }
                }
                proptest::prop_assert_eq!(titles, usize::from(shown.starts_with("before")), "{:?}", shown);
            }
        }
    }
}
