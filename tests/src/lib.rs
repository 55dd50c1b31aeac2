//! Helpers for tests that look at whole logs and at the whole program.
//!
//! [`model`] knows the corpora and their right answers, [`grow`] grows logs of any size, [`fuzz`] holds the bodies of the
//! fuzz targets, [`cmd`] runs the program as a person would, [`runtime`] the real dsh. Unit tests stand beside the code they are about, not here.

pub mod cmd;
pub mod fuzz;
pub mod grow;
pub mod model;
pub mod runtime;
pub mod text;
