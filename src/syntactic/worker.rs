//! The thread that holds the index: everything that comes in is done here in its order, one thing at a time.
//!
//! So a question sees what was told before it: documents as they are open, files as they are on disk, because the index is brought up
//! to date first. Invariant: a question that nobody waits for any more isn't begun.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::answers::Desk;
use super::library::Trouble;
use super::shelf::{Open, Shelf};
use super::tell::Teller;
use codeyard_index::project::Ends;
use codeyard_index::{JobError, Project, Stop};
use codeyard_lsp::encoding::PositionEncoding;

/// Something to do.
pub(crate) enum Task {
    /// Make the index, or bring it up to date.
    Index,
    /// A document is opened, by its path relative to the root, or changed as a whole.
    Open(String, String),
    /// Parts of an open document have changed.
    Edit(String, Vec<super::edits::Edit>),
    /// A document is closed.
    Close(String),
    /// A file has changed on disk, come or gone.
    Touched(String),
    /// A question.
    Ask(Question),
}

/// A question: it gets who answers, or why nobody can.
pub(crate) type Question = Box<dyn FnOnce(&Worker) + Send>;

/// See the module.
pub(crate) struct Worker {
    project: Arc<Project>,
    encoding: PositionEncoding,
    open: BTreeMap<String, Open>,
    teller: Teller,
    failure: Option<String>,
    has_begun: bool,
}

/// What changes which files there are.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".codeyardignore"];

impl Worker {
    /// For a project. `teller` says how far the index is.
    pub(crate) fn new(project: Arc<Project>, encoding: PositionEncoding, teller: Teller) -> Self {
        // The client tells what changes; what it tells before the first job is over makes another one.
        project.watch();
        Self { project, encoding, open: BTreeMap::new(), teller, failure: None, has_begun: false }
    }

    /// What ends the job that runs.
    pub(crate) fn stopper(&self) -> Stop {
        self.project.stopper()
    }

    /// Does what comes, until nothing can come any more.
    pub(crate) fn run(mut self, tasks: &Receiver<Task>) {
        while let Ok(task) = tasks.recv() {
            match task {
                Task::Index => self.sync(),
                Task::Open(path, text) => {
                    let open = Open::new(&path, text);
                    self.open.insert(path, open);
                }
                Task::Edit(path, edits) => self.edit(path, &edits),
                Task::Close(path) => {
                    self.open.remove(&path);
                    self.touched(path);
                }
                Task::Touched(path) => self.touched(path),
                Task::Ask(question) => {
                    if self.project.is_stale() {
                        self.sync();
                    }
                    question(&self);
                }
            }
        }
    }

    fn edit(&mut self, path: String, edits: &[super::edits::Edit]) {
        let Some(open) = self.open.get(&path) else { return };
        let text = super::edits::applied(&open.document, edits, self.encoding);
        let open = Open::new(&path, text);
        self.open.insert(path, open);
    }

    fn touched(&self, path: String) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        // Of a folder that has gone nobody tells file by file.
        let is_folder = || self.project.navigate().is_ok_and(|index| index.is_folder(&path));
        if IGNORE_FILES.contains(&name) || self.project.root().join(&path).is_dir() || is_folder() {
            self.project.changed_somehow();
        } else {
            self.project.changed([path]);
        }
    }

    /// Brings the index up to date, as long as that takes.
    fn sync(&mut self) {
        // What was told meanwhile is taken on by the next round; somebody who changes files without end doesn't hold up answers.
        for _ in 0..2 {
            let ticket = match self.project.prepare(None, false) {
                Ok(ticket) => ticket,
                // Nobody else prepares jobs in this process.
                Err(_) => return,
            };
            let telling = self.teller.begin(ticket.progress.clone(), !self.has_begun);
            let done = self.project.run(&ticket);
            drop(telling);
            self.has_begun = true;
            self.failure = match done {
                Ok(_) => None,
                Err(JobError::Stopped) => return,
                Err(error) => Some(error.to_string()),
            };
            if let Some(failure) = &self.failure {
                self.teller.complain(failure);
            }
            if !self.project.is_stale() || self.failure.is_some() {
                return;
            }
        }
    }

    /// Answers from what is published now, with the open documents over it.
    ///
    /// # Errors
    /// The index can't be made or read, or what `answer` says.
    pub(crate) fn answer<T>(
        &self,
        ends: Ends<'_>,
        answer: impl FnOnce(Desk<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if let Some(failure) = &self.failure {
            return Err(Trouble::Failed(format!("the index can't be made: {failure}")));
        }
        let index = self.project.navigate().map_err(|refusal| Trouble::Failed(refusal.message))?;
        let shelf = Shelf::new(index, &self.open, ends);
        answer(Desk { library: &shelf, root: self.project.root(), encoding: self.encoding })
    }
}

/// The folder of all indexes, and the root: what a worker is made from.
pub(crate) struct Place {
    /// The folder of all indexes.
    pub indexes: PathBuf,
    /// The root, a real path.
    pub root: PathBuf,
}

impl Place {
    /// The project.
    ///
    /// # Errors
    /// The folder of indexes can't be made; a sentence for people.
    pub(crate) fn project(&self) -> Result<Arc<Project>, String> {
        let settings = codeyard_index::project::settings::Settings::default();
        let project = Project::new(&self.indexes, &self.root, false, settings);
        project.map(Arc::new).map_err(|error| format!("the index folder can't be made: {error}"))
    }
}

/// A path as it really is, where it is anything.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
