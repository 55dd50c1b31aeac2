//! Recorded conversations, run again: scenarios and turns a second of the embedded agent core, on one core of the machine, and
//! beside it the way in which the runtime itself would be used for that: one process of the real dsh a scenario. Prints
//! Markdown for `docs/performance.md`, which says how to run it.
//!
//! One run gives all figures, so that ratios hold whatever the machine does otherwise.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dshlog_codec::json::Js;
use dshlog_codec::{Limits, LogFile};
use dshlog_replay::agent::rerun::Record;
use dshlog_replay::runner::core::{self, Settings};
use dshlog_tests::model::skip;
use dshlog_tests::runs::{Run, fill};
use dshlog_tests::runtime::Runtime;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Conversations that nothing in them makes wait: no pause before a retry, no stall, nobody who cancels.
const CASES: [&str; 14] = [
    "v4-empty-answer",
    "v4-long-text",
    "v4-max-tokens-tool",
    "v4-pings",
    "v4-plain",
    "v4-repeat-tool",
    "v4-signatures",
    "v4-subagent",
    "v4-thinking",
    "v4-three-turns",
    "v4-tool",
    "v4-tool-error",
    "v4-tools-parallel",
    "v4-unicode",
];

/// Those among them in which a turn is one question and one answer.
const SIMPLE: [&str; 3] = ["v4-plain", "v4-thinking", "v4-empty-answer"];

/// The word that leaves only those.
const ONLY_SIMPLE: &str = "--simple";

/// The word that makes this process one that runs the core and prints what that took.
const CORE: &str = "--core-only";

#[expect(clippy::print_stderr, reason = "a bench talks to people")]
fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Without this mark a test runner has started it, to see whether it builds.
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let is_quick = args.iter().any(|arg| arg == "--quick");
    let seconds = if is_quick { 1 } else { 10 };
    if args.iter().any(|arg| arg == CORE) {
        let cases = if args.iter().any(|arg| arg == ONLY_SIMPLE) { &SIMPLE[..] } else { &CASES };
        return core_alone(cases, Duration::from_secs(seconds));
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let built = target.with_file_name("release").join("dshlog");
    let dshlog = std::env::var_os("DSHLOG_BIN").map_or(built, PathBuf::from);
    if !dshlog.is_file() {
        return Err(format!("no {}: build it with `cargo build --release`", dshlog.display()).into());
    }
    let pinned = Command::new("taskset").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !pinned {
        skip("taskset: there is none, so that figures are of all cores");
    }
    let bench = Bench { dshlog, pinned, work: tempfile::tempdir()?, rounds: if is_quick { 1 } else { 5 } };
    eprintln!("scenarios lie in {}", bench.work.path().display());
    bench.run(&args)
}

/// What a number of scenarios took.
#[derive(Clone, Copy, Debug)]
struct Took {
    scenarios: f64,
    turns: f64,
    requests: f64,
    wall: Duration,
}

impl Took {
    #[expect(clippy::print_stdout, reason = "the result")]
    fn row(&self, name: &str, base: &Took) {
        let each = |took: &Took| took.wall.as_secs_f64() / took.scenarios;
        let per_second = |count: f64| {
            let rate = count / self.wall.as_secs_f64();
            if rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
        };
        println!(
            "| {name} | {:.2} ms | {} | {} | {} | {:.1} |",
            each(self) * 1e3,
            per_second(self.scenarios),
            per_second(self.turns),
            per_second(self.requests),
            each(self) / each(base),
        );
    }
}

/// What is in the records.
fn records(cases: &[&str]) -> Outcome<(Vec<Record>, Took)> {
    let mut records = Vec::new();
    let mut all = Took { scenarios: 0.0, turns: 0.0, requests: 0.0, wall: Duration::ZERO };
    for case in cases {
        let log = Run::of(case).logs().into_iter().next().ok_or("no log")?;
        let file = LogFile::open(&log)?;
        let mut record = Record::new(file.header()?.to_current(), 0);
        let mut reader = file.read(&Limits::default())?;
        while let Some(event) = reader.next_event()? {
            all.turns += f64::from(u8::from(event.is("turn/start")));
            let asked = event.is("assistant/message") || event.is("assistant/attempt");
            let inherited = event.member("inherited").is_some_and(Js::is_true);
            all.requests += f64::from(u8::from(asked && !inherited));
            record.see(&event)?;
        }
        record.finish();
        all.scenarios += 1.0;
        records.push(record);
    }
    Ok((records, all))
}

