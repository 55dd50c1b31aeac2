//! Whether events may stand where they stand: payloads, relations and the surface (`docs/spec/events-v4.md`,
//! `docs/spec/surface.md`).

mod rule;

pub use rule::{Rule, Stage};
/// A rule that a row breaks.
pub struct RuleFault;
impl RuleFault {
    pub fn at(self, _: crate::At) -> crate::Error {
        crate::ErrorKind::Changed.into()
    }
}
pub fn admit_v3(_: crate::json::Js<'_>) -> Result<(), RuleFault> {
    Ok(())
}
pub fn admit_v4(_: crate::json::Js<'_>) -> Result<(), RuleFault> {
    Ok(())
}
