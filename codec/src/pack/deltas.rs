//! A run of deltas in one value: what packed rows and stream records have in common.

use super::{Fault, print_integer};
use crate::json::{Js, JsStr, SAFE_INTEGER, print_str};
use crate::types::Millis;

/// Which block of an answer a delta goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// Text.
    Text,
    /// Reasoning.
    Reasoning,
    /// The arguments of a tool call.
    ToolCall,
}

impl DeltaKind {
    const ALL: [DeltaKind; 3] = [DeltaKind::Text, DeltaKind::Reasoning, DeltaKind::ToolCall];

    /// The kind that `tag`, the type of a packed row or a stream record, stands for.
    pub fn of_tag(tag: JsStr<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| tag == *kind.tag())
    }

    /// The kind of a single delta by the type of its chunk.
    pub fn of_chunk(chunk_type: JsStr<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| chunk_type == *kind.chunk_type())
    }

    /// Type of a packed row and of a stream record.
    pub fn tag(self) -> &'static str {
        match self {
            DeltaKind::Text => "text-chunks",
            DeltaKind::Reasoning => "reasoning-chunks",
            DeltaKind::ToolCall => "tool-call-chunks",
        }
    }

    /// Type of the chunk of a single delta.
    pub fn chunk_type(self) -> &'static str {
        match self {
            DeltaKind::Text => "text-delta",
            DeltaKind::Reasoning => "reasoning-delta",
            DeltaKind::ToolCall => "tool-call-delta",
        }
    }

    /// Name of the list of texts in a run.
    pub(super) fn list_name(self) -> &'static str {
        match self {
            DeltaKind::Text | DeltaKind::Reasoning => "texts",
            DeltaKind::ToolCall => "args",
        }
    }

    /// Name of the text in the chunk of a single delta.
    pub(crate) fn text_name(self) -> &'static str {
        match self {
            DeltaKind::Text | DeltaKind::Reasoning => "text",
            DeltaKind::ToolCall => "argumentsDelta",
        }
    }
}

/// What the two forms of a run judge differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Packed row: negative zero is a fault everywhere, a tool's name may be empty.
    Row,
    /// Stream record: negative zero passes in times, a tool's name may not be empty.
    Record,
}

impl Form {
    fn time(self, value: Js<'_>) -> Option<i64> {
        match self {
            Form::Row => value.as_safe_integer(),
            Form::Record => time(value),
        }
    }
}

/// A safe integer, or negative zero: what streams admit as a time. Both zeros are printed as `0`.
pub(super) fn time(value: Js<'_>) -> Option<i64> {
    value.as_safe_integer().or_else(|| (value.as_f64() == Some(0.0)).then_some(0))
}

pub(super) fn is_safe(integer: i64) -> bool {
    integer.unsigned_abs() <= SAFE_INTEGER
}

/// Consecutive deltas of one block of one answer: they differ in time and text only.
#[derive(Clone, Copy, Debug)]
pub struct Deltas<'a> {
    /// Which kind of block they go on.
    pub kind: DeltaKind,
    /// Number of the block.
    pub index: u64,
    /// Id of the tool call; absent for other kinds.
    pub id: Option<JsStr<'a>>,
    /// Name of the tool; absent for other kinds, and in tool calls where the provider left it out.
    pub name: Option<JsStr<'a>>,
    /// Time of the first delta.
    pub time0: Millis,
    dt: Js<'a>,
    texts: Js<'a>,
}

