//! What of a value does not survive being parsed and printed by JavaScript (`docs/spec/rows.md`, 1.1 and 1.2).

use super::number::print_number;
use super::print::has_duplicates;
use super::tape::Kind;
use super::value::Js;

/// Values that another reader of the printed text gets otherwise, or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Numbers that stand for another number after printing: beyond a double's digits or range, or negative zero.
    pub numbers: u64,
    /// Objects with members that a later one of the same name replaces.
    pub objects: u64,
}

impl Losses {
    /// Those of `value` and of all that is in it. Other spellings of the same value are none.
    pub fn of(value: Js<'_>) -> Losses {
        let mut losses = Losses::default();
        let mut at = value.at;
        while at < value.node().next {
            let here = Js { at, ..value };
            match here.kind() {
                Kind::Number if here.node().odd => losses.numbers += u64::from(!survives(here)),
                Kind::Object => losses.objects += u64::from(has_duplicates(here)),
                _ => {}
            }
            at += 1;
        }
        losses
    }

    /// True when all survives.
    pub fn is_none(self) -> bool {
        self == Losses::default()
    }
}

fn survives(number: Js<'_>) -> bool {
    let mut printed = Vec::with_capacity(24);
    print_number(&mut printed, number.as_f64().unwrap_or(f64::NAN));
    std::str::from_utf8(&printed).is_ok_and(|printed| decimal(printed) == decimal(number.raw()))
}

/// Sign, digits without zeros at the ends, and the power of ten that the first digit stands for. A zero keeps only
/// its sign. `null` has no digits, but a name.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    // An exponent beyond all numbers is either no number or nothing but zeros.
    let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap_or(i64::from(i32::MAX));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let leading = digits.bytes().take_while(|digit| *digit == b'0').count();
    let significant = digits.trim_matches('0').to_owned();
    if significant.is_empty() {
        return Some((negative, significant, 0));
    }
    let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
    Some((negative, significant, point.saturating_add(exponent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[track_caller]
    fn check(text: &str, numbers: u64, objects: u64) {
        let doc = Doc::parse(text).unwrap();
        assert_eq!(Losses::of(doc.root()), Losses { numbers, objects }, "{text}");
    }

    /// Right answers: what `JSON.stringify(JSON.parse(text))` gives in Node 24.
    #[test]
    fn what_javascript_keeps() {
        for kept in
            ["0", "1.0", "1e3", "100E-2", "0.1", "9007199254740992", "1e21", "5e-324", "-1.50", "0e999"]
        {
            check(kept, 0, 0);
        }
        for lost in [
            "-0",
            "-0.0",
            "1e999",
            "-1e400",
            "9007199254740993",
            "12345678901234567890",
            "0.1000000000000000055",
            "1e-999",
            "123456789012345680001",
        ] {
            check(lost, 1, 0);
        }
    }

    #[test]
    fn losses_are_counted_wherever_they_are() {
        check(r#"{"a":[1e999,{"b":-0,"b":1}],"c":"1e999"}"#, 2, 1);
        check(r#"{"a":1,"\u0061":2}"#, 0, 1);
        check(r#" {"a" : 1.0} "#, 0, 0);
    }
}
