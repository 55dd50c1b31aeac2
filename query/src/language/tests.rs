//! Queries and what they mean.
