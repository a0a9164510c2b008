//! Reads `/proc`: the descendants of a process, its start time, and the memory of one process.
//!
//! It changes nothing. On systems other than Linux nothing is known, and the results are `None` or empty. Invariants: a
//! result lists at most `MAX_PROCESS_TREE` processes of a tree; a process is identified by its id *and* its start time,
//! because ids are reused.
//!
//! The `procfs` crate isn't used: it opens a directory handle for each process and parses each file as a whole into owned
//! maps, where four numbers of two files are needed, and the guard must stay small.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use codeyard_base::clock::Instant;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::limits;
use codeyard_base::proc_status;

/// A process. A later process with the same id has another start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub start: u64,
}

/// Fields of `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    group: u32,
    session: u32,
    threads: usize,
    start: u64,
    /// Resident pages.
    resident: u64,
    /// Processor time of the process and of its children that were reaped, in clock ticks.
    ticks: u64,
    zombie: bool,
}

/// The process with the id `pid`. `None` if there is none or it has ended, even if it isn't reaped yet.
pub fn identity(pid: u32) -> Option<ProcessIdentity> {
    let stat = stat(pid).filter(|stat| !stat.zombie)?;
    Some(ProcessIdentity { pid, start: stat.start })
}

/// Processor time that the process `pid` and its children that were reaped have used. `None` if there is no such process.
pub fn processor_time(pid: u32) -> Option<Duration> {
    Some(Duration::from_millis(stat(pid)?.ticks.saturating_mul(1_000) / ticks_per_second()))
}

/// Whether exactly this process is running.
pub fn is_alive(process: ProcessIdentity) -> bool {
    identity(process.pid) == Some(process)
}

/// All running descendants of `root`, without `root` itself, parents before children.
pub fn descendants(root: u32) -> Vec<ProcessIdentity> {
    ProcessTable::read().map_or_else(Vec::new, |table| table.descendants(root))
}

/// The size of a process tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TreeSize {
    /// Running processes.
    pub(crate) processes: usize,
    pub(crate) tasks: usize,
}

/// The size of the tree below `root`, without `root` itself. Reads only files of its processes, where the kernel lists children.
pub(crate) fn size_below(root: u32) -> TreeSize {
    let mut buffer = Vec::with_capacity(STAT_BYTES);
    let mut size = TreeSize::default();
    let Some(mut found) = children(root) else {
        let table = ProcessTable::read().unwrap_or_default();
        let threads = table.descendants(root).into_iter().filter_map(|process| table.processes.get(&process.pid));
        threads.for_each(|stat| size.add(stat));
        return size;
    };
    while let Some(pid) = found.pop() {
        let Some(stat) = read_stat(pid, &mut buffer).filter(|stat| !stat.zombie) else { continue };
        size.add(&stat);
        if size.processes >= limits::MAX_PROCESS_TREE {
            break;
        }
        found.extend(children(pid).unwrap_or_default());
    }
    size
}

impl TreeSize {
    fn add(&mut self, stat: &Stat) {
        self.processes += 1;
        self.tasks += stat.threads;
    }
}

/// The children of all threads of a process, ended ones included. `None`: the process is gone, or the kernel doesn't list children.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut lists = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        lists.extend(fs::read_to_string(thread.path().join("children")));
    }
    let all = lists.iter().flat_map(|list| list.split_ascii_whitespace()).filter_map(|pid| pid.parse().ok());
    (!lists.is_empty()).then(|| all.collect())
}

/// Memory of `root` and all its descendants in bytes. `None` if the process is gone or there is no `/proc`.
pub fn memory_bytes(root: u32) -> Option<u64> {
    ProcessTable::read()?.memory_bytes(root)
}

/// As [`memory_bytes`] for each of `roots`, in one pass over `/proc`.
pub fn memory_of_trees(roots: &[u32]) -> Vec<Option<u64>> {
    let table = ProcessTable::read();
    roots.iter().map(|root| table.as_ref()?.memory_bytes(*root)).collect()
}

/// The first child of a process, read from one small file. `None` if it has none, or the kernel doesn't list children.
pub fn first_child(pid: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_ascii_whitespace().next()?.parse().ok()
}

/// The running processes at one moment: the result of one pass over `/proc`.
#[derive(Debug, Default)]
pub(crate) struct ProcessTable {
    processes: HashMap<u32, Stat>,
    /// The children of each process, in ascending order.
    children: HashMap<u32, Vec<u32>>,
}

/// The last shared pass, and when it began.
type SharedPass = Option<(Instant, Option<Arc<ProcessTable>>)>;

