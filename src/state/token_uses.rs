//! Stores when tokens were last used, in the background.
//!
//! A call only adds to a list; a thread that may block writes the list to the store, all noted uses in one transaction. Invariants:
//! one thread writes at a time; a token that was removed meanwhile doesn't come back; a use that can't be stored fails no call.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::state_store::{Namespace, Record, StoreHandle, Write};
use crate::token_record::TokenValue;

/// The uses of the tokens of one audience that aren't stored yet.
pub(crate) struct TokenUses {
    store: StoreHandle,
    namespace: Namespace,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    /// By the record's key: when, in seconds since 1970.
    uses: HashMap<String, u64>,
    is_being_written: bool,
}

/// Hashes don't belong into logs.
impl fmt::Debug for TokenUses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenUses").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl TokenUses {
    /// No uses yet.
    pub(crate) fn new(store: StoreHandle, namespace: Namespace) -> Self {
        Self { store, namespace, pending: Mutex::default() }
    }

    /// Notes that the token of `key` was used at `now`. Doesn't block. Outside of a runtime the use is stored with the next one.
    pub(crate) fn note(self: &Arc<Self>, key: String, now: u64) {
        let mut pending = self.pending.lock();
        pending.uses.insert(key, now);
        if pending.is_being_written {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            pending.is_being_written = true;
            let uses = Arc::clone(self);
            runtime.spawn_blocking(move || uses.write_all());
        }
    }

    /// Whether uses are being written.
    #[cfg(test)]
    pub(crate) fn is_busy(&self) -> bool {
        self.pending.lock().is_being_written
    }

    fn write_all(&self) {
        loop {
            let uses = {
                let mut pending = self.pending.lock();
                pending.is_being_written = !pending.uses.is_empty();
                std::mem::take(&mut pending.uses)
            };
            if uses.is_empty() {
                return;
            }
            let used = |record: &Record| {
                let value = record.decode::<TokenValue>()?.used_at(*uses.get(&record.key)?);
                Some(Write::Put { key: record.key.clone(), value: value.encode() })
            };
            let written =
                self.store.update(self.namespace, &mut |before| before.records.iter().filter_map(used).collect());
            if let Err(error) = written {
                tracing::warn!(%error, "the last use of a token can't be stored; `codeyard token list` shows an earlier one");
            }
        }
    }
}
