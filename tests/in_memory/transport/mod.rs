//! The transports over real sockets and pipes, in front of a fake gateway.

mod attach;
mod calls;
mod connections;
mod docs;
mod fake;
mod metrics;
mod permissions;
mod refusals;
mod revisions;
mod sdk;
mod sessions;
mod stateless;
mod stdio;
mod tls;
mod wire;
