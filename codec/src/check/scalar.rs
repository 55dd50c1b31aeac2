//! Values of payloads, as far as rules compare them.

use crate::json::{Digest, Js, JsStr, deep_digest};

/// A value kept to find out later whether another one is the *same* (`docs/spec/events-v4.md`, section 1): scalars
/// and absence by value, objects and arrays never.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scalar {
    Absent,
    Null,
    Bool(bool),
    /// Bits of the double; `-0` is kept as `0`.
    Number(u64),
    Text(Box<[u8]>),
    /// A text too long to keep.
    LongText(Digest),
    /// An object or array.
    Never,
}

/// Longest text that is kept as it is. A digest takes 32 bytes.
const KEPT: usize = 64;

impl Scalar {
    pub(super) fn of(value: Option<Js<'_>>) -> Self {
        let Some(value) = value else { return Scalar::Absent };
        if let Some(text) = value.as_str() {
            let bytes = text.to_wtf8();
            return if bytes.len() <= KEPT {
                Scalar::Text(bytes.into())
            } else {
                Scalar::LongText(deep_digest(value, false))
            };
        }
        if let Some(number) = value.as_f64() {
            return Scalar::Number(if number == 0.0 { 0 } else { number.to_bits() });
        }
        match value.as_bool() {
            Some(truth) => Scalar::Bool(truth),
            None if value.is_null() => Scalar::Null,
            None => Scalar::Never,
        }
    }

    pub(super) fn is_same(&self, other: &Scalar) -> bool {
        !matches!(self, Scalar::Never) && self == other
    }

    pub(super) fn is_same_as(&self, value: Option<Js<'_>>) -> bool {
        self.is_same(&Scalar::of(value))
    }
}

/// An id as it is kept.
pub(super) type Id = Box<[u8]>;

/// The string, when there is one and it is not empty.
pub(super) fn nonempty(value: Option<Js<'_>>) -> Option<JsStr<'_>> {
    value.and_then(Js::as_str).filter(|text| !text.is_empty())
}

/// The count, when there is one.
pub(super) fn count(value: Option<Js<'_>>) -> Option<u64> {
    value.and_then(Js::as_count)
}

/// True for a number that equals `expected`, a count. Equal is what JavaScript takes as such: 0 may be written as `-0`.
pub(super) fn equals(value: Option<Js<'_>>, expected: u64) -> bool {
    // A count is at most 2^53-1, so the conversion is exact.
    #[expect(clippy::cast_precision_loss, clippy::float_cmp)]
    value.and_then(Js::as_f64).is_some_and(|number| number == expected as f64)
}

/// True for a count other than 0.
pub(super) fn is_positive(value: Option<Js<'_>>) -> bool {
    count(value).is_some_and(|n| n > 0)
}

/// True when there is a value and it is the string `text`.
pub(super) fn is(value: Option<Js<'_>>, text: &str) -> bool {
    value.is_some_and(|v| v.is(text))
}

/// The value when it is an object.
pub(super) fn object(value: Option<Js<'_>>) -> Option<Js<'_>> {
    value.filter(|v| v.is_object())
}

/// True for an absent value or `true`.
pub(super) fn is_absent_or_true(value: Option<Js<'_>>) -> bool {
    value.is_none_or(Js::is_true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[track_caller]
    fn check(a: &str, b: &str, same: bool) {
        let (a, b) = (Doc::parse(a).unwrap(), Doc::parse(b).unwrap());
        assert_eq!(Scalar::of(Some(a.root())).is_same_as(Some(b.root())), same, "{a:?} {b:?}");
    }

    #[test]
    fn same_by_value_but_never_containers() {
        check("1", "1.0", true);
        check("0", "-0", true);
        check("null", "null", true);
        check("true", "false", false);
        check("\"a\"", "\"\\u0061\"", true);
        check("\"1\"", "1", false);
        check("{}", "{}", false);
        check("[]", "[]", false);
        let long = format!("\"{}\"", "x".repeat(500));
        check(&long, &long, true);
        check(&long, &format!("\"{}\"", "x".repeat(501)), false);
        assert!(Scalar::Absent.is_same_as(None));
        assert!(!Scalar::Null.is_same_as(None));
    }
}
