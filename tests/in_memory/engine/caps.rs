//! Caps on numbers and bytes.

use codeyard_model::limits::MAX_RESPONSE_BYTES;
use serde_json::{Value, json};

use crate::engine::code::git;
use crate::engine::harness::*;
use crate::fake_server::*;

fn server(capability: &str, method: &str, result: Value) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({capability: true, "textDocumentSync": 1}))
        .answer(method, result)
        .pipe_bytes(1 << 20)
}

fn lines(count: u32) -> String {
    (0..count).map(|n| format!("line{n}\n")).collect()
}

#[test]
fn references_above_the_cap_are_an_error() {
    for (count, fits) in [(20_000, true), (20_001, false), (40_000, false)] {
        paused(|| async move {
            let site = Site::new(&[("a.fake", &lines(count))]);
            let all: Vec<Value> = (0..count).map(|line| site.location("a.fake", line)).collect();
            let fake = server("referencesProvider", "textDocument/references", json!(all)).launcher();
            let yard = Plan::one(site, fake).open().await;
            let called = yard.call(REFERENCES, yard.site().at("a.fake", 0, 0)).await;
            if fits {
                assert_eq!(called.ok()["items"].as_array().unwrap().len(), 100);
            } else {
                let details = called.failed("CAP_EXCEEDED");
                assert_eq!(details["limit"], 20_000, "{count}: {details}");
            }
        });
    }
}

#[test]
fn an_unpaged_list_is_truncated_and_marked() {
    paused(|| async {
        let site = Site::new(&[("a.fake", &lines(412))]);
        let all: Vec<Value> = (0..412).map(|line| site.location("a.fake", line)).collect();
        let yard = Plan::one(site, server("definitionProvider", "textDocument/definition", json!(all)).launcher())
            .open()
            .await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        assert_eq!(called.ok()["locations"].as_array().unwrap().len(), 200);
        assert_eq!(called.summary(), "Returned the first 200 of 412 definitions.");
    });
}

#[test]
fn a_large_hover_is_truncated() {
    paused(|| async {
        let text = "\u{1F600}\"\\\n".repeat(30 * 1024 * 1024 / 12);
        let hover = json!({"contents": {"kind": "markdown", "value": text}});
        let yard =
            Plan::one(Site::usual(), server("hoverProvider", "textDocument/hover", hover).launcher()).open().await;
        let called = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        assert_eq!(called.summary(), "Hover available. Truncated.");
        assert!(called.bytes().len() <= MAX_RESPONSE_BYTES);
        let value = called.ok()["contents"][0]["value"].as_str().unwrap().to_owned();
        assert_eq!(value.chars().count(), 8_192);
    });
}

#[test]
fn an_oversized_page_error_names_a_size_that_fits() {
    paused(|| async {
        let site = Site::usual();
        let symbol = |n: u32| {
            let name = format!("{n:04}{}", "x".repeat(8_000));
            json!({"name": name, "kind": 12, "location": site.location("a.fake", 0)})
        };
        let all: Vec<Value> = (0..150).map(symbol).collect();
        let fake = server("workspaceSymbolProvider", "workspace/symbol", json!(all)).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let details = yard.call(WORKSPACE_SYMBOLS, json!({"query": "x"})).await.failed("CAP_EXCEEDED");
        let size = details["pageSizeThatFits"].as_u64().unwrap();
        let called = yard.call(WORKSPACE_SYMBOLS, json!({"query": "x", "pageSize": size})).await;
        assert_eq!(called.ok()["items"].as_array().unwrap().len() as u64, size);
        assert!(called.bytes().len() <= MAX_RESPONSE_BYTES);
        assert_eq!(fake.record().count("workspace/symbol"), 1);
    });
}

#[test]
fn locations_outside_the_roots_are_dropped_and_counted() {
    paused(|| async {
        let site = Site::usual();
        let all =
            json!([site.location("a.fake", 0), location("file:///etc/passwd", 0), location("file:///usr/x.fake", 1)]);
        let yard =
            Plan::one(site, server("definitionProvider", "textDocument/definition", all).launcher()).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        assert_eq!(called.summary(), "Found 1 definition. 2 locations outside the allowed roots omitted.");
        assert!(!String::from_utf8_lossy(called.bytes()).contains("passwd"));
    });
}

#[test]
fn rows_in_a_linked_worktree_below_the_root_count_only_for_questions_in_it() {
    paused(|| async {
        let site = Site::usual();
        for arguments in [
            &["init", "-q"][..],
            &["add", "."],
            &["commit", "-q", "-m", "x"],
            &["worktree", "add", "-q", "--detach", "trees/one"],
            &["worktree", "add", "-q", "--detach", "trees/two"],
        ] {
            git(&site, arguments);
        }
        let files = ["a.fake", "trees/one/a.fake", "trees/two/a.fake"];
        let all: Vec<Value> = files.iter().map(|file| site.location(file, 0)).collect();
        let fake = server("referencesProvider", "textDocument/references", json!(all)).launcher();
        let yard = Plan::one(site, fake).open().await;
        for (file, found) in [(files[0], &files[..1]), (files[1], &files[..2])] {
            let called = yard.call(REFERENCES, yard.site().at(file, 0, 0)).await;
            let items = called.ok()["items"].clone();
            let uris: Vec<&str> = items.as_array().unwrap().iter().map(|item| item["uri"].as_str().unwrap()).collect();
            let expected: Vec<String> = found.iter().map(|file| yard.site().uri(file)).collect();
            assert_eq!(uris, expected, "{file}");
        }
    });
}