impl ProcessTable {
    /// One pass over `/proc`. `None` if there is no `/proc`.
    pub(crate) fn read() -> Option<Self> {
        let entries = if cfg!(target_os = "linux") { fs::read_dir("/proc").ok()? } else { return None };
        let mut buffer = Vec::with_capacity(STAT_BYTES);
        let mut table = Self::default();
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Some(stat) = read_stat(pid, &mut buffer) else { continue };
            table.children.entry(stat.parent).or_default().push(pid);
            table.processes.insert(pid, stat);
        }
        table.children.values_mut().for_each(|children| children.sort_unstable());
        Some(table)
    }

    /// A pass that began after this call. Callers that wait at the same time share it: any number of concurrent calls makes
    /// at most two passes.
    pub(crate) fn shared() -> Option<Arc<Self>> {
        static LAST: Mutex<SharedPass> = Mutex::new(None);
        let called = Instant::now();
        let mut last = LAST.lock();
        if let Some((_, table)) = last.as_ref().filter(|(began, _)| *began > called) {
            return table.clone();
        }
        let began = Instant::now();
        let table = Self::read().map(Arc::new);
        *last = Some((began, table.clone()));
        table
    }

    /// The process with this id, unless it has ended.
    pub(crate) fn identity(&self, pid: u32) -> Option<ProcessIdentity> {
        let stat = self.processes.get(&pid).filter(|stat| !stat.zombie)?;
        Some(ProcessIdentity { pid, start: stat.start })
    }

    /// The members of a process group that haven't ended.
    pub(crate) fn group_members(&self, group: u32) -> Vec<ProcessIdentity> {
        let members = self.processes.iter().filter(|(_, stat)| stat.group == group && !stat.zombie);
        members.map(|(pid, stat)| ProcessIdentity { pid: *pid, start: stat.start }).collect()
    }

    /// Resident memory of a process in bytes. Pages that it shares with other processes count as a whole.
    pub(crate) fn resident_bytes(&self, pid: u32) -> Option<u64> {
        Some(self.processes.get(&pid)?.resident.saturating_mul(page_bytes()))
    }

    /// A table of processes: id, parent, resident bytes.
    #[cfg(test)]
    pub(crate) fn of(processes: &[(u32, u32, u64)]) -> Self {
        let started: Vec<_> = processes.iter().map(|(pid, parent, bytes)| (*pid, *parent, *bytes, 1)).collect();
        Self::of_started(&started)
    }

    /// The same with start times.
    #[cfg(test)]
    pub(crate) fn of_started(processes: &[(u32, u32, u64, u64)]) -> Self {
        let mut table = Self::default();
        for (pid, parent, bytes, start) in processes.iter().copied() {
            let stat = Stat {
                parent,
                group: pid,
                session: pid,
                threads: 1,
                start,
                resident: bytes / page_bytes(),
                ticks: 0,
                zombie: false,
            };
            table.children.entry(parent).or_default().push(pid);
            table.processes.insert(pid, stat);
        }
        table
    }

    /// The children of `parent`, ended ones included, that aren't in its session.
    pub(crate) fn foreign_children(&self, parent: u32) -> Vec<u32> {
        let Some(session) = self.processes.get(&parent).map(|stat| stat.session) else { return Vec::new() };
        let is_foreign = |pid: &&u32| self.processes.get(*pid).is_some_and(|stat| stat.session != session);
        self.children.get(&parent).into_iter().flatten().filter(is_foreign).copied().collect()
    }

    /// The children of `parent` that have ended in its session as members of the group of another process: what a tool left.
    pub(crate) fn ended_strays(&self, parent: u32) -> Vec<u32> {
        let Some(session) = self.processes.get(&parent).map(|stat| stat.session) else { return Vec::new() };
        let is_stray = |pid: &&u32| {
            self.processes.get(*pid).is_some_and(|stat| stat.zombie && stat.session == session && stat.group != **pid)
        };
        self.children.get(&parent).into_iter().flatten().filter(is_stray).copied().collect()
    }

    /// All running descendants of `root`, without `root` itself, parents before children.
    pub(crate) fn descendants(&self, root: u32) -> Vec<ProcessIdentity> {
        let mut found = Vec::new();
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            for pid in self.children.get(&parent).into_iter().flatten() {
                if found.len() >= limits::MAX_PROCESS_TREE {
                    break;
                }
                found.push(*pid);
                parents.push(*pid);
            }
        }
        found.into_iter().filter_map(|pid| self.identity(pid)).collect()
    }

    /// Memory of `root` and all its descendants in bytes. `None` if the process is gone.
    pub(crate) fn memory_bytes(&self, root: u32) -> Option<u64> {
        let own = process_memory(root)?;
        Some(own + self.descendants(root).iter().filter_map(|process| process_memory(process.pid)).sum::<u64>())
    }
}

