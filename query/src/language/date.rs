//! Days and moments as people name them.

use std::ops::Range;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::nearest;

/// What a date stands for, epoch milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) start: i64,
    /// Where it ends; a moment has no end.
    end: Option<i64>,
}

impl Named {
    /// All of it; of a moment the day that it lies in.
    pub(super) fn day(&self, zone: &TimeZone) -> Range<i64> {
        if let Some(end) = self.end {
            return self.start..end;
        }
        let day =
            Timestamp::from_millisecond(self.start).map(|time| time.to_zoned_datetime(zone.clone()).date());
        day.ok()
            .and_then(|day| days(day, day.tomorrow().ok()?, zone))
            .map_or(self.start..self.start, |named| named.start..named.end.unwrap_or(named.start))
    }
}

/// Words that name a day or more.
const WORDS: [&str; 10] = [
    "today",
    "yesterday",
    "now",
    "last-week",
    "last-month",
    "last-year",
    "this-week",
    "this-month",
    "this-year",
    "last-monday",
];

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

const FORMS: &str = "`2026-11-30`, `2026-11`, `2026-11-30T12:00`, `today`, `yesterday`, `3d`, `36h`, `last-monday` and \
                     `last-week` are";

/// Understand a date; the error is a hint.
pub(super) fn parse(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Named, String> {
    let plain = text.trim().to_lowercase().replace([' ', '_'], "-");
    let today = now.to_zoned_datetime(zone.clone()).date();
    if let Some(named) = word(&plain, now, today, zone)
        .or_else(|| ago(&plain, now, zone))
        .or_else(|| written(text.trim(), zone))
    {
        return Ok(named);
    }
    let last = WEEKDAYS.iter().map(|(name, _)| *name);
    Err(match nearest(&plain, WORDS.into_iter().chain(last), 3) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => FORMS.to_owned(),
    })
}

fn word(word: &str, now: Timestamp, today: Date, zone: &TimeZone) -> Option<Named> {
    let one_day = |day: Date| days(day, day.tomorrow().ok()?, zone);
    let monday = today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()?;
    let month = today.first_of_month();
    let year = today.first_of_year();
    match word {
        "now" => return Some(Named { start: now.as_millisecond(), end: None }),
        "today" => return one_day(today),
        "yesterday" => return one_day(today.yesterday().ok()?),
        "this-week" => return days(monday, monday.checked_add(1.week()).ok()?, zone),
        "last-week" => return days(monday.checked_sub(1.week()).ok()?, monday, zone),
        "this-month" => return days(month, month.checked_add(1.month()).ok()?, zone),
        "last-month" => return days(month.checked_sub(1.month()).ok()?, month, zone),
        "this-year" => return days(year, year.checked_add(1.year()).ok()?, zone),
        "last-year" => return days(year.checked_sub(1.year()).ok()?, year, zone),
        _ => {}
    }
    let (name, is_past) = match word.strip_prefix("last-") {
        Some(name) => (name, true),
        None => (word, false),
    };
    let (_, weekday) = WEEKDAYS.iter().find(|(known, _)| *known == name)?;
    if !is_past && today.weekday() == *weekday {
        return one_day(today);
    }
    one_day(today.nth_weekday(-1, *weekday).ok()?)
}

/// `90m`, `36h`, `3d`, `2w`, `6mo`, `1y`, each also with `ago` behind it.
fn ago(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Named> {
    let text = text.strip_suffix("-ago").unwrap_or(text);
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let count: i64 = text.strip_suffix(unit)?.parse::<u32>().ok()?.into();
    let span = match unit {
        "m" | "min" => return Some(moment(now.checked_sub(SignedDuration::from_mins(count)).ok()?)),
        "h" => return Some(moment(now.checked_sub(SignedDuration::from_hours(count)).ok()?)),
        "d" => 1.day(),
        "w" => 1.week(),
        "mo" => 1.month(),
        "y" => 1.year(),
        _ => return None,
    };
    let back = now.to_zoned_datetime(zone.clone()).checked_sub(span.checked_mul(count).ok()?).ok()?;
    Some(moment(back.timestamp()))
}

fn moment(time: Timestamp) -> Named {
    Named { start: time.as_millisecond(), end: None }
}

/// A year, a month, a day, a time of a day here, a moment with its zone.
fn written(text: &str, zone: &TimeZone) -> Option<Named> {
    let digits = |text: &str, count: usize| {
        (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse::<i16>().ok())?
    };
    if let Some(year) = digits(text, 4) {
        let first = Date::new(year, 1, 1).ok()?;
        return days(first, first.checked_add(1.year()).ok()?, zone);
    }
    if let Some((year, month)) = text.split_once('-')
        && let (Some(year), Some(month)) = (digits(year, 4), digits(month, 2))
    {
        let first = Date::new(year, i8::try_from(month).ok()?, 1).ok()?;
        return days(first, first.checked_add(1.month()).ok()?, zone);
    }
    if text.len() == 10 {
        let day: Date = text.parse().ok()?;
        return days(day, day.tomorrow().ok()?, zone);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(moment(time));
    }
    let local = text.parse::<DateTime>().ok()?.to_zoned_datetime(zone.clone()).ok()?;
    Some(moment(local.timestamp()))
}

fn days(from: Date, to: Date, zone: &TimeZone) -> Option<Named> {
    let begin =
        |day: Date| day.to_zoned_datetime(zone.clone()).map(|day| day.timestamp().as_millisecond()).ok();
    Some(Named { start: begin(from)?, end: Some(begin(to)?) })
}
