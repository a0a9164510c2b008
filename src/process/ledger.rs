//! The ledger: a file with the child processes of this codeyard, so that the next start finds those that a dead codeyard left.
//!
//! The guards end the children first. The ledger is for the case that the guards were killed too. One file per running
//! codeyard in `<state>/children`. Invariants: a process is killed only if its id *and* its start time are those of the
//! ledger (or it descends from such a process) and its owner is dead; a file of another boot or another process namespace
//! kills no process.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::proc_tree::{self, ProcessIdentity};
use super::signal;
use codeyard_base::atomic_file::{self, Durability};
use codeyard_base::seeded_faults;

/// Children in one ledger file.
const MAX_LEDGER_ENTRIES: usize = 4_096;

/// The open ledger of this process.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    owner: ProcessIdentity,
    children: Mutex<BTreeMap<u32, LedgerEntry>>,
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Ledgers of dead owners.
    pub ledgers: usize,
    /// Processes that were killed.
    pub killed: usize,
}

/// A guard and its descendants when they were last read.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LedgerEntry {
    guard: ProcessIdentity,
    label: String,
    members: Vec<ProcessIdentity>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LedgerFile {
    #[serde(rename = "place")]
    namespace: String,
    owner: ProcessIdentity,
    children: Vec<LedgerEntry>,
}

/// Largest ledger file that is read, in bytes.
const MAX_LEDGER_BYTES: u64 = 4 * 1024 * 1024;

impl Ledger {
    /// Opens the ledger of this process in the state directory. Nothing is written before the first child.
    pub fn open(state: &Path) -> io::Result<Self> {
        let folder = folder(state);
        fs::create_dir_all(&folder)?;
        let pid = std::process::id();
        let owner = proc_tree::identity(pid).unwrap_or(ProcessIdentity { pid, start: 0 });
        let path = folder.join(format!("{}-{}.json", owner.pid, owner.start));
        Ok(Self { path, owner, children: Mutex::default() })
    }

    /// Adds a new child.
    pub fn add(&self, guard: u32, label: &str) {
        let Some(guard) = proc_tree::identity(guard) else { return };
        let mut children = self.children.lock();
        if children.len() < MAX_LEDGER_ENTRIES {
            children.insert(guard.pid, LedgerEntry { guard, label: label.to_owned(), members: Vec::new() });
            self.write(&children);
        }
    }

    /// Replaces the descendants of children, each given by its guard. Writes the file at most once.
    pub fn set_members(&self, of: impl IntoIterator<Item = (u32, Vec<ProcessIdentity>)>) {
        let mut children = self.children.lock();
        let mut is_changed = false;
        for (guard, members) in of {
            if let Some(child) = children.get_mut(&guard)
                && child.members != members
            {
                child.members = members;
                is_changed = true;
            }
        }
        if is_changed {
            self.write(&children);
        }
    }

    /// Removes a child that has ended.
    pub fn remove(&self, guard: u32) {
        let mut children = self.children.lock();
        if children.remove(&guard).is_some() {
            self.write(&children);
        }
    }

