//! Rows as RFC 4180 has them: a line of names first, lines end with CR LF.

use std::io::{self, Write};

use dshlog_replay::stats::Spread;

use crate::args::By;
use crate::stats::calendar::name;
use crate::stats::{Report, Row, RowKey};

/// All columns, whatever is asked for. New ones are added at the end.
const HEAD: [&str; 52] = [
    "session",
    "title",
    "project",
    "day",
    "provider",
    "model",
    "tool",
    "sessions",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "requests",
    "answers",
    "attempts",
    "titles",
    "compactions",
    "searches",
    "unmetered",
    "interrupted",
    "unsent",
    "retries",
    "failed_compactions",
    "turns",
    "completed",
    "aborted",
    "error",
    "interrupted_turns",
    "max_tokens",
    "blocked",
    "forked",
    "other",
    "open",
    "turn_ms",
    "steps",
    "model_ms",
    "first_token_ms",
    "first_token_count",
    "first_token_ms_p50",
    "first_token_ms_p95",
    "decode_ms",
    "decode_tokens",
    "tool_calls",
    "tool_errors",
    "tool_unknown",
    "tool_ms",
    "tool_ms_p50",
    "tool_ms_p95",
    "cost",
    "currency",
    "unpriced_tokens",
];

/// The lines; one of all together when nothing is kept apart.
pub(crate) fn csv(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    line(HEAD.iter().map(|name| (*name).to_owned()), out)?;
    if report.by == [By::None] {
        return line(fields(report, &RowKey::default(), &report.total), out);
    }
    report.rows.iter().try_for_each(|(key, row)| line(fields(report, key, row), out))
}

fn fields(report: &Report, key: &RowKey, row: &Row) -> impl Iterator<Item = String> {
    let session = key.session.and_then(|at| report.sessions.get(at));
    let model = key.model.as_ref();
    let names = [
        session.map(|session| session.id.clone()),
        session.and_then(|session| session.title.clone()),
        key.project.clone(),
        key.day.map(name),
        model.map(|model| model.provider.clone()),
        model.map(|model| model.name.clone()),
        key.tool.clone(),
        Some(row.sessions.to_string()),
    ];
    // Of a tool only its own figures are known.
    let is_tool = key.tool.is_some();
    let figures = figures(row).map(move |figure| figure.filter(|_| !is_tool));
    let costs = costs(report, row).map(move |text| text.filter(|_| !is_tool));
    names.into_iter().chain(figures).chain(tools(row)).chain(costs).map(Option::unwrap_or_default)
}

fn figures(row: &Row) -> impl Iterator<Item = Option<String>> + use<> {
    let counters = &row.counters;
    let (tokens, requests) = (&counters.tokens, &counters.requests);
    let outcome = |kind: &str| Some(counters.outcomes.get(kind).copied().unwrap_or(0));
    let known = ["completed", "aborted", "error", "interrupted", "max-tokens", "blocked", "forked"];
    let other = counters.outcomes.iter().filter(|(kind, _)| !known.contains(&kind.as_str()));
    let other = Some(other.map(|(_, count)| count).sum());
    let first = &counters.first_token;
    [
        Some(tokens.input),
        Some(tokens.cache_read),
        Some(tokens.cache_write),
        Some(tokens.output),
        Some(tokens.reasoning),
        Some(requests.total()),
        Some(requests.answers),
        Some(requests.attempts),
        Some(requests.titles),
        Some(requests.compactions),
        Some(requests.searches),
        Some(requests.unmetered),
        Some(counters.interrupted),
        Some(counters.unsent),
        Some(counters.retries),
        Some(counters.failed_compactions),
        Some(counters.turns),
        outcome(known[0]),
        outcome(known[1]),
        outcome(known[2]),
        outcome(known[3]),
        outcome(known[4]),
        outcome(known[5]),
        outcome(known[6]),
        other,
        Some(counters.open_turns),
        Some(counters.turn_time.sum()),
        Some(counters.steps),
        Some(counters.model_time.sum()),
        Some(first.sum()),
        Some(first.count()),
        first.quantile(50),
        first.quantile(95),
        Some(counters.decode_ms),
        Some(counters.decode_tokens),
    ]
    .into_iter()
    .map(|count| count.map(|count| count.to_string()))
}

fn tools(row: &Row) -> impl Iterator<Item = Option<String>> + use<> {
    let all = row.counters.all_tools();
    let latency: &Spread = &all.latency;
    [
        Some(all.calls),
        Some(all.errors),
        Some(all.unknown),
        Some(latency.sum()),
        latency.quantile(50),
        latency.quantile(95),
    ]
    .map(|count| count.map(|count| count.to_string()))
    .into_iter()
}

/// Amounts and their currencies, in one order, with `;` between them when there are several.
fn costs(report: &Report, row: &Row) -> impl Iterator<Item = Option<String>> + use<> {
    let costs = &row.costs;
    let join = |texts: Vec<String>| Some(texts.join(";")).filter(|_| report.is_priced);
    [
        join(costs.amounts.values().map(|amount| amount.exact()).collect()),
        join(costs.amounts.keys().cloned().collect()),
        join(vec![costs.unpriced.total().to_string()]),
    ]
    .into_iter()
}

