//! The parts of the system that a confined server may read.
//!
//! A list of paths. No folder of a user, no folder with keys or with data of services is in it.

use std::path::{Path, PathBuf};

/// Programs and libraries.
const PROGRAMS: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/run/current-system",
];

/// Configuration of the loader and of language toolchains. `*` at the end: all names that begin so.
const CONFIGURATION: &[&str] = &[
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/nsswitch.conf", // Node doesn't start if it may not read this file.
    "/etc/ssl/openssl.cnf", "/etc/java*", "/etc/python3*",
];

/// Facts about the machine and devices, for servers in the namespaces of the machine.
const KERNEL_FACTS: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/overcommit_memory",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
    "/dev/random",
    "/dev/urandom",
];

/// Folders of programs and libraries, as they are named.
pub(super) fn programs() -> Vec<PathBuf> {
    existing(PROGRAMS)
}

pub(super) fn configuration() -> Vec<PathBuf> {
    existing(CONFIGURATION)
}

/// Facts about the machine.
pub(super) fn kernel_facts() -> Vec<PathBuf> {
    existing(KERNEL_FACTS)
}

fn existing(paths: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        let Some(beginning) = path.strip_suffix('*').map(Path::new) else {
            found.extend(Path::new(path).symlink_metadata().is_ok().then(|| PathBuf::from(path)));
            continue;
        };
        let (Some(folder), Some(name)) = (beginning.parent(), beginning.file_name().and_then(|name| name.to_str()))
        else {
            continue;
        };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        found.extend(
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(name)).map(|entry| entry.path()),
        );
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_the_system_is_listed() {
        let all: Vec<PathBuf> = [programs(), configuration(), kernel_facts()].concat();
        assert!(all.iter().any(|path| path == Path::new("/usr")));
        for secret in
            ["/etc/shadow", "/etc/ssh/ssh_host_rsa_key", "/root/.ssh/id_rsa", "/run/docker.sock", "/proc/1/environ"]
        {
            assert!(!all.iter().any(|path| Path::new(secret).starts_with(path)), "{secret}");
        }
    }
}
