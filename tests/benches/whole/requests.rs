//! Every request of a log, put together again in one walk, against the official reader that derives one history at the end.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use dshlog_codec::{Limits, LogFile};
use dshlog_replay::Requests;
use dshlog_replay::request::image::NoAttachments;
use dshlog_replay::request::messages::MessagesPrinter;
use dshlog_tests::grow::Plan;
use dshlog_tests::runtime::{Runtime, Store};

use super::{Bench, Outcome, Took, against_official, text};

/// What a walk gave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    requests: u64,
    messages: u64,
    body_bytes: u64,
}

/// All requests of a log: each with its configuration, its tools and the messages, lent by the fold; with `bodies` printed as
/// they were sent, too.
pub(super) fn of(log: &Path, bodies: bool) -> Outcome<Found> {
    let mut reader = LogFile::open(log)?.read(&Limits::default())?;
    let mut requests = Requests::new();
    let mut printer = MessagesPrinter::default();
    let mut found = Found::default();
    while let Some(event) = reader.next_event()? {
        if let Some(request) = requests.settled(&event) {
            found.requests += 1;
            if bodies {
                let body = printer.body(&request.call()?, &NoAttachments)?;
                found.body_bytes += body.json.len() as u64;
            } else {
                request.header().ok_or("a request without a header")?;
                found.messages += request.messages().count() as u64;
            }
        }
        requests.see(&event)?;
    }
    Ok(found)
}

impl Bench {
    /// A table for each size.
    #[expect(clippy::print_stdout, reason = "the result")]
    pub(super) fn all_requests(&self) -> Outcome<()> {
        for &size in self.sizes() {
            let log = self.log(&Plan::bytes(size))?;
            let found = of(&log, true)?;
            let official = derive(&log);
            println!("## All requests, {} MB\n", size / 1_000_000);
            println!(
                "{} requests, the messages of each counted {} in all; their bodies are {} MB\n",
                found.requests,
                of(&log, false)?.messages,
                found.body_bytes / 1_000_000
            );
            let rows = [
                ("official reader, deriving once at the end", official),
                ("`Requests`, every request", self.walked(&log, false)),
                ("the same, with every body printed", self.walked(&log, true)),
            ];
            against_official(rows);
            println!();
        }
        Ok(())
    }

    /// The shortest of several walks in this process, and the memory of one in a process of its own.
    fn walked(&self, log: &Path, bodies: bool) -> Outcome<Took> {
        let mut wall = Duration::MAX;
        for _ in 0..self.runs.min(3) {
            let start = Instant::now();
            of(log, bodies)?;
            wall = wall.min(start.elapsed());
        }
        let program = std::env::current_exe()?;
        let mut args = vec!["--bench", "--requests-of", text(log)?];
        args.extend(bodies.then_some("--bodies"));
        Ok(Took { wall, memory: self.memory_of(&program, &args)? })
    }
}

/// The real runtime reads the log and derives the history at its end, once.
fn derive(log: &Path) -> Outcome<Took> {
    let runtime = Runtime::find().ok_or("there is no real runtime")?;
    let home = log.ancestors().nth(4).ok_or("no home")?;
    let id = log.parent().and_then(Path::file_name).and_then(|name| name.to_str()).ok_or("no id")?;
    if fs::metadata(log)?.len() > 200_000_000 {
        return Err("too large".into());
    }
    let mut best: Option<Took> = None;
    for _ in 0..3 {
        // A new process each time: what it holds of an earlier run is no cost of this one.
        let answer = Store::start(&runtime).derive(home, id)?;
        let number =
            |name| answer.root().get(name).and_then(dshlog_codec::json::Js::as_f64).ok_or("no number");
        let wall = Duration::from_secs_f64(number("ms")? / 1_000.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a process")]
        let took = Took { wall, memory: Some((number("rss")? / 1_024.0) as u64) };
        best = best.filter(|best| best.wall <= took.wall).or(Some(took));
    }
    best.ok_or_else(|| "no run".into())
}
