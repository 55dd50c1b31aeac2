//! Whole programs side by side on grown logs: `dshlog` against the floor (`zstd -dc`), a plain rival (`jq -c .seq`) and, when it is there, the
//! official reader; migrations of older generations against that one, and with one and two jobs. Prints Markdown for `docs/performance.md`, which says how to run it.
//!
//! One run gives all figures of a table, so that ratios hold whatever the machine does otherwise.

use std::convert::Infallible;
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dshlog_codec::{Limits, LogFile};
use dshlog_migrate::migrate_in_memory;
use dshlog_tests::grow::{Old, Plan, Talk, fingerprint, grow, grow_home, grow_old};
use dshlog_tests::model::skip;

mod requests;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stderr, reason = "a bench talks to people")]
fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Without this mark a test runner has started it, to see whether it builds.
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    // The bench itself, started to measure its memory.
    if let Some(at) = args.iter().position(|arg| arg == "--requests-of") {
        let log = args.get(at + 1).ok_or("which log?")?;
        return requests::of(Path::new(log), args.iter().any(|arg| arg == "--bodies")).map(drop);
    }
    let bench = Bench::new(&args)?;
    eprintln!("logs lie in {}", bench.cache.display());
    bench.start()?;
    bench.list()?;
    if args.iter().any(|arg| arg == "--requests") {
        return bench.all_requests();
    }
    let only_migrations = args.iter().any(|arg| arg == "--migrate");
    for &size in bench.sizes() {
        for (name, old) in [("V0", Old::V0), ("V3", Old::V3)] {
            let title = format!("{name} to V4, {} MB", size / 1_000_000);
            bench.migrate(&title, old, &Plan::bytes(size))?;
            let short = Plan { talk: Talk::Short, ..Plan::bytes(size) };
            bench.migrate(&format!("{title} of short rows"), old, &short)?;
        }
    }
    bench.jobs()?;
    if !bench.quick {
        bench.migrate("V0 to V4, 115,000 frames", Old::V0, &Plan::frames(115_000))?;
        bench.migrate("V0 to V4, 1 GB", Old::V0, &Plan::bytes(1_000_000_000))?;
    }
    if only_migrations {
        return Ok(());
    }
    for &size in bench.sizes() {
        bench.compare(&format!("{} MB", size / 1_000_000), &Plan::bytes(size))?;
    }
    bench.all_requests()?;
    if !bench.quick {
        bench.compare("100,000 frames", &Plan::frames(100_000))?;
        bench.memory()?;
    }
    Ok(())
}

struct Bench {
    dshlog: PathBuf,
    cache: PathBuf,
    quick: bool,
    runs: u32,
    has_gnu_time: bool,
}

/// The official reader's time and memory.
#[derive(serde::Deserialize)]
struct Answer {
    ms: f64,
    #[serde(rename = "rssMB")]
    rss_mb: Option<u64>,
}

/// What one command took: the best of several runs.
#[derive(Clone, Copy)]
struct Took {
    wall: Duration,
    /// Peak of resident memory, in KiB.
    memory: Option<u64>,
}

impl Bench {
    fn new(args: &[String]) -> Outcome<Self> {
        let quick = args.iter().any(|arg| arg == "--quick");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let built = target.with_file_name("release").join("dshlog");
        let dshlog = std::env::var_os("DSHLOG_BIN").map_or(built, PathBuf::from);
        if !dshlog.is_file() {
            return Err(format!("no {}: build it with `cargo build --release`", dshlog.display()).into());
        }
        let has_gnu_time = Path::new("/usr/bin/time").is_file();
        if !has_gnu_time {
            skip("memory: there is no /usr/bin/time");
        }
        let runs = if quick { 3 } else { 5 };
        Ok(Bench { dshlog, cache: target.join("grown").join(fingerprint()?), quick, runs, has_gnu_time })
    }

