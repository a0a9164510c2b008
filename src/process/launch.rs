//! The seam between the client and what it speaks to: a launcher gives a connection and a handle on the process behind it.
//!
//! It is only words: `spawn` implements them with real processes, tests with servers in memory, where time can be paused.
//! Invariant: a [`Process`] handle never blocks, and whatever it names is gone some time after the last handle is dropped.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// What to start.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// Name for logs and the ledger, such as `ty`.
    pub label: String,
    /// The program: absolute, or a bare name that is looked up on the `PATH` of `env`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The complete environment: nothing is inherited beside it.
    pub env: Vec<(OsString, OsString)>,
}

/// A started server.
pub struct LaunchedServer {
    /// What the server writes.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// What the server reads.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// The process behind it.
    pub process: Arc<dyn Process>,
}

/// How a process ended. Both are `None` when it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessExit {
    /// The exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// A running (or ended) server with all the processes it started.
pub trait Process: Send + Sync {
    /// The id of the group's leader, if it is a real process.
    fn id(&self) -> Option<u32>;
    /// Waits for the end. Any number may wait, also after it.
    fn exited(&self) -> BoxFuture<'static, ProcessExit>;
    /// Asks all its processes to leave (SIGTERM). Those that stay are killed by the guard.
    fn terminate(&self);
    /// Kills all its processes.
    fn kill(&self);
    /// Whether none of its processes is left.
    fn group_is_empty(&self) -> bool;
    /// The last 64 KiB of its standard error. It may name paths: never for answers.
    fn stderr_tail(&self) -> String;
    /// Memory of the whole process tree in bytes, if it can be known. Reads `/proc`: some ms for a large tree.
    fn memory_bytes(&self) -> Option<u64>;
    /// The process id of the language server itself, below the group's leader. Reads `/proc`.
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
    /// The operating system refused.
    #[error("the process could not be started: {0}")]
    Io(Arc<std::io::Error>),
}

impl From<std::io::Error> for LaunchError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// Starts servers.
pub trait Launcher: Send + Sync {
    /// Starts one. Dropping the future may leave nothing running.
    fn launch(&self, spec: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>>;
}
