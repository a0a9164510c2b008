//! The list of all runs, and the keys that make starts repeatable. Both are records of the state database.
//!
//! It isn't the truth about a run: that is the run's own log, from which a lost record is made again. Invariants: a key leads to one run,
//! whoever asks first; a run that has a record exists or is being created. All calls block.

use codeyard_base::digest::sha256hex;
use codeyard_state::{Namespace, StateError, StoreHandle, Write};
use serde::{Deserialize, Serialize};

use crate::limits::KEY_LIFE_S;
use crate::run_id::RunId;

/// Runs in one page of a list.
const MAX_LISTED_RUNS: usize = 200;
/// Attempts to write a record that others write at the same time.
const MAX_CLAIM_TRIES: usize = 100;

const RUNS: Namespace = Namespace::new("runs");
const KEYS: Namespace = Namespace::new("run-keys");

/// The records of runs and keys.
#[derive(Debug, Clone)]
pub struct RunStore {
    store: StoreHandle,
}

/// What a list shows of a run (`docs/internals/reference/contract-launch.md#lists`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    pub run_id: String,
    /// The workspace that it belongs to.
    pub workspace: String,
    pub workflow: String,
    /// What it is about, in the workflow's words.
    pub subject: String,
    pub state: String,
    /// When it began, in RFC 3339.
    pub started_at: String,
    /// When it ended.
    pub finished_at: Option<String>,
}

/// Which runs a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    pub workspace: Option<String>,
    /// Those about this.
    pub subject: Option<String>,
    /// Those in this state.
    pub state: Option<String>,
    /// Those that come after this run in the list.
    pub after: Option<RunId>,
    /// At most so many; at most [`MAX_LISTED_RUNS`].
    pub limit: Option<usize>,
}

/// One page of a list, the latest run first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    pub runs: Vec<RunSummary>,
    /// The run after which the next page begins; `None` on the last page.
    pub next: Option<String>,
}

