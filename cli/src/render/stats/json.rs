//! The document `dshlog.stats/1`.

use std::io::{self, Write};

use clap::ValueEnum;
use dshlog_replay::stats::{Counters, Named, Spread, Tokens};

use super::Look;
use crate::render::json::Object;
use crate::stats::calendar::name;
use crate::stats::{Report, Row, RowKey};

/// The document.
pub(crate) fn json(report: &Report, look: &Look<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Object::new("dshlog.stats/1");
    let by = report.by.iter().filter_map(ValueEnum::to_possible_value);
    let by: Vec<String> = by.map(|value| value.get_name().to_owned()).filter(|name| name != "none").collect();
    document.texts("by", by.iter().map(String::as_str));
    document.text_or_null("zone", look.zone.iana_name());
    document.millis_or_null("since", look.since);
    document.millis_or_null("until", look.until);
    document.count("sessions", report.total.sessions);
    document.count("projects", report.projects);
    document.millis_or_null("firstAt", report.total.counters.seen.map(|(first, _)| first));
    document.millis_or_null("lastAt", report.total.counters.seen.map(|(_, last)| last));
    document.count("torn", report.torn);
    document.count("inheritedEvents", report.inherited);
    document.count("withoutParent", report.without_parent);
    document.array("leftOut", &report.left_out, |left_out, object| {
        object.path("path", Some(&left_out.path));
        object.text("code", left_out.code);
        object.text("reason", &left_out.reason);
    });
    document.object("total", |total| figures(report, &report.total, total));
    document.array("rows", &report.rows, |(key, row), object| self::row(report, key, row, object));
    if report.is_priced {
        document.array("unpriced", &report.unpriced, |(model, costs), object| {
            object.text_or_null("provider", model.as_ref().map(|model| model.provider.as_str()));
            object.text_or_null("model", model.as_ref().map(|model| model.name.as_str()));
            object.object("tokens", |object| tokens(&costs.unpriced, object));
        });
    }
    document.write_line(out)
}

fn row(report: &Report, key: &RowKey, row: &Row, object: &mut Object) {
    let session = key.session.and_then(|at| report.sessions.get(at));
    let model = key.model.as_ref();
    object.text_or_null("session", session.map(|session| session.id.as_str()));
    object.text_or_null("title", session.and_then(|session| session.title.as_deref()));
    object.text_or_null("project", key.project.as_deref());
    object.text_or_null("day", key.day.map(name).as_deref());
    object.text_or_null("provider", model.map(|model| model.provider.as_str()));
    object.text_or_null("model", model.map(|model| model.name.as_str()));
    object.text_or_null("tool", key.tool.as_deref());
    object.count("sessions", row.sessions);
    if key.tool.is_some() {
        object.object("tools", |object| tools(&row.counters, object));
    } else {
        figures(report, row, object);
    }
}

fn figures(report: &Report, row: &Row, object: &mut Object) {
    let counters = &row.counters;
    object.object("tokens", |object| tokens(&counters.tokens, object));
    object.object("requests", |object| {
        let requests = &counters.requests;
        object.count("all", requests.total());
        object.count("answers", requests.answers);
        object.count("attempts", requests.attempts);
        object.count("titles", requests.titles);
        object.count("compactions", requests.compactions);
        object.count("searches", requests.searches);
        object.count("unmetered", requests.unmetered);
    });
    object.count("interrupted", counters.interrupted);
    object.count("unsent", counters.unsent);
    object.count("retries", counters.retries);
    object.count("failedCompactions", counters.failed_compactions);
    named("failures", &counters.failures, object);
    object.object("turns", |object| {
        object.count("all", counters.turns);
        named("outcomes", &counters.outcomes, object);
        named("errors", &counters.turn_errors, object);
        object.count("open", counters.open_turns);
        spread("ms", &counters.turn_time, object);
    });
    object.count("steps", counters.steps);
    spread("modelMs", &counters.model_time, object);
    spread("firstTokenMs", &counters.first_token, object);
    object.object("decode", |object| {
        object.count("ms", counters.decode_ms);
        object.count("tokens", counters.decode_tokens);
        let rate = counters.decode_rate().map(|rate| format!("{}.{:03}", rate / 1000, rate % 1000));
        object.raw("tokensPerSecond", rate.as_deref().unwrap_or("null").as_bytes());
    });
    object.object("tools", |object| tools(counters, object));
    if report.is_priced {
        object.array("costs", &row.costs.amounts, |(currency, amount), object| {
            object.text("currency", currency);
            object.text("amount", &amount.exact());
        });
        object.object("unpricedTokens", |object| tokens(&row.costs.unpriced, object));
    }
}

fn tokens(tokens: &Tokens, object: &mut Object) {
    object.count("input", tokens.input);
    object.count("cacheRead", tokens.cache_read);
    object.count("cacheWrite", tokens.cache_write);
    object.count("output", tokens.output);
    object.count("reasoning", tokens.reasoning);
}

fn tools(counters: &Counters, object: &mut Object) {
    let all = counters.all_tools();
    object.count("calls", all.calls);
    object.count("nested", all.nested);
    object.count("errors", all.errors);
    object.count("unknown", all.unknown);
    object.count("notStarted", counters.not_started);
    spread("ms", &all.latency, object);
}

fn spread(name: &str, spread: &Spread, object: &mut Object) {
    object.object(name, |object| {
        object.count("count", spread.count());
        object.count("sum", spread.sum());
        object.count_or_null("min", spread.min());
        object.count_or_null("p50", spread.quantile(50));
        object.count_or_null("p95", spread.quantile(95));
        object.count_or_null("max", spread.max());
    });
}

/// Names come from logs, so they are values and not members.
fn named(name: &str, counts: &Named, object: &mut Object) {
    object.array(name, counts, |(name, count), object| {
        object.text("name", name);
        object.count("count", *count);
    });
}
