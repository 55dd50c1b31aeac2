//! Helpers for tests that look at whole logs and at the whole program.
//!
//! [`model`] knows the corpora and their right answers, [`grow`] grows logs of any size, [`fuzz`] holds the bodies of the
//! fuzz targets, [`cmd`] runs the program as a person would, [`browser`] a browser, [`runtime`] the real dsh, [`hostile`]
//! makes a log of texts that want to act, [`library`] a home of known texts, [`runs`] and [`uploads`] know captured conversations. Unit tests stand beside the code they are
//! about, not here.

pub mod browser;
pub mod cmd;
pub mod fuzz;
pub mod grow;
pub mod hostile;
pub mod library;
pub mod model;
pub mod runs;
pub mod runtime;
pub mod text;
pub mod uploads;
