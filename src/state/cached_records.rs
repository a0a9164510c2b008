//! The decoded records of one namespace, read again when the store's stamp changes.
//!
//! Invariant: if the store can't be read, the value is empty, so that nobody gets in by an old value.

use crate::state_store::{ChangeStamp, Namespace, Record, StateError, StateStore};

/// A value that follows a namespace.
#[derive(Debug)]
pub(crate) struct CachedRecords<T> {
    namespace: Namespace,
    value: T,
    stamp: Option<ChangeStamp>,
    is_failing: bool,
}

impl<T: Default> CachedRecords<T> {
    /// An empty value that is read at the first [`Self::refresh`].
    pub(crate) fn new(namespace: Namespace) -> Self {
        Self { namespace, value: T::default(), stamp: None, is_failing: false }
    }

    /// The value of the last refresh.
    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    /// Reads the records again if the store has changed. `decode` says what is wrong with a record of another form.
    ///
    /// # Errors
    /// If they can't be read; the value is empty then.
    pub(crate) fn try_refresh(
        &mut self,
        store: &dyn StateStore,
        decode: impl FnOnce(&[Record]) -> Result<T, String>,
    ) -> Result<(), StateError> {
        let load = || {
            // The stamp comes first: a change in between is read again the next time.
            let stamp = store.stamp()?;
            if self.stamp == Some(stamp) {
                return Ok(None);
            }
            let records = store.list(self.namespace)?.records;
            let value =
                decode(&records).map_err(|reason| StateError::Damaged { file: store.location().to_owned(), reason })?;
            Ok(Some((stamp, value)))
        };
        match load() {
            Ok(None) => Ok(()),
            Ok(Some((stamp, value))) => {
                (self.value, self.stamp, self.is_failing) = (value, Some(stamp), false);
                Ok(())
            }
            Err(error) => {
                (self.value, self.stamp) = (T::default(), None);
                Err(error)
            }
        }
    }

    /// The same; a failure is logged once, until a read succeeds.
    pub(crate) fn refresh(
        &mut self,
        store: &dyn StateStore,
        consequence: &'static str,
        decode: impl FnOnce(&[Record]) -> Result<T, String>,
    ) {
        if let Err(error) = self.try_refresh(store, decode)
            && !std::mem::replace(&mut self.is_failing, true)
        {
            tracing::warn!(%error, consequence, "the state database can't be read");
        }
    }
}
