//! Opening the database's file: creation, ownership, mode, schema and damage.
//!
//! Invariants: a new database appears under its name with all its tables, so an empty file of that name is damage; the file has
//! mode 0600 and belongs to this user. The file is never opened other than by SQLite: closing a second descriptor would drop the
//! locks that SQLite holds in this process.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema;
use crate::limits::{READ_WAIT, WRITE_WAIT};
use crate::state_store::StateError;

/// Tells a database file from another one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// A connection, and the file that it is of.
#[derive(Debug)]
pub(super) struct OpenDatabase {
    pub(super) connection: Connection,
    pub(super) identity: FileIdentity,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads only. The file must exist.
    Read,
    /// Reads and writes. The file is created if it doesn't exist.
    Write,
}

/// The identity of the file; `None` if it doesn't exist.
pub(super) fn identity(file: &Path) -> Result<Option<FileIdentity>, StateError> {
    match fs::symlink_metadata(file) {
        Ok(meta) => Ok(Some(FileIdentity { device: meta.dev(), inode: meta.ino() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StateError::Io { file: file.to_owned(), source }),
    }
}

/// Opens the database.
pub(super) fn open(file: &Path, access: Access) -> Result<OpenDatabase, StateError> {
    if identity(file)?.is_none() {
        match access {
            Access::Read => return Err(StateError::Missing { file: file.to_owned() }),
            Access::Write => create(file)?,
        }
    }
    make_private(file)?;
    let Some(identity) = identity(file)? else { return Err(StateError::Missing { file: file.to_owned() }) };
    let failed = |error| error_of(file, error);
    let mut connection = connect(file).map_err(failed)?;
    check_version(file, schema::version(&connection).map_err(failed)?)?;
    match access {
        Access::Read => {
            connection.busy_timeout(READ_WAIT).map_err(failed)?;
            connection.pragma_update(None, "query_only", true).map_err(failed)?;
        }
        Access::Write => {
            check_pages(file, &connection)?;
            schema::migrate(&mut connection).map_err(failed)?;
        }
    }
    Ok(OpenDatabase { connection, identity })
}

/// Makes a database with its tables, under another name first. Does nothing if another process was faster.
fn create(file: &Path) -> Result<(), StateError> {
    let io_failed = |source| io_error(file, source);
    let failed = |error| error_of(file, error);
    let folder = file.parent().unwrap_or(Path::new("."));
    // Only the path is kept: SQLite opens the file itself.
    let draft = tempfile::Builder::new().prefix(".state-").suffix(".new").tempfile_in(folder).map_err(io_failed)?;
    let draft = draft.into_temp_path();
    let mut connection = connect(&draft).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    schema::migrate(&mut connection).map_err(failed)?;
    // The last connection moves everything into the file and removes the log.
    connection.close().map_err(|(_, error)| failed(error))?;
    match draft.persist_noclobber(file) {
        Ok(()) => fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(io_failed),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(io_failed(error.error)),
    }
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(WRITE_WAIT)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Refuses files of others and links; tightens the mode.
fn make_private(file: &Path) -> Result<(), StateError> {
    let meta: Metadata = fs::symlink_metadata(file).map_err(|source| io_error(file, source))?;
    if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(StateError::NotPrivate { file: file.to_owned() });
    }
    if meta.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(file, Permissions::from_mode(0o600)).map_err(|source| io_error(file, source))?;
    }
    Ok(())
}

fn check_version(file: &Path, found: u32) -> Result<(), StateError> {
    match found {
        0 => Err(damaged(file, "it has no tables")),
        found if found > schema::SCHEMA => {
            Err(StateError::Newer { file: file.to_owned(), found, known: schema::SCHEMA })
        }
        _ => Ok(()),
    }
}

/// Reads every page. The database is small.
fn check_pages(file: &Path, connection: &Connection) -> Result<(), StateError> {
    let result: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(|error| error_of(file, error))?;
    if result == "ok" { Ok(()) } else { Err(damaged(file, result)) }
}

/// The content of `file` is wrong.
pub(super) fn damaged(file: &Path, reason: impl Into<String>) -> StateError {
    StateError::Damaged { file: file.to_owned(), reason: reason.into() }
}

fn io_error(file: &Path, source: io::Error) -> StateError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => StateError::Full { file: file.to_owned() },
        _ => StateError::Io { file: file.to_owned(), source },
    }
}

/// SQLite's error as one that an operator understands.
pub(super) fn error_of(file: &Path, error: rusqlite::Error) -> StateError {
    let file = file.to_owned();
    match error.sqlite_error_code() {
        // Without a code the value of a column has another type than expected.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => {
            StateError::Damaged { file, reason: error.to_string() }
        }
        Some(ErrorCode::DiskFull) => StateError::Full { file },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StateError::Busy { file },
        Some(ErrorCode::Unknown) => StateError::Damaged { file, reason: error.to_string() },
        Some(_) => StateError::Io { file, source: io::Error::other(error.to_string()) },
    }
}
