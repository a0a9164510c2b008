//! Added and removed workspaces, and the cost of idle ones.

use codeyard_base::ids::WorkspaceName;
use codeyard_config::WorkspaceConfig;
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

#[test]
fn removal_finishes_calls_and_stops_servers() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 1_500).launcher();
        let mut yard = Plan::one(site, fake.clone()).workspace(Site::usual()).open().await;
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        yard.reconfigure(|config| drop(config.workspaces.remove(0))).await;
        let refused = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        refused.failed("WORKSPACE_DENIED");
        call.await.unwrap().ok();
        pass(100).await;
        assert_eq!(fake.alive(), 0);
        assert_eq!(fake.record().count("shutdown"), 1);
        yard.start("w1", HOVER, yard.sites[1].at("a.fake", 0, 0)).await.ok();
    });
}

#[test]
fn an_endless_call_delays_removal_only_until_its_deadline() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 60_000).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        let began = Instant::now();
        yard.drain().await;
        near(began.elapsed(), 2_000);
        call.await.unwrap().timed_out("answering");
        assert_eq!(fake.alive(), 0);
    });
}

#[test]
fn a_reload_without_server_changes_keeps_the_processes() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 0).launcher();
        let mut yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.reconfigure(|config| config.limits.request_timeout_ms = 1_000).await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!((fake.launches(), fake.alive()), (1, 1));
    });
}

#[test]
fn a_server_stopped_during_a_wait_is_replaced_transparently() {
    paused(|| async {
        let site = Site::usual();
        let mute = FakeServer::new().capabilities(json!({"textDocumentSync": 1}));
        let push = diagnostics(&site.uri("a.fake"), Some(1), json!([finding(0, "a")]));
        let fake = FakeLauncher::sequence([mute.clone(), mute.on("textDocument/didOpen", [push])]);
        // A server counts as unused without new queries, even while a caller waits for its push.
        let yard = Plan::one(site, fake.clone()).tune(|config| config.supervision.idle_stop_s = 1).open().await;
        let called = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
        assert_eq!(called.ok()["diagnostics"][0]["message"], "a");
        assert_eq!(fake.launches(), 2);
    });
}

#[test]
fn above_the_memory_budget_only_idle_servers_are_stopped() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 1_900).memory(3 << 20).launcher();
        let plan = Plan::one(site, fake.clone()).tune(|config| config.supervision.memory_budget_mib = 2);
        let yard = plan.open().await;
        let until = Instant::now() + std::time::Duration::from_secs(25);
        while Instant::now() < until {
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            yard.site().write("a.fake", &format!("alpha\nbeta\n{:?}\n", Instant::now()));
        }
        assert_eq!(fake.launches(), 1, "it was at work at every look");
        pass(11_000).await;
        assert_eq!(fake.alive(), 0);
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a process of its own, so that no other test's memory is counted")]
fn two_hundred_idle_workspaces_start_and_watch_nothing_and_use_little_memory() {
    const NAME: &str = "engine::drain::two_hundred_idle_workspaces_start_and_watch_nothing_and_use_little_memory";
    if std::env::var_os(ALONE).is_none() {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let ended = alone.args([NAME, "--exact"]).env(ALONE, "1").output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"));
        return;
    }
    in_real_time(|| async {
        let site = Site::usual();
        let fake = slow(&site, 0).launcher();
        let mut yard = Plan::one(site, fake.clone()).at_once().open().await;
        let more: Vec<Site> = (0..200).map(|_| Site::usual()).collect();
        let roots: Vec<_> = more.iter().map(|site| site.root.clone()).collect();
        let before = resident_bytes();
        yard.reconfigure(move |config| {
            for (number, root) in roots.into_iter().enumerate() {
                let name = WorkspaceName::new(&format!("idle{number}")).unwrap();
                config.workspaces.push(WorkspaceConfig::new(name, vec![root]));
            }
        })
        .await;
        let health = yard.health().await;
        assert_eq!(health.len(), 201);
        assert!(health.iter().all(|one| one.servers.is_empty() && one.watching == "idle"), "{health:?}");
        assert_eq!(fake.specs().len(), 0);
        assert_eq!(yard.watcher.as_ref().unwrap().watch_count(), 0);
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < 100 << 20, "{grown} bytes");
    });
}

/// Set in the process that measures.
const ALONE: &str = "CODEYARD_TEST_ALONE";

/// Resident memory of this process.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
