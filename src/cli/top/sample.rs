//! One look at the running server.

use serde::Deserialize;

use super::latency::Histogram;
use codeyard_base::clock::Instant;
use codeyard_server::admin::client::{AdminClient, Error};
use codeyard_server::admin::documents::{ServerList, ServiceDocument, WorkspaceList};

/// What was seen.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Sample {
    /// The service as a whole.
    pub service: ServiceDocument,
    /// Its workspaces.
    pub workspaces: WorkspaceList,
    /// Its language servers.
    pub servers: ServerList,
    /// The text of `/metrics`.
    pub metrics: String,
    /// When.
    #[serde(skip, default = "Instant::now")]
    pub at: Instant,
}

impl Sample {
    /// Looks.
    pub(super) async fn take(client: &AdminClient) -> Result<Self, Error> {
        Ok(Self {
            service: client.get("/admin/v1/service").await?,
            workspaces: client.get("/admin/v1/workspaces").await?,
            servers: client.get("/admin/v1/servers").await?,
            metrics: client.text("/metrics").await?,
            at: Instant::now(),
        })
    }

    /// Calls so far.
    pub(super) fn calls(&self) -> u64 {
        self.service.calls.iter().map(|call| call.count).sum()
    }

    /// Calls so far that failed or were cancelled.
    pub(super) fn failures(&self) -> u64 {
        self.service.calls.iter().filter(|call| call.outcome != "ok").map(|call| call.count).sum()
    }

    /// Durations of calls so far.
    pub(super) fn durations(&self) -> Histogram {
        Histogram::read(&self.metrics)
    }
}
