//! The resources that the code indexes of all workspaces share; opens the projects of a workspace.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::indexer::health;
use crate::indexer::policy::IndexPolicy;
use crate::indexer::running_queries::{AllQueries, QueryTurn};
use crate::limits;
use crate::status::index_status::IndexHealth;
use crate::status::registry::IndexSize;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_base::ids::TenantId;
use codeyard_index::Project;
use codeyard_state::{StoreHandle, Warmset, index_folder};

/// The resources that the code indexes of all workspaces of a process share.
pub struct Indexes {
    /// The state directory.
    folder: PathBuf,
    /// The workspaces that used their index most recently.
    pub warmset: Warmset,
    /// Bounds the queries that run at the same time.
    pub places: Arc<Semaphore>,
    /// Bounds those of them that calls to groups use.
    pub group_places: Arc<Semaphore>,
    /// The queries that run, of all workspaces.
    pub(super) queries: Arc<AllQueries>,
    /// Bounds the jobs that read all files of a root at the same time.
    pub(super) full_jobs: Arc<Semaphore>,
    /// The turns of jobs that update an index.
    pub(super) updates: Arc<Semaphore>,
    /// Number of queries that wait for a permit.
    waiting: AtomicUsize,
    /// The warm set has changed since it was stored.
    is_warmset_changed: AtomicBool,
    /// A task stores the warm set, or waits to store it again.
    is_warmset_stored_later: AtomicBool,
    began: Instant,
}

/// Counts one waiting query until it is dropped.
pub struct WaitingQuery<'i>(&'i Indexes);

impl Drop for WaitingQuery<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Indexes {
    /// Those in the state directory at `state`.
    pub fn in_state(state: &Path, store: StoreHandle) -> Self {
        Self {
            folder: state.to_owned(),
            warmset: Warmset::open(store),
            places: Arc::new(Semaphore::new(limits::MAX_CODE_QUERIES)),
            group_places: Arc::new(Semaphore::new(limits::MAX_WORKSPACE_CODE_QUERIES)),
            queries: Arc::default(),
            full_jobs: Arc::new(Semaphore::new(limits::MAX_FULL_INDEX_JOBS)),
            updates: Arc::new(Semaphore::new(limits::MAX_INDEX_UPDATES)),
            waiting: AtomicUsize::new(0),
            is_warmset_changed: AtomicBool::new(false),
            is_warmset_stored_later: AtomicBool::new(false),
            began: Instant::now(),
        }
    }

    /// The share of a call to a group that uses up to `most` threads; it waits for one.
    pub async fn group_turn(&self, most: usize) -> Option<QueryTurn> {
        let _waiting = self.start_waiting();
        some_of(&self.group_places, most).await.map(QueryTurn::from)
    }

    /// Counts a query as waiting until the result is dropped.
    pub fn start_waiting(&self) -> WaitingQuery<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingQuery(self)
    }

    /// Number of queries that wait for a permit.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Seconds since the process began to serve.
    pub fn uptime_s(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    /// Writes down which workspaces used theirs last. Blocks.
    pub fn write_warmset(&self) {
        if let Err(error) = self.warmset.save() {
            tracing::warn!(%error, "the warm set can't be saved");
        }
    }

    /// Stores the warm set in the background: at once, and then no more often than every [`limits::WARMSET_WRITE_MS`]. When queries go to
    /// many workspaces in turn, each one changes it.
    pub fn store_warmset(self: &Arc<Self>) {
        self.is_warmset_changed.store(true, Ordering::SeqCst);
        if self.is_warmset_stored_later.swap(true, Ordering::SeqCst) {
            return;
        }
        let indexes = self.clone();
        tokio::spawn(async move {
            while indexes.is_warmset_changed.swap(false, Ordering::SeqCst) {
                let writer = indexes.clone();
                // If it fails, the log says so.
                blocking::spawn(move || writer.write_warmset()).await.ok();
                tokio::time::sleep(Duration::from_millis(limits::WARMSET_WRITE_MS)).await;
            }
            indexes.is_warmset_stored_later.store(false, Ordering::SeqCst);
            if indexes.is_warmset_changed.load(Ordering::SeqCst) {
                indexes.store_warmset();
            }
        });
    }

    /// Opens the projects of a workspace, and writes down which jobs the end of a process cut short. Blocks.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn open(&self, tenant: &TenantId, roots: &[PathBuf], policy: &IndexPolicy) -> io::Result<Opened> {
        let folder = index_folder(&self.folder, tenant);
        let mut opened = Opened { projects: Vec::new(), indexed: Vec::new(), sizes: Vec::new(), healths: Vec::new() };
        for root in roots {
            let project = Project::new(&folder, root, roots.len() > 1, policy.settings.clone())?;
            if let Err(error) = project.reconcile() {
                tracing::warn!(%error, project = project.id(), "interrupted jobs of the code index can't be saved");
            }
            let health = health::for_operators(&project);
            opened.indexed.push(health.last_indexed_at.is_some());
            opened.sizes.push(size(&project, &health));
            opened.healths.push(health);
            opened.projects.push(Arc::new(project));
        }
        Ok(opened)
    }
}

