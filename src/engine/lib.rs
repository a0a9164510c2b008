//! The actors: a supervisor starts one workspace actor per configured workspace; each workspace owns one language-server actor per server
//! kind and project root, at most one indexer, and one
//! actor per open run.
//!
//! # Code map
//!
//! A folder imports only folders above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | folder | holds |
//! |---|---|
//! | [`admission`] | the turns of what is scarce: starts of language servers, requests to them |
//! | [`status`] | the published state of workspaces and language servers |
//! | [`server`] | the language-server actor: its process, its open documents, its requests |
//! | [`query`] | from a query to an answer: server selection, execution, canonicalisation |
//! | [`indexer`] | the indexer actor, and answers from the code index |
//! | [`run`] | the run actor, and the turns of runs |
//! | [`workspace`] | the workspace actor: epochs, retained results, its language servers |
//! | [`answer`] | whole queries: from a query to its answer, the only way in for calls |
//! | [`supervisor`] | the supervisor, the directory of workspaces, the operators' interface, the start of the engine |
//!
//! # Invariants
//!
//! - Requests go down, notifications go up: no actor waits for its parent, and no message handler waits for a child. It returns a future,
//!   and dropping that future cancels the request.
//! - The start of a language server belongs to its workspace, never to a request.
//! - A panic or hang of one workspace doesn't affect another.

pub mod admission;
pub mod answer;
pub mod heap_trim;
pub mod indexer;
pub mod limits;
mod low_priority;
pub mod query;
pub mod redact;
pub mod run;
pub mod server;
pub mod status;
pub mod supervisor;
pub mod workspace;
