//! Starts the attempts in a sandbox and checks that each is blocked.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codeyard_process::launch::{Isolation, LaunchError, LaunchSpec, Launcher, SandboxRequest};
use codeyard_process::resource_limits::ResourceLimits;
use codeyard_process::sandbox::Mechanism;
use codeyard_process::spawn::ProcessLauncher;
use codeyard_process::temp_dirs::TempDirs;
use codeyard_process::tool::Tool;

use crate::attempts;
use crate::harness::{LONG, block_on, holds, output, own, soon};

/// The fewest attempts that count as a proof.
const FEWEST: usize = 60;

/// Makes `path` and its folders readable for everyone, so that only the sandbox can be what blocks.
fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Everything that must not be reached, and what may.
pub(crate) fn all_blocked(mechanism: Mechanism) {
    if !holds(mechanism) {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    open(&base, 0o755);
    for folder in ["root", "other", "home/.ssh", "state/run", "state/cache/server", "state/tmp"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    for secret in ["other/source.rs", "home/.ssh/id_rsa", "home/.profile", "state/state.db", "root/file"] {
        fs::write(base.join(secret), "secret").unwrap();
        open(&base.join(secret), 0o666);
    }
    fs::copy("/bin/true", base.join("root/program")).unwrap();
    symlink(base.join("other/source.rs"), base.join("root/link")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let _admin = UnixListener::bind(base.join("state/run/admin.sock")).unwrap();
    open(&base.join("state/run/admin.sock"), 0o777);
    let abstract_name = format!("codeyard-probe-{}-{}", std::process::id(), mechanism.name());
    let _abstract =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(abstract_name.as_bytes()).unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the attempts need another child of codeyard as a target")]
    let mut sibling = std::process::Command::new("sleep").arg("600").spawn().unwrap();

    let request = SandboxRequest {
        roots: vec![base.join("root")],
        toolchain: vec![own()],
        caches: vec![base.join("state/cache/server")],
        hidden: vec![base.join("state")],
    };
    let target = attempts::Target {
        base: base.clone(),
        port: tcp.local_addr().unwrap().port(),
        abstract_name,
        codeyard: std::process::id(),
        sibling: sibling.id(),
        file_bytes: 4 << 20,
        open_files: 64,
        data_bytes: 1 << 30,
    };
    let spec = LaunchSpec {
        label: "attempts".into(),
        program: own(),
        args: target.args().into_iter().map(OsString::from).collect(),
        cwd: base.join("root"),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        limits: ResourceLimits {
            open_files: Some(target.open_files),
            file_bytes: Some(target.file_bytes),
            data_bytes: Some(target.data_bytes),
            ..ResourceLimits::default()
        },
        isolation: Isolation::Restricted(request),
    };
    let temp_dirs = Arc::new(TempDirs::open(&base.join("state")).unwrap());
    let (text, stderr) = block_on(async {
        let launcher = ProcessLauncher::with_guard(own(), None).with_temp_dirs(temp_dirs).with_mechanism(mechanism);
        let (text, server) = output(&launcher, &spec).await;
        server.process.exited().await;
        (text, server.process.stderr_tail())
    });
    sibling.kill().unwrap();
    sibling.wait().unwrap();
    let (lines, open): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.ends_with(": blocked"));
    assert!(open.is_empty(), "{}: {open:#?}\n{stderr}", mechanism.name());
    assert!(lines.len() >= FEWEST, "{} attempts: {text}\n{stderr}", lines.len());
    assert_eq!(fs::read_dir(base.join("root")).unwrap().count(), 3, "nothing was written to the root");
    println!("{}: {} attempts blocked", mechanism.name(), lines.len());
}

/// The same as a user without any privilege, if this test runs as root.
pub(crate) fn all_blocked_as_nobody() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: the tests run as an ordinary user already");
        return;
    }
    let base = tempfile::tempdir().unwrap();
    open(base.path(), 0o755);
    let copy = base.path().join("confinement");
    fs::copy(own(), &copy).unwrap();
    let temp = base.path().join("temp");
    fs::create_dir(&temp).unwrap();
    open(&temp, 0o777);
    for name in ["blocked_by_bubblewrap", "blocked_by_landlock"] {
        let args = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"].map(OsString::from);
        let args = args.into_iter().chain([copy.clone().into_os_string(), name.into()]);
        let tool = Tool::new("setpriv").args(args).env("TMPDIR", &temp).env("HOME", &temp).join_errors();
        let Ok(outcome) = tool.run(LONG, &|| {}) else {
            println!("SKIPPED: `setpriv` is not installed");
            return;
        };
        assert!(outcome.success(), "{}", outcome.output);
        println!("as nobody: {}", outcome.output.trim());
    }
}

