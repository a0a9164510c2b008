//! Decodes the answers of language servers into the model's raw values.
//!
//! Decoding is pure and trusts nothing: one malformed entry makes the whole answer an error, and the error carries no
//! text of the answer. It neither filters, sorts nor caps (`codeyard-canon` does), and leaves columns in the server's
//! encoding until [`answer_to_utf16`]. Invariants: memory stays a small multiple of the frame's bytes; depth is
//! bounded; each distinct URI is stored once.
//!
//! These deviations are tolerated, and no others: a range whose end lies before its start is swapped; unknown fields
//! are ignored; `null` for an optional field means that it is missing; an array may mix the shapes that a method
//! allows; a severity outside 1 to 4 is left out; empty names stay; empty container names, sources and hover
//! fragments are left out.

mod calls;
mod diagnostics;
mod error;
mod fields;
mod hover;
mod list;
mod locations;
mod positions;
mod reply;
mod symbols;

pub use calls::{RawCall, RawCallItem, call_items, incoming_calls, outgoing_calls};
pub use diagnostics::{
    DocumentDiagnosticReport, FileDiagnosticReport, WorkspaceDiagnosticReport, document_diagnostic_report,
    publish_diagnostics, publish_target, workspace_diagnostic_report,
};
pub use error::ConvertError;
pub use hover::hover;
pub use locations::{definition, implementation, references};
pub use positions::{AnswerDocuments, DocumentTexts, answer_to_utf16};
pub use reply::{ConversionCost, DecodedReply, ReplyEntries};
pub use symbols::{document_symbols, workspace_symbols};

#[cfg(test)]
mod tests;