fn line(fields: impl Iterator<Item = String>, out: &mut dyn Write) -> io::Result<()> {
    for (at, field) in fields.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        out.write_all(quoted(&field).as_bytes())?;
    }
    out.write_all(b"\r\n")
}

/// A field, in quotes where it must be.
fn quoted(field: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = !field.contains(['"', ',', '\r', '\n']) && field.trim() == field;
    if is_plain { field.into() } else { format!("\"{}\"", field.replace('"', "\"\"")).into() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dshlog_replay::stats::{Counters, Day, Model, Tokens, ToolCounters};

    use super::*;
    use crate::stats::Session;
    use crate::stats::price::{Amount, Costs};

    fn printed(report: &Report) -> String {
        let mut out = Vec::new();
        csv(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// A reader of RFC 4180, as simple as its grammar.
    fn records(text: &str) -> Vec<Vec<String>> {
        let mut records = vec![vec![String::new()]];
        let mut chars = text.chars().peekable();
        let mut is_quoted = false;
        while let Some(c) = chars.next() {
            let fields = records.last_mut().unwrap();
            match c {
                '"' if is_quoted && chars.next_if_eq(&'"').is_some() => fields.last_mut().unwrap().push('"'),
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(String::new()),
                '\r' if !is_quoted && chars.next_if_eq(&'\n').is_some() => records.push(vec![String::new()]),
                c => fields.last_mut().unwrap().push(c),
            }
        }
        assert_eq!(records.pop(), Some(vec![String::new()]), "the last line ends");
        records
    }

    /// Whatever a log names itself, a reader of CSV gets it back.
    #[test]
    fn hostile_names_come_back() {
        let names = [
            "a,b",
            "say \"hi\"",
            "two\r\nlines",
            "\"",
            " blanks ",
            "",
            "=1+1",
            "\u{1b}[31m",
            "名前",
            "\n",
            ",,",
        ];
        let mut report = Report { by: vec![By::Session, By::Model, By::Tool], ..Report::default() };
        for (at, name) in names.iter().enumerate() {
            report.sessions.push(Session { id: (*name).to_owned(), title: Some((*name).to_owned()) });
            let model = Some(Model { provider: (*name).to_owned(), name: (*name).to_owned() });
            let key = RowKey {
                session: Some(at),
                model,
                tool: Some((*name).to_owned()),
                project: Some((*name).to_owned()),
                day: Some(Day(0)),
            };
            report.rows.push((key, Row::default()));
        }
        let records = records(&printed(&report));
        assert_eq!(records[0], HEAD);
        for (record, name) in records[1..].iter().zip(names) {
            assert_eq!(record.len(), HEAD.len());
            assert_eq!(record[..7], [name, name, name, "1970-01-01", name, name, name]);
        }
        assert_eq!(records.len(), names.len() + 1);
    }

    #[test]
    fn every_figure_stands_under_its_name() {
        let mut counters = Counters {
            tokens: Tokens { input: 1, cache_read: 2, cache_write: 3, output: 4, reasoning: 5 },
            outcomes: BTreeMap::from([("max-tokens".into(), 6), ("odd".into(), 7), ("worse".into(), 8)]),
            open_turns: 9,
            decode_tokens: 10,
            ..Counters::default()
        };
        counters.first_token.add(11);
        let mut tool = ToolCounters { calls: 12, ..ToolCounters::default() };
        tool.latency.add(13);
        counters.tools.insert("t".into(), tool);
        let amounts =
            BTreeMap::from([("CNY".into(), Amount(1)), ("USD".into(), Amount(2_500_000_000_000_000))]);
        let costs = Costs { amounts, unpriced: Tokens { output: 14, ..Tokens::default() } };
        let mut report = Report { by: vec![By::None], is_priced: true, ..Report::default() };
        (report.total.sessions, report.total.counters, report.total.costs) = (15, counters, costs);
        let records = records(&printed(&report));
        let field = |name: &str| {
            let at = HEAD.iter().position(|head| *head == name).unwrap();
            records[1][at].as_str()
        };
        for (name, expected) in [
            ("session", ""),
            ("sessions", "15"),
            ("input_tokens", "1"),
            ("cache_read_tokens", "2"),
            ("cache_write_tokens", "3"),
            ("output_tokens", "4"),
            ("reasoning_tokens", "5"),
            ("max_tokens", "6"),
            ("other", "15"),
            ("open", "9"),
            ("completed", "0"),
            ("decode_tokens", "10"),
            ("first_token_ms", "11"),
            ("first_token_count", "1"),
            ("first_token_ms_p95", "11"),
            ("tool_calls", "12"),
            ("tool_ms_p50", "13"),
            ("cost", "0.000000000000001;2.50"),
            ("currency", "CNY;USD"),
            ("unpriced_tokens", "14"),
        ] {
            assert_eq!(field(name), expected, "{name}");
        }
        report.is_priced = false;
        assert!(printed(&report).ends_with(",,,\r\n"), "no prices, no costs");
    }
}
