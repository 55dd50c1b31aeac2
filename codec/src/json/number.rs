//! Numbers: IEEE doubles in, shortest ECMAScript text out.

/// The largest integer that a double holds exactly together with its neighbours, 2^53 - 1.
pub const SAFE_INTEGER: u64 = (1 << 53) - 1;

const SAFE: f64 = 9_007_199_254_740_991.0;

/// The double nearest to JSON number text; beyond the range infinity, as in JavaScript.
pub(super) fn parse_number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// Print a double as `JSON.stringify` does: `-0` as `0`, what is not finite as `null`.
pub fn print_number(out: &mut Vec<u8>, number: f64) {
    if number.is_finite() {
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(number).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

/// A count (`docs/spec/rows.md`): integer 0 ..= 2^53-1, not negative zero.
pub(super) fn as_count(text: &str, odd: bool) -> Option<u64> {
    if !odd {
        return (!text.starts_with('-')).then(|| plain_digits(text));
    }
    let number = parse_number(text);
    let integral = number.is_sign_positive() && number <= SAFE && number.fract() == 0.0;
    // In range and integral, so the conversion is exact.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    integral.then_some(number as u64)
}

/// A safe integer (`docs/spec/rows.md`): -(2^53-1) ..= 2^53-1, not negative zero.
pub(super) fn as_safe_integer(text: &str, odd: bool) -> Option<i64> {
    if !odd {
        let digits = text.strip_prefix('-');
        let size = plain_digits(digits.unwrap_or(text)).cast_signed();
        return Some(if digits.is_some() { -size } else { size });
    }
    let number = parse_number(text);
    let integral =
        number.abs() <= SAFE && number.fract() == 0.0 && !(number == 0.0 && number.is_sign_negative());
    #[expect(clippy::cast_possible_truncation)]
    integral.then_some(number as i64)
}

/// The value of digits, of which a number that is not odd has too few to overflow.
fn plain_digits(digits: &str) -> u64 {
    let digit = |byte| u64::from(byte & 0x0f);
    digits.bytes().fold(0, |value: u64, byte| value.wrapping_mul(10).wrapping_add(digit(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (text, want) in [
            ("0", Some(0)),
            ("0.0", Some(0)),
            ("1E0", Some(1)),
            ("1e3", Some(1000)),
            ("9007199254740991", Some(SAFE_INTEGER)),
            ("9007199254740993", None),
            ("-0", None),
            ("-1.0", None),
            ("1.5", None),
            ("1e400", None),
        ] {
            assert_eq!(as_count(text, true), want, "{text}");
        }
        assert_eq!(as_count("-1", false), None);
        assert_eq!(as_count("123456789012345", false), Some(123_456_789_012_345));
        assert_eq!(as_safe_integer("-908070605040302", false), Some(-908_070_605_040_302));
        assert_eq!(as_safe_integer("0", false), Some(0));
        assert_eq!(as_safe_integer("-1", false), Some(-1));
        assert_eq!(as_safe_integer("-9007199254740991", true), Some(-9_007_199_254_740_991));
        assert_eq!(as_safe_integer("-9007199254740992", true), None);
        assert_eq!(as_safe_integer("-0", true), None);
    }
}
