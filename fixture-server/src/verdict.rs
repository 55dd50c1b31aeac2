//! The sum of it all, in a line.

use std::fmt;

use crate::capture::{Capture, Fit, Outcome};

/// How a run went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Requests for which exchanges and side rules were asked.
    pub requests: usize,
    /// Served, and exactly what was expected.
    pub exact: usize,
    /// Served, and what was expected after the rules.
    pub normalized: usize,
    /// Served, and nothing was expected.
    pub unchecked: usize,
    /// Not what was expected, answered or not.
    pub diverged: usize,
    /// Without exchange.
    pub unmatched: usize,
    /// Refused as HTTP.
    pub refused: usize,
    /// Exchanges that were not asked for, or not often enough.
    pub left: Vec<String>,
}

impl Verdict {
    pub(crate) fn count(&mut self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Served { fit: Fit::Exact, .. } => &mut self.exact,
            Outcome::Served { fit: Fit::Normalized, .. } => &mut self.normalized,
            Outcome::Served { fit: Fit::Unchecked, .. } => &mut self.unchecked,
            Outcome::Diverged { .. } => &mut self.diverged,
            Outcome::Unmatched(_) => &mut self.unmatched,
            Outcome::Refused { .. } => {
                self.refused += 1;
                return;
            }
            Outcome::Left(_) | Outcome::Elsewhere { .. } => return,
        };
        *counter += 1;
        self.requests += 1;
    }

    /// The verdict over captures.
    pub fn of<'c>(captures: impl IntoIterator<Item = &'c Capture>) -> Verdict {
        let mut verdict = Verdict::default();
        captures.into_iter().for_each(|capture| verdict.count(&capture.outcome));
        verdict
    }

    /// Requests that were answered as the script has it, and as was expected where something was.
    pub fn served(&self) -> usize {
        self.exact + self.normalized + self.unchecked
    }

    /// True when everything went as the script has it, and nothing is left of it.
    pub fn is_good(&self) -> bool {
        self.diverged == 0 && self.unmatched == 0 && self.refused == 0 && self.left.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests: {} served ({} exact, {} normalized, {} not compared), {} diverged, {} unmatched",
            self.requests,
            self.served(),
            self.exact,
            self.normalized,
            self.unchecked,
            self.diverged,
            self.unmatched,
        )?;
        if self.refused > 0 {
            write!(f, ", {} refused", self.refused)?;
        }
        match self.left.as_slice() {
            [] => write!(f, "; every exchange was asked for"),
            left => write!(f, "; not asked for: {}", left.join(", ")),
        }
    }
}
