//! Files that hang: whoever opens one waits until the file system answers, and can't be interrupted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codeyard_engine::limits::{MAX_CODE_QUERIES, MAX_SERVER_READ_MS};
use codeyard_engine::workspace::messages::RestartChild;
use codeyard_files::gate::Gate;
use codeyard_files::limits::MAX_GATE_WORK;
use codeyard_state::{INDEX_FOLDER, StateDir};
use parking_lot::{Condvar, Mutex};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::engine::code;
use crate::engine::harness::*;
use crate::fake_server::*;

/// The limit of a test's waits, far beyond what they take.
const LIMIT: Duration = Duration::from_secs(20);

/// A file system that hangs until it is released: how many threads it holds up, and whether it hangs.
#[derive(Default)]
struct Hanging(Mutex<(usize, bool)>, Condvar);

/// Releases the file system at the end of its scope, also of a failed test, whose runtime would wait for the threads.
struct Held(Arc<Hanging>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl Hanging {
    /// Holds up as many threads as may work for one workspace.
    async fn hold_up(gate: &Gate) -> Held {
        let hanging = Arc::new(Self(Mutex::new((0, true)), Condvar::new()));
        for _ in 0..MAX_GATE_WORK {
            let held = hanging.clone();
            tokio::spawn(gate.run(move |_| held.wait()));
        }
        while hanging.0.lock().0 < MAX_GATE_WORK {
            // Also on paused time, which stands still while a thread is held up.
            settle().await;
        }
        Held(hanging)
    }

    fn wait(&self) {
        let mut state = self.0.lock();
        state.0 += 1;
        while state.1 {
            self.1.wait(&mut state);
        }
    }

    fn release(&self) {
        self.0.lock().1 = false;
        self.1.notify_all();
    }
}

/// A file in whose place is a pipe that nobody writes to: whoever opens it waits.
struct HeldFile {
    pipe: PathBuf,
    file: PathBuf,
}

impl HeldFile {
    fn new(pipe: PathBuf) -> Self {
        let file = pipe.with_extension("held");
        std::fs::rename(&pipe, &file).unwrap();
        mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
        Self { pipe, file }
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        // Those that wait read an end, those that come later the file.
        let pipe = std::fs::File::options().read(true).write(true).open(&self.pipe).unwrap();
        std::fs::rename(&self.file, &self.pipe).unwrap();
        drop(pipe);
    }
}

fn fake() -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"hoverProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/hover", json!({"contents": "known"}))
}

