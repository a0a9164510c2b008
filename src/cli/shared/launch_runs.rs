//! Assembles what launch runs need: the settings of the section `[runs]`, the store of runs, and the calls of the catalog `launch`.
//!
//! Invariant: a process without runs still serves everything else, and says why it has none.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use codeyard_audit::{AuditEvent, AuditLog, EventKind};
use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_config::{Config, RunsSection};
use codeyard_engine::run::{RunLimits, RunService};
use codeyard_engine::supervisor::directory::Directory;
use codeyard_gateway::launch::LaunchCalls;
use codeyard_launch::artifacts::pull_request::PullRequest;
use codeyard_launch::publication::{AllowedService, PublicationSettings};
use codeyard_launch::repository::checkout::CheckoutSettings;
use codeyard_launch::repository::repository_address::UrlRewrite;
use codeyard_launch::request::sites::Sites;
use codeyard_launch::validation::link_checker::LinkChecker;
use codeyard_launch::workflow::settings::{LaunchSettings, PublicationObserver};
use codeyard_launch::workflow::stages::LaunchStages;
use codeyard_runs::run_host::RunHost;
use codeyard_runs::run_id::RunId;
use codeyard_runs::stage::StageError;
use codeyard_state::{StateDir, StoreHandle};
use codeyard_telemetry::Telemetry;
use serde_json::json;

use crate::Failure;
use crate::shared::assemble::error_chain;

/// Time of the clone of one repository of a launch run, in seconds.
const CLONE_LIMIT_S: u64 = 600;
/// Time of one request of a launch run to a service, in seconds.
const SERVICE_REQUEST_LIMIT_S: u64 = 60;

/// The runs of a process while it is assembled.
pub(crate) struct LaunchRuns {
    settings: Arc<LaunchSettings>,
    /// The runs; the reason if there are none.
    pub(crate) service: Result<Arc<RunService>, String>,
    directory: Arc<OnceLock<Arc<Directory>>>,
}

impl LaunchRuns {
    /// The runs of a state directory.
    ///
    /// # Errors
    /// If the table of sites can't be read.
    pub(crate) fn open(
        state: &StateDir,
        store: &StoreHandle,
        config: &Config,
        telemetry: Telemetry,
        audit: Option<Arc<AuditLog>>,
    ) -> Result<Self, Failure> {
        let directory: Arc<OnceLock<Arc<Directory>>> = Arc::default();
        let section = &config.runs;
        let scratch = state.run().join("launch");
        let known = directory.clone();
        let roots = move |workspace: &str| -> Vec<PathBuf> {
            let name = WorkspaceName::new(workspace);
            let found = known.get().zip(name).and_then(|(directory, name)| directory.get(&name));
            found.map(|workspace| workspace.gate.root_set().roots().to_vec()).unwrap_or_default()
        };
        let settings = Arc::new(LaunchSettings {
            sites: sites(section)?,
            checkout: CheckoutSettings {
                rewrites: section
                    .rewrites
                    .iter()
                    .map(|rule| UrlRewrite { from: rule.from.clone(), to: rule.to.clone() })
                    .collect(),
                sources: section.sources.clone(),
                max_bytes: section.max_clone_mib.saturating_mul(1024 * 1024),
                limit: Duration::from_secs(CLONE_LIMIT_S),
            },
            publication: PublicationSettings {
                services: section
                    .services
                    .iter()
                    .map(|rule| AllowedService { base_url: rule.base_url.clone(), token_env: rule.token_env.clone() })
                    .collect(),
                request_limit: Duration::from_secs(SERVICE_REQUEST_LIMIT_S),
            },
            links: section.check_links.then(|| LinkChecker::new(&section.private_link_hosts)),
            hugo: section.hugo.clone(),
            scratch: scratch.clone(),
            roots: Arc::new(roots),
            on_publication: publication_observer(audit),
        });
        let limits = RunLimits {
            active: section.max_active,
            active_per_workspace: section.max_active_per_workspace,
            waiting_per_workspace: section.max_waiting_per_workspace,
            keep_work: Duration::from_secs(section.keep_work_days.saturating_mul(24 * 3_600)),
        };
        let code = Arc::new(LaunchStages::new(settings.clone()));
        let host = RunHost::open(code, &state.path().join("runs"), store.clone());
        if host.is_ok() {
            // The runs are this process's, so what a crashed one has left is nobody's.
            drop(std::fs::remove_dir_all(&scratch));
        }
        state.make(&scratch).map_err(|error| Failure::new(error_chain(&error)))?;
        let service = match host {
            Ok(host) => Ok(Arc::new(RunService::new(host, limits, telemetry))),
            Err(error) => {
                tracing::error!(%error, "launch runs aren't served");
                Err(error.to_string())
            }
        };
        Ok(Self { settings, service, directory })
    }

    /// Tells the runs which workspaces there are. Must be called before the first one is opened.
    pub(crate) fn know(&self, directory: Arc<Directory>) {
        // It is set once: the process has one directory.
        drop(self.directory.set(directory));
    }

    /// The calls of the catalog `launch`.
    pub(crate) fn calls(self) -> Arc<LaunchCalls> {
        Arc::new(LaunchCalls::new(self.service, self.settings))
    }
}

fn sites(section: &RunsSection) -> Result<Sites, Failure> {
    let Some(file) = &section.sites else { return Ok(Sites::builtin()) };
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::new(format!("cannot read the table of sites {shown}: {error}; check runs.sites in the configuration"))
    })?;
    Sites::parse(&text).map_err(|error| Failure::new(format!("{shown}: {error}; config/sites.toml is an example")))
}

/// Writes the audit lines of publications. Who asked for one is in the line of the call that names its run.
fn publication_observer(audit: Option<Arc<AuditLog>>) -> PublicationObserver {
    Arc::new(move |workspace: &str, run: &RunId, outcome: Result<&PullRequest, &StageError>| {
        let Some(audit) = &audit else { return };
        let arguments = match outcome {
            Ok(done) => json!({
                "run": run.to_string(), "service": done.service, "url": done.pr_url, "branch": done.branch, "commit": done.commit_sha,
            }),
            Err(_) => json!({ "run": run.to_string() }),
        };
        let tenant = WorkspaceName::new(workspace).map(|name| name.tenant());
        let event = AuditEvent {
            tenant: tenant.as_ref().map(TenantId::as_str),
            workspace: Some(workspace.into()),
            operation: Some("publish"),
            arguments: Some(arguments),
            ..AuditEvent::new(EventKind::Publication, outcome.map_or_else(|error| error.code, |_| "ok"))
        };
        audit.write(&event);
    })
}
