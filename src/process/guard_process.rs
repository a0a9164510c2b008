//! The guard of a server as a child of this process: waits for its end, reaps it, and sends signals to it and to what it left.
//!
//! The kernel gives the id of a reaped process to a later one. Invariants: a guard is reaped under a lock, and a signal to its id or to its
//! group is sent under the same lock, before that; once it has been reaped, only processes that are known by id and start time are signalled.

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
#[cfg(target_os = "linux")]
use rustix::process::{Pid, PidfdFlags, pidfd_open};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};
use tokio::process::Child;

use super::control_groups::ControlGroup;
use super::launch::ProcessExit;
use super::proc_tree::{self, ProcessIdentity, ProcessTable};
use super::signal;

/// Pause between two looks whether a guard has ended, where the kernel has no descriptors of processes, in milliseconds.
const GUARD_REAP_INTERVAL_MS: u64 = 50;

/// A guard that was started by this process.
#[derive(Debug)]
pub(crate) struct GuardProcess {
    identity: ProcessIdentity,
    /// `None`: it has been reaped.
    child: Mutex<Option<Child>>,
    /// Its group had no member left when it was last seen: a later group with this id is another one.
    group_is_gone: AtomicBool,
}

impl GuardProcess {
    /// A guard that was just started and has this id.
    pub(crate) fn new(child: Child, pid: u32) -> Self {
        let identity = proc_tree::identity(pid).unwrap_or(ProcessIdentity { pid, start: 0 });
        Self { identity, child: Mutex::new(Some(child)), group_is_gone: AtomicBool::new(false) }
    }

    /// Its id. Another process may have it once [`is_reaped`](Self::is_reaped).
    pub(crate) fn id(&self) -> u32 {
        self.identity.pid
    }

    /// Whether it has ended and has been reaped.
    pub(crate) fn is_reaped(&self) -> bool {
        self.child.lock().is_none()
    }

    /// Waits for its end and reaps it. Called once.
    pub(crate) async fn ended(&self) -> ProcessExit {
        let handle = ExitHandle::open(self.identity.pid);
        loop {
            if let Some(exit) = self.reap() {
                return exit;
            }
            handle.wait().await;
        }
    }

    /// Reaps it if it has ended.
    fn reap(&self) -> Option<ProcessExit> {
        let mut child = self.child.lock();
        let exit = match child.as_mut().map(Child::try_wait) {
            Some(Ok(None)) => return None,
            Some(Ok(Some(status))) => ProcessExit { code: status.code(), signal: status.signal(), over_memory: false },
            Some(Err(_)) | None => ProcessExit::default(),
        };
        *child = None;
        if !signal::group_exists(self.identity.pid) {
            self.group_is_gone.store(true, Relaxed);
        }
        Some(exit)
    }

    /// Sends a signal to it. If it has been reaped: to what it left in its process group, SIGTERM or otherwise SIGKILL.
    pub(crate) fn signal(&self, number: i32) {
        let child = self.child.lock();
        if child.is_some() {
            signal::to_process(self.identity.pid, number);
            return;
        }
        drop(child);
        self.signal_left_over(if number == libc::SIGTERM { number } else { libc::SIGKILL });
    }

    /// Kills it with all its processes, those of its control group included. If it has been reaped: what it left in its process group.
    pub(crate) fn kill_tree(&self, group: Option<&ControlGroup>) {
        let child = self.child.lock();
        if child.is_none() {
            drop(child);
            return self.signal_left_over(libc::SIGKILL);
        }
        if let Some(group) = group {
            group.kill();
        }
        for process in proc_tree::descendants(self.identity.pid) {
            signal::to_exactly(process, libc::SIGKILL);
        }
        signal::to_group(self.identity.pid, libc::SIGKILL);
        signal::to_process(self.identity.pid, libc::SIGKILL);
    }

    /// Whether it has been reaped and its group has members that haven't ended.
    pub(crate) fn left_processes(&self) -> bool {
        self.is_reaped() && !self.left_over().is_empty()
    }

    fn signal_left_over(&self, number: i32) {
        for process in self.left_over() {
            signal::to_exactly(process, number);
        }
    }

