//! How values are spread: a sketch that can be merged.

use std::collections::BTreeMap;

/// Values below this are kept as they are; above, this many buckets stand for each power of two.
const FINE: u64 = 1 << FINE_BITS;
const FINE_BITS: u32 = 7;

/// The distribution of counts such as milliseconds.
///
/// Count, sum, least and greatest value are exact. A quantile is exact below 128, and else at most 1/256 (0.4 %) away from
/// the value at its rank. Merging gives the sketch of all values, whatever the order and the grouping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    count: u64,
    sum: u64,
    /// Least and greatest.
    ends: Option<(u64, u64)>,
    /// Values by bucket; at most some 7,300 of them, whatever comes.
    buckets: BTreeMap<u16, u64>,
}

impl Spread {
    /// Take in one value.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.ends = Some(self.ends.map_or((value, value), |(min, max)| (min.min(value), max.max(value))));
        *self.buckets.entry(bucket(value)).or_default() += 1;
    }

    /// Take in what another one holds.
    pub fn merge(&mut self, other: &Spread) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.ends = match (self.ends, other.ends) {
            (Some((min, max)), Some((least, greatest))) => Some((min.min(least), max.max(greatest))),
            (ends, None) | (None, ends) => ends,
        };
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum; it stays at the greatest number where it does not fit.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The least value.
    pub fn min(&self) -> Option<u64> {
        self.ends.map(|(min, _)| min)
    }

    /// The greatest value.
    pub fn max(&self) -> Option<u64> {
        self.ends.map(|(_, max)| max)
    }

    /// The value of nearest rank: the least one that is not below `percent` of all. 50 asks for the median.
    pub fn quantile(&self, percent: u8) -> Option<u64> {
        let (min, max) = self.ends?;
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut below = 0;
        for (bucket, count) in &self.buckets {
            below += u128::from(*count);
            if below >= rank {
                return Some(middle(*bucket).clamp(min, max));
            }
        }
        Some(max)
    }
}

/// The bucket of a value: its power of two, and the seven bits behind the first one.
fn bucket(value: u64) -> u16 {
    if value < FINE {
        return low_bits(value);
    }
    let shift = value.ilog2() - FINE_BITS;
    low_bits(u64::from(shift + 1) * FINE + (value >> shift) - FINE)
}

/// Buckets end at 58 times 128.
fn low_bits(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// The value in the middle of a bucket.
fn middle(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    if bucket < FINE {
        return bucket;
    }
    let shift = bucket / FINE - 1;
    let first = (FINE + bucket % FINE) << shift;
    first + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spread(values: &[u64]) -> Spread {
        let mut spread = Spread::default();
        for value in values {
            spread.add(*value);
        }
        spread
    }

    #[test]
    fn few_values_are_exact() {
        let five = spread(&[15, 20, 35, 40, 50]);
        // The worked example of nearest rank.
        for (percent, expected) in [(0, 15), (5, 15), (30, 20), (40, 20), (50, 35), (100, 50)] {
            assert_eq!(five.quantile(percent), Some(expected), "{percent}");
        }
        assert_eq!((five.count(), five.sum(), five.min(), five.max()), (5, 160, Some(15), Some(50)));
        let none = Spread::default();
        assert_eq!((none.quantile(50), none.min(), none.max(), none.sum()), (None, None, None, 0));
        assert_eq!(spread(&[1_234_567]).quantile(50), Some(1_234_567), "one value is its own median");
        assert_eq!(spread(&[u64::MAX, u64::MAX]).quantile(99), Some(u64::MAX));
        assert_eq!(spread(&[u64::MAX, u64::MAX]).sum(), u64::MAX);
    }

    proptest! {
        #[test]
        fn a_quantile_is_near_the_value_at_its_rank(
            mut values in prop::collection::vec(prop_oneof![0..1000_u64, 0..100_000_000_u64, any::<u64>()], 1..300),
            percent in 0..=100_u8,
        ) {
            let found = spread(&values).quantile(percent).unwrap();
            values.sort_unstable();
            let rank = (values.len() * usize::from(percent)).div_ceil(100).max(1);
            let exact = values[rank - 1];
            prop_assert!(u128::from(found.abs_diff(exact)) * 256 <= u128::from(exact), "{} for {}", found, exact);
            if exact < 128 {
                prop_assert_eq!(found, exact);
            }
        }

        #[test]
        fn merging_is_counting_on(
            a in prop::collection::vec(any::<u64>(), 0..50),
            b in prop::collection::vec(any::<u64>(), 0..50),
            c in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let merged = |one: &Spread, two: &Spread| {
                let mut merged = one.clone();
                merged.merge(two);
                merged
            };
            let whole = spread(&[a.clone(), b.clone(), c.clone()].concat());
            let [a, b, c] = [a, b, c].map(|values| spread(&values));
            prop_assert_eq!(&merged(&merged(&a, &b), &c), &whole);
            prop_assert_eq!(&merged(&a, &merged(&b, &c)), &whole);
            prop_assert_eq!(merged(&b, &a), merged(&a, &b));
        }
    }
}
