//! Statistics over many logs: what is counted of each is put together in rows.

pub(crate) mod calendar;
pub(crate) mod price;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use dshlog_codec::json::JsString;
use dshlog_replay::stats::{Counters, Day, LogStats, Model};

use crate::args::By;
use price::{Costs, Prices};

/// One log that was counted.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// Id of its session.
    pub(crate) id: JsString,
    /// Its last title.
    pub(crate) title: Option<String>,
    /// Its working directory, else the name of its project folder.
    pub(crate) project: String,
    /// The session that it goes on from, when it holds events of it.
    pub(crate) heir_of: Option<JsString>,
    /// It ends in a torn tail, and was counted up to there.
    pub(crate) is_torn: bool,
    /// What it amounts to.
    pub(crate) stats: LogStats,
}

/// A log that was not counted.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The code of the reason.
    pub(crate) code: &'static str,
    /// Why.
    pub(crate) reason: String,
}

/// What a row is about; what it is not kept apart by is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey {
    /// Place of the session in [`Report::sessions`].
    pub(crate) session: Option<usize>,
    /// Its working directory.
    pub(crate) project: Option<String>,
    /// The day.
    pub(crate) day: Option<Day>,
    /// The model; nothing also where the log names none.
    pub(crate) model: Option<Model>,
    /// The tool.
    pub(crate) tool: Option<String>,
}

/// Counters of one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Sessions that something of was counted here.
    pub(crate) sessions: u64,
    /// The counts. A row about a tool has those of tools only.
    pub(crate) counters: Counters,
    /// What it cost, when there are prices.
    pub(crate) costs: Costs,
    last: Option<usize>,
}

impl Row {
    fn add(&mut self, session: usize, counters: &Counters, costs: &Costs) {
        // Sessions come one after the other.
        self.sessions += u64::from(self.last.replace(session) != Some(session));
        self.counters.merge(counters);
        self.costs.merge(costs);
    }
}

/// A session by its name, for rows.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    /// Its last title.
    pub(crate) title: Option<String>,
}

/// Everything that was counted.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What rows are kept apart by.
    pub(crate) by: Vec<By>,
    /// Whether there are prices.
    pub(crate) is_priced: bool,
    /// All sessions that were counted.
    pub(crate) sessions: Vec<Session>,
    /// All logs that were not.
    pub(crate) left_out: Vec<LeftOut>,
    /// Sessions with a torn tail.
    pub(crate) torn: u64,
    /// Events that sessions inherited, and that were not counted.
    pub(crate) inherited: u64,
    /// Sessions with inherited events whose parent was not counted either.
    pub(crate) without_parent: u64,
    /// Working directories of sessions that something was counted of.
    pub(crate) projects: u64,
    /// All together.
    pub(crate) total: Row,
    /// Tokens by day.
    pub(crate) days: BTreeMap<Day, u64>,
    /// The rows, in the order to show them.
    pub(crate) rows: Vec<(RowKey, Row)>,
    /// Costs of models that are not wholly priced.
    pub(crate) unpriced: BTreeMap<Option<Model>, Costs>,
}

/// Puts logs together.
#[derive(Debug)]
pub(crate) struct Collector {
    prices: Option<Prices>,
    report: Report,
    rows: BTreeMap<RowKey, Row>,
    ids: HashSet<JsString>,
    heirs: Vec<JsString>,
    projects: HashSet<String>,
}

impl Collector {
    /// Nothing yet.
    pub(crate) fn new(by: Vec<By>, prices: Option<Prices>) -> Self {
        let report = Report { by, is_priced: prices.is_some(), ..Report::default() };
        Collector {
            prices,
            report,
            rows: BTreeMap::new(),
            ids: HashSet::new(),
            heirs: Vec::new(),
            projects: HashSet::new(),
        }
    }

    /// A log that was not counted.
    pub(crate) fn leave_out(&mut self, left_out: LeftOut) {
        self.report.left_out.push(left_out);
    }

    /// One more log.
    pub(crate) fn add(&mut self, log: Counted) {
        let session = self.report.sessions.len();
        for (key, cell) in &log.stats.cells {
            let costs = match &self.prices {
                Some(prices) => prices.costs(key.day, key.model.as_ref(), &cell.tokens),
                None => Costs::default(),
            };
            if costs.unpriced.total() > 0 {
                self.report.unpriced.entry(key.model.clone()).or_default().merge(&costs);
            }
            self.report.total.add(session, cell, &costs);
            *self.report.days.entry(key.day).or_default() += cell.tokens.total();
            let has = |by| self.report.by.contains(&by);
            let row_key = RowKey {
                session: has(By::Session).then_some(session),
                project: has(By::Project).then(|| log.project.clone()),
                day: has(By::Day).then_some(key.day),
                model: key.model.clone().filter(|_| has(By::Model)),
                tool: None,
            };
            if has(By::Tool) {
                for (name, tool) in &cell.tools {
                    let tools = BTreeMap::from([(name.clone(), tool.clone())]);
                    let counters = Counters { tools, ..Counters::default() };
                    let row_key = RowKey { tool: Some(name.clone()), ..row_key.clone() };
                    self.rows.entry(row_key).or_default().add(session, &counters, &Costs::default());
                }
            } else if !has(By::None) {
                self.rows.entry(row_key).or_default().add(session, cell, &costs);
            }
        }
        self.report.torn += u64::from(log.is_torn);
        self.report.inherited += log.stats.inherited;
        self.report.sessions.push(Session { id: log.id.to_lossy().into_owned(), title: log.title });
        if !log.stats.cells.is_empty() {
            self.projects.insert(log.project);
        }
        self.ids.insert(log.id);
        self.heirs.extend(log.heir_of.filter(|_| log.stats.inherited > 0));
    }

