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
    let started =
        host.start(sample_start(Advance::Auto, json!({})), key, &TraceContext::default(), Arc::new(Unwatched));
    started.map(|started| match started {
        Started::New(live) => (live.id().clone(), false),
        Started::Replayed(id) => (id, true),
    })
}

#[test]
fn ten_starts_at_once_with_one_key_make_one_run() {
    let dir = tempfile::tempdir().unwrap();
    let (host, together) = (host(dir.path()), Barrier::new(10));
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
    assert_eq!(start(&host, Some(&key("k", "c"))).unwrap(), (lost, false), "the key leads to it");
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
