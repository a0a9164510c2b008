//! The ledger: which processes we started, on disk, so that the next start finds what a dead codeyard left behind.
//!
//! The guards are the first defence; this is for when they were killed too. One file per running codeyard in
//! `<state>/children`. Invariants: a process is killed only if its id *and* start time are those of the ledger (or it is
//! in the group or tree of such a process) and its owner is dead; a file of another boot or another process namespace
//! kills nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::proc_tree::{self, ProcessIdentity};
use super::signal;
use crate::limits;
use codeyard_base::atomic_file::{self, Durability};

/// The open ledger of this process.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    owner: ProcessIdentity,
    children: Mutex<BTreeMap<u32, Child>>,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Ledgers of dead owners.
    pub ledgers: usize,
    /// Processes that were killed.
    pub killed: usize,
}

/// A guard and what was seen below it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Child {
    guard: ProcessIdentity,
    label: String,
    members: Vec<ProcessIdentity>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Page {
    place: String,
    owner: ProcessIdentity,
    children: Vec<Child>,
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

    /// Notes a new child.
    pub fn add(&self, guard: u32, label: &str) {
        let Some(guard) = proc_tree::identity(guard) else { return };
        let mut children = self.children.lock();
        if children.len() < limits::MAX_LEDGER_ENTRIES {
            children.insert(guard.pid, Child { guard, label: label.to_owned(), members: Vec::new() });
            self.write(&children);
        }
    }

    /// Notes what runs below a child now.
    pub fn note_members(&self, guard: u32, members: Vec<ProcessIdentity>) {
        let mut children = self.children.lock();
        if let Some(child) = children.get_mut(&guard)
            && child.members != members
        {
            child.members = members;
            self.write(&children);
        }
    }

    /// Forgets a child that has ended.
    pub fn remove(&self, guard: u32) {
        let mut children = self.children.lock();
        if children.remove(&guard).is_some() {
            self.write(&children);
        }
    }

    fn write(&self, children: &BTreeMap<u32, Child>) {
        let page = Page { place: place(), owner: self.owner, children: children.values().cloned().collect() };
        if let Err(error) = save(&self.path, &page) {
            warn!(%error, "ledger of child processes could not be written");
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if self.children.lock().is_empty() {
            // It may never have been written.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Kills what dead owners left behind and removes their ledgers. To be called once, before anything is started.
pub fn sweep(state: &Path) -> SweepReport {
    let mut swept = SweepReport::default();
    for entry in fs::read_dir(folder(state)).into_iter().flatten().flatten().take(limits::MAX_LEDGER_ENTRIES) {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match load(&path) {
            // Another process namespace of the same boot: its owner can't be seen from here.
            Some(page) if same_boot_elsewhere(&page.place) || proc_tree::is_alive(page.owner) => continue,
            Some(page) if page.place == place() => {
                swept.ledgers += 1;
                swept.killed += page.children.iter().map(kill_child).sum::<usize>();
            }
            _ => {}
        }
        if let Err(error) = fs::remove_file(&path) {
            warn!(%error, "ledger of a dead process could not be removed");
        }
    }
    swept
}

fn kill_child(child: &Child) -> usize {
    let mut doomed = child.members.clone();
    if proc_tree::is_alive(child.guard) {
        doomed.extend(proc_tree::descendants(child.guard.pid));
        doomed.push(child.guard);
        doomed.sort();
        doomed.dedup();
    }
    let killed = doomed.iter().filter(|&&process| kill_exactly(process)).count();
    if killed > 0 {
        warn!(label = %child.label, killed, "processes left behind by a dead codeyard were killed");
    }
    killed
}

/// Kills this process and no other: a handle is taken first, then the start time is looked at.
#[cfg(target_os = "linux")]
fn kill_exactly(process: ProcessIdentity) -> bool {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return false };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => proc_tree::is_alive(process) && pidfd_send_signal(handle, Signal::KILL).is_ok(),
        // Kernels without handles: the moment between the look and the signal is accepted.
        Err(rustix::io::Errno::NOSYS) => proc_tree::is_alive(process) && signal::to_process(process.pid, libc::SIGKILL),
        Err(_) => false,
    }
}

/// Without `/proc` no process can be identified, so none is killed.
#[cfg(not(target_os = "linux"))]
fn kill_exactly(process: ProcessIdentity) -> bool {
    proc_tree::is_alive(process) && signal::to_process(process.pid, libc::SIGKILL)
}

fn folder(state: &Path) -> PathBuf {
    state.join("children")
}

/// Names this boot and this process namespace: process ids mean something only there.
fn place() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}/{}", boot.trim(), namespace.display())
}

