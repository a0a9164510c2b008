//! Call hierarchy through the tool `lsp`: two requests to each server, and prepared items return only to their own server.

use std::sync::Arc;

use codeyard_engine::limits::MAX_CALL_ITEMS;
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::engine::lsp_tool::*;
use crate::fake_server::*;

const PREPARE: &str = "textDocument/prepareCallHierarchy";
const INCOMING: &str = "callHierarchy/incomingCalls";
const OUTGOING: &str = "callHierarchy/outgoingCalls";

/// A prepared item on a line of a file, with its server's opaque data.
fn function(uri: &str, line: u32, data: Value) -> Value {
    json!({
        "name": format!("f{line}"), "kind": 12, "uri": uri, "range": range(line), "selectionRange": range(line),
        "tags": [1], "detail": "of the server's own", "data": data
    })
}

/// Same item as the tool shows it.
fn shown(uri: &str, line: u32) -> Value {
    json!({"name": format!("f{line}"), "kind": 12, "uri": uri, "range": range(line), "selectionRange": range(line)})
}

fn preparing(items: Value) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"callHierarchyProvider": true, "textDocumentSync": 1}))
        .answer(PREPARE, items)
        .answer(INCOMING, json!([]))
        .answer(OUTGOING, json!(null))
}

async fn one(site: Site, fake: Arc<FakeLauncher>) -> Yard {
    Plan::one(site, fake).open().await
}

#[test]
fn calls_of_all_prepared_functions_are_merged_and_each_item_is_returned_unchanged() {
    paused(|| async {
        let site = Site::usual();
        let uri = site.uri("a.fake");
        let items = json!([
            function(&uri, 0, json!({"id": [1, 2.50, null], "é": "𝒳\u{7f}"})),
            function(&uri, 1, json!("second")),
        ]);
        let caller = |uri: &str, line: u32, at: &[u32]| {
            let places: Vec<Value> = at.iter().map(|line| range(*line)).collect();
            json!({"from": function(uri, line, json!(null)), "fromRanges": places})
        };
        let one_uri = uri.clone();
        let calls = move |params: &Value, _: usize| match params["item"]["data"].as_str() {
            Some("second") => json!([caller(&one_uri, 2, &[2, 0]), caller(&one_uri, 0, &[1])]),
            _ => json!([caller(&one_uri, 2, &[1, 2])]),
        };
        let fake = preparing(items.clone()).answer_with(INCOMING, calls).launcher();
        let yard = one(site, fake.clone()).await;
        let found = at(&yard, "incomingCalls", 0, 0).await.whole();
        let expected = json!([
            {"from": shown(&uri, 0), "fromRanges": [range(1)], "preview": "beta"},
            {"from": shown(&uri, 2), "fromRanges": [range(0), range(1), range(2)], "preview": "alpha"},
        ]);
        assert_eq!(found, expected);
        let sent: Vec<Value> =
            fake.record().params(INCOMING).into_iter().map(|params| params["item"].clone()).collect();
        assert_eq!(json!(sent), items);
        let prepared = at(&yard, "prepareCallHierarchy", 0, 0).await.whole();
        assert_eq!(prepared, json!([shown(&uri, 0), shown(&uri, 1)]));
    });
}

