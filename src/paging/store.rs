//! The retained snapshots of one workspace and tenant: an LRU store, bounded in bytes and in time.
//!
//! Invariants: `bytes` is the sum over all entries and never above the cap; an expired snapshot is never returned; the list is
//! ordered by last use, so expiry stops at the first entry that hasn't expired. Epochs never decrease, so a snapshot of other epochs than
//! the present ones is never asked for again; [`SnapshotStore::drop_outdated`] removes those.

use std::collections::BTreeMap;
use std::mem::size_of;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;

use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;
use codeyard_model::epoch::{EpochScope, Epochs, ResultEpochs};
use codeyard_model::error::{ErrorCode, ToolError};

use super::result::CanonicalResult;
use super::snapshot::Snapshot;

/// Memory of an entry besides snapshot and key: list links, table slot, reference counters. Rounded up.
const ENTRY_OVERHEAD_BYTES: usize = 128;

/// Retained snapshots by snapshot key.
#[derive(Debug)]
pub struct SnapshotStore {
    entries: LruCache<String, StoredSnapshot>,
    max_entry_bytes: usize,
    max_total_bytes: usize,
    ttl: Duration,
    bytes: usize,
    evictions: u64,
    expiries: u64,
    outdated: u64,
}

/// Numbers about a store, without its content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotStats {
    pub count: usize,
    /// Their bytes, including the overhead of the store.
    pub bytes: usize,
    /// Maximum number of bytes.
    pub limit_bytes: usize,
    /// Age of the oldest snapshot.
    pub oldest: Option<Duration>,
    /// Number of snapshots dropped to make room.
    pub evictions: u64,
    pub by_tool: BTreeMap<&'static str, usize>,
}

#[derive(Debug)]
struct StoredSnapshot {
    snapshot: Arc<Snapshot>,
    created: Instant,
    used: Instant,
    bytes: usize,
    epochs: ResultEpochs,
}

impl SnapshotStore {
    /// An empty store. An entry may be as large as `max_entry_bytes`, all together `max_total_bytes`; each is dropped
    /// `ttl` after its last use.
    pub fn new(max_entry_bytes: usize, max_total_bytes: usize, ttl: Duration) -> Self {
        let max_entry_bytes = max_entry_bytes.min(max_total_bytes);
        // Entries cost at least their overhead, so the byte cap also bounds their number.
        Self {
            entries: LruCache::unbounded(),
            max_entry_bytes,
            max_total_bytes,
            ttl,
            bytes: 0,
            evictions: 0,
            expiries: 0,
            outdated: 0,
        }
    }

    /// Stores `result` under its snapshot key and returns it as a snapshot. `epochs` are those in the key. A paged result above the entry cap
    /// is SNAPSHOT_TOO_LARGE, because its later pages couldn't be served. An unpaged one is returned without being stored.
    pub fn insert(
        &mut self,
        key: String,
        epochs: ResultEpochs,
        result: CanonicalResult,
        now: Instant,
    ) -> Result<Arc<Snapshot>, ToolError> {
        let snapshot = Arc::new(Snapshot::new(result));
        let own = size_of::<StoredSnapshot>() + epochs.scope.bytes() + ENTRY_OVERHEAD_BYTES;
        let bytes = snapshot.bytes() + key.len() + own;
        self.remove(&key);
        if bytes > self.max_entry_bytes {
            let paged = snapshot.result().is_paged();
            return if paged { Err(too_large(bytes, self.max_entry_bytes)) } else { Ok(snapshot) };
        }
        self.make_room(bytes);
        self.bytes += if seeded_faults::is_on("snapshot_uncounted") { 0 } else { bytes };
        self.entries.put(key, StoredSnapshot { snapshot: snapshot.clone(), created: now, used: now, bytes, epochs });
        Ok(snapshot)
    }

    /// The snapshot under `key`, if it is stored and not expired. Counts as a use.
    pub fn get(&mut self, key: &str, now: Instant) -> Option<Arc<Snapshot>> {
        if self.entries.peek(key).is_some_and(|entry| self.is_expired(entry, now)) {
            self.remove(key);
            self.expiries += 1;
            return None;
        }
        let entry = self.entries.get_mut(key)?;
        entry.used = entry.used.max(now);
        Some(entry.snapshot.clone())
    }

