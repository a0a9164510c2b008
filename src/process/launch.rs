//! The interface for starting language servers: a [`Launcher`] returns the server's streams and a [`Process`] handle.
//!
//! Interfaces only: `spawn` implements them with real processes, tests with servers in memory, where time can be paused.
//! Invariant: a [`Process`] handle never blocks on the server, and its processes end after the last handle is dropped.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::guard;
use crate::resource_limits::ResourceLimits;

/// What to start.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// Name for logs and the ledger, for example `ty`.
    pub label: String,
    /// The program: an absolute path, or a name that is looked up on the `PATH` of `env`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// The complete environment. Nothing else is inherited.
    pub env: Vec<(OsString, OsString)>,
    pub limits: ResourceLimits,
    /// What it may access.
    pub isolation: Isolation,
}

impl LaunchSpec {
    /// The program as an absolute path. `None` if it isn't executable.
    pub(crate) fn resolved_program(&self) -> Option<PathBuf> {
        let runnable = |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
        if self.program.components().count() > 1 || self.program.is_absolute() {
            return Some(self.cwd.join(&self.program)).filter(runnable);
        }
        let (_, path) = self.env.iter().find(|(name, _)| name == OsStr::new("PATH"))?;
        std::env::split_paths(path).map(|folder| self.cwd.join(folder).join(&self.program)).find(runnable)
    }
}

/// What a server may access.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Isolation {
    /// What the user who runs codeyard may access.
    #[default]
    Trusted,
    /// What the request names. A server that can't be confined isn't started.
    Restricted(SandboxRequest),
}

/// What a confined server needs to access.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxRequest {
    /// Folders that are read: the roots of the workspace. No program in them is run.
    pub roots: Vec<PathBuf>,
    /// Folders and files that are read, and whose programs are run: the server's installation and its toolchain.
    pub toolchain: Vec<PathBuf>,
    /// Folders that are written: the server's cache. No program in them is run.
    pub caches: Vec<PathBuf>,
    /// Folders that must not be seen, even if they are inside one of the others.
    pub hidden: Vec<PathBuf>,
}

/// A started server.
pub struct LaunchedServer {
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub process: Arc<dyn Process>,
}

/// How a process ended. Without code and signal it is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessExit {
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the kernel killed it because its tree used more memory than its control group allows.
    pub over_memory: bool,
}

impl ProcessExit {
    /// It exited with this code.
    pub const fn of_code(code: i32) -> Self {
        Self { code: Some(code), signal: None, over_memory: false }
    }

    /// This signal ended it.
    pub const fn of_signal(signal: i32) -> Self {
        Self { code: None, signal: Some(signal), over_memory: false }
    }

    /// Whether SIGKILL ended it; some shells report that as an exit code.
    pub fn is_killed(&self) -> bool {
        self.signal == Some(libc::SIGKILL) || self.code == Some(128 + libc::SIGKILL)
    }

    /// Which budget the server exceeded, if that ended it.
    pub fn exceeded(&self) -> Option<ExceededBudget> {
        let is_code = |code: i32| self.code == Some(code);
        let is_signal = |signal: i32| self.signal == Some(signal) || is_code(128 + signal);
        match () {
            () if self.over_memory => Some(ExceededBudget::Memory),
            () if is_code(i32::from(guard::OVER_PROCESSES)) => Some(ExceededBudget::Processes),
            () if is_signal(libc::SIGXFSZ) => Some(ExceededBudget::FileSize),
            () => None,
        }
    }
}

/// A budget whose excess ends a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededBudget {
    /// The memory of its tree.
    Memory,
    Processes,
    /// The size of a file that it writes.
    FileSize,
}

/// A running or ended server with all processes that it started.
pub trait Process: Send + Sync {
    /// The id of the process group's leader. `None` for a server in memory.
    fn id(&self) -> Option<u32>;
    /// Waits for the end. Any number of callers may wait, also after the end.
    fn exited(&self) -> BoxFuture<'static, ProcessExit>;
    /// Sends SIGTERM to all its processes. The guard kills those that don't end.
    fn terminate(&self);
    /// Kills all its processes.
    fn kill(&self);
    /// Kills all its processes, guard included, without waiting for the runtime that watches them. For a runtime that is stuck, after
    /// [`kill`](Self::kill).
    fn kill_unseen(&self) {
        self.kill();
    }
    /// Whether all its processes have ended.
    fn group_is_empty(&self) -> bool;
    /// The last 64 KiB of its standard error. It may contain paths, so it is never part of an answer.
    fn stderr_tail(&self) -> String;
    /// Memory of the whole process tree in bytes. `None` if it is unknown. Reads `/proc`, which takes some ms; concurrent
    /// calls share one pass.
    fn memory_bytes(&self) -> Option<u64>;
    /// Processor time that the whole process tree has used. `None` if it is unknown. Reads `/proc` as [`memory_bytes`](Self::memory_bytes)
    /// does.
    fn cpu_time(&self) -> Option<Duration> {
        None
    }
    /// The process id of the language server itself, a child of the group's leader. Reads `/proc`.
    fn server_id(&self) -> Option<u32> {
        self.id()
    }
}

/// Why a server could not be started.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LaunchError {
    /// The program does not exist or may not be run.
    #[error("the language server's program was not found")]
    ProgramNotFound(PathBuf),
    /// The working directory does not exist.
    #[error("the working directory does not exist")]
    DirectoryNotFound(PathBuf),
    /// It must be confined, and this machine can't do that.
    #[error("the language server must run in a sandbox, and this machine has none: {0}")]
    NoSandbox(String),
    /// The operating system returned an error.
    #[error("the process could not be started: {0}")]
    Io(Arc<std::io::Error>),
}

impl From<std::io::Error> for LaunchError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// The figures of one server's process tree. What is unknown is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessFigures {
    /// Memory of the whole process tree in bytes.
    pub memory_bytes: Option<u64>,
    /// The process id of the language server itself.
    pub server_id: Option<u32>,
}

/// The figures of several servers at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetFigures {
    /// Those of each server, in the order of the request.
    pub servers: Vec<ProcessFigures>,
    /// Memory of all child processes together in bytes, where the kernel counts it: codeyard has a control group of its own.
    pub group_bytes: Option<u64>,
}

/// Starts servers.
pub trait Launcher: Send + Sync {
    /// Starts a server. Dropping the future leaves no process running.
    fn launch(&self, spec: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>>;

    /// The mechanism that confines servers, seen to hold in a child process; otherwise the reason why there is none, and what helps. The
    /// first call blocks for a fraction of a second. A failure is looked at again some time later, in the background.
    ///
    /// # Errors
    /// The reason.
    fn sandbox(&self) -> Result<&'static str, String> {
        Ok("memory")
    }

    /// Measures servers that it started. Blocks for some milliseconds. An implementation that can measure all of them in one pass
    /// overrides this.
    fn measure(&self, processes: &[Arc<dyn Process>]) -> FleetFigures {
        let of = |process: &Arc<dyn Process>| ProcessFigures {
            memory_bytes: process.memory_bytes(),
            server_id: process.server_id(),
        };
        FleetFigures { servers: processes.iter().map(of).collect(), group_bytes: None }
    }
}
