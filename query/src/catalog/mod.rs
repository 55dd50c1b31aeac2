//! What of which log is in the index: a SQLite database beside it.
