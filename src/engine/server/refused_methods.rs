//! The methods that a language server didn't support when it was asked, so that a fallback answers the operation next time.
//!
//! Only a record: the server's capabilities decide each time it is asked, because it may register a method later. Invariant: a method that
//! it has answered since isn't in the record.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The record of one language server. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct RefusedMethods(Arc<Mutex<BTreeSet<&'static str>>>);

impl RefusedMethods {
    /// The server doesn't support the method.
    pub(crate) fn add(&self, method: &'static str) {
        self.0.lock().insert(method);
    }

    /// The server has answered the method.
    pub(crate) fn remove(&self, method: &str) {
        self.0.lock().remove(method);
    }

    /// Whether it supported all methods when it was asked for them last.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Whether it didn't support the method when it was asked last.
    pub(crate) fn contains(&self, method: &str) -> bool {
        self.0.lock().contains(method)
    }
}
