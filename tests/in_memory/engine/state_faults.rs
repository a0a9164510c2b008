//! A state directory that can't be written, roots and watchers that come back: what runs goes on, and what failed starts by itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use codeyard_base::ids::WorkspaceName;
use codeyard_config::{IsolationLevel, PrincipalPermission, WorkspaceConfig};
use codeyard_engine::limits::{OPEN_AGAIN_MS, WATCH_AGAIN_MS};
use codeyard_engine::supervisor::engine::EngineError;
use codeyard_engine::supervisor::messages::{Condition, ConfigureError, PutChange, PutError};
use codeyard_state::{ChangeStamp, Namespace, Record, Snapshot, StateError, StateStore, StoreHandle, Write};
use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

/// A store on a disk that is full while the flag is set.
#[derive(Debug)]
struct OnFullDisk(StoreHandle, Arc<AtomicBool>);

impl OnFullDisk {
    fn write(&self) -> Result<&dyn StateStore, StateError> {
        if self.1.load(SeqCst) { Err(StateError::Full { file: PathBuf::from("/state") }) } else { Ok(&*self.0) }
    }
}

impl StateStore for OnFullDisk {
    fn location(&self) -> &Path {
        self.0.location()
    }

    fn stamp(&self) -> Result<ChangeStamp, StateError> {
        self.0.stamp()
    }

    fn get(&self, namespace: Namespace, key: &str) -> Result<Option<Record>, StateError> {
        self.0.get(namespace, key)
    }

    fn version(&self, namespace: Namespace) -> Result<u64, StateError> {
        self.0.version(namespace)
    }

    fn list(&self, namespace: Namespace) -> Result<Snapshot, StateError> {
        // Also reading fails where a database must write its log first.
        self.write()?.list(namespace)
    }

    fn update(&self, namespace: Namespace, change: &mut dyn FnMut(&Snapshot) -> Vec<Write>) -> Result<(), StateError> {
        self.write()?.update(namespace, change)
    }

    fn compare_and_set(
        &self,
        namespace: Namespace,
        key: &str,
        expected: Option<u64>,
        value: &str,
    ) -> Result<Option<u64>, StateError> {
        self.write()?.compare_and_set(namespace, key, expected, value)
    }

    fn next(&self, namespace: Namespace, key: &str, first: u64) -> Result<u64, StateError> {
        self.write()?.next(namespace, key, first)
    }
}

fn name(text: &str) -> WorkspaceName {
    WorkspaceName::new(text).unwrap()
}

fn good() -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"hoverProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/hover", json!({"contents": "known"}))
}

/// Rules for two principals, which make workspaces restricted that name no level.
fn two_principals(workspace: &mut WorkspaceConfig) {
    for principal in ["ana", "ben"] {
        workspace
            .permission
            .get_or_insert_default()
            .principals
            .insert(principal.to_owned(), PrincipalPermission::default());
    }
}

