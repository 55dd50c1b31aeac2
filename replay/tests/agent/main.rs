//! The embedded agent core on logs of the corpora.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod records;
mod rerun;
