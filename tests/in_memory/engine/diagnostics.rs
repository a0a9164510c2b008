//! Diagnostics are those of the current content from all servers, or an error.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

fn pushing() -> FakeServer {
    FakeServer::new().capabilities(json!({"textDocumentSync": 1}))
}

fn pulling(findings: Value) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({
            "textDocumentSync": 1, "diagnosticProvider": {"interFileDependencies": true, "workspaceDiagnostics": false}
        }))
        .answer("textDocument/diagnostic", json!({"kind": "full", "items": findings}))
}

async fn messages(yard: &Yard) -> Vec<String> {
    let called = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
    let list = called.ok()["diagnostics"].as_array().unwrap().clone();
    list.iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn diagnostics_of_a_server_without_its_checker_say_so() {
    paused(|| async {
        let entry = "checker = { program = \"check\", command = \"apt-get install check\" }";
        let server = pulling(json!([])).launcher();
        let yard = Plan::new(Site::usual()).kind(Entry::new("fake", server.clone()).entry(entry)).open().await;
        let said = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
        let mark = "0 of 1 Fake files are known to fake: `check` is not on the PATH; run `apt-get install check`.";
        assert_eq!(said.summary(), format!("No diagnostics found. {mark}"));
        let hover = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        assert!(!format!("{hover:?}").contains("check`"), "other answers need no checker: {hover:?}");
        assert_eq!(server.record().count("initialize"), 1);
    });
}

#[test]
fn a_configured_linter_without_its_library_is_named_with_the_command() {
    paused(|| async {
        for (findings, said) in
            [(json!([finding(0, "a")]), "Returned 1 diagnostic."), (json!([]), "No diagnostics found.")]
        {
            let linter = pulling(json!([finding(1, "b")])).launcher();
            let needing = Entry::new("lint", linter.clone()).linter().entry("needs = [\"node_modules/lint\"]");
            let plan = Plan::new(Site::usual()).kind(Entry::new("fake", pulling(findings).launcher())).kind(needing);
            let yard = plan.open().await;
            let ask = || yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake"));
            let mark =
                "0 of 1 Fake files are known to lint: the project's `node_modules/lint` is missing; run `npm install`.";
            assert_eq!(ask().await.summary(), format!("{said} {mark}"));
            assert_eq!(linter.record().count("initialize"), 0, "it isn't started");
            let all = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await;
            assert!(all.summary().ends_with("`node_modules/lint` is missing; run `npm install`."), "{}", all.summary());

            // Installing it mends the answer without a restart.
            yard.site().write("node_modules/lint/index.js", "");
            pass(10_000).await;
            let summary = ask().await.summary();
            assert!(summary.starts_with("Returned ") && !summary.contains("missing"), "{summary}");
            assert_eq!(linter.record().count("initialize"), 1);
        }
    });
}

#[test]
fn pulled_diagnostics() {
    paused(|| async {
        let fake = pulling(json!([finding(1, "b"), finding(0, "a"), finding(1, "b")])).launcher();
        let yard = Plan::one(Site::usual(), fake.clone()).open().await;
        assert_eq!(messages(&yard).await, ["a", "b"]);
        let pulls = fake.record().count("textDocument/diagnostic");
        assert_eq!(messages(&yard).await, ["a", "b"]);
        assert_eq!(fake.record().count("textDocument/diagnostic"), pulls, "the second is retained");
        let all = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
        assert_eq!(all["items"][0]["diagnostics"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn pushed_diagnostics_with_and_without_version() {
    for versioned in [true, false] {
        paused(|| async move {
            let site = Site::usual();
            let push = diagnostics(&site.uri("a.fake"), versioned.then_some(1), json!([finding(0, "a")]));
            let fake = pushing().on("textDocument/didOpen", [wait_ms(200), push]).launcher();
            let yard = Plan::one(site, fake.clone()).open().await;
            let called = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
            assert_eq!(called.summary(), "Returned 1 diagnostic.");
            called.took_about(200);
            assert_eq!(fake.record().count("textDocument/didOpen"), 1);
        });
    }
}

#[test]
fn a_missing_push_is_a_timeout_not_an_empty_list() {
    paused(|| async {
        let site = Site::usual();
        let elsewhere = diagnostics(&site.uri("b.fake"), None, json!([finding(0, "b")]));
        let fake = pushing().on("textDocument/didOpen", [elsewhere]).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let call = || yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake"));
        call().await.timed_out("answering");
        fake.push([wait_ms(500), diagnostics(&yard.site().uri("a.fake"), None, json!([finding(0, "late")]))]);
        let called = call().await;
        assert_eq!(called.ok()["diagnostics"][0]["message"], "late");
        called.took_about(500);
    });
}

#[test]
fn a_server_that_can_be_asked_only_later_is_asked_then() {
    paused(|| async {
        let registration = json!({"registrations": [{"id": "1", "method": "textDocument/diagnostic"}]});
        let fake = pushing()
            .on("textDocument/didOpen", [wait_ms(300), ask("client/registerCapability", registration)])
            .answer("textDocument/diagnostic", json!({"kind": "full", "items": [finding(0, "asked")]}))
            .launcher();
        let yard = Plan::one(Site::usual(), fake.clone()).open().await;
        let called = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
        assert_eq!(called.ok()["diagnostics"][0]["message"], "asked");
        called.took_about(300);
    });
}

#[test]
fn pushes_for_older_versions_are_ignored() {
    paused(|| async {
        let site = Site::usual();
        let uri = site.uri("a.fake");
        let version = |params: &Value| params["textDocument"]["version"].as_i64().unwrap();
        let _ = version;
        let fake = pushing()
            .on("textDocument/didOpen", [diagnostics(&uri, Some(1), json!([finding(0, "first")]))])
            .on(
                "textDocument/didChange",
                [
                    diagnostics(&uri, Some(1), json!([finding(0, "old")])),
                    wait_ms(300),
                    diagnostics(&uri, Some(2), json!([finding(0, "new")])),
                    diagnostics(&uri, Some(1), json!([finding(0, "very late")])),
                ],
            )
            .launcher();
        let entry = Entry::new("fake", fake.clone()).entry("quirks.push_versioned = true");
        let yard = Plan::new(site).kind(entry).open().await;
        assert_eq!(messages(&yard).await, ["first"]);
        yard.site().write("a.fake", "changed\n");
        assert_eq!(messages(&yard).await, ["new"]);
        pass(1_000).await;
        assert_eq!(messages(&yard).await, ["new"]);
        let all = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
        assert_eq!(all["items"][0]["diagnostics"][0]["message"], "new");
    });
}

#[test]
fn a_received_push_waits_only_for_its_quiet_period() {
    paused(|| async {
        let site = Site::usual();
        let push = diagnostics(&site.uri("a.fake"), None, json!([finding(0, "a")]));
        let fake = pushing().on("textDocument/didOpen", [push]).launcher();
        let entry = Entry::new("fake", fake.clone()).entry("quirks.push_settle_ms = 300\nquirks.anchor = true");
        let yard = Plan::new(site).kind(entry).open().await;
        // The anchor is opened at the start, so its push arrives before any query.
        yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.ok();
        pass(100).await;
        let called = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
        assert_eq!(called.ok()["diagnostics"][0]["message"], "a");
        called.took_about(200);
    });
}

#[test]
fn an_empty_push_after_a_close_is_not_an_answer() {
    for entry in ["", "quirks.push_versioned = true"] {
        paused(|| async move {
            let site = Site::new(&[("a.fake", "a\n"), ("b.fake", "b\n")]);
            let uri = site.uri("a.fake");
            let fake = pushing()
                .on("textDocument/didClose", [diagnostics(&uri, None, json!([]))])
                .on_nth("textDocument/didOpen", 1, [diagnostics(&uri, Some(1), json!([finding(0, "a")]))])
                .on("textDocument/didOpen", [wait_ms(150), diagnostics(&uri, Some(9), json!([finding(0, "still")]))])
                .launcher();
            let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).entry(entry)).open().await;
            assert_eq!(messages(&yard).await, ["a"]);
            yard.site().write("b.fake", "changed\n");
            assert_eq!(messages(&yard).await, ["still"], "{entry}");
        });
    }
}

#[test]
fn an_empty_push_after_a_reopen_counts_after_the_quiet_period() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "a\n"), ("b.fake", "b\n")]);
        let uri = site.uri("a.fake");
        let fake = pushing()
            .on_nth("textDocument/didOpen", 1, [diagnostics(&uri, None, json!([finding(0, "a")]))])
            .on("textDocument/didOpen", [diagnostics(&uri, None, json!([]))])
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        assert_eq!(messages(&yard).await, ["a"]);
        yard.site().write("b.fake", "changed\n");
        let called = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
        assert_eq!(called.ok()["diagnostics"], json!([]));
        called.took_about(300);
    });
}

