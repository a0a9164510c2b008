//! Runs a tool to its end, with bounded time and bounded output.
//!
//! A tool is a program that codeyard or an operator waits for: a package manager, a version probe, `git`. It has no input but what it is given at
//! its start, runs in its own process group, and the group is killed when the tool has ended, its time is over, its caller stops it, or a signal asks
//! codeyard to [end](super::interruption). It has no guard, as a language server has: when codeyard ends in another way, also by SIGKILL, the
//! [warden](super::warden) kills the tool with its descendants. It runs at a lower priority than codeyard's own threads.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

use crate::orphans::{self, OWNER_VARIABLE};
use crate::tool_output::{Captured, Event, Kept, capture};
use crate::warden::{self, RunningWarden};
use crate::{interruption, priority, subcommands, tool_log};
use codeyard_base::clock::Instant;

/// Kept end of a tool's output, in bytes.
const TOOL_OUTPUT_TAIL_BYTES: usize = 16 * 1024;

/// How often `tick` is called.
const TICK: Duration = Duration::from_secs(1);
/// How often it is checked whether the tool has to stop.
const STOP_POLL: Duration = Duration::from_millis(25);
/// How long the end of a killed process group is awaited.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// Attempts to start a program whose file is busy, and the pause between two attempts.
const BUSY_TRIES: u32 = 100;
const BUSY_WAIT: Duration = Duration::from_millis(10);
/// The niceness of tools, which is that of codeyard's background threads. A thread that is nicer has tools that are as nice.
const NICENESS: i32 = 5;
/// How long output is awaited after the program's end: a grandchild may keep the pipe open.
const DRAIN: Duration = Duration::from_millis(200);

/// A program to run. Inherits the environment of this process, except what is changed here.
#[derive(Debug)]
pub struct Tool {
    command: Command,
    /// The file name of the program.
    name: String,
    separates_errors: bool,
    joins_errors: bool,
    input: Option<Vec<u8>>,
    /// What the system bounds, in its units.
    limits: Vec<(Resource, u64)>,
}

/// How a tool ended.
#[derive(Debug)]
pub struct ToolOutcome {
    /// Its exit status. `None` if its time was over, or a signal asked codeyard to end.
    pub status: Option<ExitStatus>,
    /// The last [`TOOL_OUTPUT_TAIL_BYTES`] of its output: standard output and standard error together, or standard output
    /// alone after [`Tool::separate_errors`].
    pub output: String,
    /// The last [`TOOL_OUTPUT_TAIL_BYTES`] of its standard error after [`Tool::separate_errors`]; otherwise empty.
    pub errors: String,
}

/// What bounds a tool whose whole output is needed.
pub struct ToolBounds<'b> {
    pub limit: Duration,
    /// Its standard output, in bytes.
    pub max_output_bytes: usize,
    /// Asked at least every 50 ms; the tool is killed as soon as it says `true`, or a signal asks codeyard to end.
    pub stop: &'b dyn Fn() -> bool,
}

/// Why a tool isn't running any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEnd {
    /// It exited, or a signal that codeyard didn't send ended it.
    Exited(ExitStatus),
    TimedOut,
    Stopped,
    /// Its output was too long.
    TooMuchOutput,
}

/// How a tool with a whole output ended.
#[derive(Debug)]
pub struct WholeOutcome {
    /// Why it isn't running any more.
    pub end: ToolEnd,
    /// Its standard output; a part of it unless it exited.
    pub output: Vec<u8>,
    /// The last [`TOOL_OUTPUT_TAIL_BYTES`] of its standard error.
    pub errors: String,
}

impl ToolOutcome {
    /// Whether it exited with 0.
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Its exit status in words.
    pub fn why(&self) -> String {
        match (self.status, interruption::received()) {
            (Some(status), _) => status.to_string(),
            (None, Some(signal)) => format!("{} interrupted it", signal.name()),
            (None, None) => "it took too long".into(),
        }
    }
}

impl Tool {
    /// A tool that runs `program`: a path, or a name that is looked up on the `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        #[expect(clippy::disallowed_methods, reason = "tools are started only here")]
        let command = Command::new(&program);
        let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { command, name, separates_errors: false, joins_errors: false, input: None, limits: Vec::new() }
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

