//! Where the files of a run are.
//!
//! Invariant: all of them are below one folder, which is named after the run. Source:
//! `docs/internals/reference/contract-launch.md#where-a-run-lives`.

use std::fmt::Display;
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

/// A file of a run for people and clients: from the folder of the run on. Where a server keeps its runs isn't a client's business.
pub(crate) fn shown(file: &Path) -> impl Display {
    let parts = file.components().map(|part| part.as_os_str().to_string_lossy());
    let parts: Vec<_> = parts.collect();
    let run = parts.iter().rposition(|part| RunId::parse(part).is_some());
    parts[run.unwrap_or(parts.len().saturating_sub(1))..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shown_from_the_folder_of_the_run_on() {
        let id = RunId::parse("r_2026-01-21T10-00-00Z_0123abcd").unwrap();
        let folder = RunFolder::new(Path::new("/var/lib/codeyard/runs"), &id);
        assert_eq!(shown(&folder.events()).to_string(), format!("{id}/events.ndjson"));
        assert_eq!(shown(Path::new("/srv/x/list.sqlite")).to_string(), "list.sqlite");
        assert_eq!(shown(Path::new("")).to_string(), "");
    }
}
