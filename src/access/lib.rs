//! Who may do what: principals, the operations that calls consist of, and the scopes of credentials.
//!
//! Pure. Every way into the service asks this crate: tool calls, lists, groups and the admin API. Invariants: what a principal doesn't see is
//! answered like what isn't there; a scope made from another one allows nothing that the other doesn't.

mod credential;
mod name_patterns;
mod operation;
mod principal;
mod scope;

pub use credential::{Credential, CredentialKind};
pub use name_patterns::NamePatterns;
pub use operation::{Operation, OperationSet, WrongOperation};
pub use principal::Principal;
pub use scope::Scope;
