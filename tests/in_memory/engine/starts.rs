//! Starts of language servers: admitted a few at a time, in the order of need, with honest hints, and with the cause when they fail.

use codeyard_config::Prewarm;
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

fn capable() -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!(null))
}

/// A server that answers `initialize` after this time.
fn starting_for(ms: u64) -> FakeServer {
    capable().on("initialize", [wait_ms(ms), reply(json!({"capabilities": {"definitionProvider": true}}))])
}

/// Workspaces `w0` to `w<count - 1>`, of which `max` servers start at once.
fn fleet(count: usize, max: usize, fake: std::sync::Arc<FakeLauncher>) -> Plan {
    let plan = Plan::one(Site::usual(), fake).tune(move |config| config.supervision.max_starts = max);
    (1..count).fold(plan, |plan, _| plan.workspace(Site::usual()))
}

async fn ask(yard: &Yard, workspace: usize) -> Called {
    let site = &yard.sites[workspace];
    yard.start(&format!("w{workspace}"), DEFINITION, site.at("a.fake", 0, 0)).await
}

/// The workspaces in the order in which their servers were launched.
fn launched(yard: &Yard, fake: &FakeLauncher) -> Vec<usize> {
    let specs = fake.specs();
    let at = |cwd: &std::path::Path| yard.sites.iter().position(|site| site.root == cwd).expect("a site");
    specs.iter().map(|spec| at(&spec.cwd)).collect()
}

#[test]
fn a_queued_start_has_its_whole_time_when_its_turn_comes() {
    paused(|| async {
        let fake = starting_for(50_000).launcher();
        let yard = fleet(3, 1, fake.clone()).open().await;
        let calls = [ask(&yard, 0), ask(&yard, 1), ask(&yard, 2)];
        for called in futures::future::join_all(calls).await {
            called.timed_out("starting");
        }
        assert_eq!(fake.launches(), 1);
        pass(47_000).await;
        assert_eq!(fake.launches(), 1, "the first one is still starting");
        pass(3_000).await;
        assert_eq!(fake.launches(), 2);
        pass(100_000).await;
        assert_eq!((fake.launches(), fake.alive()), (3, 3));
        assert!(yard.counts.restarts().is_empty(), "{:?}", yard.counts.restarts());
        for workspace in 0..3 {
            ask(&yard, workspace).await.ok();
        }
    });
}

#[test]
fn a_call_that_follows_the_hint_gets_its_answer() {
    paused(|| async {
        let fake = starting_for(5_000).launcher();
        let yard = fleet(6, 2, fake.clone()).open().await;
        // The first two are measured.
        let first = [ask(&yard, 0), ask(&yard, 1)];
        futures::future::join_all(first).await.iter().for_each(|called| drop(called.timed_out("starting")));
        pass(4_000).await;
        let all = (2..6).map(|workspace| ask(&yard, workspace));
        let called = futures::future::join_all(all).await;
        // Which of calls made at once is first in the queue isn't fixed: each one looks at its files before.
        let mut queue: Vec<(u64, usize, Value)> = (2..6)
            .zip(&called)
            .map(|(workspace, called)| {
                let details = called.timed_out("starting");
                (details["retryAfterMs"].as_u64().unwrap(), workspace, details)
            })
            .collect();
        queue.sort_by_key(|(hint, workspace, details)| (*hint, details.get("progress").is_some(), *workspace));
        let hint = |at: usize| queue[at].0;
        assert!((3_000..3_500).contains(&hint(1)) && (8_000..8_700).contains(&hint(3)), "{queue:?}");
        assert!(queue[1].2.get("progress").is_none(), "{queue:?}");
        assert_eq!(queue[3].2["progress"], "1 other language server starts first");
        pass(hint(1)).await;
        for (_, workspace, _) in &queue[..2] {
            ask(&yard, *workspace).await.ok();
        }
        pass(hint(3) - hint(1)).await;
        for (_, workspace, _) in &queue[2..] {
            ask(&yard, *workspace).await.ok();
        }
        assert_eq!(fake.launches(), 6);
    });
}

