//! The corpora as a model: which logs there are, and what the official reader says to each (`corpora/README.md`).
//!
//! The project's own corpora are always there. A larger set, of another shape, may lie outside the repository: see
//! [`Corpora::shared`]. Manifests are plain JSON and read with serde; texts of logs and answers may hold lone surrogates and are
//! only ever bytes here.

use std::io;
use std::path::{Path, PathBuf};

use dshlog_codec::{Encoding, Generation};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// One log and what the official reader makes of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name of the case, which may hold several logs.
    pub case: String,
    /// The log file. It lies in a home: `<case>/.../sessions/<project>/<session>/<log>`.
    pub log: PathBuf,
    /// By file name.
    pub generation: Generation,
    /// By file name.
    pub encoding: Encoding,
    /// The answer.
    pub status: Status,
    /// Facts of the log before any migration, where known.
    pub stored: Option<Stored>,
}

/// The official reader's answer.
#[derive(Clone, Debug)]
pub enum Status {
    /// It reads the log.
    Restored(Restored),
    /// It does not.
    Refused {
        /// `corrupt`, `unsupported` or `misplaced`.
        class: String,
        /// Short name of the first fault that the reader meets.
        reason: String,
    },
}

/// What a readable log holds, after migration to the current format.
#[derive(Clone, Debug)]
pub struct Restored {
    /// Number of current events; unknown for some logs of the shared corpora.
    pub events: Option<u64>,
    /// Number of inherited ones.
    pub cut: u64,
    /// The torn tail; none for sound logs and for V0 to V3.
    pub torn: Option<Torn>,
    /// Current header line and events, one a line.
    pub current: Option<Answer>,
    /// The derived message history as one JSON array.
    pub messages: Option<Answer>,
    /// Seqs of the surface nodes at the end, in order.
    pub surface: Option<Vec<u64>>,
}

/// What a writer would do about a torn tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Torn {
    /// Where it would cut the file, in bytes.
    pub truncate_to: u64,
    /// How many events of the torn frame it would write again.
    #[serde(alias = "recoveredTailEvents")]
    pub recovered: u64,
}

/// Facts of a log in its own generation. Each is known or not, for itself.
#[derive(Clone, Debug, Deserialize)]
pub struct Stored {
    /// Number of logical events, packed rows expanded.
    pub events: Option<u64>,
    /// Number of inherited ones.
    pub cut: Option<u64>,
    /// SHA-256, in hex, of the logical header line and events.
    pub sha256: Option<String>,
}

/// A right answer: its hash, and its text where that is kept.
#[derive(Clone, Debug)]
pub struct Answer {
    /// SHA-256 in hex.
    pub sha256: String,
    /// The file that holds it.
    pub file: Option<PathBuf>,
}

impl Answer {
    /// Compare `bytes` with the answer. A line end behind the last line is no difference.
    ///
    /// The error names the first line that differs, when the text is kept.
    pub fn check(&self, bytes: &[u8]) -> Result<(), String> {
        let bare = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let ended = [bare, b"\n"].concat();
        if [bare, &ended].iter().any(|text| sha256_hex(text) == self.sha256) {
            return Ok(());
        }
        let Some(file) = &self.file else {
            return Err(format!("{} bytes with another SHA-256 than {}", bytes.len(), self.sha256));
        };
        let expected = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
        Err(first_difference(&expected, bytes))
    }
}

/// SHA-256 in lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The first line in which two texts differ, for people.
pub fn first_difference(expected: &[u8], found: &[u8]) -> String {
    let (mut left, mut right) = (expected.split(|&b| b == b'\n'), found.split(|&b| b == b'\n'));
    for line in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let (a, b) = (a.unwrap_or(b"<no line>"), b.unwrap_or(b"<no line>"));
                let at = a.iter().zip(b).take_while(|(x, y)| x == y).count();
                let show = |line: &[u8]| {
                    let from = at.saturating_sub(40).min(line.len());
                    String::from_utf8_lossy(&line[from..line.len().min(at + 80)]).into_owned()
                };
                return format!(
                    "line {line}, byte {at}:\n  expected ...{}\n  found    ...{}",
                    show(a),
                    show(b)
                );
            }
        }
    }
    "no difference".to_owned()
}

/// A set of logs.
#[derive(Debug)]
pub struct Corpora {
    /// Its folder.
    pub dir: PathBuf,
    /// Its logs.
    pub entries: Vec<Entry>,
}

