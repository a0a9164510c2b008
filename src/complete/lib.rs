//! Completes the answers of language servers by what they leave out, and marks what can't be decided.
//!
//! [`commonjs`] finds references and callers through modules of CommonJS, [`callers_by_references`] callers that a server lists nowhere, and
//! [`companions`] the servers of other languages whose files use a name. [`index_comparison`] compares an answer with the code index. The first two ask the server through [`AskedServer`], so this crate
//! knows neither its process nor how requests are sent. It keeps nothing but the [`ModuleCache`](commonjs::ModuleCache), and starts nothing.
//! Invariants: nothing is added by name alone, the server confirms each place or lists it; what can't be decided is counted ([`UndecidedName`](codeyard_model::coverage::UndecidedName)).

mod asked_server;
pub mod callers_by_references;
pub mod commonjs;
pub mod companions;
pub mod identifier;
pub mod import_symbols;
pub mod index_comparison;
pub mod limits;

pub use self::asked_server::AskedServer;
