//! Journeys: the whole program, as a person meets it. What is snapshotted here is presentation; facts are compared with
//! the right answers of the corpora.

mod answers;
mod contract;
mod docs;
mod doctor;
mod follow;
mod generations;
mod ls;
mod migrate;
mod read;
mod verify;

use dshlog_tests::cmd::Place;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dshlog");

/// A home with the sessions of these cases.
fn place(cases: &[&str]) -> Place {
    Place::with(PROGRAM, cases)
}
