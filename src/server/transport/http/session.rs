//! MCP sessions: random ids that connect the requests of one client.
//!
//! A session is no credential, and calls don't depend on it: clients name cursors and workspaces themselves. It lets
//! `notifications/cancelled` find a request, and a response find our prompt. Invariants: a principal at its own cap
//! loses its least recently used session; at the cap of all, the principal with the most sessions loses one, so nobody ends the sessions of
//! principals that have fewer; an id has 256 random bits; a session doesn't exist for other principals.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use crate::transport::inflight::InFlightCalls;
use crate::transport::session_timer::SessionTimer;
use codeyard_base::base64url;
use codeyard_base::seeded_faults;
use codeyard_gateway::elicit::SessionClient;
use codeyard_gateway::limits::MAX_CALLS_IN_FLIGHT;
use codeyard_gateway::service::{Principal, TransportKind};
use codeyard_protocol::revision::Revision;
use codeyard_telemetry::Metrics;

/// One client's session.
#[derive(Debug)]
pub struct Session {
    pub id: String,
    pub in_flight: Arc<InFlightCalls>,
    /// The session's client, which can receive prompts.
    pub client: Arc<SessionClient>,
    /// The revision that `initialize` negotiated.
    pub revision: Revision,
    principal: Principal,
    used: AtomicU64,
    _timer: SessionTimer,
}

/// The sessions of one server.
pub struct Sessions {
    metrics: Arc<dyn Metrics>,
    cap: usize,
    cap_per_principal: usize,
    /// Counts uses, to order sessions by their last use.
    uses: AtomicU64,
    known: RwLock<HashMap<String, Arc<Session>>>,
}

impl Sessions {
    /// An empty table for at most `cap` sessions, and `cap_per_principal` of one principal.
    pub fn new(cap: usize, cap_per_principal: usize, metrics: Arc<dyn Metrics>) -> Self {
        let cap_per_principal = cap_per_principal.max(1);
        Self { metrics, cap: cap.max(1), cap_per_principal, uses: AtomicU64::new(0), known: RwLock::default() }
    }

    /// Starts a session of `principal` with `client`, in `revision`.
    pub fn start(&self, principal: &Principal, client: Arc<SessionClient>, revision: Revision) -> Arc<Session> {
        let id = base64url::encode(rand::random::<[u8; 32]>());
        let session = Arc::new(Session {
            id: id.clone(),
            in_flight: InFlightCalls::new(MAX_CALLS_IN_FLIGHT),
            client,
            revision,
            principal: principal.clone(),
            used: AtomicU64::new(self.now()),
            _timer: SessionTimer::start(self.metrics.clone(), TransportKind::Tcp),
        });
        let mut known = self.known.write();
        if let Some(principal) = self.loser(&known, principal) {
            let theirs = known.values().filter(|session| session.principal == principal);
            let oldest = theirs.min_by_key(|session| session.used.load(Ordering::Relaxed));
            if let Some(id) = oldest.map(|session| session.id.clone()) {
                known.remove(&id);
            }
        }
        known.insert(id, Arc::clone(&session));
        session
    }

    /// The principal that loses a session for a new one of `starting`, if one must.
    fn loser(&self, known: &HashMap<String, Arc<Session>>, starting: &Principal) -> Option<Principal> {
        let mut counts: HashMap<&Principal, usize> = HashMap::new();
        for session in known.values() {
            *counts.entry(&session.principal).or_default() += 1;
        }
        let own = counts.get(starting).copied().unwrap_or(0);
        if own >= self.cap_per_principal {
            return Some(starting.clone());
        }
        if known.len() < self.cap {
            return None;
        }
        let most = counts.values().copied().max().unwrap_or(0);
        if own >= most {
            return Some(starting.clone());
        }
        let largest = counts.into_iter().filter(|(_, count)| *count == most).map(|(principal, _)| principal);
        largest.min_by_key(|principal| principal.key()).cloned()
    }

    /// The session `id` of `principal`.
    pub fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self
            .known
            .read()
            .get(id)
            .filter(|session| session.principal == *principal || seeded_faults::is_on("session_of_anyone"))
            .cloned()?;
        session.used.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    /// Ends the session `id` and cancels its calls. `false` if `principal` has no such session.
    pub fn end(&self, id: &str, principal: &Principal) -> bool {
        let Some(session) = self.find(id, principal) else {
            return false;
        };
        session.in_flight.cancel_all();
        self.known.write().remove(id).is_some()
    }

    /// Ends all waits for prompts in all sessions, and accepts no more prompts.
    pub fn close(&self) {
        self.known.read().values().for_each(|session| session.client.close());
    }

    /// The number of sessions.
    pub fn len(&self) -> usize {
        self.known.read().len()
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn now(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_base::ids::PrincipalId;
    use codeyard_telemetry::NoMetrics;

    #[test]
    fn the_least_recently_used_session_is_removed_and_sessions_are_private() {
        let sessions = Sessions::new(3, 3, Arc::new(NoMetrics));
        let ann = Principal::local();
        let bob = Principal::named(PrincipalId::new("bob"));
        let made: Vec<_> = (0..3).map(|_| sessions.start(&ann, Arc::default(), Revision::DEFAULT)).collect();
        assert!(sessions.find(&made[0].id, &ann).is_some() && sessions.find(&made[0].id, &bob).is_none());
        let newest = sessions.start(&bob, Arc::default(), Revision::DEFAULT);
        assert_eq!(sessions.len(), 3);
        assert!(sessions.find(&made[1].id, &ann).is_none(), "least recently used");
        assert!(sessions.find(&made[0].id, &ann).is_some() && sessions.find(&newest.id, &bob).is_some());
        assert!(!sessions.end(&newest.id, &ann) && sessions.end(&newest.id, &bob) && !sessions.end(&newest.id, &bob));
        assert_eq!(base64url::decode(&newest.id).unwrap().len(), 32);
    }

    #[test]
    fn a_principal_ends_only_its_own_sessions_and_those_of_larger_ones() {
        let principal = |name: &str| Principal::named(PrincipalId::new(name));
        let start =
            |sessions: &Sessions, of: &Principal| sessions.start(of, Arc::default(), Revision::DEFAULT).id.clone();
        let flood = principal("flood");
        let ann = principal("ann");
        let bob = principal("bob");
        // The whole table, without a cap of its own for one principal.
        let sessions = Sessions::new(10, 10, Arc::new(NoMetrics));
        let of_ann: Vec<String> = (0..2).map(|_| start(&sessions, &ann)).collect();
        for _ in 0..1_000 {
            start(&sessions, &flood);
        }
        assert_eq!(sessions.len(), 10);
        assert!(of_ann.iter().all(|id| sessions.find(id, &ann).is_some()), "the flood ends its own sessions");
        let of_bob: Vec<String> = (0..4).map(|_| start(&sessions, &bob)).collect();
        assert_eq!(sessions.len(), 10);
        let are_there = |of: &Principal, ids: &[String]| ids.iter().all(|id| sessions.find(id, of).is_some());
        assert!(are_there(&ann, &of_ann) && are_there(&bob, &of_bob), "the largest principal makes room");
        start(&sessions, &bob);
        assert!(are_there(&ann, &of_ann), "between two of the same size nobody else loses");
        let capped = Sessions::new(10, 3, Arc::new(NoMetrics));
        let first = start(&capped, &flood);
        (0..3).for_each(|_| drop(start(&capped, &flood)));
        assert!(capped.len() == 3 && capped.find(&first, &flood).is_none());
    }
}
