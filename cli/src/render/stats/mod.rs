//! Statistics: a page for people, one JSON document, or CSV.

mod bars;
mod csv;
mod json;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use dshlog_replay::stats::{Counters, Model, Named, Spread};
use jiff::tz::TimeZone;

use super::ls::{id_length, short};
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::table::{Cell, Table};
use super::text::one_line;
use super::units;
use crate::args::By;
use crate::stats::calendar::name;
use crate::stats::price::Costs;
use crate::stats::{Report, Row, RowKey};

use bars::Bars;
pub(crate) use csv::csv;
pub(crate) use json::json;

/// How to show it.
pub(crate) struct Look<'a> {
    /// Time zone of the reader.
    pub(crate) zone: &'a TimeZone,
    /// From when on events were counted.
    pub(crate) since: Option<i64>,
    /// Before when they were.
    pub(crate) until: Option<i64>,
    /// Columns to fill.
    pub(crate) width: usize,
    /// Colours.
    pub(crate) color: bool,
    /// ASCII only.
    pub(crate) ascii: bool,
    /// The present.
    pub(crate) now: i64,
}

/// Below this width only the most wanted columns are shown.
const WIDE: usize = 80;

/// The page.
pub(crate) fn table(report: &Report, look: &Look<'_>, out: &mut dyn Write) -> io::Result<()> {
    if report.total.sessions == 0 {
        return Ok(());
    }
    let bars = Bars::new(look.ascii);
    overview(report, look, &bars, &mut Page::new(out, look.width, look.color, false))?;
    if report.rows.is_empty() {
        return Ok(());
    }
    out.write_all(b"\n")?;
    let rows = Rows::new(report, look, bars);
    let mut table = Table::new(&rows.heads());
    for (key, row) in &report.rows {
        table.row(rows.cells(key, row));
    }
    table.write(out, look.width, look.color)
}

/// Columns that labels take.
const LABEL: usize = 11;

fn overview(report: &Report, look: &Look<'_>, bars: &Bars, page: &mut Page<'_>) -> io::Result<()> {
    let counters = &report.total.counters;
    let mut say = |label: &str, text: String| {
        if text.is_empty() {
            return Ok(());
        }
        let first = Line::of(Role::Dim, &format!("{label:<LABEL$}"));
        page.text(first, &Line::of(Role::Plain, &" ".repeat(LABEL)), Role::Plain, &text, Fold::Whole)
    };
    say("sessions", sessions(report, look))?;
    say("tokens", tokens(counters))?;
    say("requests", requests(counters))?;
    say("failures", list(&counters.failures))?;
    say("turns", turns(counters))?;
    say("errors", list(&counters.turn_errors))?;
    say("tools", tools(counters))?;
    say("model", times(counters))?;
    if report.is_priced {
        let untold = report.total.counters.requests.unmetered;
        let without = if untold > 0 {
            format!(", without {} whose tokens are not told", units::count(untold, "request"))
        } else {
            String::new()
        };
        say("cost", format!("{}{without}", cost(&report.total.costs)))?;
        say("unpriced", unpriced(&report.unpriced))?;
    }
    say("inherited", inherited(report))?;
    say("days", days(report, bars, look.width.saturating_sub(LABEL)))
}

fn sessions(report: &Report, look: &Look<'_>) -> String {
    let many = units::count(report.total.sessions, "session");
    let projects = units::count(report.projects, "project");
    let Some((first, last)) = report.total.counters.seen else { return many };
    let this_year = units::moment(look.now, look.zone, "%Y");
    let has_year = [first, last].iter().any(|time| units::moment(*time, look.zone, "%Y") != this_year);
    let pattern = if has_year { "%d %b %Y %H:%M" } else { "%d %b %H:%M" };
    let [first, last] = [first, last].map(|time| units::moment(time, look.zone, pattern));
    format!("{many} in {projects}, {first} to {last}")
}

fn tokens(counters: &Counters) -> String {
    let tokens = &counters.tokens;
    let share = |part: u64, all: u64, what| match part {
        0 => String::new(),
        _ => format!(" ({} % {what})", u128::from(part) * 100 / u128::from(all.max(1))),
    };
    let cached = share(tokens.cache_read, tokens.sent(), "from the cache");
    let reasoning = share(tokens.reasoning, tokens.output, "reasoning");
    let [sent, output] = [tokens.sent(), tokens.output].map(units::tokens);
    format!("{sent} sent{cached}, {output} generated{reasoning}")
}

