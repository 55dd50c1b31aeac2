//! The Messages dialect, which dsh speaks from 0.2 on (`docs/spec/messages-wire.md`, 6 to 11).

pub(super) mod failure;
pub(super) mod read;
#[cfg(test)]
mod tests;
pub(super) mod write;
