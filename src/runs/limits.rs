//! The limits of this crate: sizes, counts and times that bound what callers, files and other processes can cost.

/// Size of one event of a run, in bytes.
pub const MAX_EVENT_BYTES: usize = 256 * 1024;

/// Size of one artifact of a run, in bytes.
pub const MAX_ARTIFACT_BYTES: u64 = 32 * 1024 * 1024;

/// Length of the name of an artifact, in bytes.
pub const MAX_ARTIFACT_NAME_BYTES: usize = 128;