    /// All logs are there.
    pub(crate) fn finish(mut self) -> Report {
        let orphans = self.heirs.iter().filter(|parent| !self.ids.contains(*parent)).count();
        self.report.without_parent = orphans as u64;
        self.report.projects = self.projects.len() as u64;
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        // What was dearest first, unless days tell the order; equal ones stay in the order of their names.
        let weight = |row: &Row| (row.counters.tokens.total(), row.counters.all_tools().calls);
        rows.sort_by_cached_key(|(key, row)| (key.day, std::cmp::Reverse(weight(row))));
        self.report.rows = rows;
        self.report
    }
}

#[cfg(test)]
mod tests {
    use dshlog_replay::stats::{Key, Tokens, ToolCounters};

    use super::*;

    fn counted(id: &str, project: &str, cells: &[(i32, &str, u64, &[&str])]) -> Counted {
        let cell = |(day, model, input, tools): &(i32, &str, u64, &[&str])| {
            let model = Some(Model { provider: "p".into(), name: (*model).to_owned() });
            let tool =
                |name: &&str| ((*name).to_owned(), ToolCounters { calls: 1, ..ToolCounters::default() });
            let tokens = Tokens { input: *input, ..Tokens::default() };
            let counters =
                Counters { tokens, tools: tools.iter().map(tool).collect(), ..Counters::default() };
            (Key { day: Day(*day), model }, counters)
        };
        Counted {
            id: id.into(),
            title: None,
            project: project.into(),
            heir_of: None,
            is_torn: false,
            stats: LogStats { cells: cells.iter().map(cell).collect(), inherited: 0 },
        }
    }

    fn rows(by: &[By]) -> Vec<String> {
        let mut collector = Collector::new(by.to_vec(), None);
        collector.add(counted("a", "/x", &[(1, "m", 10, &["bash"]), (2, "n", 5, &[])]));
        collector.add(counted("b", "/x", &[(1, "m", 1, &["bash", "read"])]));
        collector.add(counted("c", "/y", &[(2, "m", 7, &[])]));
        let report = collector.finish();
        assert_eq!((report.total.sessions, report.total.counters.tokens.input, report.projects), (3, 23, 2));
        assert_eq!(report.days, BTreeMap::from([(Day(1), 11), (Day(2), 12)]));
        let shown = |(key, row): &(RowKey, Row)| {
            let mut words: Vec<String> = Vec::new();
            words.extend(key.day.map(|day| day.0.to_string()));
            words.extend(key.session.map(|session| report.sessions[session].id.clone()));
            words.extend(key.project.clone());
            words.extend(key.model.clone().map(|model| model.name));
            words.extend(key.tool.clone());
            let counters = &row.counters;
            words.push(format!("{}/{}/{}", row.sessions, counters.tokens.input, counters.all_tools().calls));
            words.join(" ")
        };
        report.rows.iter().map(shown).collect()
    }

    #[test]
    fn rows_are_kept_apart_by_what_was_asked_for() {
        for (by, expected) in [
            (&[By::None][..], &[][..]),
            (&[By::Model], &["m 3/18/3", "n 1/5/0"]),
            (&[By::Day], &["1 2/11/3", "2 2/12/0"]),
            (&[By::Session], &["a 1/15/1", "c 1/7/0", "b 1/1/2"]),
            (&[By::Project], &["/x 2/16/3", "/y 1/7/0"]),
            (&[By::Tool], &["bash 2/0/2", "read 1/0/1"]),
            (&[By::Day, By::Model], &["1 m 2/11/3", "2 m 1/7/0", "2 n 1/5/0"]),
            (&[By::Project, By::Tool], &["/x bash 2/0/2", "/x read 1/0/1"]),
        ] {
            assert_eq!(rows(by), expected, "{by:?}");
        }
    }

    #[test]
    fn heirs_of_sessions_that_are_not_there() {
        let heir = |id, parent: &str, inherited| {
            let mut log = counted(id, "/x", &[]);
            (log.heir_of, log.stats.inherited) = (Some(parent.into()), inherited);
            log
        };
        let mut collector = Collector::new(vec![By::None], None);
        for log in [heir("a", "b", 7), counted("b", "/x", &[]), heir("c", "gone", 5), heir("d", "gone", 0)] {
            collector.add(log);
        }
        let report = collector.finish();
        assert_eq!((report.inherited, report.without_parent, report.total.sessions), (12, 1, 0));
    }
}
