//! Installations, version probes and builds that are interrupted: what they had started ends, and what was compiled is used again.
//!
//! What they run is a program that hangs, which no real one does on demand.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::cli::harness::{CommandOutput, Sandbox, is_alive, run};
use crate::mcp::until;
use codeyard_test_support::real_servers::servers_dir;

/// Longest time until processes have started or ended, in milliseconds.
const LIMIT_MS: u64 = 20_000;

/// A program that writes its own id and those of two processes that it starts, one without its environment, and waits for them.
const HANGS: &str = "sleep 600 & first=$!\nenv -i /bin/sleep 600 & second=$!\n\
                     echo $$ $first $second > \"$0.new\" && mv \"$0.new\" \"$0.pids\"\nwait";

/// A place with programs of its own before those of the system.
struct Place {
    sandbox: Sandbox,
}

impl Place {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.path("bin")).unwrap();
        Self { sandbox }
    }

    fn program(&self, name: &str, body: &str) {
        let path = self.sandbox.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.sandbox.command(words);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.sandbox.path("bin").display()));
        command
    }

    /// Starts a command, and waits until the program `name` hangs.
    fn start(&self, mut command: Command, name: &str) -> Running {
        let pids = self.sandbox.path("bin").join(format!("{name}.pids"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut running = Running { child, started: Vec::new() };
        assert!(until(LIMIT_MS, || pids.is_file()), "`{name}` isn't started");
        let text = fs::read_to_string(&pids).unwrap();
        running.started = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        fs::remove_file(pids).unwrap();
        assert!(running.started.len() == 3 && running.started.iter().all(|pid| is_alive(*pid)), "{text}");
        running
    }

    /// Whether the folder `name` of the installations of rust-analyzer exists.
    fn has(&self, name: &str) -> bool {
        self.sandbox.path("state/servers/rust-analyzer").join(name).exists()
    }

    /// Installs with a cargo that requires the object that the interrupted one has made.
    fn install_again(&self) {
        let server =
            "printf '#!/bin/sh\\necho rust-analyzer 1.2.3\\n' > bin/rust-analyzer; chmod 755 bin/rust-analyzer";
        self.program("cargo", &format!("[ -f \"$CARGO_TARGET_DIR/object\" ] || exit 9; mkdir bin; {server}"));
        run(&mut self.command(&INSTALL)).code(0).says(&["1.2.3 installed"]);
        assert!(!self.has(".new") && !self.has(".build"));
    }
}

/// A command with the hanging program that it has started.
struct Running {
    child: Child,
    started: Vec<u32>,
}

impl Running {
    /// Sends a signal and waits for the end of all.
    fn end(mut self, signal: Signal) -> CommandOutput {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        assert!(until(LIMIT_MS, || self.child.try_wait().unwrap().is_some()), "codeyard doesn't end");
        let gone = until(LIMIT_MS, || !self.started.iter().any(|pid| is_alive(*pid)));
        assert!(gone, "{:?} are left of {:?}", self.left(), self.started);
        let mut stderr = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut stderr).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        CommandOutput { code, stdout: String::new(), stderr }
    }

    fn left(&self) -> Vec<u32> {
        self.started.iter().copied().filter(|pid| is_alive(*pid)).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        for pid in self.left() {
            kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).ok();
        }
    }
}

const INSTALL: [&str; 3] = ["servers", "install", "rust-analyzer"];

/// A cargo that has compiled something when it hangs.
fn hanging_cargo(place: &Place) {
    let compiles = "mkdir -p \"$CARGO_TARGET_DIR\"; echo > \"$CARGO_TARGET_DIR/object\"; echo > \"$TMPDIR/part\"";
    place.program("cargo", &format!("{compiles}\n{HANGS}"));
}

#[test]
fn a_signal_ends_an_installation_with_its_processes_and_a_hint() {
    for (signal, name, code) in
        [(Signal::TERM, "SIGTERM", 143), (Signal::HUP, "SIGHUP", 129), (Signal::INT, "SIGINT", 130)]
    {
        let place = Place::new();
        hanging_cargo(&place);
        let words = [&INSTALL[..], &["ty", "taplo"]].concat();
        let ended = place.start(place.command(&words), "cargo").end(signal).code(code);
        ended.says(&[
            &format!(
                "installing rust-analyzer was interrupted by {name}; `codeyard servers install rust-analyzer` goes on"
            ),
            "not begun: `codeyard servers install ty taplo`",
        ]);
        assert!(!ended.stderr.contains("2 of 3"), "{ended:?}");
        assert!(!place.has(".new") && place.has(".build"));
        place.install_again();
    }
}

#[test]
fn a_killed_installation_leaves_no_process_and_is_repeated() {
    let place = Place::new();
    hanging_cargo(&place);
    place.start(place.command(&INSTALL), "cargo").end(Signal::KILL);
    place.install_again();
}

#[test]
fn another_installation_that_waits_is_interrupted_too() {
    let place = Place::new();
    hanging_cargo(&place);
    let first = place.start(place.command(&INSTALL), "cargo");
    let mut command = place.command(&INSTALL);
    let mut second = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(second.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
    assert!(line.contains("waiting; another process is installing it"), "{line}");
    kill_process(Pid::from_child(&second), Signal::TERM).unwrap();
    let ended = until(LIMIT_MS, || second.try_wait().unwrap().is_some());
    second.kill().ok();
    assert_eq!((ended, second.wait().unwrap().code()), (true, Some(143)));
    assert!(first.left().len() == 3 && place.has(".new"), "the first one goes on");
    first.end(Signal::TERM).code(143);
}

#[test]
fn a_version_probe_of_the_doctor_ends_with_it() {
    for signal in [Signal::TERM, Signal::KILL] {
        let place = Place::new();
        place.program("rust-analyzer", HANGS);
        fs::write(place.sandbox.path("repo/a.rs"), "").unwrap();
        place.start(place.command(&["doctor", "."]), "rust-analyzer").end(signal);
    }
}

#[test]
fn a_build_ends_with_the_server_that_runs_it() {
    for signal in [Signal::TERM, Signal::KILL] {
        let place = Place::new();
        place.program("bear", "exit 1");
        place.program("make", HANGS);
        fs::write(place.sandbox.path("repo/Makefile"), "all: a.o\n").unwrap();
        fs::write(place.sandbox.path("repo/a.c"), "int a(void) { return 1; }\n").unwrap();
        let workspace = "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\nprewarm = true\nrun_build = true\n";
        let config = place.sandbox.configure(workspace);
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--config", &config]);
        command.env("CODEYARD_SERVERS_DIR", servers_dir());
        place.start(command, "make").end(signal);
    }
}
