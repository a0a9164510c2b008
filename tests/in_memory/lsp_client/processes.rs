//! Real processes under the real guard: no process outlives the server, the handle, or codeyard.
//!
//! Each test marks its processes with a unique argument and searches for it in `/proc`, which also finds processes in other
//! groups and sessions.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use codeyard_base::clock::Instant;
use codeyard_process::environment::allowed_environment;
use codeyard_process::launch::{Isolation, LaunchError, LaunchSpec, LaunchedServer, Launcher, Process, ProcessExit};
use codeyard_process::ledger::{Ledger, SweepReport, sweep};
use codeyard_process::limits;
use codeyard_process::resource_limits::ResourceLimits;
use codeyard_process::spawn::ProcessLauncher;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn guard() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_codeyard"))
}

fn launcher() -> ProcessLauncher {
    ProcessLauncher::with_guard(guard(), None)
}

/// A unique argument that no other process has.
fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("lspmark-{}-{}-x", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// `sh -c script` with the mark as `$0`.
fn shell(script: &str, mark: &str) -> LaunchSpec {
    LaunchSpec {
        label: "shell".into(),
        program: "sh".into(),
        args: ["-c", script, mark].map(OsString::from).to_vec(),
        cwd: std::env::temp_dir(),
        env: allowed_environment(),
        limits: ResourceLimits::default(),
        isolation: Isolation::Trusted,
    }
}

/// Ids of the running processes with the mark in their arguments, without guards and parent processes.
fn marked(mark: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.contains(mark) && !line.contains("__guard") && !line.contains(GUARD_REPLACEMENT) {
            found.push(pid);
        }
    }
    found
}

/// Checks `condition` every 10 ms for `limit`; returns whether it became true.
async fn soon(limit: Duration, condition: impl Fn() -> bool) -> bool {
    for _ in 0..limit.as_millis() / 10 {
        if condition() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    condition()
}

/// Long, because the machine may be busy.
const START: Duration = Duration::from_secs(20);
/// The documented limit is 2 s; the rest allows for a busy machine.
const GONE: Duration = Duration::from_secs(5);

async fn launch(spec: &LaunchSpec) -> LaunchedServer {
    launcher().launch(spec).await.unwrap()
}

async fn line(connection: &mut LaunchedServer) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while connection.reader.read(&mut byte).await.unwrap() == 1 && byte[0] != b'\n' {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn bytes_pass_through_and_the_exit_code_is_returned() {
    let mark = mark();
    let mut connection = launch(&shell("read x; echo got $x; echo told >&2; exit 7", &mark)).await;
    assert!(!connection.process.group_is_empty());
    connection.writer.write_all(b"hello\n").await.unwrap();
    assert_eq!(line(&mut connection).await, "got hello");
    let exit = connection.process.exited().await;
    assert_eq!(exit, ProcessExit::of_code(7));
    assert_eq!(connection.process.exited().await, exit, "any number may wait, also afterwards");
    assert!(connection.process.group_is_empty());
    let process = connection.process.clone();
    assert!(soon(GONE, || process.stderr_tail() == "told\n").await, "{}", process.stderr_tail());
    assert_eq!(process.memory_bytes(), None);
}

#[tokio::test]
async fn a_signal_is_reported_as_a_signal() {
    let connection = launch(&shell("kill -SEGV $$", &mark())).await;
    assert_eq!(connection.process.exited().await, ProcessExit::of_signal(libc::SIGSEGV));
}

#[tokio::test]
async fn the_end_of_output_comes_from_the_server() {
    // The guard must not hold the pipes: closed output is seen although the server is running.
    let mut connection = launch(&shell("exec 1>&-; sleep 600", &mark())).await;
    let mut rest = Vec::new();
    let read = tokio::time::timeout(START, connection.reader.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "the guard holds the output");
    connection.process.kill();
    connection.process.exited().await;
}

#[tokio::test]
async fn standard_error_is_drained_and_its_tail_is_kept() {
    let script = "i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123456789012345678 $i >&2; i=$((i+1)); done; echo end";
    let mut connection = launch(&shell(script, &mark())).await;
    assert_eq!(line(&mut connection).await, "end");
    connection.process.exited().await;
    let process = connection.process;
    assert!(soon(GONE, || process.stderr_tail().ends_with(" 3999\n")).await);
    assert_eq!(process.stderr_tail().len(), limits::STDERR_TAIL_BYTES);
}

#[tokio::test]
async fn the_server_receives_exactly_the_given_environment() {
    let mut spec = shell("env; echo end", &mark());
    spec.env = vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("GIVEN".into(), "1".into())];
    let mut connection = launch(&spec).await;
    let mut names = Vec::new();
    loop {
        let text = line(&mut connection).await;
        if text == "end" {
            break;
        }
        names.push(text.split('=').next().unwrap().to_owned());
    }
    // The shell sets these variables.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    names.sort();
    assert_eq!(
        names,
        ["CODEYARD_OWNER", "GIVEN", "PATH"],
        "the first one is how it is found after the death of its guard"
    );
}

#[tokio::test]
async fn the_server_inherits_only_its_standard_streams() {
    let mut connection = launch(&shell("ls /proc/$$/fd; echo end", &mark())).await;
    for expected in ["0", "1", "2", "end"] {
        assert_eq!(line(&mut connection).await, expected);
    }
}

/// The guard inherits the death pipe under the number that it has here.
#[tokio::test]
async fn a_server_starts_although_many_descriptors_are_open() {
    const OPEN: usize = 1_100;
    let before = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: Some(4_096), ..before };
    if before.current.is_some_and(|most| most < 4_096) && setrlimit(Resource::Nofile, wanted).is_err() {
        return codeyard_test_support::parts::skip("open-files", "this machine allows no 4,096 open files");
    }
    let open: Vec<_> = (0..OPEN).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
    let mut connection = launch(&shell("read x; echo got $x; exit 7", &mark())).await;
    connection.writer.write_all(b"hello\n").await.unwrap();
    assert_eq!(line(&mut connection).await, "got hello");
    assert_eq!(connection.process.exited().await, ProcessExit::of_code(7));
    drop(open);
}