    /// Drops the expired snapshots and returns their number.
    pub fn expire(&mut self, now: Instant) -> usize {
        let before = self.entries.len();
        while self.entries.peek_lru().is_some_and(|(_, entry)| self.is_expired(entry, now)) {
            self.pop();
        }
        let dropped = before - self.entries.len();
        self.expiries += dropped as u64;
        dropped
    }

    /// Drops the snapshots of other epochs than the `present` ones of their scope and returns their number. Reads every entry.
    pub fn drop_outdated(&mut self, present: impl Fn(&EpochScope) -> Epochs) -> usize {
        let is_outdated = |entry: &StoredSnapshot| !entry.epochs.are_current(&present);
        let outdated: Vec<String> =
            self.entries.iter().filter(|(_, entry)| is_outdated(entry)).map(|(key, _)| key.clone()).collect();
        outdated.iter().for_each(|key| self.remove(key));
        self.outdated += outdated.len() as u64;
        outdated.len()
    }

    /// Number of snapshots.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of all snapshots, including the overhead of the store.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of snapshots dropped to make room. Expiry and `clear` don't count.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Numbers for operators. Reads every entry.
    pub fn stats(&self, now: Instant) -> SnapshotStats {
        let mut by_tool = BTreeMap::new();
        let mut oldest = None;
        for (_, entry) in &self.entries {
            *by_tool.entry(entry.snapshot.result().tool()).or_default() += 1;
            oldest = oldest.max(Some(now.saturating_duration_since(entry.created)));
        }
        SnapshotStats {
            count: self.entries.len(),
            bytes: self.bytes,
            limit_bytes: self.max_total_bytes,
            oldest,
            evictions: self.evictions,
            by_tool,
        }
    }

    /// Number of snapshots dropped because they expired.
    pub fn expiries(&self) -> u64 {
        self.expiries
    }

    /// Number of snapshots dropped because their epochs were no longer the present ones.
    pub fn outdated(&self) -> u64 {
        self.outdated
    }

    fn is_expired(&self, entry: &StoredSnapshot, now: Instant) -> bool {
        now.saturating_duration_since(entry.used) >= self.ttl && !seeded_faults::is_on("snapshot_unexpired")
    }

    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > self.max_total_bytes && self.pop() {
            self.evictions += 1;
        }
    }

    fn pop(&mut self) -> bool {
        let popped = self.entries.pop_lru();
        self.bytes -= popped.as_ref().map_or(0, |(_, entry)| entry.bytes);
        popped.is_some()
    }

    fn remove(&mut self, key: &str) {
        self.bytes -= self.entries.pop(key).map_or(0, |entry| entry.bytes);
    }
}

fn too_large(bytes: usize, limit: usize) -> ToolError {
    ToolError::new(
        ErrorCode::SnapshotTooLarge,
        "the result is too large to be kept for paging; ask a narrower question",
    )
    .with("bytes", bytes)
    .with("limit", limit)
}

#[cfg(test)]
mod tests {
    use codeyard_model::epoch::EpochMask;

    use super::*;
    use codeyard_canon::testing::FakeGate;
    use codeyard_model::answer::AnswerNotes;
    use codeyard_model::position::{Range, RawLocation};

    const TTL: Duration = Duration::from_secs(600);
    const EPOCHS: ResultEpochs = ResultEpochs {
        epochs: Epochs { roots: 1, text: 0, fs: 0, diagnostics: 0 },
        mask: EpochMask::NAVIGATION,
        scope: EpochScope::Workspace,
    };

    fn result(n: u32, paged: bool) -> CanonicalResult {
        let raw = (0..n).map(|line| RawLocation { uri: "file:///w/a".into(), range: Range::new(line, 0, line, 1) });
        let found = codeyard_canon::locations(raw.collect(), &mut FakeGate::default(), 10_000, 10_000).unwrap();
        match paged {
            true => CanonicalResult::references(found, AnswerNotes::default()),
            false => CanonicalResult::definition(found, AnswerNotes::default(), 10_000),
        }
    }

    fn now() -> Instant {
        #[expect(clippy::disallowed_methods, reason = "the tests need any first instant")]
        Instant::from_std(std::time::Instant::now())
    }

    fn one_entry_bytes() -> usize {
        let mut store = SnapshotStore::new(usize::MAX, usize::MAX, TTL);
        store.insert("a".into(), EPOCHS, result(100, true), now()).unwrap();
        store.bytes()
    }

