//! Errors of the catalog `code`.

use crate::error::ErrorCode;

use super::metadata::AnswerMetadata;
use super::query::words;

words! {
    /// An error code. Codes are only added, never removed.
    CodeError {
        /// The arguments don't fit the tool.
        #[default]
        InvalidInput = "invalid_input",
        /// The workspace has no root.
        ProjectNotFound = "project_not_found",
        /// The path belongs to no workspace.
        WorkspaceNotRegistered = "workspace_not_registered",
        /// The path belongs to another workspace.
        WorkspaceNotAllowed = "workspace_not_allowed",
        /// A job that builds the index is running.
        IndexInProgress = "index_in_progress",
        /// There is no index to answer from yet.
        IndexNotReady = "index_not_ready",
        /// A job that updates the index is running.
        SyncInProgress = "sync_in_progress",
        /// The index is behind, and the query requires a fresh one.
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
        /// No stored result has this handle.
        ResultNotFound = "result_not_found",
        /// The deadline passed.
        Timeout = "timeout",
        /// Too many calls are in progress.
        Overloaded = "overloaded",
        /// A defect in codeyard.
        InternalError = "internal_error",
    }
}

impl CodeError {
    /// The code in spans and metrics.
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

/// A refused query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRefusal {
    pub code: CodeError,
    /// What is wrong and what to do, in one or two sentences. Contains no path outside the roots.
    pub message: String,
    /// Machine-readable details as a JSON object. `Null` if there are none.
    pub data: serde_json::Value,
    /// The same metadata as that of an answer.
    pub metadata: AnswerMetadata,
}

impl CodeRefusal {
    /// A refusal without data and with default metadata.
    pub fn new(code: CodeError, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: serde_json::Value::Null, metadata: AnswerMetadata::default() }
    }

    /// Adds a field to `data`.
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

    /// Sets the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: AnswerMetadata) -> Self {
        self.metadata = metadata;
        self
    }
}
