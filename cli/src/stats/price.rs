//! What tokens cost, by a file of prices (`docs/stats.md`).
//!
//! No floating point: a price is a whole number of billionths of a unit of its currency for a million tokens, an amount
//! a whole number of 10^-15 units. So sums are exact, in any order, and rounded only where they are shown.

use std::collections::BTreeMap;

use dshlog_replay::stats::{Day, Model, Tokens};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::civil::Date;
use toml_edit::{Document, Item, Table, Value};

use super::calendar::day_of;

/// The prices of a file, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Prices(Vec<Price>);

/// One entry: the price of a million tokens.
#[derive(Clone, Debug)]
struct Price {
    models: GlobSet,
    currency: String,
    input: Nanos,
    output: Nanos,
    cache_read: Option<Nanos>,
    cache_write: Option<Nanos>,
    from: Option<Day>,
    to: Option<Day>,
}

/// Billionths of a unit of a currency.
type Nanos = u64;

/// An amount in 10^-15 units of a currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Amount(pub(crate) u128);

const UNIT: u128 = 1_000_000_000_000_000;

impl Amount {
    /// All digits, at least two behind the point: `0.0008`, `12.30`.
    pub(crate) fn exact(self) -> String {
        let digits = format!("{:015}", self.0 % UNIT);
        let kept = digits.trim_end_matches('0').len().max(2);
        format!("{}.{}", self.0 / UNIT, &digits[..kept])
    }

    /// Rounded to four digits behind the point, half upwards.
    pub(crate) fn rounded(self) -> String {
        let step = UNIT / 10_000;
        let steps = self.0.saturating_add(step / 2) / step;
        format!("{}.{:04}", steps / 10_000, steps % 10_000)
    }
}

/// What something cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Costs {
    /// By currency.
    pub(crate) amounts: BTreeMap<String, Amount>,
    /// Tokens that no price was found for.
    pub(crate) unpriced: Tokens,
}

impl Costs {
    /// Add what something else cost.
    pub(crate) fn merge(&mut self, other: &Costs) {
        for (currency, amount) in &other.amounts {
            let sum = self.amounts.entry(currency.clone()).or_default();
            sum.0 = sum.0.saturating_add(amount.0);
        }
        self.unpriced.merge(&other.unpriced);
    }
}

/// Why a file of prices cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PriceFault {
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong there.
    pub(crate) what: String,
}

impl Prices {
    /// Parse a file.
    pub(crate) fn parse(text: &str) -> Result<Prices, PriceFault> {
        let document = Document::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            fault(text, at, error.message())
        })?;
        let mut prices = Vec::new();
        for (name, item) in document.as_table() {
            let at = item.span().map_or(0, |span| span.start);
            let Some(entries) = item.as_array_of_tables().filter(|_| name == "price") else {
                return Err(fault(
                    text,
                    at,
                    format!("`{name}` is not known here; prices stand under `[[price]]`"),
                ));
            };
            for entry in entries {
                prices.push(Entry { text, table: entry }.price()?);
            }
        }
        Ok(Prices(prices))
    }

    /// What tokens of a model cost on a day. The first entry that fits decides; what it has no price for is unpriced.
    pub(crate) fn costs(&self, day: Day, model: Option<&Model>, tokens: &Tokens) -> Costs {
        let mut costs = Costs::default();
        let price = model.and_then(|model| self.0.iter().find(|price| price.fits(day, model)));
        let Some(price) = price else {
            costs.unpriced = *tokens;
            return costs;
        };
        let mut sum = 0_u128;
        let mut unpriced = Tokens::default();
        for (count, rate, left) in [
            (tokens.input, Some(price.input), &mut unpriced.input),
            (tokens.output, Some(price.output), &mut unpriced.output),
            (tokens.cache_read, price.cache_read, &mut unpriced.cache_read),
            (tokens.cache_write, price.cache_write, &mut unpriced.cache_write),
        ] {
            match rate {
                // Billionths for a million tokens are 10^-15 for one.
                Some(rate) => sum = sum.saturating_add(u128::from(count) * u128::from(rate)),
                None => *left = count,
            }
        }
        if tokens.total() > unpriced.total() {
            costs.amounts.insert(price.currency.clone(), Amount(sum));
        }
        costs.unpriced = unpriced;
        costs
    }
}