    #[test]
    fn the_entry_cap_is_exact_for_paged_results() {
        let bytes = one_entry_bytes();
        let mut store = SnapshotStore::new(bytes, bytes, TTL);
        assert!(store.insert("a".into(), EPOCHS, result(100, true), now()).is_ok());
        let mut store = SnapshotStore::new(bytes - 1, usize::MAX, TTL);
        let error = store.insert("a".into(), EPOCHS, result(100, true), now()).unwrap_err();
        assert_eq!(
            (error.code, error.details["limit"].as_u64()),
            (ErrorCode::SnapshotTooLarge, Some(bytes as u64 - 1))
        );
        assert_eq!((store.len(), store.bytes()), (0, 0));
    }

    #[test]
    fn an_unpaged_result_that_is_too_large_is_served_but_not_kept() {
        let mut store = SnapshotStore::new(10, 10, TTL);
        assert!(store.insert("a".into(), EPOCHS, result(100, false), now()).is_ok());
        assert!(store.get("a", now()).is_none());
    }

    #[test]
    fn the_least_recently_used_is_dropped_first() {
        let bytes = one_entry_bytes();
        let now = now();
        let mut store = SnapshotStore::new(bytes, bytes * 2, TTL);
        for key in ["a", "b"] {
            store.insert(key.into(), EPOCHS, result(100, true), now).unwrap();
        }
        store.get("a", now).unwrap();
        store.insert("c".into(), EPOCHS, result(100, true), now).unwrap();
        assert!(store.get("b", now).is_none() && store.get("a", now).is_some() && store.get("c", now).is_some());
        assert_eq!((store.len(), store.bytes(), store.evictions()), (2, bytes * 2, 1));
    }

    #[test]
    fn a_use_extends_the_lifetime_and_expiry_is_exact() {
        let start = now();
        let mut store = SnapshotStore::new(usize::MAX, usize::MAX, TTL);
        for key in ["a", "b"] {
            store.insert(key.into(), EPOCHS, result(1, true), start).unwrap();
        }
        assert!(store.get("a", start + TTL - Duration::from_nanos(1)).is_some());
        assert_eq!(store.expire(start + TTL), 1, "b is dropped, a was used");
        assert!(store.get("b", start).is_none());
        assert!(store.get("a", start + TTL * 2).is_none(), "expired without a sweep");
        assert_eq!((store.len(), store.bytes(), store.evictions(), store.expiries()), (0, 0, 0, 2));
    }

    #[test]
    fn the_same_key_is_replaced() {
        let mut store = SnapshotStore::new(usize::MAX, usize::MAX, TTL);
        store.insert("a".into(), EPOCHS, result(1, true), now()).unwrap();
        store.insert("a".into(), EPOCHS, result(100, true), now()).unwrap();
        assert_eq!((store.len(), store.bytes(), store.is_empty()), (1, one_entry_bytes(), false));
    }

    #[test]
    fn what_no_one_can_ask_for_any_more_is_dropped() {
        let mut store = SnapshotStore::new(usize::MAX, usize::MAX, TTL);
        let now = now();
        let epochs = EPOCHS.epochs;
        let masks = [
            ("navigation", EpochMask::NAVIGATION),
            ("document", EpochMask::DOCUMENT_DIAGNOSTICS),
            ("workspace", EpochMask::WORKSPACE_DIAGNOSTICS),
        ];
        for (key, mask) in masks {
            store.insert(key.into(), ResultEpochs { mask, ..EPOCHS }, result(1, true), now).unwrap();
        }
        let left = |store: &mut SnapshotStore, present: Epochs| {
            store.drop_outdated(|_| present);
            let kept = masks.iter().filter(|(key, _)| store.get(key, now).is_some());
            kept.map(|(key, _)| *key).collect::<Vec<_>>()
        };
        assert_eq!(left(&mut store, epochs), ["navigation", "document", "workspace"]);
        assert_eq!(left(&mut store, Epochs { diagnostics: 1, ..epochs }), ["navigation"]);
        let of_workspace = ResultEpochs { mask: EpochMask::WORKSPACE_DIAGNOSTICS, ..EPOCHS };
        store.insert("workspace".into(), of_workspace, result(1, true), now).unwrap();
        assert_eq!(left(&mut store, Epochs { text: 1, ..epochs }), ["workspace"]);
        assert_eq!(left(&mut store, Epochs { roots: 2, ..epochs }), [""; 0]);
        assert_eq!((store.bytes(), store.evictions(), store.outdated()), (0, 0, 4));
    }
}