#[test]
fn calls_overtake_prewarming_and_workspaces_take_turns() {
    paused(|| async {
        let fake = starting_for(10_000).launcher();
        let plan = Plan::one(Site::usual(), fake.clone())
            .workspace(Site::usual())
            .workspace(Site::usual())
            .workspace(Site::usual());
        let yard = plan
            .tune(|config| {
                config.supervision.max_starts = 1;
                for workspace in &mut config.workspaces[..3] {
                    workspace.prewarm = Prewarm::All(true);
                }
            })
            .open()
            .await;
        while fake.launches() < 1 {
            pass(10).await;
        }
        let first = launched(&yard, &fake)[0];
        let [skipped, needed] = [0, 1, 2].into_iter().filter(|at| *at != first).collect::<Vec<_>>()[..] else {
            panic!("three workspaces are prewarmed")
        };
        ask(&yard, 3).await.timed_out("starting");
        ask(&yard, needed).await.timed_out("starting");
        pass(60_000).await;
        assert_eq!(launched(&yard, &fake), [first, 3, needed, skipped]);
    });
}

#[test]
fn a_server_keeps_its_place_while_it_loads_but_not_for_long() {
    paused(|| async {
        let fake = capable().works().launcher();
        let yard = fleet(2, 1, fake.clone()).open().await;
        ask(&yard, 0).await.ok();
        ask(&yard, 1).await.timed_out("starting");
        assert_eq!(fake.launches(), 1, "the first one still works");
        pass(7_500).await;
        assert_eq!(fake.launches(), 1);
        pass(1_000).await;
        ask(&yard, 1).await.ok();
        assert_eq!(fake.launches(), 2);
    });
}

#[test]
fn a_slow_start_that_makes_progress_is_not_given_up() {
    paused(|| async {
        let fake = starting_for(200_000).works().launcher();
        let yard = Plan::one(Site::usual(), fake.clone()).open().await;
        ask(&yard, 0).await.timed_out("starting");
        pass(200_000).await;
        ask(&yard, 0).await.ok();
        assert_eq!(fake.launches(), 1);
    });
    paused(|| async {
        let fake = capable().works().never("initialize").launcher();
        let yard = Plan::one(Site::usual(), fake.clone()).open().await;
        ask(&yard, 0).await.timed_out("starting");
        pass(590_000).await;
        assert_eq!(fake.launches(), 1);
        pass(20_000).await;
        assert_eq!(fake.launches(), 2, "progress without an end is given up, too");
    });
}

#[test]
fn a_removed_workspace_leaves_the_queue() {
    paused(|| async {
        let fake = starting_for(20_000).launcher();
        let mut yard = fleet(3, 1, fake.clone()).open().await;
        for workspace in 0..3 {
            ask(&yard, workspace).await.timed_out("starting");
        }
        assert_eq!(yard.engine().directory().start_queue().counts(), (2, 1));
        yard.reconfigure(|config| config.workspaces.retain(|workspace| workspace.name.as_str() != "w1")).await;
        settle().await;
        assert_eq!(yard.engine().directory().start_queue().counts(), (1, 1));
        pass(40_000).await;
        assert_eq!(launched(&yard, &fake), [0, 2]);
        yard.drain().await;
        assert_eq!(fake.alive(), 0);
    });
}

#[test]
fn the_cause_of_a_failed_start_is_in_the_error_and_in_the_health() {
    paused(|| async {
        let failing = capable().on("initialize", [exit(3)]).stderr("loading /usr/lib/x\n\ncannot read the project\n");
        let yard = Plan::one(Site::usual(), failing.launcher()).open().await;
        let called = ask(&yard, 0).await;
        let details = called.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        assert_eq!(details["exitCode"], 3, "{details}");
        assert!(details["ranMs"].is_u64() && details["retryAfterMs"].is_u64(), "{details}");
        assert_eq!(details["stderr"], json!(["loading [path outside the workspace]", "cannot read the project"]));
        let health = serde_json::to_value(&yard.health().await[0].servers[0]).unwrap();
        assert_eq!(health["failure"]["exit_code"], 3, "{health}");
    });
    paused(|| async {
        let crashing = capable().on("textDocument/definition", [half_reply(), signalled(11)]).stderr("oops\n");
        let yard = Plan::one(Site::usual(), crashing.launcher()).open().await;
        ask(&yard, 0).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        let health = serde_json::to_value(&yard.health().await[0].servers[0]).unwrap();
        assert_eq!(
            (&health["failure"]["signal"], &health["failure"]["lines"]),
            (&json!(11), &json!(["oops"])),
            "{health}"
        );
    });
}