impl Price {
    fn fits(&self, day: Day, model: &Model) -> bool {
        let whole = format!("{}/{}", model.provider, model.name);
        self.from.is_none_or(|from| from <= day)
            && self.to.is_none_or(|to| day <= to)
            && (self.models.is_match(&model.name) || self.models.is_match(&whole))
    }
}

/// An entry on its way.
struct Entry<'a> {
    text: &'a str,
    table: &'a Table,
}

impl Entry<'_> {
    fn price(&self) -> Result<Price, PriceFault> {
        const KNOWN: [&str; 8] =
            ["model", "currency", "input", "output", "cache_read", "cache_write", "from", "to"];
        if let Some((name, item)) = self.table.iter().find(|(name, _)| !KNOWN.contains(name)) {
            return Err(self.fault(item, format!("`{name}` is not known; an entry has {}", KNOWN.join(", "))));
        }
        let price = Price {
            models: self.models()?,
            currency: self.required("currency", |item| {
                item.as_str()
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .ok_or("a name, such as \"USD\"")
            })?,
            input: self.required("input", |item| self.rate(item))?,
            output: self.required("output", |item| self.rate(item))?,
            cache_read: self.optional("cache_read", |item| self.rate(item))?,
            cache_write: self.optional("cache_write", |item| self.rate(item))?,
            from: self.optional("from", day)?,
            to: self.optional("to", day)?,
        };
        if let (Some(from), Some(to)) = (price.from, price.to)
            && to < from
        {
            return Err(self.missing("`to` lies before `from`"));
        }
        Ok(price)
    }

    /// One glob or several.
    fn models(&self) -> Result<GlobSet, PriceFault> {
        let wanted = "a pattern such as \"deepseek-*\", or a list of them";
        let globs: Vec<String> = self.required("model", |item| match item.as_value() {
            Some(Value::Array(list)) if !list.is_empty() => {
                list.iter().map(|value| value.as_str().map(str::to_owned).ok_or(wanted)).collect()
            }
            Some(Value::String(glob)) => Ok(vec![glob.value().clone()]),
            _ => Err(wanted),
        })?;
        // A set says when a pattern is too large to be compiled; a single matcher panics.
        let mut set = GlobSetBuilder::new();
        for glob in &globs {
            let glob = GlobBuilder::new(glob).literal_separator(false).build();
            set.add(glob.map_err(|error| self.missing(&error.to_string()))?);
        }
        set.build().map_err(|_| self.missing("the patterns of `model` are too large"))
    }

    /// A decimal number as it is written, so that it never was a floating point one.
    fn rate(&self, item: &Item) -> Result<Nanos, &'static str> {
        let wanted = "a price such as 0.27, with at most nine digits behind the point";
        let text = match item.as_value() {
            Some(Value::String(text)) => text.value().as_str(),
            Some(Value::Integer(_) | Value::Float(_)) => {
                item.span().and_then(|span| self.text.get(span)).ok_or(wanted)?
            }
            _ => return Err(wanted),
        };
        nanos(text).ok_or(wanted)
    }

    fn required<T>(
        &self,
        name: &str,
        read: impl Fn(&Item) -> Result<T, &'static str>,
    ) -> Result<T, PriceFault> {
        self.optional(name, read)?.ok_or_else(|| self.missing(&format!("`{name}` is missing")))
    }

    fn optional<T>(
        &self,
        name: &str,
        read: impl Fn(&Item) -> Result<T, &'static str>,
    ) -> Result<Option<T>, PriceFault> {
        let Some(item) = self.table.get(name) else { return Ok(None) };
        read(item).map(Some).map_err(|wanted| self.fault(item, format!("`{name}` is not {wanted}")))
    }

    fn fault(&self, item: &Item, what: String) -> PriceFault {
        fault(self.text, item.span().map_or(0, |span| span.start), what)
    }

    fn missing(&self, what: &str) -> PriceFault {
        fault(self.text, self.table.span().map_or(0, |span| span.start), what)
    }
}

