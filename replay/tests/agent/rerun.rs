//! Every recorded log, run again, is the record.

use dshlog_replay::agent::rerun::{Rerun, rerun};
use dshlog_replay::compare::{Rules, compare};
use dshlog_replay::request::route::RouteChange;

use crate::records::{self, Named};

/// Where a log differs from what the loop makes of it.
fn difference(named: &Named) -> Option<String> {
    let record = named.log.record();
    let made: Rerun = match rerun(&record, RouteChange::default()) {
        Ok(made) => made,
        Err(error) => return Some(format!("{error:?}")),
    };
    if made.is_exact(&record) {
        return None;
    }
    let Ok(comparison) = compare(&record, &made.log, Rules::default());
    if comparison.is_equal() && made.parted.is_none() {
        return None;
    }
    let Ok(first) = comparison.first_difference(&record, &made.log);
    Some(format!("parted {:?}, inexact {:?}, made {} of {}\n    {first:?}", made.parted, made.first_inexact, made.log.rows().len(), record.len()))
}

#[test]
fn every_log_is_what_the_loop_makes_of_it() {
    let all = records::all();
    let wrong: Vec<String> =
        all.iter().filter_map(|named| Some(format!("{}: {}", named.name, difference(named)?))).collect();
    let mut groups = std::collections::BTreeMap::<String, (u32, u32, usize)>::new();
    for named in &all {
        let record = named.log.record();
        let group = named.name.split('/').next().unwrap().to_owned();
        let entry = groups.entry(group).or_default();
        entry.0 += 1;
        entry.1 += u32::from(rerun(&record, RouteChange::default()).is_ok_and(|made| made.is_exact(&record)));
        entry.2 += record.len();
        if let Ok(made) = rerun(&record, RouteChange::default()) && let Some(seq) = made.first_inexact {
            let at = usize::try_from(seq.0).unwrap();
            let (a, b) = (&named.log.rows[at], made.log.rows()[at].text());
            let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(60);
            let cut = |t: &str| t.chars().skip(same).take(150).collect::<String>();
            eprintln!("INEXACT {} {}\n  {}\n  {}", named.name, seq, cut(a), cut(b));
        }
    }
    eprintln!("{groups:?}");
    assert!(wrong.is_empty(), "{} of {} wrong\n{}", wrong.len(), all.len(), wrong.join("\n"));
}