/// Without a mechanism that holds, nothing is started, and the error says what helps.
pub(crate) fn fails_closed() {
    let base = tempfile::tempdir().unwrap();
    let request = SandboxRequest { roots: vec![base.path().into()], ..SandboxRequest::default() };
    let spec = LaunchSpec {
        label: "never".into(),
        program: "/bin/true".into(),
        args: Vec::new(),
        cwd: base.path().into(),
        env: Vec::new(),
        limits: ResourceLimits::default(),
        isolation: Isolation::Restricted(request),
    };
    // A guard that confines nothing: the probe finds out.
    let launcher = ProcessLauncher::with_guard("/bin/true".into(), None);
    let refused = block_on(launcher.launch(&spec)).err().unwrap();
    assert!(matches!(refused, LaunchError::NoSandbox(_)), "{refused}");
    assert!(refused.to_string().contains("apt install bubblewrap"), "{refused}");
}

/// A shell that runs this program only as the guard.
const WITHOUT_SANDBOX: &str = "#!/bin/sh\n[ \"$1\" = __guard ] && exec \"$OWN\" \"$@\"\nexit 127\n";

/// A failure is looked at again after some time, and a success when a confined server fails at its start.
pub(crate) fn probed_again(mechanism: Mechanism) {
    if !holds(mechanism) {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let guard = base.path().join("guard");
    // Renamed into place: a program that runs can't be written.
    let put = |text: Option<&str>| {
        let new = base.path().join("new");
        match text {
            Some(text) => fs::write(&new, text.replace("$OWN", own().to_str().unwrap())).unwrap(),
            None => drop(fs::copy(own(), &new).unwrap()),
        }
        open(&new, 0o755);
        fs::rename(&new, &guard).unwrap();
    };
    let request = SandboxRequest { roots: vec![base.path().into()], ..SandboxRequest::default() };
    let spec = LaunchSpec {
        label: "probed".into(),
        program: "/bin/true".into(),
        args: Vec::new(),
        cwd: base.path().into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        limits: ResourceLimits::default(),
        isolation: Isolation::Restricted(request),
    };
    let retry = Duration::from_secs(3);
    block_on(async {
        put(Some(WITHOUT_SANDBOX));
        let launcher =
            ProcessLauncher::with_guard(guard.clone(), None).with_mechanism(mechanism).with_sandbox_retry(retry);
        let launch = || async {
            let server = launcher.launch(&spec).await?;
            Ok::<_, LaunchError>(server.process.exited().await.code)
        };
        assert!(launcher.sandbox().is_err() && launch().await.is_err());
        put(None);
        assert!(launch().await.is_err(), "it is not looked at again at once");
        tokio::time::sleep(retry).await;
        let looked = launcher.sandbox();
        let began = tokio::time::Instant::now();
        assert!(looked.is_err() && began.elapsed() < retry, "it is looked at in the background");
        assert!(soon(|| launcher.sandbox().is_ok()).await);
        assert_eq!(launch().await.unwrap(), Some(0));
        put(Some(WITHOUT_SANDBOX));
        tokio::time::sleep(retry).await;
        assert_eq!(launch().await.unwrap(), Some(127), "nothing suggests that it doesn't hold");
        // One probe that fails is no proof.
        let mut starts = 0;
        let refused = loop {
            match launch().await {
                Ok(code) => assert_eq!(code, Some(127)),
                Err(refused) => break refused,
            }
            starts += 1;
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert!(starts > 0);
        assert!(matches!(refused, LaunchError::NoSandbox(_)), "{refused}");
        assert!(launcher.sandbox().is_err());
    });
}
