//! The tables of the specification: the rows are the answers.

mod read;
mod write;