/// Waits for one permit, and takes more if they are free, up to `most`. Waiting for several would hold up those behind that need only one.
pub async fn some_of(permits: &Arc<Semaphore>, most: usize) -> Option<OwnedSemaphorePermit> {
    let mut taken = permits.clone().acquire_owned().await.ok()?;
    while taken.num_permits() < most
        && let Ok(more) = permits.clone().try_acquire_owned()
    {
        taken.merge(more);
    }
    Some(taken)
}

/// Newly opened projects.
pub struct Opened {
    pub(super) projects: Vec<Arc<Project>>,
    /// Whether the working tree of each was ever indexed.
    pub(super) indexed: Vec<bool>,
    pub(super) sizes: Vec<IndexSize>,
    pub(super) healths: Vec<IndexHealth>,
}

/// The size of the index of a project in this health. Blocks.
pub(super) fn size(project: &Project, health: &IndexHealth) -> IndexSize {
    let (folder, bytes, text_bytes) = project.disk_usage();
    IndexSize { files: health.files, symbols: health.symbols, folder, bytes, text_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_state::{SqliteStore, WarmWorkspace};

    #[tokio::test(start_paused = true)]
    async fn who_wants_several_permits_holds_up_nobody() {
        let permits = Arc::new(Semaphore::new(4));
        let others = permits.clone().acquire_many_owned(3).await.unwrap();
        let one = some_of(&permits, 8).await.unwrap();
        assert_eq!((one.num_permits(), permits.available_permits()), (1, 0));
        drop(others);
        assert_eq!(some_of(&permits, 2).await.unwrap().num_permits(), 2);
        assert_eq!(some_of(&permits, 8).await.unwrap().num_permits(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn uses_in_quick_succession_are_stored_together_and_none_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let store: StoreHandle = Arc::new(SqliteStore::open(dir.path()).unwrap());
        let indexes = Arc::new(Indexes::in_state(dir.path(), store.clone()));
        indexes.warmset.configure(true, 1);
        let root =
            |number: usize| WarmWorkspace::new(&TenantId::default_tenant(), &[PathBuf::from(format!("/w{number}"))]);
        let is_stored = |number: usize| {
            let stored = Warmset::open(store.clone());
            stored.configure(true, 1);
            stored.contains(&root(number))
        };
        indexes.warmset.record_use(&root(0));
        indexes.store_warmset();
        let began = tokio::time::Instant::now();
        while !is_stored(0) {
            tokio::task::yield_now().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO, "the first use is stored at once");
        for number in 1..50 {
            indexes.warmset.record_use(&root(number));
            indexes.store_warmset();
        }
        tokio::time::sleep(Duration::from_millis(limits::WARMSET_WRITE_MS - 1)).await;
        assert!(is_stored(0), "nothing else is stored for a while");
        while !is_stored(49) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
