//! codeyard: one server that supervises language servers for many repositories and serves exact, bounded, reproducible
//! code intelligence over MCP. Modules are ranked; each imports only lower ranks (see `docs/architecture.md`).

pub mod admin;
pub mod auth;
pub mod base;
pub mod canon;
pub mod catalog;
pub mod cli;
pub mod config;
pub mod engine;
pub mod gate;
pub mod gateway;
pub mod index;
pub mod lsp;
pub mod model;
pub mod paging;
pub mod protocol;
pub mod store;
pub mod syntactic;
pub mod telemetry;
pub mod transport;
pub mod watch;
