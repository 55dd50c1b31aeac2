//! Where logs lie, and who may write them (`docs/spec/storage.md`, sections 1 to 5 and 11).
//!
//! [`Home`] says which folders to look at, [`Walk`] finds the sessions below them, [`select`] takes one by the name
//! that a person typed, [`Placement`] tells a member of a root from a stray file, and [`WriteLock`] keeps other
//! writers out. Nothing here opens a log: headers and bodies are the reader's business.
//!
//! The official reader judges a root as a whole, so that one misplaced file hides every session. Here each session
//! folder is judged alone; [`official_refusals`] says what the official reader would make of the root.

mod key;
mod lock;
mod name;
mod place;
mod platform;
mod root;
mod select;
#[cfg(test)]
mod testing;
mod walk;

pub use key::{decode_id, encode_id, project_key};
pub use lock::{LOCK_NAME, WriteLock};
pub use name::{OldProject, Temp, file_name, is_flat_log_name, parse_name};
pub use place::{Member, Placement, Refusal, check_id, check_identity, official_refusals, root_refusals};
pub use root::{Asked, Home, Surroundings, absolute};
pub use select::{SelectError, Target, at_path, by_name, looks_like_path, select};
pub use walk::{EntryKind, GenerationFile, PassedOver, SessionFolder, Walk, Why};
