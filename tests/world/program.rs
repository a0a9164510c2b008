//! Programs that the tests start: run to their end, or served until dropped.
//!
//! Invariant: none of them, nor what they started, is alive when the value is gone, or the test fails.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Command};

use crate::e2e::{Process, assert_gone, descendants};
use crate::mcp::until;

/// Longer than anything takes; what doesn't end by then hangs.
const LIMIT_MS: u64 = 300_000;

/// What a program printed, and how it ended.
pub struct Ended {
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
    fn drop(&mut self) {
        if !self.has_ended() {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// Runs a program to its end and sees that nothing of it is left.
pub fn run(command: &mut Command) -> Ended {
    let mut running = Running::start(command);
    let ended = until(LIMIT_MS, || running.has_ended());
    let (stdout, stderr) = (text_of(&mut running.stdout), text_of(&mut running.stderr));
    assert!(ended, "it hangs: {command:?}\n{stdout}\n{stderr}");
    assert_gone(&running.seen, 10_000);
    let success = running.child.wait().expect("our child").success();
    Ended { success, stdout, stderr }
}

/// Runs a program that has to succeed; its standard output.
pub fn run_well(command: &mut Command) -> String {
    let ended = run(command);
    assert!(ended.success, "{command:?}\n{}\n{}", ended.stdout, ended.stderr);
    ended.stdout
}

/// All that was written to a file, also by others that have it open.
fn text_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("what a program printed");
    String::from_utf8_lossy(&bytes).into_owned()
}
