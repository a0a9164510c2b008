//! Servers that use more than their budgets.
//!
//! One of them is a role of this program, because no shell starts threads.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use codeyard_process::launch::{ExceededBudget, Isolation, LaunchSpec, SandboxRequest};
use codeyard_process::resource_limits::ResourceLimits;
use codeyard_process::sandbox::Mechanism;
use codeyard_process::spawn::ProcessLauncher;

use crate::harness::{LONG, block_on, holds, output, own};

/// The role of a server that replaces its threads by processes.
pub(crate) const SWAP_ROLE: &str = "__swap";

/// How many.
const SWAPPED: usize = 200;

/// The role: starts threads, waits until the guard has counted them, and then starts a process whenever it ends a thread.
pub(crate) fn swap_main() -> ExitCode {
    let threads: Vec<_> = (0..SWAPPED)
        .map(|_| {
            let (end, ended) = mpsc::channel::<()>();
            (end, std::thread::spawn(move || ended.recv().ok()))
        })
        .collect();
    std::thread::park_timeout(Duration::from_secs(1));
    for (end, thread) in threads {
        drop(end);
        thread.join().unwrap();
        #[expect(clippy::disallowed_methods, reason = "the server has too many processes")]
        let started = std::process::Command::new("/bin/sleep").arg("600").spawn();
        drop(started);
    }
    std::thread::park_timeout(LONG);
    ExitCode::SUCCESS
}

fn shell(script: &str, limits: ResourceLimits, isolation: Isolation) -> LaunchSpec {
    LaunchSpec {
        label: "shell".into(),
        program: "/bin/sh".into(),
        args: ["-c", script].map(OsString::from).to_vec(),
        cwd: std::env::temp_dir(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        limits,
        isolation,
    }
}

/// A tree with more processes than allowed is ended, and the exit says why.
pub(crate) fn too_many_processes() {
    let limits = ResourceLimits { processes: Some(40), ..ResourceLimits::default() };
    over_processes(|isolation| shell("while :; do (sleep 600; :) & done 2>/dev/null", limits.clone(), isolation));
}

/// The same if the system has no more tasks than before.
pub(crate) fn threads_become_processes() {
    let limits = ResourceLimits { processes: Some(40), ..ResourceLimits::default() };
    over_processes(|isolation| LaunchSpec {
        program: own(),
        args: vec![SWAP_ROLE.into()],
        ..shell("", limits.clone(), isolation)
    });
}

fn over_processes(spec: impl Fn(Isolation) -> LaunchSpec) {
    let mut levels = vec![(None, Isolation::Trusted)];
    for mechanism in Mechanism::ALL.into_iter().filter(|mechanism| holds(*mechanism)) {
        let roots = vec![std::env::temp_dir()];
        let request = SandboxRequest { roots, toolchain: vec![own()], ..SandboxRequest::default() };
        levels.push((Some(mechanism), Isolation::Restricted(request)));
    }
    for (mechanism, isolation) in levels {
        let launcher = ProcessLauncher::with_guard(own(), None);
        let launcher = mechanism.map_or(launcher.clone(), |mechanism| launcher.with_mechanism(mechanism));
        let exit = block_on(async {
            let (_, server) = output(&launcher, &spec(isolation)).await;
            let exit = server.process.exited().await;
            assert!(server.process.group_is_empty());
            exit
        });
        assert_eq!(exit.exceeded(), Some(ExceededBudget::Processes), "{mechanism:?}: {exit:?}");
    }
}

/// A server that writes a larger file than allowed is ended by the kernel, and the exit says why.
pub(crate) fn too_large_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("exec dd if=/dev/zero of={}/large bs=65536 count=100 2>/dev/null", folder.path().display());
    let limits = ResourceLimits { file_bytes: Some(1 << 20), ..ResourceLimits::default() };
    let exit = block_on(async {
        let launcher = ProcessLauncher::with_guard(own(), None);
        output(&launcher, &shell(&script, limits, Isolation::Trusted)).await.1.process.exited().await
    });
    assert_eq!(exit.exceeded(), Some(ExceededBudget::FileSize), "{exit:?}");
    assert_eq!(std::fs::metadata(folder.path().join("large")).unwrap().len(), 1 << 20);
}