#[test]
fn callers_that_a_server_leaves_out_are_taken_from_its_references() {
    paused(|| async {
        let main = "package a\nfunc main() {\n\thelp(1)\n}\n";
        let other = "package b\nvar at = help\nfunc main() { help(2); help(3) }\nfunc other() { help(4) }\n";
        let site = Site::new(&[("lib.go", "package lib\nfunc help(n int) {}\n"), ("a.go", main), ("b.go", other)]);
        let place = |file: &str, line: u32, at: u32| {
            let start = json!({"line": line, "character": at});
            let end = json!({"line": line, "character": at + 4});
            json!({"uri": site.uri(file), "range": {"start": start, "end": end}})
        };
        let item = |name: &str, file: &str, line: u32, at: u32| {
            let range = place(file, line, at)["range"].clone();
            json!({"name": name, "kind": 12, "uri": site.uri(file), "range": range, "selectionRange": range})
        };
        let listed = json!([
            {"from": item("main", "a.go", 1, 5), "fromRanges": [place("a.go", 2, 1)["range"]]},
            {"from": item("main", "lib.go", 1, 5), "fromRanges": []},
        ]);
        let uses = json!([
            place("a.go", 2, 1),
            place("b.go", 1, 9),
            place("b.go", 2, 14),
            place("b.go", 2, 23),
            place("b.go", 3, 15)
        ]);
        let fake = FakeServer::new()
            .capabilities(json!({"callHierarchyProvider": true, "referencesProvider": true, "textDocumentSync": 1}))
            .answer(PREPARE, json!([item("help", "lib.go", 1, 5)]))
            .answer(INCOMING, listed.clone())
            .answer("textDocument/references", uses)
            .launcher();
        let callers = |found: &Value| {
            let list = found.as_array().unwrap().iter();
            list.map(|call| (call["from"].clone(), call["fromRanges"].as_array().unwrap().len())).collect::<Vec<_>>()
        };
        let expected = vec![(item("main", "a.go", 1, 5), 1), (item("main", "b.go", 2, 5), 2)];
        let asked = json!({"operation": "incomingCalls", "filePath": "lib.go", "line": 2, "character": 6});
        let plan = Plan::new(site);
        let entry = Entry::new("fake", fake).of("go").entry("quirks.callers_by_references = \"same-name\"");
        let yard = plan.kind(entry).open().await;
        assert_eq!(callers(&lsp(&yard, asked).await.whole()), expected);
    });
}

#[test]
fn code_of_a_component_in_no_function_is_a_caller() {
    paused(|| async {
        let page = "x\nalpha(1); alpha\nfunction f() { alpha(2) }\n{{ alpha<T>(3) }}\n";
        let site = Site::new(&[("a.fake", "alpha\nalpha(9)\n"), ("page.other", page)]);
        let place = |file: &str, line: u32, at: u32| {
            let start = json!({"line": line, "character": at});
            let end = json!({"line": line, "character": at + 5});
            json!({"uri": site.uri(file), "range": {"start": start, "end": end}})
        };
        let own = function(&site.uri("a.fake"), 0, json!(1));
        let in_page = function(&site.uri("page.other"), 2, json!(2));
        let uses = [
            ("a.fake", 1, 0),
            ("page.other", 1, 0),
            ("page.other", 1, 10),
            ("page.other", 2, 15),
            ("page.other", 3, 3),
        ];
        let listed = json!([{"from": in_page, "fromRanges": [place("page.other", 2, 15)["range"]]}]);
        let fake = preparing(json!([own])).answer(INCOMING, json!([])).launcher();
        let companion = FakeServer::new()
            .capabilities(json!({"callHierarchyProvider": true, "referencesProvider": true, "textDocumentSync": 1}))
            .answer(PREPARE, json!([own]))
            .answer(INCOMING, listed)
            .answer("textDocument/references", json!(uses.map(|(file, line, at)| place(file, line, at))))
            .launcher();
        let entry = "uses = { languages = [\"fake\"], answers = true }\nquirks.callers_by_references = \"top-level\"";
        let ranges = |places: &[(u32, u32)]| {
            json!(places.iter().map(|(line, at)| place("page.other", *line, *at)["range"].clone()).collect::<Vec<_>>())
        };
        let top = ranges(&[(1, 0), (3, 3)]);
        let inner = ranges(&[(2, 15)]);
        let plan = Plan::new(site).kind(Entry::new("fake", fake));
        let yard = plan.kind(Entry::new("pages", companion).other().entry(entry)).open().await;
        let found = at(&yard, "incomingCalls", 0, 0).await.whole();
        let calls: Vec<_> =
            found.as_array().unwrap().iter().map(|call| (&call["from"]["name"], &call["fromRanges"])).collect();
        // The file of the other server is its own.
        assert_eq!(calls, [(&json!("page.other"), &top), (&in_page["name"], &inner)]);
        let item = &found[0]["from"];
        assert_eq!(
            (&item["kind"], &item["range"]["end"]["line"], &item["selectionRange"]["end"]["line"]),
            (&json!(2), &json!(4), &json!(0))
        );
    });
}

