//! Finds the control group (version 2) that is delegated to this process, and makes room in it for groups of child processes.
//!
//! A group with members can't give controllers to groups below it, so this process moves into a group of its own first. It bounds
//! nothing; [`control_groups`](crate::control_groups) does. Invariants: nothing is changed in a group that isn't delegated, or that has a member
//! which neither is this process nor descends from it; when a step fails, this process goes back to where it was.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, getxattr};

use crate::proc_tree::ProcessTable;

/// Passes over the members of a delegated control group until all have been moved out of it.
const GROUP_ENTER_PASSES: u32 = 10;

/// Extended attributes that mark a group as delegated. systemd sets them for `Delegate=`.
const MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];
/// The group in which systemd runs the commands of a delegated unit that aren't its service.
const UNIT_COMMANDS: &str = ".control";
/// The controllers that are used.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// A group that is delegated to this process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Delegation {
    /// The delegated group.
    pub(crate) group: PathBuf,
    /// The group of this process below it, if somebody has made one. Otherwise this process is in the delegated group itself.
    pub(crate) own: Option<PathBuf>,
}

/// The group that is delegated to this process. `is_ours` says whether a name is one that codeyard gives to groups.
///
/// # Errors
/// Why there is none, in words for the log.
pub(crate) fn find(is_ours: impl Fn(&str) -> bool) -> Result<Delegation, String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let groups = read("/proc/self/cgroup");
    let path = path_of_version_2(&groups).ok_or("the system has no control groups of version 2")?;
    let folder =
        folder_of(&read("/proc/self/mountinfo"), path).ok_or("control groups of version 2 aren't mounted here")?;
    let found = choose(&folder, path == Path::new("/"), is_own_member, is_marked, is_ours)?;
    check_usable(&found.group)?;
    Ok(found)
}

/// The path of the group of version 2 in the text of `/proc/self/cgroup`.
pub(crate) fn path_of_version_2(text: &str) -> Option<&Path> {
    text.lines().find_map(|line| line.strip_prefix("0::")).map(Path::new)
}

/// The folder of the group `path`, by the text of `/proc/self/mountinfo`.
fn folder_of(mounts: &str, path: &Path) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        if kind.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = place.split(' ').skip(3);
        let root = unescaped(fields.next()?);
        let at = unescaped(fields.next()?);
        let below = path.strip_prefix(&root).ok()?;
        // Joining an empty path would add a slash.
        Some(if below.as_os_str().is_empty() { at } else { at.join(below) })
    })
}

/// A path in `/proc/self/mountinfo`: spaces and the like are octal numbers.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let number = after.get(..3).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match number.filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&bytes))
}

/// Decides which group is delegated: `folder`, in which this process is, or the one above it.
fn choose(
    folder: &Path,
    is_namespace_root: bool,
    is_own_member: impl Fn(&[u32]) -> bool,
    is_marked: impl Fn(&Path) -> bool,
    is_ours: impl Fn(&str) -> bool,
) -> Result<Delegation, String> {
    let members =
        members(folder).map_err(|error| format!("the control group of codeyard can't be read: {}", error.kind()))?;
    if !is_own_member(&members) {
        return Err("the control group of codeyard has other members".into());
    }
    // The root of all groups has no type.
    if is_marked(folder) || is_namespace_root && folder.join("cgroup.type").exists() {
        return Ok(Delegation { group: folder.to_path_buf(), own: None });
    }
    match folder.parent().filter(|above| !is_namespace_root && is_marked(above)) {
        Some(above) if has_only(above, folder, is_ours) => {
            Ok(Delegation { group: above.to_path_buf(), own: Some(folder.to_path_buf()) })
        }
        Some(_) => Err("the control group above that of codeyard is used by others".into()),
        None => {
            Err("the control group of codeyard isn't delegated to it; a unit of systemd needs `Delegate=memory pids`"
                .into())
        }
    }
}

/// Whether `group` has no member, and no group but `own`, that of systemd, and those of codeyard.
fn has_only(group: &Path, own: &Path, is_ours: impl Fn(&str) -> bool) -> bool {
    let is_known = |folder: PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        folder == own || name == UNIT_COMMANDS || is_ours(&name)
    };
    members(group).is_ok_and(|members| members.is_empty()) && groups_below(group).into_iter().all(is_known)
}

