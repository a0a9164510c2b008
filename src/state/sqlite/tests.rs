//! The database as the operator meets it: crashes, damage, other processes and other versions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::token_store::TOKENS;

pub(super) const NAMES: Namespace = Namespace::new("names");

pub(super) fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder).unwrap()
}

pub(super) fn put(store: &dyn StateStore, key: &str, value: &str) {
    let write = Write::Put { key: key.into(), value: value.into() };
    store.update(NAMES, &mut |_| vec![write.clone()]).unwrap();
}

pub(super) fn keys(store: &dyn StateStore, namespace: Namespace) -> Vec<String> {
    store.list(namespace).unwrap().records.into_iter().map(|record| record.key).collect()
}

#[test]
fn records_are_ordered_by_their_last_write_and_changes_are_seen_by_others() {
    let dir = tempfile::tempdir().unwrap();
    let one = open(dir.path());
    let two = open(dir.path());
    assert_eq!(one.list(NAMES).unwrap(), Snapshot::default());
    let stamps = [one.stamp().unwrap(), two.stamp().unwrap()];
    assert_eq!([one.stamp().unwrap(), two.stamp().unwrap()], stamps, "nothing has changed");
    for key in ["a", "b", "c", "a"] {
        put(&one, key, "1");
    }
    assert_ne!(one.stamp().unwrap(), stamps[0], "of its own change");
    assert_ne!(two.stamp().unwrap(), stamps[1], "of another's");
    assert_eq!(keys(&two, NAMES), ["b", "c", "a"]);
    assert_eq!(two.get(NAMES, "a").unwrap().unwrap().version, 4);
    two.update(NAMES, &mut |_| vec![Write::Remove { key: "b".into() }, Write::Remove { key: "none".into() }]).unwrap();
    assert_eq!(keys(&one, NAMES), ["c", "a"]);
    assert_eq!(keys(&one, TOKENS), [""; 0]);
}

#[test]
fn compare_and_set_succeeds_only_with_the_present_version() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = store.compare_and_set(NAMES, "k", None, "1").unwrap().unwrap();
    assert_eq!(store.compare_and_set(NAMES, "k", None, "2").unwrap(), None);
    let second = store.compare_and_set(NAMES, "k", Some(first), "2").unwrap().unwrap();
    assert!(second > first);
    assert_eq!(store.compare_and_set(NAMES, "k", Some(first), "3").unwrap(), None);
    assert_eq!(store.get(NAMES, "k").unwrap().unwrap().value, "2");
}

#[test]
fn concurrent_writers_lose_no_change_and_get_different_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let shared = Arc::new(open(dir.path()));
    let numbers: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                // Two handles: threads of one process, and processes beside it.
                let store = if worker % 2 == 0 { shared.clone() } else { Arc::new(open(dir.path())) };
                scope.spawn(move || {
                    (0..10)
                        .map(|n| {
                            put(&*store, &format!("{worker}-{n}"), "1");
                            store.next(NAMES, "counter", 100).unwrap()
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(keys(&*shared, NAMES).len(), 40);
    let sorted: std::collections::BTreeSet<u64> = numbers.into_iter().collect();
    assert!(sorted.into_iter().eq(100..140));
}

/// The folder for the child of the test below.
const CHILD_FOLDER: &str = "CODEYARD_TEST_STATE_CHILD";

/// Does nothing unless the test below started it: then it writes until it is killed.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD_FOLDER) else { return };
    let store = open(Path::new(&folder));
    loop {
        let number = store.next(NAMES, "counter", 1).unwrap();
        put(&store, &number.to_string(), "1");
        println!("committed {number}");
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_had_committed() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for _ in 0..3 {
        #[expect(clippy::disallowed_methods, reason = "the test starts itself as a second process")]
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "sqlite::tests::child_that_writes_until_it_is_killed", "--nocapture"]);
        let mut child = command.env(CHILD_FOLDER, dir.path()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let numbers = lines.filter_map(|line| line.split("committed ").nth(1)?.parse::<u64>().ok());
        let committed: Vec<u64> = numbers.take(20).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        let known = keys(&store, NAMES);
        assert_eq!(committed.len(), 20);
        assert!(committed.iter().all(|number| known.contains(&number.to_string())), "{committed:?}: {known:?}");
        assert!(Some(store.next(NAMES, "counter", 1).unwrap()) > committed.last().copied());
    }
}

#[test]
fn concurrent_creation_makes_one_database() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| drop(open(dir.path())));
        }
    });
    let left = fs::read_dir(dir.path()).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.ends_with(".new")).count(), 0);
}

