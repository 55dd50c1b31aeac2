//! The normal form of an event: what two logs of one story have in common.
//!
//! It is JSON in the shape of the row, with a word in angle brackets in place of what a rule sets aside, so that a pointer
//! into it is a pointer into the row. A value that links events (an id, a seq) is written by a [`Names`], which either
//! notes it for later, or writes a name that both logs share.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use dshlog_codec::json::{Doc, Js, JsStr, ordered_members, print, print_str};
use dshlog_codec::{Event, Generation, Header, pack::Ranges};

use super::rules::{Class, Node, Places, Rule, Rules};

/// How deep a payload is looked at. What lies deeper is compared as it is.
const DEPTH: usize = 100;

/// The seq of what is no event.
const NOWHERE: u64 = u64::MAX;

/// A value that names something else in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// A drawn name, by its hash.
    Id(u64),
    /// The name of a call, by its hash.
    Call(u64),
    /// The same, where the call is advertised.
    CallStart(u64),
    /// A turn.
    Turn(u64),
    /// A turn, and a step in it.
    Step(u64, u64),
    /// An event.
    Seq(u64),
    /// A number in an id that once was a seq. Migrations renumber events and leave ids alone.
    OldSeq(u64),
    /// Events, as inclusive ranges.
    Seqs(Box<[(u64, u64)]>),
}

/// Writes links.
pub(super) trait Names {
    /// Append what stands for `link`: some characters of a JSON string.
    fn write(&mut self, link: Link, out: &mut Vec<u8>);
}

/// Notes links, and writes nothing in their place.
impl Names for Vec<Link> {
    fn write(&mut self, link: Link, _out: &mut Vec<u8>) {
        self.push(link);
    }
}

/// What has to be known of a whole log before any of its events can be put into normal form: its working directory, and
/// the names that are drawn, since a text may have one long before the event that it belongs to.
#[derive(Debug)]
pub struct Survey {
    rules: Rules,
    places: Places,
    /// The working directory as it stands in JSON text; none when it is too short to be told from other text.
    cwd: Option<Vec<u8>>,
    /// Hashes of the names that cannot be mistaken for a word, and whether they name a call.
    known: HashMap<u64, bool>,
}

impl Survey {
    /// Of a log with this header.
    pub fn new(header: &Header, rules: Rules) -> Self {
        let cwd = header.cwd.as_ref().filter(|_| rules.has(Rule::Folders)).map(|cwd| {
            let mut text = Vec::new();
            dshlog_codec::json::print_string(&mut text, cwd);
            text.get(1..text.len() - 1).unwrap_or_default().to_vec()
        });
        let mut survey = Survey {
            rules,
            places: Places::of(rules),
            cwd: cwd.filter(|cwd| cwd.len() > 1),
            known: HashMap::new(),
        };
        for id in std::iter::once(&header.id).chain(&header.parent_session) {
            survey.note(id.as_wtf8(), false);
        }
        survey
    }

    /// Take note of the names in the next event. All events have to be seen before the log is compared.
    pub fn see(&mut self, event: &Event<'_>) {
        if !self.rules.has(Rule::Ids) {
            return;
        }
        let Some(node) = self.places.kind(&event.kind.to_lossy()) else { return };
        let mut found = Vec::new();
        collect(event.row, node, &mut found);
        for (value, is_call) in found {
            self.note(&value.to_wtf8(), is_call);
        }
    }

    fn note(&mut self, name: &[u8], is_call: bool) {
        if self.rules.has(Rule::Ids) && is_unmistakable(name) {
            self.known.entry(hash(name)).or_insert(is_call);
        }
    }

    /// The rules that it was made for.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Append the normal form of an event; `sorted` puts members in one order.
    pub(super) fn write(&self, event: &Event<'_>, names: &mut dyn Names, sorted: bool, out: &mut Vec<u8>) {
        let node = self.places.kind(&event.kind.to_lossy());
        let is_error = event.member("message").and_then(|m| m.get("isError")).is_some_and(Js::is_true);
        let turn = event.member("turn").and_then(Js::as_count);
        let mut writer = Writer { survey: self, names, sorted, out, seq: event.seq.0, turn, is_error };
        writer.value(event.row, node, 0);
    }