impl<'a> Deltas<'a> {
    /// Look at everything that takes no walk over the deltas. `members` holds what is not the time of the first one.
    pub(super) fn open(
        kind: DeltaKind,
        time0: Option<Js<'a>>,
        members: Js<'a>,
        form: Form,
    ) -> Result<Self, Fault> {
        let time0 = time0.and_then(|v| form.time(v)).ok_or("`time0` is no safe integer")?;
        let index = members.get("index").and_then(Js::as_count).ok_or("`index` is no count")?;
        let dt = members.get("dt").filter(|v| v.is_array()).ok_or("`dt` is no array")?;
        let texts =
            members.get(kind.list_name()).filter(|v| v.is_array()).ok_or("the deltas are no array")?;
        let (mut id, mut name) = (None, None);
        if kind == DeltaKind::ToolCall {
            id = members.get("id").and_then(Js::as_str).filter(|id| !id.is_empty());
            if id.is_none() {
                return Err("`id` is no text");
            }
            if let Some(value) = members.get("name") {
                name = value.as_str();
                if name.is_none_or(|name| form == Form::Record && name.is_empty()) {
                    return Err("`name` is no text");
                }
            }
        }
        Ok(Deltas { kind, index, id, name, time0: Millis(time0), dt, texts })
    }

    /// Look at each delta.
    pub(super) fn check(&self, form: Form) -> Result<(), Fault> {
        let mut len = 0usize;
        for text in self.texts.elements() {
            if text.as_str().is_none() {
                return Err("a delta is no string");
            }
            len += 1;
        }
        if len == 0 {
            return Err("a run without deltas");
        }
        let mut gaps = 0;
        let mut time = self.time0.0;
        for gap in self.dt.elements() {
            time += form.time(gap).ok_or("a member of `dt` is no safe integer")?;
            if !is_safe(time) {
                return Err("a time beyond the safe integers");
            }
            gaps += 1;
        }
        if gaps + 1 != len {
            return Err("`dt` is not one shorter than the deltas");
        }
        Ok(())
    }

    /// Number of deltas, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a run is never empty")]
    pub fn len(&self) -> usize {
        self.texts.scalar_count()
    }

    /// A walk that stands before the first delta.
    pub fn walk(&self) -> Walk {
        Walk { next: 0, time: self.time0.0 }
    }

    /// The next delta of a walk over this run.
    pub fn step(&self, walk: &mut Walk) -> Option<Delta<'a>> {
        let text = self.texts.scalar(walk.next)?.as_str()?;
        if let Some(before) = walk.next.checked_sub(1) {
            // A run that was checked holds only sums in the safe range, and both zeros add nothing.
            walk.time = walk.time.wrapping_add(self.dt.scalar(before).and_then(time).unwrap_or(0));
        }
        let delta = Delta { number: walk.next, time: Millis(walk.time), text };
        walk.next += 1;
        Some(delta)
    }

    /// The deltas in their order.
    pub fn iter(&self) -> impl Iterator<Item = Delta<'a>> + Clone + use<'a> {
        let mut texts = self.texts.elements();
        let mut gaps = self.dt.elements();
        let Walk { mut next, time: mut now } = self.walk();
        std::iter::from_fn(move || {
            let text = texts.next()?.as_str()?;
            if next > 0 {
                // As in a single step.
                now = now.wrapping_add(gaps.next().and_then(time).unwrap_or(0));
            }
            next += 1;
            Some(Delta { number: next - 1, time: Millis(now), text })
        })
    }

    /// Append one delta of this run as the chunk of a single one.
    pub fn print_chunk(&self, delta: &Delta<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(self.kind.chunk_type().as_bytes());
        out.extend_from_slice(b"\",\"index\":");
        print_integer(out, self.index);
        if let Some(id) = self.id {
            out.extend_from_slice(b",\"id\":");
            print_str(out, id);
        }
        if let Some(name) = self.name {
            out.extend_from_slice(b",\"name\":");
            print_str(out, name);
        }
        out.extend_from_slice(b",\"");
        out.extend_from_slice(self.kind.text_name().as_bytes());
        out.extend_from_slice(b"\":");
        print_str(out, delta.text);
        out.push(b'}');
    }
}

/// One delta of a run.
#[derive(Clone, Copy, Debug)]
pub struct Delta<'a> {
    /// Position in the run, from 0.
    pub number: usize,
    /// When it came.
    pub time: Millis,
    /// Its text; may be empty.
    pub text: JsStr<'a>,
}

/// How far a walk over one run has come. It borrows nothing, so that a reader that lends its line can keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    next: usize,
    time: i64,
}