#[test]
fn a_prepared_item_is_returned_with_all_its_server_data() {
    paused(|| async {
        let site = Site::usual();
        let item = function(&site.uri("a.fake"), 0, json!({"z": 1, "a": 2.5e3, "n": {"y": [], "b": "\u{7f}é"}}));
        let fake = preparing(json!([item.clone()])).launcher();
        let yard = one(site, fake.clone()).await;
        at(&yard, "outgoingCalls", 0, 0).await.nothing("outgoingCalls");
        let sent = fake.record().params(OUTGOING);
        assert_eq!((sent[0]["item"].to_string(), sent.len()), (item.to_string(), 1));
    });
}

#[test]
fn calls_of_both_servers_are_merged() {
    paused(|| async {
        let site = Site::usual();
        let uri = site.uri("a.fake");
        let calling = |lines: &[u32]| {
            let calls: Vec<Value> = lines
                .iter()
                .map(|line| json!({"to": function(&uri, *line, json!(null)), "fromRanges": [range(*line)]}))
                .collect();
            preparing(json!([function(&uri, 0, json!(lines))])).answer(OUTGOING, json!(calls)).launcher()
        };
        let primary = calling(&[2, 1]);
        let linter = calling(&[1, 0]);
        let plan =
            Plan::new(site).kind(Entry::new("fake", primary.clone())).kind(Entry::new("lint", linter.clone()).linter());
        let yard = plan.open().await;
        let found = at(&yard, "outgoingCalls", 0, 0).await.whole();
        let lines: Vec<&Value> =
            found.as_array().unwrap().iter().map(|call| &call["to"]["range"]["start"]["line"]).collect();
        assert_eq!(lines, [0, 1, 2]);
        for (fake, own) in [(primary, json!([2, 1])), (linter, json!([1, 0]))] {
            let sent = fake.record().params(OUTGOING);
            assert!(sent.iter().all(|params| params["item"]["data"] == own), "each gets its own functions only");
        }
    });
}

#[test]
fn without_a_prepared_function_no_calls_are_requested() {
    for nothing in [json!([]), json!(null)] {
        paused(|| async move {
            let fake = preparing(nothing).launcher();
            let yard = one(Site::usual(), fake.clone()).await;
            at(&yard, "incomingCalls", 0, 0).await.nothing("incomingCalls");
            assert_eq!((fake.record().count(PREPARE), fake.record().count(INCOMING)), (1, 0));
        });
    }
}

#[test]
fn functions_above_the_cap_are_an_error() {
    for (count, fits) in [(MAX_CALL_ITEMS, true), (MAX_CALL_ITEMS + 1, false)] {
        paused(|| async move {
            let site = Site::usual();
            let items: Vec<Value> = (0..count).map(|n| function(&site.uri("a.fake"), 0, json!(n))).collect();
            let fake = preparing(json!(items)).launcher();
            let yard = one(site, fake.clone()).await;
            let answer = at(&yard, "incomingCalls", 0, 0).await;
            if fits {
                answer.nothing("incomingCalls");
                assert_eq!(fake.record().count(INCOMING), count);
            } else {
                assert_eq!(answer.failed("CAP_EXCEEDED", "too_many_functions")["limit"], MAX_CALL_ITEMS);
                assert_eq!(fake.record().count(INCOMING), 0);
            }
        });
    }
}

#[test]
fn functions_outside_the_roots_are_dropped_but_their_calls_inside_are_kept() {
    paused(|| async {
        let site = Site::usual();
        let uri = site.uri("a.fake");
        let inside = json!({"from": function(&uri, 1, json!(null)), "fromRanges": [range(1)]});
        let outside = json!({"from": function("file:///etc/passwd", 1, json!(null)), "fromRanges": [range(1)]});
        let fake = preparing(json!([function("file:///usr/lib/x.fake", 9, json!("lib"))]))
            .answer(INCOMING, json!([outside, inside]))
            .launcher();
        let yard = one(site, fake).await;
        let prepared = at(&yard, "prepareCallHierarchy", 0, 0).await;
        prepared.nothing("prepareCallHierarchy");
        assert_eq!(prepared.metadata()["outside"], 1);
        let answer = at(&yard, "incomingCalls", 0, 0).await;
        assert_eq!(answer.found(), json!([{"from": shown(&uri, 1), "fromRanges": [range(1)], "preview": "beta"}]));
        assert_eq!(answer.metadata()["outside"], 1);
        for answer in [prepared, answer] {
            let text = String::from_utf8_lossy(answer.bytes()).into_owned();
            assert!(!text.contains("passwd") && !text.contains("/usr/lib"), "{text}");
        }
    });
}