fn requests(counters: &Counters) -> String {
    let requests = &counters.requests;
    let mut kinds: Vec<String> = Vec::new();
    let mut kind = |number: u64, one: &str, many: &str| {
        if number > 0 {
            kinds.push(format!("{} {}", units::grouped(number), if number == 1 { one } else { many }));
        }
    };
    kind(requests.answers, "answered", "answered");
    kind(requests.attempts, "without an answer", "without an answer");
    kind(requests.titles, "for a title", "for titles");
    kind(requests.compactions, "for a compaction", "for compactions");
    kind(requests.searches, "for a search", "for searches");
    let text = match requests.total() {
        0 => "none".to_owned(),
        all => format!("{}: {}", units::grouped(all), kinds.join(", ")),
    };
    let mut more: Vec<String> = Vec::new();
    if counters.interrupted > 0 {
        more.push(format!("{} interrupted", units::count(counters.interrupted, "answer")));
    }
    if counters.retries > 0 {
        let retries = if counters.retries == 1 { "retry" } else { "retries" };
        more.push(format!("{} {retries}", units::grouped(counters.retries)));
    }
    if counters.unsent > 0 {
        more.push(format!("{} never sent", units::grouped(counters.unsent)));
    }
    if counters.failed_compactions > 0 {
        more.push(format!("{} failed", units::count(counters.failed_compactions, "compaction")));
    }
    if requests.unmetered > 0 {
        more.push(format!("{} whose tokens are not told", units::grouped(requests.unmetered)));
    }
    if more.is_empty() { text } else { format!("{text}; {}", more.join(", ")) }
}

/// `SERVER 2, cut-off 1`, the most frequent first.
fn list(named: &Named) -> String {
    let mut counts: Vec<_> = named.iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let words = counts.iter().map(|(name, count)| format!("{} {}", one_line(name), units::grouped(**count)));
    words.collect::<Vec<_>>().join(", ")
}

fn turns(counters: &Counters) -> String {
    let mut words: Vec<String> = counters
        .outcomes
        .iter()
        .map(|(kind, count)| format!("{} {}", units::grouped(*count), one_line(kind)))
        .collect();
    if counters.open_turns > 0 {
        words.push(format!("{} without an end", units::grouped(counters.open_turns)));
    }
    if words.is_empty() {
        return "none".to_owned();
    }
    format!("{}: {}{}", units::grouped(counters.turns), words.join(", "), spread(&counters.turn_time))
}

fn tools(counters: &Counters) -> String {
    let all = counters.all_tools();
    let mut words = Vec::new();
    if all.calls > 0 {
        words.push(units::count(all.calls, "call"));
    }
    for (number, what) in [
        (all.nested, "by programs"),
        (all.errors, "failed"),
        (all.unknown, "cut off"),
        (counters.not_started, "never started"),
    ] {
        if number > 0 {
            words.push(format!("{} {what}", units::grouped(number)));
        }
    }
    words.join(", ") + &spread(&all.latency)
}

fn times(counters: &Counters) -> String {
    if counters.model_time.count() == 0 {
        return String::new();
    }
    let mut words = vec![format!(
        "{} in {}",
        duration(counters.model_time.sum()),
        units::count(counters.model_time.count(), "answered step")
    )];
    if counters.first_token.count() > 0 {
        words.push(format!("first token: {}", quantiles(&counters.first_token)));
    }
    words.extend(counters.decode_rate().map(|rate| format!("{} tokens/s", self::rate(rate))));
    words.join("; ")
}

fn cost(costs: &Costs) -> String {
    let amounts = costs.amounts.iter().map(|(currency, amount)| format!("{currency} {}", amount.rounded()));
    let amounts: Vec<String> = amounts.collect();
    if amounts.is_empty() { "nothing that has a price".to_owned() } else { amounts.join(", ") }
}

