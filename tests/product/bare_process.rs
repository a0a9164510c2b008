//! The process of a bare language server, with its messages as plain JSON.
//!
//! It knows no method of the protocol. Invariant: the process, its children and its temporary files end with the value.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct BareProcess {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// A killed server doesn't remove its temporary files.
    _temporary: TempDir,
}

impl BareProcess {
    /// Starts `command` in a group of its own, with pipes.
    pub(crate) fn start(mut command: Command) -> Self {
        let temporary = tempfile::tempdir().expect("a folder");
        command.env("TMPDIR", temporary.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take().expect("a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, input, messages, _temporary: temporary }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.input.write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).expect("it reads");
        self.input.flush().expect("it reads");
    }

    /// The next message, if one arrives in time.
    pub(crate) fn receive(&self, wait: Duration) -> Option<Value> {
        self.messages.recv_timeout(wait).ok()
    }
}

impl Drop for BareProcess {
    fn drop(&mut self) {
        let group = Pid::from_raw(i32::try_from(self.child.id()).unwrap_or_default());
        if let Some(group) = group {
            kill_process_group(group, Signal::KILL).ok();
        }
        self.child.wait().ok();
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
