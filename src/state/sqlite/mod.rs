//! The embedded [`StateStore`]: one SQLite database, `state.db`, in the state directory.
//!
//! Readers and writers have a connection each, so that a reader never waits for a writer's `fsync`. Invariants: a commit is durable
//! (`synchronous=FULL`); if the file was replaced, the next call opens the new one; if it is gone, reads fail and the next write
//! makes a new one.

mod connection;
#[cfg(test)]
mod fault_tests;
mod leftovers;
mod schema;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use self::connection::{Access, OpenDatabase};
use crate::state_store::{ChangeStamp, Namespace, Record, Snapshot, StateError, StateStore, Write};

/// The database's file in the state directory.
pub const STATE_FILE: &str = "state.db";

/// The state database of one state directory.
#[derive(Debug)]
pub struct SqliteStore {
    file: PathBuf,
    reader: Mutex<Reader>,
    writer: Mutex<Option<OpenDatabase>>,
}

#[derive(Debug, Default)]
struct Reader {
    database: Option<OpenDatabase>,
    /// Counts the connections: `data_version` starts again with each.
    opened: u64,
}

impl SqliteStore {
    /// Opens the database in `folder`, creating it if it doesn't exist.
    ///
    /// # Errors
    /// If the database is damaged, of a newer version, of another user, or can't be read and written.
    pub fn open(folder: &Path) -> Result<Self, StateError> {
        let real = folder.canonicalize().map_err(|source| StateError::Io { file: folder.join(STATE_FILE), source })?;
        let store = Self { file: real.join(STATE_FILE), reader: Mutex::default(), writer: Mutex::default() };
        store.write(|_| Ok(()))?;
        store.read(|_| Ok(()))?;
        Ok(store)
    }

    fn failed(&self, error: rusqlite::Error) -> StateError {
        connection::error_of(&self.file, error)
    }

    /// The reader, connected to the present file.
    fn reader(&self) -> Result<MutexGuard<'_, Reader>, StateError> {
        let mut reader = self.reader.lock();
        let present = connection::identity(&self.file)?;
        if reader.database.as_ref().map(|open| open.identity) != present || present.is_none() {
            reader.database = None;
            reader.opened += 1;
            reader.database = Some(connection::open(&self.file, Access::Read)?);
        }
        Ok(reader)
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StateError> {
        let mut reader = self.reader()?;
        let Some(open) = &mut reader.database else { return Err(StateError::Missing { file: self.file.clone() }) };
        let transaction = open.connection.transaction().map_err(|error| self.failed(error))?;
        work(&transaction).map_err(|error| self.failed(error))
    }

    /// Writes in one transaction. If `work` fails, nothing has changed.
    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, StateError>) -> Result<T, StateError> {
        let mut writer = self.writer.lock();
        let present = connection::identity(&self.file)?;
        let open = match &mut *writer {
            Some(open) if Some(open.identity) == present => open,
            slot => {
                *slot = None;
                slot.insert(connection::open(&self.file, Access::Write)?)
            }
        };
        let begun = open.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(|error| self.failed(error))?;
        let done = work(&transaction)?;
        transaction.commit().map_err(|error| self.failed(error))?;
        Ok(done)
    }
}

impl StateStore for SqliteStore {
    fn location(&self) -> &Path {
        &self.file
    }

    fn stamp(&self) -> Result<ChangeStamp, StateError> {
        let reader = self.reader()?;
        let Some(open) = &reader.database else { return Err(StateError::Missing { file: self.file.clone() }) };
        let mut statement =
            open.connection.prepare_cached("PRAGMA data_version").map_err(|error| self.failed(error))?;
        let data_version = statement.query_row([], |row| row.get(0)).map_err(|error| self.failed(error))?;
        Ok(ChangeStamp { connection: reader.opened, data_version })
    }

    fn get(&self, namespace: Namespace, key: &str) -> Result<Option<Record>, StateError> {
        self.read(|connection| record(connection, namespace, key))
    }

    fn version(&self, namespace: Namespace) -> Result<u64, StateError> {
        self.read(|connection| version(connection, namespace))
    }

    fn list(&self, namespace: Namespace) -> Result<Snapshot, StateError> {
        self.read(|connection| snapshot(connection, namespace))
    }

    fn update(&self, namespace: Namespace, change: &mut dyn FnMut(&Snapshot) -> Vec<Write>) -> Result<(), StateError> {
        self.write(|transaction| {
            let before = snapshot(transaction, namespace).map_err(|error| self.failed(error))?;
            for write in change(&before) {
                let done = match write {
                    Write::Put { key, value } => put(transaction, namespace, &key, &value).map(drop),
                    Write::Remove { key } => remove(transaction, namespace, &key),
                };
                done.map_err(|error| self.failed(error))?;
            }
            Ok(())
        })
    }

