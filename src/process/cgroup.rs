//! Reads how much memory the kernel counts for the child processes of codeyard: that of its control group (version 2) without its own, and
//! that of the groups of its language servers.
//!
//! It creates and changes no group. Invariant: the group of codeyard counts only if it has no member but this process and its descendants,
//! and no group below it; otherwise the figure would include processes that codeyard can't stop.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::control_groups::{ControlGroups, field};
use crate::delegation::{members, path_of_version_2};
use crate::proc_tree::ProcessTable;
use codeyard_base::proc_status;

/// Where control groups of version 2 are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// Memory of the child processes in bytes that can't be dropped: anonymous and shared memory. Pages of files don't count, because the
/// kernel drops them when memory is needed. `groups` are those of the servers, if they have any. `None`: this process has no group of its
/// own, or the system has no such groups.
pub(crate) fn children_bytes(table: &ProcessTable, groups: Option<&ControlGroups>) -> Option<u64> {
    let group = match groups {
        Some(groups) => groups.own().to_path_buf(),
        None => own_group(&fs::read_to_string("/proc/self/cgroup").ok()?)?,
    };
    let is_exclusive = |members: &[u32]| {
        let own = std::process::id();
        let descendants = table.descendants(own);
        members.iter().all(|pid| *pid == own || descendants.iter().any(|process| process.pid == *pid))
    };
    let own = unreclaimable_of_status(&fs::read_to_string("/proc/self/status").ok()?)?;
    let servers = groups.map_or(Some(0), |groups| bytes_of_servers(&groups.of_servers()))?;
    Some(group_bytes(&group, is_exclusive)?.saturating_sub(own) + servers)
}

/// Anonymous and shared memory of the groups of servers, with groups below them.
fn bytes_of_servers(groups: &[PathBuf]) -> Option<u64> {
    let bytes = |group: &PathBuf| match fs::read_to_string(group.join("memory.stat")) {
        Ok(stat) => unreclaimable_of_stat(&stat),
        // The server has ended, unless the kernel doesn't count memory here.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !group.exists() => Some(0),
        Err(_) => None,
    };
    groups.iter().map(bytes).sum()
}

/// Memory that this process and its children may use, in bytes: that of the machine, or less where a control group bounds it. `None` if it
/// isn't known.
pub fn memory_of_machine() -> Option<u64> {
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| proc_status::bytes_in(&text, "MemTotal:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let second = own_group(&groups).into_iter().flat_map(|group| {
        let inside = group.ancestors().take_while(|group| group.starts_with(MOUNT)).map(Path::to_path_buf);
        inside.filter_map(|group| limit(group.join("memory.max"))).collect::<Vec<_>>()
    });
    let first = groups.lines().find_map(|line| line.split_once(":memory:")).and_then(|(_, path)| {
        limit(Path::new(MOUNT).join("memory").join(path.trim_start_matches('/')).join("memory.limit_in_bytes"))
    });
    total.into_iter().chain(second).chain(first).min()
}

/// The folder of the group in the text of `/proc/self/cgroup`.
fn own_group(text: &str) -> Option<PathBuf> {
    let path = path_of_version_2(text)?;
    Some(Path::new(MOUNT).join(path.strip_prefix("/").unwrap_or(path)))
}

/// Anonymous and shared memory of a group whose members satisfy `is_exclusive`.
fn group_bytes(group: &Path, is_exclusive: impl Fn(&[u32]) -> bool) -> Option<u64> {
    let stat = fs::read_to_string(group.join("memory.stat")).ok()?;
    let below = fs::read_to_string(group.join("cgroup.stat")).ok()?;
    if field(&below, "nr_descendants")? != 0 {
        return None;
    }
    let members = members(group).ok()?;
    // A member outside this process namespace has the number 0.
    if members.contains(&0) || !is_exclusive(&members) {
        return None;
    }
    unreclaimable_of_stat(&stat)
}

/// Anonymous and shared memory in the text of `memory.stat`.
fn unreclaimable_of_stat(stat: &str) -> Option<u64> {
    Some(field(stat, "anon")? + field(stat, "shmem")?)
}

/// Anonymous and shared memory in the text of `/proc/<pid>/status`.
fn unreclaimable_of_status(text: &str) -> Option<u64> {
    Some(proc_status::bytes_in(text, "RssAnon:")? + proc_status::bytes_in(text, "RssShmem:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_group_without_foreign_members_counts() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        write("memory.stat", "anon 1000\nfile 900000\nkernel 5\nshmem 24\nanon_thp 7\n");
        write("cgroup.stat", "nr_descendants 0\nnr_dying_descendants 3\n");
        write("cgroup.procs", "10\n11\n");
        assert_eq!(group_bytes(group.path(), |members| members == [10, 11]), Some(1024));
        assert_eq!(group_bytes(group.path(), |_| false), None);
        write("cgroup.procs", "10\n0\n");
        assert_eq!(group_bytes(group.path(), |_| true), None, "a member of another namespace");
        write("cgroup.procs", "10\n");
        write("cgroup.stat", "nr_descendants 1\n");
        assert_eq!(group_bytes(group.path(), |_| true), None, "a group below it");
        assert_eq!(group_bytes(&group.path().join("nowhere"), |_| true), None);
    }

    #[test]
    fn the_groups_of_servers_are_added_up() {
        let parent = tempfile::tempdir().unwrap();
        let group = |name: &str| parent.path().join(name);
        for (name, stat) in [("1", "anon 1000\nfile 9\nshmem 24\n"), ("2", "anon 1\nshmem 0\n")] {
            fs::create_dir(group(name)).unwrap();
            fs::write(group(name).join("memory.stat"), stat).unwrap();
        }
        assert_eq!(bytes_of_servers(&[group("1"), group("2"), group("ended")]), Some(1025));
        assert_eq!(bytes_of_servers(&[]), Some(0));
        fs::remove_file(group("2").join("memory.stat")).unwrap();
        assert_eq!(bytes_of_servers(&[group("1"), group("2")]), None, "memory isn't counted there");
    }

    #[test]
    fn the_group_is_the_one_of_version_2() {
        let text = "5:devices:/x\n0::/system.slice/codeyard.service\n";
        assert_eq!(own_group(text), Some(PathBuf::from("/sys/fs/cgroup/system.slice/codeyard.service")));
        assert_eq!(own_group("0::/\n"), Some(PathBuf::from("/sys/fs/cgroup/")));
        assert_eq!(own_group("5:devices:/x\n"), None, "version 1 alone");
        assert_eq!(unreclaimable_of_status("VmRSS: 90 kB\nRssAnon:\t 3 kB\nRssShmem: 1 kB\n"), Some(4096));
    }
}
