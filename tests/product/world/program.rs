//! Programs that the tests start: run until they exit, or as services until dropped.
//!
//! Invariant: dropping the value fails the test if the program or one of its descendants is alive.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command};

use rustix::process::Signal;

use crate::mcp::until;
use crate::running_server::{Process, assert_gone, descendants, is_alive, signal_to};

/// A timeout that only a hang exceeds.
const LIMIT_MS: u64 = 300_000;
/// Number of start attempts of a service.
const ATTEMPTS: usize = 5;

/// Output and exit status of a program.
pub(crate) struct Ended {
    /// Whether it exited with 0.
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

/// A running program with its output in files, and all descendants observed so far.
struct Running {
    child: Child,
    stdout: File,
    stderr: File,
    seen: BTreeSet<Process>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let stdout = tempfile::tempfile().expect("a file");
        let stderr = tempfile::tempfile().expect("a file");
        command.stdout(stdout.try_clone().expect("a file")).stderr(stderr.try_clone().expect("a file"));
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} can't be started: {error}"));
        Self { child, stdout, stderr, seen: BTreeSet::new() }
    }

    /// Whether it has ended; also records its descendants.
    fn has_ended(&mut self) -> bool {
        let pid = self.child.id();
        self.seen.extend(descendants(std::process::id()).into_iter().filter(|process| process.pid == pid));
        self.seen.extend(descendants(pid));
        self.child.try_wait().expect("our child").is_some()
    }
}

impl Drop for Running {
    /// Ends the program and its descendants after a failed test.
    fn drop(&mut self) {
        if !self.has_ended() {
            self.child.kill().ok();
            self.child.wait().ok();
        }
        for process in self.seen.iter().filter(|process| is_alive(**process)) {
            signal_to(process.pid, Signal::KILL);
        }
    }
}

/// A program that serves on its own ports until it is dropped.
pub(crate) struct Service {
    running: Running,
    ports: Vec<u16>,
}

impl Service {
    /// Starts the command for `count` free ports, and waits until `is_ready` reports that it serves there. If
    /// another process takes a port in the meantime, it retries with other ports.
    pub(crate) fn start(count: usize, command: impl Fn(&[u16]) -> Command, is_ready: impl Fn(&[u16]) -> bool) -> Self {
        let mut output = String::new();
        for _ in 0..ATTEMPTS {
            let ports = free_ports(count);
            let mut running = Running::start(&mut command(&ports));
            let mut ready = false;
            let ended = until(LIMIT_MS, || {
                let ended = running.has_ended();
                ready = !ended && is_ready(&ports);
                ended || ready
            });
            if ready {
                return Self { running, ports };
            }
            output = format!("{}\n{}", text_of(&running.stdout), text_of(&running.stderr));
            assert!(ended, "it never serves: {:?}\n{output}", command(&ports));
        }
        panic!("it ends at once: {output}");
    }

    pub(crate) fn port(&self, index: usize) -> u16 {
        self.ports[index]
    }

    /// Its output so far, from both streams.
    pub(crate) fn printed(&self) -> String {
        text_of(&self.running.stdout) + &text_of(&self.running.stderr)
    }

    /// Ends it and checks that no process remains.
    pub(crate) fn stop(mut self) {
        let running = &mut self.running;
        running.has_ended();
        signal_to(running.child.id(), Signal::TERM);
        assert!(until(LIMIT_MS, || running.has_ended()), "it doesn't end: {}", text_of(&running.stderr));
        assert_gone(&running.seen, 10_000);
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    let bound: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    bound.iter().map(|listener| listener.local_addr().expect("an address").port()).collect()
}

/// Runs a program until it exits and checks that no process remains.
pub(crate) fn run(command: &mut Command) -> Ended {
    run_within(command, LIMIT_MS)
}

/// Same with another timeout.
pub(crate) fn run_within(command: &mut Command, limit_ms: u64) -> Ended {
    let mut running = Running::start(command);
    let ended = until(limit_ms, || running.has_ended());
    let stdout = text_of(&running.stdout);
    let stderr = text_of(&running.stderr);
    assert!(ended, "it hangs: {command:?}\n{stdout}\n{stderr}");
    assert_gone(&running.seen, 10_000);
    let success = running.child.wait().expect("our child").success();
    Ended { success, stdout, stderr }
}

/// Runs a program that must succeed; returns its standard output.
pub(crate) fn run_well(command: &mut Command) -> String {
    let ended = run(command);
    assert!(ended.success, "{command:?}\n{}\n{}", ended.stdout, ended.stderr);
    ended.stdout
}

/// Content of a file so far. The writer shares the file's offset, which must not change.
fn text_of(file: &File) -> String {
    let mut bytes = vec![0; usize::try_from(file.metadata().expect("a file").len()).expect("not that much")];
    let read = file.read_at(&mut bytes, 0).expect("what a program printed");
    String::from_utf8_lossy(&bytes[..read]).into_owned()
}
