//! The servers that clients and operators connect to: MCP over HTTP and stdio, the attach socket, and the admin API.
//!
//! # Code map
//!
//! A folder imports only folders above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | folder | holds |
//! |---|---|
//! | [`tls`] | TLS of the listeners: certificates, keys, authorities of callers |
//! | [`transport`] | MCP over HTTP, stdio and the attach socket |
//! | [`admin`] | the admin API |

mod accept;
pub mod admin;
pub mod limits;
pub mod proxies;
pub mod tls;
pub mod transport;
