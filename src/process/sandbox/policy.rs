//! What a confined process may access.
//!
//! Data, and rules over paths. Invariants: all paths are absolute and without links; a folder that is both readable and hidden is hidden.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Mechanism;
use super::system_paths;
use crate::launch::SandboxRequest;
use crate::limits::{SANDBOX_THREADS_PER_PROCESS, SANDBOX_TMP_BYTES};
use crate::resource_limits::ResourceLimits;

/// What a confined process may access, with all paths resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Read only.
    pub read: Vec<PathBuf>,
    /// Read and run.
    pub execute: Vec<PathBuf>,
    /// Read and write.
    pub write: Vec<PathBuf>,
    /// Hidden folders.
    pub hidden: Vec<PathBuf>,
    /// The folder for temporary files.
    pub temp: Option<PathBuf>,
    pub cwd: PathBuf,
    pub limits: ResourceLimits,
}

/// The part of a policy that the last step applies, in the form in which it is passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinedPolicy {
    /// Whether Landlock rules must hold. Otherwise they are added where the kernel has them.
    pub needs_landlock: bool,
    /// Whether `/proc` shows the processes of the sandbox only.
    pub has_own_proc: bool,
    /// Read only.
    pub read: Vec<PathBuf>,
    /// Read and run.
    pub execute: Vec<PathBuf>,
    /// Read and write.
    pub write: Vec<PathBuf>,
    pub limits: ResourceLimits,
}

impl SandboxPolicy {
    /// The policy of a request. Paths that don't exist are left out.
    pub fn of(request: &SandboxRequest, temp: Option<&Path>, cwd: &Path, limits: ResourceLimits) -> Self {
        let real = |paths: &[PathBuf]| {
            let mut real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
            real.sort();
            real.dedup();
            real
        };
        Self {
            read: real(&request.roots),
            execute: real(&request.toolchain),
            write: real(&request.caches),
            hidden: real(&request.hidden),
            temp: temp.and_then(|temp| temp.canonicalize().ok()),
            cwd: cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf()),
            limits,
        }
    }

    /// The part for the last step.
    pub(super) fn confined(&self, mechanism: Mechanism) -> ConfinedPolicy {
        let is_own = mechanism == Mechanism::Bubblewrap;
        let mut read = self.read.clone();
        let mut execute = self.execute.clone();
        let mut write = self.write.clone();
        write.extend(self.temp.clone());
        execute.extend(system_paths::programs());
        read.extend(system_paths::configuration());
        let mut limits = self.limits.clone();
        if is_own {
            read.extend(["/proc".into(), "/dev".into()]);
            write.extend(["/tmp".into(), "/dev/shm".into()]);
            execute.push(super::bubblewrap::CONFINER.into());
            // The kernel counts the tasks of a user namespace on their own, so this bounds the tree.
            limits.tasks = limits.processes.map(|most| most.saturating_mul(SANDBOX_THREADS_PER_PROCESS));
        } else {
            read.extend(system_paths::kernel_facts());
        }
        ConfinedPolicy { needs_landlock: !is_own, has_own_proc: is_own, read, execute, write, limits }
    }

    /// Landlock rules can only add: a hidden folder inside a visible one would be visible.
    ///
    /// # Errors
    /// Names what to change.
    pub(super) fn check_nothing_hidden_is_visible(&self) -> Result<(), String> {
        let visible = self.read.iter().chain(&self.execute).chain(&self.write);
        for folder in visible {
            if self.hidden.iter().any(|hidden| hidden.starts_with(folder)) {
                return Err(
                    "the workspace contains the state directory of codeyard, which only bubblewrap can hide; install bubblewrap, \
                     or choose a state directory outside of the roots with --state-dir"
                        .into(),
                );
            }
        }
        Ok(())
    }

    /// Bytes of the folders for temporary files that are in memory.
    pub(super) fn temp_bytes(&self) -> u64 {
        SANDBOX_TMP_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_folder_inside_a_root_is_refused_without_bubblewrap() {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("home/state");
        std::fs::create_dir_all(state.join("cache")).unwrap();
        let request = SandboxRequest {
            roots: vec![base.path().join("home")],
            caches: vec![state.join("cache"), state.join("gone")],
            hidden: vec![state.clone()],
            ..SandboxRequest::default()
        };
        let policy = SandboxPolicy::of(&request, None, base.path(), ResourceLimits::default());
        assert_eq!(policy.write.len(), 1, "what doesn't exist is left out");
        assert!(policy.check_nothing_hidden_is_visible().is_err());
        let policy = SandboxPolicy { read: Vec::new(), ..policy };
        assert_eq!(
            policy.check_nothing_hidden_is_visible(),
            Ok(()),
            "a cache inside the state directory is visible alone"
        );
    }
}
