//! The program of a language server: where it is found, how its process is started and confined, and what it asks of its client.

pub(in crate::server) mod client_host;
pub mod isolation;
pub(in crate::server) mod launch_spec;
pub mod programs;
pub(in crate::server) mod toolchain;
