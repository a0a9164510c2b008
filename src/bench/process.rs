//! The processes of a benchmark: language servers, codeyards, package tools; and what they take.
//!
//! They are started by the launcher that starts language servers, under its guard: whatever way this process ends, they
//! end too. Nothing of the protocol is here.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_process::guard;
use codeyard_process::launch::{Connection, LaunchSpec, Launcher, Process};
use codeyard_process::proc_tree::{self, Identity};
use codeyard_process::spawn::ProcessLauncher;

/// Longest wait for the end of a process that was asked to end.
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Starts `program`.
pub(crate) async fn start(
    label: &str,
    program: &Path,
    args: Vec<OsString>,
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
) -> Result<Connection, Failure> {
    let launcher = ProcessLauncher::new(None)
        .map_err(|error| Failure::new(format!("this program's own path can't be found: {error}")))?;
    let spec = LaunchSpec { label: label.to_owned(), program: program.into(), args, cwd: cwd.into(), env };
    let started = launcher.launch(&spec).await;
    started.map_err(|error| Failure::new(format!("{label} ({}): {error}", program.display())))
}

/// Runs a tool of the `PATH` to its end.
pub(crate) async fn run_tool(program: &str, args: &[&str], cwd: &Path) -> Result<(), Failure> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let shown = format!("{program} {}", args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" "));
    let connection = start(program, Path::new(program), args, cwd, std::env::vars_os().collect()).await?;
    let Connection { mut reader, writer, process } = connection;
    drop(writer);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).await.map_err(|error| Failure::new(format!("{program}: {error}")))?;
    let exit = process.exited().await;
    if exit.code == Some(0) {
        return Ok(());
    }
    let said = process.stderr_tail();
    let last: Vec<&str> = said.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(Failure::new(format!("`{shown}` failed; check the network and that {program} works:\n{}", last.join("\n"))))
}

/// Asks a process to end and waits for it.
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
        // One that has just ended needs no killing.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// The processes below this one.
pub(crate) fn family() -> Vec<Identity> {
    proc_tree::descendants(std::process::id())
}

/// Waits until none of them is left, or it takes too long.
pub(crate) async fn gone(family: Vec<Identity>) {
    let began = Instant::now();
    while family.iter().any(|process| proc_tree::is_alive(*process)) && began.elapsed() < ENDS_WITHIN {
        tokio::time::sleep(LOOK).await;
    }
}

/// A folder of this run, removed with everything in it when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one in the system's folder for such things.
    pub fn new() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("codeyard-bench-{:08x}", rand::random::<u32>()));
        let failed = |error: std::io::Error| Failure::new(format!("{} can't be made: {error}", folder.display()));
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self(folder.canonicalize().map_err(failed)?))
    }

    /// A new folder in it.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let mut number = 0;
        loop {
            let folder = self.0.join(format!("{name}-{number}"));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(folder),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(Failure::new(format!("{} can't be made: {error}", folder.display()))),
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is in the system's folder for temporary things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The processes of a served codeyard.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// `codeyard serve` itself.
    pub serve: u32,
    /// The guards of its language servers.
    pub guards: Vec<u32>,
    /// The language servers, each the first process below its guard.
    pub servers: Vec<u32>,
}

impl Tree {
    /// What runs below the guard that this process put over a codeyard.
    pub(crate) fn below(outer: u32) -> Option<Self> {
        let serve = proc_tree::descendants(outer).first()?.pid;
        let below = proc_tree::descendants(serve);
        let guards: Vec<u32> = below.iter().map(|process| process.pid).filter(|pid| is_guard(*pid)).collect();
        let first = |guard: &u32| proc_tree::descendants(*guard).first().map(|process| process.pid);
        Some(Self { serve, servers: guards.iter().filter_map(first).collect(), guards })
    }

    /// Memory of codeyard alone, its language servers left out, in bytes.
    pub(crate) fn own_memory(&self) -> u64 {
        std::iter::once(&self.serve).chain(&self.guards).filter_map(|pid| resident(*pid)).sum()
    }

    /// Memory of the language servers with everything they started, in bytes.
    pub(crate) fn server_memory(&self) -> u64 {
        self.servers.iter().filter_map(|pid| proc_tree::memory_bytes(*pid)).sum()
    }
}

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holds {
    /// Resident memory in bytes.
    pub memory: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
}

impl Holds {
    /// What the process `pid` holds now.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        Some(Self { memory: resident(pid)?, descriptors: descriptors as u64, threads: status(pid, "Threads:")? })
    }
}

/// Resident memory of a process in bytes.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    status_bytes(pid, "VmRSS:")
}

/// What `/proc/PID/status` says in KiB, such as `VmHWM:`, in bytes.
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
