//! Search without an index: every log is read. What a query means is the same.
//!
//! A hit is weighed by how rare its terms are, which is known when the last log was read. So a walk keeps of each match
//! some numbers and no text, and the texts of those that are shown are read once more.

mod weigh;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;

use dshlog_codec::{Header, Seq};

use crate::corpus::{Candidate, Corpus};
use crate::document::{Document, Part};
use crate::error::Result;
use crate::extract::Extractor;
use crate::hit::{Found, Hit, Options, Sort};
use crate::language::{Node, Query, SessionFilter};
use crate::matching::Matcher;
use crate::pool;
use crate::rank::{Place, Score, kept_length};
use crate::session::{Session, Soundness};
use weigh::{Tally, Weigher};

/// Read all logs on `jobs` threads and give what matches. Logs that cannot be read to their end, with the reason, go to
/// `partial`.
pub fn scan(
    corpus: &dyn Corpus,
    query: &Query,
    options: &Options,
    jobs: usize,
    partial: &mut dyn FnMut(&Path, &str),
) -> Result<Found> {
    let listing = corpus.list();
    for (path, reason) in &listing.passed_over {
        partial(path, reason);
    }
    let mut logs = read_all(corpus, query, &listing.candidates, jobs);
    for log in &logs {
        if let Some(reason) = log.session.soundness.reason() {
            partial(&log.candidate.path, reason);
        }
    }
    leave_out_copies(&mut logs);
    let weigher = Weigher::new(Matcher::new(query).counted().collect(), &tally(&logs));
    let mut places = matches(&logs, &weigher, options.now);
    let documents = places.len() as u64;
    let order = |left: &Weighed, right: &Weighed| left.place(&logs).order(&right.place(&logs), options.sort);
    let counts = count(&places);
    if !options.flat {
        keep_best(&mut places, &logs, options.sort);
    }
    places.sort_by(order);
    let shown: Vec<Weighed> = places.into_iter().skip(options.offset).take(options.limit).collect();
    let count = |log: usize| if options.flat { 1 } else { counts.get(&log).copied().unwrap_or(1) };
    let hits = show(corpus, query, &logs, &shown, &count);
    Ok(Found { hits, documents, sessions: counts.len() as u64 })
}

/// A log that was read.
struct Log<'a> {
    candidate: &'a Candidate,
    session: Session,
    /// How many leading events are copies of the parent's.
    inherited: u64,
    /// Where the copies end was not seen.
    is_lost: bool,
    /// Some event replaced others.
    replaces: bool,
    /// Its copies are found under the session that wrote them.
    leaves_out: bool,
    own: Tally,
    copies: Tally,
    matches: Vec<Match>,
}

/// A document that matches, without its text.
struct Match {
    seq: u64,
    nth: u32,
    part: Part,
    time: i64,
    is_inherited: bool,
    /// Its figures, when it matches as a text of a log that is whole, and of one that is not.
    when: [Option<Figures>; 2],
    /// Terms of the text, as the index keeps that.
    length: u32,
}

/// How often what counts stands in a text, in the order of the query.
type Figures = Box<[u32]>;

fn read_all<'a>(
    corpus: &dyn Corpus,
    query: &Query,
    candidates: &'a [Candidate],
    jobs: usize,
) -> Vec<Log<'a>> {
    let Ok(logs) = pool::each(candidates, jobs, || {
        let mut reader = Reader { corpus, looker: Looker::new(query), needs: Needs::of(query) };
        move |candidate| Ok::<_, Infallible>(reader.read(candidate))
    });
    logs
}

/// What a query must know that a walk does not tell.
#[derive(Clone, Copy)]
struct Needs {
    replaced: bool,
    soundness: bool,
}

impl Needs {
    fn of(query: &Query) -> Needs {
        fn has(node: &Node, is: &dyn Fn(&Node) -> bool) -> bool {
            match node {
                Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(|node| has(node, is)),
                Node::Not(node) => has(node, is),
                node => is(node),
            }
        }
        let soundness = |node: &Node| matches!(node, Node::Session(SessionFilter::Partial));
        Needs {
            replaced: has(&query.root, &|node| matches!(node, Node::Replaced)),
            soundness: has(&query.root, &soundness),
        }
    }
}

struct Reader<'a> {
    corpus: &'a dyn Corpus,
    looker: Looker,
    needs: Needs,
}

/// Looks at one document after the other.
struct Looker {
    matcher: Matcher,
    /// A needle counts for the score, so it is counted in all documents.
    is_scored: bool,
    figures: Vec<u32>,
}

