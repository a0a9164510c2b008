//! Encoded replies: the parts of a JSON-RPC response that a catalog determines.
//!
//! Invariant: all bytes here are valid JSON text without line breaks.

use codeyard_model::error::ErrorCode;

/// The encoded outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncodedReply {
    /// The `result` member: an MCP tool result envelope as JSON text.
    Result(Vec<u8>),
    /// The `result` member of a failed call: a tool result with `isError: true`.
    Refusal {
        /// The JSON text of the tool result.
        result: Vec<u8>,
        /// The error code, for spans and metrics.
        tool_code: ErrorCode,
    },
    /// The `error` member, in parts.
    Error {
        /// The JSON-RPC number.
        code: i32,
        /// The namespaced code, a colon, and one sentence.
        message: String,
        /// The `data` member as JSON text: `code`, `message`, `details`.
        data: Vec<u8>,
        /// The error code, for spans and metrics.
        tool_code: ErrorCode,
    },
}

impl EncodedReply {
    /// The error code; `None` for a result.
    pub fn tool_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Result(_) => None,
            Self::Refusal { tool_code, .. } | Self::Error { tool_code, .. } => Some(*tool_code),
        }
    }
}
