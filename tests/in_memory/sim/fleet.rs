//! Finds and starts the fake servers of a world, and applies external events to them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_engine::server::program::programs::Locate;
use codeyard_engine::server::program::programs::Program;
use codeyard_engine::status::server_state::Unavailable;
use codeyard_lsp::registry::ServerSpec as Entry;
use codeyard_process::launch::{LaunchError, LaunchSpec, LaunchedServer, Launcher, Process, ProcessExit};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::sim::faults::{self, StartFault};
use crate::sim::language::project_at;
use crate::sim::server::Server;
use crate::sim::stage::{Life, Shared, number_of};

/// Environment variable with the generation of the workspace's configuration.
pub(crate) const ERA: &str = "SIM_ERA";
/// Size of each of a server's two pipes, in bytes.
const PIPE_BYTES: usize = 64 * 1024;

/// Finds and starts the fake servers of a world.
pub(crate) struct Fleet {
    stage: Shared,
    servers: Mutex<Vec<Option<Arc<Server>>>>,
}

impl Fleet {
    /// No server yet.
    pub(crate) fn new(stage: Shared) -> Arc<Self> {
        Arc::new(Self { stage, servers: Mutex::default() })
    }

    /// The running servers.
    pub(crate) fn alive(&self) -> Vec<Arc<Server>> {
        let alive = |server: &&Arc<Server>| server.exit().is_none();
        self.servers.lock().iter().flatten().filter(alive).cloned().collect()
    }

    fn begin(&self, spec: &LaunchSpec, fault: StartFault) -> usize {
        let mut stage = self.stage.lock();
        let era = spec.env.iter().find(|(name, _)| name == ERA);
        let era = era.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default();
        let root = &stage.sites[number_of(&spec.label)].root;
        let folder = spec.cwd.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let number = stage.lives.len();
        stage.note(format!("launch #{number} {} in '{folder}' era {era}: {fault:?}", spec.label));
        stage.cover(format!("start: {fault:?}"));
        stage.lives.push(Life {
            label: spec.label.clone(),
            folder,
            era,
            began: Instant::now(),
            ended: None,
            stopping: false,
            silent: false,
            panicked: fault == StartFault::Panics,
            killed_outside: false,
            unable: Default::default(),
            up: false,
            has_read: false,
            open: Default::default(),
        });
        number
    }

    fn start(&self, spec: &LaunchSpec, number: usize, fault: StartFault) -> LaunchedServer {
        let workspace = number_of(&spec.label);
        let kind = spec.label.rsplit('/').next().unwrap_or_default();
        let project = {
            let mut stage = self.stage.lock();
            let folder = stage.lives[number].folder.clone();
            let folder = if folder.is_empty() { folder } else { format!("{folder}/") };
            let tree = stage.site(workspace).tree();
            project_at(&tree, if kind == "second" { "other" } else { "fake" }, &folder)
        };
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (out, to_write) = mpsc::unbounded_channel();
        let server = Server::new(number, workspace, kind, project, self.stage.clone(), fault, out);
        tokio::spawn(server.clone().run(theirs, to_write));
        let (reader, writer) = tokio::io::split(ours);
        let mut servers = self.servers.lock();
        servers.resize_with(number, || None);
        servers.push(Some(server.clone()));
        LaunchedServer { reader: Box::new(reader), writer: Box::new(writer), process: Arc::new(FakeProcess(server)) }
    }
}

impl Locate for Fleet {
    fn locate(&self, kind: &str, _: &Entry, _: &Path) -> Result<Program, Unavailable> {
        if self.stage.lock().missing.contains(kind) {
            return Err(Unavailable::new(kind, "not_installed", "not installed", "codeyard servers install"));
        }
        Ok(Program {
            program: PathBuf::from("/fake").join(kind),
            args: vec![],
            env: Default::default(),
            install: None,
            bin: None,
            version: None,
            checker: None,
        })
    }
}

impl Launcher for Fleet {
    fn launch(&self, spec: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>> {
        let fault = {
            let mut stage = self.stage.lock();
            let percent = if stage.healthy { 0 } else { stage.profile.bad_starts };
            faults::draw_start(&mut stage.dice, percent)
        };
        let number = self.begin(spec, fault);
        if matches!(fault, StartFault::NotFound | StartFault::Panics) {
            self.stage.lock().lives[number].ended = Some(Instant::now());
        }
        if fault == StartFault::Panics {
            panic!("meant to panic");
        }
        if fault == StartFault::NotFound {
            let error = LaunchError::ProgramNotFound(spec.program.clone());
            return async move { Err(error) }.boxed();
        }
        let connection = self.start(spec, number, fault);
        async move { Ok(connection) }.boxed()
    }
}

struct FakeProcess(Arc<Server>);

impl Process for FakeProcess {
    fn id(&self) -> Option<u32> {
        None
    }

    fn exited(&self) -> BoxFuture<'static, ProcessExit> {
        let server = self.0.clone();
        async move {
            server.stopped.cancelled().await;
            server.exit().unwrap_or_default()
        }
        .boxed()
    }

    fn terminate(&self) {
        let is_silent = self.0.silent.is_cancelled();
        if !is_silent {
            self.0.finish(ProcessExit::of_signal(15));
        }
    }

    fn kill(&self) {
        self.0.finish(ProcessExit::of_signal(9));
    }

    fn group_is_empty(&self) -> bool {
        self.0.exit().is_some()
    }

    fn stderr_tail(&self) -> String {
        String::new()
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(1024 * 1024)
    }
}

impl Drop for FakeProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
