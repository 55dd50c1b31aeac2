//! A session as one page that opens anywhere, without a network: templates in `cli/templates`, a style sheet and a script
//! of ours in the page, and nothing else that acts. A content security policy allows just these two, by their hashes.
//!
//! Everything that is folded is in the page as text. Browsers lay out only what is unfolded and in sight, so a page of
//! many megabytes opens at once.

mod markup;
mod paint;
mod view;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dshlog_codec::Seq;
use dshlog_replay::surface::Fate;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use super::json::turns;
use super::{Session, Sheet, compacted, cost, sign};
use crate::export::{Images, Turn};
use crate::render::json::Object;
use crate::render::text::{lines, one_line, visible};
use crate::render::units;
use crate::transcript::{Body, Compacted, Entry, Item, Note, Said, Seam, TurnEnd, Who};
use markup::Markup;
use view::{
    Close, EntryView, Folded, Line, NavSession, NavTurn, Open, Part, SaidView, SessionView, TurnView,
};

const STYLE: &str = include_str!("../../../../templates/page.css");
const SCRIPT: &str = include_str!("../../../../templates/page.js");

/// A page onto a stream.
pub(crate) struct Html<'w> {
    out: &'w mut dyn Write,
    zone: TimeZone,
    images: Images,
    /// Sessions in the page, by their ids.
    sessions: HashMap<String, usize>,
    /// What scripts draw from.
    data: Markup,
    /// The session that is being written.
    session: usize,
    /// Its anchors that are taken.
    anchors: HashSet<u64>,
    /// A section is open; the first value is true while its turn goes on.
    section: Option<bool>,
}

impl<'w> Html<'w> {
    /// A page with all times in a zone.
    pub(crate) fn new(out: &'w mut dyn Write, zone: TimeZone, images: Images) -> Self {
        Html {
            out,
            zone,
            images,
            sessions: HashMap::new(),
            data: Markup::default(),
            session: 0,
            anchors: HashSet::new(),
            section: None,
        }
    }

    fn print(&mut self, template: &impl Template) -> io::Result<()> {
        Template::write_into(template, &mut self.out)
    }

    /// The anchor of an event, and whether this is its first use.
    fn anchor(&mut self, seq: u64) -> Option<String> {
        self.anchors.insert(seq).then(|| self.link(seq))
    }

    fn link(&self, seq: u64) -> String {
        anchor(self.session, "seq", seq)
    }

    fn time(&self, millis: i64, pattern: &str) -> String {
        units::moment(millis, &self.zone, pattern)
    }

    /// Begin a section for what stands between turns, where none is open.
    fn between(&mut self) -> io::Result<()> {
        if self.section.is_none() {
            self.section = Some(true);
            self.out.write_all(b"<section class=\"between\" aria-label=\"Between turns\">\n")?;
        }
        Ok(())
    }

    fn leave(&mut self) -> io::Result<()> {
        if self.section.take().is_some() { self.out.write_all(b"</section>\n") } else { Ok(()) }
    }

    fn turn(&mut self, session: &Session, turn: u64, entry: &Entry) -> io::Result<()> {
        self.leave()?;
        self.section = Some(true);
        let known = session.outline.turn_at(entry.seq);
        let steps = known.map_or(0, |turn| turn.steps.len());
        let time = self.time(entry.time, "%-d %b %Y %H:%M:%S");
        self.anchors.insert(entry.seq);
        let view = TurnView {
            anchor: anchor(self.session, "turn", entry.seq),
            number: turn,
            moment: moment(entry.time),
            time,
            session: self.session,
            seq: entry.seq,
            steps: units::count(steps as u64, "step"),
        };
        self.print(&view)
    }

