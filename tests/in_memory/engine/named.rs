//! Workspace symbols through the tool `lsp`: it queries every language and awaits every primary server.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::engine::lsp_tool::*;
use crate::fake_server::*;

const SYMBOLS: &str = "workspace/symbol";
const INDEXES: &str = "readiness.progress = [\"index\"]\nreadiness.expect_within_ms = 200";
/// Milliseconds after which a server without indexing progress counts as ready.
const SETTLED: u64 = 200;

/// Makes a server that becomes ready after `ms` milliseconds.
type Begins = fn(FakeServer, u64) -> Arc<FakeLauncher>;

fn both() -> Site {
    Site::new(&[("a.fake", "alpha\nbeta\n"), ("b.other", "alpha\n")])
}

/// A server with one symbol on the first line of each of these files.
fn knowing(site: &Site, files: &[&str]) -> FakeServer {
    let symbol = |file: &&str| json!({"name": "alpha", "kind": 12, "location": site.location(file, 0)});
    let all: Vec<Value> = files.iter().map(symbol).collect();
    FakeServer::new()
        .capabilities(json!({"workspaceSymbolProvider": true, "textDocumentSync": 1}))
        .answer(SYMBOLS, json!(all))
}

fn indexing(fake: FakeServer, ms: u64) -> Arc<FakeLauncher> {
    let steps = [progress_begin("index", "Indexing"), progress_report("index", 62), wait_ms(ms), progress_end("index")];
    fake.on("initialized", steps).launcher()
}

fn starting(fake: FakeServer, ms: u64) -> Arc<FakeLauncher> {
    let capabilities = json!({"capabilities": {"workspaceSymbolProvider": true, "textDocumentSync": 1}});
    fake.on("initialize", [wait_ms(ms), reply(capabilities)]).launcher()
}

async fn two(site: Site, fake: Arc<FakeLauncher>, other: Arc<FakeLauncher>) -> Yard {
    let plan = Plan::new(site)
        .kind(Entry::new("first", fake).entry(INDEXES))
        .kind(Entry::new("second", other).entry(INDEXES).other());
    plan.open().await
}

/// The files of the symbols found.
fn files(yard: &Yard, found: &Value) -> Vec<String> {
    let uris = found.as_array().unwrap().iter().map(|symbol| symbol["location"]["uri"].as_str().unwrap());
    let names = ["a.fake", "b.other"].map(|name| (name, yard.site().uri(name)));
    uris.map(|uri| names.iter().find(|(_, known)| known == uri).unwrap().0.to_owned()).collect()
}

#[test]
fn every_language_is_queried() {
    paused(|| async {
        let site = both();
        let first = knowing(&site, &["a.fake"]).launcher();
        let second = knowing(&site, &["b.other"]).launcher();
        let yard = two(site, first, second).await;
        assert_eq!(files(&yard, &named(&yard, "alpha").await.whole()), ["a.fake", "b.other"]);
    });
}

#[test]
fn a_language_that_becomes_ready_in_time_is_included() {
    let after_start: [(Begins, u64); 2] = [(starting, SETTLED), (indexing, 0)];
    for (begins, settles) in after_start {
        paused(|| async move {
            let site = both();
            let first = knowing(&site, &["a.fake"]).launcher();
            let second = begins(knowing(&site, &["b.other"]), 1_200);
            let yard = two(site, first, second).await;
            let answer = named(&yard, "alpha").await;
            assert_eq!(files(&yard, &answer.whole()), ["a.fake", "b.other"]);
            answer.took_about(1_200 + settles);
            named(&yard, "alpha").await.whole();
            assert_eq!(yard.counts.retained_hits(), 1, "it is whole, and kept");
        });
    }
}

#[test]
fn a_failed_language_is_named_and_the_others_answer() {
    for files_known in [&["a.fake"][..], &[]] {
        paused(|| async move {
            let site = both();
            let first = knowing(&site, files_known).launcher();
            let second = knowing(&site, &[]).on(SYMBOLS, [fail(-32603, "no")]).launcher();
            let yard = two(site, first, second).await;
            let answer = named(&yard, "alpha").await;
            if files_known.is_empty() {
                // An empty list would be unproven.
                answer.failed("PROVIDER_UNAVAILABLE", "server_error");
                return;
            }
            assert_eq!(files(&yard, &answer.found()), files_known);
            assert_eq!(answer.passed_over(), ["second: server_error"]);
            named(&yard, "alpha").await.found();
            assert_eq!(yard.counts.retained_hits(), 0, "the failure may pass, so the next question asks again");
        });
    }
}

