//! Control groups (version 2) of language servers: one for each server, with its memory and its tasks bounded by the kernel.
//!
//! They exist where a group is [delegated](crate::delegation) to this process; otherwise nothing here is used. A guard is outside of the
//! group of its server: the server enters it before it runs its program. Invariants: a group is removed, with every process that is left
//! in it, when its guard has ended; groups of a dead codeyard are removed at the next start; those of a living one, and of another process
//! namespace, never are.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use codeyard_base::blocking;

use crate::delegation::{self, write};
use crate::limits::{MAX_PROCESS_TREE, SANDBOX_THREADS_PER_PROCESS};
use crate::proc_tree::{self, ProcessIdentity};
use crate::resource_limits::ResourceLimits;
use crate::signal;

/// Memory of the control group of a server above the limit that codeyard keeps by measuring, in percent of that limit.
const GROUP_MEMORY_HEADROOM_PERCENT: u64 = 12;
/// Pause between two attempts to remove the control group of an ended server, in milliseconds.
const GROUP_END_PASS_MS: u64 = 10;
/// Most attempts to remove the control group of an ended server.
const GROUP_END_PASSES: u32 = 50;

/// The first part of the names of all groups.
const PREFIX: &str = "codeyard";
/// The last part of the name of the group of codeyard itself.
const OWN: &str = "self";

/// The control groups of this process and its language servers.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    /// The delegated group, in which the others are.
    parent: PathBuf,
    /// That of this process.
    own: PathBuf,
    owner: Owner,
    /// What the kernel bounds: `memory`, `pids`.
    controllers: Vec<&'static str>,
    next: AtomicU64,
}

/// The codeyard that a group belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    /// The number of its process namespace.
    namespace: u64,
    process: ProcessIdentity,
}

impl Owner {
    fn this_process() -> Self {
        let pid = std::process::id();
        let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let digits: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
        let process = proc_tree::identity(pid).unwrap_or(ProcessIdentity { pid, start: 0 });
        Self { namespace: digits.parse().unwrap_or(0), process }
    }

    /// The name of a group whose last part is `part`.
    fn name(self, part: &str) -> String {
        let Self { namespace, process: ProcessIdentity { pid, start } } = self;
        format!("{PREFIX}-{namespace}-{pid}-{start}-{part}")
    }

    /// The owner in the name of a group, if codeyard made it, and the last part of the name.
    fn of_name(name: &str) -> Option<(Self, &str)> {
        let mut parts = name.strip_prefix(PREFIX)?.strip_prefix('-')?.splitn(4, '-');
        let namespace = parts.next()?;
        let pid = parts.next()?;
        let start = parts.next()?;
        let process = ProcessIdentity { pid: pid.parse().ok()?, start: start.parse().ok()? };
        Some((Self { namespace: namespace.parse().ok()?, process }, parts.next()?))
    }

    /// Whether it has ended. One of another process namespace can't be seen, so it may live.
    fn is_dead(self, here: u64) -> bool {
        self.namespace == here && !proc_tree::is_alive(self.process)
    }
}

impl ControlGroups {
    /// As [`open`](Self::open), and logs what bounds language servers now.
    pub(crate) fn open_and_log() -> Option<Arc<Self>> {
        match Self::open() {
            Ok(groups) => {
                let group = groups.parent.display();
                let controllers = groups.controllers.join(" ");
                tracing::info!(%group, controllers, "each language server is bounded by a control group of its own");
                Some(Arc::new(groups))
            }
            Err(why) => {
                tracing::info!(why, "language servers are bounded by resource limits and the process table");
                None
            }
        }
    }

    /// Uses the group that is delegated to this process: moves this process into a group of its own below it, and removes the groups of
    /// dead codeyards there.
    ///
    /// # Errors
    /// Why there are none, in words for the log. This process is then where it was.
    fn open() -> Result<Self, String> {
        let delegation = delegation::find(|name| Owner::of_name(name).is_some())?;
        let owner = Owner::this_process();
        let own = delegation::enter(&delegation, &owner.name(OWN))?;
        let controllers = delegation::enable_controllers(&delegation.group);
        let groups = Self { parent: delegation.group, own, owner, controllers, next: AtomicU64::new(0) };
        remove_all(groups.left_overs());
        Ok(groups)
    }

    /// The folder of the group of this process.
    pub(crate) fn own(&self) -> &Path {
        &self.own
    }

    /// The folders of the groups of its servers.
    pub(crate) fn of_servers(&self) -> Vec<PathBuf> {
        let mut folders = delegation::groups_below(&self.parent);
        folders.retain(|folder| owner_of(folder).is_some_and(|(owner, part)| owner == self.owner && part != OWN));
        folders
    }

    /// The groups of dead codeyards.
    fn left_overs(&self) -> Vec<PathBuf> {
        let mut folders = delegation::groups_below(&self.parent);
        folders.retain(|folder| owner_of(folder).is_some_and(|(owner, _)| owner.is_dead(self.owner.namespace)));
        folders
    }

