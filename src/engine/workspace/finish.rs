//! Handles [`Finish`], the second step of a query: accepts the result only if nothing has changed since the query began.

use std::sync::Arc;

use actix::prelude::*;

use crate::query::known_files::FileCheck;
use crate::query::messages::{ExecutionOutcome, Finish};
use crate::workspace::actor::Workspace;
use codeyard_base::clock::Instant;
use codeyard_model::query::GatedQuery;
use codeyard_paging::Snapshot;

impl Handler<Finish> for Workspace {
    type Result = MessageResult<Finish>;

    fn handle(&mut self, finish: Finish, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.finish(finish))
    }
}

impl Workspace {
    fn finish(&mut self, finish: Finish) -> ExecutionOutcome {
        self.executions.remove(&finish.snapshot_key);
        self.take_seen_changes();
        let mut edited = Vec::new();
        for (uri, observed) in finish.observed {
            if self.known.record(uri.clone(), observed) == FileCheck::Changed {
                edited.push(uri);
            }
        }
        self.on_edits(&edited);
        if !self.is_watched() {
            self.recheck_document(&finish.query);
        }
        if !self.seen.agree(&finish.seen, finish.query.epoch_mask()) {
            return ExecutionOutcome::Changed;
        }
        let key = finish.snapshot_key;
        if finish.result.notes().is_partial {
            // A later execution may find more: a partial result answers the waiting callers and is not retained.
            return ExecutionOutcome::Done {
                snapshot: Arc::new(Snapshot::new(finish.result)),
                key: format!("{key}-partial"),
            };
        }
        let kept = self.setup.snapshots.lock().insert(key.clone(), finish.result, Instant::now());
        self.publish_snapshots();
        match kept {
            Ok(snapshot) => ExecutionOutcome::Done { snapshot, key },
            Err(error) => ExecutionOutcome::Failed(error),
        }
    }

    /// Compares the document of the query with the disk again, because there is no watcher.
    fn recheck_document(&mut self, query: &GatedQuery) {
        match query.uri().map(|uri| (uri, self.known.check(uri))) {
            Some((uri, Ok(FileCheck::Changed))) => self.on_edit(uri),
            Some((uri, Err(_))) => self.on_deleted(uri),
            _ => {}
        }
    }
}
