//! The server as its clients meet it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod expect;
mod faults;
mod hostile;
mod order;
mod reader;
mod schema;
mod scripts;
mod served;
mod streams;
mod wire;