#[test]
fn a_damaged_database_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for n in 0..200 {
        put(&store, &format!("{n:03}"), &"x".repeat(100));
    }
    drop(store);
    let file = dir.path().join(STATE_FILE);
    let whole = fs::read(&file).unwrap();
    let mut torn = whole.clone();
    torn[8192..12_288].fill(0xff);
    for damage in [&b""[..], b"no database", &whole[..whole.len() - 4096], &torn] {
        fs::write(&file, damage).unwrap();
        let error = SqliteStore::open(dir.path()).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, StateError::Damaged { .. }), "{error:?}");
        assert!(text.contains("state.db") && text.contains("codeyard token add"), "{text}");
        assert_eq!(fs::read(&file).unwrap(), damage, "the file is left as it was");
    }
    fs::write(&file, whole).unwrap();
    assert_eq!(keys(&open(dir.path()), NAMES).len(), 200);
}

#[test]
fn a_newer_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", "1");
    drop(store);
    let file = dir.path().join(STATE_FILE);
    let set = |version: u32| Connection::open(&file).unwrap().pragma_update(None, "user_version", version).unwrap();
    set(schema::SCHEMA + 1);
    let error = SqliteStore::open(dir.path()).unwrap_err();
    assert!(matches!(error, StateError::Newer { .. }) && error.to_string().contains("newer version"), "{error}");
    set(schema::SCHEMA);
    assert_eq!(keys(&open(dir.path()), NAMES), ["a"]);
}

#[test]
fn the_database_is_private_durable_and_a_regular_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", "1");
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("state.db"), mode("state.db-wal"), mode("state.db-shm")], [0o600; 3]);
    let pragma = |name: &str| {
        let writer = store.writer.lock();
        let connection = &writer.as_ref().unwrap().connection;
        connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap()
    };
    assert_eq!(pragma("journal_mode"), rusqlite::types::Value::Text("wal".into()));
    assert_eq!(pragma("synchronous"), rusqlite::types::Value::Integer(2));
    drop(store);
    let file = dir.path().join(STATE_FILE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(dir.path()));
    assert_eq!(mode("state.db"), 0o600);
    let moved = dir.path().join("moved");
    fs::rename(&file, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &file).unwrap();
    assert!(matches!(SqliteStore::open(dir.path()), Err(StateError::NotPrivate { .. })));
}

#[test]
fn a_folder_that_can_not_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let missing = SqliteStore::open(&dir.path().join("missing")).unwrap_err();
    assert!(matches!(missing, StateError::Io { .. }) && missing.to_string().contains("missing/state.db"), "{missing}");
    drop(open(dir.path()));
    // Where the log should be, nothing can be written: that holds for root, too.
    fs::create_dir(dir.path().join("state.db-wal")).unwrap();
    let error = SqliteStore::open(dir.path()).unwrap_err();
    assert!(matches!(error, StateError::Io { .. }), "{error:?}");
    fs::remove_dir(dir.path().join("state.db-wal")).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let opened = SqliteStore::open(dir.path());
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(opened.is_err(), !rustix::process::geteuid().is_root(), "{opened:?}");
}

#[test]
fn a_replaced_database_is_followed_and_a_missing_one_is_made_by_the_next_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", "1");
    let before = store.stamp().unwrap();
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::remove_file(dir.path().join(file)).unwrap();
    }
    assert!(matches!(store.stamp(), Err(StateError::Missing { .. })));
    assert!(matches!(store.list(NAMES), Err(StateError::Missing { .. })));
    put(&store, "b", "1");
    assert_ne!(store.stamp().unwrap(), before);
    assert_eq!(keys(&store, NAMES), ["b"]);
}

#[test]
fn a_writer_that_is_locked_out_gives_up_and_readers_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let one = open(dir.path());
    let two = open(dir.path());
    put(&one, "a", "1");
    two.writer.lock().as_ref().unwrap().connection.busy_timeout(std::time::Duration::from_millis(20)).unwrap();
    one.update(NAMES, &mut |_| {
        assert!(matches!(two.next(NAMES, "n", 1), Err(StateError::Busy { .. })));
        assert_eq!(keys(&two, NAMES), ["a"]);
        assert_eq!(keys(&one, NAMES), ["a"]);
        vec![Write::Put { key: "b".into(), value: "1".into() }]
    })
    .unwrap();
    assert_eq!(keys(&two, NAMES), ["a", "b"]);
}
