//! Where two trees differ.

use std::fmt;

use serde_json::{Number, Value};

use super::{print, walk::token};

/// One place in which two trees differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// How they differ there.
    pub what: What,
}

/// How two trees differ at a place. Values are JSON texts, shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Expected, and not there.
    Missing {
        /// What was expected.
        expected: String,
    },
    /// There, and not expected.
    Unexpected {
        /// What is there.
        actual: String,
    },
    /// Something else is there.
    Other {
        /// What was expected.
        expected: String,
        /// What is there.
        actual: String,
    },
    /// A list is longer or shorter; the pointer is that of the first item that differs.
    Length {
        /// Its expected length.
        expected: usize,
        /// Its length.
        actual: usize,
        /// The first item that differs: what was expected there, if anything.
        first_expected: Option<String>,
        /// The first item that differs: what is there, if anything.
        first_actual: Option<String>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "(the whole)" } else { &self.pointer };
        match &self.what {
            What::Missing { expected } => write!(f, "{place}: missing, expected {expected}"),
            What::Unexpected { actual } => write!(f, "{place}: not expected, is {actual}"),
            What::Other { expected, actual } => write!(f, "{place}: expected {expected}, is {actual}"),
            What::Length { expected, actual, first_expected, first_actual } => {
                let none = "nothing";
                write!(
                    f,
                    "{place}: the list has {actual} items instead of {expected}; expected here {}, is {}",
                    first_expected.as_deref().unwrap_or(none),
                    first_actual.as_deref().unwrap_or(none),
                )
            }
        }
    }
}

/// Where `actual` differs from `expected`, in document order, at most `limit` places. Order of members does not count,
/// nor how a number is written.
pub fn differences(expected: &Value, actual: &Value, limit: usize) -> Vec<Difference> {
    let mut walk = Walk { found: Vec::new(), limit };
    walk.value(&mut String::new(), expected, actual);
    walk.found
}

/// True when the trees say the same.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => equal_numbers(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    // `1` and `1.0` are one number to JavaScript. Two integers are compared as such: beyond 2^53 no float tells them apart.
    a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64())
}

struct Walk {
    found: Vec<Difference>,
    limit: usize,
}

impl Walk {
    fn value(&mut self, pointer: &mut String, expected: &Value, actual: &Value) {
        if self.found.len() >= self.limit {
            return;
        }
        match (expected, actual) {
            (Value::Object(a), Value::Object(b)) => {
                for (name, expected) in a {
                    self.at(pointer, &token(name), |walk, pointer| match b.get(name) {
                        Some(actual) => walk.value(pointer, expected, actual),
                        None => walk.push(pointer, What::Missing { expected: short(expected) }),
                    });
                }
                for (name, actual) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
                    self.at(pointer, &token(name), |walk, pointer| {
                        walk.push(pointer, What::Unexpected { actual: short(actual) });
                    });
                }
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (n, (a, b)) in a.iter().zip(b).enumerate() {
                    self.at(pointer, &n.to_string(), |walk, pointer| walk.value(pointer, a, b));
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                let same = a.iter().zip(b).take_while(|(a, b)| equal(a, b)).count();
                let what = What::Length {
                    expected: a.len(),
                    actual: b.len(),
                    first_expected: a.get(same).map(short),
                    first_actual: b.get(same).map(short),
                };
                self.at(pointer, &same.to_string(), |walk, pointer| walk.push(pointer, what));
            }
            _ if equal(expected, actual) => {}
            _ => {
                let (expected, actual) = apart(expected, actual);
                self.push(pointer, What::Other { expected, actual });
            }
        }
    }

    fn at(&mut self, pointer: &mut String, token: &str, then: impl FnOnce(&mut Walk, &mut String)) {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(token);
        then(self, pointer);
        pointer.truncate(length);
    }

    fn push(&mut self, pointer: &str, what: What) {
        if self.found.len() < self.limit {
            self.found.push(Difference { pointer: pointer.to_owned(), what });
        }
    }
}

/// Characters of a value that a report shows.
const SHOWN: usize = 100;

/// A value as JSON, shortened.
pub(crate) fn short(value: &Value) -> String {
    cut(&print(value))
}

/// A text, shortened.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.split_at(at).0),
        None => text.to_owned(),
    }
}

/// Two unequal values, shortened so that it is seen where they part.
fn apart(expected: &Value, actual: &Value) -> (String, String) {
    let (a, b) = (print(expected), print(actual));
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let skip = common.saturating_sub(SHOWN / 2);
    if skip == 0 || a.chars().count().max(b.chars().count()) <= SHOWN {
        return (cut(&a), cut(&b));
    }
    let tail = |text: &str| format!("…{}", cut(&text.chars().skip(skip).collect::<String>()));
    (tail(&a), tail(&b))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(expected: &Value, actual: &Value, lines: &[&str]) {
        let found: Vec<String> = differences(expected, actual, 10).iter().map(ToString::to_string).collect();
        assert_eq!(found, lines);
        assert_eq!(equal(expected, actual), lines.is_empty());
    }

    #[test]
    fn each_way_to_differ() {
        check(&json!({"a": 1, "b": [1, 2.0]}), &json!({"b": [1.0, 2], "a": 1}), &[]);
        check(&json!({"a/b": {"~": 1}}), &json!({"a/b": {"~": 2}}), &["/a~1b/~0: expected 1, is 2"]);
        check(&json!({"a": 1}), &json!({"b": 1}), &["/a: missing, expected 1", "/b: not expected, is 1"]);
        check(
            &json!([1, 2, 3]),
            &json!([1, 3]),
            &["/1: the list has 2 items instead of 3; expected here 2, is 3"],
        );
        check(
            &json!([1]),
            &json!([1, 3]),
            &["/1: the list has 2 items instead of 1; expected here nothing, is 3"],
        );
        check(&json!(null), &json!([]), &["(the whole): expected null, is []"]);
        check(
            &json!(9_007_199_254_740_993_u64),
            &json!(9_007_199_254_740_992_u64),
            &["(the whole): expected 9007199254740993, is 9007199254740992"],
        );
    }

    #[test]
    fn long_texts_show_where_they_part() {
        let (a, b) = (format!("{}left{}", "x".repeat(300), "y".repeat(300)), "x".repeat(300));
        let found = differences(&json!(a), &json!(b), 1);
        let text = found.first().expect("they differ").to_string();
        assert!(text.contains("xxleftyy") && text.chars().count() < 300, "{text}");
    }
}
