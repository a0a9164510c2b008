//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Bearer tokens in one token file.
pub const MAX_TOKENS: usize = 1_024;

/// Size of a token file, in bytes.
pub const MAX_TOKEN_FILE_BYTES: u64 = 1024 * 1024;

/// A changed token file is noticed within this time, in milliseconds.
pub const TOKEN_RELOAD_MS: u64 = 1_000;

/// Remembered permissions in one state directory; the oldest is forgotten first.
pub const MAX_PERMISSIONS: usize = 1_024;

/// Size of the file of remembered permissions, in bytes.
pub const MAX_PERMISSION_FILE_BYTES: u64 = 1024 * 1024;
