//! The memory budget, and what operators see of busy workspaces. Servers in memory on paused time.

use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_gateway::service::{Principal, ToolCall};
use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

const MIB: u64 = 1 << 20;

fn quick(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]))
        .answer("textDocument/hover", json!(null))
}

/// Three workspaces with the same kind of server.
fn three(site: Site, fake: std::sync::Arc<FakeLauncher>, budget_mib: u64) -> Plan {
    let plan = Plan::one(site, fake).workspace(Site::usual()).workspace(Site::usual());
    plan.tune(move |config| config.supervision.memory_budget_mib = budget_mib)
}

/// A query of one workspace; another line, so that no retained result answers it.
async fn hover(yard: &Yard, at: usize, line: u32) -> Called {
    yard.start(&format!("w{at}"), HOVER, yard.sites[at].at("a.fake", line, 0)).await
}

/// The number of language servers of each workspace.
async fn servers(yard: &Yard) -> Vec<usize> {
    yard.health().await.iter().map(|health| health.servers.len()).collect()
}

#[test]
fn a_start_makes_room_by_stopping_the_server_that_was_unused_longest() {
    paused(|| async {
        let site = Site::usual();
        let fake = quick(&site).memory(3 * MIB).launcher();
        let yard = three(site, fake.clone(), 8).open().await;
        for at in [0, 1] {
            hover(&yard, at, 0).await.ok();
            pass(5_000).await;
        }
        assert_eq!((servers(&yard).await, yard.counts.server_evictions()), (vec![1, 1, 0], 0), "both fit");
        hover(&yard, 2, 0).await.ok();
        assert_eq!((servers(&yard).await, yard.counts.server_evictions()), (vec![0, 1, 1], 1));
        assert_eq!(fake.alive(), 2);
        let stopped = yard.health().await.remove(0).stopped;
        assert_eq!((stopped.len(), stopped[0].reason), (1, "evicted"));
        pass(5_000).await;
        // The stopped server comes back with the next query, and another one makes room.
        hover(&yard, 0, 1).await.ok();
        assert_eq!((servers(&yard).await, yard.counts.server_evictions()), (vec![1, 0, 1], 2));
        assert_eq!((fake.launches(), fake.alive()), (4, 2));
        assert!(yard.counts.restarts().is_empty(), "a stop for the budget is no failure");
    });
}

#[test]
fn a_tenant_over_its_share_makes_room_before_another_one() {
    paused(|| async {
        let site = Site::usual();
        let fake = quick(&site).memory(3 * MIB).launcher();
        let names = ["team-b/w0", "team-a/w1", "team-a/w2"];
        let plan = Plan::one(site, fake.clone()).workspace(Site::usual()).workspace(Site::usual());
        let plan = plan.tune(move |config| {
            config.supervision.memory_budget_mib = 8;
            for (workspace, name) in config.workspaces.iter_mut().zip(names) {
                workspace.name = WorkspaceName::new(name).unwrap();
            }
        });
        let yard = plan.open().await;
        for (at, name) in names.iter().enumerate() {
            let call = yard.tool_call(name, HOVER, yard.sites[at].at("a.fake", 0, 0));
            let (tenant, _) = TenantId::split(name);
            yard.run(ToolCall { principal: Principal::local_in(tenant), ..call }).await.ok();
            pass(5_000).await;
        }
        // The server of team-b was unused longest; but two of team-a would be more than half of the budget.
        assert_eq!((servers(&yard).await, yard.counts.server_evictions()), (vec![1, 0, 1], 1));
    });
}

#[test]
fn unknown_memory_counts_as_expected_and_is_never_zero() {
    paused(|| async {
        let site = Site::usual();
        // Its memory can't be measured, so it counts with 256 MiB.
        let fake = quick(&site).launcher();
        let yard = three(site, fake.clone(), 300).open().await;
        hover(&yard, 0, 0).await.ok();
        pass(11_000).await;
        assert_eq!(yard.health().await[0].servers[0].memory_bytes, None);
        hover(&yard, 1, 1).await.ok();
        assert_eq!((servers(&yard).await, yard.counts.server_evictions()), (vec![0, 1, 0], 1));
        assert_eq!(fake.alive(), 1);
    });
}

#[test]
fn a_start_waits_while_the_only_other_server_is_needed() {
    paused(|| async {
        let site = Site::usual();
        let endless = quick(&site).memory(3 * MIB).on("textDocument/definition", [wait_ms(1_900), reply(json!([]))]);
        let fake = endless.launcher();
        let yard = three(site, fake.clone(), 4).open().await;
        hover(&yard, 0, 0).await.ok();
        let working = yard.start("w0", DEFINITION, yard.sites[0].at("a.fake", 1, 0));
        let waiting = yard.start("w1", HOVER, yard.sites[1].at("a.fake", 0, 0));
        let (working, waiting) = tokio::join!(working, waiting);
        working.ok();
        waiting.failed_as("CAP_EXCEEDED", "timeout");
        assert_eq!((fake.launches(), yard.counts.server_evictions()), (1, 0), "it was at work");
        // It isn't used any longer, so it makes room without a further query.
        pass(8_000).await;
        hover(&yard, 1, 1).await.ok();
        assert_eq!((servers(&yard).await, yard.counts.server_evictions()), (vec![0, 1, 0], 1));
    });
}

#[test]
fn a_server_that_grows_beyond_the_budget_is_stopped_once_it_is_idle() {
    paused(|| async {
        let site = Site::usual();
        let fake = quick(&site).memory(3 * MIB).launcher();
        let yard = three(site, fake.clone(), 8).open().await;
        for at in [0, 1] {
            hover(&yard, at, 0).await.ok();
        }
        fake.set_memory(6 * MIB);
        pass(15_000).await;
        assert_eq!((servers(&yard).await, yard.counts.server_evictions()), (vec![0, 1, 0], 1), "6 of 8 MiB remain");
        // Without a budget nothing is stopped.
        let mut yard = yard;
        yard.reconfigure(|config| config.supervision.memory_budget_mib = 0).await;
        hover(&yard, 0, 1).await.ok();
        pass(30_000).await;
        assert_eq!((servers(&yard).await, yard.counts.server_evictions()), (vec![1, 1, 0], 1));
    });
}

#[test]
fn an_idle_time_of_zero_keeps_servers_running() {
    paused(|| async {
        let site = Site::usual();
        let fake = quick(&site).launcher();
        let yard = Plan::one(site, fake.clone()).tune(|config| config.supervision.idle_stop_s = 0).open().await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        pass(24 * 3_600_000).await;
        assert_eq!((fake.launches(), fake.alive()), (1, 1));
    });
}

#[test]
fn a_busy_workspace_says_what_it_waits_for() {
    paused(|| async {
        let site = Site::usual();
        let first = quick(&site).on("initialize", [wait_ms(20_000), reply(json!({"capabilities": {}}))]);
        let fake = first.launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        assert_eq!(yard.health().await[0].activity, None);
        let call = yard.spawn(HOVER, yard.site().at("a.fake", 0, 0));
        fake.wait_for("initialize", 1).await;
        pass(1_500).await;
        let activity = yard.health().await[0].activity.clone().unwrap();
        assert_eq!((activity.waits_for.as_str(), activity.since_s), ("fake to start", Some(1)));
        drop(call);
        let overview = yard.engine().control().overview(None).await.unwrap();
        assert!(overview.healths.iter().all(Option::is_some));
    });
}