/// The columns `from..to` of a line.
fn columns(line: u32, from: u32, to: u32) -> Value {
    json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}})
}

#[test]
fn columns_use_the_callers_file_in_every_position_encoding() {
    // `mine` begins at 3 in UTF-16 and at 7 in UTF-8; `yours` at 5 in UTF-16, and at 8 in UTF-8.
    let here = "𝒳é mine\n";
    let there = "ünüé yours\n";
    let at_mine = |line: u32| columns(line, 7, 11);
    for operation in ["incomingCalls", "outgoingCalls"] {
        paused(|| async move {
            let site = Site::new(&[("a.fake", here), ("b.fake", there)]);
            let function = |uri: &str, range: Value| json!({"name": "f", "kind": 12, "uri": uri, "range": range, "selectionRange": range, "data": {"c": 7}});
            let own = function(&site.uri("a.fake"), at_mine(0));
            let other = function(&site.uri("b.fake"), columns(0, 8, 13));
            let fake = FakeServer::new()
                .capabilities(
                    json!({"callHierarchyProvider": true, "textDocumentSync": 1, "positionEncoding": "utf-8"}),
                )
                .answer(PREPARE, json!([own]))
                .answer(INCOMING, json!([{"from": other, "fromRanges": [columns(0, 8, 13)]}]))
                .answer(OUTGOING, json!([{"to": other, "fromRanges": [at_mine(0)]}]))
                .launcher();
            let yard = one(site, fake.clone()).await;
            let found = at(&yard, operation, 0, 4).await.whole();
            let (member, method, calls) = match operation {
                "incomingCalls" => ("from", INCOMING, columns(0, 5, 10)),
                _ => ("to", OUTGOING, columns(0, 4, 8)),
            };
            assert_eq!(found[0]["fromRanges"], json!([calls]), "{operation}");
            assert_eq!(found[0][member]["range"], columns(0, 5, 10));
            assert_eq!(fake.record().params(PREPARE)[0]["position"], json!({"line": 0, "character": 7}));
            assert_eq!(fake.record().params(method)[0]["item"], own, "the server's own columns");
            let prepared = at(&yard, "prepareCallHierarchy", 0, 4).await.whole();
            assert_eq!(prepared[0]["range"], columns(0, 4, 8));
        });
    }
}

#[test]
fn calls_of_a_function_in_another_file_use_that_files_columns() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "𝒳é mine\n"), ("b.fake", "ünüé yours\n")]);
        let function = |uri: &str, range: Value| json!({"name": "f", "kind": 12, "uri": uri, "range": range, "selectionRange": range});
        // The function whose name is in `a.fake` is defined in `b.fake`, where it calls one of `a.fake`.
        let prepared = function(&site.uri("b.fake"), columns(0, 8, 13));
        let callee = function(&site.uri("a.fake"), columns(0, 7, 11));
        let fake = FakeServer::new()
            .capabilities(json!({"callHierarchyProvider": true, "textDocumentSync": 1, "positionEncoding": "utf-8"}))
            .answer(PREPARE, json!([prepared]))
            .answer(OUTGOING, json!([{"to": callee, "fromRanges": [columns(0, 8, 13)]}]))
            .launcher();
        let yard = one(site, fake).await;
        let found = at(&yard, "outgoingCalls", 0, 4).await.whole();
        assert_eq!(found[0]["fromRanges"], json!([columns(0, 5, 10)]));
        assert_eq!((&found[0]["to"]["range"], found.as_array().unwrap().len()), (&columns(0, 4, 8), 1));
    });
}

