//! Opens the roots of workspaces for the supervisor, on the blocking pool.
//!
//! The supervisor handles nothing else meanwhile, so changes stay in order. Invariants: a root on a file system that hangs fails its own
//! workspace, after [`limits::MAX_ROOT_OPEN_MS`]; at most [`limits::MAX_ROOT_OPENS`] threads of the pool open roots, those included that
//! nobody waits for any more.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::future::join_all;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::limits;
use crate::supervisor::actor::Supervisor;
use codeyard_base::blocking;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::WorkspaceConfig;
use codeyard_files::gate::Gate;

/// A workspace with its roots and extra roots.
type Key = (WorkspaceName, Vec<PathBuf>, Vec<PathBuf>);

/// The gates that were opened for the change that is being applied.
pub(super) struct RootOpening {
    places: Arc<Semaphore>,
    opened: BTreeMap<Key, Result<Gate, String>>,
}

impl Default for RootOpening {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(limits::MAX_ROOT_OPENS)), opened: BTreeMap::new() }
    }
}

impl RootOpening {
    /// The gate of a workspace. `None`: it wasn't opened for this change.
    pub(super) fn gate(&self, config: &WorkspaceConfig) -> Option<Result<Gate, String>> {
        self.opened.get(&key(config)).cloned()
    }
}

impl Supervisor {
    /// Opens the roots of these workspaces, and then applies a change.
    pub(super) fn after_opening<'c, T: 'static>(
        &mut self,
        workspaces: impl IntoIterator<Item = &'c WorkspaceConfig>,
        change: impl FnOnce(&mut Self, &mut Context<Self>) -> T + 'static,
    ) -> AtomicResponse<Self, T> {
        let opening: Vec<_> =
            workspaces.into_iter().map(|config| open(self.roots.places.clone(), key(config))).collect();
        let applied = join_all(opening).into_actor(self).map(move |opened, supervisor, ctx| {
            supervisor.roots.opened = opened.into_iter().collect();
            let done = change(supervisor, ctx);
            supervisor.roots.opened.clear();
            done
        });
        AtomicResponse::new(Box::pin(applied))
    }
}

fn key(config: &WorkspaceConfig) -> Key {
    (config.name.clone(), config.roots.clone(), config.extra_roots.clone())
}

async fn open(places: Arc<Semaphore>, key: Key) -> (Key, Result<Gate, String>) {
    let (_, roots, extra_roots) = key.clone();
    let opening = async move {
        let place = places.acquire_owned().await;
        let open = move || {
            let _place = place;
            Gate::open(&roots, &extra_roots).map_err(|error| error.to_string())
        };
        blocking::spawn(open).await.unwrap_or_else(|_| Err("opening its roots failed".to_owned()))
    };
    let opened = timeout(Duration::from_millis(limits::MAX_ROOT_OPEN_MS), opening).await;
    (key, opened.unwrap_or_else(|_| Err("the file system of its roots does not answer".to_owned())))
}
