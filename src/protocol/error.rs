//! Errors of messages that can't be served (`docs/internals/protocol.md#messages-that-cant-be-served`). Errors of tools are in the catalogs.
//!
//! Invariant: an error's message is constant text and holds nothing of the request's body.

use super::id::RequestId;
use super::names::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR};
use codeyard_base::words;

/// The error of a message that can't be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", fault.message())]
pub struct MessageError {
    /// The id of the request, if it could be read.
    pub id: Option<RequestId>,
    pub fault: Fault,
}

words! {
    /// The faults of a message.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Fault {
        /// The bytes are no JSON in UTF-8.
        NotJson => "not_json",
        /// An array of messages, in a revision that has none.
        Batch => "batch",
        /// An array of more messages than the limit.
        LongBatch => "long_batch",
        /// `initialize` in an array of messages.
        BatchedInitialize => "batched_initialize",
        /// JSON that is no request, notification or response.
        NotAMessage => "not_a_message",
        /// `jsonrpc` isn't `"2.0"`.
        WrongVersion => "wrong_jsonrpc",
        /// The id is null, fractional, or neither string nor integer.
        BadId => "bad_id",
        /// The id is longer than the limit.
        LongId => "long_id",
        /// The line is longer than the limit.
        TooLong => "too_long",
        UnknownMethod => "unknown_method",
        /// The parameters don't fit the method.
        BadParams => "bad_params",
        /// A member of `_meta` is missing that each request of the stateless revision must have.
        BadMeta => "bad_meta",
        /// `tools/list` has a cursor, but the list has one page.
        ForeignCursor => "foreign_cursor",
    }
    /// The word in `error.data.reason`.
    fn reason;
}

impl Fault {
    /// The JSON-RPC error number.
    pub fn code(self) -> i32 {
        match self {
            Self::NotJson => PARSE_ERROR,
            Self::UnknownMethod => METHOD_NOT_FOUND,
            Self::BadParams | Self::BadMeta | Self::ForeignCursor => INVALID_PARAMS,
            _ => INVALID_REQUEST,
        }
    }

    /// One sentence for people.
    pub fn message(self) -> &'static str {
        match self {
            Self::NotJson => "the message is not valid JSON in UTF-8",
            Self::Batch => "batches are served in sessions of revision 2025-03-26 only; send one message at a time",
            Self::LongBatch => "a batch has at most 64 messages",
            Self::BatchedInitialize => "`initialize` can't be part of a batch; send it alone",
            Self::NotAMessage => "the message is not a JSON-RPC request, notification or response",
            Self::WrongVersion => "`jsonrpc` must be \"2.0\"",
            Self::BadId => "`id` must be a string or an integer",
            Self::LongId => "`id` is longer than 512 bytes",
            Self::TooLong => "the message is longer than the limit and was discarded",
            Self::UnknownMethod => "no such method",
            Self::BadParams => "the parameters do not fit the method",
            Self::BadMeta => {
                "`_meta` must have io.modelcontextprotocol/protocolVersion (a string) and io.modelcontextprotocol/clientCapabilities (an object)"
            }
            Self::ForeignCursor => "the list has one page; this cursor is not one of ours",
        }
    }

    /// The error for a message without a readable id.
    pub fn unnamed(self) -> MessageError {
        MessageError { id: None, fault: self }
    }

    /// The error for the request `id`.
    pub fn of(self, id: &RequestId) -> MessageError {
        MessageError { id: Some(id.clone()), fault: self }
    }
}
