//! Where the files of a run are.
//!
//! Invariant: all of them are below one folder, which is named after the run. Source: `docs/contract-launch.md#where-a-run-lives`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::run_id::RunId;

/// The folders of a run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    top: PathBuf,
}

impl RunFolder {
    /// The folder of `id` below the folder of all runs.
    pub fn new(runs: &Path, id: &RunId) -> Self {
        Self { top: runs.join(id.as_str()) }
    }

    /// The folder itself.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The configuration that the run was started with.
    pub fn config(&self) -> PathBuf {
        self.top.join("run_config.json")
    }

    /// The log of events.
    pub fn events(&self) -> PathBuf {
        self.top.join("events.ndjson")
    }

    /// A readable state of the run; it is made from the events again if it is lost.
    pub fn snapshot(&self) -> PathBuf {
        self.top.join("snapshot.json")
    }

    /// The artifacts.
    pub fn artifacts(&self) -> PathBuf {
        self.top.join("artifacts")
    }

    /// The working copies.
    pub fn work(&self) -> PathBuf {
        self.top.join("work")
    }

    /// The drafts.
    pub fn drafts(&self) -> PathBuf {
        self.top.join("drafts")
    }

    /// The logs of stages.
    pub fn logs(&self) -> PathBuf {
        self.top.join("logs")
    }

    /// Creates the folders.
    pub(crate) fn make(&self) -> io::Result<()> {
        fs::create_dir_all(&self.top)?;
        for folder in [self.artifacts(), self.work(), self.drafts(), self.logs()] {
            fs::create_dir_all(folder)?;
        }
        self.top.parent().map_or(Ok(()), |runs| fs::File::open(runs)?.sync_all())
    }
}