impl Looker {
    fn new(query: &Query) -> Looker {
        let matcher = Matcher::new(query);
        let is_scored = matcher.counted().next().is_some();
        Looker { matcher, is_scored, figures: Vec::new() }
    }

    fn count(&mut self, document: &Document, tally: &mut Tally) {
        if self.is_scored {
            self.matcher.read(&document.text);
            self.matcher.figures(&mut self.figures);
        }
        tally.add(&self.figures);
    }

    /// The figures of the document that was counted last, when it matches.
    fn figures(&mut self, document: &Document, session: &Session, is_replaced: bool) -> Option<Figures> {
        if !self.is_scored {
            return self.matcher.matches(document, session, is_replaced).then(Box::default);
        }
        self.matcher.judge(document, session, is_replaced).then(|| {
            self.matcher.figures_of_match(&mut self.figures);
            self.figures.as_slice().into()
        })
    }
}

impl Reader<'_> {
    fn read<'c>(&mut self, candidate: &'c Candidate) -> Log<'c> {
        let header = self.corpus.header(candidate);
        let extractor = header.as_ref().map(Extractor::new).unwrap_or_default();
        let (log, extractor) = self.walk(candidate, header.as_ref().ok(), extractor);
        match &header {
            Ok(header) if extractor.has_missed_copies(log.inherited) => {
                self.walk(candidate, Some(header), Extractor::with_inherited(header, log.inherited)).0
            }
            _ => log,
        }
    }

    fn walk<'c>(
        &mut self,
        candidate: &'c Candidate,
        header: Option<&Header>,
        mut extractor: Extractor,
    ) -> (Log<'c>, Extractor) {
        let replaced: HashSet<u64> = if self.needs.replaced {
            self.corpus.replaced(candidate).into_iter().map(|replaced| replaced.seq.0).collect()
        } else {
            HashSet::new()
        };
        let whole = Session::new(candidate, header, &extractor, Soundness::Whole);
        let broken = Session { soundness: Soundness::Partial(String::new()), ..whole.clone() };
        let (mut own, mut copies, mut matches) = (Tally::default(), Tally::default(), Vec::new());
        let Reader { corpus, looker, needs } = self;
        let reading = corpus.read(candidate, None, &mut |event| {
            extractor.see(event, &mut |document| {
                let tally = if document.is_inherited { &mut copies } else { &mut own };
                looker.count(&document, tally);
                let is_replaced = replaced.contains(&document.seq.0);
                let as_whole = looker.figures(&document, &whole, is_replaced);
                let as_broken = if needs.soundness {
                    looker.figures(&document, &broken, is_replaced)
                } else {
                    as_whole.clone()
                };
                if as_whole.is_some() || as_broken.is_some() {
                    matches.push(Match {
                        seq: document.seq.0,
                        nth: document.nth,
                        part: document.part,
                        time: document.time.0,
                        is_inherited: document.is_inherited,
                        when: [as_whole, as_broken],
                        length: kept_length(looker.matcher.length()),
                    });
                }
            });
            ControlFlow::Continue(())
        });
        let log = Log {
            candidate,
            session: Session::new(candidate, reading.header.as_ref(), &extractor, reading.soundness()),
            inherited: reading.inherited,
            is_lost: extractor.is_inheriting(),
            replaces: reading.replaces,
            leaves_out: false,
            own,
            copies,
            matches,
        };
        (log, extractor)
    }
}

