//! Metrics, behind the trait that the other crates use.
//!
//! [`Counts`] counts in memory; [`Meters`] also measures times with OpenTelemetry; [`Observers`] registers callbacks that read values of
//! other owners. Invariants: recording never waits for an export; labels are constants, or names of a catalog or of the registry, so
//! that the program and its configuration bound their number, not its callers.

mod counts;
mod meters;
mod observers;
mod process;
mod tally;

use std::time::Duration;

use super::record::{CallRecord, RpcRecord, TransportKind};

pub use counts::Counts;
pub use meters::Meters;
pub use observers::{MetricSink, Observers};
pub use tally::Tally;

/// Receives the events that are counted and measured.
pub trait Metrics: Send + Sync {
    /// A call ended.
    fn call(&self, record: &CallRecord);
    /// An MCP request other than a tool call was answered.
    fn request(&self, _: &RequestRecord) {}
    /// A request to a language server ended; a request that several calls share counts once.
    fn rpc(&self, _: &RpcRecord) {}
    /// An MCP session ended.
    fn session(&self, _: TransportKind, _: Duration) {}
    /// A client's message was rejected before it was served. The reason is a word of `names::instruments`.
    fn rejected(&self, _reason: &str) {}
    /// A call or a connection was shed because a limit was reached. The limit is a word of `names::instruments`.
    fn shed(&self, _full: &str) {}
    /// A language server of this kind was restarted.
    fn restart(&self, kind: &str, reason: &'static str);
    /// A language server of this kind became ready, this long after its start.
    fn ready(&self, _kind: &str, _after: Duration) {}
    /// A language server of this kind was stopped to keep the memory budget.
    fn server_evicted(&self, _kind: &str) {}
    /// The start of a language server was admitted, after this time in the queue.
    fn start_admitted(&self, _after: Duration) {}
    /// A job of the code index ended, this long after it began. Mode and status are words of `names::instruments`.
    fn index_job(&self, _mode: &'static str, _status: &'static str, _took: Duration) {}
    /// A retained result answered.
    fn retained_hit(&self);
    /// Retained results were dropped. The reason is a word of `names::instruments`.
    fn evicted(&self, _reason: &str, _count: u64) {}
}

/// The facts of an MCP request other than a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRecord {
    /// The method; `_OTHER` for one that isn't served.
    pub method: &'static str,
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
