//! The decoded records of one namespace, read again when it has changed. As long as the store's stamp is the same, nothing has.
//!
//! Invariant: if the store can't be read, the value is empty, so that nobody gets in by an old value.

use crate::state_store::{ChangeStamp, Namespace, Record, Snapshot, StateError, StateStore};

/// A value that follows a namespace.
#[derive(Debug)]
pub(crate) struct CachedRecords<T> {
    namespace: Namespace,
    value: T,
    /// When the value was current, and the version of the namespace that it was read from.
    read: Option<(ChangeStamp, u64)>,
    is_failing: bool,
}

impl<T: Default> CachedRecords<T> {
    /// An empty value that is read at the first [`Self::refresh`].
    pub(crate) fn new(namespace: Namespace) -> Self {
        Self { namespace, value: T::default(), read: None, is_failing: false }
    }

    /// The value of the last refresh.
    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    /// Reads the records again if the namespace has changed. `decode` says what is wrong with a record of another form.
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
            let unchanged = match self.read {
                Some((at, version)) if at == stamp => Some(version),
                Some((at, version)) if at.connection == stamp.connection => {
                    Some(store.version(self.namespace)?).filter(|present| *present == version)
                }
                _ => None,
            };
            if let Some(version) = unchanged {
                return Ok((stamp, version, None));
            }
            let Snapshot { version, records } = store.list(self.namespace)?;
            let value =
                decode(&records).map_err(|reason| StateError::Damaged { file: store.location().to_owned(), reason })?;
            Ok((stamp, version, Some(value)))
        };
        match load() {
            Ok((stamp, version, value)) => {
                self.read = Some((stamp, version));
                if let Some(value) = value {
                    (self.value, self.is_failing) = (value, false);
                }
                Ok(())
            }
            Err(error) => {
                (self.value, self.read) = (T::default(), None);
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