/// Copies are left out where the log they come from is whole, unless it comes to be by copies of this one.
fn leave_out_copies(logs: &mut [Log<'_>]) {
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (at, log) in logs.iter().enumerate().filter(|(_, log)| !log.session.id.is_empty()) {
        by_id.entry(&log.session.id).or_insert(at);
    }
    let parent = |at: usize| {
        let session = &logs.get(at)?.session;
        by_id.get(session.parent.as_deref().filter(|_| session.is_seeded)?).copied()
    };
    let leaves_out: Vec<bool> = (0..logs.len())
        .map(|at| {
            let Some(first) = parent(at) else { return false };
            let is_whole = logs.get(first).is_some_and(|log| log.session.soundness == Soundness::Whole);
            let is_lost = logs.get(at).is_none_or(|log| log.is_lost);
            let mut met = HashSet::from([at]);
            let mut way = Some(first);
            while let Some(next) = way {
                if !met.insert(next) {
                    return false;
                }
                way = parent(next);
            }
            is_whole && !is_lost
        })
        .collect();
    for (log, leaves_out) in logs.iter_mut().zip(leaves_out) {
        log.leaves_out = leaves_out;
    }
}

/// A match with its score.
#[derive(Clone, Copy)]
struct Weighed {
    log: usize,
    seq: u64,
    nth: u32,
    time: i64,
    score: Score,
}

impl Weighed {
    fn place<'a>(&self, logs: &'a [Log<'_>]) -> Place<'a> {
        let session = logs.get(self.log).map(|log| &log.session);
        Place {
            value: self.score.value,
            time: self.time,
            session: session.map_or("", |session| &session.id),
            log: session.map(Session::place),
            seq: self.seq,
            nth: u64::from(self.nth),
        }
    }
}

/// What was counted of all documents that are searched.
fn tally(logs: &[Log<'_>]) -> Tally {
    let mut all = Tally::default();
    for log in logs {
        all.join(&log.own);
        if !log.leaves_out {
            all.join(&log.copies);
        }
    }
    all
}

fn matches(logs: &[Log<'_>], weigher: &Weigher, now: i64) -> Vec<Weighed> {
    let mut found = Vec::new();
    for (at, log) in logs.iter().enumerate() {
        let is_broken = usize::from(log.session.soundness != Soundness::Whole);
        for of in log.matches.iter().filter(|of| !(log.leaves_out && of.is_inherited)) {
            if let Some(Some(figures)) = of.when.get(is_broken) {
                found.push(Weighed {
                    log: at,
                    seq: of.seq,
                    nth: of.nth,
                    time: of.time,
                    score: Score::new(weigher.text(figures, of.length), of.part, of.time, now),
                });
            }
        }
    }
    found
}

/// How many texts of each log match.
fn count(found: &[Weighed]) -> HashMap<usize, u64> {
    let mut counts = HashMap::new();
    for found in found {
        *counts.entry(found.log).or_insert(0) += 1;
    }
    counts
}

/// Of each log the match that stands before its others.
fn keep_best(found: &mut Vec<Weighed>, logs: &[Log<'_>], sort: Sort) {
    // Those of a log stand together.
    found.sort_by(|left, right| {
        left.log.cmp(&right.log).then_with(|| left.place(logs).order(&right.place(logs), sort))
    });
    found.dedup_by_key(|found| found.log);
}

/// Read the texts of what is shown.
fn show(
    corpus: &dyn Corpus,
    query: &Query,
    logs: &[Log<'_>],
    shown: &[Weighed],
    count: &dyn Fn(usize) -> u64,
) -> Vec<Hit> {
    let mut texts: HashMap<(usize, u64, u32), Document> = HashMap::new();
    let mut left: HashMap<usize, HashSet<(u64, u32)>> = HashMap::new();
    for found in shown {
        left.entry(found.log).or_default().insert((found.seq, found.nth));
    }
    let mut replaced: HashMap<usize, HashMap<u64, Seq>> = HashMap::new();
    for (at, mut wanted) in left {
        let Some(log) = logs.get(at) else { continue };
        if log.replaces {
            let all = corpus.replaced(log.candidate).into_iter();
            replaced.insert(at, all.map(|replaced| (replaced.seq.0, replaced.by)).collect());
        }
        let header = corpus.header(log.candidate);
        let mut extractor = header.as_ref().map(Extractor::new).unwrap_or_default();
        corpus.read(log.candidate, None, &mut |event| {
            extractor.see(event, &mut |document| {
                if wanted.remove(&(document.seq.0, document.nth)) {
                    texts.insert((at, document.seq.0, document.nth), document);
                }
            });
            if wanted.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    let mut children: HashMap<&str, Vec<(String, u64)>> = HashMap::new();
    for log in logs.iter().filter(|log| log.leaves_out) {
        if let Some(parent) = &log.session.parent {
            children.entry(parent).or_default().push((log.session.id.clone(), log.inherited));
        }
    }
    let mut matcher = Matcher::new(query);
    let hit = |found: &Weighed| {
        let log = logs.get(found.log)?;
        let document = texts.remove(&(found.log, found.seq, found.nth))?;
        let seq = Seq(found.seq);
        Some(Hit {
            replaced_by: replaced.get(&found.log).and_then(|all| all.get(&found.seq)).copied(),
            copies: crate::index::copies(&log.session.id, seq, |id| {
                Ok(children.get(id).cloned().unwrap_or_default())
            })
            .unwrap_or_default(),
            count: count(found.log),
            ranges: matcher.ranges(&document.text),
            score: found.score,
            session: log.session.clone(),
            document,
        })
    };
    shown.iter().filter_map(hit).collect()
}

#[cfg(test)]
mod tests;
