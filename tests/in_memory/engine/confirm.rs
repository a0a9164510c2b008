//! `confirm: true` of the catalog `code` with fake language servers: which servers are queried, how unconfirmed rows are reported, and
//! that server failures never remove rows. Indexes are built in real time; then time is paused.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use codeyard_gateway::service::{ToolCall, progress_channel};
use codeyard_state::{INDEX_FOLDER, StateDir};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::engine::code::git;
use crate::engine::harness::*;
use crate::fake_server::*;

const SYMBOLS: &str = "textDocument/documentSymbol";
/// Milliseconds before the two-second deadline at which the answer is sent as it is.
const IN_TIME_MS: u64 = 2_000 - codeyard_engine::limits::LATE_SERVER_MS;

fn tool_call(yard: &Yard, tool: &str, arguments: Value) -> ToolCall {
    let mut call = yard.tool_call("w0", tool, arguments);
    call.endpoint.catalogs = Arc::from(["code".to_owned()]);
    call
}

fn start(yard: &Yard, tool: &str, arguments: Value) -> BoxFuture<'static, Called> {
    yard.run(tool_call(yard, tool, arguments))
}

async fn ask(yard: &Yard, tool: &str, arguments: Value) -> Value {
    start(yard, tool, arguments).await.ok()
}

fn located(name: &str, confirm: bool) -> Value {
    json!({"name": name, "detail_level": "context", "confirm": confirm})
}

/// Locates a symbol with confirmation.
async fn confirm(yard: &Yard, name: &str) -> Value {
    ask(yard, "locate_symbol", located(name, true)).await
}

/// Rows as `path:line` with the confirming server.
fn rows(payload: &Value) -> Vec<(String, Option<&str>)> {
    let rows = payload["results"].as_array().unwrap_or_else(|| panic!("{payload}"));
    let place = |row: &Value| format!("{}:{}", row["path"].as_str().unwrap(), row["line_start"]);
    rows.iter().map(|row| (place(row), row["confirmed_by"].as_str())).collect()
}

fn warnings(payload: &Value) -> Vec<&str> {
    let warnings = payload["metadata"]["warnings"].as_array();
    warnings.into_iter().flatten().map(|warning| warning.as_str().unwrap()).collect()
}

/// A server that lists the functions of a Python file as they are on disk, nested where they are indented.
fn lister() -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"documentSymbolProvider": true, "textDocumentSync": 1}))
        .answer_with(SYMBOLS, |params, _| listed(&text_of(params)))
}

fn text_of(params: &Value) -> String {
    let uri = params["textDocument"]["uri"].as_str().unwrap();
    std::fs::read_to_string(uri.strip_prefix("file://").unwrap()).unwrap()
}

fn listed(text: &str) -> Value {
    let functions = text.lines().enumerate().filter_map(|(at, line)| {
        let name = line.trim_start().strip_prefix("def ")?.split('(').next()?;
        let from = line.find(name)?;
        let name_at =
            json!({"start": {"line": at, "character": from}, "end": {"line": at, "character": from + name.len()}});
        let whole = json!({"start": {"line": at, "character": 0}, "end": {"line": at, "character": line.len()}});
        Some(json!({"name": name, "kind": 12, "range": whole, "selectionRange": name_at}))
    });
    let mut nested: Vec<Value> = Vec::new();
    for function in functions {
        let is_inner = function["selectionRange"]["start"]["character"].as_u64() > Some(4);
        match nested.last_mut().filter(|_| is_inner) {
            Some(outer) => match outer["children"].as_array_mut() {
                Some(children) => children.push(function),
                None => outer["children"] = json!([function]),
            },
            None => nested.push(function),
        }
    }
    nested.into()
}

fn python(launcher: Arc<FakeLauncher>) -> Entry {
    Entry::new("pyls", launcher).of("python")
}

