//! A thread that is stuck: removing its workspaces and stopping the service end in time all the same, and leave no language server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Config, WorkspaceConfig};
use codeyard_engine::server::program::programs::{Locate, Program, Programs};
use codeyard_engine::status::server_state::Unavailable;
use codeyard_engine::supervisor::engine::{Engine, EngineParts};
use codeyard_engine::supervisor::messages::Condition;
use codeyard_engine::workspace::setup::EngineShared;
use codeyard_gateway::router::Gateway;
use codeyard_gateway::service::{Service, ToolReply};
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::registry::ServerSpec;
use codeyard_process::launch::{LaunchSpec, Launcher};
use codeyard_state::StateDir;
use codeyard_telemetry::{Counts, Telemetry};
use futures::future::join;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::engine::harness::*;
use crate::fake_server::*;

/// Longest time that a removal or a stop may take, with much room for a busy machine.
const LIMIT: Duration = Duration::from_secs(40);

/// Blocks whoever waits, until it is opened.
#[derive(Default)]
struct Barrier(Mutex<BarrierState>, Condvar);

#[derive(Default)]
struct BarrierState {
    is_reached: bool,
    is_open: bool,
}

impl Barrier {
    fn wait(&self) {
        let mut state = self.0.lock();
        state.is_reached = true;
        while !state.is_open {
            self.1.wait(&mut state);
        }
    }

    fn open(&self) {
        self.0.lock().is_open = true;
        self.1.notify_all();
    }
}

struct Everywhere;

impl Locate for Everywhere {
    fn locate(&self, kind: &str, _: &ServerSpec, _: &std::path::Path) -> Result<Program, Unavailable> {
        let program = PathBuf::from("/fake").join(kind);
        let env = Default::default();
        Ok(Program { program, args: Vec::new(), env, install: None, bin: None, version: None, checker: None })
    }
}

fn config(sites: &[&Site]) -> Config {
    let mut config = Config {
        languages: "fake = { extensions = [\"fake\"] }\nother = { extensions = [\"other\"] }".parse().unwrap(),
        ..Config::default()
    };
    for kind in ["fake", "other"] {
        let entry = format!("languages = [\"{kind}\"]\ngroup = \"{kind}\"\ncommand = [\"{kind}\"]");
        config.servers.insert(kind.into(), entry.parse::<toml::Table>().unwrap().into());
    }
    for (number, site) in sites.iter().enumerate() {
        let name = WorkspaceName::new(&format!("w{number}")).unwrap();
        config.workspaces.push(WorkspaceConfig::new(name, vec![site.root.clone()]));
    }
    config
}

/// The call of a tool at the endpoint of a workspace or a group.
fn call(
    gateway: &Gateway,
    workspace: &str,
    catalog: &str,
    tool: &str,
    arguments: Value,
) -> impl Future<Output = ToolReply> + Send + use<> {
    gateway.call(tool_call(workspace, catalog, tool, arguments))
}

async fn hover(gateway: &Gateway, workspace: &str, site: &Site, file: &str) -> ToolReply {
    call(gateway, workspace, "lsp-v1", HOVER, site.at(file, 0, 0)).await
}

async fn search_all(gateway: &Gateway) -> Value {
    match call(gateway, "@all", "code", "search_code", json!({"query": "beta"})).await {
        ToolReply::Result(result) | ToolReply::Refusal { result, .. } => {
            serde_json::from_slice::<Value>(&result).unwrap()["structuredContent"].clone()
        }
        other => panic!("{other:?}"),
    }
}

fn is_timeout(reply: &ToolReply) -> bool {
    matches!(reply, ToolReply::Error { data: Some(data), .. } if String::from_utf8_lossy(data).contains("\"reason\":\"timeout\""))
}

#[test]
fn a_stuck_thread_holds_up_neither_a_removal_nor_a_stop() {
    in_real_time(|| async {
        let site = || Site::new(&[("a.fake", "alpha\n"), ("b.other", "beta\n")]);
        let first = site();
        let second = site();
        let fake = FakeServer::new()
            .capabilities(json!({"hoverProvider": true, "textDocumentSync": 1}))
            .answer("textDocument/hover", json!({"contents": "known"}))
            .launcher();
        let barrier = Arc::new(Barrier::default());
        let blocking = barrier.clone();
        let starts = fake.clone();
        let launcher = Arc::new(LaunchBy(move |spec: &LaunchSpec| {
            if spec.label == "w0/other" {
                // On the thread of the workspace.
                blocking.wait();
            }
            starts.launch(spec)
        }));
        let state = StateDir::open(&first.base().join("state")).unwrap();
        let counts = Arc::new(Counts::default());
        let shared = EngineShared {
            programs: Programs::new(Arc::new(Everywhere)),
            launcher,
            frames: Arc::new(FrameBudget::default()),
            watcher: None,
            environment: Arc::default(),
            metrics: counts.clone(),
            runs: Err("this test has none".into()),
        };
        let store = state.store().unwrap();
        let path = state.path().to_path_buf();
        let parts = EngineParts { shared, store, state: path, cache: first.base().join("cache"), chosen: vec![] };
        let engine = Engine::start(parts, 2).unwrap();
        engine.configure(config(&[&first, &second])).await.unwrap();
        let gateway = Arc::new(Gateway::new(engine.directory(), Telemetry::new(counts)));
        let is_known = |reply: ToolReply| matches!(&reply, ToolReply::Result(_)).then_some(()).ok_or(reply);
        is_known(hover(&gateway, "w0", &first, "a.fake").await).unwrap();
        is_known(hover(&gateway, "w1", &second, "a.fake").await).unwrap();
        assert_eq!(fake.alive(), 2);
        let stuck = tokio::spawn(call(&gateway, "w0", "lsp-v1", HOVER, first.at("b.other", 0, 0)));
        while !barrier.0.lock().is_reached {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Nobody on that thread can end the calls: neither the one that waits there, nor one that comes now, nor one to a group.
        let calls = join(stuck, hover(&gateway, "w0", &first, "a.fake"));
        let (stuck, later) = timeout(LIMIT, calls).await.expect("the calls are answered");
        let stuck_workspace = engine.directory().get(&WorkspaceName::new("w0").unwrap()).unwrap();
        while stuck_workspace.status.heartbeat().stalled().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // One of them would be served on that thread.
        let (one, other) =
            timeout(LIMIT, join(search_all(&gateway), search_all(&gateway))).await.expect("groups answer");
        for reply in [stuck.unwrap(), later] {
            assert!(is_timeout(&reply), "{reply:?}");
        }
        for found in [one, other] {
            assert_eq!(found["metadata"]["incomplete_workspaces"][0]["workspace"], "w0", "{found}");
            assert_eq!(found["metadata"]["incomplete_workspaces"][0]["reason"], "timeout", "{found}");
        }
        let control = engine.control();
        let began = Instant::now();
        let removed = control.remove(WorkspaceName::new("w0").unwrap(), Condition::None).await.unwrap().unwrap();
        let report = timeout(LIMIT, removed).await.expect("the removal ends");
        assert_eq!(report.stuck, ["the thread of the workspace"], "after {:?}", began.elapsed());
        let ended: Vec<_> = report.servers.iter().map(|server| (server.kind.as_str(), server.ended_by)).collect();
        assert_eq!(ended, [("fake", "kill")]);
        is_known(hover(&gateway, "w1", &second, "a.fake").await).unwrap();
        timeout(LIMIT, engine.drain()).await.expect("the stop ends");
        barrier.open();
    });
}
