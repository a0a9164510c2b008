//! How asking ends without an answer: of a whole query ([`NoAnswer`]), and of one provider ([`ProviderFailure`]).

use crate::status::server_state::Unavailable;
use codeyard_model::error::ToolError;

/// Why a query ended without an answer.
#[derive(Debug, Clone)]
pub enum NoAnswer {
    /// The workspace changed meanwhile, or a language server was stopped on purpose: start the query again.
    Changed,
    /// The query can't be answered.
    Failed(ToolError),
}

impl From<ToolError> for NoAnswer {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Why a provider gave no answer.
#[derive(Debug)]
pub(crate) enum ProviderFailure {
    /// It isn't available, or doesn't support the request.
    Unavailable(Unavailable),
    /// The whole query ends: the call fails, or the provider was stopped on purpose, or the text that the request is about is no longer on
    /// disk.
    Query(NoAnswer),
}

/// A server's reply that is an error.
pub(crate) struct ServerRefusal {
    pub code: i64,
    /// Its message, if the server is codeyard itself: those of others may contain paths.
    pub message: Option<String>,
}

impl From<ToolError> for ProviderFailure {
    fn from(error: ToolError) -> Self {
        Self::Query(error.into())
    }
}