    /// Keeps the ledger from being written.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Drop + '_ {
        self.children.lock()
    }

    fn write(&self, children: &BTreeMap<u32, LedgerEntry>) {
        let file = LedgerFile {
            namespace: process_namespace(),
            owner: self.owner,
            children: children.values().cloned().collect(),
        };
        if let Err(error) = save(&self.path, &file) {
            warn!(%error, "cannot write the ledger of child processes");
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if self.children.lock().is_empty() {
            // The file may not exist.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Kills the children of dead owners and removes their ledgers. Called once, before any child is started.
pub fn sweep(state: &Path) -> SweepReport {
    let mut swept = SweepReport::default();
    if seeded_faults::is_on("ledger_unswept") {
        return swept;
    }
    for entry in fs::read_dir(folder(state)).into_iter().flatten().flatten().take(MAX_LEDGER_ENTRIES) {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match load(&path) {
            // Another process namespace of the same boot: its owner isn't visible from here.
            Some(file) if is_other_namespace_of_this_boot(&file.namespace) || proc_tree::is_alive(file.owner) => {
                continue;
            }
            Some(file) if file.namespace == process_namespace() => {
                swept.ledgers += 1;
                swept.killed += file.children.iter().map(kill_child).sum::<usize>();
            }
            _ => {}
        }
        if let Err(error) = fs::remove_file(&path) {
            warn!(%error, "cannot remove the ledger of a dead process");
        }
    }
    swept
}

fn kill_child(child: &LedgerEntry) -> usize {
    let mut targets = child.members.clone();
    if proc_tree::is_alive(child.guard) {
        targets.extend(proc_tree::descendants(child.guard.pid));
        targets.push(child.guard);
        targets.sort();
        targets.dedup();
    }
    let killed = targets.iter().filter(|&&process| signal::to_exactly(process, libc::SIGKILL)).count();
    if killed > 0 {
        warn!(label = %child.label, killed, "killed processes that a dead codeyard left running");
    }
    killed
}

fn folder(state: &Path) -> PathBuf {
    state.join("children")
}

/// Identifies this boot and this process namespace. Process ids are valid only within them.
pub(crate) fn process_namespace() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}/{}", boot.trim(), namespace.display())
}

fn is_other_namespace_of_this_boot(other: &str) -> bool {
    let here = process_namespace();
    let boot = |namespace: &str| namespace.split('/').next().map(str::to_owned);
    here != other && boot(&here) == boot(other)
}

fn load(path: &Path) -> Option<LedgerFile> {
    let small = fs::metadata(path).ok().is_some_and(|found| found.is_file() && found.len() <= MAX_LEDGER_BYTES);
    if small { serde_json::from_slice(&fs::read(path).ok()?).ok() } else { None }
}

fn save(path: &Path, file: &LedgerFile) -> io::Result<()> {
    if file.children.is_empty() {
        return fs::remove_file(path);
    }
    atomic_file::replace_with(path, Durability::Process, &serde_json::to_vec(file)?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn write(state: &Path, file: &LedgerFile) {
        fs::create_dir_all(folder(state)).unwrap();
        save(&folder(state).join("dead.json"), file).unwrap();
    }

    fn sleeper() -> std::process::Child {
        #[expect(clippy::disallowed_methods, reason = "the test needs a process to sweep")]
        std::process::Command::new("sleep").arg("600").spawn().unwrap()
    }

    /// An owner that can't be alive.
    const DEAD: ProcessIdentity = ProcessIdentity { pid: 4_194_303, start: 1 };

    #[test]
    fn only_exact_processes_of_dead_owners_are_killed() {
        let state = tempfile::tempdir().unwrap();
        let mut doomed = sleeper();
        let mut reused = sleeper();
        let exact = proc_tree::identity(doomed.id()).unwrap();
        let mistaken =
            proc_tree::identity(reused.id()).map(|found| ProcessIdentity { start: found.start - 1, ..found }).unwrap();
        let child = |guard| LedgerEntry { guard, label: "test".into(), members: Vec::new() };
        let children = vec![child(exact), child(mistaken)];

        let me = proc_tree::identity(std::process::id()).unwrap();
        write(state.path(), &LedgerFile { namespace: process_namespace(), owner: me, children: children.clone() });
        assert_eq!(sweep(state.path()), SweepReport::default(), "its owner is alive");
        write(state.path(), &LedgerFile { namespace: "other-boot/x".into(), owner: DEAD, children: children.clone() });
        assert_eq!(sweep(state.path()), SweepReport::default(), "ids of another boot are invalid");

        write(state.path(), &LedgerFile { namespace: process_namespace(), owner: DEAD, children });
        assert_eq!(sweep(state.path()), SweepReport { ledgers: 1, killed: 1 });
        let ended = std::os::unix::process::ExitStatusExt::signal(&doomed.wait().unwrap());
        assert_eq!(ended, Some(libc::SIGKILL));
        assert_eq!(reused.try_wait().unwrap(), None, "the id was reused, so it must survive");
        assert_eq!(fs::read_dir(folder(state.path())).unwrap().count(), 0);
        reused.kill().unwrap();
        reused.wait().unwrap();
    }

    #[test]
    fn the_file_lists_the_children_and_is_removed_with_the_last() {
        let state = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(state.path()).unwrap();
        let own = std::process::id();
        ledger.add(own, "me");
        let file = load(&ledger.path).unwrap();
        assert_eq!((file.children.len(), file.owner.pid), (1, own));
        ledger.set_members([(own, vec![DEAD])]);
        assert_eq!(load(&ledger.path).unwrap().children[0].members, [DEAD]);
        ledger.remove(own);
        assert!(!ledger.path.exists());
    }

    #[test]
    fn an_invalid_file_is_removed_and_kills_nothing() {
        let state = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder(state.path())).unwrap();
        fs::write(folder(state.path()).join("x.json"), b"{\"children\": 7").unwrap();
        assert_eq!(sweep(state.path()), SweepReport::default());
        assert_eq!(fs::read_dir(folder(state.path())).unwrap().count(), 0);
    }
}
