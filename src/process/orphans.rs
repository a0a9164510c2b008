//! Processes that a language server leaves when it kills its guard, and tools of a codeyard that has ended: finds and kills them.
//!
//! A guard is the subreaper of its server, so what the server starts stays below it. When the guard is killed, the kernel gives those
//! processes to the next subreaper above, which is codeyard itself. Each guard begins a session of its own, and a process can't enter the
//! session of another, so a child of codeyard that is in another session and isn't a guard was left by a server. After the death of
//! codeyard, such processes and its tools are found by the variable [`OWNER_VARIABLE`] in their environment: by the [warden](super::warden),
//! by the next start, and by the next installation. Invariants: while codeyard lives, no process in its own session is killed; no guard is
//! killed before its time; a process with the variable is killed only if the codeyard that it names is dead.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use tracing::warn;

use super::guard;
use super::ledger::process_namespace;
use super::proc_tree::{self, ProcessIdentity, ProcessTable};
use super::signal;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;

/// Longest time in which the processes are killed that a language server left after its guard was killed, in milliseconds.
const ORPHAN_KILL_MS: u64 = 2_000;

/// The variable that names the codeyard which started a language server or a tool.
pub const OWNER_VARIABLE: &str = "CODEYARD_OWNER";

/// Pause between two passes while processes are killed.
const PASS_INTERVAL: Duration = Duration::from_millis(10);

/// Keeps the ids of the running guards, to distinguish them from other children of this process in foreign sessions.
#[derive(Debug, Default)]
pub(crate) struct OrphanCollector {
    /// Held while a guard is started and added.
    launching: RwLock<()>,
    guards: Mutex<HashSet<u32>>,
}

impl OrphanCollector {
    /// Makes this process the parent of orphaned descendants. Without it, they become children of a process above.
    pub(crate) fn new() -> Self {
        #[cfg(target_os = "linux")]
        if let Err(error) = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1)) {
            warn!(%error, "orphaned processes of language servers can't be collected");
        }
        Self::default()
    }

    /// Held from before a guard is started until it is added.
    pub(crate) fn launching(&self) -> RwLockReadGuard<'_, ()> {
        self.launching.read()
    }

    pub(crate) fn add(&self, guard: u32) {
        self.guards.lock().insert(guard);
    }

    /// Removes a guard that has ended, and kills what it left. Returns when nothing is left, or after a bounded time.
    pub(crate) async fn remove(self: std::sync::Arc<Self>, guard: u32, label: &str) {
        self.guards.lock().remove(&guard);
        let began = Instant::now();
        let mut killed = 0;
        while began.elapsed() < Duration::from_millis(ORPHAN_KILL_MS) {
            let collector = self.clone();
            match blocking::spawn(move || collector.kill_once()).await {
                Ok(Pass { orphans: 0, .. }) | Err(_) => break,
                Ok(pass) => killed += pass.killed,
            }
            tokio::time::sleep(PASS_INTERVAL).await;
        }
        if killed > 0 {
            warn!(
                server = label,
                killed, "killed processes that a language server had left after its guard was killed"
            );
        }
    }

    /// Reaps what tools left: it became a child of this process, and nobody else waits for it. Every child that this process started itself
    /// leads its own group.
    pub(crate) fn reap_strays(table: &ProcessTable) {
        for pid in table.ended_strays(std::process::id()) {
            reap(pid);
        }
    }

    /// One pass: kills orphans with their descendants and reaps those that have ended.
    fn kill_once(&self) -> Pass {
        let _complete = self.launching.write();
        let Some(table) = ProcessTable::read() else { return Pass::default() };
        Self::reap_strays(&table);
        let guards = self.guards.lock().clone();
        let mut pass = Pass::default();
        for pid in table.foreign_children(std::process::id()) {
            if guards.contains(&pid) || reap(pid) {
                continue;
            }
            pass.orphans += 1;
            for process in table.descendants(pid) {
                signal::to_process(process.pid, libc::SIGKILL);
            }
            pass.killed += usize::from(signal::to_process(pid, libc::SIGKILL));
        }
        pass
    }
}

#[derive(Debug, Default)]
struct Pass {
    orphans: usize,
    killed: usize,
}

/// Reaps a child that has ended. `false` if it is running.
fn reap(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    !matches!(rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG), Ok(None))
}

