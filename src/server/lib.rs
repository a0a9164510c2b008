//! The servers that clients and operators connect to: MCP over HTTP and stdio, the attach socket, and the admin API.
//!
//! `admin` uses `transport`; `transport` doesn't use `admin`.

mod accept;
pub mod admin;
pub mod limits;
pub mod transport;
