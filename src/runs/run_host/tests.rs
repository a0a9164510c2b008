//! Starts at once, keys, and lists that a crash has left wrong.

use std::sync::Barrier;

use codeyard_state::StateDir;
use serde_json::json;

use super::*;
use crate::machine::{Advance, Command};
use crate::testing::{SampleCode, Unwatched, carry_out, sample_start};

/// The runs of a state directory.
fn host(state: &Path) -> RunHost {
    let store = StateDir::open(state).unwrap().store().unwrap();
    RunHost::open(Arc::new(SampleCode::plain()), &state.join("runs"), store).unwrap()
}

fn key(text: &str, config_sha256: &str) -> StartKey {
    StartKey { key: IdempotencyKey::new("ann", "start", text), config_sha256: config_sha256.into() }
}

fn start(host: &RunHost, key: Option<&StartKey>) -> Result<(RunId, bool), StartError> {
    start_if(host, key, &|| Ok(()))
}

fn start_if(
    host: &RunHost,
    key: Option<&StartKey>,
    admit: &dyn Fn() -> Result<(), QueueFull>,
) -> Result<(RunId, bool), StartError> {
    let start = sample_start(Advance::Auto, json!({}));
    let started = host.start(start, key, &TraceContext::default(), Arc::new(Unwatched), admit);
    started.map(|started| match started {
        Started::New(live) => (live.id().clone(), false),
        Started::Replayed(id) => (id, true),
    })
}

#[test]
fn ten_starts_at_once_with_one_key_make_one_run() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path());
    let together = Barrier::new(10);
    let started: Vec<(RunId, bool)> = std::thread::scope(|scope| {
        let client = || {
            together.wait();
            start(&host, Some(&key("k", "c"))).unwrap()
        };
        let clients: Vec<_> = (0..10).map(|_| scope.spawn(client)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let runs: BTreeSet<&str> = started.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(runs.len(), 1, "{started:?}");
    assert_eq!(started.iter().filter(|(_, is_replayed)| !is_replayed).count(), 1);
    assert_eq!(host.store().all().unwrap().len(), 1);
    assert!(matches!(start(&host, Some(&key("k", "other"))), Err(StartError::KeyReused { .. })));
    assert!(!start(&host, None).unwrap().1, "a start without a key is always new");
}

#[test]
fn a_start_that_fails_uses_no_key_up_and_leaves_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path());
    let runs = dir.path().join("runs");
    std::fs::rename(&runs, dir.path().join("away")).unwrap();
    std::fs::write(&runs, "in the way").unwrap();
    assert!(start(&host, Some(&key("k", "c"))).is_err());
    assert_eq!(host.store().all().unwrap(), []);
    std::fs::remove_file(&runs).unwrap();
    std::fs::rename(dir.path().join("away"), &runs).unwrap();
    assert!(!start(&host, Some(&key("k", "other"))).unwrap().1, "the key is free");
}

#[test]
fn a_crash_between_claim_and_creation_is_mended() {
    let dir = tempfile::tempdir().unwrap();
    let lost = RunId::new(0, 7);
    {
        let host = host(dir.path());
        let key = key("k", "c");
        host.store().claim(&key.key, &lost, &key.config_sha256, 0).unwrap();
        let summary = RunSummary {
            run_id: lost.as_str().into(),
            workspace: "shop".into(),
            workflow: "sample".into(),
            subject: "till".into(),
            state: "CREATED".into(),
            started_at: lost.started_at(),
            finished_at: None,
        };
        host.store().put(&summary).unwrap();
    }
    let host = host(dir.path());
    assert_eq!(host.store().all().unwrap(), [], "the run was never acknowledged");
    let (id, is_replayed) = start(&host, Some(&key("k", "c"))).unwrap();
    assert!(!is_replayed, "there was nothing to repeat");
    assert_eq!(start(&host, Some(&key("k", "c"))).unwrap(), (id, true));
}

#[test]
fn a_list_that_was_lost_is_made_again_from_the_folders() {
    let dir = tempfile::tempdir().unwrap();
    let (id, before) = {
        let host = host(dir.path());
        let (id, _) = start(&host, None).unwrap();
        let live = host.open_run(&id, Arc::new(Unwatched)).unwrap();
        carry_out(&live, Command::Resume);
        host.list(&id, &live.status().view).unwrap();
        (id, host.store().all().unwrap())
    };
    assert_eq!(before[0].state, "CHECKING");
    {
        let host = host(dir.path());
        host.store().remove(&id).unwrap();
        // A folder that is no run's, and a run that can't be read.
        std::fs::create_dir(dir.path().join("runs/other")).unwrap();
        let broken = dir.path().join("runs").join(RunId::new(0, 3).as_str());
        std::fs::create_dir(&broken).unwrap();
        std::fs::write(broken.join("events.ndjson"), "no event\nat all\n").unwrap();
    }
    let host = host(dir.path());
    assert_eq!(host.store().all().unwrap(), before);
    assert_eq!(host.find(id.as_str(), "shop").unwrap(), Some(id.clone()));
    assert_eq!(host.find(id.as_str(), "other").unwrap(), None, "a run of another workspace isn't found");
    assert_eq!(host.find("../../etc", "shop").unwrap(), None);
}

