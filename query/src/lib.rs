//! Full-text search over session logs. Nothing is here yet; `ARCHITECTURE.md` says what belongs here.
