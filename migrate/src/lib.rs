//! Migration of session logs between format generations. Nothing is here yet; `ARCHITECTURE.md` says what belongs here.
