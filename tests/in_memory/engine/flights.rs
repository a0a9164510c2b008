//! Identical queries in flight share one execution; equal answers have equal bytes.

use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

fn slow(site: &Site, ms: u64) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
        .on("textDocument/definition", [wait_ms(ms), reply(json!([site.location("a.fake", 1)]))])
}

#[test]
fn eight_identical_queries_send_one_request() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 100).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let calls: Vec<_> = (0..8).map(|_| yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0))).collect();
        let mut bytes = vec![];
        for call in calls {
            let called = call.await.unwrap();
            called.took_about(100);
            bytes.push(called.bytes().to_vec());
        }
        bytes.dedup();
        assert_eq!(bytes.len(), 1);
        assert_eq!(fake.record().count("textDocument/definition"), 1);
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 1)).await.ok();
        assert_eq!(fake.record().count("textDocument/definition"), 2, "another position is another question");
    });
}

#[test]
fn waiting_callers_are_answered_after_the_first_caller_disconnects() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 500).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let first = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        let others: Vec<_> = (0..3).map(|_| yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0))).collect();
        settle().await;
        first.abort();
        for other in others {
            other.await.unwrap().ok();
        }
        assert_eq!(fake.record().count("textDocument/definition"), 1);
        assert_eq!(fake.record().count("$/cancelRequest"), 0);
    });
}

#[test]
fn each_waiting_caller_keeps_its_own_deadline() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 2_500).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let first = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        pass(1_000).await;
        let second = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        first.await.unwrap().timed_out("answering");
        let second = second.await.unwrap();
        second.ok();
        second.took_about(1_500);
        assert_eq!(fake.record().count("textDocument/definition"), 1);
    });
}

#[test]
fn one_cancellation_is_sent_when_all_callers_disconnect() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 60_000).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let calls: Vec<_> = (0..8).map(|_| yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0))).collect();
        fake.wait_for("textDocument/definition", 1).await;
        for call in calls {
            call.abort();
        }
        fake.wait_for("$/cancelRequest", 1).await;
        pass(1_000).await;
        assert_eq!(fake.record().cancelled(), ["textDocument/definition"]);
        assert_eq!(yard.counts.cancels(), 8);
    });
}

/// A small reproducible random generator.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// Same list in another order with some duplicates.
    fn disturb(&mut self, list: &[Value]) -> Value {
        let mut list = list.to_vec();
        for _ in 0..self.below(4) {
            let twin = list[self.below(list.len())].clone();
            list.push(twin);
        }
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end + 1));
        }
        list.into()
    }
}

#[test]
fn order_and_duplicates_of_a_server_answer_change_no_byte() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "alpha\nbeta\ngamma\n"), ("b.fake", "x\ny\n")]);
        let places: Vec<Value> = [("a.fake", 0), ("b.fake", 1), ("a.fake", 2), ("b.fake", 0), ("a.fake", 1)]
            .into_iter()
            .map(|(name, line)| site.location(name, line))
            .collect();
        let symbol =
            |(n, place): (usize, &Value)| json!({"name": format!("s{}", n % 3), "kind": 12, "location": place});
        let symbols: Vec<Value> = places.iter().enumerate().map(symbol).collect();
        let tree = |n: u32| json!({"name": format!("t{n}"), "kind": 5, "range": range(n), "selectionRange": range(n)});
        let trees: Vec<Value> = (0..3).map(tree).collect();
        let findings: Vec<Value> = (0..3).map(|n| finding(n, &format!("m{n}"))).collect();
        let disturbed =
            |list: Vec<Value>, salt: usize| move |_: &Value, nth: usize| Seeded((nth * 7 + salt) as u64).disturb(&list);
        let pulled = disturbed(findings, 5);
        let fake = FakeServer::new()
            .capabilities(json!({
                "definitionProvider": true, "referencesProvider": true, "documentSymbolProvider": true,
                "workspaceSymbolProvider": true, "textDocumentSync": 1,
                "diagnosticProvider": {"interFileDependencies": true, "workspaceDiagnostics": false},
            }))
            .answer_with("textDocument/definition", disturbed(places.clone(), 1))
            .answer_with("textDocument/references", disturbed(places, 2))
            .answer_with("textDocument/documentSymbol", disturbed(trees, 3))
            .answer_with("workspace/symbol", disturbed(symbols, 4))
            .answer_with("textDocument/diagnostic", move |p, nth| json!({"kind": "full", "items": pulled(p, nth)}))
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let questions = [
            (DEFINITION, yard.site().at("a.fake", 0, 0)),
            (REFERENCES, yard.site().at("a.fake", 0, 0)),
            (DOCUMENT_SYMBOLS, yard.site().of("a.fake")),
            (WORKSPACE_SYMBOLS, json!({"query": "s"})),
            (DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")),
            (WORKSPACE_DIAGNOSTICS, json!({})),
        ];
        for (tool, arguments) in questions {
            let first = yard.call(tool, arguments.clone()).await.bytes().to_vec();
            for round in 0..12 {
                // Make the next query reach the server.
                fake.push([ask("workspace/diagnostic/refresh", json!(null))]);
                pass(10).await;
                let again = yard.call(tool, arguments.clone()).await.bytes().to_vec();
                assert_eq!(String::from_utf8_lossy(&first), String::from_utf8_lossy(&again), "{tool} round {round}");
            }
        }
        assert!(fake.record().count("textDocument/references") >= 13);
    });
}
