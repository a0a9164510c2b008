//! Reads `/proc`: the descendants of a process, its start time, and the memory of a process tree.
//!
//! It changes nothing. On systems other than Linux nothing is known, and the results are `None` or empty. Invariants: a
//! result lists at most `MAX_PROCESS_TREE` processes of a tree; a process is identified by its id *and* its start time,
//! because ids are reused.
//!
//! The `procfs` crate isn't used: it opens a directory handle for each process and parses each file as a whole into owned
//! maps, where four numbers of two files are needed, and the guard must stay small.

use std::fs;
use std::sync::Arc;

use codeyard_base::clock::Instant;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::limits;

/// A process. A later process with the same id has another start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub start: u64,
}

/// Fields of `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    group: u32,
    start: u64,
    zombie: bool,
}

/// The process with the id `pid`. `None` if there is none or it has ended, even if it isn't reaped yet.
pub fn identity(pid: u32) -> Option<ProcessIdentity> {
    let stat = stat(pid).filter(|stat| !stat.zombie)?;
    Some(ProcessIdentity { pid, start: stat.start })
}

/// Whether exactly this process is running.
pub fn is_alive(process: ProcessIdentity) -> bool {
    identity(process.pid) == Some(process)
}

/// Whether the process group has a member that hasn't ended. Without `/proc`: whether it may have one.
pub fn group_has_members(group: u32) -> bool {
    match ProcessTable::read() {
        Some(table) => table.0.iter().any(|(_, stat)| stat.group == group && !stat.zombie),
        None => crate::signal::group_exists(group),
    }
}

/// All running descendants of `root`, without `root` itself, parents before children.
pub fn descendants(root: u32) -> Vec<ProcessIdentity> {
    ProcessTable::read().map_or_else(Vec::new, |table| table.descendants(root))
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

/// The running processes at one moment: the result of one pass over `/proc`.
#[derive(Debug)]
pub(crate) struct ProcessTable(Vec<(u32, Stat)>);

/// The last shared pass, and when it began.
type SharedPass = Option<(Instant, Option<Arc<ProcessTable>>)>;

impl ProcessTable {
    /// One pass over `/proc`. `None` if there is no `/proc`.
    fn read() -> Option<Self> {
        let entries = if cfg!(target_os = "linux") { fs::read_dir("/proc").ok()? } else { return None };
        let processes = entries.flatten().filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, stat(pid)?))
        });
        Some(Self(processes.collect()))
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

    /// All running descendants of `root`, without `root` itself, parents before children.
    pub(crate) fn descendants(&self, root: u32) -> Vec<ProcessIdentity> {
        let mut found: Vec<(u32, Stat)> = Vec::new();
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            for (pid, stat) in self.0.iter().filter(|(_, stat)| stat.parent == parent) {
                if found.len() >= limits::MAX_PROCESS_TREE {
                    break;
                }
                found.push((*pid, *stat));
                parents.push(*pid);
            }
        }
        let running = found.iter().filter(|(_, stat)| !stat.zombie);
        running.map(|(pid, stat)| ProcessIdentity { pid: *pid, start: stat.start }).collect()
    }

    /// Memory of `root` and all its descendants in bytes. `None` if the process is gone.
    pub(crate) fn memory_bytes(&self, root: u32) -> Option<u64> {
        let own = process_memory(root)?;
        Some(own + self.descendants(root).iter().filter_map(|process| process_memory(process.pid)).sum::<u64>())
    }
}

/// Memory of one process in bytes: its proportional set size, or its resident set size if that can't be read.
fn process_memory(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    let share = rollup.as_deref().and_then(|text| kilobytes(text, "Pss:"));
    let kib = share.or_else(|| kilobytes(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "VmRSS:"))?;
    Some(kib * 1024)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The program's name is in brackets and may contain brackets and spaces. The last bracket ends it.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let end = text.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(text.get(end + 2..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let start = fields.nth(16)?.parse().ok()?;
    Some(Stat { parent, group, start, zombie: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_brackets_does_not_shift_the_fields() {
        let line = b"42 (a) R 1 (b) S 7 9 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat, Stat { parent: 7, group: 9, start: 987_654, zombie: false });
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
        assert!(ProcessTable::shared().unwrap().memory_bytes(own).unwrap() > 100_000);
        assert!(descendants(1).iter().any(|process| process.pid == own) || own == 1);
    }
}