#[test]
fn a_full_state_disk_ends_no_workspace_that_runs() {
    paused(|| async {
        let is_full = Arc::new(AtomicBool::new(false));
        let full = is_full.clone();
        let fake = good().launcher();
        let plan = Plan::one(Site::usual(), fake.clone()).workspace(Site::usual());
        let plan = plan.tune(|config| config.workspaces[0].isolation = Some(IsolationLevel::Trusted));
        let mut yard = plan.store_setup(move |store| Arc::new(OnFullDisk(store, full.clone()))).open().await;
        let answers = || async {
            for (number, site) in yard.sites.iter().enumerate() {
                yard.start(&format!("w{number}"), HOVER, site.at("a.fake", 0, 0)).await.ok();
            }
        };
        answers().await;
        let control = yard.engine().control();
        let before = yard.epochs().await;
        is_full.store(true, SeqCst);
        pass(25_000).await;
        let site = yard.site().root.clone();
        let other = yard.sites[1].root.clone();
        // A change, a new workspace, a reload, and rules that restrict the other workspace.
        let mut changed = WorkspaceConfig::new(name("w0"), vec![site, other.clone()]);
        let refused = control.put(changed.clone(), Condition::None).await.unwrap().unwrap_err();
        assert!(
            matches!(&refused, PutError::State(problem) if problem.to_string().contains("free space")),
            "{refused}"
        );
        let new = WorkspaceConfig::new(name("new"), vec![other.clone()]);
        let refused = control.put(new.clone(), Condition::None).await.unwrap().unwrap_err();
        assert!(matches!(refused, PutError::State(_)), "{refused}");
        two_principals(&mut changed);
        changed.roots.truncate(1);
        changed.isolation = Some(IsolationLevel::Trusted);
        let refused = control.put(changed, Condition::None).await.unwrap().unwrap_err();
        assert!(matches!(refused, PutError::State(_)), "the level of w1 would change: {refused}");
        let mut config = yard.config.clone();
        config.workspaces[0].roots.push(other);
        let refused = yard.engine().configure(config.clone()).await.unwrap_err();
        assert!(matches!(refused, EngineError::Configure(ConfigureError::State(_))), "{refused}");
        assert_eq!(control.list(None).await.unwrap().entries.len(), 2, "nothing was changed");
        answers().await;
        assert_eq!((yard.epochs().await[0], fake.launches(), fake.alive()), (before[0], 2, 2), "nothing was restarted");
        // Removing needs no room.
        control.remove(name("w1"), Condition::None).await.unwrap().unwrap().await;
        is_full.store(false, SeqCst);
        assert_eq!(control.put(new, Condition::None).await.unwrap().unwrap().change, PutChange::Created);
        yard.config = config;
        yard.reconfigure(|_| {}).await;
        assert!(yard.epochs().await[0] > before[0]);
        yard.start("w0", HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
    });
}

#[test]
fn a_workspace_whose_root_appears_later_is_opened_without_a_reload() {
    paused(|| async {
        let is_full = Arc::new(AtomicBool::new(false));
        let full = is_full.clone();
        let plan = Plan::one(Site::usual(), good().launcher());
        let mut yard = plan.store_setup(move |store| Arc::new(OnFullDisk(store, full.clone()))).open().await;
        let late = Site::usual();
        let moved = late.base().join("elsewhere");
        std::fs::rename(&late.root, &moved).unwrap();
        yard.config.workspaces.push(WorkspaceConfig::new(name("late"), vec![late.root.clone()]));
        let done = yard.engine().configure(yard.config.clone()).await.unwrap();
        assert_eq!(done.failed.len(), 1, "{:?}", done.failed);
        let ask = || yard.start("late", HOVER, late.at("a.fake", 0, 0));
        pass(OPEN_AGAIN_MS + 1_000).await;
        ask().await.failed("WORKSPACE_DENIED");
        std::fs::rename(&moved, &late.root).unwrap();
        is_full.store(true, SeqCst);
        pass(OPEN_AGAIN_MS + 1_000).await;
        ask().await.failed("WORKSPACE_DENIED");
        let listing = yard.engine().control().list(Some(&name("late"))).await.unwrap();
        assert!(listing.entries[0].problem.as_ref().unwrap().contains("is full"), "{:?}", listing.entries[0].problem);
        is_full.store(false, SeqCst);
        pass(OPEN_AGAIN_MS + 1_000).await;
        ask().await.ok();
        // One that was removed meanwhile isn't opened.
        std::fs::rename(&late.root, &moved).unwrap();
        yard.config.workspaces[1].name = name("later");
        assert_eq!(yard.engine().configure(yard.config.clone()).await.unwrap().failed.len(), 1);
        yard.config.workspaces.pop();
        yard.reconfigure(|_| {}).await;
        std::fs::rename(&moved, &late.root).unwrap();
        pass(OPEN_AGAIN_MS + 1_000).await;
        assert_eq!(yard.health().await.len(), 1);
    });
}

#[test]
fn a_delete_that_changes_the_level_of_others_reports_its_own_drain() {
    paused(|| async {
        let fake = good().launcher();
        let plan = Plan::one(Site::usual(), fake.clone()).workspace(Site::usual()).workspace(Site::usual());
        let yard = plan
            .tune(|config| {
                config.workspaces[0].isolation = Some(IsolationLevel::Trusted);
                two_principals(&mut config.workspaces[0]);
            })
            .open()
            .await;
        yard.start("w0", HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let control = yard.engine().control();
        let level = |listing: &[codeyard_engine::supervisor::messages::WorkspaceEntry]| {
            listing.iter().map(|entry| entry.handle.as_ref().unwrap().isolation.level).collect::<Vec<_>>()
        };
        let restricted = IsolationLevel::Restricted;
        let listing = control.list(None).await.unwrap();
        assert_eq!(level(&listing.entries), [IsolationLevel::Trusted, restricted, restricted]);
        let report = control.remove(name("w0"), Condition::None).await.unwrap().unwrap().await;
        assert_eq!((report.name.as_str(), report.servers.len()), ("w0", 1));
        let listing = control.list(None).await.unwrap();
        assert_eq!(level(&listing.entries), [IsolationLevel::Trusted; 2]);
    });
}

#[test]
fn files_that_could_not_be_watched_at_first_are_watched_later() {
    paused(|| async {
        let site = Site::usual();
        let root = site.root.clone();
        let moved = site.base().join("elsewhere");
        let yard = Plan::one(site, good().launcher()).at_once().open().await;
        std::fs::rename(&root, &moved).unwrap();
        let ask = || yard.call(HOVER, yard.site().at("a.fake", 0, 0));
        yard.walk().await;
        std::fs::rename(&moved, &root).unwrap();
        ask().await.ok();
        assert_eq!(yard.health().await[0].watching, "files can't be watched; every question compares with disk");
        let before = yard.epochs().await;
        pass(WATCH_AGAIN_MS + 1_000).await;
        while yard.health().await[0].watching != "watching" {
            tokio::task::yield_now().await;
        }
        let watched = yard.epochs().await;
        assert!(watched > before, "what changed before it was watched isn't known");
        ask().await.ok();
        assert_eq!(yard.epochs().await, watched, "files that are watched and don't change keep their answers");
    });
}
