//! Bars and sparklines out of characters.

use std::collections::BTreeMap;

use dshlog_replay::stats::Day;

/// Columns of the longest bar.
const LONGEST: usize = 10;
/// Most columns of a sparkline.
const WIDEST: usize = 60;

/// A set of characters to draw with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bars {
    /// Parts of a column, from the least to all of it.
    parts: &'static [char],
    /// Heights of a column, from the least to all of it.
    heights: &'static [char],
}

impl Bars {
    /// Block elements; in ASCII something that looks like them.
    pub(super) fn new(ascii: bool) -> Self {
        if ascii {
            Bars { parts: &['#'], heights: &['.', ':', '-', '=', '+', '*', '#', '@'] }
        } else {
            Bars {
                parts: &['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'],
                heights: &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            }
        }
    }

    /// A bar, and how much of all it is: `████▌       45 %`. Nothing at all has no bar.
    pub(super) fn share(&self, part: u64, all: u64) -> String {
        format!("{:<LONGEST$} {:>5}", self.bar(part, all), Self::percent(part, all))
    }

    /// How much of all it is: `45 %`.
    pub(super) fn percent(part: u64, all: u64) -> String {
        format!("{} %", share(part, 100, all))
    }

    fn bar(&self, part: u64, all: u64) -> String {
        let per_column = self.parts.len();
        // What is there is seen, however little it is.
        let steps = share(part, LONGEST * per_column, all).max(usize::from(part > 0));
        let mut bar: String = std::iter::repeat_n(self.parts.last(), steps / per_column).flatten().collect();
        if let Some(rest) = (steps % per_column).checked_sub(1) {
            bar.extend(self.parts.get(rest));
        }
        bar
    }

    /// One column a day, also for days without anything; several days a column where they do not fit into `width`.
    pub(super) fn sparkline(&self, days: &BTreeMap<Day, u64>, width: usize) -> String {
        let (Some((first, _)), Some((last, _))) = (days.first_key_value(), days.last_key_value()) else {
            return String::new();
        };
        let offset = |day: Day| u64::from(last.0.abs_diff(first.0).min(day.0.abs_diff(first.0)));
        let width = width.clamp(1, WIDEST) as u64;
        let per_column = (offset(*last) + 1).div_ceil(width);
        let columns = usize::try_from(offset(*last) / per_column + 1).unwrap_or(WIDEST);
        let mut sums = vec![0_u64; columns];
        for (day, tokens) in days {
            let column = usize::try_from(offset(*day) / per_column).unwrap_or_default();
            if let Some(sum) = sums.get_mut(column) {
                *sum = sum.saturating_add(*tokens);
            }
        }
        let most = sums.iter().copied().max().unwrap_or_default();
        sums.iter().map(|sum| self.height(*sum, most)).collect()
    }

    fn height(&self, sum: u64, most: u64) -> char {
        if sum == 0 {
            return ' ';
        }
        let step = share(sum, self.heights.len(), most).clamp(1, self.heights.len());
        self.heights.get(step - 1).copied().unwrap_or(' ')
    }
}

/// `part` of `all`, in `steps`, rounded.
fn share(part: u64, steps: usize, all: u64) -> usize {
    let all = u128::from(all.max(1));
    usize::try_from((u128::from(part) * steps as u128 + all / 2) / all).unwrap_or(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let (blocks, ascii) = (Bars::new(false), Bars::new(true));
        for (part, all, bar, plain) in [
            (0, 0, "             0 %", "             0 %"),
            (0, 9, "             0 %", "             0 %"),
            (1, 1_000_000, "▏            0 %", "#            0 %"),
            (45, 100, "████▌       45 %", "#####       45 %"),
            (9, 9, "██████████ 100 %", "########## 100 %"),
            (u64::MAX, u64::MAX, "██████████ 100 %", "########## 100 %"),
        ] {
            assert_eq!(blocks.share(part, all), bar);
            assert_eq!(ascii.share(part, all), plain);
        }
    }

    #[test]
    fn days_without_anything_are_there() {
        let days =
            |days: &[(i32, u64)]| days.iter().map(|(day, n)| (Day(*day), *n)).collect::<BTreeMap<_, _>>();
        let check = |tokens: &[(i32, u64)], width, expected: &str| {
            assert_eq!(Bars::new(false).sparkline(&days(tokens), width), expected);
        };
        check(&[], 10, "");
        check(&[(5, 7)], 10, "█");
        check(&[(5, 8), (6, 1), (9, 4)], 10, "█▁  ▄");
        check(&[(5, 8), (6, 1), (9, 4)], 2, "█▄");
        check(&[(-1, 1), (2, 0)], 10, "█   ");
        check(&[(i32::MIN, 1), (i32::MAX, 1)], 10, "█        █");
        assert_eq!(Bars::new(true).sparkline(&days(&[(0, 8), (1, 1)]), 9), "@.");
    }
}