#[test]
fn a_crash_between_the_steps_repeats_both_and_reuses_no_item_of_the_dead_process() {
    paused(|| async {
        let site = Site::usual();
        let uri = site.uri("a.fake");
        let of_life = |life: u32| preparing(json!([function(&uri, 0, json!(life)), function(&uri, 1, json!(life))]));
        let found = json!([{"from": function(&uri, 2, json!(null)), "fromRanges": []}]);
        let dies = of_life(1).on_nth(INCOMING, 1, [reply(found.clone())]).on(INCOMING, [exit(3)]);
        let fake = FakeLauncher::sequence([dies, of_life(2).answer(INCOMING, found)]);
        let yard = one(site, fake.clone()).await;
        let found = at(&yard, "incomingCalls", 0, 0).await.whole();
        assert_eq!(found, json!([{"from": shown(&uri, 2), "fromRanges": []}]));
        assert_eq!((fake.launches(), fake.record().count(PREPARE)), (2, 2));
        let asked = fake.record().all().into_iter().filter(|seen| seen.method == INCOMING);
        let lives: Vec<(usize, u64)> =
            asked.map(|seen| (seen.launch + 1, seen.params["item"]["data"].as_u64().unwrap())).collect();
        assert_eq!(lives, [(1, 1), (1, 1), (2, 2), (2, 2)]);
    });
}

#[test]
fn a_server_that_crashes_on_every_attempt_is_reported() {
    paused(|| async {
        let site = Site::usual();
        let fake = preparing(json!([function(&site.uri("a.fake"), 0, json!(1))])).on(INCOMING, [exit(3)]).launcher();
        let yard = one(site, fake.clone()).await;
        at(&yard, "incomingCalls", 0, 0).await.failed("PROVIDER_UNAVAILABLE", "crashed");
        assert!(fake.launches() <= 3, "{}", fake.launches());
    });
}

#[test]
fn an_error_for_one_function_fails_the_whole_server() {
    paused(|| async {
        let site = Site::usual();
        let uri = site.uri("a.fake");
        let items = json!([function(&uri, 0, json!("good")), function(&uri, 1, json!("bad"))]);
        let good = json!([{"to": function(&uri, 2, json!(null)), "fromRanges": []}]);
        let fake = preparing(items).on(OUTGOING, [fail(-32603, "no")]).on_nth(OUTGOING, 1, [reply(good)]).launcher();
        let yard = one(site, fake).await;
        at(&yard, "outgoingCalls", 0, 0).await.failed("PROVIDER_UNAVAILABLE", "server_error");
    });
}

#[test]
fn a_disconnected_caller_cancels_all_requests() {
    paused(|| async {
        let site = Site::usual();
        let items: Vec<Value> = (0..3).map(|n| function(&site.uri("a.fake"), 0, json!(n))).collect();
        let slow = || [until_cancelled(), fail(-32800, "cancelled")];
        let fake = preparing(json!(items)).on(INCOMING, slow()).on_nth(PREPARE, 2, slow()).launcher();
        let yard = one(site, fake.clone()).await;
        let call = tokio::spawn(at(&yard, "incomingCalls", 0, 0));
        fake.wait_for(INCOMING, 3).await;
        call.abort();
        fake.wait_for("$/cancelRequest", 3).await;
        assert_eq!(fake.record().cancelled(), [INCOMING; 3]);
        let call = tokio::spawn(at(&yard, "outgoingCalls", 0, 1));
        fake.wait_for(PREPARE, 2).await;
        call.abort();
        fake.wait_for("$/cancelRequest", 4).await;
        assert_eq!(fake.record().cancelled()[3], PREPARE);
    });
}

#[test]
fn the_deadline_cancels_all_requests() {
    paused(|| async {
        let site = Site::usual();
        let items: Vec<Value> = (0..2).map(|n| function(&site.uri("a.fake"), 0, json!(n))).collect();
        let fake = preparing(json!(items)).on(OUTGOING, [until_cancelled(), fail(-32800, "cancelled")]).launcher();
        let yard = one(site, fake.clone()).await;
        at(&yard, "outgoingCalls", 0, 0).await.timed_out("answering");
        fake.wait_for("$/cancelRequest", 2).await;
        assert_eq!(fake.record().cancelled(), [OUTGOING; 2]);
    });
}
