//! Numbers with their units, as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A size: `412 B`, `2.1 KB`, `3.0 MB` (powers of 1000).
pub(crate) fn bytes(count: u64) -> String {
    scaled(count, " B", &[" KB", " MB", " GB", " TB"])
}

/// A count of tokens: `802`, `12.4k`, `1.2M`.
pub(crate) fn tokens(count: u64) -> String {
    scaled(count, "", &["k", "M", "G"])
}

fn scaled(count: u64, unit: &str, larger: &[&str]) -> String {
    if count < 1000 {
        return format!("{count}{unit}");
    }
    let count = u128::from(count);
    let mut scale = 1000_u128;
    let rounded = |scale: u128, parts: u128| (count * parts + scale / 2) / scale;
    for (at, name) in larger.iter().enumerate() {
        let tenths = rounded(scale, 10);
        if tenths < 1000 {
            return format!("{}.{}{name}", tenths / 10, tenths % 10);
        }
        let whole = rounded(scale, 1);
        if whole < 1000 || at + 1 == larger.len() {
            return format!("{whole}{name}");
        }
        scale *= 1000;
    }
    format!("{count}{unit}")
}

/// A span of time: `12 ms`, `0.4 s`, `14.2 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`.
pub(crate) fn duration(millis: i64) -> String {
    let millis = millis.max(0);
    let seconds = millis / 1000;
    match millis {
        0..100 => format!("{millis} ms"),
        100..60_000 => {
            let tenths = (millis + 50) / 100;
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// `1 turn`, `2 turns`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(number))
}

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A moment in a zone by a `strftime` pattern; what no calendar holds stays the number.
pub(crate) fn moment(millis: i64, zone: &TimeZone, pattern: &str) -> String {
    match Timestamp::from_millisecond(millis) {
        Ok(time) => time.to_zoned_datetime(zone.clone()).strftime(pattern).to_string(),
        Err(_) => format!("@{millis} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_two_figures() {
        for (count, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (2149, "2.1 KB"),
            (99_949, "99.9 KB"),
            (123_456, "123 KB"),
            (999_949, "1.0 MB"),
            (3_000_000, "3.0 MB"),
            (7_000_000_000, "7.0 GB"),
        ] {
            assert_eq!(bytes(count), expected, "{count}");
        }
        assert_eq!(tokens(1204), "1.2k");
        assert_eq!(tokens(802), "802");
    }

    #[test]
    fn spans_name_their_two_largest_units() {
        for (millis, expected) in [
            (-5, "0 ms"),
            (99, "99 ms"),
            (100, "0.1 s"),
            (9_849, "9.8 s"),
            (59_999, "60.0 s"),
            (185_000, "3 min 5 s"),
            (7_800_000, "2 h 10 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(millis), expected, "{millis}");
        }
    }

    #[test]
    fn counts_are_grouped_and_plural() {
        assert_eq!(count(1, "turn"), "1 turn");
        assert_eq!(count(0, "turn"), "0 turns");
        assert_eq!(count(1_234_567, "event"), "1,234,567 events");
    }
}
