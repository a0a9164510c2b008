//! The catalog `code` through gateway and engine, on real trees and in real time, because index work runs on threads.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codeyard_base::ids::TenantId;
use codeyard_gateway::service::{ShedBy, ToolCall, ToolReply};
use codeyard_state::{INDEX_FOLDER, StateDir, WarmWorkspace, Warmset};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::engine::harness::*;

/// A timeout that only a hang exceeds.
const PATIENCE: Duration = Duration::from_secs(60);

fn tool_call(yard: &Yard, workspace: &str, tool: &str, arguments: Value) -> ToolCall {
    let mut call = yard.tool_call(workspace, tool, arguments);
    call.endpoint.catalogs = Arc::from(["code".to_owned()]);
    call
}

pub(crate) fn start(yard: &Yard, workspace: &str, tool: &str, arguments: Value) -> BoxFuture<'static, Called> {
    yard.run(tool_call(yard, workspace, tool, arguments))
}

/// Payload of a call to the first workspace, also of a refused call.
pub(crate) async fn ask(yard: &Yard, tool: &str, arguments: Value) -> Value {
    start(yard, "w0", tool, arguments).await.ok()
}

/// Repeats the query until `done` accepts its payload.
pub(crate) async fn until(yard: &Yard, tool: &str, arguments: Value, done: impl Fn(&Value) -> bool) -> Value {
    let query = async {
        loop {
            let answer = ask(yard, tool, arguments.clone()).await;
            if done(&answer) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    match tokio::time::timeout(PATIENCE, query).await {
        Ok(answer) => answer,
        Err(_) => panic!("never: {}", ask(yard, tool, arguments).await),
    }
}

/// Waits until the index is fresh and idle.
pub(crate) async fn settled(yard: &Yard) -> Value {
    let is_idle = |answer: &Value| {
        answer["active_job"].is_null()
            && answer["index_status"] == "ready"
            && answer["metadata"]["freshness_status"] == "fresh"
    };
    until(yard, "index_status", json!({}), is_idle).await
}

fn text(query: &str) -> Value {
    json!({"query": query, "mode": "text"})
}

/// Rows as `path:line`.
fn rows(answer: &Value) -> Vec<String> {
    let rows = answer["results"].as_array().unwrap_or_else(|| panic!("{answer}"));
    rows.iter().map(|row| format!("{}:{}", row["path"].as_str().unwrap(), row["line_start"])).collect()
}

/// Runs `git` in the root of `site`.
pub(crate) fn git(site: &Site, arguments: &[&str]) {
    codeyard_test_support::git::git(&site.root, arguments);
}

fn site() -> Site {
    Site::new(&[("src/a.rs", "fn alpha() {}\nfn beta() {}\n"), ("notes.txt", "alpha and beta\n")])
}

fn indexes(yard: &Yard) -> PathBuf {
    StateDir::open(&yard.site().base().join("state")).unwrap().path().join(INDEX_FOLDER)
}

/// Blocks all index jobs of the first workspace until it is dropped.
fn hold_writers(yard: &Yard) -> Vec<File> {
    let folders = std::fs::read_dir(indexes(yard)).unwrap();
    let hold = |folder: std::fs::DirEntry| {
        let lock = File::options().write(true).create(true).truncate(false).open(folder.path().join("writer.lock"));
        let lock = lock.unwrap();
        lock.lock().unwrap();
        lock
    };
    folders.map(|folder| hold(folder.unwrap())).collect()
}

#[test]
fn the_first_query_builds_the_index_and_later_ones_see_every_edit() {
    in_real_time(|| async {
        let yard = Plan::new(site()).open().await;
        let answer =
            until(&yard, "search_code", text("alpha"), |answer| answer["metadata"]["indexing_status"] == "ready").await;
        assert_eq!(rows(&answer), ["notes.txt:1", "src/a.rs:1"]);
        assert_eq!(answer["metadata"]["result_completeness"], "complete");
        settled(&yard).await;
        yard.site().write("src/a.rs", "fn gamma() {}\nfn alphabet() {}\n");
        yard.site().write("src/new.rs", "fn alpha_new() {}\n");
        yard.site().remove("notes.txt");
        let answer = ask(&yard, "search_code", text("alpha")).await;
        assert_eq!(rows(&answer), ["src/a.rs:2", "src/new.rs:1"], "at once");
        let status = settled(&yard).await;
        assert_eq!(status["file_count"], 2);
        assert_eq!(status["recent_jobs"][0]["mode"], "incremental");
        let outline = ask(&yard, "get_file_outline", json!({"path": "src/new.rs"})).await;
        assert_eq!(outline["symbols"][0]["name"], "alpha_new", "without a question the index catches up");
        let found = ask(&yard, "locate_symbol", json!({"name": "gamma"})).await;
        assert_eq!(rows(&found)[0], "src/a.rs:1");
        let found = ask(&yard, "locate_symbol", json!({"name": "beta"})).await;
        assert!(!rows(&found).contains(&"src/a.rs:2".to_owned()), "it is gone: {found}");
        let gone = ask(&yard, "get_file_outline", json!({"path": "notes.txt"})).await;
        assert_eq!(gone["error"]["code"], "file_not_found");
    });
}

#[test]
fn a_removed_index_is_rebuilt() {
    in_real_time(|| async {
        let yard = Plan::new(site()).open().await;
        ask(&yard, "search_code", text("alpha")).await;
        settled(&yard).await;
        std::fs::remove_dir_all(indexes(&yard)).unwrap();
        let answer = until(&yard, "search_code", text("beta"), |answer| !rows(answer).is_empty()).await;
        assert_eq!(rows(&answer), ["notes.txt:1", "src/a.rs:2"]);
        settled(&yard).await;
    });
}

#[test]
fn a_checked_out_branch_equals_its_working_tree() {
    in_real_time(|| async {
        let site = site();
        git(&site, &["init", "-q"]);
        git(&site, &["add", "-A"]);
        git(&site, &["commit", "-q", "-m", "one"]);
        let yard = Plan::new(site).open().await;
        let answer =
            until(&yard, "search_code", text("alpha"), |answer| answer["metadata"]["indexing_status"] == "ready").await;
        assert_eq!(answer["metadata"]["ref"], "main");
        settled(&yard).await;
        git(yard.site(), &["checkout", "-q", "-b", "feature"]);
        yard.site().write("src/b.rs", "fn only_there() {}\n");
        git(yard.site(), &["add", "-A"]);
        git(yard.site(), &["commit", "-q", "-m", "two"]);
        settled(&yard).await;
        let answer = ask(&yard, "search_code", text("only_there")).await;
        assert_eq!((rows(&answer), &answer["metadata"]["ref"]), (vec!["src/b.rs:1".to_owned()], &json!("feature")));
        git(yard.site(), &["checkout", "-q", "main"]);
        let answer = ask(&yard, "search_code", text("only_there")).await;
        assert_eq!((rows(&answer), &answer["metadata"]["ref"]), (vec![], &json!("main")));
        let missing = ask(&yard, "search_code", json!({"query": "x", "mode": "text", "ref": "feature"})).await;
        assert_eq!(missing["error"]["code"], "ref_not_indexed");
        let begun = until(&yard, "index_repo", json!({"ref": "feature"}), |answer| answer["job_id"].is_string()).await;
        assert_eq!((&begun["status"], &begun["metadata"]["ref"]), (&json!("queued"), &json!("feature")));
        let at_feature = json!({"query": "only_there", "mode": "text", "ref": "feature"});
        let answer = until(&yard, "search_code", at_feature, |answer| answer["error"].is_null()).await;
        assert_eq!(rows(&answer), ["src/b.rs:1"]);
    });
}

#[test]
fn a_stale_index_refuses_answers_or_catches_up_as_requested() {
    in_real_time(|| async {
        // There is no watcher: only queries bring the index up to date.
        let yard = Plan::new(site()).unwatched().at_once().open().await;
        let query = |text: &str, policy: &str| json!({"query": text, "mode": "text", "freshness_policy": policy});
        let is_ready = |answer: &Value| answer["metadata"]["indexing_status"] == "ready";
        // A query that lets the index catch up may begin its job after the jobs are counted.
        let answer = until(&yard, "search_code", query("alpha", "best_effort"), is_ready).await;
        assert_eq!(answer["metadata"]["freshness_status"], "stale", "the state is unknown");
        let with = |policy: &str| query("alphorn", policy);
        let is_idle = |answer: &Value| answer["active_job"].is_null() && answer["index_status"] == "ready";
        let before = until(&yard, "index_status", json!({}), is_idle).await["recent_jobs"].as_array().unwrap().len();
        yard.site().write("src/horn.rs", "fn alphorn() {}\n");
        for _ in 0..5 {
            let answer = ask(&yard, "search_code", with("best_effort")).await;
            assert_eq!((rows(&answer), &answer["metadata"]["freshness_status"]), (vec![], &json!("stale")));
        }
        let refused = ask(&yard, "search_code", with("strict")).await;
        assert_eq!(refused["error"]["code"], "index_stale");
        assert!(refused["error"]["data"]["suggestion"].as_str().unwrap().contains("sync_repo"));
        let jobs = ask(&yard, "index_status", json!({})).await["recent_jobs"].as_array().unwrap().len();
        assert_eq!(jobs, before, "neither of them begins a job");
        until(&yard, "search_code", with("balanced"), |answer| rows(answer) == ["src/horn.rs:1"]).await;
    });
}

#[test]
fn strict_queries_succeed_once_the_index_is_fresh() {
    in_real_time(|| async {
        let yard = Plan::new(site()).open().await;
        ask(&yard, "search_code", text("alpha")).await;
        settled(&yard).await;
        let held = hold_writers(&yard);
        yard.site().write("src/a.rs", "fn delta() {}\n");
        let strict = json!({"query": "delta", "mode": "text", "freshness_policy": "strict"});
        let refused = ask(&yard, "search_code", strict.clone()).await;
        assert_eq!(refused["error"]["code"], "index_stale");
        assert_ne!(refused["metadata"]["freshness_status"], "fresh");
        drop(held);
        let answer = until(&yard, "search_code", strict, |answer| answer["error"].is_null()).await;
        assert_eq!(rows(&answer), ["src/a.rs:1"]);
    });
}

#[test]
fn several_roots_give_one_answer() {
    in_real_time(|| async {
        let other = Site::new(&[("src/a.rs", "fn alpha() {}\n"), ("z.txt", "alpha\nalpha\n")]);
        let root = site();
        let second = other.root.clone();
        let first = root.root.clone();
        let plan = Plan::new(root).tune({
            let second = second.clone();
            move |config| config.workspaces[0].roots.push(second)
        });
        let yard = plan.open().await;
        let answer = until(&yard, "search_code", text("alpha"), |answer| {
            answer["metadata"]["indexing_status"] == "ready" && answer["total_candidates"] == 5
        })
        .await;
        assert_eq!(rows(&answer), ["notes.txt:1", "src/a.rs:1", "src/a.rs:1", "z.txt:1", "z.txt:2"]);
        let roots: Vec<&str> =
            answer["results"].as_array().unwrap().iter().map(|row| row["root"].as_str().unwrap()).collect();
        let one = first.to_str().unwrap();
        let two = second.to_str().unwrap();
        assert_eq!(roots, [one, one, two, two, two]);
        let mut seen = Vec::new();
        let mut arguments = json!({"query": "alpha", "mode": "text", "limit": 2});
        loop {
            let page = ask(&yard, "search_code", arguments).await;
            assert_eq!(page["total_candidates"], 5);
            seen.extend(rows(&page));
            let Some(next) = page["suggested_next_actions"].get(0) else {
                assert_eq!(page["metadata"]["result_completeness"], "complete");
                break;
            };
            arguments = next["arguments"].clone();
        }
        assert_eq!(seen, rows(&answer), "page by page the same");
        let arguments = json!({"name": "alpha", "ranking_explain_level": "full"});
        let found = until(&yard, "locate_symbol", arguments, |answer| answer["results"][0]["root"] == one).await;
        // Equal content at equal paths would count as a copy; these files differ.
        assert_eq!(rows(&found)[..2], ["src/a.rs:1", "src/a.rs:1"], "{found}");
        assert_eq!((&found["results"][0]["root"], &found["results"][1]["root"]), (&json!(one), &json!(two)));
        let shown = &found["results"];
        let reasons = &found["metadata"]["ranking_reasons"];
        for (at, row) in shown.as_array().unwrap().iter().enumerate() {
            assert_eq!(row["score"], reasons[at]["final_score"]);
        }
        let outline = ask(&yard, "get_file_outline", json!({"path": "src/a.rs"})).await;
        assert_eq!(outline["root"], one, "the first that has it");
        let outline = ask(&yard, "get_file_outline", json!({"path": "z.txt"})).await;
        assert_eq!(outline["root"], two);
        let health = ask(&yard, "health_check", json!({})).await;
        let listed: Vec<&Value> = health["projects"].as_array().unwrap().iter().map(|of| &of["repo_root"]).collect();
        assert_eq!(listed, [one, two]);
        let health = ask(&yard, "health_check", json!({"workspace": format!("{two}/")})).await;
        assert_eq!(
            (health["projects"].as_array().unwrap().len(), &health["projects"][0]["repo_root"]),
            (1, &json!(two))
        );
        assert_eq!(ask(&yard, "index_status", json!({})).await["repo_root"], one);
    });
}

#[test]
fn a_running_job_is_reported_and_the_first_answers_are_partial() {
    in_real_time(|| async {
        let yard = Plan::new(site()).open().await;
        // Opens the index without building it.
        assert_eq!(ask(&yard, "index_status", json!({})).await["index_status"], "not_indexed");
        let held = hold_writers(&yard);
        let answer = ask(&yard, "search_code", text("alpha")).await;
        let metadata = &answer["metadata"];
        assert_eq!((rows(&answer), &metadata["indexing_status"]), (vec![], &json!("indexing")));
        assert_eq!(
            (&metadata["result_completeness"], &metadata["freshness_status"]),
            (&json!("partial"), &json!("syncing"))
        );
        let status = ask(&yard, "index_status", json!({})).await;
        let job = &status["active_job"]["job_id"];
        for tool in ["index_repo", "sync_repo"] {
            let refused = ask(&yard, tool, json!({})).await;
            assert_eq!(refused["error"]["code"], "index_in_progress", "{refused}");
            assert_eq!(&refused["error"]["data"]["job_id"], job);
        }
        let health = ask(&yard, "health_check", json!({})).await;
        assert_eq!((&health["status"], &health["active_job"]["job_id"]), (&json!("indexing"), job));
        drop(held);
        let status = settled(&yard).await;
        assert_eq!(status["recent_jobs"].as_array().unwrap().last().unwrap()["job_id"], *job);
        let held = hold_writers(&yard);
        let begun = ask(&yard, "sync_repo", json!({})).await;
        assert_eq!((&begun["status"], &begun["mode"]), (&json!("queued"), &json!("incremental")));
        let refused = ask(&yard, "index_repo", json!({"force": true})).await;
        assert_eq!(refused["error"]["code"], "sync_in_progress");
        assert_eq!(refused["error"]["data"]["job_id"], begun["job_id"]);
        drop(held);
        settled(&yard).await;
        let health = ask(&yard, "health_check", json!({})).await;
        assert_eq!((&health["status"], &health["active_job"]), (&json!("ready"), &Value::Null));
    });
}

#[test]
fn without_auto_the_index_is_built_only_on_request() {
    in_real_time(|| async {
        let yard = Plan::new(site()).tune(|config| config.index.auto = false).open().await;
        let answer = ask(&yard, "search_code", text("alpha")).await;
        assert_eq!(answer["metadata"]["indexing_status"], "not_indexed");
        assert_eq!(answer["suggested_next_actions"][0]["tool"], "index_repo");
        let refused = ask(&yard, "get_file_outline", json!({"path": "src/a.rs"})).await;
        assert_eq!(refused["error"]["code"], "index_not_ready");
        ask(&yard, "index_repo", json!({})).await["job_id"].as_str().unwrap();
        settled(&yard).await;
        assert_eq!(rows(&ask(&yard, "search_code", text("alpha")).await).len(), 2);
    });
}

#[test]
fn index_settings_apply_and_reload() {
    in_real_time(|| async {
        let tune = |config: &mut codeyard_config::Config| {
            config.query.ranking_explain_level = Some(codeyard_config::Explain::Basic);
            config.query.payload_bytes = 2_000;
        };
        let lines: String = (0..100).map(|n| format!("beta number {n}\n")).collect();
        let mut yard = Plan::new(Site::new(&[("beta.txt", &lines)])).tune(tune).open().await;
        let many = json!({"query": "beta", "mode": "text", "limit": 100});
        let answer =
            until(&yard, "search_code", many.clone(), |answer| answer["metadata"]["indexing_status"] == "ready").await;
        assert_eq!(answer["metadata"]["safety_limit_applied"], "payload_bytes");
        let named = json!({"name": "beta"});
        let answer = ask(&yard, "locate_symbol", named.clone()).await;
        assert!(answer["metadata"]["ranking_reasons"].is_array(), "{answer}");
        yard.reconfigure(|config| {
            config.query.ranking_explain_level = None;
            config.query.payload_bytes = 65_536;
        })
        .await;
        until(&yard, "locate_symbol", named, |answer| answer["metadata"]["ranking_reasons"].is_null()).await;
        let answer = ask(&yard, "search_code", many).await;
        assert_eq!(rows(&answer).len(), 100);
    });
}

#[test]
fn a_drain_ends_the_job_and_stops_all_writes() {
    in_real_time(|| async {
        let yard = Plan::new(site()).open().await;
        ask(&yard, "index_status", json!({})).await;
        let held = hold_writers(&yard);
        let begun = ask(&yard, "index_repo", json!({})).await;
        let asked = tokio::spawn(start(&yard, "w0", "search_code", text("alpha")));
        let folder = indexes(&yard);
        let yard = yard.reopen().await;
        let answer = asked.await.unwrap();
        assert!(
            matches!(answer.reply, ToolReply::Result(_) | ToolReply::Refusal { .. }),
            "answered before the end: {answer:?}"
        );
        assert!(folder.is_dir());
        let status = ask(&yard, "index_status", json!({})).await;
        let last = &status["recent_jobs"][0];
        assert_eq!((&last["job_id"], &last["status"]), (&begun["job_id"], &json!("interrupted")));
        drop(held);
        until(&yard, "search_code", text("alpha"), |answer| rows(answer).len() == 2).await;
        yard.drain().await;
    });
}

#[test]
fn recently_used_workspaces_are_loaded_at_start_if_configured() {
    in_real_time(|| async {
        let yard = Plan::new(site()).workspace(site()).open().await;
        ask(&yard, "search_code", text("alpha")).await;
        settled(&yard).await;
        until(&yard, "search_code", text("alpha"), |answer| answer["metadata"]["freshness_status"] == "fresh").await;
        let root = yard.site().root.clone();
        let is_member = |health: &Value| health["workspace_warmset"]["members"] == json!([root]);
        let health = until(&yard, "health_check", json!({}), is_member).await;
        assert_eq!(health["prewarm_status"], "skipped", "it was new: {health}");
        let state = StateDir::open(&yard.site().base().join("state")).unwrap();
        let is_stored = || {
            let stored = Warmset::open(state.store().unwrap());
            stored.configure(true, 1);
            stored.contains(&WarmWorkspace::new(&TenantId::default_tenant(), std::slice::from_ref(&root)))
        };
        while !is_stored() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut yard = yard.reopen().await;
        let health = until(&yard, "health_check", json!({}), |answer| answer["prewarm_status"] == "complete").await;
        assert!(is_member(&health), "{health}");
        let other = start(&yard, "w1", "health_check", json!({})).await.ok();
        assert_eq!((&other["prewarm_status"], &other["workspace_warmset"]["members"]), (&json!("skipped"), &json!([])));
        yard.config.warmset.enabled = false;
        let yard = yard.reopen().await;
        let health = ask(&yard, "health_check", json!({})).await;
        assert_eq!(
            (&health["prewarm_status"], &health["workspace_warmset"]["enabled"]),
            (&json!("skipped"), &json!(false))
        );
    });
}

#[test]
fn workspaces_share_no_index_content() {
    in_real_time(|| async {
        let other = Site::new(&[("secret.txt", "alpha of the other\n")]);
        let elsewhere = other.root.clone();
        let yard = Plan::new(site()).workspace(other).open().await;
        let answer =
            until(&yard, "search_code", text("alpha"), |answer| answer["metadata"]["indexing_status"] == "ready").await;
        assert_eq!(rows(&answer), ["notes.txt:1", "src/a.rs:1"]);
        let code = |root: PathBuf| {
            let answer = ask(&yard, "health_check", json!({"workspace": root}));
            async move { answer.await["error"]["code"].clone() }
        };
        assert_eq!(code(elsewhere.clone()).await, "workspace_not_allowed");
        assert_eq!(code(elsewhere.join("below")).await, "workspace_not_registered");
        assert_eq!(code(yard.site().root.clone()).await, Value::Null);
        let refused = ask(&yard, "get_file_outline", json!({"path": elsewhere.join("secret.txt")})).await;
        assert_eq!(refused["error"]["code"], "project_not_found");
        assert!(!refused.to_string().contains("secret.txt"), "{refused}");
        let health = ask(&yard, "health_check", json!({})).await;
        assert!(!health.to_string().contains(elsewhere.to_str().unwrap()), "{health}");
    });
}

#[test]
fn a_search_past_its_deadline_returns_partial_results_and_frees_its_slot() {
    in_real_time(|| async {
        let lines: String = (0..50).map(|n| format!("alpha beta {n}\n")).collect();
        let files: Vec<(String, &str)> = (0..30).map(|n| (format!("f{n}.txt"), lines.as_str())).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let yard = Plan::new(Site::new(&files)).open().await;
        ask(&yard, "search_code", text("alpha")).await;
        settled(&yard).await;
        let handle = yard.engine().directory().all().remove(0);
        let places = handle.indexes.places.clone();
        let calls = handle.places.clone();
        let free = places.available_permits();
        let free_calls = calls.available_permits();
        // Only the test advances the clock, so the speed of the machine doesn't matter.
        tokio::time::pause();
        let begin = |query: Value| tokio::spawn(start(&yard, "w0", "search_code", query));
        let begun = async || {
            while calls.available_permits() == free_calls {
                tokio::task::yield_now().await;
            }
        };
        for query in [text("alpha"), json!({"query": r"[a-z]\W", "mode": "regex"}), json!({"query": "beta 49"})] {
            let all = places.clone().acquire_many_owned(u32::try_from(free).unwrap()).await.unwrap();
            let asked = begin(query.clone());
            begun().await;
            // It gets its worker shortly before its deadline.
            tokio::time::advance(Duration::from_millis(1_900)).await;
            drop(all);
            let answer = asked.await.unwrap().ok();
            let metadata = &answer["metadata"];
            assert_eq!(metadata["result_completeness"], "partial", "{answer}");
            assert_eq!(
                (&metadata["safety_limit_applied"], &metadata["freshness_status"]),
                (&json!("time"), &json!("fresh"))
            );
            assert!(metadata["warnings"].to_string().contains("time was up"), "{answer}");
            assert_eq!((places.available_permits(), calls.available_permits()), (free, free_calls));
            let whole = ask(&yard, "search_code", query).await;
            assert_ne!(whole["metadata"]["result_completeness"], "partial", "{whole}");
            assert!(!rows(&whole).is_empty());
        }
        // An abandoned query frees its slot too.
        let all = places.clone().acquire_many_owned(u32::try_from(free).unwrap()).await.unwrap();
        let asked = begin(text("alpha"));
        begun().await;
        asked.abort();
        drop(all);
        while (places.available_permits(), calls.available_permits()) != (free, free_calls) {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_query_without_a_worker_times_out_and_an_excess_query_is_refused() {
    in_real_time(|| async {
        let yard = Plan::new(site()).open().await;
        ask(&yard, "search_code", text("alpha")).await;
        settled(&yard).await;
        let handle = yard.engine().directory().all().remove(0);
        let places = handle.indexes.places.clone();
        let all = places.acquire_many(u32::try_from(places.available_permits()).unwrap()).await.unwrap();
        let late = start(&yard, "w0", "search_code", text("alpha")).await;
        assert!(matches!(late.reply, ToolReply::Refusal { .. }), "{late:?}");
        assert_eq!(late.ok()["error"]["code"], "timeout");
        let waiting = tokio::spawn(start(&yard, "w0", "search_code", text("alpha")));
        drop(all);
        assert_eq!(rows(&waiting.await.unwrap().ok()).len(), 2);
        let calls = handle.places.clone();
        let all = calls.acquire_many(u32::try_from(calls.available_permits()).unwrap()).await.unwrap();
        let refused = start(&yard, "w0", "search_code", text("alpha")).await;
        assert!(
            matches!(refused.reply, ToolReply::Refusal { shed: Some(ShedBy::Overload), retry_after_ms: Some(_), .. }),
            "{refused:?}"
        );
        drop(all);
        assert_eq!(rows(&ask(&yard, "search_code", text("alpha")).await).len(), 2);
    });
}

#[test]
fn a_call_to_a_group_needs_only_one_free_slot() {
    in_real_time(|| async {
        let plan = Plan::new(site()).workspace(site()).tune(|config| config.index.threads = 2);
        let yard = plan.open().await;
        for workspace in ["w0", "w1"] {
            until_indexed(&yard, workspace).await;
        }
        let handle = yard.engine().directory().all().remove(0);
        for permits in [&handle.indexes.places, &handle.indexes.group_places] {
            let others = u32::try_from(permits.available_permits() - 1).unwrap();
            let held = permits.clone().acquire_many_owned(others).await.unwrap();
            for _ in 0..3 {
                let found = start(&yard, "@all", "search_code", text("alpha")).await.ok();
                assert_eq!(rows(&found).len(), 4, "{found}");
            }
            drop(held);
        }
    });
}

/// Waits until the index of a workspace is there.
pub(crate) async fn until_indexed(yard: &Yard, workspace: &str) {
    while start(yard, workspace, "search_code", text("alpha")).await.ok()["metadata"]["freshness_status"] != "fresh" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn one_question_suffices_to_follow_an_older_index() {
    in_real_time(|| async {
        for asks_a_server_first in [false, true] {
            let mut yard = Plan::new(site()).open().await;
            ask(&yard, "search_code", text("alpha")).await;
            settled(&yard).await;
            // Otherwise the index is opened without a question.
            yard.config.warmset.enabled = false;
            let yard = yard.reopen().await;
            if asks_a_server_first {
                // Then the watcher has walked only the files of language servers.
                yard.call(WORKSPACE_SYMBOLS, json!({"query": "alpha"})).await;
            }
            ask(&yard, "search_code", text("alpha")).await;
            let is_fresh = async {
                while yard.health().await[0].indexes.iter().all(|index| index.freshness != "fresh") {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(PATIENCE, is_fresh)
                .await
                .expect("operators see a fresh index without another question");
        }
    });
}
