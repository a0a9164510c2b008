//! Several servers for one language: which are queried, and how unavailable ones are reported.

use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

fn answering(result: serde_json::Value) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "workspaceSymbolProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", result)
}

#[test]
fn a_linter_is_queried_only_when_the_primary_finds_nothing() {
    for found in [true, false] {
        paused(|| async move {
            let site = Site::usual();
            let first = if found { json!([site.location("a.fake", 0)]) } else { json!([]) };
            let primary = answering(first).launcher();
            let linter = answering(json!([site.location("a.fake", 2)])).launcher();
            let plan =
                Plan::new(site).kind(Entry::new("fake", primary)).kind(Entry::new("lint", linter.clone()).linter());
            let yard = plan.open().await;
            let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
            let line = if found { 0 } else { 2 };
            assert_eq!(called.ok()["locations"], json!([yard.site().location("a.fake", line)]));
            // It is queried twice if it became ready only after the query began.
            assert_eq!(linter.record().count("textDocument/definition") == 0, found);
        });
    }
}

#[test]
fn of_alternatives_the_first_installed_one_runs() {
    paused(|| async {
        let site = Site::usual();
        let answer = json!([site.location("a.fake", 1)]);
        let one = answering(json!([])).launcher();
        let two = answering(answer).launcher();
        let three = answering(json!([])).launcher();
        let plan = Plan::new(site)
            .kind(Entry::new("one", one.clone()).missing())
            .kind(Entry::new("two", two.clone()))
            .kind(Entry::new("three", three.clone()));
        let yard = plan.open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!((one.launches(), two.launches(), three.launches()), (0, 1, 0));
    });
}

#[test]
fn an_unavailable_primary_is_skipped_and_named() {
    paused(|| async {
        let site = Site::usual();
        let primary = answering(json!([])).on("initialize", [exit(1)]).launcher();
        let linter = answering(json!([site.location("a.fake", 2)])).launcher();
        let plan = Plan::new(site).kind(Entry::new("fake", primary)).kind(Entry::new("lint", linter).linter());
        let yard = plan.open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        pass(10_000).await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        assert_eq!(called.summary(), "Found 1 definition. Passed over fake: quarantined.");
    });
}

#[test]
fn a_missing_server_is_reported_with_its_install_command() {
    paused(|| async {
        let fake = answering(json!([])).launcher();
        let yard = Plan::new(Site::usual()).kind(Entry::new("fake", fake.clone()).missing()).open().await;
        for (tool, arguments) in
            [(DEFINITION, yard.site().at("a.fake", 0, 0)), (WORKSPACE_SYMBOLS, json!({"query": "x"}))]
        {
            let details = yard.call(tool, arguments).await.failed_as("PROVIDER_UNAVAILABLE", "not_installed");
            assert_eq!(details["command"], "codeyard servers install fake");
        }
        assert_eq!(fake.launches(), 0);
    });
}

#[test]
fn an_unknown_file_kind_is_reported() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "a\n"), ("b.unknown", "b\n")]);
        let yard = Plan::one(site, answering(json!([])).launcher()).open().await;
        let called = yard.call(DEFINITION, yard.site().at("b.unknown", 0, 0)).await;
        called.failed_as("PROVIDER_UNAVAILABLE", "no_server");
    });
}

#[test]
fn an_unsupported_operation_is_reported() {
    paused(|| async {
        let yard = Plan::one(Site::usual(), answering(json!([])).launcher()).open().await;
        let called = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        called.failed_as("PROVIDER_UNAVAILABLE", "unsupported");
    });
}

/// Folder names of the started servers' roots, in order.
fn roots_of(fake: &FakeLauncher) -> Vec<String> {
    let requests = fake.record().params("initialize");
    let name =
        |requests: &serde_json::Value| requests["rootUri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    requests.iter().map(name).collect()
}

#[test]
fn two_project_roots_of_one_kind_start_two_servers() {
    paused(|| async {
        let files = [("p/project.json", ""), ("p/a.fake", "a\n"), ("q/project.json", ""), ("q/in/b.fake", "b\n")];
        let fake = answering(json!([])).answer("workspace/symbol", json!([])).launcher();
        let entry =
            Entry::new("fake", fake.clone()).entry("root = { markers = [\"project.json\"], pick = \"nearest\" }");
        let yard = Plan::new(Site::new(&files)).kind(entry).open().await;
        for file in ["p/a.fake", "q/in/b.fake", "p/a.fake"] {
            yard.call(DEFINITION, yard.site().at(file, 0, 0)).await.ok();
        }
        assert_eq!(roots_of(&fake), ["p", "q"]);
        assert_eq!(fake.record().count("textDocument/definition"), 2, "the second start leaves the first answer valid");
        yard.call(WORKSPACE_SYMBOLS, json!({"query": "x"})).await.ok();
        assert_eq!(fake.record().count("workspace/symbol"), 2, "both are queried for the workspace");
    });
}

#[test]
fn an_edited_manifest_moves_a_file_to_another_server() {
    for watched in [true, false] {
        paused(|| async move {
            let files = [("package.json", "{}"), ("p/package.json", "{}"), ("p/a.fake", "a\n")];
            let fake = answering(json!([])).launcher();
            let rule = "root = { markers = [\"package.json\"], manifests = [\"package.json\"], pick = \"nearest\" }";
            let plan = Plan::new(Site::new(&files)).kind(Entry::new("fake", fake.clone()).entry(rule));
            let yard = if watched { plan } else { plan.unwatched() }.open().await;
            let at = yard.site().at("p/a.fake", 0, 0);
            yard.call(DEFINITION, at.clone()).await.ok();
            assert_eq!(roots_of(&fake), ["p"], "watched: {watched}");
            yard.site().write("package.json", "{\"workspaces\": [\"p\"]}");
            yard.call(DEFINITION, at.clone()).await.ok();
            assert_eq!(roots_of(&fake).len(), 2, "watched: {watched}");
            yard.site().write("package.json", "{\"workspaces\": []}");
            yard.call(DEFINITION, at).await.ok();
            assert_eq!(roots_of(&fake).len(), 2, "the first child is there still; watched: {watched}");
        });
    }
}
