//! One sample of the status of the running server.

use serde::Deserialize;

use super::latency::DurationHistogram;
use codeyard_base::clock::Instant;
use codeyard_model::error::ErrorCode;
use codeyard_server::admin::client::{AdminClient, AdminClientError};
use codeyard_server::admin::documents::{ServerList, ServiceDocument, WorkspaceList};

/// The status of the server at one time.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct AdminSample {
    /// The service as a whole.
    pub service: ServiceDocument,
    pub workspaces: WorkspaceList,
    pub servers: ServerList,
    /// The text of `/metrics`.
    pub metrics: String,
    /// When it was taken.
    #[serde(skip, default = "Instant::now")]
    pub at: Instant,
}

impl AdminSample {
    /// Requests a sample from the admin API.
    pub(super) async fn take(client: &AdminClient) -> Result<Self, AdminClientError> {
        Ok(Self {
            service: client.get("/admin/v1/service").await?,
            workspaces: client.get("/admin/v1/workspaces").await?,
            servers: client.get("/admin/v1/servers").await?,
            metrics: client.text("/metrics").await?,
            at: Instant::now(),
        })
    }

    /// Calls since the server started.
    pub(super) fn calls(&self) -> u64 {
        self.service.calls.iter().map(|call| call.count).sum()
    }

    /// Failed or cancelled calls since the server started. Calls that were refused for what they ask are none: clients repeat them.
    pub(super) fn failures(&self) -> u64 {
        let is_refused = |outcome| ErrorCode::parse(outcome).is_some_and(ErrorCode::is_refusal);
        let failed = self.service.calls.iter().filter(|call| call.outcome != "ok" && !is_refused(&call.outcome));
        failed.map(|call| call.count).sum()
    }

    /// Durations of the calls since the server started.
    pub(super) fn durations(&self) -> DurationHistogram {
        DurationHistogram::read(&self.metrics)
    }
}