/// A service with a complete index, on paused time.
async fn opened(plan: Plan) -> Yard {
    let yard = plan.open().await;
    let is_settled = async {
        loop {
            let status = ask(&yard, "index_status", json!({})).await;
            let is_ready = status["index_status"] == "ready" && status["active_job"].is_null();
            if is_ready && status["metadata"]["freshness_status"] == "fresh" {
                return;
            }
            ask(&yard, "locate_symbol", json!({"name": "anything"})).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_settled).await.expect("an index");
    tokio::time::pause();
    yard
}

async fn yard_of(site: Site, launcher: Arc<FakeLauncher>) -> Yard {
    opened(Plan::new(site).kind(python(launcher))).await
}

const TWO: &str = "import os\n\n\ndef alpha():\n    def beta():\n        pass\n\n    return beta\n";

#[test]
fn a_row_names_the_servers_that_list_its_symbol_and_stays_otherwise_equal() {
    in_real_time(|| async {
        let site = Site::new(&[("a.py", TWO), ("lib/b.py", "class beta:\n    pass\n")]);
        let fake = lister().launcher();
        let yard = yard_of(site, fake.clone()).await;
        let before = start(&yard, "locate_symbol", located("beta", false)).await;
        assert_eq!(fake.launches(), 0, "no server is queried without `confirm`");
        assert!(warnings(&before.ok()).is_empty(), "{:?}", before.ok());
        let mut payload = confirm(&yard, "beta").await;
        let expected = [("lib/b.py:1".to_owned(), None), ("a.py:5".to_owned(), Some("pyls"))];
        assert_eq!(rows(&payload).len(), 2, "{payload}");
        assert!(expected.iter().all(|row| rows(&payload).contains(row)), "{payload}");
        assert_eq!(warnings(&payload), ["1 row is unconfirmed: pyls lists no such symbol there."]);
        // The rest of the answer is equal.
        payload["metadata"].as_object_mut().unwrap().remove("warnings");
        for row in payload["results"].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("confirmed_by");
        }
        assert_eq!(payload, before.ok());
        let after = start(&yard, "locate_symbol", located("beta", false)).await;
        assert_eq!(after.bytes(), before.bytes());
        let search =
            json!({"query": "alpha", "mode": "symbol", "detail_level": "context", "compact": true, "confirm": true});
        let payload = ask(&yard, "search_code", search).await;
        assert_eq!(rows(&payload)[0], ("a.py:4".to_owned(), Some("pyls")));
        assert_eq!(fake.record().count(SYMBOLS), 2, "once per file until it changes");
    });
}

/// Files that all declare one name.
fn same_in(files: &[&str]) -> Site {
    let site = Site::new(&[]);
    for (at, path) in files.iter().enumerate() {
        // Symbols with equal content would be shown once.
        site.write(path, &format!("def same():\n    return {at}\n"));
    }
    site
}

#[test]
fn the_first_symbols_are_confirmed_and_the_others_counted() {
    in_real_time(|| async {
        let site = same_in(&["a.py", "b.py", "c.py", "d.py", "e.py", "f.py", "g.py"]);
        let fake = lister().launcher();
        let yard = yard_of(site, fake.clone()).await;
        let payload = confirm(&yard, "same").await;
        let confirmed: Vec<bool> = rows(&payload).iter().map(|(_, by)| *by == Some("pyls")).collect();
        assert_eq!(confirmed, [true, true, true, true, true, false, false], "{payload}");
        assert_eq!(warnings(&payload), ["2 rows are unconfirmed: only the first 5 symbols are asked about."]);
        assert_eq!(fake.record().count(SYMBOLS), 5);
        for (mode, query, kind, count) in [("text", "return", "line", 7), ("auto", "g.py", "file", 1)] {
            let search = json!({"query": query, "mode": mode, "detail_level": "context", "confirm": true});
            let payload = ask(&yard, "search_code", search).await;
            let found = payload["results"].as_array().unwrap().iter().filter(|row| row["result_type"] == kind).count();
            assert_eq!(found, count, "{payload}");
            let why = "unconfirmed: only symbols are asked about, not files, lines and imports.";
            let payload = warnings(&payload);
            assert!(
                payload.len() == 1 && payload[0].starts_with(&count.to_string()) && payload[0].ends_with(why),
                "{payload:?}"
            );
        }
        assert_eq!(fake.record().count(SYMBOLS), 5, "no server is queried about them");
    });
}