    /// A new group for a server. A failure is logged: the server's other limits hold without it.
    pub(crate) fn group_for(&self, label: &str, limits: &ResourceLimits) -> Option<Arc<ControlGroup>> {
        match self.create(limits) {
            Ok(group) => Some(Arc::new(group)),
            Err(error) => {
                tracing::warn!(server = label, %error, "cannot make the control group of a language server");
                None
            }
        }
    }

    /// A new group without members. After an error no group is left.
    fn create(&self, limits: &ResourceLimits) -> io::Result<ControlGroup> {
        let folder = self.parent.join(self.owner.name(&self.next.fetch_add(1, Relaxed).to_string()));
        fs::create_dir(&folder)?;
        let group = ControlGroup { folder };
        for (file, value) in bounds(limits) {
            match write(&group.folder.join(file), &value) {
                // The controller isn't enabled, or the kernel is older than the file.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(group)
    }
}

/// The owner in the name of a folder, and the last part of the name.
fn owner_of(folder: &Path) -> Option<(Owner, &str)> {
    Owner::of_name(folder.file_name()?.to_str()?)
}

/// Files of a group and what is written to them. Memory is bounded above the limit that codeyard keeps by measuring, so that codeyard
/// normally ends the server, and says how much it used.
fn bounds(limits: &ResourceLimits) -> Vec<(&'static str, String)> {
    let mut bounds = Vec::new();
    if let Some(bytes) = limits.tree_bytes {
        let most = bytes.saturating_add(bytes / 100 * GROUP_MEMORY_HEADROOM_PERCENT);
        bounds.push(("memory.max", most.to_string()));
        bounds.push(("memory.swap.max", "0".to_owned()));
        bounds.push(("memory.oom.group", "1".to_owned()));
    }
    if let Some(processes) = limits.processes {
        bounds.push(("pids.max", processes.saturating_mul(SANDBOX_THREADS_PER_PROCESS).to_string()));
    }
    bounds
}

/// The control group of one server. Dropping it removes its folder if it has no members.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn kill(&self) {
        kill(&self.folder);
    }

