//! Servers that use more than their budgets.

use std::ffi::OsString;

use codeyard_process::launch::{ExceededBudget, Isolation, LaunchSpec, SandboxRequest};
use codeyard_process::resource_limits::ResourceLimits;
use codeyard_process::sandbox::Mechanism;
use codeyard_process::spawn::ProcessLauncher;

use crate::harness::{block_on, holds, output, own};

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
    let script = "while :; do (sleep 600; :) & done 2>/dev/null";
    let limits = ResourceLimits { processes: Some(40), ..ResourceLimits::default() };
    let mut levels = vec![(None, Isolation::Trusted)];
    for mechanism in Mechanism::ALL.into_iter().filter(|mechanism| holds(*mechanism)) {
        let request = SandboxRequest { roots: vec![std::env::temp_dir()], ..SandboxRequest::default() };
        levels.push((Some(mechanism), Isolation::Restricted(request)));
    }
    for (mechanism, isolation) in levels {
        let launcher = ProcessLauncher::with_guard(own(), None);
        let launcher = mechanism.map_or(launcher.clone(), |mechanism| launcher.with_mechanism(mechanism));
        let exit = block_on(async {
            let (_, server) = output(&launcher, &shell(script, limits.clone(), isolation)).await;
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
