//! Every error code of the contract is produced, end to end, and no other exists.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use codeyard_model::error::ErrorCode;
use codeyard_telemetry::{CallRecord, Metrics};
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

/// Once armed, panics in the workspace's actor when a snapshot answers a call.
struct Trap(AtomicBool);

impl Metrics for Trap {
    fn call(&self, _: &CallRecord) {}
    fn restart(&self, _: &str, _: &'static str) {}
    fn retained_hit(&self) {
        assert!(!self.0.swap(false, SeqCst), "meant to panic");
    }
}

#[test]
fn every_error_code_of_the_contract_is_produced() {
    paused(|| async {
        let text: String = (0..600).map(|n| format!("line{n}\n")).collect();
        let site = Site::new(&[("a.fake", text.as_str()), ("b.other", "x\n")]);
        let some: Vec<Value> = (0..30).map(|line| site.location("a.fake", line)).collect();
        let many: Vec<Value> = (0..600).map(|line| site.location("a.fake", line)).collect();
        let fake = FakeServer::new()
            .capabilities(json!({
                "referencesProvider": true, "definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1
            }))
            .answer_with("textDocument/references", move |params, _| {
                if params["position"]["line"] == 9 { json!(many) } else { json!(some) }
            })
            .answer("textDocument/definition", json!(null))
            .never("textDocument/hover")
            .launcher();
        let trap = Arc::new(Trap(AtomicBool::new(false)));
        let plan = Plan::one(site, fake.clone()).metrics(trap.clone()).tune(|config| {
            config.limits.max_snapshot_bytes = 10_000;
        });
        let yard = plan.open().await;
        let references = |line: u32, cursor: Value| {
            let mut arguments = yard.site().at("a.fake", line, 0);
            arguments["pageSize"] = 10.into();
            arguments["cursor"] = cursor;
            arguments
        };
        let first = yard.call(REFERENCES, references(0, Value::Null)).await.ok();
        let cursor = first["nextCursor"].clone();
        let mut seen = BTreeSet::new();
        let mut produce = |wanted: ErrorCode, called: Called| {
            called.failed(wanted.as_str());
            seen.insert(wanted);
        };
        produce(ErrorCode::InvalidParams, yard.call(HOVER, json!({"uri": 1})).await);
        let outside = json!({"uri": "file:///etc/passwd", "position": {"line": 0, "character": 0}});
        produce(ErrorCode::WorkspaceDenied, yard.call(HOVER, outside).await);
        let remote = json!({"uri": "https://example.org/a.fake", "position": {"line": 0, "character": 0}});
        produce(ErrorCode::UriInvalid, yard.call(HOVER, remote).await);
        produce(ErrorCode::CursorInvalid, yard.call(REFERENCES, references(1, cursor.clone())).await);
        produce(ErrorCode::NotFound, yard.call(HOVER, yard.site().at("none.fake", 0, 0)).await);
        produce(ErrorCode::ProviderUnavailable, yard.call(HOVER, yard.site().at("b.other", 0, 0)).await);
        produce(ErrorCode::CapExceeded, yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await);
        produce(ErrorCode::SnapshotTooLarge, yard.call(REFERENCES, references(9, Value::Null)).await);
        pass(601_000).await;
        produce(ErrorCode::CursorExpired, yard.call(REFERENCES, references(0, cursor.clone())).await);
        yard.site().write("a.fake", &text.replace("line0\n", "other\n"));
        produce(ErrorCode::CursorStale, yard.call(REFERENCES, references(0, cursor)).await);
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        trap.0.store(true, SeqCst);
        produce(ErrorCode::Internal, yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await);
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ErrorCode::ALL, "every code, and no other");
    });
}
