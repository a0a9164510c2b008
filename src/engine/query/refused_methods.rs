//! The methods that a language server didn't support when it was asked, so that a fallback answers the operation next time.
//!
//! Only a record: the server's capabilities decide each time it is asked, because it may register a method later. Invariant: a method that
//! it has answered since isn't in the record.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::query::no_answer::ProviderFailure;
use crate::query::provider_call::Attempt;

/// The record of one language server. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct RefusedMethods(Arc<Mutex<BTreeSet<&'static str>>>);

impl RefusedMethods {
    /// Records whether an attempt shows that the server supports the method.
    pub(crate) fn record(&self, method: &'static str, attempt: &Result<Attempt, ProviderFailure>) {
        match attempt {
            Err(ProviderFailure::Unavailable(why)) if why.is_unsupported() => drop(self.0.lock().insert(method)),
            Ok(Attempt::Reply(..)) => drop(self.0.lock().remove(method)),
            _ => {}
        }
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
