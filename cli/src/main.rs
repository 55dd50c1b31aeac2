//! The `dshlog` program.
fn main() {}
