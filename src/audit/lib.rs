//! The audit log: who did what, in lines that are chained by their hashes.
//!
//! Invariants: a line is in the file before what it is about is answered; a line that can't be written is counted, and the next one that can
//! says how many are missing; no line has a token or source text. Why it is built so: `docs/internals/decisions/audit.md`.

mod arguments;
mod audit_log;
mod chain_file;
mod event;
mod reading;
mod syslog;
mod verification;

pub use arguments::digest_of;
pub use audit_log::AuditLog;
pub use chain_file::{AuditError, ChainPoint};
pub use event::{AuditEvent, EventKind};
pub use reading::{AuditFiles, AuditLine, LineError};
pub use verification::{Anchor, Verification, VerifyError, verify};

#[cfg(test)]
mod tests;
