//! Handles [`Finish`], the second step of a query: accepts the result only if nothing has changed since the query began.

use std::time::Duration;

use actix::prelude::*;

use crate::query::file_looks::FileCheck;
use crate::query::messages::{ExecutionOutcome, Finish, FinishedResult};
use crate::query::no_answer::NoAnswer;
use crate::workspace::actor::Workspace;
use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;
use codeyard_lsp::documents::document_input::DocumentNow;
use codeyard_model::query::GatedQuery;

impl Handler<Finish> for Workspace {
    type Result = MessageResult<Finish>;

    fn handle(&mut self, finish: Finish, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.finish(finish))
    }
}

/// An execution that took this long is retained although another one might find more.
const RETAINED_AFTER: Duration = Duration::from_millis(1_500);

/// Between the key of a query and the number of a partial result, in the key of that result.
const PARTIAL: &str = "-partial";

/// Whether a cursor with the snapshot key `named` belongs to the query with the key `current`: to its result, or to a partial one.
pub(super) fn is_of_query(named: &str, current: &str) -> bool {
    named.strip_prefix(current).is_some_and(|rest| rest.is_empty() || rest.starts_with(PARTIAL))
}

impl Workspace {
    fn finish(&mut self, finish: Finish) -> ExecutionOutcome {
        self.executions.remove(&finish.snapshot_key);
        self.take_seen_changes();
        let mut edited = Vec::new();
        for (uri, observed) in finish.observed {
            if self.known.lock().record(uri.clone(), observed) == FileCheck::Changed {
                edited.push(uri);
            }
        }
        self.on_edits(&edited);
        let is_checked = self.is_watched() || self.apply_document(&finish.query, finish.document_now);
        let is_outdated =
            !is_checked || !self.epochs.seen_of(&finish.epochs.scope).agree(&finish.seen, finish.epochs.mask);
        if is_outdated && !seeded_faults::is_on("outdated_result_accepted") {
            return Err(NoAnswer::Changed);
        }
        let mut key = finish.snapshot_key;
        let notes = finish.result.notes();
        // A question that takes long would never be answered if its result were given to nobody who asks later.
        let may_improve = (notes.may_improve || notes.awaits_index) && finish.began.elapsed() < RETAINED_AFTER;
        if (notes.is_partial || may_improve) && !seeded_faults::is_on("partial_retained") {
            // A later execution may find more: a partial result answers the waiting callers, and is retained for their next pages alone.
            self.partial_results += 1;
            key = format!("{key}{PARTIAL}{}", self.partial_results);
        }
        let kept = self.setup.snapshots.lock().insert(key.clone(), finish.epochs, finish.result, Instant::now());
        self.publish_snapshots();
        Ok(FinishedResult { snapshot: kept?, key })
    }

    /// Applies what was found of the document of the query at the end, because there is no watcher. `false`: nobody looked, because there
    /// was a watcher then.
    fn apply_document(&mut self, query: &GatedQuery, now: Option<DocumentNow>) -> bool {
        match (query.uri(), now) {
            (Some(uri), Some(DocumentNow::Edited)) => {
                self.known.lock().forget(uri);
                self.on_edit(uri);
            }
            (Some(uri), Some(DocumentNow::Gone)) => self.on_deleted(uri),
            (Some(_), None) => return false,
            (None, _) | (_, Some(DocumentNow::AsRead)) => {}
        }
        true
    }
}
