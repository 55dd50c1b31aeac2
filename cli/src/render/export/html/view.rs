//! What the templates are filled with. All text in here is visible already; templates escape it.

use std::io;

use askama::Template;
use dshlog_codec::json::Doc;

use super::super::sign;
use super::markup::Markup;
use super::paint::Language;
use crate::export::Images;
use crate::render::text::{lines, one_line, visible};
use crate::render::units;
use crate::transcript::{Attached, Inner, Mood, Output, ToolRun};

/// Characters of a text that is folded, to know it by.
const PEEK: usize = 160;

/// Characters of what a call is about.
const ABOUT: usize = 240;

/// The start of the page.
#[derive(Template)]
#[template(path = "page.html")]
pub(super) struct Open {
    pub(super) style_hash: String,
    pub(super) script_hash: String,
    pub(super) version: &'static str,
    pub(super) title: String,
    pub(super) style: Markup,
    pub(super) sessions: Vec<NavSession>,
}

/// A session in the list of turns.
pub(super) struct NavSession {
    pub(super) anchor: String,
    pub(super) title: String,
    pub(super) turns: Vec<NavTurn>,
}

/// A turn in that list.
pub(super) struct NavTurn {
    pub(super) anchor: String,
    pub(super) number: u64,
    pub(super) about: String,
    pub(super) took: String,
    pub(super) mood: &'static str,
}

/// The end of the page.
#[derive(Template)]
#[template(path = "close.html")]
pub(super) struct Close {
    pub(super) data: Markup,
    pub(super) script: Markup,
}

/// The head of a session.
#[derive(Template)]
#[template(path = "session.html")]
pub(super) struct SessionView<'a> {
    pub(super) anchor: String,
    pub(super) index: usize,
    pub(super) title: String,
    pub(super) id: String,
    pub(super) cwd: Option<String>,
    pub(super) stored: &'a str,
    pub(super) created: String,
    pub(super) origin: Option<(&'static str, String, Option<String>)>,
    pub(super) inherited: Option<String>,
    pub(super) facts: Vec<String>,
    pub(super) children: Vec<(String, String, Option<String>)>,
    pub(super) excerpt: Option<&'a str>,
}

/// The head of a turn.
#[derive(Template)]
#[template(path = "turn.html")]
pub(super) struct TurnView {
    pub(super) anchor: String,
    pub(super) number: u64,
    pub(super) moment: String,
    pub(super) time: String,
    pub(super) session: usize,
    pub(super) seq: u64,
    pub(super) steps: String,
}

/// What is around each entry.
#[derive(Template)]
#[template(path = "entry.html")]
pub(super) struct EntryView {
    pub(super) id: Option<String>,
    pub(super) class: &'static str,
    pub(super) fate: Option<(&'static str, &'static str, String, u64)>,
    pub(super) anchor: String,
    pub(super) clock: String,
    pub(super) seq: u64,
    pub(super) label: String,
    pub(super) body: Markup,
}

/// A message.
#[derive(Template)]
#[template(path = "said.html")]
pub(super) struct SaidView {
    pub(super) who: String,
    pub(super) text: Markup,
    pub(super) attached: Vec<Markup>,
    pub(super) interrupted: bool,
}

/// Texts behind a line.
#[derive(Template)]
#[template(path = "folded.html")]
pub(super) struct Folded {
    pub(super) who: &'static str,
    pub(super) detail: String,
    pub(super) peek: String,
    pub(super) parts: Vec<Part>,
    pub(super) is_open: bool,
}

/// One of these texts.
pub(super) struct Part {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) text: Markup,
}

/// A fact in a line.
#[derive(Template)]
#[template(path = "line.html")]
pub(super) struct Line {
    pub(super) sign: &'static str,
    pub(super) mood: &'static str,
    pub(super) who: &'static str,
    pub(super) text: Markup,
    pub(super) link: Option<(String, &'static str)>,
    pub(super) cost: String,
}

/// A call.
#[derive(Template)]
#[template(path = "tool.html")]
pub(super) struct ToolView {
    mood: &'static str,
    sign: &'static str,
    name: String,
    about: String,
    went: String,
    peek: String,
    arguments: Vec<(String, Markup)>,
    inner: Vec<Markup>,
    result_id: Option<String>,
    result_name: &'static str,
    result: Markup,
    attached: Vec<Markup>,
}

#[derive(Template)]
#[template(path = "picture.html")]
struct Picture {
    source: Option<Markup>,
    words: String,
    pixels: Option<(u64, u64)>,
}

impl Markup {
    /// A template, filled.
    pub(super) fn rendered(template: &impl Template) -> io::Result<Self> {
        template.render().map(Markup::of_template).map_err(io::Error::other)
    }
}

/// The class of how something went.
pub(super) fn mood(mood: Mood) -> &'static str {
    match mood {
        Mood::Plain => "plain",
        Mood::Good => "good",
        Mood::Warn => "warn",
        Mood::Bad => "bad",
    }
}

/// The start of a text, in one line.
pub(super) fn peek(text: &str) -> String {
    start(text, PEEK)
}

fn start(text: &str, characters: usize) -> String {
    let start: String = text.trim_start().chars().take(4 * characters).collect();
    let line = one_line(&start);
    let mut shown: String = line.chars().take(characters).collect();
    if shown.len() < line.len() || start.len() < text.trim().len() {
        shown.push('…');
    }
    visible(&shown).into_owned()
}

