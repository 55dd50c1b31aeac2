//! A whole request against the one that was expected.

use std::sync::OnceLock;

use crate::json::Value;
use crate::json::diff::{Difference, differences, equal};
use crate::script::{Expect, Level};

/// Members that dsh adds to a request and that grow with the log (`docs/spec/messages-wire.md`, 4).
const EXTENSIONS: [&str; 2] = ["/dsh_session_log", "/dsh_plugin_packages"];
/// Differences that a report lists.
const LISTED: usize = 8;

/// How near a request came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    /// The same JSON.
    Exact,
    /// The same after the rules.
    Normalized,
    /// Nothing was expected, so nothing was compared.
    Unchecked,
    /// Not the same, and where.
    Diverged(Vec<Difference>),
}

impl Grade {
    /// The better the smaller.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Grade::Exact => 0,
            Grade::Normalized => 1,
            Grade::Unchecked => 2,
            Grade::Diverged(_) => 3,
        }
    }
}

/// An expectation, made ready once for many requests.
#[derive(Debug)]
pub(crate) struct Prepared {
    expect: Expect,
    body: Value,
    normalized: OnceLock<Value>,
}

impl Prepared {
    /// Nothing when there is no expected body.
    pub(crate) fn new(expect: &Expect) -> Option<Prepared> {
        let body = stripped(expect, expect.body.as_ref()?);
        // The body is kept once, without what is not compared.
        let expect = Expect { body: None, ..expect.clone() };
        Some(Prepared { expect, body, normalized: OnceLock::new() })
    }

    /// Compares.
    pub(crate) fn grade(&self, actual: &Value) -> Grade {
        let actual = stripped(&self.expect, actual);
        if equal(&self.body, &actual) {
            return Grade::Exact;
        }
        if self.expect.level == Level::Exact {
            return Grade::Diverged(differences(&self.body, &actual, LISTED));
        }
        let rules = &self.expect.rules;
        let expected = self.normalized.get_or_init(|| rules.apply(self.body.clone()));
        let actual = rules.apply(actual);
        let found = differences(expected, &actual, LISTED);
        if found.is_empty() { Grade::Normalized } else { Grade::Diverged(found) }
    }
}

fn stripped(expect: &Expect, body: &Value) -> Value {
    let mut body = body.clone();
    for pointer in EXTENSIONS.into_iter().chain(expect.ignore.iter().map(String::as_str)) {
        remove(&mut body, pointer);
    }
    body
}

/// Takes a member away; an item of a list becomes null, so that the others keep their places.
fn remove(body: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return };
    let name = last.replace("~1", "/").replace("~0", "~");
    match body.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.remove(&name);
        }
        Some(Value::Array(items)) => {
            if let Some(item) = name.parse().ok().and_then(|n: usize| items.get_mut(n)) {
                *item = Value::Null;
            }
        }
        _ => {}
    }
}
