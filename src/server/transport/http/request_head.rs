//! The size of a request's head.
//!
//! hyper bounds what it buffers, but not to the byte: a head that arrives at once may be larger. Invariant: a head is never counted as
//! larger than it was sent.

use axum::http::request::Parts;

/// The bytes of a request's line and header fields.
pub(super) fn head_bytes(parts: &Parts) -> usize {
    // A field is followed by a line break, its name by a colon and usually a space.
    let fields: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    parts.method.as_str().len() + target + " HTTP/1.1\r\n ".len() + fields
}
