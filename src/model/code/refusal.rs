//! Why a question about code isn't answered (decisions §5, codes).

use crate::error::ErrorCode;

use super::metadata::AnswerMetadata;
use super::query::words;

words! {
    /// A code. Codes are only ever added.
    CodeError {
        /// The arguments don't fit the tool.
        #[default]
        InvalidInput = "invalid_input",
        /// The workspace has no root.
        ProjectNotFound = "project_not_found",
        /// The path is no workspace's.
        WorkspaceNotRegistered = "workspace_not_registered",
        /// The path is another workspace's.
        WorkspaceNotAllowed = "workspace_not_allowed",
        /// A job that builds the index is running.
        IndexInProgress = "index_in_progress",
        /// There is nothing to answer from yet.
        IndexNotReady = "index_not_ready",
        /// A job that brings the index up to date is running.
        SyncInProgress = "sync_in_progress",
        /// The index is behind, and the question wants it not to be.
        IndexStale = "index_stale",
        /// Another build wrote the index, or it is damaged.
        IndexIncompatible = "index_incompatible",
        /// The branch, tag or commit isn't in the index.
        RefNotIndexed = "ref_not_indexed",
        /// No symbol has this handle.
        SymbolNotFound = "symbol_not_found",
        /// Several symbols have this handle.
        AmbiguousSymbol = "ambiguous_symbol",
        /// The index has no such file.
        FileNotFound = "file_not_found",
        /// No result has this handle, or not any more.
        ResultNotFound = "result_not_found",
        /// The time was up.
        Timeout = "timeout",
        /// Too much is going on.
        Overloaded = "overloaded",
        /// A fault of ours.
        InternalError = "internal_error",
    }
}

impl CodeError {
    /// The code that spans and metrics count it under.
    pub fn tool_code(self) -> ErrorCode {
        match self {
            Self::InvalidInput | Self::AmbiguousSymbol => ErrorCode::InvalidParams,
            Self::ProjectNotFound | Self::WorkspaceNotRegistered | Self::WorkspaceNotAllowed => {
                ErrorCode::WorkspaceDenied
            }
            Self::IndexInProgress
            | Self::IndexNotReady
            | Self::SyncInProgress
            | Self::IndexStale
            | Self::IndexIncompatible => ErrorCode::ProviderUnavailable,
            Self::RefNotIndexed | Self::SymbolNotFound | Self::FileNotFound | Self::ResultNotFound => {
                ErrorCode::NotFound
            }
            Self::Timeout | Self::Overloaded => ErrorCode::CapExceeded,
            Self::InternalError => ErrorCode::Internal,
        }
    }
}

/// A question that isn't answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRefusal {
    /// Which error it is.
    pub code: CodeError,
    /// What is wrong and what to do, in a sentence or two; names no path outside the roots.
    pub message: String,
    /// More for programs, as a JSON object; `Null` for nothing.
    pub data: serde_json::Value,
    /// As beside an answer.
    pub metadata: AnswerMetadata,
}

impl CodeRefusal {
    /// A refusal without data, in front of the index.
    pub fn new(code: CodeError, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: serde_json::Value::Null, metadata: AnswerMetadata::default() }
    }

    /// The same with one more field in `data`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        if !self.data.is_object() {
            self.data = serde_json::Value::Object(serde_json::Map::new());
        }
        if let Some(data) = self.data.as_object_mut() {
            data.insert(key.to_owned(), value.into());
        }
        self
    }

    /// The same with this beside it.
    #[must_use]
    pub fn beside(mut self, metadata: AnswerMetadata) -> Self {
        self.metadata = metadata;
        self
    }
}
