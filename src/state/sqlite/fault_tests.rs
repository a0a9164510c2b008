//! What an operator meets when files are left over or the disk is full.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use rusqlite::ffi;

use super::tests::{NAMES, keys, open, put};
use super::*;

#[test]
fn a_damaged_index_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", "1");
    drop(store);
    let file = dir.path().join(STATE_FILE);
    let with_schema = |sql: &str| {
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch(&format!("PRAGMA writable_schema = ON; {sql}")).unwrap();
    };
    with_schema(
        "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'record_version';
        DELETE FROM sqlite_schema WHERE name = 'record_version'",
    );
    with_schema("INSERT INTO record VALUES ('names', 'b', 2, '1')");
    with_schema("INSERT INTO sqlite_schema SELECT * FROM kept");
    let error = SqliteStore::open(dir.path()).unwrap_err();
    assert!(matches!(error, StateError::Damaged { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("index record_version"), "{text}");
    assert!(text.contains("state.db, state.db-wal and state.db-shm") && text.contains("stop codeyard"), "{text}");
}

#[test]
fn a_new_database_does_not_replay_the_log_of_another() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "old", "1");
    let log = fs::read(dir.path().join("state.db-wal")).unwrap();
    let index = fs::read(dir.path().join("state.db-shm")).unwrap();
    drop(store);
    fs::remove_file(dir.path().join(STATE_FILE)).unwrap();
    fs::write(dir.path().join("state.db-wal"), &log).unwrap();
    fs::write(dir.path().join("state.db-shm"), &index).unwrap();
    let draft = dir.path().join(".state-a.new-wal");
    let recent = dir.path().join(".state-b.new");
    for path in [&draft, &recent] {
        fs::write(path, "").unwrap();
    }
    let old = SystemTime::now() - Duration::from_secs(90);
    fs::File::options().write(true).open(&draft).unwrap().set_modified(old).unwrap();
    assert_eq!(keys(&open(dir.path()), NAMES), [""; 0]);
    assert_eq!(fs::read(dir.path().join("state.db-wal.stale-1")).unwrap(), log);
    assert!(dir.path().join("state.db-shm.stale-1").exists());
    assert!(!draft.exists() && recent.exists(), "another process may still write a recent draft");
}

#[test]
fn errors_name_the_disk_the_folder_or_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(STATE_FILE);
    let text = |code| {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        connection::error_of(&file, error).to_string()
    };
    let full = format!("the disk of {} is full; free space, then run the command again", file.display());
    assert_eq!(text(ffi::SQLITE_FULL), full);
    let no_space = std::io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
    assert_eq!(connection::io_error(&file, no_space).to_string(), full);
    let unwritable = format!("state directory {} can't be written by this user; ", dir.path().display());
    assert!(text(ffi::SQLITE_READONLY_DIRECTORY).starts_with(&unwritable));
    let read_only = std::io::Error::from_raw_os_error(rustix::io::Errno::ROFS.raw_os_error());
    assert!(connection::io_error(&file, read_only).to_string().starts_with(&unwritable));
    if !rustix::process::geteuid().is_root() {
        drop(open(dir.path()));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
        let error = SqliteStore::open(dir.path()).unwrap_err();
        assert!(error.to_string().contains("run `chmod 600 "), "{error}");
    }
    let other = StateError::NotPrivate { file }.to_string();
    assert!(other.contains("run the command as its owner, or chown it") && other.contains("are lost"), "{other}");
}
