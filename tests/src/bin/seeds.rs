//! Writes the fuzz seeds out of the corpora into `tests/fuzz/corpus`.

use std::fs;
use std::io;

use dshlog_tests::fuzz::{TARGETS, seeds};
use dshlog_tests::model::repository;

fn main() -> io::Result<()> {
    for target in TARGETS {
        let folder = repository().join("tests/fuzz/corpus").join(target.name);
        fs::create_dir_all(&folder)?;
        for seed in seeds(target.name) {
            fs::write(folder.join(seed.name), seed.data)?;
        }
    }
    Ok(())
}
