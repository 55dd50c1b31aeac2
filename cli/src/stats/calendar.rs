//! Days of the reader's calendar.

use std::ops::Range;

use dshlog_codec::Millis;
use dshlog_replay::stats::Day;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

const EPOCH: Date = Date::constant(1970, 1, 1);
const DAY: i64 = 86_400_000;

/// Gives the day of moments in a time zone, and leaves out those that are not asked for.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    zone: TimeZone,
    since: Option<i64>,
    until: Option<i64>,
    /// The day that was asked for last: events come one after the other.
    last: Option<(Range<i64>, Day)>,
}

impl Calendar {
    /// The calendar of a zone, from one moment to before another.
    pub(crate) fn new(zone: TimeZone, since: Option<i64>, until: Option<i64>) -> Self {
        Calendar { zone, since, until, last: None }
    }

    /// The day of a moment that is asked for.
    pub(crate) fn day(&mut self, time: Millis) -> Option<Day> {
        let time = time.0;
        if self.since.is_some_and(|since| time < since) || self.until.is_some_and(|until| time >= until) {
            return None;
        }
        if let Some((range, day)) = &self.last
            && range.contains(&time)
        {
            return Some(*day);
        }
        let (range, day) = self.find(time).unwrap_or_else(|| by_utc(time));
        self.last = Some((range, day));
        Some(day)
    }

    /// The day of a moment and when it begins and ends, which are not 24 hours apart everywhere.
    fn find(&self, time: i64) -> Option<(Range<i64>, Day)> {
        let moment = Timestamp::from_millisecond(time).ok()?.to_zoned_datetime(self.zone.clone());
        let start = moment.start_of_day().ok()?.timestamp().as_millisecond();
        let end = moment.tomorrow().ok()?.start_of_day().ok()?.timestamp().as_millisecond();
        Some((start..end, day_of(moment.date())))
    }
}

/// What no calendar holds is counted in UTC.
fn by_utc(time: i64) -> (Range<i64>, Day) {
    let day = time.div_euclid(DAY);
    let start = day.saturating_mul(DAY);
    (start..start.saturating_add(DAY), Day(i32::try_from(day).unwrap_or(i32::MAX)))
}

/// The number of a date.
pub(crate) fn day_of(date: Date) -> Day {
    let days = date.since(EPOCH).map_or(0, |span: Span| span.get_days());
    Day(days)
}

/// The date of a day; nothing where the calendar has none.
pub(crate) fn date(day: Day) -> Option<Date> {
    EPOCH.checked_add(Span::new().try_days(day.0).ok()?).ok()
}

/// `2026-11-30`.
pub(crate) fn name(day: Day) -> String {
    date(day).map_or_else(|| format!("@{} ms", i64::from(day.0) * DAY), |date| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(zone: &str, times: &[&str]) -> Vec<String> {
        let zone = TimeZone::get(zone).unwrap();
        let mut calendar = Calendar::new(zone, None, None);
        let day = |time: &&str| {
            let time: Timestamp = time.parse().unwrap();
            name(calendar.day(Millis(time.as_millisecond())).unwrap())
        };
        times.iter().map(day).collect()
    }

    /// Days begin at midnight of the reader, be they 23, 24 or 25 hours long.
    #[test]
    fn days_of_zones() {
        assert_eq!(
            days("UTC", &["2026-11-30T00:00:00Z", "2026-11-30T23:59:59.999Z", "2026-12-01T00:00:00Z"]),
            ["2026-11-30", "2026-11-30", "2026-12-01"]
        );
        // Clocks went from 02:00 to 03:00: the day has 23 hours.
        assert_eq!(
            days(
                "Europe/Berlin",
                &[
                    "2026-03-28T22:59:59Z",
                    "2026-03-28T23:00:00Z",
                    "2026-03-29T21:59:59Z",
                    "2026-03-29T22:00:00Z"
                ]
            ),
            ["2026-03-28", "2026-03-29", "2026-03-29", "2026-03-30"]
        );
        // And back: 25 hours.
        assert_eq!(
            days("Europe/Berlin", &["2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"]),
            ["2026-10-25", "2026-10-25", "2026-10-26"]
        );
        assert_eq!(
            days("Asia/Kathmandu", &["2026-11-30T18:14:59Z", "2026-11-30T18:15:00Z"]),
            ["2026-11-30", "2026-12-01"]
        );
        // 30 December 2011 did not take place there.
        assert_eq!(
            days("Pacific/Apia", &["2011-12-30T09:59:59Z", "2011-12-30T10:00:00Z"]),
            ["2011-12-29", "2011-12-31"]
        );
        // A day whose midnight does not exist.
        assert_eq!(
            days("America/Sao_Paulo", &["2018-11-04T02:59:59Z", "2018-11-04T03:00:00Z"]),
            ["2018-11-03", "2018-11-04"]
        );
    }

    #[test]
    fn moments_before_and_beyond() {
        let mut calendar = Calendar::new(TimeZone::UTC, Some(-1), Some(5));
        let mut day = |time| calendar.day(Millis(time)).map(|day| day.0);
        assert_eq!([day(-2), day(-1), day(0), day(4), day(5)], [None, Some(-1), Some(0), Some(0), None]);
        let mut calendar = Calendar::new(TimeZone::UTC, None, None);
        for time in [9_007_199_254_740_991, -9_007_199_254_740_991] {
            let day = calendar.day(Millis(time)).unwrap();
            assert_eq!(i64::from(day.0), time.div_euclid(DAY));
            assert!(name(day).starts_with('@'), "{}", name(day));
        }
        assert_eq!(day_of(Date::constant(2026, 11, 30)), Day(20_787));
    }
}
