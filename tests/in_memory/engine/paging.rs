//! Pages are complete; a cursor is stale, expired or invalid exactly when documented.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

/// A server with `count` references, one on each line of `a.fake`.
fn with_references(site: &Site, count: u32) -> Arc<FakeLauncher> {
    let text: String = (0..count).map(|n| format!("line{n}\n")).collect();
    site.write("a.fake", &text);
    let all: Vec<Value> = (0..count).rev().map(|line| site.location("a.fake", line)).collect();
    FakeServer::new()
        .capabilities(json!({
            "referencesProvider": true, "definitionProvider": true, "workspaceSymbolProvider": true, "textDocumentSync": 1
        }))
        .answer("textDocument/references", json!(all))
        .answer("textDocument/definition", json!(all[..all.len().min(3)]))
        .answer("workspace/symbol", json!([]))
        .launcher()
}

fn paged(site: &Site, size: usize, cursor: Option<&str>) -> Value {
    let mut arguments = site.at("a.fake", 0, 0);
    arguments["pageSize"] = size.into();
    arguments["cursor"] = cursor.into();
    arguments
}

async fn page(yard: &Yard, size: usize, cursor: Option<&str>) -> Called {
    yard.call(REFERENCES, paged(yard.site(), size, cursor)).await
}

/// The cursor after a first page of ten.
async fn cursor_of(yard: &Yard) -> String {
    page(yard, 10, None).await.ok()["nextCursor"].as_str().unwrap().to_owned()
}

#[test]
fn pages_of_any_sizes_add_up_to_the_whole() {
    paused(|| async {
        let site = Site::usual();
        let fake = with_references(&site, 450);
        let yard = Plan::one(site, fake.clone()).open().await;
        for sizes in [&[200][..], &[1, 7, 100, 200, 3], &[450], &[99, 1]] {
            let mut items = vec![];
            let mut cursor = None::<String>;
            let mut turn = 0;
            loop {
                let got = page(&yard, sizes[turn % sizes.len()], cursor.as_deref()).await.ok();
                let wanted = sizes[turn % sizes.len()].min(200).min(450 - items.len());
                assert_eq!(got["items"].as_array().unwrap().len(), wanted);
                items.extend(got["items"].as_array().unwrap().clone());
                turn += 1;
                match got["nextCursor"].as_str() {
                    Some(next) => cursor = Some(next.to_owned()),
                    None => break,
                }
            }
            let whole: Vec<Value> = (0..450).map(|line| yard.site().location("a.fake", line)).collect();
            assert_eq!(items, whole, "{sizes:?}");
        }
        assert_eq!(fake.record().count("textDocument/references"), 1, "one request for all pages");
    });
}

#[test]
fn exactly_the_changes_that_affect_answers_make_a_cursor_stale() {
    type Act = fn(&Yard, &FakeLauncher);
    let cases: [(&str, bool, Act); 8] = [
        ("nothing", false, |_, _| {}),
        ("an edit of the document", true, |yard, _| yard.site().write("a.fake", "other\ntext\n")),
        ("an edit of another source file", true, |yard, _| yard.site().write("b.fake", "new\n")),
        ("a new file", true, |yard, _| yard.site().write("c.fake", "new\n")),
        ("a rename", true, |yard, _| yard.site().rename("b.fake", "d.fake")),
        ("a deletion", true, |yard, _| yard.site().remove("b.fake")),
        ("a push of diagnostics", false, |yard, fake| {
            fake.push([diagnostics(&yard.site().uri("b.fake"), None, json!([finding(0, "m")]))]);
        }),
        ("a refresh", true, |_, fake| fake.push([ask("workspace/diagnostic/refresh", json!(null))])),
    ];
    for (name, stale, act) in cases {
        paused(|| async move {
            let site = Site::new(&[("b.fake", "b\n")]);
            let fake = with_references(&site, 30);
            let yard = Plan::one(site, fake.clone()).open().await;
            let cursor = cursor_of(&yard).await;
            act(&yard, &fake);
            pass(10).await;
            let called = page(&yard, 10, Some(&cursor)).await;
            println!("{name}");
            if stale {
                called.failed("CURSOR_STALE");
            } else {
                assert_eq!(called.ok()["items"].as_array().unwrap().len(), 10);
            }
        });
    }
}

/// A server of another language than `fake`, with this addition to its entry; it is running.
async fn beside_another(entry: &str) -> (Yard, Arc<FakeLauncher>) {
    let site = Site::new(&[("b.other", "b\n")]);
    let fake = with_references(&site, 30);
    let other = with_references(&site, 30);
    let plan = Plan::one(site, fake).kind(Entry::new("pages", other.clone()).other().entry(entry));
    let yard = plan.open().await;
    yard.call(DEFINITION, yard.site().at("b.other", 0, 0)).await.ok();
    (yard, other)
}

