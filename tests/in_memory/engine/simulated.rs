//! Regression tests for the defects that the simulation found.

use codeyard_config::Sweep;
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

fn capable(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 0)]))
}

fn pulling(workspace: bool) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({
            "definitionProvider": true, "textDocumentSync": 1,
            "diagnosticProvider": {"interFileDependencies": true, "workspaceDiagnostics": workspace}
        }))
        .answer("textDocument/definition", json!([]))
        .answer("textDocument/diagnostic", json!({"kind": "full", "items": []}))
}

/// Texts of the opened documents, and the number of `didChange` notifications.
fn reported(fake: &FakeLauncher) -> (Vec<String>, usize) {
    let opened = fake.record().params("textDocument/didOpen");
    let texts = opened.iter().map(|params| params["textDocument"]["text"].as_str().unwrap().to_owned());
    (texts.collect(), fake.record().count("textDocument/didChange"))
}

#[test]
fn an_outdated_query_does_not_open_old_text_in_the_next_server() {
    paused(|| async {
        let site = Site::usual();
        let dies = capable(&site).on("textDocument/definition", [wait_ms(100), exit(3)]);
        let fake = FakeLauncher::sequence([dies, capable(&site)]);
        let yard = Plan::one(site, fake.clone()).open().await;
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        yard.site().write("a.fake", "newer\n");
        call.await.unwrap().ok();
        assert_eq!(reported(&fake), (vec!["alpha\nbeta\ngamma\n".into(), "newer\n".into()], 0));
    });
}

#[test]
fn a_created_and_deleted_file_is_reported_as_deleted() {
    paused(|| async {
        let site = Site::usual();
        let watchers = json!({"watchers": [{"globPattern": "**/*.fake"}]});
        let fake = capable(&site)
            .on("initialized", [register("watch", "workspace/didChangeWatchedFiles", watchers)])
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let ask = || yard.call(DEFINITION, yard.site().at("a.fake", 0, 0));
        ask().await.ok();
        yard.site().write("b.fake", "a server may read it now\n");
        yard.site().remove("b.fake");
        ask().await.ok();
        let changes = fake.record().params("workspace/didChangeWatchedFiles");
        let gone: Vec<Value> = changes.iter().map(|params| params["changes"].clone()).collect();
        assert_eq!(gone, [json!([{"uri": yard.site().uri("b.fake"), "type": 3}])]);
    });
}

#[test]
fn files_of_a_nested_project_are_swept_only_by_its_own_server() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "a\n"), ("sub/project.mod", ""), ("sub/b.fake", "b\n")]);
        let fake = pulling(false).launcher();
        let entry =
            Entry::new("fake", fake.clone()).entry("root = { markers = [\"project.mod\"], pick = \"nearest\" }");
        let yard = Plan::new(site).kind(entry).tune(|config| config.diagnostics.sweep = Sweep::All).open().await;
        yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
        pass(1_000).await;
        assert_eq!(fake.launches(), 2, "one for each project");
        let mut texts = reported(&fake).0;
        texts.sort();
        assert_eq!(texts, ["a\n", "b\n"], "each file at one server");
    });
}

#[test]
fn a_sweep_opens_no_text_newer_than_the_reported_changes() {
    paused(|| async {
        let names = ["a.fake", "b.fake", "c.fake", "d.fake", "e.fake"];
        let site = Site::new(&names.map(|name| (name, "old\n")));
        let answer = reply(json!({"kind": "full", "items": []}));
        let fake = pulling(false).on("textDocument/diagnostic", [wait_ms(100), answer]).launcher();
        let yard = Plan::one(site, fake.clone()).tune(|config| config.diagnostics.sweep = Sweep::All).open().await;
        let call = yard.spawn(WORKSPACE_DIAGNOSTICS, json!({}));
        fake.wait_for("textDocument/didOpen", 4).await;
        yard.site().write("a.fake", "new\n");
        yard.site().write("e.fake", "new\n");
        fake.wait_for("textDocument/didOpen", 5).await;
        drop(call.await);
        let reported = fake.record().methods();
        let place = |method: &str| reported.iter().rposition(|reported| reported == method);
        let change = place("textDocument/didChange");
        let open = place("textDocument/didOpen");
        assert!(change.is_some() && change < open, "{reported:?}");
        assert_eq!(yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok()["items"], json!([]));
    });
}

