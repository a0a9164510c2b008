//! The resources that the code indexes of all workspaces share; opens the projects of a workspace.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::indexer::policy::IndexPolicy;
use crate::limits;
use crate::status::registry::IndexSize;
use codeyard_base::clock::Instant;
use codeyard_index::Project;
use codeyard_state::{INDEX_FOLDER, StoreHandle, Warmset};

/// The resources that the code indexes of all workspaces of a process share.
pub struct Indexes {
    folder: PathBuf,
    /// The workspaces that used their index most recently.
    pub warmset: Warmset,
    /// Bounds the queries that run at the same time.
    pub places: Arc<Semaphore>,
    /// Number of queries that wait for a permit.
    waiting: AtomicUsize,
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
            folder: state.join(INDEX_FOLDER),
            warmset: Warmset::open(store),
            places: Arc::new(Semaphore::new(limits::MAX_CODE_QUERIES)),
            waiting: AtomicUsize::new(0),
            began: Instant::now(),
        }
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

    /// Opens the projects of a workspace, and writes down which jobs the end of a process cut short. Blocks.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn open(&self, roots: &[PathBuf], policy: &IndexPolicy) -> io::Result<Opened> {
        let mut opened = Opened { projects: Vec::new(), indexed: Vec::new(), sizes: Vec::new() };
        for root in roots {
            let project = Project::new(&self.folder, root, roots.len() > 1, policy.settings.clone())?;
            if let Err(error) = project.reconcile() {
                tracing::warn!(%error, project = project.id(), "interrupted jobs of the code index can't be saved");
            }
            opened.indexed.push(project.health(None).last_indexed_at.is_some());
            opened.sizes.push(size(&project));
            opened.projects.push(Arc::new(project));
        }
        Ok(opened)
    }
}

/// Newly opened projects.
pub struct Opened {
    pub(super) projects: Vec<Arc<Project>>,
    /// Whether the working tree of each was ever indexed.
    pub(super) indexed: Vec<bool>,
    pub(super) sizes: Vec<IndexSize>,
}

/// The size of the index of a project.
pub fn size(project: &Project) -> IndexSize {
    let health = project.health(None);
    let (folder, bytes) = project.disk_usage();
    IndexSize { files: health.file_count, symbols: health.symbol_count, folder, bytes }
}
