//! The server as its clients meet it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod faults;
mod hostile;
mod served;