    /// An entry around its body.
    fn wrap(
        &mut self,
        entry: &Entry,
        (class, label): (&'static str, &str),
        fate: Fate,
        body: &impl Template,
    ) -> io::Result<()> {
        let fate = match fate {
            Fate::None | Fate::Seen => None,
            Fate::Shortened(by) => Some(("shortened", "shortened for the model", self.link(by.0), by.0)),
            Fate::Gone(by) => Some(("unseen", "no longer seen by the model", self.link(by.0), by.0)),
        };
        let clock = self.time(entry.time, "%-d %b %Y %H:%M:%S%.3f");
        let body = Markup::rendered(body)?;
        let id = self.anchor(entry.seq);
        let view = EntryView {
            id,
            class,
            fate,
            anchor: self.link(entry.seq),
            clock,
            seq: entry.seq,
            label: visible(label).into_owned(),
            body,
        };
        self.print(&view)
    }

    fn said(&mut self, entry: &Entry, said: &Said, fate: Fate) -> io::Result<()> {
        let (class, who) = match &said.who {
            Who::You => ("said you", "You"),
            Who::Agent => ("said agent", "dsh"),
            Who::Harness(kind) if kind.is_empty() => ("said harness", "harness"),
            Who::Harness(kind) => ("said harness", kind.as_str()),
        };
        let attached = said.attached.iter().map(|attached| view::picture(&self.images, attached));
        let view = SaidView {
            who: visible(who).into_owned(),
            text: Markup::prose(&said.text),
            attached: attached.collect::<io::Result<_>>()?,
            interrupted: said.interrupted,
        };
        self.wrap(entry, (class, who), fate, &view)
    }

    fn thinking(&mut self, entry: &Entry, text: &str, fate: Fate) -> io::Result<()> {
        let text = text.trim();
        let more = lines(text).count();
        let view = Folded {
            who: "Thinking",
            detail: if more > 1 { units::count(more as u64, "line") } else { String::new() },
            peek: view::peek(text),
            parts: vec![Part { id: None, name: String::new(), text: Markup::prose(text) }],
            is_open: false,
        };
        self.wrap(entry, ("thinking", "Thinking"), fate, &view)
    }

    fn context(&mut self, session: &Session, entry: &Entry, items: &[Item]) -> io::Result<()> {
        let name = |item: &Item| visible(&format!("{} {}", item.name, item.detail)).trim_end().to_owned();
        let names: Vec<String> = items.iter().map(name).collect();
        let parts: Vec<Part> = items
            .iter()
            .map(|item| {
                let id = if item.seq == entry.seq { None } else { self.anchor(item.seq) };
                let text = item.text.as_deref().filter(|text| !text.is_empty());
                let fate = match session.outline.surface.fate(Seq(item.seq)) {
                    Fate::None | Fate::Seen => String::new(),
                    Fate::Shortened(by) | Fate::Gone(by) => {
                        format!(" · no longer seen by the model since {by}")
                    }
                };
                let text = text.map(|text| Markup::code(text, paint::Language::of(text)));
                Part { id, name: name(item) + &fate, text: text.unwrap_or_default() }
            })
            .collect();
        let view =
            Folded { who: "Context", detail: names.join(" · "), peek: String::new(), parts, is_open: false };
        self.wrap(entry, ("context", "Context"), Fate::None, &view)
    }

    fn note(&mut self, entry: &Entry, note: &Note) -> io::Result<()> {
        let link =
            self.sessions.iter().find(|(id, at)| **at != self.session && note.text.contains(id.as_str()));
        let view = Line {
            sign: sign(note.mood),
            mood: view::mood(note.mood),
            who: note.label,
            text: Markup::block(&note.text),
            link: link.map(|(_, at)| (session_anchor(*at), "shown below")),
            cost: String::new(),
        };
        self.wrap(entry, ("note", note.label), Fate::None, &view)
    }

    fn compacted(&mut self, entry: &Entry, compaction: &Compacted) -> io::Result<()> {
        let view = Folded {
            who: "Compaction",
            detail: compacted(compaction),
            peek: view::peek(&compaction.summary),
            parts: vec![Part { id: None, name: String::new(), text: Markup::prose(&compaction.summary) }],
            is_open: false,
        };
        self.wrap(entry, ("compaction", "Compaction"), Fate::None, &view)
    }

    fn seam(&mut self, session: &Session, entry: &Entry, seam: &Seam) -> io::Result<()> {
        let (who, text) = match seam {
            Seam::Fork => {
                let parent = session.head.parent.as_deref().unwrap_or("another session");
                ("Fork", format!("everything above comes from {parent}"))
            }
            Seam::PickedUp { pause } => {
                ("Picked up", format!("by a later process after {}", units::duration(*pause)))
            }
            Seam::Recovered => ("Not in the log", "dsh would append what follows".to_owned()),
        };
        let view = Line {
            sign: "↳",
            mood: "plain",
            who,
            text: Markup::line(&text),
            link: None,
            cost: String::new(),
        };
        self.wrap(entry, ("seam", who), Fate::None, &view)
    }

    fn turn_end(&mut self, entry: &Entry, end: &TurnEnd) -> io::Result<()> {
        let view = Line {
            sign: sign(end.mood),
            mood: view::mood(end.mood),
            who: "",
            text: Markup::line(&one_line(&end.outcome)),
            link: None,
            cost: cost(end),
        };
        self.wrap(entry, ("end", "End of the turn"), Fate::None, &view)
    }
}

impl Sheet for Html<'_> {
    fn open(&mut self, sessions: &[&Session]) -> io::Result<()> {
        let mut data = Object::new("dshlog.page/1");
        data.array("sessions", sessions, |session, object| {
            let shown: Vec<Turn> = session.outline.turns.iter().map(shown).collect();
            turns(object, &shown);
        });
        let mut json = Vec::new();
        data.write_line(&mut json)?;
        self.data = Markup::json(&json);
        self.sessions =
            sessions.iter().enumerate().map(|(at, session)| (session.head.id.clone(), at)).collect();
        let nav = |(at, session): (usize, &&Session)| NavSession {
            anchor: session_anchor(at),
            title: visible(&one_line(session.title())).into_owned(),
            turns: session.outline.turns.iter().map(|turn| nav_turn(at, turn)).collect(),
        };
        let title = sessions.first().map_or("session", |session| session.title());
        let view = Open {
            style_hash: hash(STYLE),
            script_hash: hash(SCRIPT),
            version: env!("CARGO_PKG_VERSION"),
            title: visible(&one_line(title)).into_owned(),
            style: Markup::own(STYLE),
            sessions: sessions.iter().enumerate().map(nav).collect(),
        };
        self.print(&view)
    }

