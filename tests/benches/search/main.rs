//! Search over a large home: how fast the index comes to be, how large it is, how long answers take; beside `rg -z` over the
//! same files, SQLite's FTS5 over the same documents as dsh asks it, and `--scan`. Prints Markdown for
//! `docs/performance.md`, which says how to run it.
//!
//! One run gives all figures, so that ratios hold whatever the machine does otherwise.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dshlog_codec::home::Walk;
use dshlog_codec::{Limits, LogFile};
use dshlog_query::extract::Extractor;
use dshlog_query::index::Index;
use dshlog_query::{Document, Options, Part, Query, Sort};
use dshlog_tests::grow::{Plan, fingerprint, grow};
use dshlog_tests::model::skip;
use dshlog_tests::text::Rng;
use jiff::Timestamp;
use jiff::tz::TimeZone;

mod fts;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Queries of a run.
const QUERIES: usize = 200;

/// Queries that the slow ones are asked.
const FEW: usize = 10;

#[expect(clippy::print_stderr, reason = "a bench talks to people")]
fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Without this mark a test runner has started it, to see whether it builds.
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let bench = Bench::new(&args)?;
    eprintln!("logs lie in {}", bench.home.display());
    bench.run()
}

struct Bench {
    dshlog: PathBuf,
    home: PathBuf,
    /// Where indexes come to be.
    work: PathBuf,
    sessions: u64,
    bytes: u64,
}

/// What a command took.
struct Took {
    wall: Duration,
    /// Seconds of all cores.
    cpu: Option<f64>,
    /// Peak of resident memory, in KiB.
    memory: Option<u64>,
}

