//! Servers that notice changes on disk late, in part or not at all: they are waited for, notified of more, or restarted.

use serde_json::json;

use crate::fake_server::*;
use crate::harness::*;

const DEFINE: &str = "textDocument/definition";
const WATCHED: &str = "workspace/didChangeWatchedFiles";

fn defining(site: &Site) -> FakeServer {
    let capabilities = json!({"definitionProvider": true, "workspaceSymbolProvider": true, "textDocumentSync": 1});
    FakeServer::new().capabilities(capabilities).answer(DEFINE, json!([site.location("a.fake", 1)]))
}

#[test]
fn a_server_that_misses_deletions_is_restarted_after_one() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "alpha\nbeta\n"), ("b.fake", "x\n"), ("c.txt", "x\n")]);
        let fake = defining(&site).launcher();
        let kind = Entry::new("fake", fake.clone()).entry("quirks.misses = [\"deleted\"]");
        let yard = Plan::new(site).kind(kind).open().await;
        yard.walk().await;
        let define = || yard.call(DEFINITION, yard.site().at("a.fake", 0, 0));
        define().await.ok();
        yard.site().write("b.fake", "changed\n");
        yard.site().remove("c.txt");
        define().await.ok();
        assert_eq!(fake.launches(), 1, "it notices changes, and other files are none of its");
        yard.site().remove("b.fake");
        define().await.ok();
        assert_eq!((fake.launches(), fake.alive()), (2, 1));
    });
}

#[test]
fn a_server_that_reads_changes_late_is_waited_for() {
    paused(|| async {
        let site = Site::usual();
        let fake = defining(&site).launcher();
        let kind = Entry::new("fake", fake.clone()).entry("readiness.after_change_ms = 800");
        let yard = Plan::new(site).kind(kind).open().await;
        yard.walk().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.site().write("b.fake", "new\n");
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 1)).await;
        called.ok();
        called.took_about(800);
        assert_eq!(fake.record().count(DEFINE), 2, "it was asked only then");
    });
}

#[test]
fn two_registrations_for_files_under_one_id_hold_both() {
    paused(|| async {
        let site = Site::usual();
        let globs = |glob: &str| json!({"watchers": [{"globPattern": glob}]});
        let fake = defining(&site)
            .on(
                "initialized",
                [register("files", WATCHED, globs("**/*.fake")), register("files", WATCHED, globs("**/*.pyc"))],
            )
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.walk().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.site().write("new.fake", "new\n");
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 1)).await.ok();
        fake.wait_for(WATCHED, 1).await;
        let changes = &fake.record().params(WATCHED)[0]["changes"];
        assert_eq!(changes, &json!([{"uri": yard.site().uri("new.fake"), "type": 1}]));
    });
}

#[test]
fn a_cache_of_the_last_search_is_passed_by() {
    paused(|| async {
        let site = Site::usual();
        let fake = defining(&site).answer("workspace/symbol", json!([])).launcher();
        let kind = Entry::new("fake", fake.clone()).entry("quirks.caches_symbols = true");
        let yard = Plan::new(site).kind(kind).open().await;
        yard.walk().await;
        yard.call(WORKSPACE_SYMBOLS, json!({"query": "alpha"})).await.ok();
        let asked: Vec<String> =
            fake.record().params("workspace/symbol").iter().map(|it| it["query"].to_string()).collect();
        assert_eq!(asked.len(), 2);
        assert!(asked[0] != asked[1] && asked[1] == "\"alpha\"", "{asked:?}");
    });
}