#[tokio::test]
async fn a_failed_start_is_reported() {
    let error = |spec: LaunchSpec| async move { launcher().launch(&spec).await.err().unwrap() };
    let good = shell("exit 0", &mark());
    for program in ["/nonexistent/server", "no-such-server-at-all", "/etc/passwd", "/tmp"] {
        let spec = LaunchSpec { program: program.into(), ..good.clone() };
        assert!(matches!(error(spec).await, LaunchError::ProgramNotFound(_)), "{program}");
    }
    let spec = LaunchSpec { cwd: "/nonexistent".into(), ..good.clone() };
    assert!(matches!(error(spec).await, LaunchError::DirectoryNotFound(_)));
    let missing = ProcessLauncher::with_guard("/nonexistent/guard".into(), None);
    assert!(matches!(missing.launch(&good).await, Err(LaunchError::Io(_))));
}

/// Process trees that a server may leave: in its group, in other groups and sessions, orphaned, ignoring SIGTERM.
const TREES: [(&str, &str, usize); 5] = [
    ("grandchildren", "sh -c 'sleep 600; :' $0 & sh -c 'sleep 600; :' $0 & ", 2),
    ("own session", "setsid sh -c 'sleep 600; :' $0 & ", 1),
    ("orphaned in a session of its own", "(setsid sh -c 'sleep 600; :' $0 &) ; ", 1),
    ("deaf", "sh -c 'trap \"\" TERM; sleep 600; :' $0 & ", 1),
    ("deaf in a session of its own", "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' $0 & ", 1),
];