#[test]
fn files_that_hang_hold_up_only_their_own_workspace() {
    in_real_time(|| async {
        let fake = fake().launcher();
        let yard = Plan::one(Site::usual(), fake.clone()).workspace(Site::usual()).open().await;
        let hover =
            |workspace: usize| yard.start(&format!("w{workspace}"), HOVER, yard.sites[workspace].at("a.fake", 0, 0));
        for workspace in [0, 1] {
            timeout(LIMIT, hover(workspace)).await.unwrap().ok();
        }
        let first = yard.engine().directory().all().into_iter().find(|handle| handle.name.as_str() == "w0").unwrap();
        let hanging = Hanging::hold_up(&first.gate).await;
        // More calls than threads: none of them takes one more.
        let stuck: Vec<_> = (0..MAX_GATE_WORK + 8).map(|_| tokio::spawn(hover(0))).collect();
        let mut answered = 0;
        while !stuck.iter().all(|call| call.is_finished()) {
            let called = timeout(LIMIT, hover(1)).await.unwrap();
            called.ok();
            assert!(called.took < Duration::from_millis(1_500), "after {answered} answers: {:?}", called.took);
            answered += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(answered > 10, "{answered}");
        for call in stuck {
            let called = call.await.unwrap();
            assert_eq!(called.failed_as("CAP_EXCEEDED", "timeout")["phase"], "queued");
            assert!(called.took < Duration::from_secs(4), "{:?}", called.took);
        }
        assert_eq!(first.calls(), 0, "no slot is lost");
        drop(hanging);
        timeout(LIMIT, hover(0)).await.unwrap().ok();
        assert_eq!(fake.alive(), 2, "no server was ended");
        timeout(LIMIT, yard.drain()).await.unwrap();
    });
}

#[test]
fn a_server_waits_for_files_that_hang_no_longer_than_its_limit() {
    paused(|| async {
        let fake = fake().launcher();
        let yard = Plan::one(Site::usual(), fake.clone()).open().await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let workspace = yard.engine().directory().all().into_iter().next().unwrap();
        let server = yard.health().await[0].servers[0].id.clone();
        let hanging = Hanging::hold_up(&workspace.gate).await;
        // Its file passes the path gate before the push is recorded. Until then the server handles nothing else.
        fake.push([diagnostics(&yard.site().uri("a.fake"), None, json!([]))]);
        settle().await;
        assert!(workspace.actor.send(RestartChild(server)).await.unwrap());
        tokio::time::advance(Duration::from_millis(MAX_SERVER_READ_MS - 1)).await;
        settle().await;
        assert_eq!((fake.launches(), fake.alive()), (1, 1), "it waits");
        tokio::time::advance(Duration::from_millis(2)).await;
        settle_until(|| fake.launches() == 2).await;
        assert_eq!(fake.launches(), 2, "it handles what came meanwhile, although the file system still hangs");
        drop(hanging);
        let is_answered = async {
            while !yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.is_answered() {
                pass(500).await;
            }
        };
        timeout(LIMIT, is_answered).await.unwrap();
        assert_eq!(fake.alive(), 1);
        yard.drain().await;
    });
}

#[test]
fn an_index_whose_files_hang_holds_up_only_its_own_workspace() {
    in_real_time(|| async {
        let site = || Site::new(&[("a.rs", "fn alpha() {}\n")]);
        // Nothing is loaded before it is asked for.
        let plan = Plan::new(site()).workspace(site()).tune(|config| config.warmset.enabled = false);
        let yard = plan.open().await;
        timeout(LIMIT, code::until_indexed(&yard, "w0")).await.unwrap();
        let state = StateDir::open(&yard.site().base().join("state")).unwrap();
        let index = std::fs::read_dir(state.path().join(INDEX_FOLDER)).unwrap().next().unwrap().unwrap().path();
        timeout(LIMIT, code::until_indexed(&yard, "w1")).await.unwrap();
        let yard = yard.reopen().await;
        let search = |workspace: &str| code::start(&yard, workspace, "search_code", json!({"query": "alpha"}));
        timeout(LIMIT, search("w1")).await.unwrap().ok();
        let held = HeldFile::new(index.join("symbols/meta.json"));
        for round in 0..4 {
            // More than there are slots for all workspaces.
            let stuck: Vec<_> = (0..MAX_CODE_QUERIES + 4).map(|_| tokio::spawn(search("w0"))).collect();
            while !stuck.iter().all(|call| call.is_finished()) {
                // A call that waited for a slot until its deadline would have no answer.
                timeout(LIMIT, search("w1")).await.unwrap().ok();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            for call in stuck {
                let called = call.await.unwrap();
                let refused = String::from_utf8_lossy(called.bytes()).into_owned();
                assert!(refused.contains("\"code\":\"timeout\""), "round {round}: {refused}");
                let is_known = refused.contains("a file system hangs");
                assert!(is_known || called.took < Duration::from_secs(4), "round {round}: {:?}", called.took);
                assert!(round < 3 || is_known, "{refused}");
            }
            let until_answered = async {
                loop {
                    // On a busy machine the other one may be late, too.
                    let found = code::start(&yard, "@all", "search_code", json!({"query": "alpha"})).await.ok();
                    if found["results"] != json!(null) {
                        return found;
                    }
                }
            };
            let found = timeout(LIMIT, until_answered).await.unwrap();
            assert_eq!(found["metadata"]["incomplete_workspaces"][0]["workspace"], "w0", "round {round}: {found}");
            assert_eq!(found["results"][0]["workspace"], "w1", "round {round}: {found}");
        }
        drop(held);
        let is_answered = async {
            while !search("w0").await.is_answered() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LIMIT, is_answered).await.unwrap();
        timeout(LIMIT, yard.drain()).await.unwrap();
    });
}

#[test]
fn a_group_answers_from_its_other_workspaces_while_the_files_of_some_hang() {
    in_real_time(|| async {
        // Equal rows of several workspaces would be one.
        let site = |number: usize| Site::new(&[("a.rs", &format!("fn alpha() -> u32 {{\n    {number}\n}}\n"))]);
        let mut plan = Plan::new(site(0)).tune(|config| config.warmset.enabled = false);
        for number in 1..6 {
            plan = plan.workspace(site(number));
        }
        let yard = plan.open().await;
        let state = StateDir::open(&yard.site().base().join("state")).unwrap().path().join(INDEX_FOLDER);
        let hanging = ["w0", "w2", "w3"];
        let mut held = Vec::new();
        for workspace in ["w0", "w1", "w2", "w3", "w4", "w5"] {
            let known = indexes_in(&state);
            timeout(LIMIT, code::until_indexed(&yard, workspace)).await.unwrap();
            let mut made = indexes_in(&state);
            made.retain(|index| !known.contains(index));
            if hanging.contains(&workspace) {
                held.append(&mut made);
            }
        }
        let yard = yard.reopen().await;
        let held: Vec<_> = held.into_iter().map(|index| HeldFile::new(index.join("symbols/meta.json"))).collect();
        assert_eq!(held.len(), hanging.len());
        let queries = [
            ("search_code", json!({"query": "alpha"})),
            ("search_code", json!({"query": "alpha", "mode": "text"})),
            ("search_code", json!({"query": "\"fn alpha\""})),
            ("locate_symbol", json!({"name": "alpha"})),
        ];
        for (tool, arguments) in &queries {
            let names = |list: &Value| -> Vec<String> {
                let names = list.as_array().into_iter().flatten().filter_map(|one| one["workspace"].as_str());
                names.map(str::to_owned).collect()
            };
            let is_answered = async {
                // On a busy machine another one may be late, too.
                loop {
                    let found = code::start(&yard, "@all", tool, arguments.clone()).await.ok();
                    if found["results"].is_null() {
                        continue;
                    }
                    let incomplete = names(&found["metadata"]["incomplete_workspaces"]);
                    assert!(hanging.iter().all(|of| incomplete.iter().any(|name| name == of)), "{tool}: {found}");
                    if incomplete == hanging && names(&found["results"]) == ["w1", "w4", "w5"] {
                        return;
                    }
                }
            };
            timeout(LIMIT, is_answered).await.unwrap();
        }
        // The second page of the lines, and a phrase that no line has, which falls back to ranked rows.
        let line = json!({"query": "fn", "mode": "text", "limit": 1, "offset": 1});
        let found = until_not_refused(&yard, "search_code", &line).await;
        assert_eq!(found["results"][0]["workspace"], "w4", "{found}");
        let found = until_not_refused(&yard, "search_code", &json!({"query": "\"alpha absent\""})).await;
        assert_eq!(found["metadata"]["incomplete_workspaces"][0]["workspace"], "w0", "{found}");
        let status = until_not_refused(&yard, "index_status", &json!({})).await;
        let entry = |name: &str| {
            let entries = status["workspaces"].as_array().unwrap();
            entries.iter().find(|entry| entry["workspace"] == name).cloned().unwrap()
        };
        assert_eq!(entry("w5")["index_status"], "ready", "{status}");
        let health = until_not_refused(&yard, "health_check", &json!({})).await;
        let projects = health["projects"].as_array().unwrap();
        assert!(projects.iter().any(|project| project["workspace"] == "w5"), "{health}");
        drop(held);
        let is_answered = async {
            let whole = |found: Value| found["results"].as_array().is_some_and(|all| all.len() == 6);
            while !whole(code::start(&yard, "@all", "search_code", json!({"query": "alpha"})).await.ok()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LIMIT, is_answered).await.unwrap();
        timeout(LIMIT, yard.drain()).await.unwrap();
    });
}

/// The answer of a call to the group of all. On a busy machine all of them may be late.
async fn until_not_refused(yard: &Yard, tool: &str, arguments: &Value) -> Value {
    let answered = async {
        loop {
            let found = code::start(yard, "@all", tool, arguments.clone()).await.ok();
            if found.get("error").is_none() {
                return found;
            }
        }
    };
    timeout(LIMIT, answered).await.unwrap()
}

/// The folders of the indexes. Before the first one there is no folder of all.
fn indexes_in(state: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(state).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}
