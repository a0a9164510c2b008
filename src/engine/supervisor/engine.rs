//! Starts the actors: on threads of their own in a service, on the current thread in tests with paused time.
//!
//! Invariant: the threads of a service are marked as ones that never touch a file ([`blocking::forbid_here`]).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use actix::prelude::*;
use actix_rt::{Arbiter, System};
use tokio::sync::watch;

use crate::limits;
use crate::redact;
use crate::supervisor::actor::{Supervisor, SupervisorParts};
use crate::supervisor::control::Control;
use crate::supervisor::directory::Directory;
use crate::supervisor::messages::{Configure, ConfigureError, ConfigureReport, DrainAll};
use crate::workspace::messages::WorkspaceHealth;
use crate::workspace::setup::EngineShared;
use codeyard_base::blocking;
use codeyard_config::Config;
use codeyard_process::launch::Launcher;
use codeyard_state::{RootsEpochs, StoreHandle};

/// The inputs of an engine.
pub struct EngineParts {
    /// The resources that all workspaces share.
    pub shared: EngineShared,
    /// The store of the state directory.
    pub store: StoreHandle,
    pub state: PathBuf,
    /// Where language servers may write.
    pub cache: PathBuf,
    /// Kinds chosen on the command line.
    pub chosen: Vec<String>,
}

/// The running actors.
pub struct Engine {
    directory: Arc<Directory>,
    launcher: Arc<dyn Launcher>,
    supervisor: Addr<Supervisor>,
    stop: watch::Sender<bool>,
    threads: Option<(System, JoinHandle<()>)>,
}

/// Why the engine rejected a configuration.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The configuration can't be applied.
    #[error(transparent)]
    Configure(#[from] ConfigureError),
    #[error("the supervisor has stopped")]
    Gone,
}

impl Engine {
    /// Starts the workspaces on `threads` threads, and the supervisor on one of its own, which no workspace can block.
    pub fn start(parts: EngineParts, threads: usize) -> io::Result<Self> {
        let (ready, started) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("codeyard-engine".into()).spawn(move || {
            blocking::forbid_here();
            let system = System::new();
            let engine = system.block_on(async move {
                let arbiters: Vec<_> = (0..threads.max(1)).map(|_| Arbiter::new().handle()).collect();
                for arbiter in &arbiters {
                    arbiter.spawn_fn(blocking::forbid_here);
                }
                Self::start_on(parts, arbiters)
            });
            drop(ready.send((engine, System::current())));
            if let Err(error) = system.run() {
                tracing::error!(error = %error, "the engine's thread ended");
            }
        })?;
        let (engine, system) = started.recv().map_err(io::Error::other)?;
        Ok(Self { threads: Some((system, thread)), ..engine })
    }

    /// Starts the actors on the current thread, which must have an actix system.
    pub fn start_here(parts: EngineParts) -> Self {
        Self::start_on(parts, vec![Arbiter::current()])
    }

    fn start_on(parts: EngineParts, arbiters: Vec<actix_rt::ArbiterHandle>) -> Self {
        redact::prepare();
        let directory = Arc::new(Directory::default());
        let launcher = parts.shared.launcher.clone();
        let (stop, stops) = watch::channel(false);
        let parts = SupervisorParts {
            shared: parts.shared,
            directory: directory.clone(),
            arbiters,
            epochs: RootsEpochs::new(parts.store.clone()),
            store: parts.store,
            state: parts.state,
            cache: parts.cache,
            chosen: parts.chosen,
            stop: stops,
        };
        Self { directory, launcher, supervisor: Supervisor::new(parts).start(), stop, threads: None }
    }

    /// Where calls find workspaces.
    pub fn directory(&self) -> Arc<Directory> {
        self.directory.clone()
    }

    /// Applies a configuration.
    pub async fn configure(&self, config: Config) -> Result<ConfigureReport, EngineError> {
        let applied = self.supervisor.send(Configure(Box::new(config))).await.map_err(|_| EngineError::Gone)?;
        Ok(applied?)
    }

    /// The operators' handle.
    pub fn control(&self) -> Control {
        Control::new(self.directory.clone(), self.launcher.clone(), self.supervisor.clone())
    }

    /// The health of all workspaces.
    pub async fn health(&self) -> Vec<WorkspaceHealth> {
        let overview = self.control().overview(None).await;
        overview.map(|overview| overview.healths.into_iter().flatten().collect()).unwrap_or_default()
    }

    /// Lets calls end, stops all language servers, then the actors and their threads. A thread that is stuck is left behind.
    pub async fn drain(mut self) {
        // A change that waits for roots is given up, so that the supervisor handles the next message.
        self.stop.send_replace(true);
        let limit = Duration::from_millis(limits::DRAIN_ALL_MS);
        match tokio::time::timeout(limit, self.supervisor.send(DrainAll)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => tracing::warn!("the supervisor was gone before it could drain"),
            Err(_) => tracing::error!("the supervisor is stuck; language servers end with this process"),
        }
        if let Some((system, thread)) = self.threads.take() {
            system.stop();
            let limit = Duration::from_millis(limits::THREAD_END_MS);
            let joined = tokio::task::spawn_blocking(move || thread.join());
            if tokio::time::timeout(limit, joined).await.is_err() {
                tracing::error!("a thread of the engine is stuck; it ends with this process");
            }
        }
    }
}
