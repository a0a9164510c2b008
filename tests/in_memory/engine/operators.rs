//! Administrative changes during queries: put and deleted workspaces, restarted and stopped language servers.

use codeyard_base::ids::WorkspaceName;
use codeyard_config::WorkspaceConfig;
use codeyard_engine::supervisor::control::Control;
use codeyard_engine::supervisor::messages::{Condition, PutChange, PutError, RemoveError};
use codeyard_engine::supervisor::problems::{ServiceProblem, ServiceProblems};
use codeyard_engine::workspace::messages::WorkspaceProblem;
use serde_json::json;
use tokio::time::Instant;

use crate::engine::harness::*;
use crate::fake_server::*;

fn slow(site: &Site, ms: u64) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
        .on("textDocument/definition", [wait_ms(ms), reply(json!([site.location("a.fake", 1)]))])
        .answer("textDocument/hover", json!(null))
}

fn name(text: &str) -> WorkspaceName {
    WorkspaceName::new(text).unwrap()
}

fn wanted(workspace: &str, site: &Site) -> WorkspaceConfig {
    WorkspaceConfig::new(name(workspace), vec![site.root.clone()])
}

async fn put(control: &Control, config: WorkspaceConfig) -> PutChange {
    control.put(config, Condition::None).await.unwrap().unwrap().change
}

/// The id of the one language server of the first workspace.
async fn only_server(yard: &Yard) -> String {
    let servers = &yard.health().await[0].servers;
    assert_eq!(servers.len(), 1);
    servers[0].id.clone()
}

#[test]
fn a_delete_finishes_running_calls_and_reports_the_outcome() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 1_500).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        let control = yard.engine().control();
        let report = control.remove(name("w0"), Condition::None).await.unwrap().unwrap();
        let again = control.remove(name("w0"), Condition::None).await.unwrap().unwrap();
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.failed("WORKSPACE_DENIED");
        let listing = control.list(None).await.unwrap();
        assert_eq!((listing.entries.len(), listing.draining.len(), listing.draining[0].calls()), (0, 1, 1));
        let report = report.await;
        call.await.unwrap().ok();
        assert_eq!((report.calls, report.calls_cut), (1, 0));
        assert_eq!((report.servers.len(), report.servers[0].ended_by), (1, "exit"));
        assert_eq!(again.await, report, "a second delete reports the same removal");
        settle().await;
        assert_eq!(fake.alive(), 0);
        assert!(control.list(None).await.unwrap().draining.is_empty());
        assert_eq!(control.remove(name("w0"), Condition::None).await.unwrap().err(), Some(RemoveError::Unknown));
    });
}

#[test]
fn a_put_during_a_delete_creates_a_workspace_with_higher_epochs() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 1_500).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let before = yard.epochs().await[0];
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        let control = yard.engine().control();
        let report = control.remove(name("w0"), Condition::None).await.unwrap().unwrap();
        assert_eq!(put(&control, wanted("w0", yard.site())).await, PutChange::Created);
        assert!(yard.epochs().await[0] > before);
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        call.await.unwrap().ok();
        assert_eq!(report.await.servers.len(), 1, "of the old one");
        settle().await;
        assert_eq!(fake.alive(), 1, "that of the new one");
        yard.drain().await;
        assert_eq!(fake.alive(), 0);
    });
}

#[test]
fn two_puts_are_atomic_and_a_condition_admits_one() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 0).launcher();
        let yard = Plan::one(site, fake.clone()).workspace(Site::usual()).open().await;
        let control = yard.engine().control();
        let one = wanted("new", &yard.sites[0]);
        let two = wanted("new", &yard.sites[1]);
        let both =
            tokio::join!(control.put(one.clone(), Condition::Absent), control.put(two.clone(), Condition::Absent));
        let first = both.0.unwrap().unwrap();
        assert_eq!(first.change, PutChange::Created);
        assert_eq!(both.1.unwrap(), Err(PutError::Condition(Some(first.revision.clone()))));
        assert_eq!(put(&control, one.clone()).await, PutChange::Unchanged);
        let mut tighter = one.clone();
        tighter.limits = Some(codeyard_model::limits::Limits { max_page_size: 7, ..Default::default() });
        let at = |revision: &str| Condition::Revision(vec![revision.to_owned()]);
        let tuned = control.put(tighter.clone(), at(&first.revision)).await.unwrap().unwrap();
        assert_eq!(tuned.change, PutChange::Retuned);
        assert!(control.put(two.clone(), at(&first.revision)).await.unwrap().is_err(), "the revision is another now");
        let epoch =
            |overview: codeyard_engine::supervisor::control::Overview| overview.healths[0].as_ref().unwrap().epochs[0];
        let before = epoch(control.overview(Some(&name("new"))).await.unwrap());
        assert_eq!(put(&control, two).await, PutChange::Replaced);
        assert!(epoch(control.overview(Some(&name("new"))).await.unwrap()) > before, "changed roots move rootsEpoch");
    });
}

#[test]
fn a_put_that_fails_to_open_changes_nothing() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 0).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let control = yard.engine().control();
        let nowhere = WorkspaceConfig::new(name("w0"), vec![yard.site().root.join("nowhere")]);
        assert!(matches!(control.put(nowhere, Condition::None).await.unwrap(), Err(PutError::Unusable(_))));
        let empty = WorkspaceConfig::new(name("w0"), vec![]);
        assert!(matches!(control.put(empty, Condition::None).await.unwrap(), Err(PutError::Invalid(_))));
        yard.call(HOVER, yard.site().at("a.fake", 1, 0)).await.ok();
        assert_eq!((fake.launches(), fake.alive()), (1, 1));
    });
}

