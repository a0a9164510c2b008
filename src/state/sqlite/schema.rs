//! The tables of the state database, and how an older database becomes the present one.
//!
//! `user_version` is the number of migrations that were applied. A database never has fewer than one: it is created whole.

use rusqlite::{Connection, TransactionBehavior};

/// The migrations in their order. A released migration is never changed.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE namespace (name TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE record (
        namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        version INTEGER NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (namespace, key)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX record_version ON record (namespace, version);
    CREATE TABLE counter (
        namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        value INTEGER NOT NULL CHECK (value >= 0),
        PRIMARY KEY (namespace, key)
    ) STRICT, WITHOUT ROWID;
", "
    -- The records of tokens may have the fields created, used and ends. The tables and the records stay as they are: a version that
    -- knows one migration only would take these fields for damage, and refuses the database as a newer one instead.
", "
    -- The same for the fields tenant, workspaces, operations, minter and replaced. A version that ignored them would open more than they do.
"];

/// The schema that this version writes.
pub(super) const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// The schema of a database; 0 for one without tables.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Applies the migrations that are missing, in one transaction.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let applied = version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(applied as usize) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", SCHEMA.max(applied))?;
    transaction.commit()
}