#[test]
fn an_unready_language_is_awaited_even_if_others_have_results() {
    for (begins, said) in [(starting as Begins, "starting"), (indexing, "indexing")] {
        for found in [&["a.fake"][..], &[]] {
            paused(|| async move {
                let site = both();
                let first = knowing(&site, found).launcher();
                let second = begins(knowing(&site, &["b.other"]), 3_000);
                let yard = two(site, first, second.clone()).await;
                let error = named(&yard, "alpha").await.timed_out(said);
                let has_progress = error["progress"].as_str().is_some_and(|text| text.contains("62%"));
                assert_eq!(has_progress, said == "indexing", "{error}");
                assert_eq!(second.record().count(SYMBOLS), 0, "a server that isn't ready gets no request");
                pass(1_100).await;
                let all: Vec<&str> = found.iter().copied().chain(["b.other"]).collect();
                assert_eq!(files(&yard, &named(&yard, "alpha").await.whole()), all);
                named(&yard, "beta").await.whole();
            });
        }
    }
}

#[test]
fn a_language_that_does_not_start_is_awaited_and_then_named() {
    paused(|| async {
        let site = both();
        let first = knowing(&site, &["a.fake"]).launcher();
        let second = knowing(&site, &[]).on("initialize", [exit(1)]).launcher();
        let yard = two(site, first, second).await;
        let answer = named(&yard, "alpha").await;
        assert_eq!(
            (files(&yard, &answer.found()), answer.passed_over()),
            (vec!["a.fake".into()], vec!["second: crashed".into()])
        );
        answer.took_about(LATE);
        pass(10_000).await;
        assert_eq!(named(&yard, "beta").await.passed_over(), ["second: quarantined"]);
    });
}

#[test]
fn a_language_that_restarts_in_time_is_included() {
    paused(|| async {
        let site = both();
        let first = knowing(&site, &["a.fake"]).launcher();
        let dies = knowing(&site, &[]).on("initialize", [exit(1)]);
        let second = FakeLauncher::sequence([dies, knowing(&site, &["b.other"])]);
        let yard = two(site, first, second.clone()).await;
        assert_eq!(files(&yard, &named(&yard, "alpha").await.whole()), ["a.fake", "b.other"]);
        assert_eq!(second.launches(), 2);
    });
}

#[test]
fn an_error_is_returned_when_no_server_starts() {
    paused(|| async {
        let site = both();
        let dies = || knowing(&both(), &[]).on("initialize", [exit(1)]).launcher();
        let yard = two(site, dies(), dies()).await;
        named(&yard, "alpha").await.failed("PROVIDER_UNAVAILABLE", "crashed");
    });
}

#[test]
fn a_silent_language_is_awaited_too() {
    for found in [&["a.fake"][..], &[]] {
        paused(|| async move {
            let site = both();
            let first = knowing(&site, found).launcher();
            let mute = knowing(&both(), &[]).on(SYMBOLS, [until_cancelled(), fail(-32800, "cancelled")]).launcher();
            let yard = two(site, first, mute.clone()).await;
            named(&yard, "alpha").await.timed_out("answering");
            mute.wait_for("$/cancelRequest", 1).await;
        });
    }
}

#[test]
fn a_name_too_short_for_the_server_is_never_just_not_found() {
    paused(|| async {
        let site = both();
        let fake = knowing(&site, &["a.fake"]).launcher();
        let entry = Entry::new("first", fake.clone()).entry("quirks.symbols_min_chars = 3");
        let yard = Plan::new(site).kind(entry).open().await;
        let error = named(&yard, "al").await.failed("PROVIDER_UNAVAILABLE", "unsupported");
        assert!(error.to_string().contains("first"), "{error}");
        assert_eq!(fake.record().count(SYMBOLS), 0);
        assert_eq!(files(&yard, &named(&yard, "alp").await.whole()), ["a.fake"]);
    });
}
