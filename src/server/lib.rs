//! What clients and operators connect to: MCP over HTTP and stdio, the attach socket, and the admin API.

pub mod admin;
pub mod limits;
pub mod transport;