#[test]
fn a_malformed_report_is_a_server_error() {
    paused(|| async {
        for (workspace, method) in [(false, "textDocument/diagnostic"), (true, "workspace/diagnostic")] {
            let fake = pulling(workspace).answer(method, json!({"kind": [], "items": 7})).launcher();
            let yard = Plan::one(Site::usual(), fake).open().await;
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            let called = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await;
            called.failed_as("PROVIDER_UNAVAILABLE", "server_error");
        }
    });
}

#[test]
fn a_failed_project_report_is_retried_and_never_omitted() {
    paused(|| async {
        let site = Site::usual();
        let whole = json!({"items": [{
            "kind": "full", "uri": site.uri("a.fake"), "version": null, "items": [finding(0, "a")]
        }]});
        let fake = pulling(true)
            .answer("workspace/diagnostic", whole)
            .on_nth("workspace/diagnostic", 1, [fail(-32801, "content modified")])
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let called = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
        assert_eq!(called["items"][0]["diagnostics"][0]["message"], "a");
        assert_eq!(fake.record().count("workspace/diagnostic"), 2);
        let refusing = pulling(true).on("workspace/diagnostic", [fail(-32603, "no")]).launcher();
        let yard = Plan::one(Site::usual(), refusing).open().await;
        yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.failed_as("PROVIDER_UNAVAILABLE", "server_error");
    });
}

#[test]
fn without_project_reports_document_reports_are_used() {
    paused(|| async {
        let fake = pulling(true)
            .answer("textDocument/diagnostic", json!({"kind": "full", "items": [finding(0, "a")]}))
            .on("workspace/diagnostic", [fail(-32601, "method not found")])
            .launcher();
        let yard = Plan::one(Site::usual(), fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        for _ in 0..2 {
            let called = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
            assert_eq!(called["items"][0]["diagnostics"][0]["message"], "a");
        }
        assert_eq!(fake.record().count("workspace/diagnostic"), 1);
    });
}

#[test]
fn without_pull_support_diagnostics_are_awaited_as_pushes() {
    paused(|| async {
        let site = Site::usual();
        let pushed = json!({"uri": site.uri("a.fake"), "diagnostics": [finding(0, "pushed")]});
        let fake = pulling(false)
            .on(
                "textDocument/diagnostic",
                [fail(-32601, "no"), wait_ms(50), notify("textDocument/publishDiagnostics", pushed)],
            )
            .launcher();
        let linter = Entry::new("lint", pulling(false).launcher()).linter();
        let yard = Plan::one(site, fake).kind(linter).open().await;
        let called = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await.ok();
        assert_eq!(called["diagnostics"][0]["message"], "pushed");
    });
}

#[test]
fn a_slowly_stopping_server_is_never_joined_by_a_second_process() {
    paused(|| async {
        let site = Site::usual();
        let deaf = capable(&site).never("shutdown").never("exit").ignores_closed_input().ignores_terminate();
        let fake = FakeLauncher::sequence([deaf, capable(&site)]);
        let plan = Plan::one(site, fake.clone()).tune(|config| config.supervision.idle_stop_s = 20);
        let yard = plan.open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        fake.wait_for("shutdown", 1).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 1, 0)).await.timed_out("starting");
        assert_eq!((fake.launches(), fake.alive()), (1, 1), "its caches are in use");
        pass(10_000).await;
        assert_eq!((fake.launches(), fake.alive()), (2, 1));
        yard.call(DEFINITION, yard.site().at("a.fake", 1, 0)).await.ok();
    });
}

#[test]
fn a_call_cancelled_before_it_starts_is_counted() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        drop(yard.start("w0", DEFINITION, yard.site().at("a.fake", 0, 0)));
        settle().await;
        assert_eq!(yard.counts.cancels(), 1);
        assert_eq!(yard.counts.calls().values().sum::<u64>(), 1);
    });
}