    /// Kills what is left in it, and removes it. Returns whether the kernel killed its members because of its own limit of memory.
    pub(crate) async fn end(self: Arc<Self>, label: &str) -> bool {
        let mut was_over_memory = false;
        for _ in 0..GROUP_END_PASSES {
            let group = self.clone();
            let pass = blocking::spawn(move || (is_over_memory(&group.folder), kill_and_remove(&group.folder))).await;
            let Ok((is_over, is_removed)) = pass else { break };
            was_over_memory |= is_over;
            if is_removed {
                return was_over_memory;
            }
            tokio::time::sleep(Duration::from_millis(GROUP_END_PASS_MS)).await;
        }
        tracing::warn!(
            server = label,
            "the control group of a language server can't be removed; the next start tries again"
        );
        was_over_memory
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Usually it has been removed. One with members stays: their guard ends them.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Whether a group has reached its own limit of memory, and processes were killed. Kills that only the memory of the machine or of a group
/// above caused don't count.
fn is_over_memory(group: &Path) -> bool {
    let events = fs::read_to_string(group.join("memory.events")).unwrap_or_default();
    let count = |name: &str| field(&events, name).unwrap_or(0);
    count("oom") > 0 && count("oom_kill") + count("oom_group_kill") > 0
}

/// Kills the members of a group, also of those below it.
fn kill(group: &Path) {
    if write(&group.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    // Before Linux 5.14. Processes that start others meanwhile are met by the next pass.
    for folder in tree(group) {
        for pid in delegation::members(&folder).unwrap_or_default() {
            signal::to_process(pid, libc::SIGKILL);
        }
    }
}

/// A group and those below it, which a server may have made, parents first.
fn tree(group: &Path) -> Vec<PathBuf> {
    let mut found = vec![group.to_path_buf()];
    let mut next = 0;
    while let Some(folder) = found.get(next).filter(|_| next < MAX_PROCESS_TREE) {
        let below = delegation::groups_below(folder);
        found.extend(below);
        next += 1;
    }
    found
}

/// Kills the members of a group and removes it. `false`: some still run.
fn kill_and_remove(group: &Path) -> bool {
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    if fs::remove_dir(group).map_or_else(|error| is_gone(&error), |()| true) {
        return true;
    }
    kill(group);
    let mut removed = Ok(());
    for folder in tree(group).iter().rev() {
        removed = fs::remove_dir(folder);
    }
    // The last one was `group` itself.
    removed.map_or_else(|error| is_gone(&error), |()| true)
}

/// Kills the members of groups and removes the groups: at once where it can be done, otherwise by a thread that ends after a bounded time.
fn remove_all(mut groups: Vec<PathBuf>) {
    let found = groups.len();
    groups.retain(|group| !kill_and_remove(group));
    if found > 0 {
        tracing::info!(found, "removed control groups that a dead codeyard had left");
    }
    if groups.is_empty() {
        return;
    }
    let removing = move || {
        // Nothing is ever sent, so each wait lasts its whole time.
        let (_sender, never) = mpsc::channel::<()>();
        for _ in 0..GROUP_END_PASSES {
            let _waited = never.recv_timeout(Duration::from_millis(GROUP_END_PASS_MS));
            groups.retain(|group| !kill_and_remove(group));
            if groups.is_empty() {
                return;
            }
        }
        tracing::warn!(left = groups.len(), "control groups of a dead codeyard can't be removed");
    };
    if let Err(error) = std::thread::Builder::new().name("control groups".to_owned()).spawn(removing) {
        tracing::warn!(%error, "control groups of a dead codeyard stay until the next start");
    }
}

/// What a server says that runs outside of its control group.
const NOT_ENTERED: &str = "codeyard: the language server can't enter its control group; its other limits hold\n";

/// A group that a child process will enter: opened before the child is made, because the child may do little.
#[derive(Debug)]
pub(crate) struct Entry(File);

impl Entry {
    /// Opens the list of members of the group with this folder. A failure is reported on standard error.
    pub(crate) fn open(folder: &Path) -> Option<Self> {
        let opened = OpenOptions::new().write(true).open(folder.join("cgroup.procs"));
        opened.inspect_err(|_| eprint!("{NOT_ENTERED}")).ok().map(Self)
    }

    /// Moves the calling process into the group. A failure is reported on standard error. Async-signal-safe.
    pub(crate) fn enter(&self) {
        if rustix::io::write(&self.0, b"0").is_err() {
            // There is nowhere else to report it.
            let _ = rustix::io::write(io::stderr(), NOT_ENTERED.as_bytes());
        }
    }
}

/// The number of the line of `name` in a file of a group that has one for each name.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_group_it_is() {
        let own = Owner::this_process();
        assert_ne!((own.namespace, own.process.start), (0, 0));
        assert_eq!(Owner::of_name(&own.name("12")), Some((own, "12")));
        assert!(!own.is_dead(own.namespace));
        let dead = Owner { process: ProcessIdentity { start: own.process.start + 1, ..own.process }, ..own };
        assert!(dead.is_dead(own.namespace));
        assert!(!dead.is_dead(own.namespace + 1), "it isn't known in another namespace");
        for name in ["codeyard", "codeyard-1-2-3", "codeyard-1-2-x-4", "codeyardx-1-2-3-4", "app.slice"] {
            assert_eq!(Owner::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn memory_is_bounded_above_the_measured_limit_and_tasks_by_the_processes() {
        let limits = ResourceLimits { tree_bytes: Some(1000), processes: Some(256), ..ResourceLimits::default() };
        let bounds = bounds(&limits);
        let value = |name: &str| bounds.iter().find(|(file, _)| *file == name).map(|(_, value)| value.as_str());
        assert_eq!(value("memory.max"), Some("1120"));
        assert_eq!((value("memory.swap.max"), value("memory.oom.group")), (Some("0"), Some("1")));
        assert_eq!(value("pids.max"), Some("4096"));
        assert!(super::bounds(&ResourceLimits::default()).is_empty());
    }

    #[test]
    fn only_the_limit_of_the_group_itself_counts() {
        let group = tempfile::tempdir().unwrap();
        let of = |text: &str| {
            fs::write(group.path().join("memory.events"), text).unwrap();
            is_over_memory(group.path())
        };
        assert!(of("low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 1\n"));
        assert!(!of("low 0\nhigh 0\nmax 9\noom 0\noom_kill 3\noom_group_kill 1\n"), "the machine had no memory left");
        assert!(!of("low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n"), "no process was killed");
        fs::remove_file(group.path().join("memory.events")).unwrap();
        assert!(!is_over_memory(group.path()));
    }

    #[test]
    fn groups_are_created_listed_and_removed() {
        let parent = tempfile::tempdir().unwrap();
        let owner = Owner::this_process();
        let path = |owner: Owner, part: &str| parent.path().join(owner.name(part));
        let groups = ControlGroups {
            parent: parent.path().to_path_buf(),
            own: path(owner, OWN),
            owner,
            controllers: Vec::new(),
            next: AtomicU64::new(0),
        };
        let dead = Owner { process: ProcessIdentity { start: owner.process.start + 1, ..owner.process }, ..owner };
        let elsewhere = Owner { namespace: owner.namespace + 1, ..dead };
        for folder in [groups.own.clone(), path(dead, "0"), path(elsewhere, "0"), parent.path().join("other")] {
            fs::create_dir(folder).unwrap();
        }
        let limits = ResourceLimits { tree_bytes: Some(1 << 20), ..ResourceLimits::default() };
        let first = groups.create(&limits).unwrap();
        let second = groups.create(&limits).unwrap();
        let mut found = groups.of_servers();
        found.sort();
        assert_eq!(found, [first.folder(), second.folder()]);
        assert_eq!(fs::read_dir(first.folder()).unwrap().count(), 0, "a bound is written only if the kernel offers it");
        assert_eq!(groups.left_overs(), [path(dead, "0")]);
        fs::create_dir(path(dead, "0").join("below")).unwrap();
        remove_all(groups.left_overs());
        assert!(groups.left_overs().is_empty());
        drop((first, second));
        assert!(groups.of_servers().is_empty() && path(elsewhere, "0").exists());
    }
}
