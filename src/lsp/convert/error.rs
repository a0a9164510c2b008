//! Why an answer could not be decoded.

/// Why an answer could not be decoded. The error quotes nothing of the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// Wrong types, missing fields, numbers out of range, or nesting beyond the bound.
    #[error("malformed {what} at line {line} column {column}")]
    Malformed {
        what: &'static str,
        /// 1-based line in the answer's JSON.
        line: usize,
        /// 1-based column in bytes.
        column: usize,
    },
}

impl ConvertError {
    pub(super) fn malformed(what: &'static str, error: &serde_json::Error) -> Self {
        Self::Malformed { what, line: error.line(), column: error.column() }
    }
}