#[tokio::test]
async fn descendants_end_with_the_server_and_its_exit_code_is_kept() {
    for (name, tree, size) in TREES {
        let mark = mark();
        let script = format!("{tree} read x; exit 3");
        let mut connection = launch(&shell(&script, &mark)).await;
        assert!(soon(START, || marked(&mark).len() == size + 1).await, "{name}: {:?}", marked(&mark));
        connection.writer.write_all(b"\n").await.unwrap();
        let began = Instant::now();
        assert_eq!(connection.process.exited().await.code, Some(3), "{name}");
        assert!(began.elapsed() < GONE, "{name}");
        assert_eq!(marked(&mark), [0; 0], "{name}: the guard ends last");
        assert!(connection.process.group_is_empty(), "{name}");
    }
}

#[tokio::test]
async fn terminate_kill_drop_and_a_killed_guard_leave_no_process() {
    type Way = fn(LaunchedServer) -> Option<Arc<dyn Process>>;
    let ways: [(&str, Way); 4] = [
        ("terminate", |connection| {
            connection.process.terminate();
            Some(connection.process)
        }),
        ("kill", |connection| {
            connection.process.kill();
            Some(connection.process)
        }),
        ("drop", |connection| {
            drop(connection);
            None
        }),
        ("stopped guard", |connection| {
            let guard = i32::try_from(connection.process.id().unwrap()).unwrap();
            // SAFETY: a signal to a process of our own.
            unsafe { libc::kill(guard, libc::SIGSTOP) };
            connection.process.kill();
            Some(connection.process)
        }),
    ];
    for (way, end) in ways {
        for (name, tree, size) in TREES {
            let mark = mark();
            let script = format!("trap '' TERM; {tree} while :; do sleep 1; done");
            let connection = launch(&shell(&script, &mark)).await;
            assert!(soon(START, || marked(&mark).len() == size + 1).await, "{way}: {name}");
            let began = Instant::now();
            let process = end(connection);
            assert!(soon(GONE, || marked(&mark).is_empty()).await, "{way}: {name}: {:?}", marked(&mark));
            if let Some(process) = process {
                let exit = process.exited().await;
                assert_eq!(exit.signal, Some(libc::SIGKILL), "{way}: {name}");
                assert!(soon(GONE, || process.group_is_empty()).await, "{way}: {name}");
            }
            assert!(began.elapsed() < GONE, "{way}: {name}");
        }
    }
}

#[tokio::test]
async fn a_killed_guard_ends_the_server() {
    let mark = mark();
    let connection = launch(&shell("while :; do sleep 1; done", &mark)).await;
    assert!(soon(START, || marked(&mark).len() == 1).await);
    // SAFETY: a signal to a process of our own.
    unsafe { libc::kill(i32::try_from(connection.process.id().unwrap()).unwrap(), libc::SIGKILL) };
    assert!(soon(GONE, || marked(&mark).is_empty()).await);
    assert_eq!(connection.process.exited().await.signal, Some(libc::SIGKILL));
}

