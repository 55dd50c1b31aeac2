//! New sessions out of old ones. Each goes through the one way to write a log, into a folder that was made for it.

mod fork;
mod place;
#[cfg(test)]
mod tests;

pub use fork::{Fork, Push};
pub use place::Place;
