//! A workspace whose thread hangs: operators see since when, read everything else at once, and the others answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codeyard_base::ids::WorkspaceName;
use codeyard_config::Config;
use codeyard_engine::limits::STALLED_AFTER_MS;
use codeyard_engine::server::program::programs::Program;
use codeyard_engine::server::program::programs::{Locate, Programs};
use codeyard_engine::status::server_state::Unavailable;
use codeyard_engine::supervisor::engine::{Engine, EngineParts};
use codeyard_engine::supervisor::problems::{ServiceProblem, ServiceProblems};
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
            runs: Err("this test has none".into()),
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
    // The cells are read. A read that waited for the hung thread would never end, because only this test releases it.
    let overview = control.overview(None).await.unwrap();
    assert!(overview.healths.iter().all(Option::is_some));
    let (_, snapshots) = control.snapshots().await.unwrap();
    assert!(snapshots.iter().all(Option::is_some));
    assert_eq!(control.problems().await.unwrap(), ServiceProblems::default(), "a busy thread isn't a failure");
    // Its state grows old, and says so.
    let of = async |at: usize| control.overview(None).await.unwrap().healths[at].clone().unwrap();
    let mut hung = of(0).await;
    while hung.activity.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        hung = of(0).await;
    }
    let activity = hung.activity.unwrap();
    assert_eq!(activity.waits_for, "its thread, which has not run since then");
    assert!(
        activity.since_s.unwrap() >= STALLED_AFTER_MS / 1_000 && hung.age >= Duration::from_millis(STALLED_AFTER_MS)
    );
    let other = of(1).await;
    assert_eq!(other.activity, None);
    assert!(other.age < Duration::from_millis(STALLED_AFTER_MS));
    while control.problems().await.unwrap().degraded.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let problems = control.problems().await.unwrap();
    let hung = ServiceProblem::NotAnswering(one.clone());
    assert_eq!(problems, ServiceProblems { failing: vec![], degraded: vec![hung] }, "the other one serves");
    drop(release);
    // It continues normally.
    while !control.problems().await.unwrap().degraded.is_empty() || of(0).await.activity.is_some() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    engine.drain().await;
}
