//! The second step of a question: the result is taken only if nothing has changed since it began.

use actix::prelude::*;

use super::*;
use crate::engine::known_files::Look;

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
        for (uri, observed) in finish.observed {
            if self.known.learn(uri.clone(), observed) == Look::Changed {
                self.on_edit(&uri);
            }
        }
        if self.snapshot_key(&finish.query, &finish.request_key) != finish.snapshot_key {
            return Outcome::Changed;
        }
        let key = finish.snapshot_key;
        match self.snapshots.insert(key.clone(), finish.result, Instant::now()) {
            Ok(snapshot) => Outcome::Done { snapshot, key },
            Err(error) => Outcome::Failed(error),
        }
    }
}