    fn sizes(&self) -> &'static [u64] {
        if self.quick { &[10_000_000] } else { &[10_000_000, 100_000_000] }
    }

    /// `dshlog --version`: what starting costs.
    #[expect(clippy::print_stdout, reason = "the result")]
    fn start(&self) -> Outcome<()> {
        let took = self.best(20, &self.dshlog, &["--version"])?;
        println!("\n## Start\n\n`dshlog --version`: {}\n", milliseconds(took.wall));
        Ok(())
    }

    /// `dshlog ls` over a home of 1,000 sessions whose files the system has in memory.
    #[expect(clippy::print_stdout, reason = "the result")]
    fn list(&self) -> Outcome<()> {
        let home = self.cached("home-1000", |home| grow_home(home, 1_000, 1))?;
        let took = self.best(10, &self.dshlog, &["ls", "--home", text(&home)?, "--format", "json"])?;
        println!(
            "## A home of 1,000 sessions\n\n`dshlog ls`: {}, {}\n",
            milliseconds(took.wall),
            memory(took)
        );
        Ok(())
    }

    /// All programs on one log, as a table of ratios.
    #[expect(clippy::print_stdout, reason = "the result")]
    fn compare(&self, title: &str, plan: &Plan) -> Outcome<()> {
        let log = self.log(plan)?;
        let log = text(&log)?;
        let unpacked = self.plain(Path::new(log))?;
        let size = fs::metadata(&unpacked)?.len();

        let zstd = self.best(self.runs, Path::new("zstd"), &["-dcq", log])?;
        let read = ["read", log, "--events", "--format", "jsonl", "--no-pager"];
        let rows = [
            ("`zstd -dc`", Ok(zstd)),
            ("`dshlog verify`", self.best(self.runs, &self.dshlog, &["verify", log])),
            ("`dshlog read --events`", self.best(self.runs, &self.dshlog, &read)),
            (
                "`jq -c .seq` on plain text",
                self.best(self.runs, Path::new("jq"), &["-c", ".seq", text(&unpacked)?]),
            ),
            ("official reader", self.official(log)),
        ];
        println!("## {title}\n");
        println!("{} bytes, {size} of plain text\n", fs::metadata(log)?.len());
        println!("| program | time | of `zstd -dc` | plain text | peak memory |");
        println!("|---|---|---|---|---|");
        for (name, took) in rows {
            let took = match took {
                Ok(took) => took,
                Err(why) => {
                    skip(&format!("{name}: {why}"));
                    continue;
                }
            };
            let seconds = took.wall.as_secs_f64();
            let ratio = seconds / zstd.wall.as_secs_f64();
            #[expect(clippy::cast_precision_loss, reason = "megabytes a second, for people")]
            let speed = size as f64 / 1e6 / seconds;
            println!(
                "| {name} | {} | {ratio:.2} | {speed:.0} MB/s | {} |",
                milliseconds(took.wall),
                memory(took)
            );
        }
        println!();
        Ok(())
    }

    /// A log of an older generation: the official reader carries it to V4 in memory and judges it, and so does `migrate_in_memory`, both
    /// without the start of a process. `verify` judges the stored form, too; `migrate` writes the new log, reads it back and publishes it.
    #[expect(clippy::print_stdout, reason = "the result")]
    fn migrate(&self, title: &str, old: Old, plan: &Plan) -> Outcome<()> {
        let key = format!("{old:?}-{plan:?}").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let home = self.cached(&key, |home| grow_old(home, old, plan).map(drop))?;
        let path = only(&only(&only(&home.join("sessions"))?)?)?;
        let log = text(&path)?;
        // The official reader holds the whole log, and a gigabyte is more than it can.
        let is_huge = fs::metadata(&path)?.len() > 200_000_000;
        let official = if is_huge { Err("too large".into()) } else { self.official(log) };
        let runs = if is_huge { 1 } else { self.runs.min(3) };
        let rows = [
            ("official reader", official),
            ("`migrate_in_memory`", in_memory(&path, runs)),
            ("`dshlog verify`", self.best(runs, &self.dshlog, &["verify", log])),
            ("`dshlog migrate`", self.migrated(runs, &home, &[])),
        ];
        println!("## {title}\n\n{} bytes compressed\n", fs::metadata(&path)?.len());
        against_official(rows);
        println!();
        Ok(())
    }

    /// A home of 500 sessions of V0 and V3, with one job and with two.
    #[expect(clippy::print_stdout, reason = "the result")]
    fn jobs(&self) -> Outcome<()> {
        let home = self.cached("old-500", |home| {
            for seed in 0..250 {
                let size = 200_000 + 4_000 * (seed % 50);
                let plan = Plan { seed, talk: Talk::Short, ..Plan::bytes(size) };
                grow_old(home, Old::V0, &plan)?;
                grow_old(home, Old::V3, &Plan { seed: seed + 1_000, ..plan })?;
            }
            Ok(())
        })?;
        let one = self.migrated(self.runs, &home, &["--jobs", "1"])?;
        let two = self.migrated(self.runs, &home, &["--jobs", "2"])?;
        println!("## A home of 500 sessions of V0 and V3\n");
        println!("| `dshlog migrate --all` | time | peak memory |\n|---|---|---|");
        println!("| `--jobs 1` | {} | {} |", milliseconds(one.wall), memory(one));
        println!("| `--jobs 2` | {} | {} |", milliseconds(two.wall), memory(two));
        println!(
            "\nTwo jobs are {:.2} times as fast as one.\n",
            one.wall.as_secs_f64() / two.wall.as_secs_f64()
        );
        Ok(())
    }

    /// `dshlog migrate --all` on fresh copies of a home.
    fn migrated(&self, runs: u32, home: &Path, args: &[&str]) -> Outcome<Took> {
        let copy = self.cache.join("copy");
        let mut best = Took { wall: Duration::MAX, memory: None };
        for run in 0..=runs {
            if copy.is_dir() {
                fs::remove_dir_all(&copy)?;
            }
            copy_folder(home, &copy)?;
            let fixed = ["migrate", "--all", "--home", text(&copy)?, "--format", "json"];
            let args: Vec<&str> = fixed.iter().chain(args).copied().collect();
            // The last run is for the memory, with the program that measures it in front.
            if run == runs {
                best.memory = self.memory_of(&self.dshlog, &args)?;
            } else {
                best.wall = best.wall.min(time(&self.dshlog, &args)?);
            }
        }
        fs::remove_dir_all(&copy)?;
        Ok(best)
    }

    /// Peak memory over logs of rising size.
    #[expect(clippy::print_stdout, reason = "the result")]
    fn memory(&self) -> Outcome<()> {
        println!("## Memory by size\n");
        println!("| log | `verify` | `read --events` | time of `verify` |");
        println!("|---|---|---|---|");
        let plans = [
            ("10 MB", Plan::bytes(10_000_000)),
            ("100 MB", Plan::bytes(100_000_000)),
            ("1 GB", Plan::bytes(1_000_000_000)),
            ("1 GB, raw", Plan::bytes(1_000_000_000).raw()),
            ("100,000 frames", Plan::frames(100_000)),
        ];
        for (name, plan) in plans {
            let log = self.log(&plan)?;
            let verify = self.best(1, &self.dshlog, &["verify", text(&log)?])?;
            let read = ["read", text(&log)?, "--events", "--format", "jsonl", "--no-pager"];
            let read = self.best(1, &self.dshlog, &read)?;
            println!("| {name} | {} | {} | {} |", memory(verify), memory(read), milliseconds(verify.wall));
        }
        println!();
        Ok(())
    }

    /// The official reader, through a program that answers `time FILE` with `{"ms": ..., "rssMB": ...}`: milliseconds to open and read the log
    /// once, without the start of the runtime.
    fn official(&self, log: &str) -> Outcome<Took> {
        let Some(oracle) = std::env::var_os("DSHLOG_ORACLE") else {
            return Err("DSHLOG_ORACLE names no program".into());
        };
        let mut best: Option<Took> = None;
        for _ in 0..self.runs.min(3) {
            let output = Command::new(&oracle).arg("time").arg(log).stderr(Stdio::inherit()).output()?;
            let answer: Answer = serde_json::from_slice(&output.stdout)?;
            let took = Took {
                wall: Duration::from_secs_f64(answer.ms / 1_000.0),
                memory: answer.rss_mb.map(|mb| mb * 1_024),
            };
            best = best.filter(|best| best.wall <= took.wall).or(Some(took));
        }
        best.ok_or_else(|| "no run".into())
    }

    /// The shortest of several runs, and the memory of one more. Output goes nowhere.
    fn best(&self, runs: u32, program: &Path, args: &[&str]) -> Outcome<Took> {
        let mut best = Took { wall: Duration::MAX, memory: None };
        for _ in 0..runs {
            best.wall = best.wall.min(time(program, args)?);
        }
        best.memory = self.memory_of(program, args)?;
        Ok(best)
    }

    /// Peak memory, in a run of its own: the program that measures it takes time to start.
    fn memory_of(&self, program: &Path, args: &[&str]) -> Outcome<Option<u64>> {
        if !self.has_gnu_time {
            return Ok(None);
        }
        let report = self.cache.join("time.txt");
        fs::create_dir_all(&self.cache)?;
        let mut command = Command::new("/usr/bin/time");
        command.args(["-f", "%M", "-o", text(&report)?]).arg(program).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        Ok(fs::read_to_string(&report)?.trim().parse().ok())
    }

    /// The grown log of a plan, grown now or in an earlier run.
    fn log(&self, plan: &Plan) -> Outcome<PathBuf> {
        let key = format!("{plan:?}").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let home = self.cached(&key, |home| grow(home, plan).map(drop))?;
        let folder = only(&only(&home.join("sessions"))?)?;
        Ok(only(&folder)?)
    }

    /// The plain text of a log, beside its home.
    fn plain(&self, log: &Path) -> Outcome<PathBuf> {
        let name = log.ancestors().nth(4).and_then(Path::file_name).ok_or("no home")?;
        let path = self.cache.join(name).with_extension("plain");
        if !path.is_file() {
            let part = path.with_extension("part");
            zstd::stream::copy_decode(File::open(log)?, File::create(&part)?)?;
            fs::rename(&part, &path)?;
        }
        Ok(path)
    }

    /// A folder that `make` fills, once.
    fn cached(&self, key: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
        let folder = self.cache.join(key);
        if !folder.is_dir() {
            let part = self.cache.join(format!("{key}.part"));
            if part.is_dir() {
                fs::remove_dir_all(&part)?;
            }
            fs::create_dir_all(&part)?;
            make(&part)?;
            fs::rename(&part, &folder)?;
        }
        Ok(folder)
    }
}