#[test]
fn a_server_that_has_no_part_in_an_answer_leaves_its_cursor_valid() {
    type Act = fn(&FakeLauncher);
    let acts: [(&str, Act); 2] = [
        ("a refresh", |other| other.push([ask("workspace/diagnostic/refresh", json!(null))])),
        ("a crash and a new start", FakeLauncher::crash),
    ];
    let uses = "uses = { languages = [\"fake\"], answers = true }";
    for (entry, stale) in [("", false), (uses, true)] {
        for (name, act) in acts {
            paused(|| async move {
                let (yard, other) = beside_another(entry).await;
                let cursor = cursor_of(&yard).await;
                let before = yard.epochs().await;
                act(&other);
                pass(1_000).await;
                let after = yard.epochs().await;
                assert!(after[1] > before[1] && after[3] > before[3], "{name}: it counts for the workspace");
                let called = page(&yard, 10, Some(&cursor)).await;
                println!("{name}: {entry}");
                if stale {
                    called.failed("CURSOR_STALE");
                } else {
                    assert_eq!(called.ok()["items"].as_array().unwrap().len(), 10);
                }
            });
        }
    }
}

#[test]
fn a_server_of_another_project_leaves_a_cursor_valid() {
    paused(|| async {
        let files = [("p/project.json", ""), ("p/b.fake", "b\n"), ("q/project.json", ""), ("q/b.fake", "b\n")];
        let site = Site::new(&files);
        let fake = with_references(&site, 30);
        let rule = "root = { markers = [\"project.json\"], pick = \"nearest\" }";
        let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).entry(rule)).open().await;
        let of = |project: &str, cursor: Value| {
            let mut arguments = yard.site().at(&format!("{project}/b.fake"), 0, 0);
            arguments["pageSize"] = 10.into();
            arguments["cursor"] = cursor;
            arguments
        };
        let cursor = yard.call(REFERENCES, of("p", json!(null))).await.ok()["nextCursor"].clone();
        yard.call(REFERENCES, of("q", json!(null))).await.ok();
        assert_eq!(fake.launches(), 2);
        let second = yard.call(REFERENCES, of("p", cursor)).await.ok();
        assert_eq!(second["items"].as_array().unwrap().len(), 10);
    });
}

#[test]
fn only_a_different_push_makes_a_diagnostics_cursor_stale() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "a\n"), ("b.fake", "b\n"), ("c.fake", "c\n")]);
        let fake = FakeServer::new().capabilities(json!({"textDocumentSync": 1})).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let push = |name: &str, items: Value| fake.push([diagnostics(&yard.site().uri(name), None, items)]);
        assert_eq!(yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok()["items"], json!([]));
        push("a.fake", json!([finding(0, "x"), finding(0, "y")]));
        push("b.fake", json!([finding(0, "z")]));
        pass(10).await;
        let first = yard.call(WORKSPACE_DIAGNOSTICS, json!({"pageSize": 1})).await.ok();
        let next = json!({"pageSize": 1, "cursor": first["nextCursor"]});
        assert_eq!(first["items"][0]["uri"], yard.site().uri("a.fake"));
        push("a.fake", json!([finding(0, "y"), finding(0, "x"), finding(0, "x")]));
        push("c.fake", json!([]));
        pass(10).await;
        let second = yard.call(WORKSPACE_DIAGNOSTICS, next.clone()).await.ok();
        assert_eq!(second["items"][0]["uri"], yard.site().uri("b.fake"), "equal in canonical form: no change");
        push("c.fake", json!([finding(0, "new")]));
        pass(10).await;
        yard.call(WORKSPACE_DIAGNOSTICS, next).await.failed("CURSOR_STALE");
    });
}

#[test]
fn changed_roots_make_a_cursor_stale() {
    paused(|| async {
        let site = Site::usual();
        let fake = with_references(&site, 30);
        let mut yard = Plan::one(site, fake.clone()).open().await;
        let cursor = cursor_of(&yard).await;
        let more = Site::usual();
        let extra = more.root.clone();
        yard.reconfigure(move |config| config.workspaces[0].extra_roots.push(extra)).await;
        page(&yard, 10, Some(&cursor)).await.failed("CURSOR_STALE");
        // Restoring the first roots creates a new epoch.
        yard.reconfigure(|config| config.workspaces[0].extra_roots.clear()).await;
        page(&yard, 10, Some(&cursor)).await.failed("CURSOR_STALE");
    });
}

#[test]
fn a_cursor_of_an_earlier_process_is_invalid() {
    paused(|| async {
        let site = Site::usual();
        let fake = with_references(&site, 30);
        let yard = Plan::one(site, fake.clone()).open().await;
        let cursor = cursor_of(&yard).await;
        let floor = yard.epochs().await[0];
        let yard = yard.reopen().await;
        page(&yard, 10, Some(&cursor)).await.failed("CURSOR_STALE");
        cursor_of(&yard).await;
        page(&yard, 10, Some(&cursor)).await.failed("CURSOR_STALE");
        assert!(yard.epochs().await[0] > floor);
    });
}