#[test]
fn one_process_works_with_the_runs_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let first = host(dir.path());
    let store = StateDir::open(dir.path()).unwrap().store().unwrap();
    let second = RunHost::open(Arc::new(SampleCode::plain()), &dir.path().join("runs"), store.clone());
    assert!(matches!(second, Err(HostError::InUse { .. })));
    drop(first);
    assert!(RunHost::open(Arc::new(SampleCode::plain()), &dir.path().join("runs"), store).is_ok());
}

#[test]
fn a_full_queue_refuses_new_runs_and_no_repeated_start() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path());
    let (id, _) = start(&host, Some(&key("k", "c"))).unwrap();
    let full = || Err(QueueFull { waiting: 7 });
    assert_eq!(start_if(&host, Some(&key("k", "c")), &full).unwrap(), (id, true));
    for key in [None, Some(key("other", "c"))] {
        assert!(matches!(start_if(&host, key.as_ref(), &full), Err(StartError::Full(QueueFull { waiting: 7 }))));
    }
    assert_eq!(host.store().all().unwrap().len(), 1);
    assert!(!start(&host, Some(&key("other", "d"))).unwrap().1, "the refused start has used no key up");
}

#[test]
fn a_run_is_open_once() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path());
    let start_config = sample_start(Advance::Auto, json!({}));
    let started = host.start(start_config, None, &TraceContext::default(), Arc::new(Unwatched), &|| Ok(())).unwrap();
    let Started::New(live) = started else { panic!("the start is new") };
    let id = live.id().clone();
    assert!(matches!(host.open_run(&id, Arc::new(Unwatched)), Err(OpenError::InUse)));
    drop(live);
    let live = host.open_run(&id, Arc::new(Unwatched)).unwrap();
    assert!(matches!(host.open_run(&id, Arc::new(Unwatched)), Err(OpenError::InUse)));
    drop(live);
    assert!(host.open_run(&id, Arc::new(Unwatched)).is_ok());
}

#[test]
fn a_record_that_a_crash_has_left_behind_is_mended_when_the_run_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path());
    let key = key("k", "c");
    let (id, _) = start(&host, Some(&key)).unwrap();
    let live = host.open_run(&id, Arc::new(Unwatched)).unwrap();
    // The last event is durable, and the list doesn't learn of it.
    live.command(&TraceContext::default(), Command::Cancel).unwrap();
    drop(live);
    assert_eq!(host.store().get(&id).unwrap().unwrap().state, "CREATED");
    drop(host.open_run(&id, Arc::new(Unwatched)).unwrap());
    let listed = host.store().get(&id).unwrap().unwrap();
    assert_eq!((listed.state.as_str(), listed.finished_at.is_some()), ("CANCELLED", true));
    // The key expires from now on.
    let later = clock::wall_s() + crate::limits::KEY_LIFE_S + 1;
    assert_eq!(host.store().claim(&key.key, &RunId::new(0, 9), "other", later).unwrap(), Claim::New);
}

#[test]
fn keys_and_records_of_runs_that_were_never_created_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let lost = RunId::new(0, 7);
    for log in [&b""[..], b"\0\0\0\0", b"{\"event_id\":\"e_0000"] {
        let key = key("k", "c");
        {
            let host = host(dir.path());
            host.store().claim(&key.key, &lost, &key.config_sha256, 0).unwrap();
            let folder = RunFolder::new(&dir.path().join("runs"), &lost);
            folder.make().unwrap();
            fs::write(folder.events(), log).unwrap();
            assert!(host.open_run(&lost, Arc::new(Unwatched)).is_err(), "nobody sees it");
        }
        let host = host(dir.path());
        // Its key can lead to another configuration.
        let (id, is_replayed) = start(&host, Some(&StartKey { config_sha256: "other".into(), ..key })).unwrap();
        assert!(!is_replayed && id != lost);
        host.store().release(&IdempotencyKey::new("ann", "start", "k"), &id).unwrap();
    }
}

#[test]
fn working_copies_of_runs_that_ended_long_ago_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path());
    let run = |ends: bool| {
        let (id, _) = start(&host, None).unwrap();
        let live = host.open_run(&id, Arc::new(Unwatched)).unwrap();
        if ends {
            live.command(&TraceContext::default(), Command::Cancel).unwrap();
            host.list(&id, &live.status().view).unwrap();
        }
        live.folder()
    };
    let ended = run(true);
    let open = run(false);
    let now = clock::wall_s();
    assert_eq!(host.remove_old_work(3_600, now).unwrap(), 0);
    assert_eq!(host.remove_old_work(3_600, now + 3_601).unwrap(), 1);
    assert_eq!((ended.work().exists(), ended.events().exists(), ended.artifacts().exists()), (false, true, true));
    assert!(open.work().exists());
    assert_eq!(host.remove_old_work(3_600, now + 3_601).unwrap(), 0);
}
