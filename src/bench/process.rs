//! The processes of a benchmark (language servers, codeyard servers, package tools) and their resource usage.
//!
//! Invariant: each is started with the launcher and the guard of language servers, so it ends when this process ends in any way.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_process::git;
use codeyard_process::guard;
use codeyard_process::launch::{LaunchSpec, LaunchedServer, Launcher, Process};
use codeyard_process::proc_tree::{self, ProcessIdentity};
use codeyard_process::spawn::ProcessLauncher;
use codeyard_process::tool::Tool;

/// Longest wait for a process to exit after it was asked to exit.
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// Longest run of a tool.
const TOOL_LIMIT: Duration = Duration::from_secs(3_600);
/// Pause between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Starts `program`.
pub(crate) async fn start(
    label: &str,
    program: &Path,
    args: Vec<OsString>,
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
) -> Result<LaunchedServer, Failure> {
    let launcher = ProcessLauncher::new(None)
        .map_err(|error| Failure::new(format!("cannot find the path of this executable: {error}")))?;
    let spec = LaunchSpec {
        label: label.to_owned(),
        program: program.into(),
        args,
        cwd: cwd.into(),
        env,
        limits: Default::default(),
        isolation: Default::default(),
    };
    let started = launcher.launch(&spec).await;
    started.map_err(|error| Failure::new(format!("{label} ({}): {error}", program.display())))
}

/// Runs a tool from the `PATH` and waits for it.
pub(crate) async fn run_tool(program: &str, args: &[&str], cwd: &Path) -> Result<(), Failure> {
    let shown = format!("{program} {}", args.join(" "));
    let tool = Tool::new(program).args(args).current_dir(cwd);
    let outcome = match blocking::spawn(move || tool.run(TOOL_LIMIT, &|| ())).await {
        Ok(outcome) => outcome.map_err(|error| Failure::new(format!("{program}: {error}")))?,
        Err(_) => return Err(Failure::new(format!("`{shown}`: the thread that ran it panicked"))),
    };
    if outcome.success() {
        return Ok(());
    }
    let last: Vec<&str> = outcome.output.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(Failure::new(format!(
        "`{shown}` failed ({}); check the network and the installation of {program}:\n{}",
        outcome.why(),
        last.join("\n")
    )))
}

/// Runs `git` in `dir`.
pub(crate) async fn run_git(dir: &Path, args: &[&str]) -> Result<(), Failure> {
    let dir = dir.to_owned();
    let args = args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let run = move || git::run_git(&dir, &args.iter().map(String::as_str).collect::<Vec<_>>());
    match blocking::spawn(run).await {
        Ok(result) => result.map(drop).map_err(|error| Failure::new(error.to_string())),
        Err(_) => Err(Failure::new("the thread that ran git panicked")),
    }
}

/// Terminates a process and waits for it; kills it after a timeout.
pub(crate) async fn stop(process: &Arc<dyn Process>) {
    process.terminate();
    if tokio::time::timeout(ENDS_WITHIN, process.exited()).await.is_err() {
        process.kill();
        drop(tokio::time::timeout(ENDS_WITHIN, process.exited()).await);
    }
}

/// Kills a process at once.
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // The process may have exited already.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

pub(crate) fn descendants() -> Vec<ProcessIdentity> {
    proc_tree::descendants(std::process::id())
}

/// Waits until all of them have exited, for a bounded time.
pub(crate) async fn wait_until_gone(descendants: Vec<ProcessIdentity>) {
    let began = Instant::now();
    while descendants.iter().any(|process| proc_tree::is_alive(*process)) && began.elapsed() < ENDS_WITHIN {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// The temporary folder of a run. Dropping it removes the folder.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder in the system's folder for temporary files.
    pub fn new() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("codeyard-bench-{:08x}", rand::random::<u32>()));
        let failed =
            |error: std::io::Error| Failure::new(format!("cannot create the folder {}: {error}", folder.display()));
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self(folder.canonicalize().map_err(failed)?))
    }

    /// Creates a new subfolder.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let mut number = 0;
        loop {
            let folder = self.0.join(format!("{name}-{number}"));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(folder),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    return Err(Failure::new(format!("cannot create the folder {}: {error}", folder.display())));
                }
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Remaining files lie in the system's folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The processes of a codeyard server.
#[derive(Debug, Clone)]
pub(crate) struct CodeyardProcesses {
    /// `codeyard serve` itself.
    pub serve: u32,
    /// The guards of its language servers.
    pub guards: Vec<u32>,
    /// The language servers, each the first child of its guard.
    pub servers: Vec<u32>,
}

impl CodeyardProcesses {
    /// The processes below the guard of a codeyard server.
    pub(crate) fn below(outer: u32) -> Option<Self> {
        let serve = proc_tree::descendants(outer).first()?.pid;
        let below = proc_tree::descendants(serve);
        let guards: Vec<u32> = below.iter().map(|process| process.pid).filter(|pid| is_guard(*pid)).collect();
        let first = |guard: &u32| proc_tree::first_child(*guard);
        Some(Self { serve, servers: guards.iter().filter_map(first).collect(), guards })
    }

    /// Memory of codeyard without its language servers, in bytes: resident memory of the server, and the guards' parts of what they share.
    pub(crate) fn own_memory(&self) -> u64 {
        let guards: u64 = self.guards.iter().filter_map(|pid| proc_tree::proportional_bytes(*pid)).sum();
        resident(self.serve).unwrap_or_default() + guards
    }

    /// Memory of the language servers with their descendants, in bytes.
    pub(crate) fn server_memory(&self) -> u64 {
        proc_tree::memory_of_trees(&self.servers).into_iter().flatten().sum()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessUsage {
    /// Resident memory in bytes.
    pub memory: u64,
    /// Open file descriptors.
    pub descriptors: u64,
    pub threads: u64,
}

impl ProcessUsage {
    /// The current usage of the process `pid`.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        Some(Self { memory: resident(pid)?, descriptors: descriptors as u64, threads: status(pid, "Threads:")? })
    }
}

/// Resident memory of a process in bytes.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    status_bytes(pid, "VmRSS:")
}

/// A field of `/proc/PID/status` in KiB, such as `VmHWM:`, converted to bytes.
pub(crate) fn status_bytes(pid: u32, name: &str) -> Option<u64> {
    Some(status(pid, name)? * 1024)
}

fn status(pid: u32, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

fn is_guard(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(guard::SUBCOMMAND.as_bytes())
}
