//! Search over session logs: what is written in a session becomes [`Document`]s, which are found by a [`Query`], with an
//! [`index`] or by looking at each ([`scan`]).
//!
//! The logs are the truth. Everything kept here can be deleted and comes to be anew. What never changes once it has been
//! written stands in the full-text index; what changes later (titles, what left the surface, where a log lies) stands in
//! the catalog beside it.

pub mod analysis;
pub mod catalog;
pub mod corpus;
pub mod dataset;
pub mod document;
pub mod error;
pub mod extract;
pub mod highlight;
pub mod hit;
pub mod index;
pub mod language;
pub mod matching;
pub mod rank;
pub mod scan;
pub mod session;
pub mod store;
mod uri;

pub use corpus::{Candidate, Corpus, Listing, Look, Reading, Replaced, Stamp};
pub use document::{Document, Part, Role};
pub use error::{Error, Result};
pub use hit::{Found, Hit, Options, Sort};
pub use language::{Node, Query, QueryError};
pub use session::{Session, Soundness};