/// The folders of the groups directly below `group`.
pub(crate) fn groups_below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// The processes of a group, without those of groups below it. A member outside this process namespace has the number 0.
pub(crate) fn members(group: &Path) -> io::Result<Vec<u32>> {
    let text = fs::read_to_string(group.join("cgroup.procs"))?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Whether this process is among `members`, and all others that still run descend from it.
fn is_own_member(members: &[u32]) -> bool {
    let own = std::process::id();
    let Some(table) = ProcessTable::read() else { return false };
    let descendants = table.descendants(own);
    let is_known = |pid: &u32| *pid == own || descendants.iter().any(|process| process.pid == *pid);
    let has_ended = |pid: &u32| *pid != 0 && table.identity(*pid).is_none();
    members.contains(&own) && members.iter().all(|pid| is_known(pid) || has_ended(pid))
}

fn is_marked(group: &Path) -> bool {
    let mut value = [0_u8; 8];
    MARKS.iter().any(|mark| {
        let length = getxattr(group, *mark, &mut value[..]).unwrap_or_default();
        value[..length] == *b"1"
    })
}

/// Whether groups can be made in `group`, and processes be moved between them.
fn check_usable(group: &Path) -> Result<(), String> {
    let kind = fs::read_to_string(group.join("cgroup.type")).unwrap_or_default();
    if kind.trim() != "domain" {
        return Err(format!("the delegated control group is of the type `{}`", kind.trim()));
    }
    // A process is moved only by somebody who may write to the list of the common group above.
    for path in [group.to_path_buf(), group.join("cgroup.procs"), group.join("cgroup.subtree_control")] {
        access(&path, Access::WRITE_OK).map_err(|_| "the delegated control group is read-only".to_owned())?;
    }
    Ok(())
}

/// Makes sure that the delegated group has no member: moves this process and its descendants into the group `name` below it. Returns the
/// group of this process.
///
/// # Errors
/// Why it couldn't, in words for the log.
pub(crate) fn enter(delegation: &Delegation, name: &str) -> Result<PathBuf, String> {
    if let Some(own) = &delegation.own {
        return Ok(own.clone());
    }
    let own = delegation.group.join(name);
    let moved = create(&own).and_then(|()| move_members(&delegation.group, &own));
    if let Err(error) = moved {
        // Whatever of this fails leaves a group that bounds nothing.
        let _ = move_members(&own, &delegation.group);
        let _ = fs::remove_dir(&own);
        return Err(format!("processes can't be moved in the delegated control group: {}", error.kind()));
    }
    Ok(own)
}

fn create(group: &Path) -> io::Result<()> {
    match fs::create_dir(group) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn move_members(from: &Path, to: &Path) -> io::Result<()> {
    // A process may start another one while it is moved.
    for _ in 0..GROUP_ENTER_PASSES {
        let members = members(from)?;
        if members.is_empty() {
            return Ok(());
        }
        for pid in members {
            match write(&to.join("cgroup.procs"), &pid.to_string()) {
                // It has ended.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                result => result?,
            }
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Lets groups below `group` bound memory and tasks, as far as it may. Returns the controllers that do.
pub(crate) fn enable_controllers(group: &Path) -> Vec<&'static str> {
    let has = |file: &str, name: &str| {
        let text = fs::read_to_string(group.join(file)).unwrap_or_default();
        text.split_whitespace().any(|found| found == name)
    };
    let enable = |name: &&str| {
        if has("cgroup.controllers", name)
            && let Err(error) = write(&group.join("cgroup.subtree_control"), &format!("+{name}"))
        {
            tracing::debug!(%error, controller = name, "a controller of control groups can't be enabled");
        }
        has("cgroup.subtree_control", name)
    };
    CONTROLLERS.into_iter().filter(|name| enable(name)).collect()
}

/// Writes to a file that exists.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder tree as the kernel shows it: each group with its members.
    fn tree(groups: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, members) in groups {
            let folder = root.path().join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cgroup.procs"), members).unwrap();
            fs::write(folder.join("cgroup.subtree_control"), "").unwrap();
        }
        root
    }

    fn chosen(root: &Path, own: &str, marked: &str) -> Result<Delegation, String> {
        let is_marked = |folder: &Path| folder == root.join(marked);
        choose(&root.join(own), false, |members| members == [7], is_marked, |name| name.starts_with("codeyard-"))
    }

    #[test]
    fn the_folder_of_a_group_is_found_by_its_mount() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n\
                      31 30 0:27 / /sys/fs/cgroup/uni\\040fied rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n\
                      32 30 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
        let folder = |path: &str| folder_of(mounts, Path::new(path));
        assert_eq!(folder("/a/b"), Some("/sys/fs/cgroup/uni fied/a/b".into()));
        assert_eq!(folder("/").unwrap().as_os_str(), "/sys/fs/cgroup/uni fied");
        let part = "31 30 0:27 /a /mnt rw - cgroup2 none rw\n";
        assert_eq!(folder_of(part, Path::new("/a/b")), Some("/mnt/b".into()));
        assert_eq!(folder_of(part, Path::new("/c")), None, "it isn't mounted");
        assert_eq!(folder_of("", Path::new("/")), None);
        assert_eq!(path_of_version_2("5:devices:/x\n0::/system.slice/a b\n"), Some(Path::new("/system.slice/a b")));
        assert_eq!(path_of_version_2("5:devices:/x\n"), None);
        assert_eq!(unescaped("a\\134b\\09\\").as_os_str(), "a\\b\\09\\");
    }

    #[test]
    fn a_marked_group_without_foreign_members_is_delegated() {
        let root = tree(&[("unit", "7\n"), ("shared", "7\n8\n")]);
        let found = chosen(root.path(), "unit", "unit").unwrap();
        assert_eq!(found, Delegation { group: root.path().join("unit"), own: None });
        assert!(chosen(root.path(), "unit", "shared").unwrap_err().contains("Delegate="));
        assert!(chosen(root.path(), "shared", "shared").unwrap_err().contains("other members"));
        assert!(chosen(root.path(), "nowhere", "nowhere").unwrap_err().contains("can't be read"));
    }

    #[test]
    fn the_group_above_counts_if_nobody_else_uses_it() {
        let root = tree(&[("unit", ""), ("unit/main", "7\n"), ("unit/.control", "9\n"), ("unit/codeyard-1-2-3-4", "")]);
        let found = chosen(root.path(), "unit/main", "unit").unwrap();
        assert_eq!(found, Delegation { group: root.path().join("unit"), own: Some(root.path().join("unit/main")) });
        let member = tree(&[("unit", "5\n"), ("unit/main", "7\n")]);
        assert!(chosen(member.path(), "unit/main", "unit").unwrap_err().contains("used by others"));
        let user = tree(&[("user", ""), ("user/run.scope", "7\n"), ("user/app.slice", "")]);
        assert!(chosen(user.path(), "user/run.scope", "user").unwrap_err().contains("used by others"));
    }

    #[test]
    fn the_root_of_a_namespace_is_delegated_unless_it_is_the_root_of_all() {
        let root = tree(&[("unit", "7\n")]);
        let folder = root.path().join("unit");
        let found = || choose(&folder, true, |_| true, |_| false, |_| false);
        assert!(found().is_err());
        fs::write(folder.join("cgroup.type"), "domain\n").unwrap();
        assert_eq!(found().unwrap().own, None);
        assert_eq!(check_usable(&folder), Ok(()));
        fs::write(folder.join("cgroup.type"), "threaded\n").unwrap();
        assert!(check_usable(&folder).unwrap_err().contains("threaded"));
    }

    #[test]
    fn only_controllers_that_the_group_has_are_enabled() {
        let root = tree(&[("unit", "")]);
        let folder = root.path().join("unit");
        fs::write(folder.join("cgroup.controllers"), "cpu pids\n").unwrap();
        // In a folder that isn't a group, the request is what is read back.
        assert!(enable_controllers(&folder).is_empty());
        assert_eq!(fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap(), "+pids");
        fs::write(folder.join("cgroup.subtree_control"), "memory pids\n").unwrap();
        fs::write(folder.join("cgroup.controllers"), "").unwrap();
        assert_eq!(enable_controllers(&folder), CONTROLLERS);
    }

    #[test]
    fn members_of_this_process_are_recognised() {
        let own = std::process::id();
        assert!(is_own_member(&[own]));
        assert!(!is_own_member(&[own, 0]), "a member of another namespace");
        assert!(!is_own_member(&[]), "it is somewhere else");
        assert!(is_own_member(&[own, u32::MAX]), "it has ended");
        assert!(own == 1 || !is_own_member(&[own, 1]));
    }
}
