//! The session that a request names: it is looked up, after the version, and ended.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use super::answer;
use super::handler::{AuthorizedRequest, McpEndpoint, SESSION, VERSION};
use super::host::only;
use super::refusal::RefusalReason;
use super::session::Session;
use codeyard_protocol::revision::{Revision, RevisionSet};

impl McpEndpoint {
    pub(super) fn end_session(&self, authorized: &AuthorizedRequest<'_>) -> Result<Response, RefusalReason> {
        let session = self.session(authorized)?;
        self.sessions.end(&session.id, &authorized.principal);
        Ok(answer::empty(StatusCode::NO_CONTENT))
    }

    pub(super) fn session(&self, authorized: &AuthorizedRequest<'_>) -> Result<Arc<Session>, RefusalReason> {
        self.optional_session(authorized)?.ok_or(RefusalReason::MissingSession)
    }

    /// The session that the request names, if any. The version is checked first.
    pub(super) fn optional_session(
        &self,
        authorized: &AuthorizedRequest<'_>,
    ) -> Result<Option<Arc<Session>>, RefusalReason> {
        let spoken = self.service.revisions(&authorized.endpoint);
        let has_session = |revision: &Revision| !revision.is_stateless() && spoken.contains(*revision);
        let names_session = authorized.headers.contains_key(SESSION);
        let named = match authorized.headers.contains_key(VERSION) {
            true => {
                let named = only(authorized.headers, VERSION).and_then(Revision::parse).filter(has_session);
                Some(named.ok_or(RefusalReason::WrongVersion)?)
            }
            false if names_session => None,
            false => return Err(RefusalReason::MissingVersion),
        };
        if !names_session {
            return Ok(None);
        }
        let session = only(authorized.headers, SESSION).and_then(|id| self.sessions.find(id, &authorized.principal));
        let session = session.ok_or(RefusalReason::UnknownSession)?;
        // A session may come to an endpoint that doesn't speak its revision.
        if !has_session(&session.revision) || named.is_some_and(|revision| revision != session.revision) {
            return Err(RefusalReason::WrongVersion);
        }
        Ok(Some(session))
    }

    /// The session that the request names, if it has a revision in which an array is a message.
    pub(super) fn batching_session(
        &self,
        authorized: &AuthorizedRequest<'_>,
        spoken: RevisionSet,
    ) -> Result<Option<Arc<Session>>, RefusalReason> {
        if !spoken.iter().any(Revision::has_batches) || !authorized.headers.contains_key(SESSION) {
            return Ok(None);
        }
        // A client whose session has ended must read that, whatever it sends.
        Ok(Some(self.session(authorized)?).filter(|session| session.revision.has_batches()))
    }
}
