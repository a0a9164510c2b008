//! What a call is answered with, ready to be put into a JSON-RPC response.
//!
//! Invariant: all bytes here are valid JSON text without line breaks.

use codeyard_model::error::ErrorCode;

/// A result or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The `result` member: an MCP tool result envelope as JSON text.
    Result(Vec<u8>),
    /// The `result` member, where that says that the call failed: a tool result with `isError`.
    Refusal {
        /// Its JSON text.
        result: Vec<u8>,
        /// Which error it is, for spans and metrics.
        tool_code: ErrorCode,
    },
    /// The `error` member, in parts.
    Error {
        /// The JSON-RPC number.
        code: i32,
        /// One sentence for people, headed by the tool code.
        message: String,
        /// The `data` member as JSON text: `code`, `message`, `details`.
        data: Vec<u8>,
        /// Which error it is, for spans and metrics.
        tool_code: ErrorCode,
    },
}

impl Reply {
    /// The error's code; `None` for a result.
    pub fn tool_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Result(_) => None,
            Self::Refusal { tool_code, .. } | Self::Error { tool_code, .. } => Some(*tool_code),
        }
    }
}