    /// Append the normal form of what is no event: a header, a message, a request; `kind` is its name in the table.
    pub(super) fn write_as(
        &self,
        kind: &str,
        value: Js<'_>,
        names: &mut dyn Names,
        sorted: bool,
        out: &mut Vec<u8>,
    ) {
        let node = self.places.kind(kind);
        let is_error = value.get("isError").is_some_and(Js::is_true);
        Writer { survey: self, names, sorted, out, seq: NOWHERE, turn: None, is_error }.value(value, node, 0);
    }
}

/// The names at the places below `node`, and whether they name calls.
fn collect<'a>(value: Js<'a>, node: &Node, found: &mut Vec<(JsStr<'a>, bool)>) {
    match node.class() {
        Some(Class::Id) => found.extend(value.as_str().map(|name| (name, false))),
        Some(Class::Call | Class::CallStart) => found.extend(value.as_str().map(|name| (name, true))),
        _ => {}
    }
    if let Some(each) = node.each() {
        value.elements().for_each(|element| collect(element, each, found));
    }
    for (name, member) in value.members() {
        if let Some(node) = node.member(name) {
            collect(member, node, found);
        }
    }
}

/// The hash by which names are known.
fn hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name);
    hasher.finish()
}

/// True for a name that no text has by accident: it has a digit, and is long or mostly hexadecimal.
fn is_unmistakable(name: &[u8]) -> bool {
    let is_hex = |run: &[u8]| run.len() >= 8 && run.iter().all(u8::is_ascii_hexdigit);
    name.iter().all(|byte| is_name(*byte))
        && name.iter().any(u8::is_ascii_digit)
        && (name.len() >= 12 || name.split(|byte| *byte == b'-').any(is_hex))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

struct Writer<'w> {
    survey: &'w Survey,
    names: &'w mut dyn Names,
    sorted: bool,
    out: &'w mut Vec<u8>,
    seq: u64,
    turn: Option<u64>,
    is_error: bool,
}