#[test]
fn an_unanswered_file_loses_only_its_own_confirmation() {
    in_real_time(|| async {
        let fake = lister().on_nth(SYMBOLS, 1, [until_cancelled(), fail(-32800, "cancelled")]).launcher();
        let yard = yard_of(same_in(&["a.py", "b.py"]), fake.clone()).await;
        let called = start(&yard, "locate_symbol", located("same", true)).await;
        called.took_about(IN_TIME_MS);
        let payload = called.ok();
        let never = fake.record().params(SYMBOLS)[0]["textDocument"]["uri"].as_str().unwrap().to_owned();
        let expected: Vec<(String, Option<&str>)> =
            ["a.py", "b.py"].map(|path| (format!("{path}:1"), (!never.ends_with(path)).then_some("pyls"))).into();
        assert_eq!(rows(&payload), expected);
        let why = "1 row is unconfirmed: the language server for python did not answer in time; ask again.";
        assert_eq!(warnings(&payload), [why]);
        fake.wait_for("$/cancelRequest", 1).await;
        assert_eq!(fake.record().cancelled(), [SYMBOLS]);
    });
}

#[test]
fn a_late_server_loses_only_the_confirmation() {
    let indexes = lister().on("initialized", [progress_begin("index", "Reading")]);
    let cases = [
        (lister().never("initialize"), "starting", "is still starting"),
        (indexes, "Reading", "is still indexing"),
        (lister().never(SYMBOLS), "answering", "did not answer in time"),
    ];
    for (script, phase, why) in cases {
        in_real_time(|| async move {
            let fake = script.launcher();
            let kind = python(fake.clone()).entry("readiness.progress = [\"index\"]\nreadiness.expect_within_ms = 200");
            let yard = opened(Plan::new(Site::new(&[("a.py", TWO)])).kind(kind)).await;
            let (progress, mut feed) = progress_channel();
            let mut call = tool_call(&yard, "locate_symbol", located("alpha", true));
            call.progress = Some(progress.clone());
            let called = yard.run(call).await;
            assert_eq!(feed.take().and_then(|payload| payload.message).as_deref(), Some(phase));
            assert_eq!(rows(&called.ok()), [("a.py:4".to_owned(), None)], "{why}");
            let why = format!("1 row is unconfirmed: the language server for python {why}; ask again.");
            assert_eq!(warnings(&called.ok()), [why]);
            called.took_about(IN_TIME_MS);
            assert_eq!(fake.launches(), 1, "it is started");
        });
    }
}

#[test]
fn a_start_within_the_deadline_is_awaited() {
    in_real_time(|| async {
        let capabilities = json!({"capabilities": {"documentSymbolProvider": true, "textDocumentSync": 1}});
        let fake = lister().on("initialize", [wait_ms(1_000), reply(capabilities)]).launcher();
        let yard = yard_of(same_in(&["a.py"]), fake).await;
        let called = start(&yard, "locate_symbol", located("same", true)).await;
        called.took_about(1_000);
        assert_eq!(rows(&called.ok()), [("a.py:1".to_owned(), Some("pyls"))]);
        assert_eq!(warnings(&called.ok()), [""; 0]);
    });
}

