//! Servers that start daemons and kill their guard.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use codeyard_process::launch::{Isolation, LaunchSpec, Launcher};
use codeyard_process::ledger::Ledger;
use codeyard_process::orphans;
use codeyard_process::resource_limits::ResourceLimits;
use codeyard_process::spawn::ProcessLauncher;

use crate::harness::{block_on, own, soon};

/// The role of a codeyard that is killed: starts a hostile server and waits.
pub(crate) const HOST_ROLE: &str = "__host";

/// Daemons that the server starts: one in a session of its own, one that also has no parent any more, and one in its group.
const SCRIPT: &str = "guard=$PPID
    setsid sh -c 'exec sleep 600.$MARK' &
    (setsid sh -c '(setsid sleep 600.$MARK &) ; sleep 600.$MARK' &)
    sleep 600.$MARK &
    while [ $(grep -lac \"600[.]$MARK\" /proc/[0-9]*/cmdline 2>/dev/null | wc -l) -lt 4 ]; do sleep 0.05; done
    kill -KILL $guard
    sleep 600.$MARK";

/// A mark that no other process has in its arguments.
pub(crate) fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}{:03}", std::process::id(), NEXT.fetch_add(1, Relaxed))
}

fn hostile(mark: &str) -> LaunchSpec {
    LaunchSpec {
        label: "hostile".into(),
        program: "/bin/sh".into(),
        args: ["-c", SCRIPT].map(OsString::from).to_vec(),
        cwd: std::env::temp_dir(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("MARK".into(), mark.into())],
        limits: ResourceLimits::default(),
        isolation: Isolation::Trusted,
    }
}

/// The running daemons with this mark.
pub(crate) fn daemons(mark: &str) -> usize {
    let wanted = format!("600.{mark}");
    let mut count = 0;
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let name = line.split(|byte| *byte == 0).nth(1).unwrap_or_default();
        count += usize::from(name == wanted.as_bytes());
    }
    count
}

/// The launcher as the service makes it.
fn launcher(state: &Path) -> ProcessLauncher {
    let ledger = Ledger::open(state).unwrap();
    ProcessLauncher::with_guard(own(), Some(std::sync::Arc::new(ledger))).collecting_orphans()
}

/// codeyard lives: it kills what the server left as soon as the guard is gone.
pub(crate) fn with_codeyard_alive() {
    let state = tempfile::tempdir().unwrap();
    let mark = mark();
    block_on(async {
        let server = launcher(state.path()).launch(&hostile(&mark)).await.unwrap();
        server.process.exited().await;
        assert_eq!(daemons(&mark), 0, "when the end is published, nothing is left");
    });
}

/// The role: starts the server, prints a line when its guard is dead, and waits to be killed.
pub(crate) fn host_main(args: &[String]) -> ExitCode {
    let [state, mark, with_warden] = args else { return ExitCode::FAILURE };
    block_on(async {
        let launcher = launcher(Path::new(state));
        // Only the death of codeyard is tested here: it must not collect the orphans while it lives.
        let launcher = if with_warden == "warden" {
            launcher.without_collecting()
        } else {
            ProcessLauncher::with_guard(own(), None)
        };
        let server = launcher.launch(&hostile(mark)).await.unwrap();
        server.process.exited().await;
        println!("ready");
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}

fn host(state: &Path, mark: &str, kind: &str) -> Child {
    #[expect(clippy::disallowed_methods, reason = "the host stands for a codeyard that is killed")]
    let mut command = Command::new(own());
    command.arg(HOST_ROLE).arg(state).args([mark, kind]).stdout(Stdio::piped());
    let mut host = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(host.stdout.as_mut().unwrap()), &mut line).unwrap();
    assert_eq!(line.trim(), "ready");
    host
}

/// codeyard is killed: the warden kills what is left.
pub(crate) fn with_codeyard_killed() {
    let state = tempfile::tempdir().unwrap();
    let mark = mark();
    let mut host = host(state.path(), &mark, "warden");
    assert!(daemons(&mark) >= 2, "the daemons have outlived their guard");
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(block_on(soon(|| daemons(&mark) == 0)), "{} daemons are left", daemons(&mark));
}

/// The running wardens of this program.
fn wardens() -> usize {
    let of = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_warden = line.split(|byte| *byte == 0).nth(1) == Some(b"__warden");
        is_warden && fs::read_link(entry.path().join("exe")).is_ok_and(|program| program == own())
    };
    fs::read_dir("/proc").unwrap().flatten().filter(|entry| of(entry)).count()
}

/// codeyard and the warden are killed: the next start kills what is left.
pub(crate) fn with_the_warden_killed() {
    // That of the test before looks a few times more after it has killed everything.
    assert!(block_on(soon(|| wardens() == 0)));
    let state = tempfile::tempdir().unwrap();
    let mark = mark();
    let mut host = host(state.path(), &mark, "no-warden");
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(daemons(&mark) >= 2, "nobody is there to kill them");
    assert!(orphans::kill_abandoned() >= 2);
    assert!(block_on(soon(|| daemons(&mark) == 0)), "{} daemons are left", daemons(&mark));
}
