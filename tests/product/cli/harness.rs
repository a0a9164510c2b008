//! The binary as a process, run to its end or kept serving, in folders of its own.
//!
//! Invariant: when a [`ServeProcess`] is dropped, its process and all that descends from it have ended.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};

use crate::mcp::{Mcp, until};

/// Longest time a command may take, in milliseconds.
const LIMIT_MS: u64 = 60_000;

/// Folders for one test: a state directory, and a repository with a file that the tiny language server serves.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A `codeyard serve` that runs.
pub(crate) struct ServeProcess {
    child: Child,
    log: Arc<Mutex<String>>,
    pub address: String,
    pub token: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("cy").tempdir().unwrap();
        for name in ["repo", "other"] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("a.tiny"), format!("def {name}\nuse {name}\n")).unwrap();
        }
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Writes `codeyard.toml`: the tiny language server, and what `rest` says.
    pub(crate) fn configure(&self, rest: &str) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/tiny_lsp.py");
        let tiny = format!(
            "{rest}\n[languages.tiny]\nextensions = [\"tiny\"]\n[servers.tiny]\nlanguages = [\"tiny\"]\ngroup = \"tiny\"\n\
             command = [\"python3\", {script:?}]\n"
        );
        fs::write(self.path("codeyard.toml"), tiny).unwrap();
        self.path("codeyard.toml").display().to_string()
    }

    /// A workspace of the repository, with the tiny language server.
    pub(crate) fn configured(&self) -> String {
        self.configure("[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n")
    }

    /// The command with these words, in the repository's folder, with this place's state and no servers installed.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the binary under test")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_codeyard"));
        command.args(words).current_dir(self.path("repo")).stdin(Stdio::null());
        command.env("CODEYARD_STATE_DIR", self.path("state"));
        command.env_remove("CODEYARD_SERVERS_DIR").env_remove("CODEYARD_TOKEN").env_remove("CODEYARD_LOG");
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[&str]) -> CommandOutput {
        run(&mut self.command(words))
    }

    /// Serves, and waits until it accepts.
    pub(crate) fn serve(&self, words: &[&str]) -> ServeProcess {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(words);
        self.served_by(command)
    }

    /// The same with a command that serves.
    pub(crate) fn served_by(&self, mut command: Command) -> ServeProcess {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let log: Arc<Mutex<String>> = Arc::default();
        let lines = BufReader::new(child.stderr.take().unwrap());
        let shared = log.clone();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                shared.lock().push_str(&format!("{line}\n"));
            }
        });
        let mut serving = ServeProcess { child, log, address: String::new(), token: String::new() };
        serving.wait_for("listening http");
        let log = serving.log();
        let word_after = |mark: &str| {
            let rest = log.lines().find_map(|line| Some(line.split_once(mark)?.1));
            rest.and_then(|rest| rest.split([' ', '/']).next()).unwrap_or_default().to_owned()
        };
        let token_file =
            log.lines().find_map(|line| Some(line.split_once("first token is in ")?.1.split_once(" (only")?.0));
        let scheme = if log.contains("listening https://") { "https" } else { "http" };
        serving.address = word_after(&format!("listening {scheme}://"));
        serving.token = token_file.map(|file| fs::read_to_string(file).unwrap().trim().to_owned()).unwrap_or_default();
        serving
    }
}

/// Runs a command to its end, with a limit.
pub(crate) fn run(command: &mut Command) -> CommandOutput {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let drain = |pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut pipe = pipe;
            pipe.read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        })
    };
    let stdout = drain(Box::new(child.stdout.take().unwrap()));
    let stderr = drain(Box::new(child.stderr.take().unwrap()));
    let ended = until(LIMIT_MS, || child.try_wait().unwrap().is_some());
    if !ended {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let stdout = stdout.join().unwrap();
    let stderr = stderr.join().unwrap();
    assert!(ended, "{command:?} takes too long\n{stdout}\n{stderr}");
    CommandOutput { code: status.code().unwrap_or(-1), stdout, stderr }
}

impl CommandOutput {
    /// Fails unless it ended with this code.
    #[track_caller]
    pub(crate) fn code(self, wanted: i32) -> Self {
        assert_eq!(self.code, wanted, "{self:#?}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Fails unless standard error holds all of these.
    #[track_caller]
    pub(crate) fn says(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stderr.contains(text), "no `{text}` in {self:#?}");
        }
    }
}

impl ServeProcess {
    pub(crate) fn log(&self) -> String {
        self.log.lock().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the log holds `text`.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        assert!(until(20_000, || self.log.lock().contains(text)), "no `{text}` in\n{}", self.log());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn client(&self, workspace: &str) -> Mcp {
        Mcp::connect(&self.address, &format!("/mcp/{workspace}"), Some(&self.token))
    }

    /// The status of an empty POST with this token at this path.
    pub(crate) fn status(&self, path: &str, token: &str) -> u16 {
        let answer = self.post(path, token, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The whole answer to a POST of this message.
    pub(crate) fn post(&self, path: &str, token: &str, body: &str) -> String {
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: */*\r\nMCP-Protocol-Version: 2025-11-25\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks it to end; its exit code.
    pub(crate) fn stop(mut self, signal: Signal) -> i32 {
        let family = descendants(self.pid());
        self.signal(signal);
        assert!(until(20_000, || self.child.try_wait().unwrap().is_some()), "it doesn't end:\n{}", self.log());
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        assert!(until(2_000, || family.iter().all(|pid| !is_alive(*pid))), "children are left of {family:?}");
        code
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        let family = descendants(self.pid());
        self.child.kill().ok();
        self.child.wait().ok();
        let gone = until(4_000, || family.iter().all(|pid| !is_alive(*pid)));
        if !std::thread::panicking() {
            assert!(gone, "children are left of {family:?}");
        }
    }
}

/// Processes below `root`, without it.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_and_state(pid)?.0)))
        .collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

pub(crate) fn is_alive(pid: u32) -> bool {
    parent_and_state(pid).is_some_and(|(_, state)| state != "Z" && state != "X")
}

fn parent_and_state(pid: u32) -> Option<(u32, String)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.to_owned();
    Some((fields.next()?.parse().ok()?, state))
}
