use super::*;
use crate::model::repository;

const MUTANTS: u64 = 12;

/// Run a body; a panic says which input it was.
fn run(target: Target, name: &str, data: &[u8]) {
    let outcome = std::panic::catch_unwind(|| (target.body)(data));
    assert!(
        outcome.is_ok(),
        "{} on {name}: {}",
        target.name,
        String::from_utf8_lossy(&data[..data.len().min(4_000)])
    );
}

fn run_mutants(target: Target, name: &str, data: &[u8], mutants: u64) {
    run(target, name, data);
    for seed in 0..mutants {
        let mut mutant = data.to_vec();
        mutate(&mut Rng::new(seed), &mut mutant);
        run(target, &format!("{name}, mutant {seed}"), &mutant);
    }
}

#[test]
fn frames_end_on_all_logs_and_their_mutants() {
    for entry in Corpora::own().entries {
        let mut data = vec![container_byte(entry.generation, entry.encoding)];
        data.extend(entry.bytes().unwrap());
        run_mutants(TARGETS[0], &entry.case, &data, MUTANTS);
    }
}

#[test]
fn rows_end_on_all_short_rows_and_their_mutants() {
    let mut rows = BTreeSet::new();
    for entry in Corpora::own().entries {
        rows.extend(seeds::plain(&entry).lines().filter(|l| l.len() < 4_000).map(str::to_owned));
    }
    assert!(rows.len() > 3_000, "{}", rows.len());
    for row in rows {
        run_mutants(TARGETS[1], "a row", row.as_bytes(), 4);
    }
}

#[test]
fn events_end_on_all_current_logs_and_their_mutants() {
    for entry in Corpora::own().entries.iter().filter(|e| e.generation == Generation::CURRENT) {
        run_mutants(TARGETS[2], &entry.case, seeds::plain(entry).as_bytes(), MUTANTS);
    }
}

#[test]
fn committed_seeds_are_those_of_the_corpora_and_all_inputs_end() {
    let mut size = 0;
    for target in TARGETS {
        let folder = repository().join("tests/fuzz/corpus").join(target.name);
        for seed in seeds(target.name) {
            let path = folder.join(&seed.name);
            let committed = std::fs::read(&path)
                .unwrap_or_else(|e| panic!("{}: {e}; run `cargo run --bin seeds`", path.display()));
            assert!(committed == seed.data, "{} is old; run `cargo run --bin seeds`", path.display());
            size += seed.data.len();
        }
        // Fuzzing leaves what it finds in the same folder.
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            run(target, &path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }
    assert!(size < 300_000, "{size}");
}
