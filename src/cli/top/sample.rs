//! One look at the running server.

use serde::Deserialize;

use super::latency::Histogram;
use crate::admin::client::{AdminClient, Error};
use crate::admin::documents::{ServerList, ServiceDocument, WorkspaceList};
use crate::base::clock::Instant;

/// What was seen.
#[derive(Debug, Clone, Deserialize)]
pub struct Sample {
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
    pub async fn take(client: &AdminClient) -> Result<Self, Error> {
        Ok(Self {
            service: client.get("/admin/v1/service").await?,
            workspaces: client.get("/admin/v1/workspaces").await?,
            servers: client.get("/admin/v1/servers").await?,
            metrics: client.text("/metrics").await?,
            at: Instant::now(),
        })
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.service.calls.iter().map(|call| call.count).sum()
    }

    /// Calls so far that failed or were cancelled.
    pub fn failures(&self) -> u64 {
        self.service.calls.iter().filter(|call| call.outcome != "ok").map(|call| call.count).sum()
    }

    /// Durations of calls so far.
    pub fn durations(&self) -> Histogram {
        Histogram::read(&self.metrics)
    }
}
