//! What is counted and measured, behind a facade that the other layers hold.
//!
//! [`Counts`] counts in memory; [`Meters`] also measures times with OpenTelemetry; [`Observers`] has values read that
//! others keep. Invariants: recording never waits for an export; labels are names of ours, of a catalog or of the
//! registry, so their number is bounded by the program and its configuration, not by its callers.

mod counts;
mod meters;
mod observers;
mod process;
mod tally;

use std::time::Duration;

use super::record::{CallRecord, RpcRecord, TransportKind};

pub use counts::Counts;
pub use meters::Meters;
pub use observers::{Observers, Sink};
pub use tally::Tally;

/// What is counted.
pub trait Metrics: Send + Sync {
    /// A call ended.
    fn call(&self, record: &CallRecord);
    /// An MCP request other than a tool call was answered.
    fn request(&self, _: &RequestRecord) {}
    /// A request to a language server ended; a request that several calls share is told once.
    fn rpc(&self, _: &RpcRecord) {}
    /// An MCP session ended.
    fn session(&self, _: TransportKind, _: Duration) {}
    /// A client's message was refused before it was served; one of the words of `names::instruments`.
    fn rejected(&self, _reason: &str) {}
    /// A call or a connection was turned away because something was full; one of the words of `names::instruments`.
    fn shed(&self, _full: &str) {}
    /// A language server of this kind was started anew.
    fn restart(&self, kind: &str, reason: &'static str);
    /// The answers of a language server of this kind are to be believed, so long after its start.
    fn ready(&self, _kind: &str, _after: Duration) {}
    /// A job of the code index ended, so long after it began; its mode and how it ended in the words of `names::instruments`.
    fn index_job(&self, _mode: &'static str, _status: &'static str, _took: Duration) {}
    /// A retained result answered.
    fn retained_hit(&self);
    /// Retained results were dropped; one of the words of `names::instruments`.
    fn evicted(&self, _reason: &str, _count: u64) {}
}

/// What is told of an MCP request that is no tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRecord {
    /// The method; `_OTHER` for one that isn't served.
    pub method: &'static str,
    /// The way it came in.
    pub transport: TransportKind,
    /// The number of its JSON-RPC error, if it failed.
    pub error: Option<i32>,
    /// From its arrival to its reply.
    pub total: Duration,
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl Metrics for NoMetrics {
    fn call(&self, _: &CallRecord) {}
    fn restart(&self, _: &str, _: &'static str) {}
    fn retained_hit(&self) {}
}
