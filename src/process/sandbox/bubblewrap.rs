//! The command line of bubblewrap: a file system that holds nothing but what the policy names, and namespaces of its own.
//!
//! It starts nothing. Invariants: everything is mounted read-only except the folders to write; the hidden folders are empty.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::SandboxPolicy;
use super::system_paths;

/// Where the executable file of codeyard is in the sandbox.
pub(super) const CONFINER: &str = "/run/codeyard/confine";

/// Where the program is looked for. The `PATH` isn't used: a program of a repository may be on it.
const PLACES: &[&str] = &["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// The program, if it is installed.
pub fn program() -> Option<PathBuf> {
    PLACES.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// Size of an empty folder: 0 would be no limit.
const PAGE_BYTES: u64 = 4096;

/// What is at a path of the sandbox.
enum Mount {
    ReadOnly(PathBuf),
    ReadWrite(PathBuf),
    Memory(u64),
    Link(PathBuf),
}

/// The program, and its arguments up to the command that it runs.
pub(super) fn front(confiner: &Path, policy: &SandboxPolicy) -> Result<(PathBuf, Vec<OsString>), String> {
    let program = program().ok_or("bubblewrap is not installed")?;
    let mut args: Vec<OsString> = [
        "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
        "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox", "--proc", "/proc", "--dev", "/dev",
    ]
    .map(OsString::from)
    .to_vec();
    // Folders come before what is in them.
    for (path, mount) in mounts(confiner, policy) {
        let path = path.into_os_string();
        match mount {
            Mount::ReadOnly(source) => args.extend(["--ro-bind".into(), source.into_os_string(), path]),
            Mount::ReadWrite(source) => args.extend(["--bind".into(), source.into_os_string(), path]),
            Mount::Memory(bytes) => args.extend(["--size".into(), bytes.to_string().into(), "--tmpfs".into(), path]),
            Mount::Link(target) => args.extend(["--symlink".into(), target.into_os_string(), path]),
        }
    }
    // The rest of the file system is two folders in memory; nobody writes there.
    args.extend([
        "--remount-ro".into(),
        "/dev".into(),
        "--remount-ro".into(),
        "/".into(),
        "--chdir".into(),
        policy.cwd.clone().into_os_string(),
        "--".into(),
    ]);
    args.push(CONFINER.into());
    Ok((program, args))
}

fn mounts(confiner: &Path, policy: &SandboxPolicy) -> BTreeMap<PathBuf, Mount> {
    let mut mounts = BTreeMap::new();
    for temp in ["/tmp", "/dev/shm"] {
        mounts.insert(PathBuf::from(temp), Mount::Memory(policy.temp_bytes()));
    }
    for path in system_paths::programs().into_iter().chain(system_paths::configuration()) {
        match std::fs::read_link(&path) {
            Ok(target) if path.parent() == Some(Path::new("/")) => mounts.insert(path, Mount::Link(target)),
            _ => mounts.insert(path.clone(), Mount::ReadOnly(path)),
        };
    }
    for path in policy.read.iter().chain(&policy.execute) {
        mounts.insert(path.clone(), Mount::ReadOnly(path.clone()));
    }
    for hidden in &policy.hidden {
        mounts.insert(hidden.clone(), Mount::Memory(PAGE_BYTES));
    }
    for path in &policy.write {
        mounts.insert(path.clone(), Mount::ReadWrite(path.clone()));
    }
    if let Some(temp) = &policy.temp {
        mounts.insert(temp.clone(), Mount::Memory(policy.temp_bytes()));
    }
    mounts.insert(PathBuf::from(CONFINER), Mount::ReadOnly(confiner.to_path_buf()));
    mounts
}
