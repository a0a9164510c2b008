//! The documents that are open at a language server: the table of them, and the notifications that keep it up to date.
//!
//! Everything here but [`document_input`] is pure: it returns what to send and sends nothing.

pub mod document_input;
mod notifications;
mod open_documents;
mod range_change;
pub mod sync_options;

pub use notifications::DocumentNotification;
pub use open_documents::{DocumentState, OpenDocuments};