/// A table of programs; the first one is the official reader, and the others say how many times faster they are.
#[expect(clippy::print_stdout, reason = "the result")]
fn against_official<const N: usize>(rows: [(&str, Outcome<Took>); N]) {
    let whole = rows.first().and_then(|(_, took)| Some(took.as_ref().ok()?.wall));
    println!("| program | time | times faster than the official reader | peak memory |\n|---|---|---|---|");
    for (name, took) in rows {
        match took {
            Ok(took) => {
                let ratio = whole.map_or_else(String::new, |whole| {
                    format!("{:.1}", whole.as_secs_f64() / took.wall.as_secs_f64())
                });
                println!("| {name} | {} | {ratio} | {} |", milliseconds(took.wall), memory(took));
            }
            Err(why) => skip(&format!("{name}: {why}")),
        }
    }
}

/// The library's part of a migration, in this process: read, carried over, judged.
fn in_memory(log: &Path, runs: u32) -> Outcome<Took> {
    let mut best = Took { wall: Duration::MAX, memory: None };
    for _ in 0..runs {
        let start = Instant::now();
        let log = LogFile::open(log)?;
        let migrated =
            migrate_in_memory(&log, Some(Vec::new()), &Limits::default(), |_| Ok::<_, Infallible>(()))?;
        if let Some(fault) = migrated.verdict.storage {
            return Err(fault.into());
        }
        best.wall = best.wall.min(start.elapsed());
    }
    Ok(best)
}

/// How long one run takes that ends well. Output goes nowhere.
fn time(program: &Path, args: &[&str]) -> Outcome<Duration> {
    let start = Instant::now();
    let status = Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let wall = start.elapsed();
    if status.success() {
        Ok(wall)
    } else {
        Err(format!("{} {}: {status}", program.display(), args.join(" ")).into())
    }
}

/// Everything below a folder, at another place that is not there yet.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The only entry of a folder.
fn only(folder: &Path) -> io::Result<PathBuf> {
    let mut entries = fs::read_dir(folder)?;
    entries
        .next()
        .ok_or_else(|| io::Error::other(format!("{} is empty", folder.display())))?
        .map(|e| e.path())
}

fn text(path: &Path) -> Outcome<&str> {
    path.to_str().ok_or_else(|| format!("{} is no UTF-8", path.display()).into())
}

fn milliseconds(wall: Duration) -> String {
    let ms = wall.as_secs_f64() * 1_000.0;
    if ms < 20.0 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

fn memory(took: Took) -> String {
    took.memory.map_or_else(|| "-".to_owned(), |kib| format!("{} MB", kib.div_ceil(1_024)))
}
