//! Starts, queries and ends the real binary, and tracks every process that it starts.
//!
//! Invariant: dropping a [`Yard`] fails the test if a process that it started is still alive.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest, Sha256};

use super::mcp::{Mcp, until};
use codeyard_test_support::real_servers::{files_below, servers_dir};

/// A running `codeyard serve`.
pub(crate) struct Yard {
    child: Child,
    /// The address that it listens on.
    pub address: String,
    pub token: String,
    stderr: Arc<Mutex<String>>,
    pub state: Arc<tempfile::TempDir>,
    seen: BTreeSet<Process>,
}

/// A process; its start time distinguishes it from a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub pid: u32,
    started: u64,
}

/// The address and the token of a running server.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    address: String,
    token: String,
}

impl Access {
    /// A client of the workspace `name`.
    pub(crate) fn client(&self, name: &str) -> Mcp {
        Mcp::connect(&self.address, &format!("/mcp/{name}"), Some(&self.token))
    }
}

impl Yard {
    /// Serves the workspaces of a configuration on a free port.
    pub(crate) fn serve(configuration: &str) -> Self {
        Self::serve_with(configuration, &[])
    }

    /// Same with additional flags.
    pub(crate) fn serve_with(configuration: &str, flags: &[&str]) -> Self {
        Self::serve_in(configuration, flags, &[])
    }

    /// Same with additional environment variables.
    pub(crate) fn serve_in(configuration: &str, flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let state = Arc::new(tempfile::Builder::new().prefix("yard").tempdir().expect("a folder"));
        Self::serve_from(state, configuration, flags, environment)
    }

    /// Same with the state directory of an instance that has ended.
    pub(crate) fn serve_from(
        state: Arc<tempfile::TempDir>,
        configuration: &str,
        flags: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let file = state.path().join("test.toml");
        // The fallback is off by default, so that tests see the answers of real language servers.
        let off = if configuration.contains("syntactic") { "" } else { "\n[syntactic]\nmode = \"off\"\n" };
        fs::write(&file, format!("{configuration}{off}")).expect("a file");
        let mut command = codeyard("serve", state.path());
        command.arg("--config").arg(&file).args(["--listen", "127.0.0.1:0"]).args(flags);
        command.envs(environment.iter().copied());
        Self::started(command, state)
    }

    /// Same in a mount namespace of its own, after `script` has run in it with the state directory as `$1`. `None` if this machine allows no such
    /// namespace.
    pub(crate) fn serve_after(script: &str, configuration: &str) -> Option<Self> {
        let state = Arc::new(tempfile::Builder::new().prefix("yard").tempdir().expect("a folder"));
        let file = state.path().join("test.toml");
        fs::write(&file, configuration).expect("a file");
        let command = in_namespace(script, state.path());
        is_namespace_allowed().then(|| Self::started(command, state))
    }

    fn started(mut command: Command, state: Arc<tempfile::TempDir>) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let stderr: Arc<Mutex<String>> = Arc::default();
        let lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let shared = stderr.clone();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut all = shared.lock();
                all.push_str(&line);
                all.push('\n');
            }
        });
        let mut yard =
            Self { child, address: String::new(), token: String::new(), stderr, state, seen: BTreeSet::new() };
        let after = |text: &str, mark: &str| {
            text.lines().find_map(|line| Some(line.split_once(mark)?.1.split([' ', '/']).next()?.to_owned()))
        };
        let listening = until(20_000, || {
            let text = yard.stderr.lock();
            yard.address = after(&text, "listening http://").unwrap_or_default();
            let token_file =
                text.lines().find_map(|line| Some(line.split_once("first token is in ")?.1.split_once(" (only")?.0));
            // As the server sees it: it may have a mount namespace of its own.
            let read = |file: &str| fs::read_to_string(format!("/proc/{}/root{file}", yard.child.id())).ok();
            yard.token = token_file.and_then(read).unwrap_or_default().trim().to_owned();
            !yard.address.is_empty()
        });
        assert!(listening, "it doesn't listen: {}", yard.stderr.lock());
        yard
    }

    /// A client of the workspace `name`.
    pub(crate) fn client(&self, name: &str) -> Mcp {
        self.access().client(name)
    }

    /// What clients on other threads need.
    pub(crate) fn access(&self) -> Access {
        Access { address: self.address.clone(), token: self.token.clone() }
    }

    pub(crate) fn log(&self) -> String {
        self.stderr.lock().clone()
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its current descendants, without itself; they are also remembered for the check at the end.
    pub(crate) fn descendants(&mut self) -> BTreeSet<Process> {
        let found = descendants(self.child.id());
        self.seen.extend(&found);
        found
    }

    /// The descendants that run the program `name`.
    pub(crate) fn running(&mut self, name: &str) -> Vec<Process> {
        let runs = |process: &Process| {
            let line = command_line(process.pid);
            line.split(' ').next().is_some_and(|program| Path::new(program).file_name().is_some_and(|own| own == name))
        };
        self.descendants().into_iter().filter(runs).collect()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        signal_to(self.child.id(), signal);
    }

    /// Waits until it exits.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        until(20_000, || {
            status = self.child.try_wait().expect("our child");
            status.is_some()
        });
        status.unwrap_or_else(|| panic!("it doesn't end: {}", self.stderr.lock()))
    }

    /// Asks it to stop and checks that it exits with code 0.
    pub(crate) fn stop(mut self) {
        self.descendants();
        self.signal(Signal::TERM);
        let status = self.wait();
        assert!(status.success(), "{status}: {}", self.stderr.lock());
        assert_gone(&self.seen, 0);
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.descendants();
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
        if std::thread::panicking() {
            eprintln!("--- codeyard's log\n{}", self.stderr.lock());
        } else {
            assert_gone(&self.seen, 2_000);
        }
    }
}

