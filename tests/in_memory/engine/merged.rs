//! The tool `lsp` with several servers for a file: it queries them concurrently, merges the answers and names servers without one.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::engine::lsp_tool::*;
use crate::fake_server::*;

const DEFINE: &str = "textDocument/definition";

fn defining(result: Value) -> FakeServer {
    FakeServer::new().capabilities(json!({"definitionProvider": true, "textDocumentSync": 1})).answer(DEFINE, result)
}

fn lines(site: &Site, lines: impl IntoIterator<Item = u32>) -> Value {
    lines.into_iter().map(|line| site.location("a.fake", line)).collect()
}

/// A primary server and a linter.
async fn two(site: Site, primary: Arc<FakeLauncher>, linter: Arc<FakeLauncher>) -> Yard {
    Plan::new(site).kind(Entry::new("fake", primary)).kind(Entry::new("lint", linter).linter()).open().await
}

/// Same, after one query to both, so that neither is still starting.
async fn two_ready(site: Site, primary: Arc<FakeLauncher>, linter: Arc<FakeLauncher>) -> Yard {
    let yard = two(site, primary, linter).await;
    yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
    pass(100).await;
    yard
}

async fn define(yard: &Yard) -> LspAnswer {
    at(yard, "goToDefinition", 0, 0).await
}

#[test]
fn results_of_several_servers_are_one_sorted_list() {
    paused(|| async {
        let site = Site::usual();
        let primary = defining(lines(&site, [2, 0])).launcher();
        let linter = defining(lines(&site, [1, 2])).launcher();
        let yard = two(site, primary.clone(), linter.clone()).await;
        assert_eq!(define(&yard).await.whole(), lines(yard.site(), [0, 1, 2]));
        let asked = primary.record().count(DEFINE);
        let linted = linter.record().count(DEFINE);
        define(&yard).await.whole();
        assert_eq!(yard.counts.retained_hits(), 1);
        assert_eq!((primary.record().count(DEFINE), linter.record().count(DEFINE)), (asked, linted));
    });
}

#[test]
fn servers_are_queried_concurrently() {
    paused(|| async {
        let site = Site::usual();
        let slow = |line| defining(json!([])).on(DEFINE, [wait_ms(300), reply(lines(&site, [line]))]).launcher();
        let primary = slow(0);
        let linter = slow(1);
        let yard = two_ready(site, primary, linter).await;
        let answer = define(&yard).await;
        assert_eq!(answer.whole(), lines(yard.site(), [0, 1]));
        answer.took_about(300);
    });
}