fn unpriced(models: &BTreeMap<Option<Model>, Costs>) -> String {
    let words = models.iter().map(|(model, costs)| {
        let name = model.as_ref().map_or_else(|| "no model".to_owned(), whole_name);
        format!("{name} {} tokens", units::tokens(costs.unpriced.total()))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn inherited(report: &Report) -> String {
    if report.inherited == 0 {
        return String::new();
    }
    let text = format!("{} not counted here: they are the parents'", units::count(report.inherited, "event"));
    match report.without_parent {
        0 => text,
        1 => format!("{text}; 1 parent not among these sessions"),
        many => format!("{text}; {} parents not among these sessions", units::grouped(many)),
    }
}

fn days(report: &Report, bars: &Bars, width: usize) -> String {
    let (Some((first, _)), Some((last, _))) = (report.days.first_key_value(), report.days.last_key_value())
    else {
        return String::new();
    };
    let most = report.days.iter().max_by_key(|(day, tokens)| (**tokens, std::cmp::Reverse(**day)));
    let Some((busiest, tokens)) = most.filter(|_| first != last) else { return String::new() };
    let told = format!(
        "{} to {}, most on {}: {} tokens",
        name(*first),
        name(*last),
        name(*busiest),
        units::tokens(*tokens)
    );
    let line = bars.sparkline(&report.days, width.saturating_sub(told.len() + 3).max(12));
    format!("{line}  {told}")
}

/// The rows of the table.
struct Rows<'a> {
    report: &'a Report,
    bars: Bars,
    is_wide: bool,
    /// There is room for bars.
    has_bars: bool,
    id_length: usize,
    /// Names that several providers have.
    shared: BTreeSet<&'a str>,
    /// What the bars are shares of.
    all: u64,
}

impl<'a> Rows<'a> {
    fn new(report: &'a Report, look: &Look<'_>, bars: Bars) -> Self {
        let ids = report.sessions.iter().map(|session| session.id.as_str().into());
        let mut providers: BTreeMap<&str, &str> = BTreeMap::new();
        let mut shared = BTreeSet::new();
        for model in report.rows.iter().filter_map(|(key, _)| key.model.as_ref()) {
            if *providers.entry(&model.name).or_insert(&model.provider) != model.provider {
                shared.insert(model.name.as_str());
            }
        }
        let by_tool = report.by.contains(&By::Tool);
        let weight = |(_, row): &(RowKey, Row)| weight(row, by_tool);
        let all = report.rows.iter().map(weight).fold(0, u64::saturating_add);
        let is_wide = look.width >= WIDE;
        let has_bars = is_wide && matches!(report.by[..], [By::Model | By::Project | By::Day | By::Tool]);
        Rows { report, bars, is_wide, has_bars, id_length: id_length(ids), shared, all }
    }

    fn has(&self, by: By) -> bool {
        self.report.by.contains(&by)
    }

    fn heads(&self) -> Vec<&'static str> {
        let mut heads = Vec::new();
        for by in &self.report.by {
            match by {
                By::Session => heads.extend(["SESSION", "TITLE"]),
                By::Model => heads.push("MODEL"),
                By::Project => heads.push("PROJECT"),
                By::Day => heads.push("DAY"),
                By::Tool => heads.push("TOOL"),
                By::None => {}
            }
        }
        if self.has(By::Tool) {
            heads.extend(["CALLS", "FAILED", "MEDIAN", "95 %"]);
            if self.is_wide {
                heads.extend(["CUT OFF", "TOTAL"]);
            }
        } else {
            heads.extend(["REQUESTS", "SENT", "OUT"]);
            if self.is_wide {
                heads.extend(["CACHED", "FAILED"]);
            }
            // Costs stand in place of times.
            if self.report.is_priced {
                heads.push("COST");
            } else if self.is_wide {
                heads.extend(["FIRST", "TOK/S"]);
            }
        }
        if self.is_wide {
            heads.push("SHARE");
        }
        heads
    }

    fn cells(&self, key: &RowKey, row: &Row) -> Vec<Cell> {
        let mut cells = self.names(key);
        let counters = &row.counters;
        let number = |number: u64| Cell::right(Role::Plain, units::grouped(number));
        let failed = |number: u64| {
            Cell::right(Role::Bad, if number > 0 { units::grouped(number) } else { String::new() })
        };
        let span = |spread: &Spread, percent| {
            Cell::right(Role::Plain, spread.quantile(percent).map(duration).unwrap_or_default())
        };
        if self.has(By::Tool) {
            let tool = counters.all_tools();
            cells.extend([number(tool.calls), failed(tool.errors)]);
            cells.extend([span(&tool.latency, 50), span(&tool.latency, 95)]);
            if self.is_wide {
                cells.extend([failed(tool.unknown), Cell::right(Role::Plain, duration(tool.latency.sum()))]);
            }
        } else {
            let tokens = &counters.tokens;
            cells.push(number(counters.requests.total()));
            cells.extend(
                [tokens.sent(), tokens.output].map(|count| Cell::right(Role::Plain, units::tokens(count))),
            );
            if self.is_wide {
                let cached = u128::from(tokens.cache_read) * 100 / u128::from(tokens.sent().max(1));
                let cached = if tokens.cache_read > 0 { format!("{cached} %") } else { String::new() };
                cells.push(Cell::right(Role::Plain, cached));
                cells.push(failed(counters.requests.attempts));
            }
            if self.report.is_priced {
                cells.push(Self::cost(row));
            } else if self.is_wide {
                cells.push(span(&counters.first_token, 50));
                cells.push(Cell::right(Role::Plain, counters.decode_rate().map(rate).unwrap_or_default()));
            }
        }
        if self.is_wide {
            let weight = weight(row, self.has(By::Tool));
            cells.push(if self.has_bars {
                Cell::left(Role::Plain, self.bars.share(weight, self.all))
            } else {
                Cell::right(Role::Plain, Bars::percent(weight, self.all))
            });
        }
        cells
    }

    fn names(&self, key: &RowKey) -> Vec<Cell> {
        let mut cells = Vec::new();
        for by in &self.report.by {
            match by {
                By::Session => {
                    let session = key.session.and_then(|at| self.report.sessions.get(at));
                    let id = session.map(|session| short(&session.id, self.id_length));
                    let title = session.and_then(|session| session.title.as_deref()).map(one_line);
                    cells.push(Cell::left(Role::Strong, id.unwrap_or_default()));
                    cells.push(Cell::left(Role::Plain, title.unwrap_or_default()));
                }
                By::Model => {
                    cells.push(match &key.model {
                        Some(model) if self.shared.contains(&*model.name) => {
                            Cell::left(Role::Strong, whole_name(model))
                        }
                        Some(model) => Cell::left(Role::Strong, one_line(&model.name)),
                        None => Cell::left(Role::Dim, "(none)"),
                    });
                }
                By::Project => {
                    cells.push(Cell::end(Role::Strong, key.project.as_deref().unwrap_or_default()));
                }
                By::Day => cells.push(Cell::left(Role::Strong, key.day.map(name).unwrap_or_default())),
                By::Tool => {
                    cells.push(Cell::left(Role::Strong, one_line(key.tool.as_deref().unwrap_or_default())));
                }
                By::None => {}
            }
        }
        cells
    }

    /// Amounts; a mark when they are not all.
    fn cost(row: &Row) -> Cell {
        let amounts =
            row.costs.amounts.iter().map(|(currency, amount)| format!("{currency} {}", amount.rounded()));
        let amounts: Vec<String> = amounts.collect();
        let is_part = row.costs.unpriced.total() > 0;
        let text = match (amounts.is_empty(), is_part) {
            (true, true) => "?".to_owned(),
            (_, true) => format!("{} + ?", amounts.join(", ")),
            _ => amounts.join(", "),
        };
        Cell::right(if is_part { Role::Warn } else { Role::Plain }, text)
    }
}

/// What the share of a row is measured by.
fn weight(row: &Row, by_tool: bool) -> u64 {
    if by_tool { row.counters.all_tools().calls } else { row.counters.tokens.total() }
}

fn whole_name(model: &Model) -> String {
    one_line(&format!("{}/{}", model.provider, model.name))
}

fn duration(millis: u64) -> String {
    units::duration(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// `; median 0.2 s, 95 % within 4.1 s`.
fn spread(spread: &Spread) -> String {
    if spread.count() == 0 { String::new() } else { format!("; {}", quantiles(spread)) }
}

fn quantiles(spread: &Spread) -> String {
    let quantile = |percent| spread.quantile(percent).map(duration).unwrap_or_default();
    format!("median {}, 95 % within {}", quantile(50), quantile(95))
}

/// A rate in thousandths with one digit behind the point.
fn rate(thousandths: u64) -> String {
    let tenths = thousandths.saturating_add(50) / 100;
    format!("{}.{}", units::grouped(tenths / 10), tenths % 10)
}
