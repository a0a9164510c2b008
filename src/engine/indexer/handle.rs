//! Gives queries access to the projects of a workspace and to the indexer that builds them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::prelude::*;

use crate::indexer::actor::Indexer;
use crate::indexer::messages::Edited;
use crate::indexer::running_queries::RunningQueries;
use crate::indexer::state::IndexState;
use crate::query::index_comparison::NameIndex;
use codeyard_base::clock::Instant;
use codeyard_complete::index_comparison::{AskedName, NameRecord, RecordFailure};
use codeyard_index::Project;

/// Access to the projects and the indexer. Cheap to clone.
#[derive(Clone)]
pub struct IndexHandle {
    /// One project per root, in the roots' order.
    pub projects: Arc<[Arc<Project>]>,
    /// The actor that builds their indexes.
    pub indexer: Addr<Indexer>,
    /// The queries that run.
    pub queries: Arc<RunningQueries>,
    /// The state of the indexer.
    pub state: Arc<IndexState>,
}

impl IndexHandle {
    /// Sets whether the changes in the working trees are reported to the projects.
    pub fn set_watched(&self, is_watched: bool) {
        if self.state.is_watched.swap(is_watched, Ordering::Relaxed) == is_watched {
            return;
        }
        for project in self.projects.iter() {
            if is_watched { project.watch() } else { project.unwatch() }
        }
        if is_watched {
            self.edited((0..self.projects.len()).collect());
        }
    }

    /// Files below these roots have changed, and the projects know it.
    pub fn edited(&self, roots: Vec<usize>) {
        // If the mailbox is full, it holds such a message already, and the next query finds the index behind.
        drop(self.indexer.try_send(Edited(roots)));
    }
}

impl NameIndex for IndexHandle {
    fn read(&self, asked: &AskedName, end: Instant) -> Result<NameRecord, RecordFailure> {
        let _running = self.queries.begin().ok_or(RecordFailure::Impossible)?;
        let record = NameRecord::read(&self.projects, asked, &|| Instant::now() > end);
        // An index that nobody keeps up to date stays as it is.
        record
            .map_err(|why| if self.state.is_watched.load(Ordering::Relaxed) { why } else { RecordFailure::Impossible })
    }
}