    fn compare_and_set(
        &self,
        namespace: Namespace,
        key: &str,
        expected: Option<u64>,
        value: &str,
    ) -> Result<Option<u64>, StateError> {
        self.write(|transaction| {
            let found = record(transaction, namespace, key).map_err(|error| self.failed(error))?;
            if found.map(|record| record.version) != expected {
                return Ok(None);
            }
            put(transaction, namespace, key, value).map(Some).map_err(|error| self.failed(error))
        })
    }

    fn next(&self, namespace: Namespace, key: &str, first: u64) -> Result<u64, StateError> {
        self.write(|transaction| {
            let last = counter(transaction, namespace, key).map_err(|error| self.failed(error))?;
            let next = last.map_or(Some(first), |last| last.checked_add(1));
            let stored = next.and_then(|next| i64::try_from(next).ok());
            let stored = stored
                .ok_or_else(|| connection::damaged(&self.file, format!("the counter of {key} has no next number")))?;
            set_counter(transaction, namespace, key, stored).map_err(|error| self.failed(error))?;
            Ok(stored.cast_unsigned())
        })
    }
}

fn record(connection: &Connection, namespace: Namespace, key: &str) -> rusqlite::Result<Option<Record>> {
    let select = "SELECT key, version, value FROM record WHERE namespace = ? AND key = ?";
    connection.prepare_cached(select)?.query_row([namespace.as_str(), key], to_record).optional()
}

fn snapshot(connection: &Connection, namespace: Namespace) -> rusqlite::Result<Snapshot> {
    let select = "SELECT key, version, value FROM record WHERE namespace = ? ORDER BY version";
    let mut statement = connection.prepare_cached(select)?;
    let records = statement.query_map([namespace.as_str()], to_record)?.collect::<rusqlite::Result<_>>()?;
    Ok(Snapshot { version: version(connection, namespace)?, records })
}

fn version(connection: &Connection, namespace: Namespace) -> rusqlite::Result<u64> {
    let select = "SELECT version FROM namespace WHERE name = ?";
    let version = connection.prepare_cached(select)?.query_row([namespace.as_str()], to_number).optional()?;
    Ok(version.unwrap_or(0))
}

fn to_record(row: &rusqlite::Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record { key: row.get(0)?, version: row.get::<_, i64>(1)?.cast_unsigned(), value: row.get(2)? })
}

fn to_number(row: &rusqlite::Row<'_>) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(0)?.cast_unsigned())
}

/// Counts one more change of the namespace; the change's version.
fn raise_version(transaction: &Transaction<'_>, namespace: Namespace) -> rusqlite::Result<u64> {
    let raise =
        "INSERT INTO namespace VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET version = version + 1 RETURNING version";
    transaction.prepare_cached(raise)?.query_row([namespace.as_str()], to_number)
}

fn put(transaction: &Transaction<'_>, namespace: Namespace, key: &str, value: &str) -> rusqlite::Result<u64> {
    let version = raise_version(transaction, namespace)?;
    let put = "INSERT OR REPLACE INTO record (namespace, key, version, value) VALUES (?, ?, ?, ?)";
    transaction.prepare_cached(put)?.execute(params![namespace.as_str(), key, version.cast_signed(), value])?;
    Ok(version)
}

fn remove(transaction: &Transaction<'_>, namespace: Namespace, key: &str) -> rusqlite::Result<()> {
    raise_version(transaction, namespace)?;
    let remove = "DELETE FROM record WHERE namespace = ? AND key = ?";
    transaction.prepare_cached(remove)?.execute([namespace.as_str(), key])?;
    Ok(())
}

fn counter(connection: &Connection, namespace: Namespace, key: &str) -> rusqlite::Result<Option<u64>> {
    let select = "SELECT value FROM counter WHERE namespace = ? AND key = ?";
    connection.prepare_cached(select)?.query_row([namespace.as_str(), key], to_number).optional()
}

fn set_counter(transaction: &Transaction<'_>, namespace: Namespace, key: &str, value: i64) -> rusqlite::Result<()> {
    let set = "INSERT OR REPLACE INTO counter (namespace, key, value) VALUES (?, ?, ?)";
    transaction.prepare_cached(set)?.execute(params![namespace.as_str(), key, value])?;
    Ok(())
}
