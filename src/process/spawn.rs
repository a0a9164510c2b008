//! Starts language servers as real processes, each under a guard.
//!
//! Invariants: a server gets exactly the environment of its [`LaunchSpec`], its own process group and its own pipes; when
//! the last [`Process`] handle is dropped, or this process ends in any way, the guard ends the server and all processes
//! that it started; standard error is always read, and its last 64 KiB are kept; a server has a temporary folder of its own,
//! which is removed when it has ended.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::PipeWriter;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::control_groups::{ControlGroup, ControlGroups};
use super::guard_process::GuardProcess;
use super::launch::{
    FleetFigures, Isolation, LaunchError, LaunchSpec, LaunchedServer, Launcher, Process, ProcessExit, ProcessFigures,
};
use super::launch_sandbox::LaunchSandbox;
use super::ledger::Ledger;
use super::memory::MemoryMeter;
use super::orphans::{self, OWNER_VARIABLE, OrphanCollector};
use super::proc_tree::{self, ProcessTable};
#[cfg(target_os = "linux")]
use super::sandbox::Mechanism;
use super::stderr_tail::{StderrTail, drain};
use super::temp_dirs::{TempDir, TempDirs};
use super::warden::RunningWarden;
use super::{cgroup, guard, sibling, warden};
use codeyard_base::blocking;
use codeyard_base::clock::Instant;

/// Longest time that the end of a language server waits until the ledger is written, in milliseconds.
const LEDGER_WAIT_MS: u64 = 1_000;

/// A guard that hasn't ended its processes this long after [`guard::KILL_NOW`] is killed together with them.
const GUARD_KILL_TIMEOUT: Duration = Duration::from_millis(400);

/// The variables that name a process's folder for temporary files.
const TEMP_VARIABLES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// Starts real processes.
#[derive(Debug, Clone)]
pub struct ProcessLauncher {
    guard: PathBuf,
    ledger: Option<Arc<Ledger>>,
    temp_dirs: Option<Arc<TempDirs>>,
    niceness: u8,
    meter: Arc<Mutex<MemoryMeter>>,
    sandbox: Arc<LaunchSandbox>,
    orphans: Option<Arc<OrphanCollector>>,
    has_warden: bool,
    groups: Option<Arc<ControlGroups>>,
}

impl ProcessLauncher {
    /// A launcher whose guard is this program, even after its file was replaced.
    pub fn new(ledger: Option<Arc<Ledger>>) -> std::io::Result<Self> {
        Ok(Self::with_guard(sibling::running()?, ledger))
    }

    /// A launcher whose guard is `program`, which must support the hidden subcommand.
    pub fn with_guard(program: PathBuf, ledger: Option<Arc<Ledger>>) -> Self {
        Self {
            guard: program,
            ledger,
            temp_dirs: None,
            niceness: 0,
            meter: Arc::default(),
            sandbox: Arc::default(),
            orphans: None,
            has_warden: false,
            groups: None,
        }
    }

    /// Gives each server a temporary folder of its own, unless its environment names one.
    #[must_use]
    pub fn with_temp_dirs(mut self, temp_dirs: Arc<TempDirs>) -> Self {
        self.temp_dirs = Some(temp_dirs);
        self
    }

    /// Starts servers with this niceness, from 0 to 19: the higher, the lower their priority.
    #[must_use]
    pub fn with_niceness(mut self, niceness: u8) -> Self {
        self.niceness = niceness;
        self
    }

    /// Kills what servers leave that kill their guards. This process becomes the parent of orphaned descendants, and its other children
    /// must stay in its session.
    #[must_use]
    pub fn collecting_orphans(mut self) -> Self {
        self.orphans = Some(Arc::new(OrphanCollector::new()));
        self.has_warden = true;
        self
    }

    /// Gives each server a control group of its own, if one is delegated to this process, which then moves into a group of its own, too.
    /// Logs whether it does.
    #[must_use]
    pub fn with_control_groups(mut self) -> Self {
        self.groups = ControlGroups::open_and_log();
        self
    }

    /// Leaves orphans to the warden. For tests of the warden.
    #[doc(hidden)]
    #[must_use]
    pub fn without_collecting(mut self) -> Self {
        self.orphans = None;
        self.has_warden = true;
        self
    }

