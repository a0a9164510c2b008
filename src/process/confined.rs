//! Confined processes: this program again, in a small process of its own, for work on data that may be made to exhaust or crash its
//! reader.
//!
//! One is connected by a socket pair, its standard input. It ends when the socket is closed, so also when codeyard is killed; it ends by
//! itself when a request takes too long; it can read only the directories that it is given, write nothing and reach no network (Landlock),
//! and use bounded memory. It confines itself with [`confine`]; what it does then is up to its role.
//!
//! Invariants: none stays as a zombie; nobody waits for its end, except [`end_all`] for a bounded time; a signal is only sent to one that has
//! not been waited for.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use landlock::{AccessFs, CompatLevel, PathBeneath, RulesetCreatedAttr, RulesetStatus};
use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use crate::resource_limits::ResourceLimits;
use crate::sandbox::landlock::closed_ruleset;
use codeyard_base::clock::Instant;

/// Open files of a confined process: the packs and loose objects of one repository.
const CONFINED_OPEN_FILES: u64 = 512;
/// Longest wait for the end of confined processes when codeyard ends, in milliseconds.
const CONFINED_END_MS: u64 = 500;
/// Pause between two looks at ended confined processes, and at the time of a confined process's request, in milliseconds.
const CONFINED_REAP_INTERVAL_MS: u64 = 200;

/// The command line of a confined process, before the arguments of its role.
#[derive(Debug, Clone)]
struct Program {
    path: PathBuf,
    leading: Vec<OsString>,
}

/// Set by tests whose own executable has no roles.
static PROGRAM: Mutex<Option<Program>> = Mutex::new(None);

/// Makes later confined processes run `path` with these arguments before those of the role. For tests: by default a confined process is this program.
pub fn use_program(path: PathBuf, leading: Vec<OsString>) {
    *PROGRAM.lock() = Some(Program { path, leading });
}

/// A running confined process. It is ended when this is dropped.
#[derive(Debug)]
pub struct ConfinedProcess {
    pub stream: UnixStream,
    pid: u32,
}

impl ConfinedProcess {
    /// Starts a confined process with this role and its arguments.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn start(role: &str, args: &[OsString]) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        let own = || Program { path: PathBuf::from("/proc/self/exe"), leading: Vec::new() };
        let program = PROGRAM.lock().clone().unwrap_or_else(own);
        #[expect(clippy::disallowed_methods, reason = "confined processes are started only here")]
        let mut command = Command::new(&program.path);
        command
            .arg0("codeyard")
            .args(&program.leading)
            .arg(role)
            .args(args)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn()?;
        let pid = child.id();
        reap_when_ended(child)?;
        Ok(Self { stream, pid })
    }
}

impl Drop for ConfinedProcess {
    fn drop(&mut self) {
        let mut running = RUNNING.lock();
        // Under the lock: a confined process in this list hasn't been waited for, so its id is still its own.
        for child in running.children.iter_mut().filter(|child| child.id() == self.pid) {
            let _ = child.kill();
        }
        ENDING.notify_one();
    }
}

/// The confined processes that haven't been waited for.
struct Running {
    children: Vec<Child>,
    has_thread: bool,
    /// Nothing is started any more.
    is_over: bool,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { children: Vec::new(), has_thread: false, is_over: false });
/// Notified when a confined process is killed.
static ENDING: Condvar = Condvar::new();

/// Waits for the child on a thread that all confined processes share, and that ends with the last of them.
fn reap_when_ended(mut child: Child) -> io::Result<()> {
    let mut running = RUNNING.lock();
    if running.is_over {
        child.kill()?;
        child.wait()?;
        return Err(io::Error::other("codeyard is ending"));
    }
    running.children.push(child);
    if !running.has_thread {
        std::thread::Builder::new().name("confined processes".to_owned()).spawn(reap_all)?;
        running.has_thread = true;
    }
    Ok(())
}

fn reap_all() {
    let mut running = RUNNING.lock();
    loop {
        running.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        if running.children.is_empty() {
            running.has_thread = false;
            return;
        }
        ENDING.wait_for(&mut running, Duration::from_millis(CONFINED_REAP_INTERVAL_MS));
    }
}

/// What the system enforces for a confined process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// Only the given directories can be read, and nothing can be written.
    Full,
    /// The limits of memory and files hold, but the system has no Landlock: links are followed.
    LimitsOnly,
}