/// A key that a client gives so that a repeated start doesn't make a second run. It belongs to a principal and a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The key was free and is now the new run's.
    New,
    /// The key is that of an earlier start with the same configuration.
    Replayed {
        /// The run of that start.
        run_id: RunId,
    },
    /// The key is that of an earlier start with another configuration.
    Reused {
        /// The run of that start.
        run_id: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeyRecord {
    run_id: String,
    config_sha256: String,
    /// When it is forgotten, in seconds after 1970; `None` while the run hasn't ended.
    expires: Option<u64>,
}

impl IdempotencyKey {
    /// The key `text` of a principal for a tool.
    pub fn new(principal: &str, tool: &str, text: &str) -> Self {
        // Lengths keep the parts apart. The digest keeps keys short and out of the database's readers.
        Self(sha256hex(format!("{}|{principal}|{}|{tool}|{text}", principal.len(), tool.len())))
    }
}

impl RunStore {
    /// The records in `store`.
    pub fn new(store: StoreHandle) -> Self {
        Self { store }
    }

    /// Claims `key` for the run `run_id` of a configuration. Call it before the run is created.
    ///
    /// # Errors
    /// If the database can't be read or written. Then the key isn't used up.
    pub fn claim(
        &self,
        key: &IdempotencyKey,
        run_id: &RunId,
        config_sha256: &str,
        now: u64,
    ) -> Result<Claim, StateError> {
        let value = encode(&KeyRecord {
            run_id: run_id.as_str().to_owned(),
            config_sha256: config_sha256.to_owned(),
            expires: None,
        });
        for _ in 0..MAX_CLAIM_TRIES {
            let found = self.store.get(KEYS, &key.0)?;
            let old = found.as_ref().and_then(|record| serde_json::from_str::<KeyRecord>(&record.value).ok());
            if let Some(old) = old.filter(|old| old.expires.is_none_or(|expires| now < expires)) {
                return Ok(match RunId::parse(&old.run_id).filter(|_| old.config_sha256 == config_sha256) {
                    Some(run_id) => Claim::Replayed { run_id },
                    None => Claim::Reused { run_id: old.run_id },
                });
            }
            let expected = found.map(|record| record.version);
            if self.store.compare_and_set(KEYS, &key.0, expected, &value)?.is_some() {
                return Ok(Claim::New);
            }
        }
        Err(StateError::Busy { file: self.store.location().to_owned() })
    }

    /// Stores what the list shows of a run.
    ///
    /// # Errors
    /// If the database can't be written.
    pub fn put(&self, summary: &RunSummary) -> Result<(), StateError> {
        let value = encode(summary);
        for _ in 0..MAX_CLAIM_TRIES {
            let expected = self.store.get(RUNS, &summary.run_id)?.map(|record| record.version);
            if self.store.compare_and_set(RUNS, &summary.run_id, expected, &value)?.is_some() {
                return Ok(());
            }
        }
        Err(StateError::Busy { file: self.store.location().to_owned() })
    }

    /// Frees a key that was claimed for a run which could not be created.
    ///
    /// # Errors
    /// If the database can't be written.
    pub fn release(&self, key: &IdempotencyKey, run_id: &RunId) -> Result<(), StateError> {
        let is_claimed =
            |value: &str| serde_json::from_str::<KeyRecord>(value).is_ok_and(|key| key.run_id == run_id.as_str());
        self.store.update(KEYS, &mut |snapshot| {
            let claimed = snapshot.records.iter().filter(|record| record.key == key.0 && is_claimed(&record.value));
            claimed.map(|record| Write::Remove { key: record.key.clone() }).collect()
        })
    }

    /// Frees the keys that were claimed for runs which don't exist: their creation was never finished. Call it while no run is created.
    ///
    /// # Errors
    /// If the database can't be written.
    pub(crate) fn remove_keys_of_lost_runs(&self, exists: &dyn Fn(&str) -> bool) -> Result<(), StateError> {
        // A key that expires is that of a run which has ended, whose folder may be removed.
        let is_lost = |value: &str| {
            serde_json::from_str::<KeyRecord>(value).is_ok_and(|key| key.expires.is_none() && !exists(&key.run_id))
        };
        self.store.update(KEYS, &mut |snapshot| {
            let lost = snapshot.records.iter().filter(|record| is_lost(&record.value));
            lost.map(|record| Write::Remove { key: record.key.clone() }).collect()
        })
    }

    /// Removes what the list shows of a run that could not be created.
    ///
    /// # Errors
    /// If the database can't be written.
    pub fn remove(&self, run_id: &RunId) -> Result<(), StateError> {
        self.store.update(RUNS, &mut |_| vec![Write::Remove { key: run_id.as_str().to_owned() }])
    }

    /// All runs that haven't ended, the first one first.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn unfinished(&self) -> Result<Vec<RunSummary>, StateError> {
        let mut runs = self.all()?;
        runs.retain(|run| run.finished_at.is_none());
        Ok(runs)
    }

    /// All runs, the first one first.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn all(&self) -> Result<Vec<RunSummary>, StateError> {
        let records = self.store.list(RUNS)?.records;
        let mut runs: Vec<RunSummary> =
            records.iter().filter_map(|record| serde_json::from_str(&record.value).ok()).collect();
        runs.sort_unstable_by(|one, other| one.run_id.cmp(&other.run_id));
        Ok(runs)
    }

    /// What the list shows of one run.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn get(&self, run_id: &RunId) -> Result<Option<RunSummary>, StateError> {
        let found = self.store.get(RUNS, run_id.as_str())?;
        Ok(found.and_then(|record| serde_json::from_str(&record.value).ok()))
    }

    /// The runs that `filter` wants, the latest first.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn list(&self, filter: &RunFilter) -> Result<RunPage, StateError> {
        let records = self.store.list(RUNS)?.records;
        let is_before = |key: &str| filter.after.as_ref().is_none_or(|after| key < after.as_str());
        let mut keys: Vec<(&str, &str)> = records
            .iter()
            .filter(|record| is_before(&record.key))
            .map(|record| (record.key.as_str(), record.value.as_str()))
            .collect();
        keys.sort_unstable_by(|one, other| other.0.cmp(one.0));
        let limit = filter.limit.unwrap_or(MAX_LISTED_RUNS).clamp(1, MAX_LISTED_RUNS);
        let wanted = keys.into_iter().filter_map(|(_, value)| serde_json::from_str::<RunSummary>(value).ok());
        let mut runs: Vec<RunSummary> = wanted.filter(|run| filter.wants(run)).take(limit + 1).collect();
        let next = (runs.len() > limit).then(|| runs[limit - 1].run_id.clone());
        runs.truncate(limit);
        Ok(RunPage { runs, next })
    }

    /// Lets the keys of a run that has ended expire after [`KEY_LIFE_S`], and removes those that have expired.
    ///
    /// # Errors
    /// If the database can't be read or written.
    pub fn run_ended(&self, run_id: &RunId, now: u64) -> Result<(), StateError> {
        self.store.update(KEYS, &mut |snapshot| {
            let keys = snapshot.records.iter();
            keys.filter_map(|record| {
                let mut key: KeyRecord = serde_json::from_str(&record.value).ok()?;
                if key.expires.is_some_and(|expires| expires <= now) {
                    return Some(Write::Remove { key: record.key.clone() });
                }
                let is_own = key.run_id == run_id.as_str() && key.expires.is_none();
                key.expires = Some(now + KEY_LIFE_S);
                is_own.then(|| Write::Put { key: record.key.clone(), value: encode(&key) })
            })
            .collect()
        })
    }
}

impl RunFilter {
    fn wants(&self, run: &RunSummary) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        is(&self.workspace, &run.workspace) && is(&self.subject, &run.subject) && is(&self.state, &run.state)
    }
}

