//! The client side of language servers: find and install their programs, start them, speak LSP with them, stop them.
//!
//! The crate knows neither tools nor workspaces. It decodes what a server answers, but doesn't filter, sort or cap it
//! (`codeyard-canon` does). It starts no process itself except package tools and version probes in [`install`].
//!
//! # Code map
//!
//! A folder imports only folders above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | folder | holds |
//! |---|---|
//! | [`text`] | the text of a document: lines, encodings, offsets |
//! | [`client`] | the connection to one server: messages, requests, its start and its end |
//! | [`convert`] | from what a server answers to the model |
//! | [`documents`] | what a server has open, and the changes that it is sent |
//! | [`registry`] | the known servers: their languages, roots, programs |
//! | [`install`] | where programs of servers are, and how they are installed |
//! | [`readiness`] | when a server is ready to answer |

pub mod client;
pub mod convert;
pub mod documents;
pub mod install;
pub mod limits;
pub mod methods;
pub mod readiness;
pub mod registry;
pub mod text;