    fn begin(&mut self, session: &Session) -> io::Result<()> {
        self.session = self.sessions.get(&session.head.id).copied().unwrap_or_default();
        self.anchors.clear();
        let head = &session.head;
        let anchor_of = |id: &str| self.sessions.get(id).map(|at| session_anchor(*at));
        let child = |child: &crate::export::Child| {
            let label = child.label.as_deref().filter(|label| !label.trim().is_empty()).unwrap_or(&child.id);
            (visible(&one_line(label)).into_owned(), visible(&child.id).into_owned(), anchor_of(&child.id))
        };
        let view = SessionView {
            anchor: session_anchor(self.session),
            index: self.session,
            title: visible(&one_line(session.title())).into_owned(),
            id: visible(&head.id).into_owned(),
            cwd: head.cwd.as_deref().map(|cwd| visible(cwd).into_owned()),
            stored: &head.stored,
            created: self.time(head.created, "%-d %b %Y %H:%M %Z"),
            origin: session
                .origin()
                .map(|(relation, parent)| (relation, visible(parent).into_owned(), anchor_of(parent))),
            inherited: (head.inherited > 0).then(|| units::count(head.inherited, "event")),
            facts: session.facts().iter().map(|fact| visible(fact).into_owned()).collect(),
            children: session.outline.children.iter().map(child).collect(),
            excerpt: session.excerpt.as_deref(),
        };
        self.print(&view)
    }

    fn entry(&mut self, session: &Session, entry: &Entry) -> io::Result<()> {
        let fate = session.outline.surface.fate(Seq(entry.seq));
        match &entry.body {
            Body::TurnStart(turn) => return self.turn(session, *turn, entry),
            Body::Seam(_) => self.leave()?,
            // What follows a turn is no part of it.
            _ if self.section == Some(false) => self.leave()?,
            _ => {}
        }
        self.between()?;
        match &entry.body {
            Body::TurnStart(_) => Ok(()),
            Body::Said(said) => self.said(entry, said, fate),
            Body::Thinking(text) => self.thinking(entry, text, fate),
            Body::Context(items) => self.context(session, entry, items),
            Body::Tool(run) => {
                let result = run.record.as_ref().and_then(|record| record.result);
                let id = result.and_then(|seq| self.anchor(seq));
                let view = view::tool(&self.images, run, id)?;
                let fate = result.map_or(Fate::None, |seq| session.outline.surface.fate(Seq(seq)));
                self.wrap(entry, ("tool", &run.name), fate, &view)
            }
            Body::Note(note) => self.note(entry, note),
            Body::Compacted(compaction) => self.compacted(entry, compaction),
            Body::Seam(seam) => self.seam(session, entry, seam),
            Body::TurnEnd(end) => {
                self.section = Some(false);
                self.turn_end(entry, end)
            }
        }
    }

    fn end(&mut self, _session: &Session) -> io::Result<()> {
        self.leave()?;
        self.out.write_all(b"</section>\n")
    }

    fn close(&mut self) -> io::Result<()> {
        let view = Close { data: std::mem::take(&mut self.data), script: Markup::own(SCRIPT) };
        self.print(&view)
    }
}

/// The first session has the short anchors, `seq-12`; those of the others say whose they are.
fn anchor(session: usize, kind: &str, seq: u64) -> String {
    if session == 0 { format!("{kind}-{seq}") } else { format!("s{session}-{kind}-{seq}") }
}

fn session_anchor(session: usize) -> String {
    if session == 0 { "top".to_owned() } else { format!("s{session}") }
}

fn nav_turn(session: usize, turn: &Turn) -> NavTurn {
    let took = turn.end.as_ref().map(|end| units::duration(end.time.saturating_sub(turn.time)));
    NavTurn {
        anchor: anchor(session, "turn", turn.seq),
        number: turn.number,
        about: visible(&turn.about).into_owned(),
        took: took.unwrap_or_else(|| "open".to_owned()),
        mood: turn.end.as_ref().map_or("warn", |end| view::mood(end.mood)),
    }
}

/// A turn for scripts, which put its texts into the page as they are.
fn shown(turn: &Turn) -> Turn {
    let mut turn = turn.clone();
    let mut show = |text: &mut String| *text = visible(text).into_owned();
    show(&mut turn.about);
    turn.end.iter_mut().for_each(|end| show(&mut end.outcome));
    for step in &mut turn.steps {
        step.requests.iter_mut().flat_map(|request| &mut request.model).for_each(&mut show);
        for tool in &mut step.tools {
            show(&mut tool.name);
            show(&mut tool.about);
        }
    }
    turn
}

/// A moment for machines; what no calendar holds is left out.
fn moment(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map(|time| time.to_string()).unwrap_or_default()
}

/// The hash of a style sheet or a script, as a content security policy wants it.
fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}