/// Confines the calling process: it can read below `readable` only, which are real paths, write nothing and connect to nothing, and it can
/// use `memory_bytes` of writable memory. Called by a confined process before it touches any file, while it has one thread.
///
/// # Errors
/// A directory doesn't exist, its path contains a link, or a limit can't be set.
pub fn confine(readable: &[PathBuf], memory_bytes: u64) -> io::Result<Confinement> {
    ResourceLimits {
        open_files: Some(CONFINED_OPEN_FILES),
        file_bytes: Some(0),
        data_bytes: Some(memory_bytes),
        ..ResourceLimits::default()
    }
    .apply_to_self()?;
    let failed = |error: landlock::RulesetError| io::Error::other(error);
    let mut rules = closed_ruleset(CompatLevel::BestEffort).map_err(failed)?;
    for dir in readable {
        let rule = PathBeneath::new(open_strictly(dir)?, AccessFs::ReadFile | AccessFs::ReadDir);
        rules = rules.add_rule(rule).map_err(failed)?;
    }
    let status = rules.restrict_self().map_err(failed)?;
    Ok(if status.ruleset == RulesetStatus::NotEnforced { Confinement::LimitsOnly } else { Confinement::Full })
}

/// Opens a directory; a link in its path is an error.
fn open_strictly(dir: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat2(CWD, dir, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)?)
}

/// Ends this process when a request takes too long: a file that blocks, or data that is made to take for ever.
#[derive(Debug, Clone)]
pub struct RequestTimer(Arc<Timer>);

#[derive(Debug)]
struct Timer {
    began: Instant,
    /// When the running request must be done, in milliseconds after `began`; 0: none is running.
    due_ms: AtomicU64,
    is_over: AtomicBool,
}

impl RequestTimer {
    /// Starts the thread that watches the time.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn start() -> io::Result<Self> {
        let timer =
            Arc::new(Timer { began: Instant::now(), due_ms: AtomicU64::new(0), is_over: AtomicBool::new(false) });
        let watched = timer.clone();
        std::thread::Builder::new().name("timer".to_owned()).spawn(move || watched.watch())?;
        Ok(Self(timer))
    }

    /// Runs one request.
    pub fn within<T>(&self, limit: Duration, request: impl FnOnce() -> T) -> T {
        let due = self.0.began.elapsed() + limit;
        self.0.due_ms.store(u64::try_from(due.as_millis()).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
        let done = request();
        self.0.due_ms.store(0, Ordering::Relaxed);
        done
    }
}

impl Drop for RequestTimer {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Timer {
    fn watch(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(CONFINED_REAP_INTERVAL_MS));
            if is_abandoned() {
                std::process::exit(ABANDONED);
            }
            let due = self.due_ms.load(Ordering::Relaxed);
            if due != 0 && self.began.elapsed() > Duration::from_millis(due) {
                std::process::exit(TIMED_OUT);
            }
        }
    }
}

/// Whether the other end of the connection of this confined process is closed: nobody waits for the running request any more.
fn is_abandoned() -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::RDHUP)];
    let looked = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    looked.is_ok() && polled[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP)
}

/// Kills the confined processes of this one and waits until they have ended, for a bounded time. At the end of the program: from now on
/// none is started.
pub fn end_all() {
    let mut running = RUNNING.lock();
    running.is_over = true;
    for child in &mut running.children {
        let _ = child.kill();
    }
    ENDING.notify_all();
    let until = Instant::now() + Duration::from_millis(CONFINED_END_MS);
    while !running.children.is_empty() && Instant::now() < until {
        running.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        ENDING.wait_for(&mut running, Duration::from_millis(1));
    }
}

/// Exit code of a confined process whose request nobody waits for.
const ABANDONED: i32 = 125;
/// Exit code of a confined process whose request took too long.
const TIMED_OUT: i32 = 124;

/// The arguments of a confined process with this role; `None`: the command line names another one.
pub fn role_arguments(role: &str, args: impl IntoIterator<Item = OsString>) -> Option<Vec<OsString>> {
    let mut args = args.into_iter().skip(1);
    (args.next()? == *role).then(|| args.collect())
}

/// The connection of the calling confined process.
///
/// # Errors
/// Standard input isn't a socket.
pub fn connection() -> io::Result<UnixStream> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    stream.peer_addr().map(|_| stream)
}

/// The exit code of a confined process.
pub fn exit_code(done: io::Result<()>) -> ExitCode {
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
