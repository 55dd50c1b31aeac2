//! What a request that fits nowhere is told.

use std::fmt;

use serde_json::{Value, json};

use super::{Grade, Lanes, Mismatch, Rung, mismatches};
use crate::dialect::View;
use crate::json::diff::{self, Difference};
use crate::script::Script;

/// Why no exchange was found for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The request in a line.
    pub request: String,
    /// What each lane that could have taken it waits for.
    pub waiting: Vec<Waiting>,
    /// The exchange that came nearest.
    pub nearest: Option<Nearest>,
}

/// What a lane waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The lane.
    pub lane: String,
    /// The exchange; nothing when all of its exchanges have been served.
    pub rung: Option<Rung>,
    /// What is said of it.
    pub label: String,
    /// The conditions of the exchange that do not hold.
    pub mismatches: Vec<Mismatch>,
}

/// The exchange that came nearest to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Which.
    pub rung: Rung,
    /// How reports call it.
    pub label: String,
    /// Why it did not take the request although it fits.
    pub why_not: Option<String>,
    /// The conditions that do not hold.
    pub mismatches: Vec<Mismatch>,
    /// Where the request differs from the expected one.
    pub differences: Vec<Difference>,
}

impl Nearest {
    /// The first place that differs.
    pub fn first_place(&self) -> Option<&str> {
        let condition = self.mismatches.first().map(|mismatch| mismatch.place.as_str());
        condition.or_else(|| self.differences.first().map(|difference| difference.pointer.as_str()))
    }
}

impl Report {
    pub(crate) fn new(lanes: &Lanes, script: &Script, view: &View, conversation: &str) -> Report {
        let waiting = waiting(lanes, script, view, conversation);
        let nearest = nearest(lanes, script, view, &waiting);
        Report { request: describe(view), waiting, nearest }
    }

    /// A report on a request that could not even be read.
    pub(crate) fn unread(request: String) -> Report {
        Report { request, waiting: Vec::new(), nearest: None }
    }

    /// The first place that differs: from the nearest exchange, or from one that is waited for.
    pub fn first_place(&self) -> Option<&str> {
        let waiting = self.waiting.iter().flat_map(|waiting| &waiting.mismatches);
        let nearest = self.nearest.as_ref().and_then(Nearest::first_place);
        nearest.or_else(|| waiting.map(|mismatch| mismatch.place.as_str()).next())
    }

    /// The report for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "request": self.request,
            "firstPlace": self.first_place(),
            "waiting": self.waiting.iter().map(|waiting| json!({
                "lane": waiting.lane,
                "exchange": waiting.rung.map(|rung| rung.to_string()),
                "mismatches": list(&waiting.mismatches),
            })).collect::<Vec<_>>(),
            "nearest": self.nearest.as_ref().map(|nearest| json!({
                "exchange": nearest.rung.to_string(),
                "label": nearest.label,
                "whyNot": nearest.why_not,
                "firstPlace": nearest.first_place(),
                "mismatches": list(&nearest.mismatches),
                "differences": nearest.differences.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no exchange fits {}", self.request)?;
        for waiting in &self.waiting {
            write!(f, "\nlane `{}` {}", waiting.lane, waiting.label)?;
            // Of the nearest one everything is told below.
            let is_nearest = self.nearest.as_ref().map(|nearest| nearest.rung) == waiting.rung;
            if let Some(mismatch) = waiting.mismatches.first().filter(|_| !is_nearest) {
                write!(f, "\n  {mismatch}")?;
            }
        }
        let Some(nearest) = &self.nearest else { return Ok(()) };
        write!(f, "\nnearest is {}", nearest.label)?;
        if let Some(why) = &nearest.why_not {
            write!(f, ": {why}")?;
        }
        for mismatch in &nearest.mismatches {
            write!(f, "\n  {mismatch}")?;
        }
        for difference in &nearest.differences {
            write!(f, "\n  {difference}")?;
        }
        Ok(())
    }
}

fn list(mismatches: &[Mismatch]) -> Vec<Value> {
    let list = mismatches.iter().map(|mismatch| {
        json!({ "place": mismatch.place, "expected": mismatch.expected, "actual": mismatch.actual })
    });
    list.collect()
}

/// A request in a line.
fn describe(view: &View) -> String {
    let said = view
        .last_user()
        .first()
        .map_or("none".to_owned(), |seen| diff::short(&Value::from(seen.text.as_str())));
    format!(
        "POST {} (kind {}, model {}, {} messages, {} tools, last user text {said})",
        view.path,
        view.kind.name(),
        view.model.as_deref().unwrap_or("none"),
        view.messages.len(),
        view.tools.len(),
    )
}

fn waiting(lanes: &Lanes, script: &Script, view: &View, conversation: &str) -> Vec<Waiting> {
    let bound = lanes.queues.iter().any(|lane| lane.conversation.as_deref() == Some(conversation));
    let open = lanes.queues.iter().filter(|lane| match &lane.conversation {
        Some(own) => own == conversation,
        None => !bound,
    });
    let waiting = open.map(|lane| {
        let rung = lane.exchanges.get(lane.at).map(|exchange| Rung::Exchange(*exchange));
        let label = match rung {
            Some(rung) => format!("waits for {}", script.label(rung)),
            None => format!("has served all of its {} exchanges", lane.exchanges.len()),
        };
        let failed = rung.and_then(|rung| script.rung(rung)).map(|rule| mismatches(rule, view));
        Waiting { lane: lane.name.clone(), rung, label, mismatches: failed.unwrap_or_default() }
    });
    waiting.collect()
}

/// Of all exchanges and side rules the one with the fewest conditions that fail; of equals one that is waited for.
fn nearest(lanes: &Lanes, script: &Script, view: &View, waiting: &[Waiting]) -> Option<Nearest> {
    let judged = script.rungs().map(|(rung, rule)| {
        let is_waited_for = waiting.iter().any(|waiting| waiting.rung == Some(rung));
        let failed = mismatches(rule, view);
        // Another kind of request is further away than any other condition. An exchange that fits everything says
        // nothing about this request unless its turn has come.
        let says_nothing = !is_waited_for && rule.has_no_conditions();
        let far: usize = failed.iter().map(|mismatch| if mismatch.place == "kind" { 10 } else { 1 }).sum();
        let far = far + if says_nothing { 5 } else { 0 };
        (far, !is_waited_for, rung, failed)
    });
    let (.., not_its_turn, rung, mismatches) =
        judged.min_by_key(|(far, later, rung, _)| (*far, *later, *rung))?;
    let why_not = (mismatches.is_empty() && not_its_turn).then(|| match rung {
        Rung::Exchange(_) => "it fits, but it is not its turn".to_owned(),
        Rung::Side(_) => "it fits, but it has answered as often as it may".to_owned(),
    });
    let differences = match lanes.grade(rung, view) {
        Grade::Diverged(found) => found,
        Grade::Exact | Grade::Normalized | Grade::Unchecked => Vec::new(),
    };
    Some(Nearest { rung, label: script.label(rung), why_not, mismatches, differences })
}
