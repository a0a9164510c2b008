//! Servers that notice changes on disk late, in part or not at all: they are waited for, notified of more, or restarted.

use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

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

#[test]
fn jars_that_a_build_copies_into_its_output_restart_the_server_of_java() {
    paused(|| async {
        let site = Site::new(&[
            (".gitignore", "target\n"),
            ("pom.xml", "<project/>"),
            ("src/a/A.java", "package a;\nimport org.x.B;\n"),
        ]);
        let capabilities = json!({"definitionProvider": true, "textDocumentSync": 1});
        let fake = FakeServer::new().capabilities(capabilities).answer(DEFINE, json!([])).launcher();
        let entry = Entry::new("fake", fake.clone()).of("java").entry("project = \"java-packages\"");
        let yard = Plan::new(site).kind(entry).open().await;
        let summary = || async {
            let at = json!({"uri": yard.site().uri("src/a/A.java"), "position": {"line": 0, "character": 8}});
            yard.call(DEFINITION, at).await.summary().to_owned()
        };
        assert!(summary().await.ends_with("run `mvn dependency:copy-dependencies`."), "{}", summary().await);
        pass(60_000).await;
        assert_eq!(fake.launches(), 1, "nothing changed");
        yard.site().write("target/dependency/b.jar", "");
        for _ in 0..100 {
            pass(1_000).await;
            if fake.launches() == 2 {
                break;
            }
        }
        assert_eq!(fake.launches(), 2, "the folder is looked at");
        assert_eq!(summary().await, "No definitions found.");
    });
}