/// A command of the binary with the test servers and this state directory.
pub(crate) fn codeyard(command: &str, state: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the binary under test")]
    let mut built = Command::new(env!("CARGO_BIN_EXE_codeyard"));
    built.arg(command).arg("--state-dir").arg(state).env("CODEYARD_SERVERS_DIR", servers_dir());
    built
}

/// The server as a command that runs `script` in a mount namespace first.
pub(crate) fn in_namespace(script: &str, state: &Path) -> Command {
    let script = format!("set -e; {script}\nshift; exec \"$@\"");
    #[expect(clippy::disallowed_methods, reason = "the binary under test")]
    let mut command = Command::new("unshare");
    command.args(["-r", "-m", "--", "sh", "-c", &script, "sh"]).arg(state);
    let server = codeyard("serve", state);
    command.arg(server.get_program()).args(server.get_args());
    command.arg("--config").arg(state.join("test.toml")).args(["--listen", "127.0.0.1:0"]);
    command.env("CODEYARD_SERVERS_DIR", servers_dir());
    command
}

/// Whether this machine allows mount namespaces; says "skipped" if not.
pub(crate) fn is_namespace_allowed() -> bool {
    #[expect(clippy::disallowed_methods, reason = "asks whether a program works")]
    let asked = Command::new("unshare").args(["-r", "-m", "--", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    let is_allowed = asked.is_ok_and(|output| output.status.success());
    if !is_allowed {
        codeyard_test_support::parts::skip("namespaces", "`unshare -r -m` isn't allowed");
    }
    is_allowed
}

/// Fails if one of `processes` is alive after `limit_ms`.
pub(crate) fn assert_gone(processes: &BTreeSet<Process>, limit_ms: u64) {
    let alive = || processes.iter().filter(|process| is_alive(**process)).map(|process| process.pid);
    if !until(limit_ms, || alive().next().is_none()) {
        let left: Vec<String> = alive().map(|pid| format!("{pid} {}", command_line(pid))).collect();
        panic!("still alive after {limit_ms} ms: {left:?}");
    }
}

/// Sends a signal to one process.
pub(crate) fn signal_to(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id")).expect("a process id");
    kill_process(pid, signal).ok();
}

/// Whether the process is running; a zombie isn't.
pub(crate) fn is_alive(process: Process) -> bool {
    stat(process.pid).is_some_and(|(_, started, state)| started == process.started && state != 'Z' && state != 'X')
}

/// All processes that descend from `root`, without it.
pub(crate) fn descendants(root: u32) -> BTreeSet<Process> {
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        if let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok())
            && let Some((parent, started, _)) = stat(pid)
        {
            children.entry(parent).or_default().push(Process { pid, started });
        }
    }
    let mut found = BTreeSet::new();
    let mut waiting = vec![root];
    while let Some(pid) = waiting.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            found.insert(*child);
            waiting.push(child.pid);
        }
    }
    found
}

/// The process with this id.
pub(crate) fn process(pid: u32) -> Option<Process> {
    stat(pid).map(|(_, started, _)| Process { pid, started })
}

/// The processes of language servers that the codeyard `owner` has started, whatever their parent is now.
pub(crate) fn owned_by(owner: Process) -> BTreeSet<Process> {
    let end = format!("/{}-{}", owner.pid, owner.started);
    let names_owner = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable.starts_with(b"CODEYARD_OWNER=") && variable.ends_with(end.as_bytes()))
    };
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(names_owner).filter_map(process).filter(|found| is_alive(*found)).collect()
}

pub(crate) fn command_line(pid: u32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ")
}

/// Parent, start time and state.
fn stat(pid: u32) -> Option<(u32, u64, char)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?, fields.first()?.chars().next()?))
}

/// All files in a root with the hash of their content, to detect writes.
pub(crate) fn listing(root: &Path) -> BTreeMap<PathBuf, String> {
    let hash = |path: &PathBuf| format!("{:x?}", Sha256::digest(fs::read(path).expect("a file")).as_slice());
    files_below(root).into_iter().map(|path| (path.clone(), hash(&path))).collect()
}