impl Writer<'_> {
    fn value(&mut self, value: Js<'_>, node: Option<&Node>, depth: usize) {
        if let Some(class) = node.and_then(Node::class)
            && self.place(value, class)
        {
            return;
        }
        if depth > DEPTH {
            return print(self.out, value);
        }
        if value.is_object() {
            let mut members = ordered_members(value);
            if self.sorted {
                members.sort_by_cached_key(|(name, _)| name.to_wtf8().into_owned());
            }
            self.out.push(b'{');
            for (i, (name, member)) in members.into_iter().enumerate() {
                if i > 0 {
                    self.out.push(b',');
                }
                print_str(self.out, name);
                self.out.push(b':');
                self.value(member, node.and_then(|node| node.member(name)), depth + 1);
            }
            self.out.push(b'}');
        } else if value.is_array() {
            self.out.push(b'[');
            for (i, element) in value.elements().enumerate() {
                if i > 0 {
                    self.out.push(b',');
                }
                self.value(element, node.and_then(Node::each), depth + 1);
            }
            self.out.push(b']');
        } else if let Some(text) = value.as_str() {
            self.text(text, None);
        } else if value.as_f64() == Some(0.0) {
            // Here `-0` is no other number.
            self.out.push(b'0');
        } else {
            print(self.out, value);
        }
    }

    /// What stands at a place of the table; false when it is not of the kind that belongs there.
    fn place(&mut self, value: Js<'_>, class: Class) -> bool {
        let count = value.as_count();
        match class {
            Class::Aside => self.out.extend_from_slice("\"⟨aside⟩\"".as_bytes()),
            Class::Id | Class::Call | Class::CallStart => match value.as_str() {
                Some(name) => self.id(&name.to_wtf8(), class),
                None => return false,
            },
            Class::Turn | Class::Step | Class::Seq => {
                let (Some(count), turn) = (count, self.turn) else { return false };
                let link = match class {
                    Class::Turn => Link::Turn(count),
                    Class::Step => Link::Step(turn.unwrap_or(0), count),
                    _ => Link::Seq(count),
                };
                self.link("\"⟨", link, "⟩\"");
            }
            Class::Seqs => {
                let Ok(ranges) = Ranges::decode(value, u64::MAX, Generation(0)) else { return false };
                let spans = ranges.spans().map(|span| (*span.start(), *span.end())).collect();
                self.link("\"⟨", Link::Seqs(spans), "⟩\"");
            }
            Class::Failure | Class::Result | Class::Prompt => match value.as_str() {
                Some(text) => {
                    self.text(text, Some(class).filter(|class| *class != Class::Result || self.is_error));
                }
                None => return false,
            },
            Class::Pieces => return self.pieces(value),
        }
        true
    }

    fn link(&mut self, before: &str, link: Link, behind: &str) {
        self.out.extend_from_slice(before.as_bytes());
        self.names.write(link, self.out);
        self.out.extend_from_slice(behind.as_bytes());
    }

    fn id(&mut self, name: &[u8], class: Class) {
        if let Some((cause, call, seq)) = closer(name) {
            self.out.extend_from_slice("\"⟨".as_bytes());
            self.out.extend_from_slice(cause.as_bytes());
            self.link(" ", Link::Call(hash(call)), " ");
            if !self.survey.rules.has(Rule::Seqs) {
                self.out.extend_from_slice(seq.to_string().as_bytes());
            } else if seq == self.seq || self.seq == NOWHERE {
                self.out.extend_from_slice(b"here");
            } else {
                self.names.write(Link::OldSeq(seq), self.out);
            }
            self.out.extend_from_slice("⟩\"".as_bytes());
            return;
        }
        let hash = hash(name);
        let link = match class {
            Class::CallStart => Link::CallStart(hash),
            Class::Call => Link::Call(hash),
            _ => Link::Id(hash),
        };
        self.link("\"⟨", link, "⟩\"");
    }

    fn text(&mut self, text: JsStr<'_>, class: Option<Class>) {
        let start = self.out.len();
        print_str(self.out, text);
        if self.out.len() - start < 8 {
            return;
        }
        let printed = self.out.split_off(start);
        self.rewrite(&printed, class, &mut |_, _, _| {});
    }

    /// Append printed text with names, folders and ports renamed; `see` hears of every run
    /// that is taken as it is: where it begins in the input and in the output, and its length.
    fn rewrite(&mut self, printed: &[u8], class: Option<Class>, see: &mut dyn FnMut(usize, usize, usize)) {
        let survey = self.survey;
        let has_ports = matches!(class, Some(Class::Failure | Class::Result));
        let has_names = !survey.known.is_empty();
        let mut at = 0;
        // A path that begins within a longer one is another path.
        let mut is_start = true;
        while let Some(&byte) = printed.get(at) {
            let start = self.out.len();
            let may_start = std::mem::replace(&mut is_start, true);
            let rest = printed.get(at..).unwrap_or_default();
            if byte == b'\\' {
                let len = if rest.get(1) == Some(&b'u') { 6 } else { 2 };
                see(at, start, len);
                self.out.extend_from_slice(rest.get(..len).unwrap_or(rest));
                at += len;
                if class == Some(Class::Prompt)
                    && let Some((len, seq)) = quoted_seq(rest)
                {
                    self.out.extend_from_slice(rest.get(2..len).unwrap_or_default());
                    self.link("⟨", Link::Seq(seq), "⟩");
                    at += len - 2 + digits(rest.get(len..).unwrap_or_default());
                }
            } else if may_start && survey.cwd.as_ref().is_some_and(|cwd| is_folder(rest, cwd)) {
                self.out.extend_from_slice("⟨cwd⟩".as_bytes());
                at += survey.cwd.as_ref().map_or(1, Vec::len);
            } else if let Some(len) = has_ports.then(|| address(rest)).flatten() {
                self.out.extend_from_slice(rest.get(..len).unwrap_or_default());
                self.out.extend_from_slice("⟨port⟩".as_bytes());
                at += len + digits(rest.get(len..).unwrap_or_default());
            } else if is_name(byte) {
                let len = rest.iter().position(|byte| !is_name(*byte)).unwrap_or(rest.len());
                let name = rest.get(..len).unwrap_or(rest);
                let known = if has_names && len >= 8 && name.iter().any(u8::is_ascii_digit) {
                    survey.known.get(&hash(name))
                } else {
                    None
                };
                match known {
                    Some(true) => self.link("⟨", Link::Call(hash(name)), "⟩"),
                    Some(false) => self.link("⟨", Link::Id(hash(name)), "⟩"),
                    None => {
                        see(at, start, len);
                        self.out.extend_from_slice(name);
                    }
                }
                at += len;
                is_start = false;
            } else {
                see(at, start, 1);
                self.out.push(byte);
                at += 1;
                is_start = !matches!(byte, b'.' | b'~');
            }
        }
        see(printed.len(), self.out.len(), 0);
    }

    /// A list of texts that are one text.
    fn pieces(&mut self, value: Js<'_>) -> bool {
        let Some(pieces) = value.as_array().map(|pieces| pieces.map(Js::as_str).collect::<Option<Vec<_>>>())
        else {
            return false;
        };
        let Some(pieces) = pieces else { return false };
        let mut whole = Vec::with_capacity(value.raw().len());
        let mut cuts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let start = whole.len();
            print_str(&mut whole, piece);
            whole.pop();
            whole.remove(start);
            cuts.push(whole.len());
        }
        let start = self.out.len();
        let mut places = Vec::with_capacity(cuts.len());
        let mut next = cuts.iter().peekable();
        self.rewrite(&whole, None, &mut |at, out, len| {
            // A cut within what was renamed comes behind it.
            while let Some(cut) = next.next_if(|cut| **cut <= at + len) {
                places.push(out - start + cut.saturating_sub(at));
            }
        });
        let text = self.out.split_off(start);
        if self.survey.rules.has(Rule::Chunks) {
            self.out.push(b'"');
            self.out.extend_from_slice(&text);
            self.out.push(b'"');
            return true;
        }
        self.out.push(b'[');
        let mut from = 0;
        for (i, to) in places.into_iter().enumerate() {
            self.out.extend_from_slice(if i > 0 { b",\"" } else { b"\"" });
            self.out.extend_from_slice(text.get(from..to).unwrap_or_default());
            self.out.push(b'"');
            from = to;
        }
        self.out.push(b']');
        true
    }
}

