//! Limits of the processes of one language server: open files, size of a file, writable memory, tasks, number of processes.
//!
//! The kernel keeps them for each process; the guard counts processes; those of a whole tree are kept by its
//! [control group](crate::control_groups), where there is one. Invariants: a limit is only ever lowered; a confined or
//! guarded process leaves no core file.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// The limits. `None`: none of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceLimits {
    /// Open files of one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// The largest file that a process may write, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Writable private memory of one process, in bytes, used or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_bytes: Option<u64>,
    /// Tasks of the user in the user namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// Processes of the whole tree. The guard ends a tree that has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Memory of the whole tree, in bytes. The kernel keeps it where the tree has a control group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree_bytes: Option<u64>,
}

impl ResourceLimits {
    /// Lowers the limits of the calling process. Async-signal-safe.
    ///
    /// # Errors
    /// Of the operating system.
    pub(crate) fn apply_to_self(&self) -> io::Result<()> {
        let all = [
            (Resource::Core, Some(0)),
            (Resource::Nofile, self.open_files),
            (Resource::Fsize, self.file_bytes),
            (Resource::Data, self.data_bytes),
            (Resource::Nproc, self.tasks),
        ];
        for (resource, most) in all {
            let Some(most) = most else { continue };
            let mut limit = getrlimit(resource);
            limit.maximum = Some(limit.maximum.map_or(most, |maximum| maximum.min(most)));
            limit.current = Some(limit.current.map_or(most, |current| current.min(most)));
            setrlimit(resource, limit)?;
        }
        Ok(())
    }

    /// The text for a command line.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The limits of such a text.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_a_command_line() {
        let limits = ResourceLimits { open_files: Some(9), processes: Some(2), ..ResourceLimits::default() };
        assert_eq!(ResourceLimits::from_text(&limits.to_text()), Some(limits));
        assert_eq!(ResourceLimits::from_text("{}"), Some(ResourceLimits::default()));
        assert_eq!(ResourceLimits::from_text("no"), None);
    }
}