#[test]
fn a_disconnected_client_cancels_all_server_requests() {
    in_real_time(|| async {
        let fake = lister().never(SYMBOLS).launcher();
        let yard = yard_of(same_in(&["a.py", "b.py", "c.py"]), fake.clone()).await;
        let call = tokio::spawn(start(&yard, "locate_symbol", located("same", true)));
        fake.wait_for(SYMBOLS, 3).await;
        let began = Instant::now();
        call.abort();
        fake.wait_for("$/cancelRequest", 3).await;
        near(began.elapsed(), 0);
        assert_eq!(fake.record().cancelled(), [SYMBOLS; 3]);
        settle().await;
        assert_eq!(yard.health().await[0].servers[0].pending, 0, "no request is left");
    });
}

#[test]
fn a_missing_or_failing_server_is_reported_with_a_reason_and_a_command() {
    let crashes = lister().on(SYMBOLS, [exit(1)]);
    let refuses = lister().on(SYMBOLS, [fail(-32603, "no")]);
    let incapable = FakeServer::new().capabilities(json!({"textDocumentSync": 1}));
    let cases = [
        (python(lister().launcher()).missing(), "not installed; run `codeyard servers install"),
        (python(crashes.launcher()), "the language server ended while it was answering; run `codeyard"),
        (python(refuses.launcher()), "the language server answered with an error; run `codeyard"),
        (python(incapable.launcher()), "doesn't offer this operation; run `codeyard servers list`."),
    ];
    for (kind, why) in cases {
        in_real_time(|| async move {
            // A linter doesn't confirm rows.
            let linter = Entry::new("lint", lister().launcher()).of("python").linter();
            let yard = opened(Plan::new(Site::new(&[("a.py", TWO)])).kind(kind).kind(linter)).await;
            let payload = confirm(&yard, "alpha").await;
            assert_eq!(rows(&payload), [("a.py:4".to_owned(), None)]);
            let payload = warnings(&payload);
            let head = "1 row is unconfirmed: no language server answers for python: ";
            assert!(payload.len() == 1 && payload[0].starts_with(head) && payload[0].contains(why), "{payload:?}");
        });
    }
}

#[test]
fn a_long_file_is_confirmed_up_to_a_reported_limit() {
    in_real_time(|| async {
        let functions = |count: usize| (0..count).map(|at| format!("def f{at}(): pass\n")).collect::<String>();
        let most = codeyard_model::limits::MAX_RAW_ITEMS;
        let site = Site::new(&[]);
        site.write("long.py", &(functions(3_000) + "def last_of_many(): pass\n"));
        site.write("longer.py", &(functions(most) + "def one_too_many(): pass\n"));
        let yard = yard_of(site, lister().launcher()).await;
        let payload = confirm(&yard, "last_of_many").await;
        assert_eq!((rows(&payload), warnings(&payload)), (vec![("long.py:3001".to_owned(), Some("pyls"))], vec![]));
        let payload = confirm(&yard, "one_too_many").await;
        assert_eq!(rows(&payload), [(format!("longer.py:{}", most + 1), None)]);
        let why = "1 row is unconfirmed: the language server for python lists more symbols than are looked at.";
        assert_eq!(warnings(&payload), [why]);
    });
}

#[test]
fn rows_are_confirmed_in_their_own_root() {
    in_real_time(|| async {
        let first = same_in(&["a.py"]);
        let second = Site::new(&[("a.py", "\n\ndef same():\n    return 2\n")]);
        for (at, site) in [&first, &second].into_iter().enumerate() {
            site.write("b.py", &format!("def other():\n    return {at}\n"));
        }
        let root = second.root.clone();
        let fake = lister().launcher();
        let plan = Plan::new(first).kind(python(fake.clone()));
        let yard = opened(plan.tune(move |config| config.workspaces[0].roots.push(root))).await;
        // Starts both servers: a server that becomes ready moves the epochs, and the other one's question would be asked again.
        assert_eq!(rows(&confirm(&yard, "other").await).len(), 2);
        let asked = || -> Vec<_> {
            let all = fake.record().all().into_iter().filter(|seen| seen.method == SYMBOLS);
            all.map(|seen| (seen.launch, seen.params["textDocument"]["uri"].to_string())).collect()
        };
        let before = asked().len();
        let payload = confirm(&yard, "same").await;
        let expected = [("a.py:1".to_owned(), Some("pyls")), ("a.py:3".to_owned(), Some("pyls"))];
        assert_eq!((rows(&payload), warnings(&payload)), (expected.to_vec(), vec![]));
        let asked = asked().split_off(before);
        let is_by_own = asked.len() == 2 && asked[0].0 != asked[1].0 && asked[0].1 != asked[1].1;
        assert!(is_by_own, "each file by its own server, once: {asked:?}");
        drop(second);
    });
}