impl Bench {
    fn new(args: &[String]) -> Outcome<Self> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let built = target.with_file_name("release").join("dshlog");
        let dshlog = std::env::var_os("DSHLOG_BIN").map_or(built, PathBuf::from);
        if !dshlog.is_file() {
            return Err(format!("no {}: build it with `cargo build --release`", dshlog.display()).into());
        }
        let is_quick = args.iter().any(|arg| arg == "--quick");
        let asked = args.iter().position(|arg| arg == "--sessions").and_then(|at| args.get(at + 1));
        let sessions = match asked {
            Some(asked) => asked.parse()?,
            None if is_quick => 300,
            None => 10_000,
        };
        // Many sessions are small ones.
        let each = if sessions > 20_000 { 12_000 } else { 100_000 };
        let cache = target.join("grown").join(fingerprint()?).join(format!("search-{sessions}"));
        let bytes = home(&cache, sessions, each)?;
        let work = target.join("search");
        fs::create_dir_all(&work)?;
        Ok(Bench { dshlog, home: cache, work, sessions, bytes })
    }

    #[expect(clippy::print_stdout, reason = "the result")]
    fn run(&self) -> Outcome<()> {
        let megabytes = self.bytes as f64 / 1e6;
        println!("\n## {} sessions, {megabytes:.0} MB of text\n", self.sessions);
        let index = self.work.join("index");
        let _ = fs::remove_dir_all(&index);
        let built = self.timed(&["index", "--index", text(&index)?])?;
        let wall = built.wall.as_secs_f64();
        let per_core =
            built.cpu.map_or("-".to_owned(), |cpu| format!("{:.0} MB/s per core", megabytes / cpu));
        let size = size(&index)?;
        println!("| build | {wall:.1} s, {per_core}, {} MB of memory |", built.memory.unwrap_or(0) / 1024);
        println!("|---|---|");
        println!(
            "| size of the index | {:.0} MB, {:.2} of the text |",
            size as f64 / 1e6,
            size as f64 / self.bytes as f64
        );
        let again = self.timed(&["index", "--index", text(&index)?])?;
        println!("| a look at all of it, nothing changed | {} |", milliseconds(again.wall));
        println!("| one turn appended, then found by a search | {} |", milliseconds(self.append(&index)?));

        let documents = self.documents(400)?;
        let queries = queries(&documents);
        let opened = Index::open(&index)?;
        let warm = each(&queries, |query| {
            let query = Query::parse(query, Timestamp::now(), &TimeZone::UTC)?;
            opened.search(&query, &options())?;
            Ok(())
        })?;
        println!("| {QUERIES} queries in one process | {} |", shown(&warm));
        let whole = each(&queries, |query| self.search(&["--index", text(&index)?, "--", query]))?;
        println!("| {QUERIES} queries as processes | {} |", shown(&whole));
        let still =
            each(&queries, |query| self.search(&["--no-update", "--index", text(&index)?, "--", query]))?;
        println!("| the same without a look at the logs | {} |", shown(&still));

        let words = words(&documents);
        let ours = each(&words, |word| self.search(&["--index", text(&index)?, "--", word]))?;
        println!("\n| {FEW} words, as processes | p50 | times |\n|---|---|---|");
        let row = |name: &str, times: &[Duration]| {
            let ratio = percentile(times, 50).as_secs_f64() / percentile(&ours, 50).as_secs_f64();
            println!("| {name} | {} | {ratio:.0} |", milliseconds(percentile(times, 50)));
        };
        row("`dshlog search`", &ours);
        row("`dshlog search --scan`", &each(&words, |word| self.search(&["--scan", "--", word]))?);
        if Command::new("rg").arg("--version").output().is_ok() {
            row("`rg -zic`", &each(&words, |word| self.ripgrep(word))?);
        } else {
            skip("ripgrep: there is none");
        }
        let fts = fts::Fts::build(&self.work.join("fts.sqlite"), &mut |see| self.each_document(see))?;
        println!(
            "\nFTS5 trigram: built in {:.1} s, {:.0} MB\n",
            fts.built.as_secs_f64(),
            fts.size()? as f64 / 1e6
        );
        println!("| {FEW} words in a warm process | p50 | times |\n|---|---|---|");
        let warm = each(&words, |word| {
            let query = Query::parse(word, Timestamp::now(), &TimeZone::UTC)?;
            opened.search(&query, &options())?;
            Ok(())
        })?;
        let asked = each(&words, |word| fts.search(word))?;
        let ratio = percentile(&asked, 50).as_secs_f64() / percentile(&warm, 50).as_secs_f64();
        println!("| the index | {} | 1 |", milliseconds(percentile(&warm, 50)));
        println!("| FTS5 | {} | {ratio:.1} |", milliseconds(percentile(&asked, 50)));
        Ok(())
    }

    fn search(&self, args: &[&str]) -> Outcome<()> {
        let mut command = Command::new(&self.dshlog);
        command.args(["search", "--no-pager", "-q", "--home"]).arg(&self.home).args(args);
        let status = command.stdout(Stdio::null()).status()?;
        // Nothing found is an answer, too.
        if status.code().is_some_and(|code| code < 2) {
            Ok(())
        } else {
            Err(format!("{args:?}: {status}").into())
        }
    }

    fn ripgrep(&self, word: &str) -> Outcome<()> {
        let mut command = Command::new("rg");
        command.args(["-z", "-i", "-c", "-F", "--no-messages", word]).arg(self.home.join("sessions"));
        command.stdout(Stdio::null()).status()?;
        Ok(())
    }

    /// A turn is taken off a log, the index brought up to date, the turn put back, and something searched.
    fn append(&self, index: &Path) -> Outcome<Duration> {
        let walk = Walk::new(&self.home.join("sessions"))?;
        let newest = walk.sessions.iter().max_by_key(|session| session.modified()).ok_or("no sessions")?;
        let log = &newest.newest().ok_or("no log")?.path;
        let all = fs::read(log)?;
        let mut ends = Vec::new();
        let mut at = 0;
        while at < all.len() {
            let frame = zstd::zstd_safe::find_frame_compressed_size(all.get(at..).unwrap_or_default());
            at += frame.map_err(zstd::zstd_safe::get_error_name)?;
            ends.push(at);
        }
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let cut = ends.iter().rev().nth(1).copied().unwrap_or(0);
            fs::write(log, all.get(..cut).unwrap_or_default())?;
            self.timed(&["index", "--index", text(index)?])?;
            fs::write(log, &all)?;
            let start = Instant::now();
            self.search(&["--index", text(index)?, "zyzzyva"])?;
            best = best.min(start.elapsed());
        }
        Ok(best)
    }

    fn timed(&self, args: &[&str]) -> Outcome<Took> {
        let start = Instant::now();
        let mut command = Command::new("/usr/bin/time");
        command.args(["-f", "%U %S %M"]).arg(&self.dshlog).args(args).arg("-q").arg("--home").arg(&self.home);
        let output = command.stdout(Stdio::null()).output()?;
        let wall = start.elapsed();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(format!("{args:?}: {told}").into());
        }
        let mut numbers = told.lines().last().unwrap_or_default().split(' ').map(str::parse::<f64>);
        let mut next = || numbers.next().and_then(Result::ok);
        let cpu = next().zip(next()).map(|(user, system)| user + system);
        Ok(Took { wall, cpu, memory: next().map(|kib| kib as u64) })
    }

    /// All documents of the home.
    fn each_document(&self, see: &mut dyn FnMut(&str, Document) -> Outcome<()>) -> Outcome<()> {
        for session in Walk::new(&self.home.join("sessions"))?.sessions {
            let Some(file) = session.newest() else { continue };
            let mut walk = LogFile::open(&file.path)?.read(&Limits::default())?;
            let header = walk.header().clone();
            let id = header.id.to_lossy().into_owned();
            let mut extractor = Extractor::new(&header);
            let mut result = Ok(());
            while let Some(event) = walk.next_event()? {
                extractor.see(&event, &mut |document| {
                    if result.is_ok() {
                        result = see(&id, document);
                    }
                });
            }
            result?;
        }
        Ok(())
    }

    /// Some of them, of all parts of the home.
    fn documents(&self, most: usize) -> Outcome<Vec<Document>> {
        let mut rng = Rng::new(7);
        let mut found: Vec<Document> = Vec::new();
        let walk = Walk::new(&self.home.join("sessions"))?;
        for tries in 0.. {
            if found.len() >= most {
                break;
            }
            if tries >= 10_000 {
                return Err("these sessions are too small to hold anything to ask for".into());
            }
            let at = usize::try_from(rng.below(walk.sessions.len() as u64))?;
            let Some(file) = walk.sessions.get(at).and_then(|session| session.newest()) else { continue };
            let mut reader = LogFile::open(&file.path)?.read(&Limits::default())?;
            let mut extractor = Extractor::new(&reader.header().clone());
            let mut all = Vec::new();
            while let Some(event) = reader.next_event()? {
                extractor.see(&event, &mut |document| all.push(document));
            }
            all.retain(|document| !matches!(document.part, Part::System | Part::Context));
            let step = (all.len() / 4).max(1);
            found.extend(all.into_iter().step_by(step));
        }
        Ok(found)
    }
}

