//! Limits of the kernel and of this process that bound how many workspaces can be served, with advice where they are low.

use serde::Serialize;

/// One limit; the JSON output has these keys.
#[derive(Debug, Serialize)]
pub(super) struct MachineLimit {
    pub name: &'static str,
    /// Its value; `None` if it is unlimited or cannot be read.
    pub value: Option<u64>,
    /// What to do if it is low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// Values below these get advice.
const ENOUGH_WATCHES: u64 = 65_536;
const ENOUGH_INSTANCES: u64 = 128;
const ENOUGH_FILES: u64 = 4_096;
const ENOUGH_PROCESSES: u64 = 1_024;

pub(super) fn read() -> Vec<MachineLimit> {
    let kernel = |path: &str| std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let processes = [kernel("/sys/fs/cgroup/pids.max"), kernel("/proc/sys/kernel/pid_max"), own_processes()];
    vec![
        limit(
            "inotify watches",
            kernel("/proc/sys/fs/inotify/max_user_watches"),
            ENOUGH_WATCHES,
            "each watched folder uses one; raise it with `sudo sysctl fs.inotify.max_user_watches=524288`",
        ),
        limit(
            "inotify instances",
            kernel("/proc/sys/fs/inotify/max_user_instances"),
            ENOUGH_INSTANCES,
            "raise it with `sudo sysctl fs.inotify.max_user_instances=512`",
        ),
        limit("open files", files, ENOUGH_FILES, "raise it with `ulimit -n 65536` before `codeyard serve`"),
        limit(
            "processes",
            processes.into_iter().flatten().min(),
            ENOUGH_PROCESSES,
            "each language server uses several, threads included; raise the limit of the container or the user",
        ),
    ]
}

fn own_processes() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nproc).current
}

fn limit(name: &'static str, value: Option<u64>, enough: u64, advice: &str) -> MachineLimit {
    let low = value.is_some_and(|value| value < enough);
    MachineLimit { name, value, advice: low.then(|| format!("low; {advice}")) }
}

impl MachineLimit {
    /// The limit as a line of text.
    pub(super) fn line(&self) -> String {
        let value = self.value.map_or_else(|| "no limit known".to_owned(), |value| value.to_string());
        let advice = self.advice.as_deref().map(|advice| format!(" ({advice})")).unwrap_or_default();
        format!("  {}: {value}{advice}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_low_limits_have_advice() {
        assert!(limit("x", Some(1), 2, "more").line().contains("x: 1 (low; more)"));
        assert_eq!(limit("x", Some(2), 2, "more").line(), "  x: 2");
        assert_eq!(limit("x", None, 2, "more").line(), "  x: no limit known");
        assert_eq!(read().len(), 4);
    }
}
