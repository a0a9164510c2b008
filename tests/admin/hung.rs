//! A workspace whose thread hangs: the list reports it, and the others answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_base::ids::WorkspaceName;
use codeyard_config::Config;
use codeyard_engine::server::programs::Program;
use codeyard_engine::server::programs::{Locate, Programs};
use codeyard_engine::status::server_state::Unavailable;
use codeyard_engine::supervisor::control::ServiceProblem;
use codeyard_engine::supervisor::engine::{Engine, EngineParts};
use codeyard_engine::workspace::setup::EngineShared;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::registry::ServerSpec;
use codeyard_process::spawn::ProcessLauncher;
use codeyard_state::StateDir;
use codeyard_telemetry::NoMetrics;

struct Nothing;

impl Locate for Nothing {
    fn locate(&self, kind: &str, _: &ServerSpec, _: &Path) -> Result<Program, Unavailable> {
        Err(Unavailable::new(kind, "not_installed", "not installed", ""))
    }
}

#[tokio::test]
async fn a_hung_workspace_fails_alone() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(&dir.path().join("state")).unwrap();
    let parts = EngineParts {
        shared: EngineShared {
            programs: Programs::new(Arc::new(Nothing)),
            launcher: Arc::new(ProcessLauncher::new(None).unwrap()),
            frames: Arc::new(FrameBudget::default()),
            watcher: None,
            environment: Arc::default(),
            metrics: Arc::new(NoMetrics),
        },
        store: state.store().unwrap(),
        state: state.path().to_path_buf(),
        cache: dir.path().join("cache"),
        chosen: vec![],
    };
    let engine = Engine::start(parts, 2).unwrap();
    let roots: Vec<PathBuf> = ["one", "two"].map(|name| dir.path().canonicalize().unwrap().join(name)).into();
    roots.iter().for_each(|root| std::fs::create_dir(root).unwrap());
    assert_eq!(engine.configure(Config::from_roots(&roots)).await.unwrap().failed, []);
    let control = engine.control();
    let one = WorkspaceName::new("one").unwrap();
    // Its thread is blocked until the test releases it.
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let (hanging, hangs) = tokio::sync::oneshot::channel();
    engine.directory().get(&one).unwrap().arbiter.spawn_fn(move || {
        hanging.send(()).unwrap();
        wait.recv().ok();
    });
    hangs.await.unwrap();
    let overview = control.overview(None).await.unwrap();
    let answering: Vec<bool> = overview.healths.iter().map(Option::is_some).collect();
    assert_eq!(answering, [false, true]);
    assert_eq!(control.failing().await.unwrap(), [ServiceProblem::NotAnswering(one.clone())]);
    let (_, snapshots) = control.snapshots().await.unwrap();
    assert!(snapshots[0].is_none() && snapshots[1].is_some());
    drop(release);
    // It continues normally.
    let mut healed = false;
    while !healed {
        healed = control.failing().await.unwrap().is_empty();
    }
    engine.drain().await;
}
