//! The second step of a question: the result is taken only if nothing has changed since it began.

use actix::prelude::*;

use super::*;
use crate::known_files::Look;

impl Handler<Finish> for Workspace {
    type Result = MessageResult<Finish>;

    fn handle(&mut self, finish: Finish, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.finish(finish))
    }
}

impl Workspace {
    fn finish(&mut self, finish: Finish) -> Outcome {
        self.runs.remove(&finish.snapshot_key);
        self.take_seen_changes();
        let mut edited = Vec::new();
        for (uri, observed) in finish.observed {
            if self.known.learn(uri.clone(), observed) == Look::Changed {
                edited.push(uri);
            }
        }
        self.on_edits(&edited);
        if !self.is_watched() {
            self.look_again(&finish.query);
        }
        if !self.seen.agree(&finish.seen, finish.query.epoch_mask()) {
            return Outcome::Changed;
        }
        let key = finish.snapshot_key;
        if finish.result.notes().is_partial {
            // Another time there may be more: it answers those who have waited, and nobody goes on from it later.
            return Outcome::Done { snapshot: Arc::new(Snapshot::new(finish.result)), key: format!("{key}-partial") };
        }
        let kept = self.snapshots.insert(key.clone(), finish.result, Instant::now());
        self.tell_snapshots();
        match kept {
            Ok(snapshot) => Outcome::Done { snapshot, key },
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Compares the document asked about with disk once more: nobody tells of its changes.
    fn look_again(&mut self, query: &GatedQuery) {
        match query.uri().map(|uri| (uri, self.known.look(uri))) {
            Some((uri, Ok(Look::Changed))) => self.on_edit(uri),
            Some((uri, Err(_))) => self.on_gone(uri),
            _ => {}
        }
    }
}
