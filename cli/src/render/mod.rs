//! Data in, text out. Nothing here computes facts about a log.

pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod index;
pub(crate) mod json;
pub(crate) mod ls;
pub(crate) mod migrate;
pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod replay;
pub(crate) mod request;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod style;
pub(crate) mod surface;
pub(crate) mod table;
pub(crate) mod term;
pub(crate) mod text;
pub(crate) mod transcript;
pub(crate) mod units;
pub(crate) mod verify;
