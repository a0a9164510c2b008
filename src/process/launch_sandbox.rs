//! Finds the mechanism that confines servers of this process, and makes their command lines.
//!
//! A machine that was short of processes, memory or room for the probe looks like one without a mechanism, so a failed probe is repeated. A
//! mechanism that was seen to hold is probed again in the background once a confined process has failed at its start, and is given up when
//! two such probes in a row fail: one tenant's processes can make a single probe fail. Invariants: a server that must be confined gets a
//! command line only if a mechanism has been seen to hold, and then no start waits for a probe; there is at most one probe in
//! `SANDBOX_PROBE_AGAIN_MS`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

#[cfg(target_os = "linux")]
use codeyard_base::clock::Instant;
#[cfg(target_os = "linux")]
use parking_lot::Mutex;

use super::launch::{Isolation, LaunchSpec, ProcessExit};
#[cfg(target_os = "linux")]
use super::sandbox::{Mechanism, SandboxPolicy, command_line, probe::SandboxSupport};
#[cfg(target_os = "linux")]
use super::sandbox_report::HINT;

/// A confined server that fails so soon after its start, in milliseconds, may have had no sandbox: the sandbox is checked again.
#[cfg(target_os = "linux")]
const SANDBOX_DOUBT_MS: u64 = 10_000;
/// Time after which a probe of the sandbox is repeated that failed, or since which a confined server has failed at its start, in milliseconds.
#[cfg(target_os = "linux")]
const SANDBOX_PROBE_AGAIN_MS: u64 = 30_000;

/// The mechanism, as far as it is known.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), derive(Default))]
pub(crate) struct LaunchSandbox {
    #[cfg(target_os = "linux")]
    probed: Mutex<Option<Probed>>,
    /// Held during a probe.
    #[cfg(target_os = "linux")]
    probing: Mutex<()>,
    #[cfg(target_os = "linux")]
    has_thread: AtomicBool,
    /// A confined process has failed at its start since the last probe.
    #[cfg(target_os = "linux")]
    is_doubtful: AtomicBool,
    /// The only mechanism to use.
    #[cfg(target_os = "linux")]
    only: Option<Mechanism>,
    /// Time from a probe to the next one.
    #[cfg(target_os = "linux")]
    retry: Duration,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Clone)]
struct Probed {
    result: Result<Mechanism, String>,
    at: Instant,
    /// The result is older: the last probe failed.
    has_failed_since: bool,
}

#[cfg(target_os = "linux")]
impl Default for LaunchSandbox {
    fn default() -> Self {
        Self {
            probed: Mutex::default(),
            probing: Mutex::default(),
            has_thread: AtomicBool::default(),
            is_doubtful: AtomicBool::default(),
            only: None,
            retry: Duration::from_millis(SANDBOX_PROBE_AGAIN_MS),
        }
    }
}

#[cfg(target_os = "linux")]
impl LaunchSandbox {
    pub(crate) fn only(mechanism: Mechanism) -> Self {
        Self { only: Some(mechanism), ..Self::default() }
    }

    /// Probes again so long after a failure.
    pub(crate) fn retry_after(&mut self, retry: Duration) {
        self.retry = retry;
    }