    /// What a reaped guard left in its group. If another process has its id by now, the kernel has reused the id, which it does only for an
    /// empty group.
    fn left_over(&self) -> Vec<ProcessIdentity> {
        // Usually the group is empty, and one system call shows it. The other checks read all of `/proc`.
        if self.group_is_gone.load(Relaxed) || !signal::group_exists(self.identity.pid) {
            self.group_is_gone.store(true, Relaxed);
            return Vec::new();
        }
        // Without `/proc` no process can be identified.
        let Some(table) = ProcessTable::read() else { return Vec::new() };
        let is_reused = table.identity(self.identity.pid).is_some_and(|found| found != self.identity);
        if is_reused { Vec::new() } else { table.group_members(self.identity.pid) }
    }
}

/// Shows when a process has ended, without reaping it.
enum ExitHandle {
    #[cfg(target_os = "linux")]
    Descriptor(AsyncFd<OwnedFd>),
    /// The kernel has no descriptors of processes.
    Polling,
}

impl ExitHandle {
    /// Opens that of a child that hasn't been reaped.
    fn open(pid: u32) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw)
            && let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty())
            // SAFETY: an owned descriptor stays the same and open until it is dropped, which is with the `AsyncFd`.
            && let Ok(descriptor) = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }
        {
            return Self::Descriptor(descriptor);
        }
        let _ = pid;
        Self::Polling
    }

    /// Waits until the process may have ended.
    async fn wait(&self) {
        #[cfg(target_os = "linux")]
        if let Self::Descriptor(descriptor) = self
            && let Ok(mut ready) = descriptor.readable().await
        {
            return ready.clear_ready();
        }
        tokio::time::sleep(Duration::from_millis(GUARD_REAP_INTERVAL_MS)).await;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tokio::time::{sleep, timeout};

    use crate::launch::{Isolation, LaunchSpec, Launcher};
    use crate::ledger::Ledger;
    use crate::resource_limits::ResourceLimits;
    use crate::spawn::ProcessLauncher;

    use super::*;

    /// Starts a process with this id. `None`: the system doesn't let this process choose ids.
    fn sleeper(pid: u32) -> Option<std::process::Child> {
        for _ in 0..1_000 {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
            #[expect(clippy::disallowed_methods, reason = "the test needs a process that has the id of a guard")]
            let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
            if child.id() == pid {
                return Some(child);
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        panic!("the id {pid} is not free");
    }

    #[test]
    fn a_process_with_the_id_of_an_ended_guard_gets_no_signal_and_a_stuck_disk_delays_no_exit() {
        let folder = tempfile::tempdir().unwrap();
        // The guard is a shell that runs the file which has the name of the subcommand.
        std::fs::write(folder.path().join(crate::guard::SUBCOMMAND), "sleep 0.3").unwrap();
        let spec = LaunchSpec {
            label: "ends".into(),
            program: "/bin/true".into(),
            args: Vec::new(),
            cwd: folder.path().into(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            limits: ResourceLimits::default(),
            isolation: Isolation::Trusted,
        };
        let ledger = Arc::new(Ledger::open(folder.path()).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let launcher = ProcessLauncher::with_guard("/bin/sh".into(), Some(ledger.clone()));
        let process = runtime.block_on(launcher.launch(&spec)).unwrap().process;
        let held = ledger.hold();
        let pid = process.id().unwrap();
        let is_there = || Path::new(&format!("/proc/{pid}")).exists();
        runtime.block_on(async {
            for _ in 0..1_000 {
                if !is_there() {
                    break;
                }
                sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(!is_there(), "it is reaped");
        let Some(mut other) = sleeper(pid) else {
            println!("SKIPPED: ids of processes can't be chosen here");
            return;
        };
        process.terminate();
        process.kill();
        process.kill_unseen();
        assert_eq!(process.cpu_time(), None, "the other process isn't measured");
        let exit = runtime.block_on(async {
            sleep(Duration::from_millis(600)).await;
            timeout(Duration::from_secs(20), process.exited()).await
        });
        assert_eq!(other.try_wait().unwrap(), None, "it gets no signal");
        assert_eq!(exit.expect("the exit is published although the ledger can't be written").code, Some(0));
        assert!(process.group_is_empty());
        other.kill().unwrap();
        other.wait().unwrap();
        drop(held);
    }
}
