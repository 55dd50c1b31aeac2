//! The wire against the corpora: what was served and what the logs hold of it (`docs/spec/messages-wire.md`).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod assembled;
mod logs;
mod properties;
mod recorded;
mod served;
