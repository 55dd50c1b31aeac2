//! The payload of an event at V0, V1 and V2 (`docs/spec/events-v0-v3.md`, section 6).
//!
//! No reader asks for it: V0 and V1 admit any payload, and V2 nearly so. It is the way into the next generation that is
//! closed to a payload of another shape. What V2 -> V3 asks beyond that is not here.

mod common;
mod payloads;
mod rules;
mod shape;
#[cfg(test)]
mod tests;

use crate::event::Event;
use crate::types::Generation;

pub use common::{BLOCK, BLOCKS, IMAGE, SOURCE, USER_MESSAGE};
pub use shape::{Extra, Further, Members, Shape, ShapeFault, ShapeFaultKind, check_shape};

use super::fault::shortened;

/// True when `generation`, V0 to V2, has the event type `kind`. V2 counts the two feedback types that the way to V3
/// admits without their being in its list.
pub fn is_known(kind: &str, generation: Generation) -> bool {
    payloads::payload(kind, generation).is_some()
}

/// True when an event of type `kind` can have the member `name` in its payload at `generation`, whatever its variant.
/// Of types that `generation` does not know, any.
pub fn is_member(kind: &str, name: &str, generation: Generation) -> bool {
    fn has(shape: &Shape, name: &str) -> bool {
        match shape {
            Shape::Members(members) => {
                members.open || members.required.iter().chain(members.optional).any(|(key, _)| *key == name)
            }
            Shape::Switch { cases, other, .. } => {
                cases.iter().map(|(_, shape)| *shape).chain(*other).any(|shape| has(shape, name))
            }
            _ => true,
        }
    }
    payloads::payload(kind, generation).is_none_or(|shape| has(shape, name))
}

/// Check the payload of `event` by the rules of `generation`, V0 to V2. Pointers start at the row.
pub fn check_payload(event: &Event<'_>, generation: Generation) -> Result<(), ShapeFault> {
    let kind = event.kind.to_lossy();
    let fault = |kind, pointer: &str, what| Err(ShapeFault { kind, pointer: pointer.to_owned(), what });
    let Some(shape) = payloads::payload(&kind, generation) else {
        return fault(ShapeFaultKind::UnknownType, "/type", shortened(&kind));
    };
    match event.data {
        Some(data) => shape::check_below(event.row, shape, data, event.seq, generation),
        None => fault(ShapeFaultKind::Malformed, "/data", "missing member".to_owned()),
    }
}
