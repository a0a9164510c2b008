//! Which processes descend from one, since when a process runs, and what memory a tree takes.
//!
//! It looks at `/proc` and changes nothing; elsewhere than on Linux it knows nothing and says so. Invariants: at most
//! `MAX_PROCESS_TREE` processes of a tree are named; a process is identified by its id *and* its start time, because
//! ids are used again.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::limits;

/// A process that can't be mistaken for a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// Its start in clock ticks since boot.
    pub start: u64,
}

/// What `/proc/<pid>/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    group: u32,
    start: u64,
    zombie: bool,
}

/// Who runs under `pid` now; a process that has ended and isn't reaped yet doesn't count.
pub fn identity(pid: u32) -> Option<ProcessIdentity> {
    let stat = stat(pid).filter(|stat| !stat.zombie)?;
    Some(ProcessIdentity { pid, start: stat.start })
}

/// Whether exactly this process still runs.
pub fn is_alive(process: ProcessIdentity) -> bool {
    identity(process.pid) == Some(process)
}

/// Whether a process that hasn't ended belongs to the group `group`. Where `/proc` isn't there: whether there may be one.
pub fn group_has_members(group: u32) -> bool {
    match all() {
        Some(mut all) => all.any(|(_, stat)| stat.group == group && !stat.zombie),
        None => crate::signal::group_exists(group),
    }
}

/// All living descendants of `root`, without itself, parents before children.
pub fn descendants(root: u32) -> Vec<ProcessIdentity> {
    let Some(all) = all() else { return Vec::new() };
    let all: Vec<(u32, Stat)> = all.collect();
    let mut found: Vec<(u32, Stat)> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for (pid, stat) in all.iter().filter(|(_, stat)| stat.parent == parent) {
            if found.len() >= limits::MAX_PROCESS_TREE {
                break;
            }
            found.push((*pid, *stat));
            parents.push(*pid);
        }
    }
    found
        .iter()
        .filter(|(_, stat)| !stat.zombie)
        .map(|(pid, stat)| ProcessIdentity { pid: *pid, start: stat.start })
        .collect()
}

/// Memory of `root` and all its descendants in bytes: the proportional share of what they hold, or what is resident where
/// the share can't be read. `None` if the process is gone or there is no `/proc`.
pub fn memory_bytes(root: u32) -> Option<u64> {
    let own = process_memory(root)?;
    Some(own + descendants(root).iter().filter_map(|process| process_memory(process.pid)).sum::<u64>())
}

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

fn all() -> Option<impl Iterator<Item = (u32, Stat)>> {
    let entries = if cfg!(target_os = "linux") { fs::read_dir("/proc").ok()? } else { return None };
    Some(entries.flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, stat(pid)?))
    }))
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name of the program stands in brackets and may itself hold brackets and blanks: the last bracket ends it.
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
    fn a_hostile_name_does_not_shift_the_fields() {
        let line = b"42 (a) R 1 (b) S 7 9 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat, Stat { parent: 7, group: 9, start: 987_654, zombie: false });
        assert_eq!(parse_stat(b"42 (a"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found() {
        let own = std::process::id();
        let me = identity(own).unwrap();
        assert!(is_alive(me));
        assert!(!is_alive(ProcessIdentity { start: me.start + 1, ..me }), "another start is another process");
        assert!(memory_bytes(own).unwrap() > 100_000);
        assert!(descendants(1).iter().any(|process| process.pid == own) || own == 1);
    }
}
