//! The memory limit of a kind of language server. Servers in memory on paused time.

use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

const MIB: u64 = 1 << 20;

fn capable(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]))
        .answer("textDocument/hover", json!(null))
}

/// A service whose only kind may use 8 MiB.
fn limited(site: Site, fake: std::sync::Arc<FakeLauncher>) -> Plan {
    Plan::new(site).kind(Entry::new("fake", fake).entry("memory_limit_mib = 8"))
}

#[test]
fn a_server_over_its_limit_is_replaced_counted_and_named() {
    paused(|| async {
        let site = Site::usual();
        let small = capable(&site).memory(3 * MIB);
        let fake = FakeLauncher::sequence([capable(&site).memory(9 * MIB), small]);
        let yard = limited(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.alive(), 1);
        pass(11_000).await;
        assert_eq!((fake.launches(), fake.alive()), (2, 1), "it comes back by itself");
        assert_eq!(yard.counts.restarts()["memory_limit"], 1);
        let health = yard.health().await[0].servers[0].clone();
        assert_eq!((health.restarts, health.memory_limit_bytes), (1, Some(8 * MIB)));
        assert_eq!(health.last_end.map(|end| end.reason), Some("memory_limit"));
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        pass(3_600_000 / 6).await;
        assert_eq!(fake.launches(), 2, "it stays below the limit");
    });
}

#[test]
fn a_server_that_needs_more_than_its_limit_is_given_up_for_a_while() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).memory(9 * MIB).launcher();
        let yard = limited(site, fake.clone()).tune(|config| config.supervision.idle_stop_s = 0).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        pass(30_000).await;
        assert_eq!((fake.launches(), fake.alive()), (2, 0), "one more try, then none");
        let refused = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        refused.failed_as("PROVIDER_UNAVAILABLE", "quarantined");
        let health = serde_json::to_value(&yard.health().await[0].servers[0]).unwrap();
        let message = health["message"].as_str().unwrap();
        assert!(message.contains("9 MiB") && message.contains("servers.fake.memory_limit_mib allows 8"), "{message}");
        assert_eq!(fake.launches(), 2, "a call starts nothing");
        // It has become smaller, for example because files were removed.
        fake.set_memory(5 * MIB);
        pass(300_000).await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        pass(600_000).await;
        assert_eq!((fake.launches(), fake.alive()), (3, 1));
        assert_eq!(yard.counts.restarts()["memory_limit"], 2);
        // After it has served for long, growth costs one restart.
        fake.set_memory(20 * MIB);
        // Whether one or two measurements fall into a fixed time depends on when the first one was.
        while yard.counts.restarts()["memory_limit"] == 2 {
            pass(100).await;
        }
        fake.set_memory(5 * MIB);
        pass(600_000).await;
        assert_eq!((fake.launches(), fake.alive()), (4, 1));
    });
}

#[test]
fn a_start_over_the_limit_is_ended_too_and_leaves_no_process() {
    paused(|| async {
        let site = Site::usual();
        let huge = capable(&site).memory(9 * MIB).never("initialize");
        let fake = FakeLauncher::sequence([huge, capable(&site).memory(3 * MIB)]);
        let yard = limited(site, fake.clone()).open().await;
        // The call waits for the start, which is ended within its deadline or soon after it.
        drop(yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await);
        pass(11_000).await;
        assert_eq!((fake.launches(), fake.alive()), (2, 1));
        assert_eq!(yard.counts.restarts()["memory_limit"], 1);
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
    });
}

#[test]
fn unknown_memory_is_no_reason_and_other_kinds_have_no_limit() {
    paused(|| async {
        let site = Site::usual();
        let unmeasured = capable(&site).launcher();
        let free = capable(&site).memory(900 * MIB).launcher();
        let plan = limited(site, unmeasured.clone()).kind(Entry::new("free", free.clone()).other());
        let yard = plan.open().await;
        yard.site().write("b.other", "beta\n");
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.call(HOVER, yard.site().at("b.other", 0, 0)).await.ok();
        pass(120_000).await;
        assert_eq!((unmeasured.launches(), free.launches()), (1, 1));
        assert!(yard.counts.restarts().is_empty());
    });
}

#[test]
fn an_operators_restart_ends_the_wait_after_the_limit() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).memory(9 * MIB).launcher();
        let yard = limited(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        pass(30_000).await;
        assert_eq!((fake.launches(), fake.alive()), (2, 0));
        fake.set_memory(3 * MIB);
        let id = yard.health().await[0].servers[0].id.clone();
        let workspace = codeyard_base::ids::WorkspaceName::new("w0").unwrap();
        assert!(yard.engine().control().restart(&workspace, &id).await.unwrap());
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(yard.health().await[0].servers[0].last_end.map(|end| end.reason), Some("operator"));
    });
}