#[test]
fn a_cursor_of_another_query_is_invalid() {
    paused(|| async {
        let site = Site::usual();
        let other = Site::usual();
        let fake = with_references(&site, 30);
        other.write("a.fake", "alpha\n");
        let yard = Plan::one(site, fake).workspace(other).open().await;
        let cursor = cursor_of(&yard).await;
        let elsewhere = json!({"query": "x", "cursor": cursor});
        yard.call(WORKSPACE_SYMBOLS, elsewhere).await.failed("CURSOR_INVALID");
        let mut moved = paged(yard.site(), 10, Some(&cursor));
        moved["position"]["line"] = 1.into();
        yard.call(REFERENCES, moved).await.failed("CURSOR_INVALID");
        let there = paged(&yard.sites[1], 10, Some(&cursor));
        yard.start("w1", REFERENCES, there).await.failed("CURSOR_INVALID");
        page(&yard, 10, Some("rubbish")).await.failed("CURSOR_INVALID");
        page(&yard, 10, Some(&cursor)).await.ok();
    });
}

#[test]
fn a_cursor_of_the_same_query_in_another_workspace_is_stale() {
    paused(|| async {
        let site = Site::usual();
        let other = Site::usual();
        let names: Vec<Value> = (0..30)
            .map(|n| json!({"name": format!("s{n}"), "kind": 12, "location": site.location("a.fake", 0)}))
            .collect();
        let fake = FakeServer::new()
            .capabilities(json!({"workspaceSymbolProvider": true, "textDocumentSync": 1}))
            .answer("workspace/symbol", json!(names))
            .launcher();
        let yard = Plan::one(site, fake).workspace(other).open().await;
        let first = yard.call(WORKSPACE_SYMBOLS, json!({"query": "s", "pageSize": 10})).await.ok();
        let next = json!({"query": " s ", "pageSize": 10, "cursor": first["nextCursor"]});
        yard.start("w1", WORKSPACE_SYMBOLS, next.clone()).await.failed("CURSOR_STALE");
        yard.call(WORKSPACE_SYMBOLS, next).await.ok();
    });
}

#[test]
fn a_snapshot_expires_ten_minutes_after_its_last_use() {
    paused(|| async {
        let site = Site::usual();
        let fake = with_references(&site, 30);
        let yard = Plan::one(site, fake.clone()).open().await;
        let cursor = cursor_of(&yard).await;
        pass(590_000).await;
        page(&yard, 10, Some(&cursor)).await.ok();
        pass(590_000).await;
        page(&yard, 10, Some(&cursor)).await.ok();
        pass(601_000).await;
        let expired = page(&yard, 10, Some(&cursor)).await;
        // The idle server was stopped in the meantime, which changes no answer.
        expired.failed("CURSOR_EXPIRED");
    });
}

#[test]
fn an_evicted_snapshot_has_expired() {
    paused(|| async {
        let site = Site::usual();
        let fake = with_references(&site, 30);
        let yard =
            Plan::one(site, fake.clone()).tune(|config| config.limits.max_snapshots_total_bytes = 4_000).open().await;
        let cursor = cursor_of(&yard).await;
        for line in 1..6 {
            let mut others = paged(yard.site(), 10, None);
            others["position"]["line"] = line.into();
            yard.call(REFERENCES, others).await.ok();
        }
        page(&yard, 10, Some(&cursor)).await.failed("CURSOR_EXPIRED");
    });
}

#[test]
fn a_result_that_cannot_be_retained_fails_only_if_it_needs_pages() {
    paused(|| async {
        let site = Site::usual();
        let fake = with_references(&site, 100);
        let yard = Plan::one(site, fake.clone()).tune(|config| config.limits.max_snapshot_bytes = 200).open().await;
        page(&yard, 10, None).await.failed("SNAPSHOT_TOO_LARGE");
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
    });
}

#[test]
fn an_edit_between_query_and_answer_is_detected() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "one\n"), ("b.fake", "two\nthree\n")]);
        let path = site.root.join("b.fake");
        let done = Arc::new(Mutex::new(false));
        let answer = json!([site.location("b.fake", 0)]);
        let fake = FakeServer::new()
            .capabilities(json!({"referencesProvider": true, "textDocumentSync": 1}))
            .answer_with("textDocument/references", move |_, _| {
                if !std::mem::replace(&mut *done.lock(), true) {
                    std::fs::write(&path, "changed while it was asked\n").unwrap();
                }
                answer.clone()
            })
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        page(&yard, 10, None).await.ok();
        assert_eq!(fake.record().count("textDocument/references"), 2, "the first answer was of another text");
    });
}
