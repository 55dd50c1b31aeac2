//! A broken rule before anybody knows where its event stands.

use crate::at::At;
use crate::error::{Error, ErrorKind};
use crate::json::Js;

use super::rule::Rule;

/// A rule that a row or an event breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFault {
    /// The rule.
    pub rule: Rule,
    /// JSON pointer into the row; empty when the fault has no single place.
    pub pointer: String,
    /// The value that breaks it, shortened; may be empty.
    pub detail: String,
}

impl RuleFault {
    /// The fault at the position of its row.
    pub fn at(self, at: At) -> Error {
        let pointer = (!self.pointer.is_empty()).then_some(self.pointer);
        ErrorKind::Rule { rule: self.rule, detail: self.detail }.at(At { pointer, ..at })
    }

    /// The same fault of a value that lies at `prefix`.
    pub(super) fn under(mut self, prefix: &str) -> Self {
        self.pointer.insert_str(0, prefix);
        self
    }
}

/// What a check says.
pub(crate) type Check<T = ()> = Result<T, RuleFault>;

/// Refuse with a pointer and what stands there.
pub(crate) fn refuse<T>(rule: Rule, pointer: impl Into<String>, detail: impl Into<String>) -> Check<T> {
    Err(RuleFault { rule, pointer: pointer.into(), detail: detail.into() })
}

/// Refuse unless `good`; `value` is what stands at `pointer`.
pub(super) fn ensure(good: bool, rule: Rule, pointer: &str, value: Option<Js<'_>>) -> Check {
    if good { Ok(()) } else { refuse(rule, pointer, shown(value)) }
}

/// Characters of a value that an error shows.
const SHOWN: usize = 60;

/// A value for an error: its text, shortened.
pub(crate) fn shown(value: Option<Js<'_>>) -> String {
    let Some(value) = value else { return "missing".to_owned() };
    shortened(value.raw())
}

/// A text, shortened for an error.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
        None => text.to_owned(),
    }
}