/// The core, over and over, in this process; prints the rounds and the microseconds that they took.
#[expect(clippy::print_stdout, reason = "the result")]
fn core_alone(cases: &[&str], length: Duration) -> Outcome<()> {
    let (records, _) = records(cases)?;
    let settings = Settings {
        idle: Duration::from_secs(2),
        timeout: Duration::from_mins(1),
        retry: None,
        stop: Arc::new(AtomicBool::new(false)),
    };
    let round = || -> Outcome<()> {
        for record in &records {
            let made = core::run(record, &settings)?;
            if !made.wire.is_some_and(|wire| wire.is_equal()) || made.log.rows().len() != record.len() {
                return Err("a conversation comes out different".into());
            }
        }
        Ok(())
    };
    round()?;
    let (began, mut rounds) = (Instant::now(), 0);
    while began.elapsed() < length {
        round()?;
        rounds += 1;
    }
    println!("{rounds} {}", began.elapsed().as_micros());
    Ok(())
}

struct Bench {
    dshlog: PathBuf,
    /// Everything is kept on one core.
    pinned: bool,
    work: tempfile::TempDir,
    rounds: u32,
}

impl Bench {
    #[expect(clippy::print_stdout, reason = "the result")]
    fn run(&self, args: &[String]) -> Outcome<()> {
        let (_, all) = records(&CASES)?;
        let (_, simple) = records(&SIMPLE)?;
        self.suite()?;
        let cores = if self.pinned { "one core" } else { "all cores" };
        println!(
            "\n## {} conversations, {} turns, {} requests, on {cores}\n",
            all.scenarios, all.turns, all.requests
        );
        println!("| | a scenario | scenarios/s | turns/s | requests/s | times |\n|---|---|---|---|---|---|");
        let core = self.core(all, args, &[])?;
        core.row("the core over HTTP, in one process", &core);
        let simple = self.core(simple, args, &[ONLY_SIMPLE])?;
        simple.row("the same, those with one answer a turn", &core);
        self.replay(all, "core", None)?.row("`dshlog replay SUITE`", &core);
        match Runtime::find() {
            Some(runtime) => {
                self.replay(all, "dsh", Some(&runtime))?
                    .row("`dshlog replay SUITE --agent dsh`: processes of the real dsh", &core);
            }
            None => skip("no real dsh to compare with"),
        }
        Ok(())
    }

    /// The conversations as scenarios.
    fn suite(&self) -> Outcome<()> {
        for case in CASES {
            let run = Run::of(case);
            let folder = self.work.path().join("suite").join(case);
            let log = run.logs().into_iter().next().ok_or("no log")?;
            let mut command = Command::new(&self.dshlog);
            command.arg("new-scenario").arg(&folder).arg("--from").arg(log).stdout(Stdio::null());
            if !command.status()?.success() {
                return Err(format!("{case} is no scenario").into());
            }
            fill(&folder.join("workspace"))?;
            let file = folder.join("scenario.toml");
            // Nobody waits for a title.
            let text = fs::read_to_string(&file)? + "title_wait_ms = 0\n";
            fs::write(file, text)?;
        }
        Ok(())
    }

    /// A program on one core.
    fn pinned(&self, program: &Path) -> Command {
        if !self.pinned {
            return Command::new(program);
        }
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(program);
        command
    }

    fn core(&self, all: Took, args: &[String], more: &[&str]) -> Outcome<Took> {
        let output = self.pinned(&std::env::current_exe()?).args(args).args(more).arg(CORE).output()?;
        let text = String::from_utf8(output.stdout)?;
        let (rounds, micros) = text.trim().split_once(' ').ok_or("the core does not run")?;
        let (rounds, wall): (f64, _) = (rounds.parse()?, Duration::from_micros(micros.parse()?));
        let times = |count: f64| count * rounds;
        Ok(Took {
            scenarios: times(all.scenarios),
            turns: times(all.turns),
            requests: times(all.requests),
            wall,
        })
    }

    /// The suite as one process of `dshlog`, one scenario behind the other; the best of some.
    fn replay(&self, all: Took, agent: &str, runtime: Option<&Runtime>) -> Outcome<Took> {
        let mut best = Duration::MAX;
        // Those of dsh take long, and differ little.
        let rounds = if runtime.is_some() { self.rounds.min(2) } else { self.rounds };
        for _ in 0..rounds {
            let mut command = self.pinned(&self.dshlog);
            command
                .args(["replay", "-q", "--jobs", "1", "--agent", agent])
                .arg(self.work.path().join("suite"));
            if let Some(runtime) = runtime {
                runtime.lend(&mut command);
            }
            let began = Instant::now();
            let status = command.stdout(Stdio::null()).status()?;
            best = best.min(began.elapsed());
            // Titles that were not waited for are differences.
            if status.code().is_none_or(|code| code > 1) || (runtime.is_none() && !status.success()) {
                return Err(format!("--agent {agent}: {status}").into());
            }
        }
        Ok(Took { wall: best, ..all })
    }
}