impl ProcessTable {
    /// Processor time that `root` and its running descendants have used. `None` if the process is gone.
    pub(crate) fn cpu_time(&self, root: u32) -> Option<Duration> {
        let own = self.processes.get(&root)?.ticks;
        let descendants = self.descendants(root);
        let others = descendants.iter().filter_map(|process| Some(self.processes.get(&process.pid)?.ticks));
        Some(Duration::from_millis((own + others.sum::<u64>()).saturating_mul(1_000) / ticks_per_second()))
    }
}

/// Size of a page of memory in bytes.
fn page_bytes() -> u64 {
    // SAFETY: it takes a number and returns a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Memory of one process in bytes: its proportional set size, or its resident set size if that can't be read.
fn process_memory(pid: u32) -> Option<u64> {
    let resident = || proc_status::bytes_in(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "VmRSS:");
    proportional_bytes(pid).or_else(resident)
}

/// The proportional set size of a process in bytes: a page that several processes share counts for each with its part.
/// The kernel walks all pages of the process for it, which takes about a millisecond per 100 MB. `None` if it can't be read.
pub fn proportional_bytes(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    proc_status::bytes_in(&rollup, "Pss:")
}

fn ticks_per_second() -> u64 {
    // SAFETY: the call takes a number and accesses no memory of this process.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0).unwrap_or(100)
}

/// Bytes that hold a line of `/proc/<pid>/stat`.
const STAT_BYTES: usize = 1024;

fn stat(pid: u32) -> Option<Stat> {
    read_stat(pid, &mut Vec::with_capacity(STAT_BYTES))
}

fn read_stat(pid: u32, buffer: &mut Vec<u8>) -> Option<Stat> {
    buffer.clear();
    // One read of a large buffer: the length of a file in `/proc` is unknown.
    buffer.resize(STAT_BYTES, 0);
    let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(buffer).ok()?;
    parse_stat(buffer.get(..length)?)
}

/// The program's name is in brackets and may contain brackets and spaces. The last bracket ends it.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let end = text.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(text.get(end + 2..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let first: i64 = fields.nth(7)?.parse().ok()?;
    // User and system time, the same of the children. The kernel prints those of the children as signed numbers.
    let times = fields.by_ref().take(3).map(|field| field.parse::<i64>().unwrap_or(0));
    let ticks = u64::try_from(first + times.sum::<i64>()).unwrap_or(0);
    let threads = fields.nth(2)?.parse().unwrap_or(1);
    let start = fields.nth(1)?.parse().ok()?;
    let resident = fields.nth(1)?.parse().unwrap_or(0);
    Some(Stat { parent, group, session, threads, start, resident, ticks, zombie: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_brackets_does_not_shift_the_fields() {
        let line = b"42 (a) R 1 (b) S 7 9 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 18";
        let stat = parse_stat(line).unwrap();
        assert_eq!(
            stat,
            Stat {
                parent: 7,
                group: 9,
                session: 9,
                threads: 1,
                start: 987_654,
                resident: 2,
                ticks: 5 + 6 + 7 + 8,
                zombie: false
            }
        );
        assert_eq!(parse_stat(b"42 (a"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_identity_memory_and_a_parent() {
        let own = std::process::id();
        let me = identity(own).unwrap();
        assert!(is_alive(me));
        assert!(
            !is_alive(ProcessIdentity { start: me.start + 1, ..me }),
            "a process with another start time is another process"
        );
        assert!(memory_bytes(own).unwrap() > 100_000);
        let trees = memory_of_trees(&[own, u32::MAX]);
        assert!(trees[0].unwrap() > 100_000 && trees[1].is_none());
        let table = ProcessTable::shared().unwrap();
        assert!(table.memory_bytes(own).unwrap() > 100_000);
        assert!(table.cpu_time(own).is_some() && table.cpu_time(u32::MAX).is_none());
        #[expect(clippy::disallowed_methods, reason = "the test needs a tree to count")]
        let start = || std::process::Command::new("sleep").arg("600").spawn().unwrap();
        // A child of another thread counts, too.
        let children = [start(), std::thread::spawn(start).join().unwrap()];
        let size = size_below(own);
        assert!(size.processes >= 2 && size.tasks >= size.processes, "{size:?}");
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(descendants(1).iter().any(|process| process.pid == own) || own == 1);
    }
}
