//! Queries of language servers: begin, wait for what is missing, run, cut the page.
//!
//! Each turn of the loop asks the workspace once more, because what it waited for may have changed the plan.

use std::sync::Arc;

use super::wait_status::{WaitStatus, Waiting};
use crate::query::file_looks::{Sight, look_at};
use crate::query::gather;
use crate::query::messages::FinishedResult;
use crate::query::no_answer::NoAnswer;
use crate::status::server_state::ServerState;
use crate::status::state_watch;
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::{Begin, Begun, QueryStep, Wait};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_model::answer::Answer;
use codeyard_model::error::{CallPhase, ToolError};
use codeyard_model::query::GatedQuery;
use codeyard_telemetry::CallTrace;

/// Answers `query`. `sight` is what the path check saw of its document. `deadline` isn't enforced here: the engine uses it to
/// return what it has shortly before.
pub(super) async fn ask(
    workspace: &WorkspaceHandle,
    query: Arc<GatedQuery>,
    sight: Option<Sight>,
    deadline: Deadline,
    status: &WaitStatus,
    call: &CallTrace,
) -> Result<Answer, ToolError> {
    let mut planned = None;
    let mut sights = Vec::from_iter(sight);
    loop {
        if let Some(subscription) = workspace.watch.get() {
            subscription.barrier().await;
        }
        let begin = |sights| Begin { query: query.clone(), sights, planned, deadline, call: call.clone() };
        match step(workspace, std::mem::take(&mut sights), begin).await? {
            QueryStep::Hit { snapshot, offset, request_key, snapshot_key } => {
                let window = window(&query, offset);
                return Ok(codeyard_paging::page(&snapshot, window, query.style(), &request_key, &snapshot_key));
            }
            QueryStep::Wait(wait) => {
                if let Wait::Planning { since, .. } = &wait {
                    planned = planned.or(Some(*since));
                }
                // Shortly before the deadline the workspace is asked once more: it then accepts partial answers.
                let late = gather::linter_cutoff(deadline);
                let retries_at_cutoff = gather::is_symbol_search(&query) && Instant::now() < late;
                tokio::select! {
                    biased;
                    () = wait_for(wait, status, call) => {}
                    () = tokio::time::sleep_until(late), if retries_at_cutoff => {}
                }
            }
            QueryStep::Run { run, is_shared, servers, awaited, request_key } => {
                status.write(Waiting::Execution(servers, awaited));
                let waited = is_shared.then(|| call.wait_for_shared());
                let outcome = run.await;
                drop(waited);
                match outcome {
                    // The partial answer is due to the deadline of the call that started the run. This call has more
                    // time, so the missing servers may still answer.
                    Ok(FinishedResult { snapshot, .. })
                        if is_shared
                            && snapshot.result().notes().is_partial
                            && Instant::now() < gather::linter_cutoff(deadline) =>
                    {
                        tokio::task::yield_now().await;
                    }
                    Ok(FinishedResult { snapshot, key }) => {
                        let window = window(&query, 0);
                        return Ok(codeyard_paging::page(&snapshot, window, query.style(), &request_key, &key));
                    }
                    Err(NoAnswer::Failed(error)) => return Err(error),
                    Err(NoAnswer::Changed) => {
                        call.update(|record| record.repeats += 1);
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }
}

/// Sends a [`Begin`], and looks at the files that the workspace wants to be looked at first.
async fn step(
    workspace: &WorkspaceHandle,
    mut sights: Vec<Sight>,
    begin: impl Fn(Vec<Sight>) -> Begin,
) -> Result<QueryStep, ToolError> {
    loop {
        match workspace.actor.send(begin(sights)).await.map_err(|_| ToolError::internal())?? {
            Begun::Step(step) => return Ok(step),
            Begun::Look { files, sights: before } => {
                sights = before;
                sights.extend(workspace.gate.run(move |gate| look_at(gate, files)).await?);
            }
        }
    }
}

async fn wait_for(wait: Wait, status: &WaitStatus, call: &CallTrace) {
    match wait {
        Wait::Preparing(preparing) | Wait::Planning { ended: preparing, .. } => {
            status.write(Waiting::Preparing);
            let _waiting = call.wait(CallPhase::Starting);
            preparing.await;
        }
        Wait::Servers(states) => {
            status.write(Waiting::Servers(states.clone()));
            let _waiting = call.wait(status.read().0);
            for state in states {
                state_change(state).await;
            }
        }
        Wait::Any(states) => {
            status.write(Waiting::Servers(states.clone()));
            let _waiting = call.wait(status.read().0);
            let changes = states.into_iter().map(|state| Box::pin(state_change(state)));
            futures::future::select_all(changes).await;
        }
    }
}

/// Waits until the state of a server may change what the call can do.
async fn state_change(mut state: state_watch::Receiver) {
    // A server that has started may wait for a document to be opened; the next `Begin` opens it. An error means that the
    // server's actor has stopped; the next `Begin` reports why.
    let starting = matches!(*state.borrow(), ServerState::Starting);
    let has_changed = |now: &ServerState| !now.is_pending() || starting && *now != ServerState::Starting;
    state.wait_for(has_changed).await.ok();
}

fn window(query: &GatedQuery, offset: u64) -> Option<(u64, usize)> {
    query.page().map(|page| (offset, page.size))
}
