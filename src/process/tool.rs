//! Runs a tool to its end, with bounded time and bounded output.
//!
//! A tool is a program that codeyard or an operator waits for: a package manager, a version probe, `git`. It has no input,
//! runs in its own process group, and the group is killed when the tool has ended or its time is over. It isn't guarded as
//! a language server is: when codeyard is killed, a running tool continues to its own end. It runs at a lower priority than
//! codeyard's own threads.

use std::ffi::OsStr;
use std::io::{self, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::limits::TOOL_OUTPUT_TAIL_BYTES;
use crate::priority;
use codeyard_base::clock::Instant;

/// How often `tick` is called.
const TICK: Duration = Duration::from_secs(1);
/// Attempts to start a program whose file is busy, and the pause between two attempts.
const BUSY_TRIES: u32 = 100;
const BUSY_WAIT: Duration = Duration::from_millis(10);
/// The niceness of tools, which is that of codeyard's background threads.
const NICENESS: i32 = 5;
/// How long output is awaited after the program's end: a grandchild may keep the pipe open.
const DRAIN: Duration = Duration::from_millis(200);

/// A program to run. Inherits the environment of this process, except what is changed here.
#[derive(Debug)]
pub struct Tool {
    command: Command,
    separates_errors: bool,
}

/// How a tool ended.
#[derive(Debug)]
pub struct ToolOutcome {
    /// Its exit status. `None` if its time was over.
    pub status: Option<ExitStatus>,
    /// The last [`TOOL_OUTPUT_TAIL_BYTES`] of its output: standard output and standard error together, or standard output
    /// alone after [`Tool::separate_errors`].
    pub output: String,
    /// The last [`TOOL_OUTPUT_TAIL_BYTES`] of its standard error after [`Tool::separate_errors`]; otherwise empty.
    pub errors: String,
}

impl ToolOutcome {
    /// Whether it exited with 0.
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Its exit status in words.
    pub fn why(&self) -> String {
        self.status.map_or_else(|| "it took too long".into(), |status| status.to_string())
    }
}

impl Tool {
    /// A tool that runs `program`: a path, or a name that is looked up on the `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        #[expect(clippy::disallowed_methods, reason = "tools are started only here")]
        let command = Command::new(program);
        Self { command, separates_errors: false }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes a variable of its environment.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets its working directory.
    #[must_use]
    pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Captures standard error apart from standard output.
    #[must_use]
    pub fn separate_errors(mut self) -> Self {
        self.separates_errors = true;
        self
    }

    /// Runs the tool until it ends or `limit` is over, and calls `tick` about every second. Blocks.
    ///
    /// # Errors
    /// If the program can't be started.
    pub fn run(mut self, limit: Duration, tick: &dyn Fn()) -> io::Result<ToolOutcome> {
        let (reader, writer) = io::pipe()?;
        let errors = if self.separates_errors { Some(io::pipe()?) } else { None };
        let (errors_reader, errors_writer) = errors.unzip();
        let stderr = errors_writer.map_or_else(|| writer.try_clone(), Ok)?;
        self.command.stdin(Stdio::null()).stdout(writer).stderr(stderr).process_group(0);
        let mut child = start(&mut self.command)?;
        priority::lower_group(child.id(), NICENESS);
        // The command holds the writing ends too. While they are open, the readers see no end.
        drop(self.command);
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (events, received) = channel();
        let readers = 1 + usize::from(errors_reader.is_some());
        let output = read_tail(reader, &events);
        let errors = errors_reader.map(|reader| read_tail(reader, &events));
        thread::spawn(move || {
            // The receiver is gone if the time was over.
            let _ = events.send(Event::Exited(child.wait()));
        });
        let status = wait_for_end(&received, readers, limit, tick)?;
        if let Some(group) = group {
            // The processes that the tool left in its group, or all of them if the time is over.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let text = |tail: &Tail| String::from_utf8_lossy(&tail.lock()).into_owned();
        Ok(ToolOutcome { status, output: text(&output), errors: errors.as_ref().map(text).unwrap_or_default() })
    }
}

/// What the threads of a run report.
enum Event {
    Exited(io::Result<ExitStatus>),
    OutputEnded,
}

/// The last bytes of an output.
type Tail = Arc<Mutex<Vec<u8>>>;

/// Waits for the exit and then for a moment for the end of all outputs. `None` if the time is over first.
fn wait_for_end(
    events: &Receiver<Event>,
    readers: usize,
    limit: Duration,
    tick: &dyn Fn(),
) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    let mut open = readers;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        match events.recv_timeout(left.min(TICK)) {
            Ok(Event::Exited(status)) => {
                while open > 0 && events.recv_timeout(DRAIN).is_ok() {
                    open -= 1;
                }
                return status.map(Some);
            }
            Ok(Event::OutputEnded) => open -= 1,
            Err(RecvTimeoutError::Timeout) => tick(),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// Reads an output to its end in a thread and keeps its last bytes.
fn read_tail(mut reader: PipeReader, events: &Sender<Event>) -> Tail {
    let tail = Tail::default();
    let (kept, events) = (Arc::clone(&tail), events.clone());
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            let mut kept = kept.lock();
            kept.extend_from_slice(&buffer[..count]);
            let overflow = kept.len().saturating_sub(TOOL_OUTPUT_TAIL_BYTES);
            kept.drain(..overflow);
        }
        // The receiver is gone if the time was over.
        let _ = events.send(Event::OutputEnded);
    });
    tail
}

/// Starts the program. A file that was just written may still be open for writing in a process that was forked at that
/// moment; then the start is tried again.
fn start(command: &mut Command) -> io::Result<Child> {
    for _ in 0..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::park_timeout(BUSY_WAIT),
            outcome => return outcome,
        }
    }
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Tool {
        Tool::new("sh").args(["-c", script])
    }

    #[test]
    fn output_is_captured_together_or_apart() {
        let limit = Duration::from_secs(60);
        let both = shell("echo out; echo err >&2; exit 3").run(limit, &|| ()).unwrap();
        assert_eq!((both.output.as_str(), both.errors.as_str()), ("out\nerr\n", ""));
        assert_eq!((both.success(), both.why().as_str()), (false, "exit status: 3"));
        let apart = shell("echo out; echo err >&2").separate_errors().run(limit, &|| ()).unwrap();
        assert_eq!((apart.output.as_str(), apart.errors.as_str(), apart.success()), ("out\n", "err\n", true));
    }

    #[test]
    fn long_output_keeps_its_end_and_long_runs_are_killed() {
        let long = shell("head -c 100000 /dev/zero; echo end").run(Duration::from_secs(60), &|| ()).unwrap();
        assert_eq!(long.output.len(), TOOL_OUTPUT_TAIL_BYTES);
        assert!(long.output.ends_with("end\n"));
        let endless = shell("sleep 600").run(Duration::from_millis(50), &|| ()).unwrap();
        assert!(endless.status.is_none() && !endless.success());
    }
}
