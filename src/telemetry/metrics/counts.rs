//! Counters in memory. The admin API, the tests and the observers that export them read them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use super::{Metrics, Observers, Tally};
use crate::limits;
use crate::names;
use crate::names::instruments::{self as known, Instrument};
use crate::record::{CallRecord, Outcome};
use codeyard_model::error::ErrorCode;

type TallyOf = fn(&Counts) -> &Tally;

/// Counters in memory.
#[derive(Debug)]
pub struct Counts {
    calls: Mutex<BTreeMap<(Arc<str>, Outcome), u64>>,
    restarts: Mutex<BTreeMap<(String, &'static str), u64>>,
    server_evictions: Mutex<BTreeMap<String, u64>>,
    retained_hits: AtomicU64,
    cancels: AtomicU64,
    outside: AtomicU64,
    answers: Tally,
    cursors: Tally,
    caps: Tally,
    permissions: Tally,
    denials: Tally,
    evicted: Tally,
    rejected: Tally,
    shed: Tally,
    index_answers: Tally,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            restarts: Mutex::default(),
            server_evictions: Mutex::default(),
            retained_hits: AtomicU64::new(0),
            cancels: AtomicU64::new(0),
            outside: AtomicU64::new(0),
            answers: Tally::new(known::CACHE_WORDS),
            cursors: Tally::new(known::CURSOR_WORDS),
            caps: Tally::new(known::CAP_WORDS),
            permissions: Tally::new(known::PERMISSION_WORDS),
            denials: Tally::new(known::DENIAL_WORDS),
            evicted: Tally::new(known::EVICTION_WORDS),
            rejected: Tally::new(known::REJECTION_WORDS),
            shed: Tally::new(known::SHED_BY),
            index_answers: Tally::new(known::FRESHNESS_WORDS),
        }
    }
}

impl Metrics for Counts {
    fn call(&self, record: &CallRecord) {
        *self.calls.lock().entry((record.tool.clone(), record.outcome)).or_default() += 1;
        if record.outcome == Outcome::Cancelled {
            self.cancels.fetch_add(1, Relaxed);
        }
        if let Some(from) = record.cache {
            self.answers.count(from.as_str());
        }
        if let Some(cursor) = record.cursor {
            self.cursors.count(cursor.as_str());
        }
        if let Some(cap) = record.cap {
            self.caps.count(cap);
        }
        if let Some(permission) = record.permission {
            self.permissions.count(permission.as_str());
        }
        if let Some(reason) = denial(record) {
            self.denials.count(reason);
        }
        if let Some(freshness) = record.freshness {
            self.index_answers.count(freshness);
        }
        if record.outside > 0 {
            self.outside.fetch_add(record.outside as u64, Relaxed);
        }
    }

    fn rejected(&self, reason: &str) {
        self.rejected.count(reason);
    }

    fn shed(&self, full: &str) {
        self.shed.count(full);
    }

    fn restart(&self, kind: &str, reason: &'static str) {
        let mut restarts = self.restarts.lock();
        let key = (kind.to_owned(), reason);
        let has_room = restarts.len() + 1 < limits::MAX_SERIES || restarts.contains_key(&key);
        let key = if has_room { key } else { (names::OTHER.to_owned(), names::OTHER) };
        *restarts.entry(key).or_default() += 1;
    }

    fn server_evicted(&self, kind: &str) {
        self.add_server_evictions(kind, 1);
    }

    fn retained_hit(&self) {
        self.retained_hits.fetch_add(1, Relaxed);
    }

    fn evicted(&self, reason: &str, count: u64) {
        self.evicted.add(reason, count);
    }
}

/// The reason for which the gate refused a call's path, if it did.
fn denial(record: &CallRecord) -> Option<&'static str> {
    match record.outcome {
        Outcome::Failed(_) if record.permission.is_some_and(|permission| !permission.is_granted()) => None,
        Outcome::Failed(ErrorCode::WorkspaceDenied) if record.workspace.is_none() && record.group.is_none() => {
            Some("no_workspace")
        }
        Outcome::Failed(ErrorCode::WorkspaceDenied) => Some("outside"),
        Outcome::Failed(ErrorCode::UriInvalid) => record.reason.or(Some(names::OTHER)),
        _ => None,
    }
}

impl Counts {
    /// Counts stops of a language server of this kind. With 0 its series exists, so that the first stop is an increase.
    pub(super) fn add_server_evictions(&self, kind: &str, count: u64) {
        let mut evictions = self.server_evictions.lock();
        let has_room = evictions.len() + 1 < limits::MAX_SERIES || evictions.contains_key(kind);
        *evictions.entry(if has_room { kind } else { names::OTHER }.to_owned()).or_default() += count;
    }

    /// Calls so far by tool and outcome.
    pub fn calls(&self) -> BTreeMap<(Arc<str>, Outcome), u64> {
        self.calls.lock().clone()
    }

    /// Restarts so far by reason.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        let mut sums = BTreeMap::new();
        for ((_, reason), count) in &*self.restarts.lock() {
            *sums.entry(*reason).or_default() += count;
        }
        sums
    }

    /// Language servers that were stopped to keep the memory budget so far.
    pub fn server_evictions(&self) -> u64 {
        self.server_evictions.lock().values().sum()
    }

    /// Answers from retained results so far.
    pub fn retained_hits(&self) -> u64 {
        self.retained_hits.load(Relaxed)
    }

    /// Cancelled calls so far.
    pub fn cancels(&self) -> u64 {
        self.cancels.load(Relaxed)
    }

    /// Registers the counters.
    pub(super) fn register_with(self: &Arc<Self>, observers: &Observers) {
        let tallies: [(&'static Instrument, TallyOf); 8] = [
            (&known::ANSWERS, |counts| &counts.answers),
            (&known::CURSORS, |counts| &counts.cursors),
            (&known::CAPS, |counts| &counts.caps),
            (&known::PERMISSIONS, |counts| &counts.permissions),
            (&known::EVICTED, |counts| &counts.evicted),
            (&known::REQUESTS_REJECTED, |counts| &counts.rejected),
            (&known::SHED, |counts| &counts.shed),
            (&known::INDEX_ANSWERS, |counts| &counts.index_answers),
        ];
        for (instrument, tally) in tallies {
            let counts = self.clone();
            observers.observe(instrument, move |sink| {
                tally(&counts).each().for_each(|(word, count)| sink.record(count, &[word]));
            });
        }
        let counts = self.clone();
        observers.observe(&known::PATH_DENIALS, move |sink| {
            counts.denials.each().for_each(|(word, count)| sink.record(count, &["call", word]));
            sink.record(counts.outside.load(Relaxed), &["server", "outside"]);
        });
        let counts = self.clone();
        observers.observe(&known::RESTARTS, move |sink| {
            let restarts = counts.restarts.lock().clone();
            restarts.iter().for_each(|((kind, reason), count)| sink.record(*count, &[kind, reason]));
        });
        let counts = self.clone();
        observers.observe(&known::SERVER_EVICTIONS, move |sink| {
            let evictions = counts.server_evictions.lock().clone();
            evictions.iter().for_each(|(kind, count)| sink.record(*count, &[kind]));
        });
    }
}
