//! Rows 7 to 11 of the way of a request, as one future: begin, wait, run, page. Dropping it cancels whatever it waits for. Questions of
//! the code index take the way of [`code`].
//!
//! It keeps a board on which it writes what it is waiting for, so that a deadline can say where the call was.

use std::sync::Arc;

use parking_lot::Mutex;

use super::code;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_engine::directory::WorkspaceHandle;
use codeyard_engine::execution::Outcome;
use codeyard_engine::operation;
use codeyard_engine::server_state::{Down, ServerState, Unavailable};
use codeyard_engine::state_watch;
use codeyard_engine::workspace::{Begin, Begun, Wait};
use codeyard_files::gate::FileStamp;
use codeyard_model::answer::Answer;
use codeyard_model::error::{Phase, ToolError};
use codeyard_model::limits;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_telemetry::CallTrace;

/// What a call is waiting for right now.
#[derive(Default)]
pub(crate) enum Waiting {
    /// Its turn.
    #[default]
    Queued,
    /// The workspace's first look at its files, or for its programs.
    Preparing,
    /// The first index of its code.
    Index,
    /// What is asked of several files at once.
    Each(Vec<Board>),
    /// Language servers that aren't ready.
    Servers(Vec<state_watch::Receiver>),
    /// An answer.
    Answer,
}

/// Where a call writes what it is waiting for. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Board(Arc<Mutex<Waiting>>);

impl Board {
    pub(super) fn write(&self, waiting: Waiting) {
        *self.0.lock() = waiting;
    }

    /// The phase, and how far the first unready server says it is.
    pub(crate) fn read(&self) -> (Phase, Option<String>) {
        match &*self.0.lock() {
            Waiting::Queued => (Phase::Queued, None),
            Waiting::Preparing => (Phase::Starting, None),
            Waiting::Index => (Phase::Indexing, None),
            Waiting::Answer => (Phase::Answering, None),
            Waiting::Each(boards) => {
                let unready = boards.iter().map(Self::read).find(|(phase, _)| *phase != Phase::Answering);
                unready.unwrap_or((Phase::Answering, None))
            }
            Waiting::Servers(states) => {
                let pending = states.iter().map(|state| state.borrow().clone()).find(ServerState::is_pending);
                pending.map_or((Phase::Answering, None), |state| (state.phase(), state.progress()))
            }
        }
    }

    /// Why a server that is waited for failed, if it's being started again.
    fn failing(&self) -> Option<Down> {
        let Waiting::Servers(states) = &*self.0.lock() else { return None };
        states.iter().find_map(|state| match &*state.borrow() {
            ServerState::Restarting(down) => Some(down.clone()),
            _ => None,
        })
    }

    /// The error of a call whose time ran out here.
    pub(crate) fn timeout(&self) -> ToolError {
        if let Some(down) = self.failing() {
            return Unavailable::new("", down.reason, down.message, "codeyard doctor").to_error();
        }
        let (phase, progress) = self.read();
        ToolError::timeout(phase, progress, limits::RETRY_AFTER_MS)
    }
}

/// Answers `query`, whose document the gate has `seen` like this a moment ago. It has no deadline of its own; `deadline` only
/// tells those below when the asker will have gone.
pub(crate) async fn answer(
    workspace: &WorkspaceHandle,
    (query, seen): (Arc<GatedQuery>, Option<FileStamp>),
    deadline: Deadline,
    board: &Board,
    call: &CallTrace,
) -> Result<Answer, ToolError> {
    match &*query {
        Query::Code(asked) => code::answer(workspace, asked, deadline, board, call).await.map(Answer::Code),
        _ => of_servers(workspace, (query, seen), deadline, board, call).await,
    }
}

/// The same for what language servers are asked.
pub(super) async fn of_servers(
    workspace: &WorkspaceHandle,
    (query, mut seen): (Arc<GatedQuery>, Option<FileStamp>),
    deadline: Deadline,
    board: &Board,
    call: &CallTrace,
) -> Result<Answer, ToolError> {
    loop {
        if let Some(subscription) = workspace.watch.get() {
            subscription.barrier().await;
        }
        let begin = Begin { query: query.clone(), seen: seen.take(), deadline, call: call.clone() };
        let begun = workspace.actor.send(begin).await.map_err(|_| ToolError::internal())??;
        match begun {
            Begun::Hit { snapshot, offset, request_key, snapshot_key } => {
                return Ok(codeyard_paging::page(&snapshot, window(&query, offset), &request_key, &snapshot_key));
            }
            Begun::Wait(wait) => {
                // Before its time is up the workspace looks once more whom it can do without.
                let late = operation::last_moment(deadline);
                let looks_again = operation::asks_for_name(&query) && Instant::now() < late;
                tokio::select! {
                    biased;
                    () = wait_for(wait, board, call) => {}
                    () = tokio::time::sleep_until(late), if looks_again => {}
                }
            }
            Begun::Run { run, is_shared, request_key } => {
                board.write(Waiting::Answer);
                let waited = is_shared.then(|| call.wait_for_shared());
                let outcome = run.await;
                drop(waited);
                match outcome {
                    // Its starter's time is up, not this call's: whoever was left behind may answer yet.
                    Outcome::Done { snapshot, .. }
                        if is_shared
                            && snapshot.result().notes().is_partial
                            && Instant::now() < operation::last_moment(deadline) =>
                    {
                        tokio::task::yield_now().await;
                    }
                    Outcome::Done { snapshot, key } => {
                        return Ok(codeyard_paging::page(&snapshot, window(&query, 0), &request_key, &key));
                    }
                    Outcome::Failed(error) => return Err(error),
                    Outcome::Changed => {
                        call.note(|record| record.repeats += 1);
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }
}

async fn wait_for(wait: Wait, board: &Board, call: &CallTrace) {
    match wait {
        Wait::Preparing(preparing) => {
            board.write(Waiting::Preparing);
            let _waiting = call.wait(Phase::Starting);
            preparing.await;
        }
        Wait::Servers(states) => {
            board.write(Waiting::Servers(states.clone()));
            let _waiting = call.wait(board.read().0);
            for state in states {
                goes_on(state).await;
            }
        }
        Wait::Any(states) => {
            board.write(Waiting::Servers(states.clone()));
            let _waiting = call.wait(board.read().0);
            let all = states.into_iter().map(|state| Box::pin(goes_on(state)));
            futures::future::select_all(all).await;
        }
    }
}

/// Waits for a change that is worth looking at.
async fn goes_on(mut state: state_watch::Receiver) {
    // A server that has started may wait for a document to be opened: beginning again opens it. An error
    // means that the server's actor is gone; beginning again finds out why.
    let starting = matches!(*state.borrow(), ServerState::Starting);
    let goes_on = |now: &ServerState| !now.is_pending() || starting && *now != ServerState::Starting;
    state.wait_for(goes_on).await.ok();
}

fn window(query: &GatedQuery, offset: u64) -> Option<(u64, usize)> {
    query.page().map(|page| (offset, page.size))
}
