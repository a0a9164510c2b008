//! What the operations stand on: the engine's control, the probes, and a few facts about the service.

use std::sync::Arc;

use crate::transport::http::probes::{Check, Checks, Exposition, Failing, Probes};
use codeyard_base::clock::Instant;
use codeyard_engine::control::{Control, Failing as Found};
use codeyard_engine::workspace::Trouble;

use super::documents::CallCount;

/// Facts about the service that the engine doesn't know.
#[derive(Clone)]
pub struct ServiceFacts {
    /// Its version.
    pub version: &'static str,
    /// When it started.
    pub started: Instant,
    /// The endpoint of the default workspace.
    pub listen: String,
    /// Where operators reach it over TCP.
    pub admin_listen: Option<String>,
    /// Counts tool calls so far.
    pub calls: Arc<dyn Fn() -> Vec<CallCount> + Send + Sync>,
}

/// See the module.
pub struct Api {
    pub(super) control: Control,
    pub(super) probes: Probes,
    pub(super) facts: ServiceFacts,
}

impl Api {
    /// The operations on the engine that `control` leads to.
    pub fn new(control: Control, probes: Probes, facts: ServiceFacts) -> Self {
        Self { control, probes, facts }
    }
}

/// The probes of an engine.
pub fn probes(control: &Control, exposition: Exposition) -> Probes {
    let control = control.clone();
    let checks: Checks = Arc::new(move || {
        let control = control.clone();
        Box::pin(async move {
            match control.failing().await {
                Ok(found) => found.into_iter().map(failing).collect(),
                Err(_) => vec![Failing { check: Check::Engine, workspace: None, server: None }],
            }
        })
    });
    Probes { checks, exposition }
}

fn failing(found: Found) -> Failing {
    let (check, workspace, server) = match found {
        Found::Stopping => (Check::Draining, None, None),
        Found::NotOpen(name) => (Check::WorkspaceNotOpen, Some(name), None),
        Found::NotAnswering(name) => (Check::WorkspaceNotAnswering, Some(name), None),
        Found::Trouble(name, Trouble::Unwatched) => (Check::WatcherGone, Some(name), None),
        Found::Trouble(name, Trouble::Quarantined(kind)) => (Check::ServerQuarantined, Some(name), Some(kind)),
    };
    Failing { check, workspace: workspace.map(|name| name.to_string()), server }
}