fn fault(text: &str, at: usize, what: impl Into<String>) -> PriceFault {
    let line = 1 + text.get(..at).map_or(0, |before| before.matches('\n').count());
    PriceFault { line, what: what.into() }
}

/// A date, bare or as a string.
fn day(item: &Item) -> Result<Day, &'static str> {
    let wanted = "a date such as 2026-11-30";
    let date = match item.as_value() {
        Some(Value::String(text)) => text.value().parse::<Date>().ok(),
        Some(Value::Datetime(moment)) => {
            let moment = moment.value();
            moment.date.filter(|_| moment.time.is_none()).and_then(|date| {
                Date::new(
                    i16::try_from(date.year).ok()?,
                    i8::try_from(date.month).ok()?,
                    i8::try_from(date.day).ok()?,
                )
                .ok()
            })
        }
        _ => None,
    };
    date.map(day_of).ok_or(wanted)
}

/// A decimal number in billionths.
fn nanos(text: &str) -> Option<Nanos> {
    let text = text.replace('_', "");
    let text = text.strip_prefix('+').unwrap_or(&text);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 9 || !is_digits(whole) || !is_digits(part) {
        return None;
    }
    format!("{whole}{part:0<9}").parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model(name: &str) -> Model {
        Model { provider: "p".into(), name: name.into() }
    }

    fn tokens(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Tokens {
        Tokens { input, cache_read, cache_write, output, reasoning: output }
    }

    #[track_caller]
    fn cost(prices: &str, day: i32, name: &str, tokens: &Tokens) -> (String, u64) {
        let costs = Prices::parse(prices).unwrap().costs(Day(day), Some(&model(name)), tokens);
        let amounts = costs.amounts.iter().map(|(currency, amount)| format!("{currency} {}", amount.exact()));
        (amounts.collect::<Vec<_>>().join(", "), costs.unpriced.total())
    }

    const FILE: &str = r#"
        # Prices of a million tokens.
        [[price]]
        model = "deepseek-*"
        currency = "USD"
        input = 0.27
        output = "1.10"
        cache_read = 0.07
        cache_write = 0
        to = 2026-11-30
        [[price]]
        model = ["p/deepseek-*", "other"]
        currency = "CNY"
        input = 2
        output = 1_000.000_000_001
        from = "2026-12-01"
    "#;

    #[test]
    fn amounts_are_exact() {
        let last = day_of(Date::constant(2026, 11, 30)).0;
        // 0.27 and 1.10 are no sums of powers of two.
        assert_eq!(
            cost(FILE, last, "deepseek-v4", &tokens(1_000_000, 0, 0, 1_000_000)),
            ("USD 1.37".into(), 0)
        );
        assert_eq!(cost(FILE, last, "deepseek-v4", &tokens(1, 1, 1, 1)), ("USD 0.00000144".into(), 0));
        assert_eq!(cost(FILE, last, "deepseek-v4", &tokens(0, 0, 0, 0)), (String::new(), 0));
        assert_eq!(cost(FILE, last, "deepseek-v4", &tokens(0, 0, 9, 0)), ("USD 0.00".into(), 0));
        assert_eq!(cost(FILE, last, "other", &tokens(5, 0, 0, 0)), (String::new(), 5), "not yet");
        assert_eq!(
            cost(FILE, last + 1, "deepseek-v4", &tokens(3, 10, 0, 1)),
            ("CNY 0.001006000000001".into(), 10)
        );
        assert_eq!(cost(FILE, last + 1, "unknown", &tokens(1, 2, 3, 4)), (String::new(), 10));
        let costs = Prices::parse(FILE).unwrap().costs(Day(0), None, &tokens(1, 0, 0, 0));
        assert_eq!((costs.amounts.len(), costs.unpriced.input), (0, 1), "without a model there is no price");
    }

    #[test]
    fn amounts_are_rounded_once() {
        for (amount, exact, rounded) in [
            (0, "0.00", "0.0000"),
            (UNIT, "1.00", "1.0000"),
            (49_999_999_999, "0.000049999999999", "0.0000"),
            (50_000_000_000, "0.00005", "0.0001"),
            (12 * UNIT + UNIT / 10 * 3, "12.30", "12.3000"),
            (UNIT - 1, "0.999999999999999", "1.0000"),
        ] {
            assert_eq!(
                (Amount(amount).exact().as_str(), Amount(amount).rounded().as_str()),
                (exact, rounded)
            );
        }
        assert!(!Amount(u128::MAX).rounded().is_empty());
    }

    #[test]
    fn decimals() {
        for (text, expected) in [
            ("0.27", Some(270_000_000)),
            ("2", Some(2_000_000_000)),
            ("+1_000.5", Some(1_000_500_000_000)),
            ("0.000000001", Some(1)),
            ("0.0000000010", Some(1)),
            ("0.0000000001", None),
            ("-1", None),
            ("1e3", None),
            ("inf", None),
            ("nan", None),
            ("0x10", None),
            (".5", None),
            ("", None),
            ("1.2.3", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(nanos(text), expected, "{text}");
        }
    }

    #[test]
    fn a_pattern_may_be_too_large() {
        let text = format!(
            "[[price]]\nmodel = \"{}\"\ncurrency = \"x\"\ninput = 1\noutput = 1",
            "*a".repeat(100_000)
        );
        assert_eq!(Prices::parse(&text).unwrap_err().what, "the patterns of `model` are too large");
    }

    #[test]
    fn faults_name_their_line() {
        let entry = |more: &str| {
            format!("[[price]]\nmodel = \"m\"\ncurrency = \"USD\"\ninput = 1\noutput = 2\n{more}\n")
        };
        assert!(Prices::parse(&entry("")).is_ok() && Prices::parse("").is_ok());
        for (text, line, what) in [
            ("x = 1", 1, "not known here"),
            ("\n[price]\nmodel = \"m\"", 2, "not known here"),
            ("\n\n[[price]\n", 3, ""),
            ("[[price]]\nmodel = \"m\"\n", 1, "`currency` is missing"),
            (&entry("prompt = 3"), 6, "`prompt` is not known"),
            (&entry("cache_read = -1"), 6, "`cache_read` is not a price"),
            (&entry("cache_read = 1e-3"), 6, "`cache_read` is not a price"),
            (&entry("from = 2026-11-30T12:00:00"), 6, "`from` is not a date"),
            (&entry("from = 2026-12-02\nto = \"2026-12-01\""), 1, "`to` lies before `from`"),
            (&entry("").replace("\"m\"", "7"), 2, "`model` is not a pattern"),
            (&entry("").replace("\"m\"", "[]"), 2, "`model` is not a pattern"),
            (&entry("").replace("\"m\"", "\"[\""), 1, ""),
            (&entry("").replace("\"USD\"", "\"\""), 3, "`currency` is not a name"),
        ] {
            let fault = Prices::parse(text).unwrap_err();
            assert!(fault.line == line && fault.what.contains(what), "{text}\n{fault:?}");
        }
    }

    proptest! {
        /// Prices of parts add up to the price of the whole, to the last digit.
        #[test]
        fn costs_add_up(parts in prop::collection::vec((0..u64::MAX / 8, 0..1_000_000_u64), 1..8)) {
            let prices = Prices::parse(FILE).unwrap();
            let cost = |tokens: &Tokens| prices.costs(Day(0), Some(&model("deepseek-x")), tokens);
            let (mut sum, mut whole) = (Costs::default(), Tokens::default());
            for (input, output) in parts {
                let part = tokens(input / 8, 0, 0, output);
                sum.merge(&cost(&part));
                whole.merge(&part);
            }
            prop_assert_eq!(sum, cost(&whole));
        }
    }
}