#[test]
fn a_reload_keeps_put_workspaces_unless_it_defines_the_same_name() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 0).launcher();
        let mut yard = Plan::one(site, fake).workspace(Site::usual()).open().await;
        let control = yard.engine().control();
        let more = Site::usual();
        put(&control, wanted("mine", &more)).await;
        put(&control, wanted("w1", &more)).await;
        control.remove(name("w0"), Condition::None).await.unwrap().unwrap().await;
        let names = |listing: &codeyard_engine::supervisor::messages::WorkspaceListing| {
            listing.entries.iter().map(|entry| (entry.config.name.to_string(), entry.put)).collect::<Vec<_>>()
        };
        let listing = control.list(None).await.unwrap();
        assert_eq!(names(&listing), [("w1".into(), true), ("mine".into(), true)]);
        assert_eq!(
            listing.defaults.values().collect::<Vec<_>>(),
            [&name("w0")],
            "an endpoint without a name means no other one"
        );
        yard.reconfigure(|_| {}).await;
        let listing = control.list(None).await.unwrap();
        assert_eq!(names(&listing), [("w0".into(), false), ("w1".into(), false), ("mine".into(), true)]);
        assert_eq!(listing.entries[1].config.roots, [yard.sites[1].root.clone()], "as in the configuration file");
    });
}

#[test]
fn a_workspace_that_failed_to_open_is_retried() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 0).launcher();
        let mut yard = Plan::one(site, fake).open().await;
        let root = yard.site().root.join("later");
        yard.config.workspaces.push(WorkspaceConfig::new(name("later"), vec![root.clone()]));
        let done = yard.engine().configure(yard.config.clone()).await.unwrap();
        assert_eq!(done.failed.len(), 1);
        let control = yard.engine().control();
        assert_eq!(control.problems().await.unwrap().degraded, [ServiceProblem::NotOpen(name("later"))]);
        std::fs::create_dir(root).unwrap();
        yard.reconfigure(|_| {}).await;
        assert_eq!(control.problems().await.unwrap(), ServiceProblems::default());
    });
}

#[test]
fn a_restart_during_a_start_leaves_one_process() {
    paused(|| async {
        let site = Site::usual();
        let first = slow(&site, 0).on("initialize", [wait_ms(30_000)]);
        let fake = FakeLauncher::sequence([first, slow(&site, 0)]);
        let yard = Plan::one(site, fake.clone()).open().await;
        let call = yard.spawn(HOVER, yard.site().at("a.fake", 0, 0));
        fake.wait_for("initialize", 1).await;
        let id = only_server(&yard).await;
        assert!(yard.engine().control().restart(&name("w0"), &id).await.unwrap());
        call.await.unwrap().ok();
        assert_eq!((fake.launches(), fake.alive()), (2, 1), "the half-born one is gone");
        assert_eq!(yard.health().await[0].servers[0].restarts, 1);
    });
}

#[test]
fn a_query_starts_a_stopped_server() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 0).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let control = yard.engine().control();
        let id = only_server(&yard).await;
        let stopped = control.stop(&name("w0"), &id).await.unwrap().unwrap();
        assert_eq!((stopped.id.as_str(), stopped.ended_by), (id.as_str(), "exit"));
        assert_eq!(fake.alive(), 0);
        assert_eq!(control.stop(&name("w0"), &id).await.unwrap(), None);
        assert!(!control.restart(&name("w0"), &id).await.unwrap());
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!((fake.launches(), fake.alive()), (2, 1));
        assert_eq!(only_server(&yard).await, id, "the same one by name");
    });
}

#[test]
fn a_restart_ends_a_quarantine() {
    paused(|| async {
        let site = Site::usual();
        let broken = FakeServer::new().on("initialize", [exit(1)]);
        let mut lives = vec![broken; 5];
        lives.push(slow(&site, 0));
        let fake = FakeLauncher::sequence(lives);
        let yard = Plan::one(site, fake.clone()).open().await;
        drop(yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await);
        pass(20_000).await;
        let control = yard.engine().control();
        let quarantined = ServiceProblem::InWorkspace(name("w0"), WorkspaceProblem::Quarantined("fake".into()));
        assert_eq!(control.problems().await.unwrap().degraded, [quarantined]);
        let began = Instant::now();
        assert!(control.restart(&name("w0"), &only_server(&yard).await).await.unwrap());
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        near(began.elapsed(), 0);
        assert_eq!(control.problems().await.unwrap(), ServiceProblems::default());
        assert_eq!(fake.launches(), 6);
    });
}

#[test]
fn snapshots_are_counted_by_tool_and_age() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 0).launcher();
        let yard = Plan::one(site, fake).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        pass(3_000).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        let (_, stats) = yard.engine().control().snapshots().await.unwrap();
        let stats = stats[0].clone().unwrap();
        assert_eq!((stats.count, stats.by_tool.get(DEFINITION)), (1, Some(&1)));
        assert_eq!(stats.oldest.map(|age| age.as_secs()), Some(3));
        assert!(stats.bytes > 0 && stats.bytes < stats.limit_bytes);
    });
}
