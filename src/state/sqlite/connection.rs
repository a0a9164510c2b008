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
use rustix::fs::Access as Rights;

use super::{leftovers, schema};
use crate::limits::{READ_WAIT, WRITE_WAIT};
use crate::serve_lock::ServeLock;
use crate::state_dir::is_disk_full;
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
    let version = schema::version(&connection).map_err(failed)?;
    check_version(file, version)?;
    match access {
        Access::Read => {
            connection.busy_timeout(READ_WAIT).map_err(failed)?;
            connection.pragma_update(None, "query_only", true).map_err(failed)?;
        }
        Access::Write => {
            check_pages(file, &connection)?;
            if version < schema::SCHEMA {
                check_no_earlier_server(file)?;
            }
            schema::migrate(&mut connection).map_err(failed)?;
        }
    }
    Ok(OpenDatabase { connection, identity })
}

/// Makes a database with its tables, under another name first. Does nothing if another process was faster.
///
/// The lock of the folder is held, so that no process renames the log of a database that another one just made.
fn create(file: &Path) -> Result<(), StateError> {
    let io_failed = |source| io_error(file, source);
    let failed = |error| error_of(file, error);
    let folder = file.parent().unwrap_or(Path::new("."));
    let lock = fs::File::open(folder).map_err(io_failed)?;
    lock.lock().map_err(io_failed)?;
    if identity(file)?.is_some() {
        return Ok(());
    }
    leftovers::move_stale_logs(file).map_err(io_failed)?;
    leftovers::remove_drafts(folder);
    let (prefix, suffix) = leftovers::DRAFT_NAME;
    // Only the path is kept: SQLite opens the file itself.
    let draft = tempfile::Builder::new().prefix(prefix).suffix(suffix).tempfile_in(folder).map_err(io_failed)?;
    let draft = draft.into_temp_path();
    let mut connection = connect(&draft).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    schema::migrate(&mut connection).map_err(failed)?;
    // The last connection moves everything into the file and removes the log.
    connection.close().map_err(|(_, error)| failed(error))?;
    match draft.persist_noclobber(file) {
        Ok(()) => lock.sync_all().map_err(io_failed),
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
    match unwritable_file(file) {
        Some(error) => Err(error),
        None => Ok(()),
    }
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

/// Refuses to migrate while a server that may not know the present schema reads the database. A server of this version has migrated it
/// when it starts.
fn check_no_earlier_server(file: &Path) -> Result<(), StateError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    match ServeLock::other_holder(folder).map_err(|source| io_error(file, source))? {
        Some(holder) => Err(StateError::InUse { folder: folder.to_owned(), pid: holder.pid }),
        None => Ok(()),
    }
}

/// Reads every page and compares the index with the records. The database is small.
fn check_pages(file: &Path, connection: &Connection) -> Result<(), StateError> {
    let result: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|error| error_of(file, error))?;
    if result == "ok" { Ok(()) } else { Err(damaged(file, result)) }
}

/// The content of `file` is wrong.
pub(super) fn damaged(file: &Path, reason: impl Into<String>) -> StateError {
    StateError::Damaged { file: file.to_owned(), reason: reason.into() }
}

/// A file of the database whose mode keeps this user out.
fn unwritable_file(file: &Path) -> Option<StateError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let files = ["", "-wal", "-shm"].map(|suffix| file.with_file_name(format!("{name}{suffix}")));
    let is_locked = |path: &&std::path::PathBuf| {
        matches!(rustix::fs::access(*path, Rights::READ_OK | Rights::WRITE_OK), Err(rustix::io::Errno::ACCESS))
            && fs::symlink_metadata(path).is_ok()
    };
    files.iter().find(is_locked).map(|path| StateError::FileMode { file: path.clone() })
}

/// The file or its folder can't be written by this user.
fn unwritable(file: &Path) -> StateError {
    let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
    unwritable_file(file).unwrap_or(StateError::NotWritable { folder })
}

/// Whether the disk has too little space for the database's log.
fn is_full(file: &Path) -> bool {
    is_disk_full(file.parent().unwrap_or(Path::new(".")))
}

fn is_folder_writable(file: &Path) -> bool {
    let folder = file.parent().unwrap_or(Path::new("."));
    rustix::fs::access(folder, Rights::WRITE_OK | Rights::EXEC_OK).is_ok()
}

/// The system's error as one that an operator understands.
pub(super) fn io_error(file: &Path, source: io::Error) -> StateError {
    use io::ErrorKind::{FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => StateError::Full { file: file.to_owned() },
        PermissionDenied | ReadOnlyFilesystem => unwritable(file),
        _ => StateError::Io { file: file.to_owned(), source },
    }
}

/// SQLite's error as one that an operator understands.
pub(super) fn error_of(path: &Path, error: rusqlite::Error) -> StateError {
    let file = path.to_owned();
    match error.sqlite_error_code() {
        // Without a code the value of a column has another type than expected.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) | None => {
            StateError::Damaged { file, reason: error.to_string() }
        }
        Some(ErrorCode::DiskFull) => StateError::Full { file },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StateError::Busy { file },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => unwritable(path),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_full(path) => StateError::Full { file },
        Some(ErrorCode::CannotOpen) if unwritable_file(path).is_some() || !is_folder_writable(path) => unwritable(path),
        Some(_) => StateError::Io { file, source: io::Error::other(error.to_string()) },
    }
}
