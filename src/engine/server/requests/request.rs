//! Requests to one language server: their parameters, the properties that the actor needs, and the decoding of the reply.
//!
//! [`LspRequest`] is implemented once for each LSP method, in `query/operations`. The actor sees [`ServerRequest`], which doesn't
//! name the type of the reply. Positions leave in the server's encoding; replies are decoded without conversion.

use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

use codeyard_lsp::client::LspClient;
use codeyard_lsp::client::capabilities::Capabilities;
use codeyard_lsp::client::pending_requests::{PendingReply, RequestError};
use codeyard_lsp::convert::{ConvertError, DecodedReply};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::text::encoding::{self, PositionRules};
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::position::Position;

/// How the answer to a request arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// As the reply to the request.
    Reply,
    /// As the reply where the server supports pull diagnostics, else as the push that follows a sync of the document.
    DocumentDiagnostics,
    /// As everything that the server has reported, with fresh pulls of its open documents.
    ProjectDiagnostics,
}

/// What a request needs to know of the session that sends it.
pub struct SessionView<'a> {
    /// The encoding of positions that was negotiated.
    pub encoding: PositionRules,
    /// The identifier that the server registered for pull diagnostics.
    pub diagnostics_identifier: Option<&'a str>,
}

impl SessionView<'_> {
    /// A client's position as the server counts. One that isn't inside the document stays as it is: the server decides.
    pub fn position(&self, document: &DocumentInput, position: Position) -> Position {
        encoding::to_server(&document.source.document, position, self.encoding).unwrap_or(position)
    }
}

/// One LSP method: its parameters and its reply.
pub trait LspRequest: fmt::Debug + Clone + Send + Sync + 'static {
    /// The method's name.
    const METHOD: &'static str;
    /// How the answer arrives.
    const EXCHANGE: Exchange = Exchange::Reply;
    /// The parameters, borrowed from the request.
    type Params<'a>: Serialize
    where
        Self: 'a;
    /// The decoded reply; columns count as the server counts.
    type Reply: DecodedReply;

    /// The document that the server must have in its present version.
    fn document(&self) -> Option<&DocumentInput> {
        None
    }

    /// The incarnation of the server that alone understands the request; `None` means any.
    fn incarnation(&self) -> Option<u64> {
        None
    }

    /// The parameters; `None` if the server can't be sent this request.
    fn params<'a>(&'a self, session: &'a SessionView<'_>) -> Option<Self::Params<'a>>;

    /// Decodes the reply.
    ///
    /// # Errors
    /// The reply is malformed, or has more entries than are decoded.
    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError>;

    /// A push of diagnostics as a reply; `None` for methods whose answer is never pushed.
    fn from_push(_file: RawFileDiagnostics) -> Option<Self::Reply> {
        None
    }

    /// Files whose diagnostics the reply reports.
    fn reported_files(_reply: &Self::Reply) -> &[RawFileDiagnostics] {
        &[]
    }

    /// Removes entries in files that `is_kept` refuses, by URI, where a reply names files of several languages.
    fn retain_files(_reply: &mut Self::Reply, _is_kept: &dyn Fn(&str) -> bool) {}
}

/// A request as the language-server actor sees it.
pub trait ServerRequest: Send + Sync {
    /// The document that the server must have in its present version.
    fn document(&self) -> Option<&DocumentInput>;

    /// The incarnation of the server that alone understands the request; `None` means any.
    fn incarnation(&self) -> Option<u64>;

    /// The method's name.
    fn method(&self) -> &'static str;

    /// How the answer arrives.
    fn exchange(&self) -> Exchange;

    /// Sends the request. `None`: the server doesn't support it.
    ///
    /// # Errors
    /// The connection is broken, or too much is waiting at the server.
    fn send(
        &self,
        client: &LspClient,
        capabilities: &Capabilities,
        session: &SessionView<'_>,
    ) -> Result<Option<PendingReply>, RequestError>;
}

impl<R: LspRequest> ServerRequest for R {
    fn document(&self) -> Option<&DocumentInput> {
        LspRequest::document(self)
    }

    fn incarnation(&self) -> Option<u64> {
        LspRequest::incarnation(self)
    }

    fn method(&self) -> &'static str {
        R::METHOD
    }

    fn exchange(&self) -> Exchange {
        R::EXCHANGE
    }

    fn send(
        &self,
        client: &LspClient,
        capabilities: &Capabilities,
        session: &SessionView<'_>,
    ) -> Result<Option<PendingReply>, RequestError> {
        if !capabilities.supports(R::METHOD) {
            return Ok(None);
        }
        let Some(params) = self.params(session) else { return Ok(None) };
        client.request(R::METHOD, &params).map(Some)
    }
}
