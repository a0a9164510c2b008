//! Running a program to its end, bounded in time and in kept output. Its whole process group dies when the time is up.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::limits::INSTALL_TAIL_BYTES;
use codeyard_base::clock::Instant;

/// How often `tick` is called.
const TICK: Duration = Duration::from_secs(1);
/// Tries to start a program that is busy, and the wait between two.
const BUSY_TRIES: u32 = 100;
const BUSY_WAIT: Duration = Duration::from_millis(10);
/// How long output is awaited after the program's end: a grandchild may hold the pipe open.
const DRAIN: Duration = Duration::from_millis(200);

/// How a program ended.
#[derive(Debug)]
pub struct ToolOutcome {
    /// Its exit; nothing when its time was up.
    pub status: Option<ExitStatus>,
    /// The end of what it wrote, standard output and error together.
    pub output: String,
}

impl ToolOutcome {
    /// Whether it exited with 0.
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Its exit in words.
    pub fn why(&self) -> String {
        self.status.map_or_else(|| "it took too long".into(), |status| status.to_string())
    }
}

/// Runs a command without input until it ends or `limit` is over, calling `tick` about every second.
///
/// # Errors
/// When it can't be started.
pub fn run(mut command: Command, limit: Duration, tick: &dyn Fn()) -> io::Result<ToolOutcome> {
    let (mut reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    let mut child = spawn_patiently(&mut command)?;
    // The command holds the writing end too; without this the reader would never see the end.
    drop(command);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (told, events) = channel();
    let (sink, told_read) = (Arc::clone(&kept), told.clone());
    thread::spawn(move || {
        keep_tail(&mut reader, &sink);
        let _ = told_read.send(None);
    });
    thread::spawn(move || {
        let _ = told.send(Some(child.wait()));
    });
    let status = until_ended(&events, limit, tick)?;
    if let Some(group) = group {
        // What is left of the group after its end, or all of it when the time is up.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let output = String::from_utf8_lossy(&kept.lock()).into_owned();
    Ok(ToolOutcome { status, output })
}

/// Waits for the exit (`Some`) and, after it, for a moment for the end of the output (`None`).
fn until_ended(
    events: &Receiver<Option<io::Result<ExitStatus>>>,
    limit: Duration,
    tick: &dyn Fn(),
) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    let mut drained = false;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        match events.recv_timeout(left.min(TICK)) {
            Ok(Some(ended)) => {
                if !drained {
                    let _ = events.recv_timeout(DRAIN);
                }
                return ended.map(Some);
            }
            Ok(None) => drained = true,
            Err(RecvTimeoutError::Timeout) => tick(),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// Reads to the end and keeps the last bytes.
fn keep_tail(from: &mut impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 {
            return;
        }
        let mut kept = kept.lock();
        kept.extend_from_slice(&buffer[..count]);
        let over = kept.len().saturating_sub(INSTALL_TAIL_BYTES);
        kept.drain(..over);
    }
}

/// A program that was written a moment ago may still be held open by a process that was forked meanwhile; that passes.
fn spawn_patiently(command: &mut Command) -> io::Result<Child> {
    for _ in 0..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::park_timeout(BUSY_WAIT),
            outcome => return outcome,
        }
    }
    command.spawn()
}