/// Ways to fail a query at once, with the reported reason; a linter without the capability isn't reported.
fn failures() -> [(FakeServer, Option<&'static str>); 6] {
    [
        (defining(json!([])).on(DEFINE, [exit(3)]), Some("crashed")),
        (defining(json!([])).on(DEFINE, [fail(-32603, "no")]), Some("server_error")),
        (defining(json!({"range": 7})), Some("server_error")),
        (defining(json!([])).on("initialize", [exit(1)]), Some("quarantined")),
        (defining(json!([])).on(DEFINE, [fail(-32601, "no such method")]), None),
        (FakeServer::new().capabilities(json!({"textDocumentSync": 1})), None),
    ]
}

/// Waits until a server that can't start is in quarantine.
async fn until_quarantined(yard: &Yard) {
    define(yard).await;
    pass(10_000).await;
}

#[test]
fn a_failed_linter_is_named_and_costs_no_result() {
    for (number, (linter, said)) in failures().into_iter().enumerate() {
        paused(|| async move {
            let site = Site::usual();
            let primary = defining(lines(&site, [0])).launcher();
            let yard = two(site, primary, linter.launcher()).await;
            if said == Some("quarantined") {
                until_quarantined(&yard).await;
            }
            let answer = define(&yard).await;
            assert_eq!(answer.found(), lines(yard.site(), [0]), "{number}");
            let expected: Vec<String> = said.iter().map(|said| format!("lint: {said}")).collect();
            assert_eq!(answer.passed_over(), expected, "{number}");
        });
    }
}

#[test]
fn a_failed_primary_is_named_and_the_linter_results_remain() {
    for (number, (primary, said)) in failures().into_iter().enumerate() {
        paused(|| async move {
            let site = Site::usual();
            let linter = defining(lines(&site, [2])).launcher();
            let yard = two(site, primary.launcher(), linter).await;
            if said == Some("quarantined") {
                until_quarantined(&yard).await;
            }
            let answer = define(&yard).await;
            assert_eq!(answer.found(), lines(yard.site(), [2]), "{number}");
            assert_eq!(answer.passed_over(), [format!("fake: {}", said.unwrap_or("unsupported"))], "{number}");
        });
    }
}

#[test]
fn an_empty_linter_result_does_not_hide_a_failed_primary() {
    for (number, (primary, said)) in failures().into_iter().enumerate() {
        paused(|| async move {
            let yard = two(Site::usual(), primary.launcher(), defining(json!([])).launcher()).await;
            if said == Some("quarantined") {
                until_quarantined(&yard).await;
            }
            let answer = define(&yard).await;
            match said {
                Some(said) => {
                    let error = answer.failed("PROVIDER_UNAVAILABLE", said);
                    assert_eq!((&error["server"], &error["operation"]), (&json!("fake"), &json!("goToDefinition")));
                }
                // Only the linter supports the operation, so its result is the answer.
                None => {
                    answer.nothing("goToDefinition");
                    assert_eq!(answer.passed_over(), ["fake: unsupported"], "{number}");
                }
            }
        });
    }
}

#[test]
fn a_primary_that_is_not_installed_is_named() {
    for found in [true, false] {
        paused(|| async move {
            let site = Site::usual();
            let linter = defining(if found { lines(&site, [1]) } else { json!([]) }).launcher();
            let plan = Plan::new(site)
                .kind(Entry::new("fake", defining(json!([])).launcher()).missing())
                .kind(Entry::new("lint", linter).linter());
            let yard = plan.open().await;
            let answer = define(&yard).await;
            if found {
                assert_eq!(answer.found(), lines(yard.site(), [1]));
                assert_eq!(answer.passed_over(), ["fake: not_installed"]);
            } else {
                let error = answer.failed("PROVIDER_UNAVAILABLE", "not_installed");
                assert_eq!(error["command"], "codeyard servers install fake");
            }
        });
    }
}

#[test]
fn when_all_fail_the_call_fails_with_the_primary_error() {
    for slow in [0, 100] {
        paused(|| async move {
            let fails = |ms: u64| defining(json!([])).on(DEFINE, [wait_ms(ms), fail(-32603, "no")]).launcher();
            let yard = two(Site::usual(), fails(slow), fails(100 - slow)).await;
            let error = define(&yard).await.failed("PROVIDER_UNAVAILABLE", "server_error");
            assert_eq!((&error["server"], &error["command"]), (&json!("fake"), &json!("codeyard doctor")));
        });
    }
}

#[test]
fn an_unsupported_operation_names_the_primary() {
    paused(|| async {
        let site = Site::usual();
        let yard = two(site, defining(json!([])).launcher(), defining(json!([])).launcher()).await;
        let answer = at(&yard, "goToImplementation", 0, 0).await;
        let error = answer.failed("PROVIDER_UNAVAILABLE", "unsupported");
        assert_eq!((&error["server"], &error["operation"]), (&json!("fake"), &json!("goToImplementation")));
        assert!(answer.text().starts_with("No LSP server here offers goToImplementation"), "{}", answer.text());
    });
}

#[test]
fn a_silent_linter_is_cut_off_and_the_partial_answer_is_not_retained() {
    paused(|| async {
        let site = Site::usual();
        let primary = defining(lines(&site, [0])).launcher();
        let linter = defining(json!([])).on(DEFINE, [until_cancelled(), fail(-32800, "cancelled")]).launcher();
        let yard = two_ready(site, primary.clone(), linter.clone()).await;
        for turn in 1..=2 {
            let answer = define(&yard).await;
            assert_eq!(answer.found(), lines(yard.site(), [0]));
            assert_eq!(answer.passed_over(), ["lint: timeout"]);
            answer.took_about(LATE);
            assert_eq!(primary.record().count(DEFINE), turn, "a new request each time");
            linter.wait_for("$/cancelRequest", turn).await;
        }
        assert_eq!(yard.counts.retained_hits(), 0);
    });
}

#[test]
fn a_partial_answer_has_pages_of_its_own() {
    paused(|| async {
        let site = Site::new(&[("a.fake", &"word\n".repeat(900))]);
        let primary = defining(lines(&site, 0..900)).pipe_bytes(1 << 20).launcher();
        let linter = FakeLauncher::sequence([defining(json!([])).never(DEFINE)]);
        let yard = two_ready(site, primary, linter).await;
        let answer = define(&yard).await;
        let metadata = answer.metadata();
        assert_eq!((&metadata["total"], answer.passed_over()), (&json!(900), vec!["lint: timeout".to_owned()]));
        let count = |answer: &LspAnswer| answer.found().as_array().expect("a list").len();
        let mut found = count(&answer);
        let mut cursor = metadata["nextCursor"].clone();
        assert!(cursor.is_string(), "more than a page");
        while cursor.is_string() {
            let mut next = place("goToDefinition", 0, 0);
            next["cursor"] = cursor;
            let page = lsp(&yard, next).await;
            page.took_about(0);
            let metadata = page.metadata();
            assert_eq!((&metadata["total"], page.passed_over()), (&json!(900), vec!["lint: timeout".to_owned()]));
            found += count(&page);
            cursor = metadata["nextCursor"].clone();
        }
        assert_eq!(found, 900);
    });
}

#[test]
fn linter_results_do_not_replace_a_silent_primary() {
    paused(|| async {
        let site = Site::usual();
        let linter = defining(lines(&site, [1])).launcher();
        let yard = two_ready(site, defining(json!([])).never(DEFINE).launcher(), linter).await;
        define(&yard).await.timed_out("answering");
    });
}

#[test]
fn a_silent_linter_does_not_invalidate_an_empty_primary_result() {
    paused(|| async {
        let linter = defining(json!([])).never(DEFINE).launcher();
        let yard = two_ready(Site::usual(), defining(json!([])).launcher(), linter).await;
        let answer = define(&yard).await;
        answer.nothing("goToDefinition");
        assert_eq!(
            answer.text(),
            "No results found for goToDefinition\nNot answered by every language server: lint: timeout."
        );
        answer.took_about(LATE);
    });
}

#[test]
fn a_starting_or_indexing_linter_is_awaited_and_then_named() {
    let starts = |ms: u64| {
        let capabilities = json!({"capabilities": {"definitionProvider": true, "textDocumentSync": 1}});
        [wait_ms(ms), reply(capabilities)]
    };
    for (ms, said) in [(9_000, Some("starting")), (700, None)] {
        paused(|| async move {
            let site = Site::usual();
            let primary = defining(lines(&site, [0])).launcher();
            let linter = defining(lines(&site, [1])).on("initialize", starts(ms)).launcher();
            let yard = two(site, primary, linter).await;
            assert_partial_answer(&yard, ms, said).await;
        });
        paused(|| async move {
            let site = Site::usual();
            let primary = defining(lines(&site, [0])).launcher();
            let steps = [progress_begin("index", "Indexing"), wait_ms(ms), progress_end("index")];
            let linter = defining(lines(&site, [1])).on("initialized", steps).launcher();
            let entry = Entry::new("lint", linter).linter().entry("readiness.progress = [\"index\"]");
            let yard = Plan::new(site)
                .kind(Entry::new("fake", primary))
                .kind(entry.entry("readiness.expect_within_ms = 200"))
                .open()
                .await;
            assert_partial_answer(&yard, ms, said.map(|_| "indexing")).await;
        });
    }
}

#[test]
fn a_linter_that_does_not_start_is_named_with_its_reason() {
    paused(|| async {
        let site = Site::usual();
        let primary = defining(lines(&site, [0])).launcher();
        let yard = two(site, primary, defining(json!([])).on("initialize", [exit(1)]).launcher()).await;
        let answer = define(&yard).await;
        assert_eq!((answer.found(), answer.passed_over()), (lines(yard.site(), [0]), vec!["lint: crashed".to_owned()]));
        answer.took_about(LATE);
    });
}

async fn assert_partial_answer(yard: &Yard, ms: u64, said: Option<&str>) {
    let answer = define(yard).await;
    match said {
        Some(said) => {
            assert_eq!(answer.found(), lines(yard.site(), [0]));
            assert_eq!(answer.passed_over(), [format!("lint: {said}")]);
            answer.took_about(LATE);
        }
        None => {
            assert_eq!(answer.whole(), lines(yard.site(), [0, 1]));
            answer.took_about(ms);
        }
    }
}

#[test]
fn an_unready_primary_is_awaited_even_if_a_linter_has_results() {
    paused(|| async {
        let site = Site::usual();
        let primary = defining(lines(&site, [0])).on(
            "initialized",
            [progress_begin("index", "Indexing"), progress_report("index", 41), wait_ms(5_000), progress_end("index")],
        );
        let linter = defining(lines(&site, [1])).launcher();
        let entry = Entry::new("fake", primary.launcher())
            .entry("readiness.progress = [\"index\"]\nreadiness.expect_within_ms = 200");
        let yard = Plan::new(site).kind(entry).kind(Entry::new("lint", linter).linter()).open().await;
        let answer = define(&yard).await;
        let error = answer.timed_out("indexing");
        assert!(error["progress"].as_str().unwrap().contains("41%"), "{error}");
        assert!(answer.text().contains("41%") && answer.text().ends_with("Ask again in 1 s."), "{}", answer.text());
        pass(3_100).await;
        assert_eq!(define(&yard).await.whole(), lines(yard.site(), [0, 1]));
    });
}

#[test]
fn hovers_are_joined_in_registry_order() {
    paused(|| async {
        let hover = |ms: u64, text: &str| {
            let contents = json!({"contents": {"kind": "markdown", "value": text}, "range": range(ms as u32)});
            FakeServer::new()
                .capabilities(json!({"hoverProvider": true, "textDocumentSync": 1}))
                .on("textDocument/hover", [wait_ms(ms), reply(contents)])
                .launcher()
        };
        let plan = Plan::new(Site::usual())
            .kind(Entry::new("fake", hover(50, "what it **is**")))
            .kind(Entry::new("lint", hover(2, "a hint")).linter())
            .kind(Entry::new("twin", hover(1, "what it **is**")).linter());
        let yard = plan.open().await;
        let found = at(&yard, "hover", 0, 0).await.whole();
        let expected = json!({
            "contents": {"kind": "markdown", "value": "what it **is**\n\n---\n\na hint"}, "range": range(50)
        });
        assert_eq!(found, expected);
    });
}

#[test]
fn outlines_are_merged_into_one_tree() {
    paused(|| async {
        let symbol = |name: &str, line: u32, children: Value| json!({"name": name, "kind": 5, "range": range(line), "selectionRange": range(line), "children": children});
        let outlining = |symbols: Value| {
            FakeServer::new()
                .capabilities(json!({"documentSymbolProvider": true, "textDocumentSync": 1}))
                .answer("textDocument/documentSymbol", symbols)
                .launcher()
        };
        let primary = outlining(json!([symbol("beta", 1, json!([symbol("y", 1, json!([]))]))]));
        let linter =
            outlining(json!([symbol("beta", 1, json!([symbol("x", 1, json!([]))])), symbol("alpha", 0, json!([]))]));
        let yard = two(Site::usual(), primary, linter).await;
        let found = lsp(&yard, json!({"operation": "documentSymbol", "filePath": "a.fake"})).await.whole();
        let names = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            (names(&found), names(&found[1]["children"])),
            (vec!["alpha".into(), "beta".into()], vec!["x".into(), "y".into()])
        );
    });
}

#[test]
fn a_later_caller_does_not_share_an_earlier_partial_answer() {
    paused(|| async {
        let site = Site::usual();
        let primary = defining(lines(&site, [0])).launcher();
        let linter = defining(json!([]))
            .on(DEFINE, [wait_ms(1_950), reply(json!([]))])
            .on_nth(DEFINE, 2, [wait_ms(100), reply(lines(&site, [1]))])
            .launcher();
        let yard = two_ready(site, primary, linter.clone()).await;
        let early = tokio::spawn(at(&yard, "goToDefinition", 0, 0));
        linter.wait_for(DEFINE, 1).await;
        pass(1_000).await;
        let later = tokio::spawn(at(&yard, "goToDefinition", 0, 0));
        let early = early.await.unwrap();
        let later = later.await.unwrap();
        assert_eq!((early.found(), early.passed_over()), (lines(yard.site(), [0]), vec!["lint: timeout".to_owned()]));
        early.took_about(LATE);
        assert_eq!(later.whole(), lines(yard.site(), [0, 1]));
        later.took_about(LATE - 1_000 + 100);
    });
}
