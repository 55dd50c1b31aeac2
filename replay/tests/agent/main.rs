//! The embedded agent core on logs of the corpora, and by itself.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changed;
mod http;
mod live;
mod records;
mod requests;
mod rerun;
