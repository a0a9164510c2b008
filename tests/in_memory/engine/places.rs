//! The tool `lsp` and changes: one execution for identical queries, the lifetime of snapshots, positions in the
//! current text.

use std::sync::Arc;

use codeyard_test_support::page_text::page_text;
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::engine::lsp_tool::*;
use crate::fake_server::*;

const DEFINE: &str = "textDocument/definition";
const REFER: &str = "textDocument/references";

fn capable(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({
            "definitionProvider": true, "referencesProvider": true, "hoverProvider": true, "textDocumentSync": 1
        }))
        .answer(DEFINE, json!([site.location("a.fake", 1)]))
        .answer(REFER, json!([site.location("a.fake", 2)]))
        .answer("textDocument/hover", json!(null))
}

async fn one(site: Site, fake: Arc<FakeLauncher>) -> Yard {
    Plan::one(site, fake).open().await
}

#[test]
fn identical_queries_share_one_execution() {
    paused(|| async {
        let site = Site::usual();
        let slow = [wait_ms(200), reply(json!([site.location("a.fake", 1)]))];
        let fake = capable(&site).on(DEFINE, slow).launcher();
        let yard = one(site, fake.clone()).await;
        let calls: Vec<_> = (0..8).map(|_| tokio::spawn(at(&yard, "goToDefinition", 0, 0))).collect();
        let mut bytes = vec![];
        for call in calls {
            let answer = call.await.unwrap();
            answer.took_about(200);
            bytes.push(answer.bytes().to_vec());
        }
        bytes.dedup();
        assert_eq!((bytes.len(), fake.record().count(DEFINE)), (1, 1));
        // Arguments that an operation ignores don't distinguish queries.
        let outline = |more: Value| {
            let mut arguments = json!({"operation": "goToDefinition", "filePath": "a.fake", "line": 1, "character": 1});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            lsp(&yard, arguments)
        };
        outline(json!({"query": "x"})).await.whole();
        outline(json!({"filePath": yard.site().root.join("a.fake")})).await.whole();
        assert_eq!((fake.record().count(DEFINE), yard.counts.retained_hits()), (1, 2));
        at(&yard, "goToDefinition", 0, 1).await.whole();
        assert_eq!(fake.record().count(DEFINE), 2, "another position is another question");
    });
}

#[test]
fn one_cancellation_is_sent_when_all_identical_callers_disconnect() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).on(DEFINE, [until_cancelled(), fail(-32800, "cancelled")]).launcher();
        let yard = one(site, fake.clone()).await;
        let calls: Vec<_> = (0..5).map(|_| tokio::spawn(at(&yard, "goToDefinition", 0, 0))).collect();
        fake.wait_for(DEFINE, 1).await;
        settle().await;
        for call in calls {
            call.abort();
        }
        fake.wait_for("$/cancelRequest", 1).await;
        pass(1_000).await;
        assert_eq!(fake.record().cancelled(), [DEFINE]);
    });
}

#[test]
fn catalogs_do_not_share_snapshots() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).launcher();
        let yard = one(site, fake.clone()).await;
        let ask_both = async || {
            assert_eq!(at(&yard, "goToDefinition", 0, 0).await.whole(), json!([yard.site().location("a.fake", 1)]));
            let other = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            assert_eq!(other["locations"], json!([yard.site().location("a.fake", 1)]));
        };
        ask_both().await;
        assert_eq!((fake.record().count(DEFINE), yard.counts.retained_hits()), (2, 0));
        ask_both().await;
        assert_eq!((fake.record().count(DEFINE), yard.counts.retained_hits()), (2, 2));
    });
}

#[test]
fn exactly_the_changes_that_affect_answers_drop_snapshots() {
    type Act = fn(&Yard, &FakeLauncher);
    let cases: [(&str, bool, Act); 6] = [
        ("nothing", false, |_, _| {}),
        ("an edit of the document", true, |yard, _| yard.site().write("a.fake", "alpha other\nbeta\ngamma\n")),
        ("an edit of another source file", true, |yard, _| yard.site().write("b.fake", "new\n")),
        ("a deletion", true, |yard, _| yard.site().remove("b.fake")),
        ("a push of diagnostics", false, |yard, fake| {
            fake.push([diagnostics(&yard.site().uri("b.fake"), None, json!([finding(0, "m")]))]);
        }),
        ("a refresh", true, |_, fake| fake.push([ask("workspace/diagnostic/refresh", json!(null))])),
    ];
    for (what, ends, act) in cases {
        for watched in [true, false] {
            paused(|| async move {
                let site = Site::new(&[("a.fake", "alpha\nbeta\ngamma\n"), ("b.fake", "b\n")]);
                let fake = capable(&site).launcher();
                let plan = Plan::one(site, fake.clone());
                let yard = if watched { plan.open().await } else { plan.unwatched().at_once().open().await };
                at(&yard, "findReferences", 0, 0).await.whole();
                let before = fake.record().count(REFER);
                act(&yard, &fake);
                pass(10).await;
                at(&yard, "findReferences", 0, 0).await.whole();
                let asked = fake.record().count(REFER) > before;
                assert!(asked == ends || !watched && asked, "{what}, watched: {watched}");
            });
        }
    }
}