    /// Inherits nothing of the environment of this process.
    #[must_use]
    pub fn clear_env(mut self) -> Self {
        self.command.env_clear();
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

    /// Counts standard error as a part of the whole output, for [`Self::run_whole`].
    #[must_use]
    pub fn join_errors(mut self) -> Self {
        self.joins_errors = true;
        self
    }

    /// Bounds each file that it writes. The system enforces it, so it holds even when codeyard is killed.
    #[must_use]
    pub fn max_file_bytes(mut self, max: u64) -> Self {
        self.limits.push((Resource::Fsize, max));
        self
    }

    /// Bounds the memory that each of its processes can write: it gets no more. Holds even when codeyard is killed.
    #[must_use]
    pub fn max_data_bytes(mut self, max: u64) -> Self {
        self.limits.push((Resource::Data, max));
        self
    }

    /// Bounds the processor time of each of its processes, which is killed then. Holds even when codeyard is killed.
    #[must_use]
    pub fn max_cpu_time(mut self, max: Duration) -> Self {
        self.limits.push((Resource::Cpu, max.as_secs().max(1)));
        self
    }

    /// Runs the tool until it ends or `limit` is over, and calls `tick` about every second. Blocks.
    ///
    /// # Errors
    /// If the program can't be started.
    pub fn run(self, limit: Duration, tick: &dyn Fn()) -> io::Result<ToolOutcome> {
        let name = self.name.clone();
        let began = Instant::now();
        let wall = SystemTime::now();
        let running = self.spawn(Kept::Tail(TOOL_OUTPUT_TAIL_BYTES))?;
        let last_tick = Cell::new(Instant::now());
        let poll = || {
            if last_tick.get().elapsed() >= TICK {
                last_tick.set(Instant::now());
                tick();
            }
            false
        };
        let status = match running.wait(limit, &poll)? {
            ToolEnd::Exited(status) => Some(status),
            ToolEnd::TimedOut | ToolEnd::Stopped | ToolEnd::TooMuchOutput => None,
        };
        tool_log::record(&name, wall, began.elapsed(), status.is_some_and(|status| status.success()));
        let text = |kept: &Captured| String::from_utf8_lossy(&kept.lock()).into_owned();
        let errors = running.errors.as_ref().map(text).unwrap_or_default();
        Ok(ToolOutcome { status, output: text(&running.output), errors })
    }

    /// Gives it this input, shorter than a pipe holds, which stays open until its end.
    #[must_use]
    pub fn input(mut self, input: Vec<u8>) -> Self {
        self.input = Some(input);
        self
    }

    /// Runs the tool until it ends or a bound is reached, and keeps its whole standard output. Standard error is apart from it, unless they are
    /// joined. Blocks.
    ///
    /// # Errors
    /// If the program can't be started.
    pub fn run_whole(self, bounds: &ToolBounds<'_>) -> io::Result<WholeOutcome> {
        self.run_until(bounds, &|_| false)
    }

    /// The same, until the output that there is so far is enough.
    ///
    /// # Errors
    /// If the program can't be started.
    pub fn run_until(self, bounds: &ToolBounds<'_>, is_enough: &dyn Fn(&[u8]) -> bool) -> io::Result<WholeOutcome> {
        let name = self.name.clone();
        let began = Instant::now();
        let wall = SystemTime::now();
        let tool = if self.joins_errors { self } else { self.separate_errors() };
        let running = tool.spawn(Kept::Whole(bounds.max_output_bytes))?;
        let stop = || (bounds.stop)() || is_enough(&running.output.lock());
        let end = running.wait(bounds.limit, &stop)?;
        let is_good = matches!(end, ToolEnd::Exited(status) if status.success());
        tool_log::record(&name, wall, began.elapsed(), is_good);
        let errors = running.errors.as_ref().map(|kept| String::from_utf8_lossy(&kept.lock()).into_owned());
        let output = std::mem::take(&mut *running.output.lock());
        Ok(WholeOutcome { end, output, errors: errors.unwrap_or_default() })
    }

    fn spawn(mut self, kept: Kept) -> io::Result<RunningTool> {
        let (reader, writer) = io::pipe()?;
        let errors = if self.separates_errors { Some(io::pipe()?) } else { None };
        let (errors_reader, errors_writer) = errors.unzip();
        let stderr = errors_writer.map_or_else(|| writer.try_clone(), Ok)?;
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(stdin).stdout(writer).stderr(stderr).process_group(0);
        self.command.env(OWNER_VARIABLE, orphans::owner_value());
        let warden = subcommands::program().and_then(|program| warden::hold(&program));
        let mut child = start(&mut self.command)?;
        priority::lower_group(child.id(), NICENESS.max(codeyard_base::priority::own()));
        // The command holds the writing ends too. While they are open, the readers see no end.
        drop(self.command);
        let input = child.stdin.take();
        if let (Some(mut stdin), Some(input)) = (input.as_ref(), &self.input) {
            // One that has ended reads nothing.
            let _ = stdin.write_all(input);
        }
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        for (resource, max) in self.limits {
            // The processes that it starts inherit it. A tool that has ended already needs no bound.
            let _ = prlimit(group, resource, Rlimit { current: Some(max), maximum: Some(max) });
        }
        let (events, received) = channel();
        let readers = 1 + usize::from(errors_reader.is_some());
        let output = capture(reader, kept, &events);
        let errors = errors_reader.map(|reader| capture(reader, Kept::Tail(TOOL_OUTPUT_TAIL_BYTES), &events));
        thread::spawn(move || {
            // The receiver is gone if the tool was killed and nobody waited for it long enough.
            let _ = events.send(Event::Exited(child.wait()));
        });
        Ok(RunningTool { group, events: received, readers, output, errors, _input: input, _warden: warden })
    }
}

struct RunningTool {
    group: Option<Pid>,
    events: Receiver<Event>,
    readers: usize,
    output: Captured,
    errors: Option<Captured>,
    /// Open until the end.
    _input: Option<ChildStdin>,
    _warden: Option<Arc<RunningWarden>>,
}

impl RunningTool {
    /// Waits for its end, and kills what is left of its group.
    fn wait(&self, limit: Duration, stop: &dyn Fn() -> bool) -> io::Result<ToolEnd> {
        let mut open = self.readers;
        let end = self.wait_for_end(&mut open, Instant::now() + limit, stop);
        if let Some(group) = self.group {
            // The processes that the tool left in its group, or all of them if it was stopped.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if matches!(end, Ok(ToolEnd::TimedOut | ToolEnd::Stopped | ToolEnd::TooMuchOutput)) {
            self.wait_for_death(open);
        }
        end
    }