async fn pair(primary: Arc<FakeLauncher>, linter: Arc<FakeLauncher>) -> Yard {
    let plan = Plan::new(Site::usual()).kind(Entry::new("fake", primary)).kind(Entry::new("lint", linter).linter());
    plan.open().await
}

#[test]
fn diagnostics_of_all_servers_are_merged() {
    paused(|| async {
        let primary = pulling(json!([finding(1, "type"), finding(0, "both")])).launcher();
        let linter = pulling(json!([finding(2, "style"), finding(0, "both")])).launcher();
        let yard = pair(primary, linter).await;
        assert_eq!(messages(&yard).await, ["both", "type", "style"]);
    });
}

#[test]
fn a_silent_server_times_out_without_failing_the_others() {
    paused(|| async {
        let linter = pulling(json!([])).never("textDocument/diagnostic").launcher();
        let yard = pair(pulling(json!([finding(0, "a")])).launcher(), linter.clone()).await;
        yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await.timed_out("answering");
        linter.wait_for("$/cancelRequest", 1).await;
        let yard = pair(pulling(json!([finding(0, "a")])).launcher(), pushing().launcher()).await;
        yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await.timed_out("answering");
    });
}

#[test]
fn a_dead_server_is_an_error_without_failing_the_others() {
    paused(|| async {
        let linter = pulling(json!([])).on("initialize", [exit(3)]).launcher();
        let yard = pair(pulling(json!([finding(0, "a")])).launcher(), linter.clone()).await;
        let call = || yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake"));
        call().await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        pass(10_000).await;
        let details = call().await.failed_as("PROVIDER_UNAVAILABLE", "quarantined");
        assert_eq!(details["server"], "lint");
        let linter = pulling(json!([])).on("textDocument/diagnostic", [half_reply(), signalled(11)]).launcher();
        let yard = pair(pulling(json!([finding(0, "a")])).launcher(), linter).await;
        let called = yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
        assert_eq!(called.failed_as("PROVIDER_UNAVAILABLE", "crashed")["server"], "lint");
    });
}

