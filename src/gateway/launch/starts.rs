//! Starts of runs: from a configuration, from a product page, from a repository.
//!
//! Reading a repository takes long, so it goes on when its call ends, and a call with the same arguments waits for the same reading. Invariants: a
//! start is durable before it is answered; starts that read the same repository for the same principal make one run.

use std::collections::HashMap;

use codeyard_base::blocking;
use codeyard_engine::workspace::messages::{StartRun, StartedRun};
use codeyard_launch::request::repository_inference::GithubRepository;
use codeyard_launch::request::run_config::RunConfig;
use codeyard_launch::request::run_request::{self, RunRequest};
use codeyard_launch::workflow::states::LAUNCH;
use codeyard_model::launch::{LaunchAnswer, LaunchRefusal, LaunchSource, tools};
use codeyard_runs::durable_run::RunStart;
use codeyard_runs::run_host::StartKey;
use codeyard_runs::run_store::IdempotencyKey;
use codeyard_runs::stage::StopFlag;
use codeyard_telemetry::CallTrace;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::limits::MAX_REPOSITORY_READINGS;

use super::errors::{of_open, of_stage, of_start, of_storage};
use super::{Answered, LaunchCall, object};

/// Starts from repositories that are in progress, by workspace, principal, URL and key.
pub(super) struct Discoveries {
    starts: Mutex<HashMap<[String; 4], Shared<BoxFuture<'static, Answered>>>>,
    /// Each reading is a clone, so only some happen at once.
    readings: Semaphore,
}

impl Default for Discoveries {
    fn default() -> Self {
        Self { starts: Mutex::default(), readings: Semaphore::new(MAX_REPOSITORY_READINGS) }
    }
}

/// Starts a run.
pub(super) async fn start(call: &LaunchCall, source: &LaunchSource, key: Option<&str>, trace: &CallTrace) -> Answered {
    let sites = &call.calls.settings.sites;
    let (request, tool) = match source {
        LaunchSource::Config(config) => (run_request::from_config(sites, config), tools::START),
        LaunchSource::ProductUrl(url) => (run_request::from_product_url(sites, url), tools::START_FROM_URL),
        LaunchSource::RepositoryUrl(url) => return from_repository(call, url, key, trace).await,
    };
    begin(call, request.map_err(of_stage)?, keyed(call, tool, key), trace).await
}

/// The key of a principal for a tool. Workspaces are apart.
fn keyed(call: &LaunchCall, tool: &str, key: Option<&str>) -> Option<IdempotencyKey> {
    key.map(|key| IdempotencyKey::new(&format!("{}/{}", call.workspace.name, call.principal.key()), tool, key))
}

/// Waits for the start from this repository that is in progress, or begins one.
async fn from_repository(call: &LaunchCall, url: &str, key: Option<&str>, trace: &CallTrace) -> Answered {
    let repository = GithubRepository::parse(url).ok_or_else(|| {
        let message = "the text isn't the URL of a repository on GitHub; write https://github.com/OWNER/NAME";
        LaunchRefusal::new("INVALID_URL", message)
    })?;
    let place = [
        call.workspace.name.to_string(),
        call.principal.key(),
        repository.url(),
        key.map(|key| format!("={key}")).unwrap_or_default(),
    ];
    let started = {
        let mut discoveries = call.calls.discoveries.starts.lock();
        match discoveries.get(&place) {
            Some(started) => started.clone(),
            None => {
                let work = LaunchCall {
                    calls: call.calls.clone(),
                    workspace: call.workspace.clone(),
                    request: call.request.clone(),
                    principal: call.principal.clone(),
                };
                let key = key.map(str::to_owned);
                let trace = trace.clone();
                let own = place.clone();
                // The task goes on when the call ends.
                let task = tokio::spawn(async move {
                    let started = discover(&work, repository, key.as_deref(), &trace).await;
                    work.calls.discoveries.starts.lock().remove(&own);
                    started
                });
                let started = async move {
                    task.await.unwrap_or_else(|_| Err(of_storage(&"reading the repository failed; try again")))
                };
                let started = started.boxed().shared();
                discoveries.insert(place, started.clone());
                started
            }
        }
    };
    started.await
}

async fn discover(call: &LaunchCall, repository: GithubRepository, key: Option<&str>, trace: &CallTrace) -> Answered {
    let settings = call.calls.settings.clone();
    // The semaphore is never closed.
    let _turn = call.calls.discoveries.readings.acquire().await.ok();
    let read = blocking::spawn(move || {
        let found = settings.discover(&repository, &StopFlag::default())?;
        run_request::from_repository(&settings.sites, &repository, &found.facts, &found.head)
    });
    let request = read.await.map_err(|_| of_storage(&"reading the repository failed; try again"))?.map_err(of_stage)?;
    begin(call, request, keyed(call, tools::START_FROM_REPOSITORY, key), trace).await
}

/// Creates the run, or finds the one of an earlier start with this key.
async fn begin(call: &LaunchCall, request: RunRequest, key: Option<IdempotencyKey>, trace: &CallTrace) -> Answered {
    let RunRequest { config, digest, mut derived } = request;
    call.calls.settings.check(&config, call.workspace.name.as_str()).map_err(of_stage)?;
    let start = RunStart {
        workspace: String::new(),
        subject: config.product_slug.clone(),
        advance: config.advance,
        config: config.to_value(),
    };
    let key = key.map(|key| StartKey { key, config_sha256: digest });
    let message = StartRun { start, key, trace: call.context(trace) };
    let started =
        call.workspace.actor.send(message).await.map_err(|_| of_storage(&"the workspace is being stopped"))?;
    let StartedRun { id, is_replayed } = started.map_err(of_start)?;
    trace.update(|record| record.run = Some(id.as_str().to_owned()));
    let mut members = json!({"run_id": id.as_str(), "state": LAUNCH.first().name});
    if is_replayed {
        let (state, config) = replayed(call, id.as_str()).await?;
        members["state"] = state.into();
        members["replayed"] = true.into();
        // The commit of the run that exists, not of this call.
        if let Some(derived) = derived.as_mut().filter(|derived| derived.get("github_ref").is_some()) {
            *derived = run_request::derived_from_repository(&config);
        }
    }
    if let Some(derived) = derived {
        members["derived_config"] = derived;
    }
    Ok(LaunchAnswer::Object(object(members)))
}

/// The state and the configuration of a run that exists.
async fn replayed(call: &LaunchCall, run_id: &str) -> Result<(&'static str, RunConfig), LaunchRefusal> {
    let run = super::open(call, run_id).await?;
    let config = super::config_of(&run);
    let old = || {
        of_open(run_id, &codeyard_engine::run::OpenRunError::Unavailable("another version has started the run".into()))
    };
    Ok((run.status().view.progress.state.name, config.ok_or_else(old)?))
}