    /// Waits for the exit and then for a moment for the end of all outputs. `open` counts the outputs that haven't ended.
    fn wait_for_end(&self, open: &mut usize, until: Instant, stop: &dyn Fn() -> bool) -> io::Result<ToolEnd> {
        loop {
            if stop() || interruption::received().is_some() {
                return Ok(ToolEnd::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(ToolEnd::TimedOut);
            }
            match self.events.recv_timeout(left.min(STOP_POLL)) {
                Ok(Event::Exited(status)) => return self.drain(open).map_or_else(|| status.map(ToolEnd::Exited), Ok),
                Ok(Event::OutputEnded) => *open -= 1,
                Ok(Event::OutputTooLong) => {
                    *open -= 1;
                    return Ok(ToolEnd::TooMuchOutput);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(ToolEnd::TimedOut),
            }
        }
    }

    /// Waits for a moment for the end of the outputs of a tool that has exited. Another end if one of them was too long.
    fn drain(&self, open: &mut usize) -> Option<ToolEnd> {
        while *open > 0 {
            match self.events.recv_timeout(DRAIN) {
                Ok(Event::OutputTooLong) => return Some(ToolEnd::TooMuchOutput),
                Ok(_) => *open -= 1,
                Err(_) => break,
            }
        }
        None
    }

    /// Waits until the killed processes are gone, so that they write nothing any more: the tool itself, and all that hold an output.
    fn wait_for_death(&self, open: usize) {
        let until = Instant::now() + KILL_WAIT;
        // One for the exit.
        for _ in 0..=open {
            let left = until.saturating_duration_since(Instant::now());
            if self.events.recv_timeout(left).is_err() {
                return;
            }
        }
    }
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
    fn a_tool_with_an_input_runs_until_its_output_is_enough() {
        let limit = Duration::from_secs(60);
        let bounds = ToolBounds { limit, max_output_bytes: 100, stop: &|| false };
        let tool = || Tool::new("cat").input(b"some words".to_vec());
        let outcome = tool().run_until(&bounds, &|output| output.ends_with(b"words")).unwrap();
        assert_eq!((outcome.end, outcome.output.as_slice()), (ToolEnd::Stopped, &b"some words"[..]));
        let unread = shell("exit 3").input(b"x".to_vec()).run_until(&bounds, &|_| false).unwrap();
        assert!(matches!(unread.end, ToolEnd::Exited(status) if status.code() == Some(3)));
    }

    #[test]
    fn long_output_keeps_its_end_and_long_runs_are_killed() {
        let long = shell("head -c 100000 /dev/zero; echo end").run(Duration::from_secs(60), &|| ()).unwrap();
        assert_eq!(long.output.len(), TOOL_OUTPUT_TAIL_BYTES);
        assert!(long.output.ends_with("end\n"));
        let endless = shell("sleep 600").run(Duration::from_millis(50), &|| ()).unwrap();
        assert!(endless.status.is_none() && !endless.success());
    }
    /// The process whose identifier a tool has written to `file`.
    fn process_in(file: &Path) -> Pid {
        Pid::from_raw(std::fs::read_to_string(file).unwrap().trim().parse().unwrap()).unwrap()
    }

    #[test]
    fn whole_outputs_are_kept_or_refused() {
        let limit = Duration::from_secs(60);
        let bounds = |max_output_bytes| ToolBounds { limit, max_output_bytes, stop: &|| false };
        let script = "head -c 300000 /dev/zero; echo why >&2; exit 3";
        let whole = shell(script).run_whole(&bounds(300_000)).unwrap();
        assert_eq!((whole.output.len(), whole.errors.as_str()), (300_000, "why\n"));
        assert!(matches!(whole.end, ToolEnd::Exited(status) if status.code() == Some(3)));
        assert_eq!(shell(script).run_whole(&bounds(299_999)).unwrap().end, ToolEnd::TooMuchOutput);
        let endless = shell("cat /dev/zero").run_whole(&bounds(10_000)).unwrap();
        assert_eq!(endless.end, ToolEnd::TooMuchOutput);
    }

    #[test]
    fn the_files_of_a_tool_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        // The bound is set a moment after the start.
        let bounded = "while [ \"$(ulimit -f)\" = unlimited ]; do :; done";
        let script = format!("{bounded}; head -c 100000 /dev/zero >{}", file.display());
        let outcome = shell(&script).max_file_bytes(50_000).run(Duration::from_secs(60), &|| ()).unwrap();
        assert!(!outcome.success());
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 50_000);
    }

