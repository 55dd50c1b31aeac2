//! Helpers for whole-program tests.
