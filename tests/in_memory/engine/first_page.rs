//! The tool `lsp`: the order of its first page, source lines, formats, and missing servers that matter.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::engine::lsp_tool::*;
use crate::fake_server::*;

const DEFINE: &str = "textDocument/definition";
const REFER: &str = "textDocument/references";
const SYMBOLS: &str = "workspace/symbol";

/// Files of three folders. `sub/z.fake` has the declaration.
fn site() -> Site {
    Site::new(&[
        ("a.fake", "alpha\nbeta\n"),
        ("sub/b.fake", "  alpha()  \nalpha\n"),
        ("sub/q.fake", "\talpha = \u{1b}[2J\nalpha\n"),
        ("sub/z.fake", "def alpha\n"),
    ])
}

fn capable(site: &Site) -> FakeServer {
    let places =
        [("sub/z.fake", 0), ("sub/q.fake", 1), ("sub/q.fake", 0), ("sub/b.fake", 1), ("sub/b.fake", 0), ("a.fake", 0)];
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "referencesProvider": true, "textDocumentSync": 1}))
        .answer(DEFINE, json!([site.location("sub/z.fake", 0)]))
        .answer(REFER, places.iter().map(|(file, line)| site.location(file, *line)).collect::<Value>())
}

async fn open(site: Site, fake: Arc<FakeLauncher>) -> Yard {
    Plan::one(site, fake).open().await
}

fn ask_references(more: Value) -> Value {
    let mut arguments = json!({"operation": "findReferences", "filePath": "sub/q.fake", "line": 2, "character": 1});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    arguments
}

/// Name and line of each location.
fn order(yard: &Yard, found: &Value) -> Vec<String> {
    let base = yard.site().uri("");
    let line = |one: &Value| one["range"]["start"]["line"].clone();
    let name = |one: &Value| one["uri"].as_str().unwrap()[base.len()..].to_owned();
    found.as_array().unwrap().iter().map(|one| format!("{}:{}", name(one), line(one))).collect()
}

const USEFUL: [&str; 6] = ["sub/z.fake:0", "sub/q.fake:0", "sub/q.fake:1", "sub/b.fake:0", "sub/b.fake:1", "a.fake:0"];
const WITHOUT_DECLARATION: [&str; 6] =
    ["sub/q.fake:0", "sub/q.fake:1", "sub/b.fake:0", "sub/b.fake:1", "sub/z.fake:0", "a.fake:0"];

#[test]
fn declarations_come_first_then_the_file_then_its_folder() {
    paused(|| async {
        let site = site();
        let fake = capable(&site).launcher();
        let yard = open(site, fake.clone()).await;
        let first = lsp(&yard, ask_references(json!({}))).await;
        assert_eq!(order(&yard, &first.whole()), USEFUL);
        let again = lsp(&yard, ask_references(json!({}))).await;
        assert_eq!(again.bytes(), first.bytes());
        assert_eq!((fake.record().count(REFER), fake.record().count(DEFINE)), (1, 1), "it is retained");
    });
}

#[test]
fn a_server_that_fails_to_name_the_declaration_costs_only_the_order() {
    let no_definitions = json!({"referencesProvider": true, "textDocumentSync": 1});
    for fails in [vec![fail(-32603, "no")], vec![fail(-32601, "no")], vec![reply(json!({"range": 7}))], vec![]] {
        let capabilities = no_definitions.clone();
        paused(|| async move {
            let site = site();
            let fake = match fails.is_empty() {
                true => capable(&site).capabilities(capabilities),
                false => capable(&site).on(DEFINE, fails.clone()).on(DEFINE, fails),
            };
            let fake = fake.launcher();
            let yard = open(site, fake.clone()).await;
            for _ in 0..2 {
                let answer = lsp(&yard, ask_references(json!({}))).await;
                let found = order(&yard, &answer.whole());
                assert!(found == WITHOUT_DECLARATION || found == USEFUL, "{found:?}");
            }
            assert_eq!(fake.record().count(REFER), 1, "the answer is retained");
        });
    }
}

#[test]
fn a_declaration_that_is_late_is_not_waited_for_and_the_answer_is_not_retained() {
    paused(|| async {
        let site = site();
        let late = [until_cancelled(), fail(-32800, "cancelled")];
        let fake = capable(&site).on(DEFINE, late).launcher();
        let yard = open(site, fake.clone()).await;
        for asked in [1, 2] {
            let answer = lsp(&yard, ask_references(json!({}))).await;
            assert_eq!(order(&yard, &answer.whole()), WITHOUT_DECLARATION);
            answer.took_about(LATE);
            assert_eq!(fake.record().count(REFER), asked, "the next answer may have the first group");
        }
    });
}

#[test]
fn slow_references_are_not_delayed_by_the_declaration() {
    paused(|| async {
        let site = site();
        let places = json!([site.location("a.fake", 0)]);
        let fake = capable(&site).on(REFER, [wait_ms(700), reply(places)]).launcher();
        let yard = open(site, fake).await;
        lsp(&yard, ask_references(json!({}))).await.took_about(700);
    });
}

#[test]
fn a_result_that_comes_just_before_the_end_of_the_call_has_its_source_lines() {
    paused(|| async {
        for ms in [1_870, 1_960] {
            let site = site();
            let places = json!([site.location("a.fake", 0)]);
            let fake = capable(&site).on(REFER, [wait_ms(ms), reply(places)]).launcher();
            let yard = open(site, fake).await;
            let found = lsp(&yard, ask_references(json!({}))).await.whole();
            assert!(found.as_array().unwrap().iter().all(|one| one.get("preview").is_some()), "{ms} ms: {found}");
        }
    });
}

