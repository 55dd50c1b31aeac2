//! A deterministic Messages SSE server for tests of agents. Nothing is here yet; `ARCHITECTURE.md` says what belongs here.