#[test]
fn rows_of_another_ref_are_not_confirmed() {
    in_real_time(|| async {
        let site = same_in(&["a.py"]);
        for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "one"], &["tag", "v1"]] {
            git(&site, arguments);
        }
        let fake = lister().launcher();
        let yard = yard_of(site, fake.clone()).await;
        tokio::time::resume();
        let at =
            |reference: &str| json!({"name": "same", "detail_level": "context", "confirm": true, "ref": reference});
        let indexed = async {
            loop {
                let payload = ask(&yard, "locate_symbol", at("v1")).await;
                if payload["error"].is_null() {
                    return payload;
                }
                ask(&yard, "index_repo", json!({"ref": "v1"})).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let payload = tokio::time::timeout(Duration::from_secs(60), indexed).await.expect("an index");
        assert_eq!(rows(&payload), [("a.py:1".to_owned(), None)]);
        let why = "1 row is unconfirmed: language servers know the working tree only; ask without `ref`.";
        assert_eq!(warnings(&payload), [why]);
        assert_eq!(fake.launches(), 0);
        let payload = ask(&yard, "locate_symbol", at("live")).await;
        assert_eq!(rows(&payload), [("a.py:1".to_owned(), Some("pyls"))], "that is the working tree");
    });
}

/// Blocks all index jobs until it is dropped.
fn hold_writers(yard: &Yard) -> Vec<File> {
    let indexes = StateDir::open(&yard.site().base().join("state")).unwrap().path().join(INDEX_FOLDER);
    let hold = |folder: std::fs::DirEntry| {
        let lock = File::options().write(true).create(true).truncate(false).open(folder.path().join("writer.lock"));
        let lock = lock.unwrap();
        lock.lock().unwrap();
        lock
    };
    std::fs::read_dir(indexes).unwrap().map(|folder| hold(folder.unwrap())).collect()
}

#[test]
fn a_row_of_a_stale_index_is_confirmed_if_it_is_still_valid() {
    in_real_time(|| async {
        let fake = lister().launcher();
        let yard = yard_of(same_in(&["a.py", "b.py", "c.py"]), fake.clone()).await;
        assert!(rows(&confirm(&yard, "same").await).iter().all(|(_, by)| by.is_some()));
        let held = hold_writers(&yard);
        yard.site().write("a.py", "import os\n\n\ndef same():\n    return 0\n");
        yard.site().write("b.py", "def same():\n    return 'otherwise'\n");
        yard.site().remove("c.py");
        let payload = confirm(&yard, "same").await;
        assert_ne!(payload["metadata"]["freshness_status"], "fresh");
        let expected = [("a.py", None), ("b.py", Some("pyls")), ("c.py", None)];
        assert_eq!(rows(&payload), expected.map(|(path, by)| (format!("{path}:1"), by)), "{payload}");
        let whys = ["pyls lists no such symbol there", "the file is not there any more"];
        let warnings = warnings(&payload);
        let (moved, unconfirmed) = warnings.split_last().unwrap();
        assert_eq!(unconfirmed, whys.map(|why| format!("1 row is unconfirmed: {why}.")));
        assert!(moved.starts_with("Changed since the last job: a.py, b.py, c.py."), "{moved}");
        drop(held);
    });
}