    /// Confines servers by this mechanism only.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn with_mechanism(mut self, mechanism: Mechanism) -> Self {
        self.sandbox = Arc::new(LaunchSandbox::only(mechanism));
        self
    }

    /// Checks a sandbox again so long after it didn't hold. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_sandbox_retry(mut self, retry: Duration) -> Self {
        if let Some(sandbox) = Arc::get_mut(&mut self.sandbox) {
            sandbox.retry_after(retry);
        }
        self
    }

    fn start(&self, spec: &LaunchSpec) -> Result<LaunchedServer, LaunchError> {
        if !spec.cwd.is_dir() {
            return Err(LaunchError::DirectoryNotFound(spec.cwd.clone()));
        }
        let program = spec.resolved_program().ok_or_else(|| LaunchError::ProgramNotFound(spec.program.clone()))?;
        let (death_read, death_write) = std::io::pipe()?;
        // Any child may inherit the reading end. No other process may hold the writing end.
        rustix::io::fcntl_setfd(&death_read, rustix::io::FdFlags::empty()).map_err(std::io::Error::from)?;
        let temp_dir = self.temp_dir(spec)?;
        let temp = temp_dir.as_ref().map(TempDir::path);
        let (program, args) =
            self.sandbox.command_line(&self.guard, spec, &program, temp).map_err(LaunchError::NoSandbox)?;
        let group = self.groups.as_ref().and_then(|groups| groups.group_for(&spec.label, &spec.limits));
        let mut command = self.command(spec, &program, &args, death_read.as_raw_fd(), group.as_deref());
        if let Some(temp_dir) = &temp_dir {
            command.envs(TEMP_VARIABLES.map(|name| (name, temp_dir.path())));
        }
        command.env(OWNER_VARIABLE, orphans::owner_value());
        let warden = self.has_warden.then(|| warden::hold(&self.guard)).flatten();
        let (mut child, guard) = self.spawn(&mut command)?;
        drop(death_read);
        let lost = || std::io::Error::other("the child process has no pipe");
        let reader = child.stdout.take().ok_or_else(lost)?;
        let writer = child.stdin.take().ok_or_else(lost)?;
        let stderr = child.stderr.take().ok_or_else(lost)?;
        let ends = ProcessEnds { _death: death_write, _warden: warden, group };
        let process = Arc::new(RealProcess::watch(child, guard, ends, self, spec, temp_dir));
        tokio::spawn(drain(stderr, process.tail.clone()));
        Ok(LaunchedServer { reader: Box::new(reader), writer: Box::new(writer), process })
    }

    /// Starts a guard. Returns it with its id.
    fn spawn(&self, command: &mut Command) -> std::io::Result<(Child, u32)> {
        let _launching = self.orphans.as_ref().map(|orphans| orphans.launching());
        let child = command.spawn()?;
        let guard = child.id().ok_or_else(|| std::io::Error::other("the child process has no id"))?;
        if let Some(orphans) = &self.orphans {
            orphans.add(guard);
        }
        Ok((child, guard))
    }

    fn temp_dir(&self, spec: &LaunchSpec) -> std::io::Result<Option<TempDir>> {
        let is_named = TEMP_VARIABLES.iter().any(|name| spec.env.iter().any(|(given, _)| given == OsStr::new(name)));
        self.temp_dirs.as_ref().filter(|_| !is_named).map(|dirs| dirs.create()).transpose()
    }

    fn command(
        &self,
        spec: &LaunchSpec,
        program: &Path,
        args: &[OsString],
        death_pipe: i32,
        group: Option<&ControlGroup>,
    ) -> Command {
        #[expect(clippy::disallowed_methods, reason = "language servers are started only here")]
        let mut command = Command::new(&self.guard);
        command
            .arg0("codeyard")
            .arg(guard::SUBCOMMAND)
            .arg(death_pipe.to_string())
            .arg(std::process::id().to_string())
            .arg(self.niceness.to_string())
            .arg(group.map_or(Path::new(""), ControlGroup::folder))
            .arg(spec.limits.to_text())
            .arg(program)
            .args(args)
            .env_clear()
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&spec.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Launcher for ProcessLauncher {
    fn launch(&self, spec: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>> {
        let launcher = self.clone();
        let spec = spec.clone();
        async move {
            let runtime = tokio::runtime::Handle::current();
            // A start waits until the child has loaded its program, which takes long on a busy machine.
            let started = blocking::spawn(move || {
                let _runtime = runtime.enter();
                launcher.start(&spec)
            });
            started.await.unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
        }
        .boxed()
    }

    fn sandbox(&self) -> Result<&'static str, String> {
        self.sandbox.check(&self.guard)
    }

    fn measure(&self, processes: &[Arc<dyn Process>]) -> FleetFigures {
        let Some(table) = ProcessTable::read() else {
            return FleetFigures { servers: vec![ProcessFigures::default(); processes.len()], group_bytes: None };
        };
        if self.orphans.is_some() {
            OrphanCollector::reap_strays(&table);
        }
        let roots: Vec<u32> = processes.iter().filter_map(|process| process.id()).collect();
        let trees = self.meter.lock().measure(&table, &roots);
        let mut measured: HashMap<u32, _> = roots.into_iter().zip(trees).collect();
        let mut members = Vec::new();
        let mut figures = |process: &Arc<dyn Process>| {
            let guard = process.id()?;
            let tree = measured.remove(&guard)??;
            let server_id = tree.members.first().map(|process| process.pid);
            members.push((guard, tree.members));
            Some(ProcessFigures { memory_bytes: Some(tree.bytes), server_id })
        };
        let servers = processes.iter().map(|process| figures(process).unwrap_or_default()).collect();
        if let Some(ledger) = &self.ledger {
            ledger.set_members(members);
        }
        FleetFigures { servers, group_bytes: cgroup::children_bytes(&table, self.groups.as_deref()) }
    }
}

struct RealProcess {
    guard: Arc<GuardProcess>,
    exit: watch::Receiver<Option<ProcessExit>>,
    tail: Arc<StderrTail>,
    ledger: Option<Arc<Ledger>>,
    runtime: tokio::runtime::Handle,
    ends: ProcessEnds,
}

/// What ends a process and its children.
struct ProcessEnds {
    /// When it is closed, by drop or by the end of this process, the guard ends all its processes.
    _death: PipeWriter,
    _warden: Option<Arc<RunningWarden>>,
    group: Option<Arc<ControlGroup>>,
}

impl RealProcess {
    fn watch(
        child: Child,
        pid: u32,
        ends: ProcessEnds,
        launcher: &ProcessLauncher,
        spec: &LaunchSpec,
        temp_dir: Option<TempDir>,
    ) -> Self {
        let ledger = launcher.ledger.clone();
        let orphans = launcher.orphans.clone();
        let sandbox = (spec.isolation != Isolation::Trusted).then(|| (launcher.sandbox.clone(), Instant::now()));
        let guard = Arc::new(GuardProcess::new(child, pid));
        if let Some(ledger) = &ledger {
            ledger.add(pid, &spec.label);
        }
        let (sender, exit) = watch::channel(None);
        let watched = guard.clone();
        let exit_ledger = ledger.clone();
        let exit_group = ends.group.clone();
        let label = spec.label.clone();
        tokio::spawn(async move {
            let mut exit = watched.ended().await;
            if let Some((sandbox, started)) = sandbox {
                sandbox.ended(exit, started.elapsed());
            }
            if let Some(group) = exit_group {
                exit.over_memory = group.end(&label).await && exit.is_killed();
            }
            if let Some(orphans) = orphans {
                orphans.remove(pid, &label).await;
            }
            // Both write files. Dropping the handle of one doesn't end its work.
            if let Some(ledger) = exit_ledger {
                let removing = blocking::spawn(move || ledger.remove(pid));
                drop(tokio::time::timeout(Duration::from_millis(LEDGER_WAIT_MS), removing).await);
            }
            drop(blocking::spawn(move || drop(temp_dir)));
            // All receivers are gone if the last handle was dropped.
            let _ = sender.send(Some(exit));
        });
        let runtime = tokio::runtime::Handle::current();
        Self { guard, exit, tail: Arc::default(), ledger, runtime, ends }
    }
}

impl Process for RealProcess {
    fn id(&self) -> Option<u32> {
        Some(self.guard.id())
    }

    fn exited(&self) -> BoxFuture<'static, ProcessExit> {
        let mut exit = self.exit.clone();
        async move { exit.wait_for(Option::is_some).await.ok().and_then(|exit| *exit).unwrap_or_default() }.boxed()
    }

    fn terminate(&self) {
        self.guard.signal(libc::SIGTERM);
    }

    fn kill(&self) {
        if let Some(group) = &self.ends.group {
            group.kill();
        }
        self.guard.signal(guard::KILL_NOW);
        let guard = self.guard.clone();
        let group = self.ends.group.clone();
        // A guard that is stopped or hangs doesn't react.
        self.runtime.spawn(async move {
            tokio::time::sleep(GUARD_KILL_TIMEOUT).await;
            guard.kill_tree(group.as_deref());
        });
    }

    fn kill_unseen(&self) {
        self.guard.kill_tree(self.ends.group.as_deref());
    }

    fn group_is_empty(&self) -> bool {
        self.exit.borrow().is_some() && !self.guard.left_processes()
    }

    fn stderr_tail(&self) -> String {
        self.tail.text()
    }

    fn memory_bytes(&self) -> Option<u64> {
        if self.guard.is_reaped() {
            return None;
        }
        let table = ProcessTable::shared()?;
        if let Some(ledger) = &self.ledger {
            ledger.set_members([(self.guard.id(), table.descendants(self.guard.id()))]);
        }
        table.memory_bytes(self.guard.id())
    }

    fn cpu_time(&self) -> Option<Duration> {
        if self.guard.is_reaped() {
            return None;
        }
        ProcessTable::shared()?.cpu_time(self.guard.id())
    }

    fn server_id(&self) -> Option<u32> {
        if self.guard.is_reaped() {
            return None;
        }
        let from_table = || ProcessTable::shared()?.descendants(self.guard.id()).first().map(|process| process.pid);
        proc_tree::first_child(self.guard.id()).or_else(from_table)
    }
}
