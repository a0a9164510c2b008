//! The limits of this crate: sizes, counts and times that bound what tokens and authorization servers can cost.

use std::time::Duration;

/// Longest access token, in bytes.
pub(crate) const MAX_ACCESS_TOKEN_BYTES: usize = 16 * 1024;
/// Checked tokens that are remembered.
pub(crate) const MAX_CHECKED_TOKENS: usize = 4_096;
/// Keys of an issuer that are read.
pub(crate) const MAX_KEYS: usize = 64;
/// Longest document of an authorization server, in bytes.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 256 * 1024;
/// Longest time for fetching the keys of an issuer, with the search for them. Shorter than a connection without a credential lives.
pub(crate) const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Shortest time between the end of a fetch of keys and the next one, whatever tokens ask for.
pub(crate) const FETCH_INTERVAL: Duration = Duration::from_secs(10);
/// How long keys are used without asking for newer ones, if their server says nothing.
pub(crate) const KEYS_FRESH: Duration = Duration::from_secs(600);
/// The longest such time that a server can ask for.
pub(crate) const MAX_KEYS_FRESH: Duration = Duration::from_secs(3_600);
/// How long keys are used while their server doesn't answer.
pub(crate) const KEYS_KEPT: Duration = Duration::from_secs(24 * 3_600);