fn options() -> Options {
    Options {
        flat: false,
        limit: 20,
        offset: 0,
        sort: Sort::Relevance,
        now: Timestamp::now().as_millisecond(),
    }
}

/// A home of so many sessions; its size in bytes of plain text. What an earlier run grew is taken as it is.
fn home(cache: &Path, sessions: u64, each: u64) -> Outcome<u64> {
    let done = cache.join("bytes");
    if let Ok(bytes) = fs::read_to_string(&done) {
        return Ok(bytes.trim().parse()?);
    }
    let _ = fs::remove_dir_all(cache);
    fs::create_dir_all(cache)?;
    let half = sessions / 2;
    let part = |range: std::ops::Range<u64>| -> Result<u64, String> {
        let mut bytes = 0;
        for seed in range {
            // Some are four times as long as others.
            let plan = Plan::bytes(each * 2 / 5 * (1 + seed % 4));
            let grown = grow(cache, &Plan { seed, ..plan }).map_err(|error| error.to_string())?;
            bytes += grown.plain;
        }
        Ok(bytes)
    };
    let bytes = std::thread::scope(|scope| {
        let other = scope.spawn(|| part(half..sessions));
        let first = part(0..half)?;
        let other = other.join().map_err(|_| "a thread fell over".to_owned())??;
        Ok::<u64, String>(first + other)
    })?;
    fs::write(done, bytes.to_string())?;
    Ok(bytes)
}

