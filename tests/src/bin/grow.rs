//! Writes a grown log into a home: `grow HOME [--size 10M] [--frames N] [--raw] [--seed N] [--sessions N] [--generation 0|3|4] [--short]`.

use std::path::Path;
use std::process::ExitCode;

use dshlog_tests::grow::{Grown, Old, Plan, Talk, grow, grow_home, grow_old};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for people")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(grown)) => {
            let Grown { log, events, turns, plain, frames } = grown;
            println!(
                "{}: {events} events, {turns} turns, {plain} bytes of text, {frames} frames",
                log.display()
            );
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("grow: {problem}");
            eprintln!(
                "usage: grow HOME [--size 10M] [--frames N] [--raw] [--seed N] [--sessions N] [--generation 0|3|4] [--short]"
            );
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<Option<Grown>, Box<dyn std::error::Error>> {
    let mut args = args.iter();
    let home = Path::new(args.next().ok_or("no home named")?);
    let mut plan = Plan::bytes(10_000_000);
    let (mut seed, mut sessions) = (1, None);
    let mut raw = false;
    let mut old = None;
    while let Some(option) = args.next() {
        let mut value = || args.next().map(|text| number(text)).ok_or(format!("{option} needs a value"));
        match option.as_str() {
            "--size" => plan = Plan::bytes(value()??),
            "--frames" => plan = Plan::frames(value()??),
            "--seed" => seed = value()??,
            "--sessions" => sessions = Some(value()??),
            "--raw" => raw = true,
            "--short" => plan.talk = Talk::Short,
            "--generation" => {
                old = match value()?? {
                    0 => Some(Old::V0),
                    3 => Some(Old::V3),
                    4 => None,
                    other => return Err(format!("no logs of V{other} are grown").into()),
                }
            }
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    if let Some(sessions) = sessions {
        grow_home(home, sessions, seed)?;
        return Ok(None);
    }
    plan.seed = seed;
    let plan = if raw { plan.raw() } else { plan };
    Ok(Some(match old {
        Some(old) => grow_old(home, old, &plan)?,
        None => grow(home, &plan)?,
    }))
}

/// `250`, `64K`, `10M`, `1G`, with decimal steps.
fn number(text: &str) -> Result<u64, std::num::ParseIntError> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    Ok(digits.parse::<u64>()? * factor)
}
