//! The thread that owns the index. It handles everything that comes in one after the other, in order.
//!
//! So a request sees every message before it: the documents as they are open, and the files as they are on disk, because the index is
//! updated first. Invariant: a cancelled request is never started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::fact_source::SyntacticError;
use super::handlers::HandlerContext;
use super::index_overlay::{IndexOverlay, OpenDocument};
use super::progress::ProgressReporter;
use super::text_changes::{TextChange, apply_changes};
use codeyard_index::project::CancelCheck;
use codeyard_index::settings::IndexSettings;
use codeyard_index::{JobError, Project, StopSignal};
use codeyard_lsp::text::encoding::PositionEncoding;

pub(crate) enum WorkerTask {
    /// Build the index, or update it.
    Index,
    /// A document was opened: its path relative to the root, and its text.
    Open(String, String),
    /// Parts of an open document have changed.
    Edit(String, Vec<TextChange>),
    Close(String),
    /// A file was changed, created or deleted on disk.
    FileChanged(String),
    Request(PendingRequest),
}

/// A request that waits for the worker.
pub(crate) type PendingRequest = Box<dyn FnOnce(&IndexWorker) + Send>;

/// The state of the worker thread.
pub(crate) struct IndexWorker {
    project: Arc<Project>,
    encoding: PositionEncoding,
    open: BTreeMap<String, OpenDocument>,
    reporter: ProgressReporter,
    /// Why the last job failed.
    failure: Option<String>,
    /// Whether the first job is over.
    has_indexed: bool,
}

/// A change of one of these files can change which files are indexed.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".codeyardignore"];

impl IndexWorker {
    pub(crate) fn new(project: Arc<Project>, encoding: PositionEncoding, reporter: ProgressReporter) -> Self {
        // The client reports changes from now on. A change before the end of the first job causes a second job.
        project.watch();
        Self { project, encoding, open: BTreeMap::new(), reporter, failure: None, has_indexed: false }
    }

    /// The signal that stops the running job.
    pub(crate) fn stop_signal(&self) -> StopSignal {
        self.project.stop_signal()
    }

    /// Handles tasks until the sender is dropped.
    pub(crate) fn run(mut self, tasks: &Receiver<WorkerTask>) {
        while let Ok(task) = tasks.recv() {
            match task {
                WorkerTask::Index => self.update_index(),
                WorkerTask::Open(path, text) => {
                    let open = OpenDocument::new(&path, text);
                    self.open.insert(path, open);
                }
                WorkerTask::Edit(path, changes) => self.edit(path, &changes),
                WorkerTask::Close(path) => {
                    self.open.remove(&path);
                    self.file_changed(path);
                }
                WorkerTask::FileChanged(path) => self.file_changed(path),
                WorkerTask::Request(request) => {
                    if self.project.is_stale() {
                        self.update_index();
                    }
                    request(&self);
                }
            }
        }
    }

    fn edit(&mut self, path: String, changes: &[TextChange]) {
        let Some(open) = self.open.get(&path) else { return };
        let text = apply_changes(&open.document, changes, self.encoding);
        let open = open.edited(text);
        self.open.insert(path, open);
    }

    fn file_changed(&self, path: String) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        // A client reports a deleted folder as one path, without its files.
        let is_folder = || self.project.navigate().is_ok_and(|index| index.is_folder(&path));
        if IGNORE_FILES.contains(&name) || self.project.root().join(&path).is_dir() || is_folder() {
            self.project.mark_all_changed();
        } else {
            self.project.mark_changed([path]);
        }
    }

    /// Updates the index, however long that takes.
    fn update_index(&mut self) {
        // The second round takes the changes that were reported during the first. There is no third, so that a client that changes
        // files all the time doesn't delay requests without end.
        for _ in 0..2 {
            let ticket = match self.project.prepare(None, false) {
                Ok(ticket) => ticket,
                // Cannot happen: only this thread prepares jobs.
                Err(_) => return,
            };
            let guard = self.reporter.begin(ticket.progress.clone(), !self.has_indexed);
            let result = self.project.run(&ticket);
            drop(guard);
            self.has_indexed = true;
            self.failure = match result {
                Ok(_) => None,
                Err(JobError::Stopped) => return,
                Err(error) => Some(error.to_string()),
            };
            if let Some(failure) = &self.failure {
                self.reporter.log_error(failure);
            }
            if !self.project.is_stale() || self.failure.is_some() {
                return;
            }
        }
    }

    /// Answers a request from the published index, overlaid with the open documents.
    ///
    /// # Errors
    /// The index can't be built or read, or `handler` fails.
    pub(crate) fn handle<T>(
        &self,
        is_cancelled: CancelCheck<'_>,
        handler: impl FnOnce(HandlerContext<'_>) -> Result<T, SyntacticError>,
    ) -> Result<T, SyntacticError> {
        if let Some(failure) = &self.failure {
            return Err(SyntacticError::Failed(format!("could not build the index: {failure}")));
        }
        let index = self.project.navigate().map_err(|refusal| SyntacticError::Failed(refusal.message))?;
        let overlay = IndexOverlay::new(index, &self.open, is_cancelled);
        handler(HandlerContext { source: &overlay, root: self.project.root(), encoding: self.encoding })
    }
}

/// The folder of all indexes, and the root: the inputs of a project.
pub(crate) struct ProjectLocation {
    /// The folder of all indexes.
    pub indexes: PathBuf,
    /// The root, as a canonical path.
    pub root: PathBuf,
}

impl ProjectLocation {
    /// Opens the project.
    ///
    /// # Errors
    /// The index folder can't be created. The text is for people.
    pub(crate) fn project(&self) -> Result<Arc<Project>, String> {
        let project = Project::new(&self.indexes, &self.root, false, IndexSettings::default());
        project.map(Arc::new).map_err(|error| format!("could not create the index folder: {error}"))
    }
}

/// The canonical form of a path; the path itself if it doesn't exist.
pub(crate) fn canonical_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
