//! The Chat Completions dialect, which dsh spoke up to 0.1.5 (`docs/spec/messages-wire.md`, 15).

pub(super) mod failure;
pub(super) mod read;
#[cfg(test)]
mod tests;
pub(super) mod write;
