//! The language servers of a workspace that were stopped on purpose and haven't been needed since: for people who look for one.
//!
//! It stops and starts nothing. Invariants: an id is listed once, and no longer once a server with that id is started; at most
//! [`limits::MAX_STOPPED_SERVERS`] are kept, the latest ones.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde::Serialize;

use crate::limits;
use crate::status::server_status::ServerIdentity;
use codeyard_base::clock::Instant;
use codeyard_base::words;

words! {
    /// Why a language server was stopped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum StopReason {
        /// No request needed it for `supervision.idle_stop_s`.
        Idle => "idle",
        /// Others needed its memory (`supervision.memory_budget_mib`).
        Evicted => "evicted",
        Operator => "operator",
        /// Others do its work from now on: one for each project, or one for all.
        Replaced => "replaced",
    }
    /// The word that operators see.
    fn as_str;
}

/// A language server that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoppedServerHealth {
    /// Its id within the workspace.
    pub id: String,
    pub kind: String,
    /// Its project root, relative to the workspace's root.
    pub root: String,
    /// `idle`, `evicted`, `operator` or `replaced`.
    pub reason: &'static str,
    /// Seconds since then.
    pub since_s: u64,
}

#[derive(Debug)]
struct Stopped {
    identity: ServerIdentity,
    reason: StopReason,
    at: Instant,
}

/// The stopped servers of one workspace.
#[derive(Debug, Default)]
pub(super) struct StoppedServers(Mutex<VecDeque<Stopped>>);

impl StoppedServers {
    /// Adds one that is being stopped now.
    pub(super) fn add(&self, identity: &ServerIdentity, reason: StopReason) {
        let mut stopped = self.0.lock();
        stopped.retain(|known| known.identity.id != identity.id);
        if stopped.len() >= limits::MAX_STOPPED_SERVERS {
            stopped.pop_front();
        }
        stopped.push_back(Stopped { identity: identity.clone(), reason, at: Instant::now() });
    }

    /// A server with this id is started.
    pub(super) fn remove(&self, id: &str) {
        self.0.lock().retain(|known| known.identity.id != id);
    }

    /// All, the one that was stopped first at the beginning.
    pub(super) fn list(&self) -> Vec<StoppedServerHealth> {
        let shown = |stopped: &Stopped| StoppedServerHealth {
            id: stopped.identity.id.clone(),
            kind: stopped.identity.kind.to_string(),
            root: stopped.identity.root.clone(),
            reason: stopped.reason.as_str(),
            since_s: stopped.at.elapsed().as_secs(),
        };
        self.0.lock().iter().map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_base::ids::{ServerKind, WorkspaceName};

    fn identity(id: &str) -> ServerIdentity {
        let workspace = WorkspaceName::new("w").unwrap();
        let kind = ServerKind::new("ty");
        ServerIdentity { workspace, id: id.into(), kind, version: None, root: "./".into(), memory_limit: None }
    }

    #[test]
    fn an_id_is_listed_once_until_it_is_started_and_the_number_is_bounded() {
        let stopped = StoppedServers::default();
        stopped.add(&identity("a"), StopReason::Idle);
        stopped.add(&identity("b"), StopReason::Evicted);
        stopped.add(&identity("a"), StopReason::Operator);
        let shown = || -> Vec<_> { stopped.list().into_iter().map(|server| (server.id, server.reason)).collect() };
        assert_eq!(shown(), [("b".to_owned(), "evicted"), ("a".to_owned(), "operator")]);
        stopped.remove("b");
        assert_eq!(shown(), [("a".to_owned(), "operator")]);
        (0..limits::MAX_STOPPED_SERVERS)
            .for_each(|number| stopped.add(&identity(&number.to_string()), StopReason::Idle));
        assert_eq!((shown().len(), shown()[0].0.as_str()), (limits::MAX_STOPPED_SERVERS, "0"));
    }
}
