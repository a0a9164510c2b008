//! A hang or panic in one workspace doesn't affect another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use codeyard_process::launch::{LaunchSpec, Launcher};
use codeyard_telemetry::{CallRecord, Metrics};
use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

fn good(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]))
}

/// Starts `first` in the first workspace and `others` in all others.
fn by_workspace(first: Arc<dyn Launcher>, others: Arc<dyn Launcher>) -> Arc<dyn Launcher> {
    Arc::new(LaunchBy(
        move |spec: &LaunchSpec| {
            if spec.label.starts_with("w0/") { first.launch(spec) } else { others.launch(spec) }
        },
    ))
}

#[test]
fn a_slow_workspace_does_not_delay_another() {
    paused(|| async {
        let slow = Site::usual();
        let other = Site::usual();
        let well = good(&slow).launcher();
        let hung = good(&other).never("textDocument/definition").launcher();
        let yard =
            Plan::one(slow, by_workspace(well.clone(), hung)).workspace(other).workspace(Site::usual()).open().await;
        let calls: Vec<_> = (0..400)
            .map(|n| {
                let workspace = 1 + n % 2;
                let arguments = yard.sites[workspace].at("a.fake", 0, (n % 5) as u32);
                tokio::spawn(yard.start(&format!("w{workspace}"), DEFINITION, arguments))
            })
            .collect();
        settle().await;
        for line in 0..3 {
            for character in 0..4 {
                let called = yard.call(DEFINITION, yard.site().at("a.fake", line, character)).await;
                called.ok();
                called.took_about(0);
            }
        }
        for call in calls {
            call.await.unwrap().timed_out("answering");
        }
    });
}

#[test]
fn a_server_actor_panic_is_contained_and_does_not_loop() {
    paused(|| async {
        let site = Site::usual();
        let other = Site::usual();
        let broken = Arc::new(AtomicBool::new(true));
        let tries = Arc::new(AtomicUsize::new(0));
        let first = good(&site).launcher();
        let others = good(&other).launcher();
        let is_broken = broken.clone();
        let tried = tries.clone();
        let panics = Arc::new(LaunchBy(move |spec: &LaunchSpec| {
            tried.fetch_add(1, SeqCst);
            assert!(!is_broken.load(SeqCst), "meant to panic");
            first.launch(spec)
        }));
        let yard = Plan::one(site, by_workspace(panics, others)).workspace(other).open().await;
        let there = || yard.start("w1", DEFINITION, yard.sites[1].at("a.fake", 0, 0));
        let before = there().await.bytes().to_vec();
        for _ in 0..5 {
            let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
            called.failed_as("PROVIDER_UNAVAILABLE", "crashed");
            called.took_about(0);
        }
        assert_eq!(tries.load(SeqCst), 1, "it is left alone for a while");
        assert_eq!(there().await.bytes(), before);
        broken.store(false, SeqCst);
        pass(5_100).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
    });
}

/// While armed, panics in the workspace's actor when a snapshot answers a call.
struct Trap {
    armed: AtomicBool,
}

impl Metrics for Trap {
    fn call(&self, _: &CallRecord) {}
    fn restart(&self, _: &str, _: &'static str) {}
    fn retained_hit(&self) {
        assert!(!self.armed.swap(false, SeqCst), "meant to panic");
    }
}

#[test]
fn a_workspace_that_panics_is_rebuilt_without_affecting_others() {
    paused(|| async {
        let site = Site::usual();
        let other = Site::usual();
        let first = good(&site).launcher();
        let others = good(&other).launcher();
        let trap = Arc::new(Trap { armed: AtomicBool::new(false) });
        let plan = Plan::one(site, by_workspace(first.clone(), others.clone())).workspace(other).metrics(trap.clone());
        let yard = plan.open().await;
        let here = || yard.call(DEFINITION, yard.site().at("a.fake", 0, 0));
        let there = || yard.start("w1", DEFINITION, yard.sites[1].at("a.fake", 0, 0));
        let own = here().await.bytes().to_vec();
        let before = there().await.bytes().to_vec();
        let epoch = yard.epochs().await[0];
        trap.armed.store(true, SeqCst);
        here().await.failed("INTERNAL");
        settle().await;
        assert_eq!(there().await.bytes(), before);
        assert_eq!(here().await.bytes(), own, "the same answer from the rebuilt workspace");
        assert!(yard.epochs().await[0] > epoch);
        assert_eq!((first.launches(), first.alive()), (2, 1), "the children of the dead one are gone");
        assert_eq!((others.launches(), others.alive()), (1, 1));
    });
}