#[tokio::test]
async fn a_server_may_use_its_grace_period_after_sigterm() {
    let mut connection =
        launch(&shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done", &mark())).await;
    assert_eq!(line(&mut connection).await, "ready");
    connection.process.terminate();
    assert_eq!(line(&mut connection).await, "bye");
    assert_eq!(connection.process.exited().await.code, Some(5));
}

#[tokio::test]
async fn memory_includes_the_whole_process_tree() {
    let mark = mark();
    // The child uses 60 MB, the server itself almost nothing.
    let hungry = "python3 -c 'x = bytearray(60_000_000); print(\"full\", flush=True); import time; time.sleep(600)'";
    let mut connection = launch(&shell(&format!("{hungry} & wait"), &mark)).await;
    assert_eq!(line(&mut connection).await, "full");
    let bytes = connection.process.memory_bytes().unwrap();
    assert!((60_000_000..200_000_000).contains(&bytes), "{bytes}");
    connection.process.kill();
    connection.process.exited().await;
}

/// A parent process in place of codeyard: it starts a guard as `spawn` does, with a server and its descendants, then waits for SIGKILL.
const GUARD_REPLACEMENT: &str = r#"
import os, subprocess, sys, time
guard, mark, script = sys.argv[1:4]
read, write = os.pipe()
os.set_inheritable(read, True)
args = [guard, "__guard", str(read), str(os.getpid()), "0", "", "{}", "/bin/sh", "-c", script, mark]
child = subprocess.Popen(args, pass_fds=[read], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
os.close(read)
print(child.pid, flush=True)
if len(sys.argv) > 4:
    time.sleep(1000)
sys.stdin.read()
os.close(write)
print(child.wait(), flush=True)
"#;

struct ParentProcess(std::process::Child);

impl ParentProcess {
    fn start(mark: &str, script: &str) -> Self {
        use std::process::Stdio;
        #[expect(clippy::disallowed_methods, reason = "a stand-in for the service itself")]
        let mut command = std::process::Command::new("python3");
        command
            .args(["-c", GUARD_REPLACEMENT])
            .arg(guard())
            .args([mark, script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }
}

impl Drop for ParentProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn stubborn(tree: &str) -> String {
    format!("trap '' TERM; {tree} while :; do sleep 1; done")
}

#[tokio::test]
async fn killing_the_parent_leaves_no_process() {
    for (name, tree, size) in TREES {
        let mark = mark();
        let mut us = ParentProcess::start(&mark, &stubborn(tree));
        assert!(soon(START, || marked(&mark).len() == size + 1).await, "{name}: {:?}", marked(&mark));
        us.0.kill().unwrap();
        us.0.wait().unwrap();
        let began = Instant::now();
        assert!(soon(GONE, || marked(&mark).is_empty()).await, "{name}: {:?}", marked(&mark));
        assert!(began.elapsed() < GONE, "{name}");
    }
}

#[tokio::test]
async fn closing_the_death_pipe_ends_the_server() {
    let mark = mark();
    let mut us = ParentProcess::start(&mark, &stubborn(TREES[0].1));
    assert!(soon(START, || marked(&mark).len() == 3).await);
    drop(us.0.stdin.take());
    // It runs until the guard has ended and prints the exit status.
    let output = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(us.0.stdout.as_mut().unwrap(), &mut text).unwrap();
        (text, us)
    });
    let (text, _us) = output.await.unwrap();
    assert_eq!(text.lines().nth(1), Some("-9"), "{text}");
    assert_eq!(marked(&mark), [0; 0], "the guard ends last");
}

#[tokio::test]
async fn the_ledger_lists_children_and_ends_leftovers() {
    let state = tempfile::tempdir().unwrap();
    let ledger = Arc::new(Ledger::open(state.path()).unwrap());
    let launcher = ProcessLauncher::with_guard(guard(), Some(ledger));
    let mark = mark();
    let runs = state.path().join("runs");
    let spec = shell(&format!("sh -c 'sleep 600 & : >{}; wait' $0 & wait", runs.display()), &mark);
    let connection = launcher.launch(&spec).await.unwrap();
    assert!(soon(START, || runs.exists() && marked(&mark).len() == 2).await);
    assert!(connection.process.memory_bytes().is_some(), "which also notes what runs");
    let file = only_file(&state.path().join("children"));
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.contains(&connection.process.id().unwrap().to_string()), "{page}");
    assert_eq!(sweep(state.path()), SweepReport::default(), "the owner lives");

    // Simulates a dead owner: the same ledger under an impossible owner id.
    let own = format!("\"owner\":{{\"pid\":{}", std::process::id());
    assert!(page.contains(&own), "{page}");
    std::fs::write(state.path().join("children/dead.json"), page.replace(&own, "\"owner\":{\"pid\":4194303")).unwrap();
    let swept = sweep(state.path());
    assert_eq!(swept.ledgers, 1);
    assert!(swept.killed >= 3, "{swept:?}");
    assert!(soon(GONE, || marked(&mark).is_empty()).await);
    connection.process.exited().await;
    assert!(soon(GONE, || !file.exists()).await, "an ended child is forgotten");
}

fn only_file(folder: &Path) -> PathBuf {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}
