//! Finds the mechanism that confines servers of this process, and makes their command lines.
//!
//! A machine that was short of processes, memory or room for the probe looks like one without a mechanism, so a failed probe is repeated.
//! Invariants: one probe at a time; a mechanism that was seen to hold is kept; a server that must be confined gets a command line only if a mechanism has been seen to hold.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::time::Duration;

#[cfg(target_os = "linux")]
use parking_lot::Mutex;

use super::launch::{Isolation, LaunchSpec};
#[cfg(target_os = "linux")]
use super::sandbox::{Mechanism, SandboxPolicy, command_line, probe::SandboxSupport};
#[cfg(target_os = "linux")]
use super::sandbox_report::HINT;
#[cfg(target_os = "linux")]
use crate::limits::SANDBOX_PROBE_AGAIN_MS;
#[cfg(target_os = "linux")]
use codeyard_base::clock::Instant;

/// The mechanism, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct LaunchSandbox {
    #[cfg(target_os = "linux")]
    support: Mutex<Option<(SandboxSupport, Instant)>>,
    /// The only mechanism to use.
    #[cfg(target_os = "linux")]
    only: Option<Mechanism>,
}

#[cfg(target_os = "linux")]
impl LaunchSandbox {
    /// Uses one mechanism.
    pub(crate) fn only(mechanism: Mechanism) -> Self {
        Self { support: Mutex::default(), only: Some(mechanism) }
    }

    /// The name of the mechanism that holds. The first call probes, and one some time after a failed probe.
    pub(crate) fn check(&self, guard: &Path) -> Result<&'static str, String> {
        self.mechanism(guard).map(Mechanism::name)
    }

    fn mechanism(&self, guard: &Path) -> Result<Mechanism, String> {
        let mut known = self.support.lock();
        let again = Duration::from_millis(SANDBOX_PROBE_AGAIN_MS);
        let is_over =
            |(support, at): &(SandboxSupport, Instant)| support.mechanism().is_none() && at.elapsed() >= again;
        if known.as_ref().is_some_and(is_over) {
            *known = None;
        }
        let (support, _) = known.get_or_insert_with(|| {
            let mut support = SandboxSupport::probe(guard, &std::env::temp_dir());
            support.results.retain(|(mechanism, _)| self.only.is_none_or(|only| only == *mechanism));
            (support, Instant::now())
        });
        support.mechanism().ok_or_else(|| format!("{}; {HINT}", support.problem().unwrap_or_default()))
    }

    /// The program and the arguments that run the server as its specification demands.
    pub(crate) fn command_line(
        &self,
        guard: &Path,
        spec: &LaunchSpec,
        program: &Path,
        temp: Option<&Path>,
    ) -> Result<(PathBuf, Vec<OsString>), String> {
        let Isolation::Restricted(request) = &spec.isolation else {
            return Ok((program.to_path_buf(), spec.args.clone()));
        };
        let mechanism = self.mechanism(guard)?;
        let confiner = guard.canonicalize().map_err(|error| error.to_string())?;
        let policy = SandboxPolicy::of(request, temp, &spec.cwd, spec.limits.clone());
        command_line(mechanism, &confiner, &policy, program, &spec.args)
    }
}

#[cfg(not(target_os = "linux"))]
impl LaunchSandbox {
    pub(crate) fn check(&self, _: &Path) -> Result<&'static str, String> {
        Err("this system has no sandbox that codeyard knows; use Linux, or set `isolation = \"trusted\"`".into())
    }

    pub(crate) fn command_line(
        &self,
        guard: &Path,
        spec: &LaunchSpec,
        program: &Path,
        _: Option<&Path>,
    ) -> Result<(PathBuf, Vec<OsString>), String> {
        match spec.isolation {
            Isolation::Trusted => Ok((program.to_path_buf(), spec.args.clone())),
            Isolation::Restricted(_) => self.check(guard).map(|_| (PathBuf::new(), Vec::new())),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_failed_probe_is_repeated_after_a_while() {
        // The guard is no program at first; later it is one that confines nothing, which the probe reports in other words.
        let base = tempfile::tempdir().unwrap();
        let guard = base.path().join("guard");
        let sandbox = LaunchSandbox::only(Mechanism::Landlock);
        let missing = sandbox.check(&guard).unwrap_err();
        fs::write(&guard, "#!/bin/sh\necho another >&2\nexit 3\n").unwrap();
        fs::set_permissions(&guard, fs::Permissions::from_mode(0o755)).unwrap();
        tokio::time::advance(Duration::from_millis(SANDBOX_PROBE_AGAIN_MS - 1)).await;
        assert_eq!(sandbox.check(&guard).unwrap_err(), missing, "not with every start");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_ne!(sandbox.check(&guard).unwrap_err(), missing);
    }
}