    /// The name of the mechanism that was last seen to hold. The first call probes; a later one that finds a result to be old lets a thread
    /// of its own probe again.
    pub(crate) fn check(self: &Arc<Self>, guard: &Path) -> Result<&'static str, String> {
        let Some(probed) = self.probed.lock().clone() else { return self.mechanism(guard).map(Mechanism::name) };
        self.look_again(&probed, guard);
        probed.result.map(Mechanism::name)
    }

    /// Probes on a thread of its own if the result is old.
    fn look_again(self: &Arc<Self>, probed: &Probed, guard: &Path) {
        if self.is_old(probed) && !self.has_thread.swap(true, Relaxed) {
            let sandbox = self.clone();
            let guard = guard.to_path_buf();
            let probe = move || {
                drop(sandbox.mechanism(&guard));
                sandbox.has_thread.store(false, Relaxed);
            };
            if std::thread::Builder::new().name("sandbox probe".to_owned()).spawn(probe).is_err() {
                self.has_thread.store(false, Relaxed);
            }
        }
    }

    /// The mechanism for a start: one that was seen to hold is used while it is probed again.
    fn for_start(self: &Arc<Self>, guard: &Path) -> Result<Mechanism, String> {
        let known = self.probed.lock().clone();
        match known {
            Some(probed) if probed.result.is_ok() => {
                self.look_again(&probed, guard);
                probed.result
            }
            _ => self.mechanism(guard),
        }
    }

    /// The mechanism that holds. Probes if the last result is old.
    fn mechanism(&self, guard: &Path) -> Result<Mechanism, String> {
        let current = || self.probed.lock().clone().filter(|probed| !self.is_old(probed)).map(|probed| probed.result);
        if let Some(result) = current() {
            return result;
        }
        let _probing = self.probing.lock();
        if let Some(result) = current() {
            return result;
        }
        self.is_doubtful.store(false, Relaxed);
        let mut support = SandboxSupport::probe(guard, &std::env::temp_dir());
        support.results.retain(|(mechanism, _)| self.only.is_none_or(|only| only == *mechanism));
        let problem = || format!("{}; {HINT}", support.problem().unwrap_or_default());
        let result = support.mechanism().ok_or_else(problem);
        let mut probed = self.probed.lock();
        if result.is_err()
            && let Some(before) = probed.as_mut().filter(|before| before.result.is_ok() && !before.has_failed_since)
        {
            (before.has_failed_since, before.at) = (true, Instant::now());
            self.is_doubtful.store(true, Relaxed);
            return before.result.clone();
        }
        let before = probed.replace(Probed { result: result.clone(), at: Instant::now(), has_failed_since: false });
        drop(probed);
        match (before.map(|probed| probed.result), &result) {
            (Some(Ok(_)), Err(why)) => tracing::error!(why, "the sandbox of language servers doesn't hold any more"),
            (Some(Err(_)), Ok(mechanism)) => {
                tracing::info!(mechanism = mechanism.name(), "a sandbox of language servers holds now");
            }
            _ => {}
        }
        result
    }

    fn is_old(&self, probed: &Probed) -> bool {
        (probed.result.is_err() || self.is_doubtful.load(Relaxed)) && probed.at.elapsed() >= self.retry
    }

    /// Records the end of a confined process that ran for this time. One that fails at its start may have had no sandbox.
    pub(crate) fn ended(&self, exit: ProcessExit, ran: Duration) {
        let is_ended_by_others = exit.is_killed() || exit.signal == Some(libc::SIGTERM);
        if exit.code != Some(0) && !is_ended_by_others && ran < Duration::from_millis(SANDBOX_DOUBT_MS) {
            self.is_doubtful.store(true, Relaxed);
        }
    }

    /// The program and the arguments that run the server as its specification demands.
    pub(crate) fn command_line(
        self: &Arc<Self>,
        guard: &Path,
        spec: &LaunchSpec,
        program: &Path,
        temp: Option<&Path>,
    ) -> Result<(PathBuf, Vec<OsString>), String> {
        let Isolation::Restricted(request) = &spec.isolation else {
            return Ok((program.to_path_buf(), spec.args.clone()));
        };
        let mechanism = self.for_start(guard)?;
        let confiner = guard.canonicalize().map_err(|error| error.to_string())?;
        let policy = SandboxPolicy::of(request, temp, &spec.cwd, spec.limits.clone());
        command_line(mechanism, &confiner, &policy, program, &spec.args)
    }
}

#[cfg(not(target_os = "linux"))]
impl LaunchSandbox {
    pub(crate) fn retry_after(&mut self, _: Duration) {}

    pub(crate) fn ended(&self, _: ProcessExit, _: Duration) {}

    pub(crate) fn check(self: &Arc<Self>, _: &Path) -> Result<&'static str, String> {
        Err("this system has no sandbox that codeyard knows; use Linux, or set `isolation = \"trusted\"`".into())
    }

    pub(crate) fn command_line(
        self: &Arc<Self>,
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

    #[test]
    fn a_failed_probe_is_repeated_after_a_while() {
        // The guard is no program at first; later it is one that confines nothing, which the probe reports in other words.
        let base = tempfile::tempdir().unwrap();
        let guard = base.path().join("guard");
        let mut sandbox = LaunchSandbox::only(Mechanism::Landlock);
        let missing = sandbox.mechanism(&guard).unwrap_err();
        fs::write(&guard, "#!/bin/sh\necho another >&2\nexit 3\n").unwrap();
        fs::set_permissions(&guard, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(sandbox.mechanism(&guard).unwrap_err(), missing, "not with every start");
        sandbox.retry_after(Duration::ZERO);
        assert_ne!(sandbox.mechanism(&guard).unwrap_err(), missing);
    }

    #[test]
    fn only_an_early_failure_of_a_confined_process_casts_doubt_on_the_sandbox() {
        let doubts = |exit, ms| {
            let sandbox = LaunchSandbox::default();
            sandbox.ended(exit, Duration::from_millis(ms));
            sandbox.is_doubtful.load(Relaxed)
        };
        assert!(doubts(ProcessExit::of_code(127), 0) && doubts(ProcessExit::of_signal(libc::SIGSYS), 0));
        assert!(!doubts(ProcessExit::of_code(127), SANDBOX_DOUBT_MS) && !doubts(ProcessExit::of_code(0), 0));
        assert!(!doubts(ProcessExit::of_signal(libc::SIGTERM), 0) && !doubts(ProcessExit::of_signal(libc::SIGKILL), 0));
    }
}