#[test]
fn pages_are_complete_and_an_edit_makes_the_cursor_stale() {
    paused(|| async {
        let site = Site::new(&[("a.fake", &"word\n".repeat(900))]);
        let all: Vec<Value> = (0..900).rev().map(|line| site.location("a.fake", line)).collect();
        let fake = capable(&site).answer(REFER, json!(all)).pipe_bytes(1 << 20).launcher();
        let yard = one(site, fake.clone()).await;
        let mut arguments = place("findReferences", 0, 0);
        let mut lines = vec![];
        let mut first = None;
        loop {
            let answer = lsp(&yard, arguments.clone()).await;
            let metadata = answer.metadata();
            assert_eq!(metadata["total"], 900);
            assert!(answer.text().chars().count() <= codeyard_model::limits::DEFAULT_PAGE_CHARS);
            let (list, sentences) = page_text(answer.text(), metadata["nextCursor"].is_string());
            assert_eq!(serde_json::from_str::<Value>(list).unwrap(), metadata["result"], "one and the same page");
            assert_eq!(metadata["hint"].as_str().unwrap_or_default(), sentences);
            let page = metadata["result"].as_array().unwrap().clone();
            lines.extend(page.into_iter().map(|one| one["range"]["start"]["line"].as_u64().unwrap()));
            arguments["cursor"] = metadata["nextCursor"].clone();
            first.get_or_insert(arguments.clone());
            if arguments["cursor"].is_null() {
                break;
            }
        }
        // The definition is on the second line.
        assert_eq!(lines, [1, 0].into_iter().chain(2..900).collect::<Vec<u64>>());
        assert_eq!(fake.record().count(REFER), 1, "one request for all pages");
        let mut other = first.clone().unwrap();
        other["character"] = 2.into();
        lsp(&yard, other).await.failed_with("CURSOR_INVALID");
        yard.site().write("b.fake", "new\n");
        lsp(&yard, first.unwrap()).await.failed_with("CURSOR_STALE");
    });
}

#[test]
fn positions_are_resolved_in_the_current_text() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "let 𝒳b = one(two)\n")]);
        let fake = capable(&site).launcher();
        let yard = one(site, fake.clone()).await;
        let names = |error: &Value| -> Vec<(String, u64)> {
            let all = error["identifiers"].as_array().unwrap().iter();
            all.map(|one| (one["name"].as_str().unwrap().to_owned(), one["character"].as_u64().unwrap())).collect()
        };
        let named = |list: &[(&str, u64)]| list.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
        // After `one`, past the line, past the file.
        let answer = at(&yard, "goToDefinition", 0, 13).await;
        let error = answer.failed("NOT_FOUND", "no_identifier");
        assert_eq!(names(&error), named(&[("let", 1), ("𝒳b", 5), ("one", 11), ("two", 15)]));
        assert!(answer.text().contains("one at 11"), "{}", answer.text());
        let error = at(&yard, "goToDefinition", 0, 99).await.failed("NOT_FOUND", "position_beyond");
        assert_eq!((&error["length"], names(&error).len()), (&json!(18), 4));
        let error = at(&yard, "goToDefinition", 7, 0).await.failed("NOT_FOUND", "position_beyond");
        assert_eq!(error["line"], 8);
        assert_eq!(fake.record().count(DEFINE), 0, "the server gets no request for these");
        let longer = format!("{}last\n", "other word\n".repeat(7));
        yard.site().write("a.fake", &longer);
        assert_eq!(at(&yard, "goToDefinition", 7, 0).await.whole(), json!([yard.site().location("a.fake", 1)]));
        let error = at(&yard, "goToDefinition", 0, 5).await.failed("NOT_FOUND", "no_identifier");
        assert_eq!(names(&error), named(&[("other", 1), ("word", 7)]));
        let error = at(&yard, "goToDefinition", 0, 13).await.failed("NOT_FOUND", "position_beyond");
        assert_eq!((&error["length"], names(&error)), (&json!(10), named(&[("other", 1), ("word", 7)])));
        // The server's silence is explained by the current text too.
        yard.site().write("a.fake", "a  = b\n");
        let error = at(&yard, "hover", 0, 2).await.failed("NOT_FOUND", "no_identifier");
        assert_eq!(names(&error), named(&[("a", 1), ("b", 6)]));
        assert_eq!(fake.record().count("textDocument/hover"), 1);
        yard.site().write("a.fake", "a\n");
        at(&yard, "hover", 0, 0).await.nothing("hover");
    });
}

#[test]
fn a_deleted_file_is_reported_and_not_retained() {
    paused(|| async {
        let site = Site::usual();
        let yard = one(Site::usual(), capable(&site).launcher()).await;
        at(&yard, "hover", 0, 0).await.nothing("hover");
        yard.site().remove("a.fake");
        let answer = at(&yard, "hover", 0, 0).await;
        answer.failed_with("NOT_FOUND");
        assert_eq!(answer.text(), "File not found: a.fake");
    });
}