    #[test]
    fn memory_and_processor_time_of_a_tool_are_bounded() {
        let limit = Duration::from_secs(60);
        // The bounds are set a moment after the start.
        let data = "while [ \"$(ulimit -d)\" = unlimited ]; do :; done; exec head -c 1 /dev/zero | tail -c 200000000";
        let held = shell(&data.replace("head -c 1", "head -c 200000000")).max_data_bytes(64 << 20);
        assert!(!held.run(limit, &|| ()).unwrap().success());
        assert!(shell(data).max_data_bytes(64 << 20).run(limit, &|| ()).unwrap().success());
        let endless = shell("while :; do :; done").max_cpu_time(Duration::from_secs(1)).run(limit, &|| ()).unwrap();
        let signal = endless.status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
        assert_eq!(signal, Some(9), "it was killed in time");
    }

    #[test]
    fn a_stopped_tool_is_gone_with_all_its_processes() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = format!("sleep 600 & echo $! >{0}.new && mv {0}.new {0}; wait", file.display());
        let stop = || file.exists();
        let bounds = ToolBounds { limit: Duration::from_secs(60), max_output_bytes: 10, stop: &stop };
        let outcome = shell(&script).run_whole(&bounds).unwrap();
        assert_eq!(outcome.end, ToolEnd::Stopped);
        let stat = format!("/proc/{}/stat", process_in(&file).as_raw_nonzero());
        // Its outputs are closed a moment before the system shows its death.
        let is_alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let until = Instant::now() + Duration::from_secs(60);
        while is_alive() && Instant::now() < until {
            thread::park_timeout(BUSY_WAIT);
        }
        assert!(!is_alive(), "the inner process is alive");
        let late = ToolBounds { limit: Duration::from_millis(50), max_output_bytes: 10, stop: &|| false };
        assert_eq!(shell("sleep 600").run_whole(&late).unwrap().end, ToolEnd::TimedOut);
    }
}
