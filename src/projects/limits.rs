//! Limits of this crate: what the inference of a project reads and writes at most.