impl Corpora {
    /// The project's own corpora.
    ///
    /// # Panics
    ///
    /// When they cannot be read: no test can do without them.
    pub fn own() -> Self {
        let dir = repository().join("corpora");
        let entries = own(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        Corpora { dir, entries }
    }

    /// The larger set in the folder that `DSHLOG_SHARED_CORPORA` names, else in `../shared/corpora` beside the repository. When
    /// there is none it says so on stderr.
    ///
    /// # Panics
    ///
    /// When it is there and cannot be read.
    pub fn shared() -> Option<Self> {
        let dir = std::env::var_os("DSHLOG_SHARED_CORPORA")
            .map_or_else(|| repository().join("../shared/corpora"), PathBuf::from);
        if !dir.is_dir() {
            skip(&format!("no shared corpora in {}", dir.display()));
            return None;
        }
        let entries = shared(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        Some(Corpora { dir, entries })
    }

    /// Own corpora, then the shared ones when they are there.
    pub fn all() -> Vec<Self> {
        [Some(Self::own()), Self::shared()].into_iter().flatten().collect()
    }

    /// The only log of a case, or its first.
    ///
    /// # Panics
    ///
    /// When there is no such case.
    pub fn log(&self, case: &str) -> &Entry {
        self.entries.iter().find(|e| e.case == case).unwrap_or_else(|| panic!("no case {case}"))
    }
}

impl Entry {
    /// The answer, when the reader reads the log.
    pub fn restored(&self) -> Option<&Restored> {
        match &self.status {
            Status::Restored(restored) => Some(restored),
            Status::Refused { .. } => None,
        }
    }

    /// The bytes of the log file.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        std::fs::read(&self.log)
    }
}

/// Folder of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Say that something is not tested here, and why.
#[expect(clippy::print_stderr, reason = "a test that skips in silence looks like one that passed")]
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

#[derive(Deserialize)]
struct OwnManifest {
    schema: String,
    cases: Vec<OwnCase>,
}

#[derive(Deserialize)]
struct OwnCase {
    case: String,
    logs: Vec<OwnLog>,
}

#[derive(Deserialize)]
struct OwnLog {
    log: PathBuf,
    generation: u64,
    encoding: String,
    restored: Option<OwnRestored>,
    refused: Option<OwnRefused>,
    stored: Option<Stored>,
}

#[derive(Deserialize)]
struct OwnRestored {
    events: u64,
    cut: u64,
    torn: Option<Torn>,
    current: OwnAnswer,
    messages: OwnAnswer,
    surface: Option<Vec<u64>>,
}

#[derive(Deserialize)]
struct OwnRefused {
    class: String,
    reason: String,
}

#[derive(Deserialize)]
struct OwnAnswer {
    sha256: String,
    file: Option<PathBuf>,
}

fn own(dir: &Path) -> io::Result<Vec<Entry>> {
    let manifest: OwnManifest = json(&dir.join("manifest.json"))?;
    if manifest.schema != "dshlog.corpora/1" {
        return Err(io::Error::other(format!("unknown schema {}", manifest.schema)));
    }
    let answer = |a: OwnAnswer| Some(Answer { sha256: a.sha256, file: a.file.map(|file| dir.join(file)) });
    let entry = |case: &str, log: OwnLog| {
        let status = match (log.restored, log.refused) {
            (Some(r), None) => Status::Restored(Restored {
                events: Some(r.events),
                cut: r.cut,
                torn: r.torn,
                current: answer(r.current),
                messages: answer(r.messages),
                surface: r.surface,
            }),
            (None, Some(r)) => Status::Refused { class: r.class, reason: r.reason },
            _ => return Err(io::Error::other(format!("{case}: one of restored, refused"))),
        };
        Ok(Entry {
            case: case.to_owned(),
            encoding: if log.encoding == "zstd" { Encoding::Zstd } else { Encoding::Raw },
            generation: Generation(log.generation),
            log: dir.join(log.log),
            status,
            stored: log.stored,
        })
    };
    manifest
        .cases
        .into_iter()
        .flat_map(|OwnCase { case, logs }| logs.into_iter().map(move |log| (case.clone(), log)))
        .map(|(case, log)| entry(&case, log))
        .collect()
}

mod foreign;
use foreign::shared;

fn json<T: for<'a> Deserialize<'a>>(path: &Path) -> io::Result<T> {
    let read = || serde_json::from_slice(&std::fs::read(path)?).map_err(io::Error::from);
    read().map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_log_of_the_own_corpora_is_there_and_named_once() {
        let own = Corpora::own();
        assert!(own.entries.len() > 200, "{}", own.entries.len());
        let mut named: Vec<_> = own.entries.iter().map(|e| e.log.clone()).collect();
        named.sort();
        named.dedup();
        assert_eq!(named.len(), own.entries.len());
        let mut found = Vec::new();
        logs_below(&own.dir, &mut found);
        // The answers of these are the requests beside them, or they themselves; what lies beside stores are answers.
        let elsewhere = ["wire", "runs", "store"].map(|folder| own.dir.join(folder));
        found.retain(|log| !elsewhere.iter().any(|folder| log.starts_with(folder)));
        found.sort();
        assert_eq!(found, named);
    }

    #[test]
    fn every_generation_and_encoding_has_logs_that_are_read() {
        let own = Corpora::own();
        for generation in 0..=4 {
            for encoding in [Encoding::Raw, Encoding::Zstd] {
                let has = |e: &Entry| {
                    e.generation == Generation(generation) && e.encoding == encoding && e.restored().is_some()
                };
                assert!(own.entries.iter().any(has), "V{generation} {encoding}");
            }
        }
    }

    #[test]
    fn kept_answers_have_the_hash_that_the_manifest_says() {
        let mut kept = 0;
        for entry in Corpora::own().entries {
            let Some(restored) = entry.restored() else { continue };
            for answer in [&restored.current, &restored.messages].into_iter().flatten() {
                let Some(file) = &answer.file else { continue };
                let bytes = std::fs::read(file).unwrap();
                assert_eq!(sha256_hex(&bytes), answer.sha256, "{}", file.display());
                kept += 1;
            }
        }
        assert!(kept > 50, "{kept}");
    }

    #[test]
    fn a_wrong_answer_is_told_by_its_first_line() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), "no difference");
        let told = first_difference(b"a\nbcd\n", b"a\nbxd\n");
        assert!(told.starts_with("line 2, byte 1:"), "{told}");
    }

    fn logs_below(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                logs_below(&path, found);
            } else if name.starts_with("session.") {
                found.push(path);
            }
        }
    }
}
