//! Which requests belong to the stateless revision, and what their `_meta` must have (`docs/internals/protocol.md#the-stateless-revision`).
//!
//! It is the same on every transport; HTTP headers are checked in `http::stateless`. Invariant: at an endpoint that doesn't speak the
//! revision no request belongs to it.

use codeyard_protocol::error::Fault;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::message::Request;
use codeyard_protocol::names::Method;
use codeyard_protocol::revision::{Revision, RevisionSet};
use codeyard_protocol::stateless::{self, RequestMeta};
use codeyard_protocol::write;

/// The headers differ from the body, or are missing.
pub const HEADER_MISMATCH_REASON: &str = "header_mismatch";
/// The endpoint doesn't speak the revision that the request names.
pub const UNSUPPORTED_VERSION_REASON: &str = "unsupported_version";

/// Why a request of the stateless revision isn't served.
#[derive(Debug)]
pub struct MetaRejection {
    /// The word in `error.data.reason`.
    pub reason: &'static str,
    /// The JSON text of the JSON-RPC error.
    pub message: Vec<u8>,
}

/// Whether `request` belongs to a stateless revision: it names its revision, or its method exists in no other. In a session
/// (`has_session`) a request may name the session's revision.
pub fn applies(request: &Request<'_>, spoken: RevisionSet, has_session: bool) -> bool {
    let only_here = || {
        let method = Method::parse(&request.method);
        method.is_some_and(|method| {
            Revision::ALL.iter().all(|revision| revision.is_stateless() == method.is_in(*revision))
        })
    };
    let names_other = || {
        let named = stateless::version(request.params).and_then(|name| Revision::parse(&name));
        let is_of_session = has_session && named.is_some_and(|revision| !revision.is_stateless());
        stateless::names_version(request.params) && !is_of_session
    };
    spoken.has_stateless() && (names_other() || only_here())
}

/// The `_meta` of `request`, and the revision that it names.
///
/// # Errors
/// A member is missing, or the endpoint doesn't speak the revision.
pub fn check(request: &Request<'_>, spoken: RevisionSet) -> Result<(RequestMeta, Revision), MetaRejection> {
    if let Some(version) = stateless::version(request.params)
        && spoken_revision(&version, spoken).is_none()
    {
        return Err(unsupported(Some(&request.id), &version, spoken));
    }
    let bad = |fault: Fault| MetaRejection { reason: fault.reason(), message: write::fault(&fault.of(&request.id)) };
    let meta = stateless::request_meta(request.params).map_err(bad)?;
    let revision = spoken_revision(&meta.version, spoken).ok_or_else(|| bad(Fault::BadMeta))?;
    Ok((meta, revision))
}

/// The stateless revision of this name, if it is spoken.
pub fn spoken_revision(name: &str, spoken: RevisionSet) -> Option<Revision> {
    Revision::parse(name).filter(|revision| revision.is_stateless() && spoken.contains(*revision))
}

/// The rejection of a message for the revision `version`.
pub fn unsupported(id: Option<&RequestId>, version: &str, spoken: RevisionSet) -> MetaRejection {
    let message = stateless::unsupported_version(id, version, spoken);
    MetaRejection { reason: UNSUPPORTED_VERSION_REASON, message }
}
