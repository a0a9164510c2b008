//! Programs that the tests start: run to their end, or served until dropped.
//!
//! Invariant: none of them, nor what they started, is alive when the value is gone, or the test fails.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command};

use rustix::process::Signal;

use crate::e2e::{Process, assert_gone, descendants, is_alive, signal_to};
use crate::mcp::until;

/// Longer than anything takes; what doesn't end by then hangs.
const LIMIT_MS: u64 = 300_000;
/// How often a service is started.
const ATTEMPTS: usize = 5;

/// What a program printed, and how it ended.
pub(crate) struct Ended {
    /// Whether it ended with 0.
    pub success: bool,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// A running program with its output in files, and everything it was ever seen to have started.
struct Running {
    child: Child,
    stdout: File,
    stderr: File,
    seen: BTreeSet<Process>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let (stdout, stderr) = (tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file"));
        command.stdout(stdout.try_clone().expect("a file")).stderr(stderr.try_clone().expect("a file"));
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} can't be started: {error}"));
        Self { child, stdout, stderr, seen: BTreeSet::new() }
    }

    /// Whether it has ended; looks around for what it started.
    fn has_ended(&mut self) -> bool {
        let pid = self.child.id();
        self.seen.extend(descendants(std::process::id()).into_iter().filter(|process| process.pid == pid));
        self.seen.extend(descendants(pid));
        self.child.try_wait().expect("our child").is_some()
    }
}

impl Drop for Running {
    /// The end of one that wasn't ended in order, after a failed test: it and all that it started.
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

/// A program that serves on ports of its own until it is dropped.
pub(crate) struct Service {
    running: Running,
    ports: Vec<u16>,
}

impl Service {
    /// Starts what `command` makes of `count` free ports, and waits until `is_ready` says that it serves there. Should
    /// someone else take a port at that very moment, it is tried again with others.
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

    /// The port with this index.
    pub(crate) fn port(&self, index: usize) -> u16 {
        self.ports[index]
    }

    /// What it has printed so far, on both outputs.
    pub(crate) fn printed(&self) -> String {
        text_of(&self.running.stdout) + &text_of(&self.running.stderr)
    }

    /// Ends it and sees that nothing of it is left.
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

/// Runs a program to its end and sees that nothing of it is left.
pub(crate) fn run(command: &mut Command) -> Ended {
    let mut running = Running::start(command);
    let ended = until(LIMIT_MS, || running.has_ended());
    let (stdout, stderr) = (text_of(&running.stdout), text_of(&running.stderr));
    assert!(ended, "it hangs: {command:?}\n{stdout}\n{stderr}");
    assert_gone(&running.seen, 10_000);
    let success = running.child.wait().expect("our child").success();
    Ended { success, stdout, stderr }
}

/// Runs a program that has to succeed; its standard output.
pub(crate) fn run_well(command: &mut Command) -> String {
    let ended = run(command);
    assert!(ended.success, "{command:?}\n{}\n{}", ended.stdout, ended.stderr);
    ended.stdout
}

/// All that was written to a file so far. The writer shares the file's offset, so that stays where it is.
fn text_of(file: &File) -> String {
    let mut bytes = vec![0; usize::try_from(file.metadata().expect("a file").len()).expect("not that much")];
    let read = file.read_at(&mut bytes, 0).expect("what a program printed");
    String::from_utf8_lossy(&bytes[..read]).into_owned()
}
