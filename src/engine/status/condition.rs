//! The state of a language server in the words of people: what it does, since when, and why.
//!
//! [`ServerState`] says what a query has to wait for. This adds what only its connection shows: that it is busy, and that it seems to hang.
//! Invariants: it decides nothing (a hung server is restarted in `server/lifecycle/supervision.rs`); a reason holds no path and no text of a document.

use serde::Serialize;

use crate::limits::HUNG_AFTER_EXPIRED;
use crate::status::server_state::{QUARANTINED, STOPPED, ServerState};
use crate::status::server_status::ServerReport;
use codeyard_base::clock::Instant;

/// What a language server does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerCondition {
    /// `starting`, `indexing`, `ready`, `busy`, `hung`, `restarting`, `quarantined`, `stopped` or `unavailable`.
    pub name: &'static str,
    /// Seconds since it began.
    pub since_s: u64,
    /// Why, as a phrase; empty if the name says all.
    pub why: String,
}

/// What the connection of a server shows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    /// Whether its process runs.
    pub(crate) has_process: bool,
    /// Requests in flight.
    pub(crate) pending: usize,
    /// When the oldest of them was sent.
    pub(crate) oldest_pending: Option<Instant>,
    /// Requests that expired without an answer since the last one.
    pub(crate) expired: u32,
    /// When it last wrote anything.
    pub(crate) last_byte_at: Option<Instant>,
}

impl ServerCondition {
    /// The condition of a server with this report and this traffic.
    pub(crate) fn of(report: &ServerReport, traffic: &Traffic) -> Self {
        let (name, since, why) = match &report.state {
            ServerState::Starting if traffic.has_process => {
                ("starting", report.since, "its process runs and has not answered `initialize` yet".to_owned())
            }
            ServerState::Starting => ("starting", report.since, "its start is being prepared or waits".to_owned()),
            ServerState::Restarting(down) => ("restarting", report.since, down.sentence()),
            ServerState::Down(down) => {
                let name = match down.reason {
                    QUARANTINED => "quarantined",
                    STOPPED => "stopped",
                    _ => "unavailable",
                };
                (name, report.since, down.sentence())
            }
            ServerState::Indexing { .. } | ServerState::Ready if traffic.expired >= HUNG_AFTER_EXPIRED => {
                let silent = traffic.last_byte_at.unwrap_or(report.since);
                let why = format!("{} requests expired since it last wrote anything", traffic.expired);
                ("hung", silent, why)
            }
            ServerState::Indexing { progress } => ("indexing", report.since, progress.clone().unwrap_or_default()),
            ServerState::Ready => match traffic.oldest_pending {
                Some(oldest) => ("busy", oldest, requests(traffic.pending)),
                None if report.assumed_ready => {
                    ("ready", report.since, "it never said so, and shows no activity".to_owned())
                }
                None => ("ready", report.since, String::new()),
            },
        };
        Self { name, since_s: since.elapsed().as_secs(), why }
    }

    /// The condition as a phrase: `busy for 3 s (2 requests in flight)`.
    pub fn phrase(name: &str, since_s: u64, why: &str) -> String {
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        format!("{name} for {since_s} s{why}")
    }
}

fn requests(count: usize) -> String {
    match count {
        1 => "1 request in flight".to_owned(),
        count => format!("{count} requests in flight"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::status::server_state::Down;

    fn report(state: ServerState, assumed_ready: bool) -> ServerReport {
        ServerReport { state, since: Instant::now(), assumed_ready, restarts: 0, last_end: None }
    }

    fn down(reason: &'static str) -> Down {
        Down { reason, message: "it ended".into(), stderr: String::new(), failure: None, retry_at: None }
    }

    #[tokio::test(start_paused = true)]
    async fn each_state_has_a_name_an_age_and_a_reason() {
        let indexing = ServerState::Indexing { progress: Some("loading 3/7".into()) };
        let rows = [
            (ServerState::Starting, "starting for 4 s (its start is being prepared or waits)"),
            (indexing, "indexing for 4 s (loading 3/7)"),
            (ServerState::Ready, "ready for 4 s"),
            (ServerState::Restarting(down("crashed")), "restarting for 4 s (it ended)"),
            (ServerState::Down(down(QUARANTINED)), "quarantined for 4 s (it ended)"),
            (ServerState::Down(down(STOPPED)), "stopped for 4 s (it ended)"),
            (ServerState::Down(down("not_installed")), "unavailable for 4 s (it ended)"),
        ];
        for (state, expected) in rows {
            let report = report(state, false);
            tokio::time::advance(Duration::from_secs(4)).await;
            let found = ServerCondition::of(&report, &Traffic::default());
            assert_eq!(ServerCondition::phrase(found.name, found.since_s, &found.why), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_ready_server_is_busy_with_requests_and_hung_when_they_expire() {
        let report = report(ServerState::Ready, true);
        let shown = |traffic: &Traffic| {
            let found = ServerCondition::of(&report, traffic);
            ServerCondition::phrase(found.name, found.since_s, &found.why)
        };
        let mut traffic = Traffic { has_process: true, last_byte_at: Some(Instant::now()), ..Traffic::default() };
        assert_eq!(shown(&traffic), "ready for 0 s (it never said so, and shows no activity)");
        tokio::time::advance(Duration::from_secs(5)).await;
        (traffic.pending, traffic.oldest_pending) = (2, Some(Instant::now()));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(shown(&traffic), "busy for 2 s (2 requests in flight)");
        traffic.expired = HUNG_AFTER_EXPIRED - 1;
        assert_eq!(shown(&traffic), "busy for 2 s (2 requests in flight)");
        traffic.expired = HUNG_AFTER_EXPIRED;
        assert_eq!(shown(&traffic), "hung for 7 s (3 requests expired since it last wrote anything)");
    }
}
