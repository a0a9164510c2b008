//! The content of one line.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::arguments;
use crate::chain_file::ChainPoint;
use codeyard_access::Principal;
use codeyard_base::clock;
use codeyard_base::json_secrets::redact_json;
use codeyard_base::visible::visible_json;
use codeyard_base::words;

/// Longest content of a line, in bytes. Arguments that make it longer are there by their digest; all else is bounded where it comes from.
const MAX_CONTENT_BYTES: usize = 4 * 1024;

words! {
    /// What a line is about.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum EventKind {
        /// A call of a tool, from any transport.
        #[default]
        Call => "call",
        /// A request that was refused before it had an endpoint: no token, a wrong one, one that has ended.
        Refused => "refused",
        /// A caller signed on: an access token of an authorization server came for the first time.
        SignOn => "sign_on",
        /// A session over HTTP began.
        Session => "session",
        /// A token was made, replaced or removed.
        Token => "token",
        /// A stored permission was removed.
        Permission => "permission",
        /// A request to the admin API that changes something.
        Admin => "admin",
        /// A configuration came into effect.
        Configuration => "configuration",
        /// A run's pull request or branch was published.
        Publication => "publication",
        /// The service began or ended.
        Service => "service",
        /// Lines are missing, because they couldn't be written.
        Lost => "lost",
    }
    /// The word in lines.
    fn as_str;
    /// The event of this word.
    fn parse;
}

/// One line, without its place in the chain. What isn't known is left out of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AuditEvent<'a> {
    /// What it is about.
    #[serde(serialize_with = "kind")]
    pub event: EventKind,
    /// The tenant of the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<&'a str>,
    /// The caller's name in its tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<&'a str>,
    /// The id of its token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<&'a str>,
    /// The address that it comes from; `local` for standard input and the local sockets, `command` for a command of codeyard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Cow<'a, str>>,
    /// The workspace, or `@` and a group, with the tenant in front.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Cow<'a, str>>,
    /// The catalog of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<&'a str>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    /// What the tool does, or what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'a str>,
    /// What was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The outcome of the permission check, with what a person answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<&'a str>,
    /// `ok`, the code of the error, or `CANCELLED`.
    pub verdict: &'a str,
    /// The reason of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// Milliseconds from the arrival to the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// Bytes of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<&'a str>,
    /// The id of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// How many: lines that are missing, requests that were refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl<'a> AuditEvent<'a> {
    /// An event with this outcome, of nobody yet.
    pub fn new(event: EventKind, verdict: &'a str) -> Self {
        Self { event, verdict, ..Self::default() }
    }

    /// The same, done by a caller.
    #[must_use]
    pub fn by(self, principal: &'a Principal) -> Self {
        Self {
            tenant: Some(principal.tenant.as_str()),
            principal: Some(principal.id.as_str()),
            credential: principal.credential.as_ref().map(|credential| &*credential.id),
            ..self
        }
    }

    /// The line after `last`, without its end. It has no secret of a known shape, wherever it was sent, and no character that a terminal or a
    /// reader of lines obeys. `None`: it can't be written as JSON, which no value of these types is.
    pub(crate) fn line(&self, last: &ChainPoint) -> Option<String> {
        let mut content = serde_json::to_string(self).ok()?;
        if content.len() > MAX_CONTENT_BYTES {
            let arguments = self.arguments.as_ref().map(|whole| arguments::digested(&whole.to_string()));
            content = serde_json::to_string(&Self { arguments, ..self.clone() }).ok()?;
        }
        let redacted = redact_json(&content);
        let content = visible_json(&redacted);
        let content = content.strip_prefix('{')?.strip_suffix('}')?;
        let seq = last.seq.checked_add(1)?;
        let at = clock::utc_us(clock::wall_ns());
        let previous = last.hash_text();
        Some(format!(r#"{{"seq":{seq},"at":"{at}",{content},"previous":"{previous}"}}"#))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn kind<S: Serializer>(kind: &EventKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}
