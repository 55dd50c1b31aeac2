//! A rule that an event breaks, before anybody says which step and where.

use dshlog_codec::At;
use dshlog_codec::check::shapes::{ShapeFault, ShapeFaultKind};
use dshlog_codec::json::Js;

use crate::edge::{Refusal, RefusalClass};

/// What a step says of an event. Turned into a [`Refusal`] where the event's place is known.
#[derive(Debug)]
pub(crate) struct Fault {
    code: &'static str,
    class: RefusalClass,
    pointer: String,
    what: String,
}

/// Result of a look at an event.
pub(crate) type Check<T = ()> = Result<T, Box<Fault>>;

impl Fault {
    /// The refusal of `edge` for an event at `at`.
    pub(crate) fn at(self, edge: &'static str, at: At) -> Refusal {
        let pointer = (!self.pointer.is_empty()).then_some(self.pointer).or(at.pointer);
        Refusal {
            edge,
            code: self.code,
            what: self.what,
            class: self.class,
            at: Box::new(At { pointer, ..at }),
        }
    }
}

/// Malformed at its own version.
pub(crate) fn malformed<T>(
    code: &'static str,
    pointer: impl Into<String>,
    what: impl Into<String>,
) -> Check<T> {
    Err(Box::new(Fault { code, class: RefusalClass::Malformed, pointer: pointer.into(), what: what.into() }))
}

/// Perhaps sound, but there is no way to the target.
pub(crate) fn unsupported<T>(
    code: &'static str,
    pointer: impl Into<String>,
    what: impl Into<String>,
) -> Check<T> {
    Err(Box::new(Fault {
        code,
        class: RefusalClass::Unsupported,
        pointer: pointer.into(),
        what: what.into(),
    }))
}

/// What a payload of another shape means for a migration.
pub(crate) fn shape_fault(fault: ShapeFault) -> Check {
    match fault.kind {
        ShapeFaultKind::UnknownType => unsupported("unknown-event", fault.pointer, fault.what),
        ShapeFaultKind::Unsupported => unsupported("descriptor-version", fault.pointer, fault.what),
        ShapeFaultKind::Malformed => malformed("payload", fault.pointer, fault.what),
    }
}

/// Characters of a value that a refusal shows.
const SHOWN: usize = 60;

/// A value for a refusal: its text, shortened.
pub(crate) fn shown(value: Option<Js<'_>>) -> String {
    value.map_or_else(|| "missing".to_owned(), |value| shortened(value.raw()))
}

/// A text, shortened for a refusal.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
        None => text.to_owned(),
    }
}
