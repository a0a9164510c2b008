//! Language servers that send without bound: what is kept of it is bounded in bytes, and an answer is never a part of it unmarked.

use codeyard_engine::limits;
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

const MIB: usize = 1 << 20;

fn pushing() -> FakeServer {
    FakeServer::new().capabilities(json!({"textDocumentSync": 1, "hoverProvider": true}))
}

/// A site with `files` files besides the usual one.
fn many(files: usize) -> Site {
    let site = Site::usual();
    (0..files).for_each(|number| site.write(&format!("flood{number}.fake"), ""));
    site
}

/// Each of these files gets a list of about one megabyte.
fn flood_of_pushes(site: &Site, files: usize) -> Step {
    let uri = site.uri("a.fake").replace("a.fake", "flood{n}.fake");
    let lists = json!([finding(0, &"m".repeat(MIB))]);
    flood(files, "textDocument/publishDiagnostics", json!({"uri": uri, "diagnostics": lists}))
}

/// Waits until the server has answered a hover, so that all of its earlier output was handled. That is read at a pace, so it may take
/// longer than a call may.
async fn handled(yard: &Yard, workspace: &str, site: &Site) {
    for _ in 0..10 {
        let called = yard.start(workspace, HOVER, site.at("a.fake", 0, 0)).await;
        if called.is_answered() {
            return;
        }
        called.failed_as("CAP_EXCEEDED", "timeout");
    }
    panic!("the server's output is still not handled");
}

fn held(yard: &Yard) -> usize {
    yard.engine().directory().diagnostics().held()
}

#[test]
fn a_flood_of_pushed_diagnostics_is_bounded_stated_and_given_back() {
    paused(|| async {
        let site = many(60);
        let push = diagnostics(&site.uri("a.fake"), None, json!([finding(0, "own")]));
        let fake = pushing()
            .on("textDocument/didOpen", [push])
            .on_nth("textDocument/hover", 1, [flood_of_pushes(&site, 60), reply(json!(null))])
            .answer("textDocument/hover", json!(null))
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        handled(&yard, "w0", yard.site()).await;
        let after = held(&yard);
        assert!(after > 20 * MIB && after <= limits::MAX_SERVER_DIAGNOSTICS_BYTES, "{after}");
        let dropped = yard.engine().directory().diagnostics().dropped();
        assert!(dropped.iter().any(|(reason, count)| *reason == "server_budget" && *count > 20), "{dropped:?}");
        let called = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await;
        let details = called.failed_as("CAP_EXCEEDED", "diagnostics_not_kept");
        assert!(details["server"] == "fake" && details["files"].as_u64().unwrap() > 20, "{details}");
        // A document of its own is open, and its list is the last to go.
        let own = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await.ok();
        assert_eq!(own["diagnostics"][0]["message"], "own");
        assert_eq!(fake.launches(), 1);
        fake.crash();
        settle().await;
        assert_eq!(held(&yard), 0, "its memory goes with it");
    });
}

#[test]
fn servers_together_are_bounded_and_a_quiet_one_keeps_its_diagnostics() {
    paused(|| async {
        let flooding =
            |site: &Site| pushing().on("textDocument/hover", [flood_of_pushes(site, 36), reply(json!(null))]);
        let sites: Vec<Site> = (0..5).map(|_| many(36)).collect();
        let scripts: Vec<FakeServer> = sites.iter().map(flooding).collect();
        let quiet_site = Site::usual();
        let quiet = pushing()
            .on("textDocument/didOpen", [diagnostics(&quiet_site.uri("a.fake"), None, json!([finding(0, "quiet")]))]);
        let fake = FakeLauncher::sequence(scripts.into_iter().chain([quiet]));
        let mut plan: Option<Plan> = None;
        for site in sites.into_iter().chain([quiet_site]) {
            plan = Some(match plan {
                None => Plan::one(site, fake.clone()),
                Some(plan) => plan.workspace(site),
            });
        }
        let yard = plan.unwrap().open().await;
        for workspace in 0..5 {
            handled(&yard, &format!("w{workspace}"), &yard.sites[workspace]).await;
        }
        let all = held(&yard);
        assert!(all <= limits::MAX_DIAGNOSTICS_BYTES + 5 * limits::SERVER_DIAGNOSTICS_SHARE_BYTES, "{all}");
        assert!(all > limits::MAX_DIAGNOSTICS_BYTES - 4 * MIB, "{all}");
        let called = yard.start("w5", WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
        assert_eq!(called["items"], json!([]), "nothing is open yet");
        let called = yard.start("w5", DOCUMENT_DIAGNOSTICS, yard.sites[5].of("a.fake")).await.ok();
        assert_eq!(called["diagnostics"][0]["message"], "quiet");
        let called = yard.start("w5", WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
        assert_eq!(called["items"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_list_that_is_too_large_is_an_error_and_never_a_part() {
    paused(|| async {
        for (count, message) in [(limits::MAX_DIAGNOSTICS_PER_FILE + 1, 1), (5_000, 1_000)] {
            let site = Site::usual();
            let list: Vec<Value> = (0..count).map(|line| finding(line as u32, &"m".repeat(message))).collect();
            let push = diagnostics(&site.uri("a.fake"), Some(1), json!(list));
            let small = diagnostics(&site.uri("a.fake"), Some(2), json!([finding(0, "small")]));
            let fake = pushing().on("textDocument/didOpen", [push]).on("textDocument/didChange", [small]).launcher();
            let yard = Plan::one(site, fake).open().await;
            let ask = || yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake"));
            ask().await.failed_as("CAP_EXCEEDED", "diagnostics_not_kept");
            let all = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await;
            all.failed_as("CAP_EXCEEDED", "diagnostics_not_kept");
            assert!(held(&yard) < 2_000, "{}", held(&yard));
            yard.site().write("a.fake", "changed\n");
            assert_eq!(ask().await.ok()["diagnostics"][0]["message"], "small", "it passes with the next push");
            yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
        }
    });
}

#[test]
fn two_servers_that_hold_the_frame_budget_do_not_cost_a_third_one_its_process() {
    paused(|| async {
        let stalled = pushing().on("textDocument/hover", [header_of(21_000_000), raw(b"{")]);
        let large = json!({"contents": "x".repeat(3 * MIB)});
        let third = pushing().on("textDocument/hover", [reply(large)]);
        let fake = FakeLauncher::sequence([stalled.clone(), stalled, third.clone(), third]);
        let yard =
            Plan::one(Site::usual(), fake.clone()).workspace(Site::usual()).workspace(Site::usual()).open().await;
        let hovers =
            |workspace: usize| yard.start(&format!("w{workspace}"), HOVER, yard.sites[workspace].at("a.fake", 0, 0));
        let holders = [tokio::spawn(hovers(0)), tokio::spawn(hovers(1))];
        while fake.launches() < 2 {
            pass(1).await;
        }
        settle().await;
        hovers(2).await.timed_out("answering");
        pass(10_000).await;
        hovers(2).await.ok();
        let health = yard.health().await;
        let restarts: Vec<u64> = health.iter().map(|workspace| workspace.servers[0].restarts).collect();
        assert_eq!(restarts[2], 0, "{restarts:?}");
        assert!(restarts[..2].iter().sum::<u64>() > 0, "a holder without progress is at fault: {restarts:?}");
        assert_eq!(yard.counts.restarts()["protocol_error"], restarts[..2].iter().sum::<u64>());
        for holder in holders {
            drop(holder.await);
        }
    });
}