/// Words, several words, phrases, beginnings, pieces of Chinese, paths, and facts.
fn queries(documents: &[Document]) -> Vec<String> {
    let mut rng = Rng::new(1);
    let mut queries = Vec::new();
    while queries.len() < QUERIES {
        let Some(document) = documents.get(rng.below(documents.len() as u64) as usize) else { continue };
        let plain =
            |word: &&str| word.chars().all(char::is_alphanumeric) && word.is_ascii() && word.len() > 2;
        let words: Vec<&str> = document.text.split_whitespace().filter(plain).collect();
        if words.len() < 6 {
            continue;
        }
        let at = rng.below(words.len() as u64 - 3) as usize;
        let (one, two) = (words[at], words[at + 2]);
        queries.push(match queries.len() % 10 {
            0..3 => one.to_owned(),
            3 | 4 => format!("{one} {two}"),
            5 => match phrase(&document.text, &mut rng) {
                Some(phrase) => format!("\"{phrase}\""),
                None => continue,
            },
            6 => format!("{}*", &one[..3]),
            7 => match han(&document.text) {
                Some(han) => han,
                None => continue,
            },
            8 => match document.text.split(['`', ' ', '\n']).find(|word| word.starts_with("src/")) {
                Some(path) => format!("\"{path}\""),
                None => continue,
            },
            _ => format!("{one} role:user"),
        });
    }
    queries
}

/// Three words that stand one behind the other.
fn phrase(text: &str, rng: &mut Rng) -> Option<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let at = rng.below(words.len().saturating_sub(3).max(1) as u64) as usize;
    let phrase = words.get(at..at + 3)?.join(" ");
    words
        .get(at..at + 3)?
        .iter()
        .all(|word| word.chars().all(|c| c.is_ascii_alphanumeric()) && !word.is_empty())
        .then_some(phrase)
}

/// Two or three characters out of a run.
fn han(text: &str) -> Option<String> {
    let run: String = text.chars().skip_while(|c| !('一'..='鿿').contains(c)).take(3).collect();
    (run.chars().all(|c| ('一'..='鿿').contains(&c)) && run.chars().count() == 3).then_some(run)
}

/// Words that are no common ones: what people search for.
fn words(documents: &[Document]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for document in documents {
        let long = |word: &&str| word.len() > 6 && word.chars().all(|c| c.is_ascii_lowercase());
        if let Some(word) = document.text.split_whitespace().find(long)
            && !words.iter().any(|known| known == word)
        {
            words.push(word.to_owned());
        }
    }
    words.truncate(FEW);
    words
}

fn each(queries: &[String], mut ask: impl FnMut(&str) -> Outcome<()>) -> Outcome<Vec<Duration>> {
    let mut times = Vec::with_capacity(queries.len());
    for query in queries {
        let start = Instant::now();
        ask(query)?;
        times.push(start.elapsed());
    }
    Ok(times)
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}

fn shown(times: &[Duration]) -> String {
    format!("p50 {}, p99 {}", milliseconds(percentile(times, 50)), milliseconds(percentile(times, 99)))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// Bytes of all files below a folder.
fn size(folder: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        bytes += if kind.is_dir() { size(&entry.path())? } else { kind.len() };
    }
    Ok(bytes)
}

fn text(path: &Path) -> Outcome<&str> {
    path.to_str().ok_or_else(|| "a folder whose name is no text".into())
}
