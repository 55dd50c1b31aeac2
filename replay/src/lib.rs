//! Folds over a valid session log: message history first.
