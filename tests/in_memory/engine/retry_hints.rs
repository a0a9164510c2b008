//! `retryAfterMs` of the errors `crashed`, `overloaded` and `draining`: present, and honest, which means that a call after that time succeeds.

use codeyard_engine::workspace::messages::Drain;
use codeyard_lsp::client::lifecycle::StopPace;
use codeyard_model::limits::RETRY_AFTER_MS;
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

fn capable(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]))
        .answer("textDocument/hover", json!(null))
}

fn hint(details: &Value) -> u64 {
    details["retryAfterMs"].as_u64().unwrap_or_else(|| panic!("no advice: {details}"))
}

#[test]
fn a_call_after_the_advice_of_a_crash_succeeds() {
    paused(|| async {
        let site = Site::usual();
        let deadly = capable(&site).on("textDocument/definition", [half_reply(), signalled(11)]);
        let fake = FakeLauncher::sequence([deadly.clone(), deadly, capable(&site)]);
        let yard = Plan::one(site, fake.clone()).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        let details = called.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        assert!((RETRY_AFTER_MS..=1_000).contains(&hint(&details)), "the first back-off: {details}");
        pass(hint(&details)).await;
        // The document is suspected of the crashes until it changes.
        yard.site().write("a.fake", "alpha\nbeta\n");
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.launches(), 3);
    });
}

#[test]
fn a_long_back_off_and_a_usual_start_are_in_the_advice() {
    paused(|| async {
        let site = Site::usual();
        let failing = capable(&site).on("initialize", [exit(1)]);
        let slow = capable(&site)
            .on("initialize", [wait_ms(1_900), reply(json!({"capabilities": {"definitionProvider": true}}))]);
        // The first start fails at once; the next one is 20 s later.
        let fake = FakeLauncher::sequence([failing, slow]);
        let plan = Plan::one(site, fake.clone()).tune(|config| {
            (config.supervision.backoff_initial_ms, config.supervision.backoff_max_ms) = (20_000, 20_000);
        });
        let yard = plan.open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        let details = called.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        let advised = hint(&details);
        assert!((15_000..=25_000).contains(&advised), "{details}");
        pass(advised).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.launches(), 2);
    });
}

#[test]
fn a_call_after_the_advice_of_an_overload_succeeds() {
    paused(|| async {
        let site = Site::usual();
        let slow = capable(&site).on("textDocument/definition", [wait_ms(400), reply(json!([]))]);
        let yard = Plan::one(site, slow.launcher()).open().await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let calls: Vec<_> =
            (0..256).map(|at| yard.spawn(DEFINITION, yard.site().at("a.fake", at % 3, at / 3 % 4))).collect();
        settle().await;
        let refused = yard.call(HOVER, yard.site().at("a.fake", 1, 0)).await;
        refused.took_about(0);
        let details = refused.failed_as("CAP_EXCEEDED", "overloaded");
        pass(hint(&details)).await;
        yard.call(HOVER, yard.site().at("a.fake", 1, 0)).await.ok();
        for call in calls {
            call.await.unwrap().ok();
        }
    });
}

#[test]
fn a_call_after_the_advice_of_a_draining_workspace_succeeds() {
    paused(|| async {
        let site = Site::usual();
        // It takes half a second to end.
        let fake = capable(&site).never("exit").launcher();
        let mut yard = Plan::one(site, fake.clone()).open().await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let workspace = yard.engine().directory().all()[0].clone();
        let drained = tokio::spawn(workspace.actor.send(Drain(StopPace::Patient)));
        settle().await;
        let refused = yard.call(HOVER, yard.site().at("a.fake", 1, 0)).await;
        refused.took_about(0);
        let of_files = hint(&refused.failed_as("PROVIDER_UNAVAILABLE", "draining"));
        // A reload replaces it.
        let extra = Site::usual();
        let more = extra.root.clone();
        yard.reconfigure(move |config| config.workspaces[0].extra_roots = vec![more]).await;
        pass(of_files).await;
        yard.call(HOVER, yard.site().at("a.fake", 1, 0)).await.ok();
        // The replaced workspace may have ended before its reply.
        drop(drained.await.unwrap());
    });
}