/// The parts of the id of a result that closes an open call (`docs/spec/surface.md`, 8): cause, call, seq.
fn closer(name: &[u8]) -> Option<(&'static str, &[u8], u64)> {
    ["interrupted", "forked"].into_iter().find_map(|cause| {
        let rest = name.strip_prefix(cause.as_bytes())?.strip_prefix(b"-tool-result-")?;
        let dash = rest.iter().rposition(|byte| *byte == b'-')?;
        let seq = std::str::from_utf8(rest.get(dash + 1..)?).ok()?.parse().ok()?;
        Some((cause, rest.get(..dash)?, seq))
    })
}

/// True when a path begins here that is `cwd`, or below it.
fn is_folder(text: &[u8], cwd: &[u8]) -> bool {
    let behind = || text.get(cwd.len()).copied();
    text.starts_with(cwd)
        && !behind().is_some_and(|byte| is_name(byte) || byte == b'.' && is_dotted(text, cwd.len()))
}

/// True when the dot at `at` goes on with a name, as that of a file does and a full stop does not.
fn is_dotted(text: &[u8], at: usize) -> bool {
    text.get(at + 1).is_some_and(|byte| is_name(*byte))
}

/// The length of an address of this machine up to its port.
fn address(text: &[u8]) -> Option<usize> {
    let host =
        ["127.0.0.1:", "localhost:", "[::1]:"].into_iter().find(|host| text.starts_with(host.as_bytes()))?;
    (digits(text.get(host.len()..)?) > 0).then_some(host.len())
}

/// A member `seq` in JSON within printed text, from the quote of its name on: where its number begins, and the number.
fn quoted_seq(text: &[u8]) -> Option<(usize, u64)> {
    const NAME: &[u8] = br#"\"seq\":"#;
    let number = text.strip_prefix(NAME)?;
    let number = std::str::from_utf8(number.get(..digits(number))?).ok()?;
    Some((NAME.len(), number.parse().ok()?))
}

fn digits(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len())
}

/// The row of an event as a document, for the callers that compare single events.
pub(super) fn parse(text: &[u8]) -> Option<Doc> {
    Doc::parse(String::from_utf8(text.to_vec()).ok()?).ok()
}
