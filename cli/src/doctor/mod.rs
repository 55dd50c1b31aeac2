//! What the next upgrade of a whole root will do, and what is in its way.
//!
//! [`look`] looks at one session, [`logs`], [`layout`] and [`family`] say what is wrong with all of them together, and
//! [`mend`] what to do about it. Nothing is written; what dsh itself would do to the root follows
//! `docs/spec/storage.md`, sections 3, 4 and 13.

mod family;
pub(crate) mod finding;
mod holder;
mod layout;
mod logs;
pub(crate) mod look;
mod meaning;
mod mend;
mod witness;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use dshlog_codec::home::{Home, Walk};

use finding::{Blocks, Finding, Severity};
use look::{Fate, Lock, Session};

/// Everything that was seen, before anything is said of it.
pub(crate) struct Seen<'a> {
    /// Home and root.
    pub(crate) home: &'a Home,
    /// What lies below the root.
    pub(crate) walk: &'a Walk,
    /// The sessions that dsh lists, in the order of names.
    pub(crate) sessions: &'a [Session],
    /// Arguments that name this root to other commands of dshlog; empty for the default one.
    pub(crate) arguments: String,
    /// Epoch milliseconds.
    pub(crate) now: i64,
}

/// What there is to say of a root.
#[derive(Debug)]
pub(crate) struct Report {
    /// The root.
    pub(crate) root: PathBuf,
    /// The home, when there is one around the root.
    pub(crate) home: Option<PathBuf>,
    /// Sessions by version and encoding of the logs that stand for them, the newest version first.
    pub(crate) formats: Vec<Format>,
    /// All of them.
    pub(crate) total: Count,
    /// Lock files that somebody holds.
    pub(crate) held: u64,
    /// Lock files that nobody holds, which every writer leaves behind.
    pub(crate) free: u64,
    /// The worst that dsh loses to the findings.
    pub(crate) blocks: Blocks,
    /// The worst first.
    pub(crate) findings: Vec<Finding>,
    /// Something could not be read.
    pub(crate) is_unread: bool,
}

/// Sessions of one version and encoding.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    /// Version by the file name.
    pub(crate) version: u64,
    /// `raw` or `zstd`.
    pub(crate) encoding: &'static str,
    /// How many, and what becomes of them.
    pub(crate) count: Count,
}

/// How many sessions there are, and what becomes of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// All.
    pub(crate) sessions: u64,
    /// Bytes of the logs that stand for them.
    pub(crate) bytes: u64,
    /// In the current format.
    pub(crate) current: u64,
    /// The next upgrade carries them over.
    pub(crate) migrate: u64,
    /// Refused.
    pub(crate) refused: u64,
    /// Not judged, since a writer holds them or they are too large.
    pub(crate) not_judged: u64,
}

impl Count {
    fn add(&mut self, session: &Session) {
        self.sessions += 1;
        self.bytes += session.file.as_ref().map_or(0, |file| file.len);
        *match session.fate {
            Fate::Current => &mut self.current,
            Fate::Migrates => &mut self.migrate,
            Fate::Refused => &mut self.refused,
            Fate::NotJudged => &mut self.not_judged,
        } += 1;
    }
}

impl Report {
    /// Judge what was seen.
    pub(crate) fn of(seen: &Seen<'_>) -> Report {
        let mut findings = layout::findings(seen);
        findings.extend(logs::findings(seen));
        findings.extend(family::findings(seen));
        findings.sort_by_cached_key(|finding| {
            let severity = match finding.severity {
                Severity::Error => 0,
                Severity::Warning => 1,
                Severity::Note => 2,
            };
            (
                severity,
                std::cmp::Reverse((finding.blocks, finding.subjects.len())),
                finding.code,
                finding.mend.by,
            )
        });
        let mut total = Count::default();
        let mut formats: BTreeMap<_, Count> = BTreeMap::new();
        for session in seen.sessions {
            total.add(session);
            if let Some(file) = &session.file {
                let key = (std::cmp::Reverse(file.generation.0), std::cmp::Reverse(file.encoding.name()));
                formats.entry(key).or_default().add(session);
            }
        }
        let formats = formats.into_iter().map(|((version, encoding), count)| Format {
            version: version.0,
            encoding: encoding.0,
            count,
        });
        let locks = |is: fn(&Lock) -> bool| seen.sessions.iter().filter(|s| is(&s.lock)).count() as u64;
        Report {
            root: seen.home.root.clone(),
            home: seen.home.path.clone(),
            formats: formats.collect(),
            total,
            held: locks(Lock::is_held),
            free: locks(|lock| matches!(lock, Lock::Free)),
            blocks: findings.iter().map(|finding| finding.blocks).max().unwrap_or(Blocks::Nothing),
            is_unread: seen.sessions.iter().any(Session::is_unread)
                || findings.iter().any(|finding| layout::UNREAD.contains(&finding.code)),
            findings,
        }
    }

    /// True when nothing but notes was found.
    pub(crate) fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }
}

/// Epoch milliseconds of a file's time.
fn millis(time: SystemTime) -> i64 {
    let since = |elapsed: std::time::Duration| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(elapsed) => since(elapsed),
        Err(before) => -since(before.duration()),
    }
}

/// A path below the root, as it is said in a sentence.
fn below<'a>(root: &Path, path: &'a Path) -> std::borrow::Cow<'a, str> {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy()
}
