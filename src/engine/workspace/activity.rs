//! What a workspace is busy with, from what its actors published.

use crate::status::index_status::IndexHealth;
use crate::status::registry::{WorkspaceReport, WorkspaceState};
use crate::status::server_state::ServerState;
use crate::status::server_status::ServerHealth;
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::WorkspaceActivity;

/// What a query of the workspace would wait for; `None`: nothing. Of several activities, the first in this order: its thread is busy,
/// the first walk, language servers, calls in flight, jobs of the code index.
pub(super) fn of(
    workspace: &WorkspaceHandle,
    report: &WorkspaceReport,
    servers: &[ServerHealth],
    indexes: &[IndexHealth],
) -> Option<WorkspaceActivity> {
    let activity = |waits_for: String, since_s| Some(WorkspaceActivity { waits_for, since_s });
    if let Some(stalled) = workspace.status.heartbeat().stalled() {
        return activity("its thread, which has not run since then".to_owned(), Some(stalled.as_secs()));
    }
    if report.state == WorkspaceState::Starting {
        return activity("the first walk through its files".to_owned(), Some(report.since.elapsed().as_secs()));
    }
    if let Some(waits_for) = of_servers(servers) {
        return Some(waits_for);
    }
    match workspace.calls() {
        0 => {}
        1 => return activity("1 call in flight".to_owned(), None),
        calls => return activity(format!("{calls} calls in flight"), None),
    }
    let job = indexes.iter().find_map(|index| index.job.as_ref())?;
    activity(format!("the code index: {job}"), None)
}

/// The language servers that aren't ready, named after the one that needs longest.
fn of_servers(servers: &[ServerHealth]) -> Option<WorkspaceActivity> {
    let pending: Vec<&ServerHealth> = servers.iter().filter(|server| server.state.is_pending()).collect();
    let longest = pending.iter().max_by_key(|server| server.since_s)?;
    let doing = match &longest.state {
        ServerState::Indexing { progress: Some(progress) } => format!("{} to index ({progress})", longest.kind),
        ServerState::Indexing { progress: None } => format!("{} to index", longest.kind),
        ServerState::Restarting(_) => format!("{} to restart", longest.kind),
        _ => format!("{} to start", longest.kind),
    };
    let others = pending.len() - 1;
    let waits_for = if others == 0 { doing } else { format!("{doing}, and for {others} more language servers") };
    Some(WorkspaceActivity { waits_for, since_s: Some(longest.since_s) })
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::status::condition::ServerCondition;

    fn server(kind: &str, state: ServerState, since_s: u64) -> ServerHealth {
        ServerHealth {
            id: kind.to_owned(),
            kind: kind.to_owned(),
            version: None,
            root: "./".to_owned(),
            condition: ServerCondition { name: "ready", since_s, why: String::new() },
            state,
            assumed_ready: false,
            since_s,
            pid: None,
            memory_bytes: None,
            memory_limit_bytes: None,
            restarts: 0,
            last_end: None,
            open_documents: 0,
            pending: 0,
            unused_s: 0,
            stderr: String::new(),
            projects: Vec::new(),
        }
    }

    #[test]
    fn the_server_that_needs_longest_is_named() {
        let indexing = ServerState::Indexing { progress: Some("3/9".to_owned()) };
        let servers = [server("ty", ServerState::Ready, 90), server("tsc", ServerState::Starting, 2)];
        let text = |servers: &[ServerHealth]| of_servers(servers).map(|found| (found.waits_for, found.since_s));
        assert_eq!(text(&servers), Some(("tsc to start".to_owned(), Some(2))));
        let more = [servers[1].clone(), server("clangd", indexing, 7)];
        assert_eq!(text(&more), Some(("clangd to index (3/9), and for 1 more language servers".to_owned(), Some(7))));
        assert_eq!(text(&servers[..1]), None);
    }
}