/// Something that is no text: the image itself, when it is there.
pub(super) fn picture(images: &Images, attached: &Attached) -> io::Result<Markup> {
    let image = attached.image.as_ref();
    let source = image.and_then(|image| Some(Markup::data_url(&image.media_type, &images.read(image)?)));
    let pixels = image.and_then(|image| image.pixels).filter(|_| source.is_some());
    Markup::rendered(&Picture { source, words: visible(&attached.words).into_owned(), pixels })
}

/// A call with everything in it.
pub(super) fn tool(images: &Images, run: &ToolRun, result_id: Option<String>) -> io::Result<ToolView> {
    let record = run.record.as_deref();
    let text = record.map_or("", |record| record.text.trim_matches('\n'));
    let (result_name, result) = match &run.output {
        Output::Diff(changes) => {
            let lines: Vec<&str> = changes.iter().map(|(_, line)| line.as_str()).collect();
            ("Changes", Markup::code(&lines.join("\n"), Some(Language::Diff)))
        }
        Output::Text(_) if text.is_empty() => ("Result", Markup::default()),
        Output::Text(_) => ("Result", Markup::code(text, Language::of(text))),
    };
    let mut went = run.outcome.clone();
    if let Some(millis) = run.millis {
        went = format!("{went}{}{}", if went.is_empty() { "" } else { " · " }, units::duration(millis));
    }
    let inner = run.inner.iter().map(|inner| match inner {
        Inner::Tool(run) => Markup::rendered(&tool(images, run, None)?),
        Inner::Note(note) => Markup::rendered(&Line {
            sign: sign(note.mood),
            mood: mood(note.mood),
            who: note.label,
            text: Markup::block(&note.text),
            link: None,
            cost: String::new(),
        }),
    });
    let attached = record.map_or(&[][..], |record| &record.attached);
    Ok(ToolView {
        mood: mood(run.mood),
        sign: sign(run.mood),
        name: visible(&run.name).into_owned(),
        about: start(&run.argument, ABOUT),
        went: visible(&went).into_owned(),
        peek: match (run.mood, &run.output) {
            (Mood::Bad, Output::Text(text)) => last_words(text),
            (_, Output::Text(text)) => peek(text),
            (_, Output::Diff(changes)) => changed(changes),
        },
        arguments: arguments(&run.name, record.map_or("", |record| &record.arguments)),
        inner: inner.collect::<io::Result<_>>()?,
        result_id,
        result_name,
        result,
        attached: attached.iter().map(|attached| picture(images, attached)).collect::<io::Result<_>>()?,
    })
}

/// Faults are told at the end.
fn last_words(text: &str) -> String {
    let lines: Vec<&str> = lines(text.trim_end()).collect();
    peek(&lines.get(lines.len().saturating_sub(2)..).unwrap_or_default().join(" "))
}

fn changed(changes: &[(Mood, String)]) -> String {
    let count = |mood| changes.iter().filter(|(change, _)| *change == mood).count();
    format!("+{} −{}", count(Mood::Good), count(Mood::Bad))
}

/// Each argument by its name; what is no object, as it is.
fn arguments(tool: &str, text: &str) -> Vec<(String, Markup)> {
    let doc = Doc::parse(text).ok().filter(|doc| doc.root().is_object());
    let Some(doc) = doc else {
        let is_empty = text.trim().is_empty();
        return if is_empty { Vec::new() } else { vec![("Arguments".to_owned(), Markup::code(text, None))] };
    };
    doc.root()
        .members()
        .map(|(name, value)| {
            let name = visible(&name.to_lossy()).into_owned();
            let value = match value.as_str() {
                Some(text) => {
                    let text = text.to_lossy();
                    let is_shell = name == "command" && matches!(tool, "bash" | "shell");
                    let language = if is_shell { Some(Language::Shell) } else { Language::of(&text) };
                    Markup::code(&text, language)
                }
                None => Markup::code(value.raw(), Some(Language::Json)),
            };
            (name, value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_by_name() {
        let shown = |tool: &str, text: &str| -> Vec<String> {
            arguments(tool, text).into_iter().map(|(name, value)| format!("{name} {value}")).collect()
        };
        let pre = |text: &str| format!("<pre class=\"t\">\n{text}</pre>");
        assert_eq!(
            shown("bash", r#"{"command":"ls\n-l","n":1}"#),
            [
                format!("command {}", pre("<span class=\"w\">ls</span>\n<span class=\"w\">-l</span>")),
                format!("n {}", pre("<span class=\"v\">1</span>"))
            ]
        );
        assert_eq!(shown("bash", "{broken<"), [format!("Arguments {}", pre("{broken&lt;"))]);
        assert_eq!(shown("bash", "{}"), [] as [String; 0]);
        assert_eq!(shown("bash", ""), [] as [String; 0]);
    }

    #[test]
    fn folded_text_is_known_by_its_start_or_its_end() {
        assert_eq!(peek(" a\n\tb\0 "), "a b\\x00");
        let long = "ab ".repeat(PEEK);
        assert_eq!(peek(&long).chars().count(), PEEK + 1);
        assert_eq!(last_words("a\nb\nc\n"), "b c");
        assert_eq!(last_words(""), "");
    }
}
