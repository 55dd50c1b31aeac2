//! Whether events may stand where they stand: payloads, relations and the surface (`docs/spec/events-v4.md`,
//! `docs/spec/surface.md`).

mod rule;

pub use rule::{Rule, Stage};