#[test]
fn source_lines_are_of_the_same_content_as_the_answer() {
    for watched in [true, false] {
        paused(|| async move {
            let site = site();
            let fake = capable(&site).launcher();
            let plan = Plan::one(site, fake);
            let yard = if watched { plan.open().await } else { plan.unwatched().at_once().open().await };
            let lines = async || {
                let found = lsp(&yard, ask_references(json!({}))).await.whole();
                let all = found.as_array().unwrap().iter();
                all.map(|one| one["preview"].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>()
            };
            let expected = ["def alpha", "alpha = \\x1b[2J", "alpha", "alpha()", "alpha", "alpha"];
            assert_eq!(lines().await, expected);
            yard.site().write("sub/b.fake", "other()\nlast\n");
            pass(10).await;
            assert_eq!(lines().await, ["def alpha", "alpha = \\x1b[2J", "alpha", "other()", "last", "alpha"]);
            let bare = lsp(&yard, ask_references(json!({"preview": false}))).await.whole();
            assert!(bare.as_array().unwrap().iter().all(|one| one.get("preview").is_none()), "{bare}");
        });
    }
}

#[test]
fn both_formats_and_all_page_lengths_share_one_result_and_its_cursors() {
    paused(|| async {
        let site = Site::new(&[("a.fake", &"alpha beta gamma delta\n".repeat(400))]);
        let places: Value = (0..400).map(|line| site.location("a.fake", line)).collect();
        let fake = capable(&site).answer(REFER, places).answer(DEFINE, json!([])).launcher();
        let yard = open(site, fake.clone()).await;
        let styles = [json!({}), json!({"format": "compact", "pageChars": 2000}), json!({"preview": false})];
        let mut cursor = Value::Null;
        let mut seen = Vec::new();
        for style in styles.iter().cycle() {
            let mut arguments = json!({"operation": "findReferences", "filePath": "a.fake", "line": 1, "character": 1});
            arguments.as_object_mut().unwrap().extend(style.as_object().unwrap().clone());
            arguments["cursor"] = cursor;
            let answer = lsp(&yard, arguments).await;
            let most = style["pageChars"].as_u64().unwrap_or(8_000) as usize;
            assert!(answer.text().chars().count() <= most, "{}", answer.text().chars().count());
            match answer.found() {
                Value::String(lines) => {
                    seen.extend(lines.lines().map(|line| {
                        let place = line.strip_suffix("  alpha beta gamma delta").unwrap();
                        place.strip_prefix("a.fake:").unwrap().strip_suffix(":1").unwrap().parse::<u64>().unwrap() - 1
                    }));
                }
                list => seen.extend(list.as_array().unwrap().iter().map(|one| {
                    assert_eq!(one.get("preview").is_some(), *style == json!({}), "{one}");
                    one["range"]["start"]["line"].as_u64().unwrap()
                })),
            }
            cursor = answer.metadata()["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(seen, (0..400).collect::<Vec<u64>>());
        assert_eq!(fake.record().count(REFER), 1);
    });
}

#[test]
fn the_configured_length_of_pages_holds() {
    paused(|| async {
        let site = Site::new(&[("a.fake", &"alpha\n".repeat(400))]);
        let places: Value = (0..400).map(|line| site.location("a.fake", line)).collect();
        let fake = capable(&site).answer(REFER, places).launcher();
        let yard = Plan::one(site, fake).tune(|config| config.agent.page_chars = 3_000).open().await;
        let chars = async || at(&yard, "findReferences", 0, 0).await.text().chars().count();
        assert!((2_500..=3_000).contains(&chars().await), "{}", chars().await);
    });
}

/// A workspace with a server for one language, and one that isn't installed for another.
async fn half(other: &str) -> Yard {
    let site = Site::new(&[("a.fake", "alpha\n"), ("b.other", other)]);
    let symbol = json!({"name": "alpha", "kind": 12, "location": site.location("a.fake", 0)});
    let capabilities = json!({"workspaceSymbolProvider": true, "textDocumentSync": 1});
    let fake = FakeServer::new().capabilities(capabilities).answer(SYMBOLS, json!([symbol])).launcher();
    let missing = FakeServer::new().launcher();
    Plan::new(site).kind(Entry::new("first", fake)).kind(Entry::new("second", missing).other().missing()).open().await
}

#[test]
fn a_missing_server_is_named_only_if_its_files_have_the_name() {
    for (text, query, is_named) in [
        ("the Alpha plan\n", "alpha", true),
        ("the alphabet\n", "shop::Alpha", true),
        ("nothing\n", "alpha", false),
        ("shop\n", "shop.alpha", false),
    ] {
        paused(|| async move {
            let yard = half(text).await;
            let answer = named(&yard, query).await;
            let expected: &[&str] = if is_named { &["second: not_installed"] } else { &[] };
            assert_eq!(answer.passed_over(), expected, "{text:?} {query}");
            assert_eq!(answer.text().contains("second: not_installed"), is_named);
            // An edit may bring the name.
            yard.site().write("b.other", "alpha\n");
            pass(10).await;
            assert_eq!(named(&yard, query).await.passed_over(), ["second: not_installed"]);
        });
    }
}
