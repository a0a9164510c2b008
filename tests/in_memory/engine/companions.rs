//! Servers of other languages whose files use the names of a document: they are asked about uses too, or the answer says that they weren't.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::engine::lsp_tool;
use crate::fake_server::*;

const REFER: &str = "textDocument/references";

fn referring(places: Value) -> Arc<FakeLauncher> {
    let capabilities = json!({"definitionProvider": true, "referencesProvider": true, "textDocumentSync": 1});
    FakeServer::new().capabilities(capabilities).answer(REFER, places).launcher()
}

/// A workspace with a file of another language, whose server uses the names of the first one's.
async fn two(files: &[(&str, &str)], answers: bool) -> (Yard, Arc<FakeLauncher>, Arc<FakeLauncher>) {
    let site = Site::new(files);
    let own = referring(json!([site.location("a.fake", 0)]));
    let companion = referring(json!([site.location("page.other", 1), site.location("a.fake", 0)]));
    let entry = format!("uses = {{ languages = [\"fake\"], answers = {answers} }}");
    let plan = Plan::new(site).kind(Entry::new("fake", own.clone()));
    let yard = plan.kind(Entry::new("pages", companion.clone()).other().entry(&entry)).open().await;
    (yard, own, companion)
}

const BOTH: [(&str, &str); 2] = [("a.fake", "alpha\nbeta\n"), ("page.other", "x\nalpha\n")];

#[test]
fn uses_in_files_of_another_language_are_included() {
    paused(|| async {
        let (yard, own, companion) = two(&BOTH, true).await;
        let answer = yard.call(REFERENCES, yard.site().at("a.fake", 0, 0)).await.ok();
        let both = [yard.site().location("a.fake", 0), yard.site().location("page.other", 1)];
        assert_eq!(answer["items"], json!(both));
        let found = lsp_tool::at(&yard, "findReferences", 0, 0).await.whole();
        let places =
            found.as_array().unwrap().iter().map(|place| json!({"uri": place["uri"], "range": place["range"]}));
        assert_eq!(places.collect::<Vec<_>>(), both);
        assert_eq!((own.record().count(REFER), companion.record().count(REFER)), (2, 2));
    });
}

#[test]
fn a_question_during_the_first_walk_includes_them_too() {
    paused(|| async {
        let site = Site::new(&BOTH);
        let own = referring(json!([site.location("a.fake", 0)]));
        let companion = referring(json!([site.location("page.other", 1)]));
        let entry = "uses = { languages = [\"fake\"], answers = true }";
        let plan = Plan::new(site).kind(Entry::new("fake", own)).at_once();
        let yard = plan.kind(Entry::new("pages", companion).other().entry(entry)).open().await;
        for _ in 0..2 {
            let answer = yard.call(REFERENCES, yard.site().at("a.fake", 0, 0)).await.ok();
            assert_eq!(answer["items"].as_array().unwrap().len(), 2);
        }
    });
}

#[test]
fn both_servers_are_asked_at_once() {
    paused(|| async {
        let site = Site::new(&BOTH);
        let slow = |place: Value| {
            let capabilities = json!({"definitionProvider": true, "referencesProvider": true, "textDocumentSync": 1});
            let server = FakeServer::new().capabilities(capabilities);
            server.on(REFER, [wait_ms(1_200), reply(json!([place]))]).launcher()
        };
        let own = slow(site.location("a.fake", 0));
        let companion = slow(site.location("page.other", 1));
        let plan = Plan::new(site).kind(Entry::new("fake", own));
        let entry = "uses = { languages = [\"fake\"], answers = true }";
        let yard = plan.kind(Entry::new("pages", companion).other().entry(entry)).open().await;
        let answer = yard.call(REFERENCES, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(answer["items"].as_array().unwrap().len(), 2, "each takes 1.2 s of the 2 s");
    });
}

#[test]
fn without_such_files_the_other_server_is_not_asked() {
    paused(|| async {
        let (yard, _, companion) = two(&BOTH[..1], true).await;
        let answer = yard.call(REFERENCES, yard.site().at("a.fake", 0, 0)).await;
        assert_eq!(answer.ok()["items"], json!([yard.site().location("a.fake", 0)]));
        assert_eq!(companion.launches(), 0);
        yard.site().write("page.other", "x\nalpha\n");
        let answer = yard.call(REFERENCES, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(answer["items"].as_array().unwrap().len(), 2, "a new file counts at once");
    });
}

#[test]
fn a_server_that_can_not_be_asked_is_named() {
    paused(|| async {
        let (yard, _, companion) = two(&BOTH, false).await;
        let answer = yard.call(REFERENCES, yard.site().at("a.fake", 0, 0)).await;
        assert!(answer.summary().contains("Passed over pages: uncovered."), "{}", answer.summary());
        let answer = lsp_tool::at(&yard, "findReferences", 0, 0).await;
        assert_eq!(answer.passed_over(), ["pages: uncovered"]);
        assert_eq!(answer.metadata()["partial"], json!([{"server": "pages", "unavailable": "uncovered"}]));
        let hover = lsp_tool::at(&yard, "goToDefinition", 0, 0).await;
        assert!(!hover.text().contains("pages"), "other operations need no uses: {}", hover.text());
        assert_eq!(companion.launches(), 0);
    });
}

#[test]
fn a_component_of_another_kind_is_named() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "alpha\nbeta\n"), ("page.other", "alpha\n"), ("page.go", "alpha\n")]);
        let pages = referring(json!([site.location("page.other", 0), site.location("a.fake", 0)]));
        let other = referring(json!([]));
        let entry = "uses = { languages = [\"fake\"], answers = true }";
        let plan = Plan::new(site).kind(Entry::new("pages", pages).other().entry(entry));
        let yard = plan.kind(Entry::new("cards", other.clone()).of("go").entry(entry)).open().await;
        let answer = yard.call(REFERENCES, yard.site().at("page.other", 0, 0)).await;
        assert!(answer.summary().contains("Passed over cards: uncovered."), "{}", answer.summary());
        assert_eq!(other.launches(), 0, "it can't be asked about a file of the first one");
        yard.site().remove("page.go");
        let answer = yard.call(REFERENCES, yard.site().at("page.other", 0, 0)).await;
        assert!(!answer.summary().contains("cards"), "without such files: {}", answer.summary());
    });
}