/// The value of [`OWNER_VARIABLE`] for children of this process.
pub(crate) fn owner_value() -> OsString {
    let pid = std::process::id();
    value_of(proc_tree::identity(pid).unwrap_or(ProcessIdentity { pid, start: 0 }))
}

fn value_of(owner: ProcessIdentity) -> OsString {
    format!("{}/{}-{}", process_namespace(), owner.pid, owner.start).into()
}

/// Kills the processes whose environment names a dead codeyard, with their descendants and the groups that they lead. Returns how many named it.
pub fn kill_abandoned() -> usize {
    kill_abandoned_except(false)
}

/// The same, but guards are only counted if `spares_guards`. Returns how many there were.
pub(crate) fn kill_abandoned_except(spares_guards: bool) -> usize {
    let own = std::process::id();
    let mut found = 0;
    let mut doomed = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).filter(|pid| *pid != own) else {
            continue;
        };
        let Some(before) = proc_tree::identity(pid) else { continue };
        let Some(owner) = owner_of(&fs::read(entry.path().join("environ")).unwrap_or_default()) else { continue };
        if proc_tree::is_alive(owner) || !proc_tree::is_alive(before) {
            continue;
        }
        let is_spared = spares_guards && is_guard(&fs::read(entry.path().join("cmdline")).unwrap_or_default());
        found += 1;
        if !is_spared {
            doomed.push(before);
        }
    }
    kill_trees(&doomed);
    found
}

/// Kills processes, their descendants, which may have another environment, and the members of the groups that they lead.
fn kill_trees(roots: &[ProcessIdentity]) {
    // Read before the first one dies: then its children have another parent.
    let table = if roots.is_empty() { None } else { ProcessTable::read() };
    let below = |root: &ProcessIdentity| {
        let table = table.as_ref()?;
        Some([table.descendants(root.pid), table.group_members(root.pid)].concat())
    };
    let mut all = roots.to_vec();
    all.extend(roots.iter().filter_map(below).flatten());
    for process in all {
        signal::to_exactly(process, libc::SIGKILL);
    }
}

/// Whether a command line is that of a guard.
fn is_guard(command_line: &[u8]) -> bool {
    command_line.split(|byte| *byte == 0).nth(1) == Some(guard::SUBCOMMAND.as_bytes())
}

/// The codeyard that an environment names, if it is one of this process namespace.
fn owner_of(environment: &[u8]) -> Option<ProcessIdentity> {
    let variable = [OWNER_VARIABLE.as_bytes(), b"="].concat();
    let value = environment.split(|byte| *byte == 0).find_map(|pair| pair.strip_prefix(variable.as_slice()))?;
    let value = OsStr::from_bytes(value).to_str()?;
    let identity = value.strip_prefix(&process_namespace())?.strip_prefix('/')?;
    let (pid, start) = identity.split_once('-')?;
    Some(ProcessIdentity { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn an_owner_is_read_back_and_one_of_elsewhere_is_ignored() {
        let owner = ProcessIdentity { pid: 7, start: 9 };
        let of = |value: OsString| [b"A=1\0CODEYARD_OWNER=".as_slice(), &value.into_vec(), b"\0B=2"].concat();
        assert_eq!(owner_of(&of(value_of(owner))), Some(owner));
        assert_eq!(owner_of(&of("elsewhere/7-9".into())), None);
        assert_eq!(owner_of(b"A=1"), None);
    }

    #[test]
    fn only_processes_of_a_dead_owner_are_killed() {
        let sleeper = |owner: ProcessIdentity| {
            #[expect(clippy::disallowed_methods, reason = "the test needs a process to kill")]
            let command = &mut std::process::Command::new("sleep");
            command.arg("600").env(OWNER_VARIABLE, value_of(owner)).spawn().unwrap()
        };
        let own = proc_tree::identity(std::process::id()).unwrap();
        let mut doomed = sleeper(ProcessIdentity { start: own.start + 1, ..own });
        let mut kept = sleeper(own);
        assert!(kill_abandoned() >= 1);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&doomed.wait().unwrap()), Some(libc::SIGKILL));
        assert_eq!(kept.try_wait().unwrap(), None);
        kept.kill().unwrap();
        kept.wait().unwrap();
    }
}