#[test]
fn a_file_is_covered_only_when_all_its_servers_have_reported_it() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "a\n"), ("b.fake", "b\n"), ("c.other", "c\n")]);
        let whole = |names: &[&str]| {
            let provider = json!({"interFileDependencies": true, "workspaceDiagnostics": true});
            let items: Vec<Value> = names
                .iter()
                .map(
                    |name| json!({"uri": site.uri(name), "kind": "full", "version": null, "items": [finding(0, name)]}),
                )
                .collect();
            FakeServer::new()
                .capabilities(json!({"textDocumentSync": 1, "diagnosticProvider": provider}))
                .answer("workspace/diagnostic", json!({"items": items}))
                .answer("textDocument/diagnostic", json!({"kind": "full", "items": [finding(0, "one")]}))
        };
        let primary = whole(&["a.fake", "b.fake"]);
        let other = whole(&["c.other"]);
        let linter = pulling(json!([finding(0, "style")]));
        let silent = pushing();
        let plan = Plan::new(site).kind(Entry::new("fake", primary.launcher()));
        let plan = plan.kind(Entry::new("lint", linter.launcher()).linter());
        // A server without any diagnostics isn't waited for.
        let without = Entry::new("mute", silent.launcher()).linter().entry("quirks.no_diagnostics = true");
        let yard = plan.kind(without).kind(Entry::new("pages", other.launcher()).other()).open().await;
        let summary = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.summary().to_owned();
        assert!(summary.ends_with(" 1 of 3 source files covered: 2 by fake, 0 by lint, 1 by pages."), "{summary}");
        for (document, expected) in [
            ("a.fake", " 2 of 3 source files covered: 2 by fake, 1 by lint, 1 by pages."),
            ("b.fake", " 3 of 3 source files covered."),
        ] {
            yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of(document)).await.ok();
            let summary = yard.call(WORKSPACE_DIAGNOSTICS, json!({})).await.summary().to_owned();
            assert!(summary.ends_with(expected), "{summary}");
        }
    });
}
