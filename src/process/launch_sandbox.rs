//! Finds the mechanism that confines servers of this process, once, and makes their command lines.
//!
//! Invariant: a server that must be confined gets a command line only if a mechanism has been seen to hold.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use super::launch::{Isolation, LaunchSpec};
#[cfg(target_os = "linux")]
use super::sandbox::{Mechanism, SandboxPolicy, command_line, probe::SandboxSupport};
#[cfg(target_os = "linux")]
use super::sandbox_report::HINT;

/// The mechanism, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct LaunchSandbox {
    #[cfg(target_os = "linux")]
    support: OnceLock<SandboxSupport>,
    /// The only mechanism to use.
    #[cfg(target_os = "linux")]
    only: Option<Mechanism>,
}

#[cfg(target_os = "linux")]
impl LaunchSandbox {
    /// Uses one mechanism.
    pub(crate) fn only(mechanism: Mechanism) -> Self {
        Self { support: OnceLock::new(), only: Some(mechanism) }
    }

    /// The name of the mechanism that holds. The first call probes.
    pub(crate) fn check(&self, guard: &Path) -> Result<&'static str, String> {
        self.mechanism(guard).map(Mechanism::name)
    }

    fn mechanism(&self, guard: &Path) -> Result<Mechanism, String> {
        let support = self.support.get_or_init(|| {
            let mut support = SandboxSupport::probe(guard, &std::env::temp_dir());
            support.results.retain(|(mechanism, _)| self.only.is_none_or(|only| only == *mechanism));
            support
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