fn same_boot_elsewhere(other: &str) -> bool {
    let here = place();
    let boot = |place: &str| place.split('/').next().map(str::to_owned);
    here != other && boot(&here) == boot(other)
}

fn load(path: &Path) -> Option<Page> {
    let small = fs::metadata(path).ok().is_some_and(|found| found.is_file() && found.len() <= MAX_LEDGER_BYTES);
    if small { serde_json::from_slice(&fs::read(path).ok()?).ok() } else { None }
}

fn save(path: &Path, page: &Page) -> io::Result<()> {
    if page.children.is_empty() {
        return fs::remove_file(path);
    }
    atomic_file::replace_with(path, Durability::Process, &serde_json::to_vec(page)?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn write(state: &Path, page: &Page) {
        fs::create_dir_all(folder(state)).unwrap();
        save(&folder(state).join("dead.json"), page).unwrap();
    }

    fn sleeper() -> std::process::Child {
        #[expect(clippy::disallowed_methods, reason = "a process to be swept")]
        std::process::Command::new("sleep").arg("600").spawn().unwrap()
    }

    /// An owner that can't be alive.
    const DEAD: ProcessIdentity = ProcessIdentity { pid: 4_194_303, start: 1 };

    #[test]
    fn only_exact_processes_of_dead_owners_are_killed() {
        let state = tempfile::tempdir().unwrap();
        let (mut doomed, mut reused) = (sleeper(), sleeper());
        let exact = proc_tree::identity(doomed.id()).unwrap();
        let mistaken =
            proc_tree::identity(reused.id()).map(|found| ProcessIdentity { start: found.start - 1, ..found }).unwrap();
        let child = |guard| Child { guard, label: "test".into(), members: Vec::new() };
        let children = vec![child(exact), child(mistaken)];

        let me = proc_tree::identity(std::process::id()).unwrap();
        write(state.path(), &Page { place: place(), owner: me, children: children.clone() });
        assert_eq!(sweep(state.path()), SweepReport::default(), "its owner lives");
        write(state.path(), &Page { place: "other-boot/x".into(), owner: DEAD, children: children.clone() });
        assert_eq!(sweep(state.path()), SweepReport::default(), "ids of another boot mean nothing");

        write(state.path(), &Page { place: place(), owner: DEAD, children });
        assert_eq!(sweep(state.path()), SweepReport { ledgers: 1, killed: 1 });
        let ended = std::os::unix::process::ExitStatusExt::signal(&doomed.wait().unwrap());
        assert_eq!(ended, Some(libc::SIGKILL));
        assert_eq!(reused.try_wait().unwrap(), None, "the id was reused: it must live");
        assert_eq!(fs::read_dir(folder(state.path())).unwrap().count(), 0);
        reused.kill().unwrap();
        reused.wait().unwrap();
    }

    #[test]
    fn the_file_follows_the_children_and_goes_with_the_last() {
        let state = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(state.path()).unwrap();
        let own = std::process::id();
        ledger.add(own, "me");
        let page = load(&ledger.path).unwrap();
        assert_eq!((page.children.len(), page.owner.pid), (1, own));
        ledger.note_members(own, vec![DEAD]);
        assert_eq!(load(&ledger.path).unwrap().children[0].members, [DEAD]);
        ledger.remove(own);
        assert!(!ledger.path.exists());
    }

    #[test]
    fn garbage_is_removed_and_harmless() {
        let state = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder(state.path())).unwrap();
        fs::write(folder(state.path()).join("x.json"), b"{\"children\": 7").unwrap();
        assert_eq!(sweep(state.path()), SweepReport::default());
        assert_eq!(fs::read_dir(folder(state.path())).unwrap().count(), 0);
    }
}