fn encode(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use codeyard_state::SqliteStore;

    use super::*;

    fn store() -> (tempfile::TempDir, RunStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = RunStore::new(Arc::new(SqliteStore::open(dir.path()).unwrap()));
        (dir, store)
    }

    fn summary(number: u32, subject: &str) -> RunSummary {
        RunSummary {
            run_id: RunId::new(u64::from(number), number).as_str().to_owned(),
            workspace: "w".into(),
            workflow: "sample".into(),
            subject: subject.into(),
            state: if number.is_multiple_of(2) { "DONE" } else { "READY" }.into(),
            started_at: "2026-01-21T10:00:00Z".into(),
            finished_at: None,
        }
    }

    #[test]
    fn ten_starts_with_one_key_make_one_run() {
        let (_dir, store) = store();
        let key = IdempotencyKey::new("ann", "start", "k");
        let claims: Vec<Claim> = std::thread::scope(|scope| {
            let claim = |number| store.claim(&key, &RunId::new(1, number), "sha", 0).unwrap();
            let threads: Vec<_> = (0..10).map(|number| scope.spawn(move || claim(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(claims.iter().filter(|claim| **claim == Claim::New).count(), 1);
        let Claim::Replayed { run_id } = store.claim(&key, &RunId::new(1, 99), "sha", 0).unwrap() else { panic!() };
        for claim in claims.into_iter().filter(|claim| *claim != Claim::New) {
            assert_eq!(claim, Claim::Replayed { run_id: run_id.clone() });
        }
        assert_eq!(
            store.claim(&key, &RunId::new(1, 99), "other", 0).unwrap(),
            Claim::Reused { run_id: run_id.as_str().into() }
        );
    }

    #[test]
    fn keys_belong_to_a_principal_and_a_tool() {
        let (_dir, store) = store();
        let keys = [
            ("ann", "start", "k"),
            ("bob", "start", "k"),
            ("ann", "other", "k"),
            ("annstart", "", "k"),
            ("a", "nn|start", "k"),
        ];
        for (number, (principal, tool, key)) in (0..).zip(keys) {
            let key = IdempotencyKey::new(principal, tool, key);
            assert_eq!(store.claim(&key, &RunId::new(1, number), "sha", 0).unwrap(), Claim::New, "{principal} {tool}");
        }
    }

    #[test]
    fn a_key_lives_for_thirty_days_after_the_end() {
        let (_dir, store) = store();
        let key = IdempotencyKey::new("ann", "start", "k");
        let run = RunId::new(1, 1);
        store.claim(&key, &run, "sha", 0).unwrap();
        store.run_ended(&RunId::new(1, 2), 50).unwrap();
        store.run_ended(&run, 100).unwrap();
        let claim = |now| store.claim(&key, &RunId::new(1, 3), "other", now).unwrap();
        assert_eq!(claim(100 + KEY_LIFE_S - 1), Claim::Reused { run_id: run.as_str().into() });
        assert_eq!(claim(100 + KEY_LIFE_S), Claim::New);
        store.run_ended(&RunId::new(1, 3), 200 + KEY_LIFE_S).unwrap();
        store.run_ended(&RunId::new(1, 4), 200 + 3 * KEY_LIFE_S).unwrap();
        assert_eq!(store.store.list(KEYS).unwrap().records.len(), 0, "expired keys are removed");
    }

    #[test]
    fn lists_are_filtered_and_paged_from_the_latest() {
        let (_dir, store) = store();
        for number in [3, 1, 5, 2, 4] {
            store.put(&summary(number, if number > 2 { "new" } else { "old" })).unwrap();
        }
        store.put(&RunSummary { state: "FAILED".into(), ..summary(4, "new") }).unwrap();
        let numbers = |filter: &RunFilter| -> (Vec<String>, bool) {
            let page = store.list(filter).unwrap();
            let last = |run: &RunSummary| run.run_id[run.run_id.len() - 1..].to_owned();
            (page.runs.iter().map(last).collect(), page.next.is_some())
        };
        let all = RunFilter::default();
        assert_eq!(numbers(&all), (["5", "4", "3", "2", "1"].map(String::from).to_vec(), false));
        let with = |state: &str| RunFilter { state: Some(state.into()), ..RunFilter::default() };
        assert_eq!(numbers(&with("DONE")).0, ["2"]);
        assert_eq!(numbers(&with("FAILED")).0, ["4"]);
        assert_eq!(numbers(&RunFilter { subject: Some("old".into()), ..RunFilter::default() }).0, ["2", "1"]);
        assert_eq!(numbers(&RunFilter { workspace: Some("v".into()), ..RunFilter::default() }).0, Vec::<String>::new());
        let mut seen = Vec::new();
        let mut filter = RunFilter { limit: Some(2), ..RunFilter::default() };
        loop {
            let page = store.list(&filter).unwrap();
            seen.extend(page.runs);
            let Some(next) = page.next else { break };
            filter.after = RunId::parse(&next);
        }
        assert_eq!(seen, store.list(&RunFilter::default()).unwrap().runs);
        assert_eq!(store.get(&RunId::new(3, 3)).unwrap(), Some(summary(3, "new")));
    }
}
