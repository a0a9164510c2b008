//! Open documents follow the disk, and opening one changes nothing else.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

fn server(site: &Site) -> Arc<FakeLauncher> {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "hoverProvider": true, "referencesProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 0)]))
        .answer("textDocument/hover", json!(null))
        .launcher()
}

fn two() -> Site {
    Site::new(&[("a.fake", "alpha\n"), ("b.fake", "beta\n")])
}

/// Document notifications and queries that the server received, in order.
fn heard(fake: &FakeLauncher) -> Vec<String> {
    let methods = fake.record().methods();
    methods.iter().filter_map(|method| method.strip_prefix("textDocument/").map(str::to_owned)).collect()
}

#[test]
fn opening_an_unchanged_document_advances_the_epoch_only_where_the_open_set_matters() {
    for (entry, matters) in [("", false), ("quirks.open_set_matters = true", true)] {
        paused(|| async move {
            let site = two();
            let fake = server(&site);
            let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).entry(entry)).open().await;
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            let before = yard.epochs().await;
            yard.call(DEFINITION, yard.site().at("b.fake", 0, 0)).await.ok();
            let after = yard.epochs().await;
            assert_eq!(after[1] > before[1], matters, "{entry}");
            assert_eq!([after[0], after[2], after[3]], [before[0], before[2], before[3]]);
            assert_eq!(fake.record().count("textDocument/didOpen"), 2);
        });
    }
}

#[test]
fn an_edit_on_disk_reaches_the_server_before_the_next_query() {
    for watched in [true, false] {
        paused(|| async move {
            let site = two();
            let fake = server(&site);
            let plan = Plan::one(site, fake.clone());
            let yard = if watched { plan } else { plan.unwatched() }.open().await;
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            yard.site().write("a.fake", "changed\n");
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            assert_eq!(heard(&fake), ["didOpen", "definition", "didChange", "definition"], "watched: {watched}");
            let changed = &fake.record().params("textDocument/didChange")[0];
            assert_eq!(changed["contentChanges"], json!([{"text": "changed\n"}]));
            assert_eq!(changed["textDocument"]["version"], 2);
        });
    }
}

#[test]
fn an_edit_of_another_open_document_reaches_the_server_too() {
    paused(|| async {
        let site = two();
        let fake = server(&site);
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.call(HOVER, yard.site().at("b.fake", 0, 0)).await.ok();
        yard.site().write("b.fake", "changed\n");
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(heard(&fake), ["didOpen", "hover", "didOpen", "hover", "didChange", "hover"]);
        assert_eq!(fake.record().params("textDocument/didChange")[0]["textDocument"]["uri"], yard.site().uri("b.fake"));
    });
}

#[test]
fn a_changed_document_first_seen_in_an_answer_is_reread() {
    for watched in [true, false] {
        paused(|| async move {
            let site = two();
            let answer = json!([site.location("b.fake", 0)]);
            let fake = FakeServer::new()
                .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
                .answer("textDocument/definition", answer)
                .launcher();
            let plan = Plan::one(site, fake.clone());
            let yard = if watched { plan } else { plan.unwatched() }.open().await;
            let ask = |name| yard.call(DEFINITION, yard.site().at(name, 0, 0));
            ask("b.fake").await.ok();
            yard.site().write("b.fake", "changed\n");
            // The answer is in the changed file; reading it records the new stamp.
            ask("a.fake").await.ok();
            ask("b.fake").await.ok();
            let changes = fake.record().params("textDocument/didChange");
            let texts: Vec<&Value> = changes.iter().map(|change| &change["contentChanges"][0]["text"]).collect();
            assert_eq!(texts, ["changed\n"], "watched: {watched}");
        });
    }
}

#[test]
fn a_deleted_document_is_closed_and_reported_as_not_found() {
    for watched in [true, false] {
        paused(|| async move {
            let site = two();
            let fake = server(&site);
            let plan = Plan::one(site, fake.clone());
            let yard = if watched { plan } else { plan.unwatched() }.open().await;
            yard.call(HOVER, yard.site().at("b.fake", 0, 0)).await.ok();
            yard.site().remove("b.fake");
            yard.call(HOVER, yard.site().at("b.fake", 0, 0)).await.failed("NOT_FOUND");
            yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
            let heard = heard(&fake);
            if watched {
                assert_eq!(heard, ["didOpen", "hover", "didClose", "didOpen", "hover"]);
            }
        });
    }
}

#[test]
fn a_position_beyond_the_document_is_not_found_without_a_server_request() {
    paused(|| async {
        let site = two();
        let fake = server(&site);
        let yard = Plan::one(site, fake.clone()).open().await;
        for (line, character) in [(0, 6), (2, 0), (7, 0)] {
            yard.call(HOVER, yard.site().at("a.fake", line, character)).await.failed("NOT_FOUND");
        }
        assert_eq!(fake.launches(), 0);
    });
}

#[test]
fn without_a_watcher_queries_do_not_undo_each_others_changes() {
    paused(|| async {
        let site = two();
        let place = site.location("a.fake", 0);
        let fake = FakeServer::new()
            .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
            .on("textDocument/definition", [wait_ms(300), reply(json!([place]))])
            .launcher();
        let yard = Plan::one(site, fake.clone()).unwatched().open().await;
        let mut calls = vec![];
        for character in 0..5 {
            calls.push(yard.spawn(DEFINITION, yard.site().at("a.fake", 0, character)));
            pass(50).await;
        }
        for call in calls {
            let called = call.await.unwrap();
            called.ok();
            called.took_about(300);
        }
        assert_eq!(fake.record().count("textDocument/definition"), 5);
    });
}

#[test]
fn many_simultaneous_changes_overload_no_server() {
    paused(|| async {
        let names: Vec<String> = (0..300).map(|n| format!("f{n}.fake")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "text\n")).collect();
        let site = Site::new(&files);
        let all: Vec<Value> = names.iter().map(|name| site.location(name, 0)).collect();
        let fake = FakeServer::new()
            .capabilities(json!({"referencesProvider": true, "textDocumentSync": 1}))
            .answer("textDocument/references", json!(all))
            .launcher();
        let yard = Plan::one(site, fake.clone()).unwatched().open().await;
        yard.call(REFERENCES, yard.site().at("f0.fake", 0, 0)).await.ok();
        for name in &names {
            yard.site().write(name, "changed\n");
        }
        yard.call(REFERENCES, yard.site().at("f0.fake", 0, 0)).await.ok();
        assert_eq!(fake.launches(), 1);
        assert!(yard.counts.restarts().is_empty(), "{:?}", yard.counts.restarts());
    });
}
