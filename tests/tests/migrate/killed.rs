//! A migration that is killed, at any moment, again and again.

use std::collections::HashSet;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dshlog_codec::Generation;
use dshlog_tests::cmd::Place;
use dshlog_tests::model::Corpora;
use dshlog_tests::text::Rng;

use super::{Files, files, is_lock, is_temp};
use crate::place;

const KILLS: u32 = 200;
const SESSIONS: usize = 60;
/// Another seed kills at other moments; each must do.
const SEED: u64 = 20_261_130;

/// After each kill every old log is as it was, every new one is whole and that of an undisturbed run, and besides there
/// are only lock files and temporary ones. The next run goes on.
#[test]
fn at_any_moment() {
    let corpora = Corpora::own();
    let cases = cases(&corpora);
    let undisturbed = place(&cases);
    let old = files(&undisturbed.home());
    let begun = Instant::now();
    assert!(start(&undisturbed).wait().unwrap().success());
    let mut span = begun.elapsed();
    let mut new = files(&undisturbed.home());
    new.retain(|path, _| !old.contains_key(path) && !is_lock(path));
    assert!(new.len() >= SESSIONS && new.keys().all(|path| !is_temp(path)), "{} are published", new.len());

    let mut rng = Rng::new(SEED);
    let (mut kills, mut amid, mut strewn) = (0, 0, 0);
    while kills < KILLS {
        let home = place(&cases);
        let (mut published, mut runs, mut in_vain) = (0, 0, 0);
        loop {
            let mut child = start(&home);
            runs += 1;
            // Short runs, so that there are many of them before all is done.
            let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX) / 4;
            thread::sleep(Duration::from_nanos(rng.below(nanos.max(1))));
            child.kill().unwrap();
            let status = child.wait().unwrap();
            let found = check(&home, &old, &new);
            if status.success() {
                assert_eq!(found.published, new.len(), "a run that ends has done all");
                break;
            }
            assert_eq!(status.code(), None, "killed, and not failed");
            assert!(found.published >= published, "what is published stays");
            kills += 1;
            amid += u32::from(found.published > 0 && found.published < new.len());
            strewn += u32::from(found.temps > 0);
            in_vain = if found.published == published { in_vain + 1 } else { 0 };
            published = found.published;
            // The machine may have become slower, or quicker, than it was when it was measured.
            if in_vain == 12 {
                (span, in_vain) = (span * 2, 0);
            }
        }
        if runs == 1 {
            span /= 2;
        }
    }
    assert!(amid > 0 && strewn > 0, "of {kills} kills {amid} came in the middle, {strewn} left something");
}

struct Found {
    published: usize,
    temps: usize,
}

fn check(place: &Place, old: &Files, new: &Files) -> Found {
    let mut now = files(&place.home());
    for (path, stored) in old {
        assert!(now.remove(path).as_ref() == Some(stored), "{} is as it was", path.display());
    }
    let mut found = Found { published: 0, temps: 0 };
    for (path, stored) in &now {
        if is_temp(path) {
            found.temps += 1;
        } else if !is_lock(path) {
            let expected = new.get(path).unwrap_or_else(|| panic!("{} is there", path.display()));
            assert!(stored.bytes == expected.bytes && stored.mode == 0o600, "{} is whole", path.display());
            found.published += 1;
        }
    }
    found
}

fn start(place: &Place) -> Child {
    place
        .command(&["migrate", "--all", "--jobs", "2", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Cases whose sessions are all old ones that can be migrated, no two in one folder.
fn cases(corpora: &Corpora) -> Vec<&str> {
    let mut cases: Vec<&str> = Vec::new();
    let mut folders = HashSet::new();
    for entries in corpora.entries.chunk_by(|a, b| a.case == b.case) {
        let own: Vec<_> = entries.iter().map(|entry| entry.log.ancestors().nth(1)).collect();
        let names: Vec<_> = own.iter().flatten().filter_map(|folder| folder.file_name()).collect();
        let is_old = |entry: &&dshlog_tests::model::Entry| {
            entry.generation < Generation::CURRENT && entry.restored().is_some()
        };
        if entries.iter().filter(is_old).count() == entries.len()
            && names.iter().all(|name| !folders.contains(*name))
            && folders.len() < SESSIONS
        {
            folders.extend(names.iter().map(|name| (*name).to_owned()));
            cases.push(&entries[0].case);
        }
    }
    cases
}
