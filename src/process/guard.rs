//! The guard: a small process between codeyard and a language server, the hidden subcommand `__guard` of the same binary.
//!
//! It starts the server with its own standard streams (so nothing is copied), waits, and ends every process that the server
//! started when the server or codeyard ends. It has one thread, knows no protocol and allocates almost nothing.
//! Invariants: it exits only when it has no descendant, or its time (`GUARD_TERM_MS` + `GUARD_KILL_MS`) is over; it exits
//! with the server's exit code or signal; it acts when the death pipe is closed, so also when codeyard is killed. The server
//! runs at a lower [priority](super::priority) than codeyard, and the guard at a higher one than the server.
//!
//! It leads the session and the process group. On Linux it is the subreaper: a descendant that leaves the group still
//! becomes its child. The parent-death signal is bound to the *thread* that forked, so it only triggers a check of the
//! parent's id.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use libc::c_int;

use super::control_groups::Entry;
use super::crowd_watch::CrowdWatch;
use super::priority::{self, SessionPriority};
use super::resource_limits::ResourceLimits;
use super::{proc_tree, signal};
use codeyard_base::clock::Instant;

/// The guard process: time between SIGTERM and SIGKILL to the server's processes, in milliseconds.
const GUARD_TERM_MS: u64 = 1_000;
/// The guard process: how long it repeats SIGKILL, in milliseconds.
const GUARD_KILL_MS: u64 = 700;
/// The guard process: time between SIGTERM and SIGKILL to the processes that an ended server left, in milliseconds.
const GUARD_LINGER_MS: u64 = 200;
/// The guard process: how much longer it repeats SIGKILL to a tree that has too many processes, in milliseconds.
const GUARD_CROWD_KILL_MS: u64 = 5_000;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__guard";
/// Makes the guard send SIGKILL at once, without SIGTERM first.
pub(super) const KILL_NOW: c_int = libc::SIGUSR2;
/// The parent-death signal.
const PARENT_DIED: c_int = libc::SIGUSR1;
/// Exit code if the server could not be started.
const NOT_STARTED: u8 = 127;
/// Exit code if the server could not be killed.
const NOT_KILLED: u8 = 125;
/// Exit code if the server had too many processes.
pub(super) const OVER_PROCESSES: u8 = 123;
/// Pause between two checks while processes are ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Pause between two attempts to lower the priority of the session, and their number.
const PRIORITY_INTERVAL: Duration = Duration::from_millis(110);
const PRIORITY_ATTEMPTS: u32 = 100;

static END_REQUESTED: AtomicU32 = AtomicU32::new(0);
static KILL_REQUESTED: AtomicU32 = AtomicU32::new(0);

/// The guard itself. Arguments: the number of the death pipe's descriptor, the parent's process id, the server's niceness, the
/// folder of its control group or nothing, the limits of its processes, the program, its arguments.
pub(crate) fn guard_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let mut number = || args.next().and_then(|text| text.to_str()?.parse::<u32>().ok());
    let signed = |number: u32| i32::try_from(number).ok();
    let (Some(pipe), Some(parent), Some(niceness)) = (number().and_then(signed), number(), number().and_then(signed))
    else {
        return ExitCode::from(NOT_STARTED);
    };
    let group = args.next().filter(|folder| !folder.is_empty());
    let limits = args.next().and_then(|text| ResourceLimits::from_text(text.to_str()?));
    let (Some(limits), Some(program)) = (limits, args.next()) else { return ExitCode::from(NOT_STARTED) };
    let guard = Guard { pipe, parent, niceness, limits, server: 0, status: None };
    match guard.run(&program, args, group) {
        Ok(status) => exit_like(status),
        Err(error) => {
            eprintln!("cannot start the language server: {error}");
            ExitCode::from(NOT_STARTED)
        }
    }
}

struct Guard {
    pipe: RawFd,
    parent: u32,
    /// The niceness of the server and its session.
    niceness: i32,
    limits: ResourceLimits,
    server: u32,
    /// The server's status from `waitpid`.
    status: Option<c_int>,
}

impl Guard {
    fn run(
        mut self,
        program: &OsString,
        args: impl Iterator<Item = OsString>,
        group: Option<OsString>,
    ) -> io::Result<Option<c_int>> {
        become_leader();
        catch_signals();
        close_foreign_descriptors(self.pipe);
        if self.is_orphaned() {
            return Ok(None);
        }
        let mut priority = priority::lower_session(self.niceness);
        let group = group.and_then(|folder| Entry::open(folder.as_ref()));
        self.server = start(program, args, self.niceness, &self.limits, group)?;
        replace_standard_streams();
        let mut attempts = PRIORITY_ATTEMPTS;
        let mut crowd = CrowdWatch::new(self.limits.processes);
        loop {
            let tries = priority == SessionPriority::TryLater && attempts > 0;
            let hung_up = wait(Some(self.pipe), if tries { Some(PRIORITY_INTERVAL) } else { crowd.interval() });
            if tries {
                attempts -= 1;
                priority = priority::lower_session(self.niceness);
            }
            self.reap();
            if crowd.is_over() {
                self.end_crowd();
                return Ok(Some(status_of_exit(OVER_PROCESSES)));
            } else if self.status.is_some() {
                self.end_all(GUARD_LINGER_MS);
            } else if KILL_REQUESTED.load(Relaxed) != 0 {
                self.end_all(0);
            } else if hung_up || END_REQUESTED.load(Relaxed) != 0 || self.is_orphaned() {
                self.end_all(GUARD_TERM_MS);
            } else {
                continue;
            }
            return Ok(self.status);
        }
    }

    fn is_orphaned(&self) -> bool {
        std::os::unix::process::parent_id() != self.parent
    }

    /// Ends all descendants: sends SIGTERM, waits `grace_ms`, then sends SIGKILL until none is left or the time is over.
    fn end_all(&mut self, grace_ms: u64) {
        if self.reap() {
            return;
        }
        self.signal_all(libc::SIGTERM);
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(grace_ms) && KILL_REQUESTED.load(Relaxed) == 0 {
            wait(None, Some(POLL_INTERVAL));
            if self.reap() {
                return;
            }
        }
        let killing = Instant::now();
        while killing.elapsed() < Duration::from_millis(GUARD_KILL_MS) {
            self.signal_all(libc::SIGKILL);
            wait(None, Some(POLL_INTERVAL));
            if self.reap() {
                return;
            }
        }
    }

    /// Kills a tree that has too many processes. They are stopped first, so that they make no new ones.
    fn end_crowd(&mut self) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(GUARD_CROWD_KILL_MS) {
            self.signal_all(libc::SIGSTOP);
            self.signal_all(libc::SIGKILL);
            if self.reap() {
                return;
            }
        }
    }

    /// Reaps ended children. `true` if none is left.
    fn reap(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: `status` is valid for writes during the call.
            match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
                0 => return false,
                -1 => return !self.has_group_members(),
                pid if u32::try_from(pid) == Ok(self.server) => self.status = Some(status),
                _ => {}
            }
        }
    }

    /// Without a subreaper a process without children may still have descendants. Checks the server's group.
    fn has_group_members(&self) -> bool {
        !cfg!(target_os = "linux") && signal::group_exists(self.server)
    }

    fn signal_all(&self, number: c_int) {
        if cfg!(target_os = "linux") {
            for process in proc_tree::descendants(std::process::id()) {
                signal::to_process(process.pid, number);
            }
        } else {
            signal::to_group(self.server, number);
        }
    }
}

/// The status of a process that exited with this code.
fn status_of_exit(code: u8) -> c_int {
    c_int::from(code) << 8
}

fn become_leader() {
    // SAFETY: these calls change attributes of this process and take numbers only.
    unsafe {
        libc::setsid();
        #[cfg(target_os = "linux")]
        {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
            libc::prctl(libc::PR_SET_PDEATHSIG, PARENT_DIED);
            // Another name than codeyard's: `pkill codeyard` must not kill the guards.
            libc::prctl(libc::PR_SET_NAME, c"lsp-guard".as_ptr());
        }
    }
}

/// Installs the handlers and blocks the signals: they are delivered only during [`wait`].
fn catch_signals() {
    extern "C" fn record(number: c_int) {
        match number {
            libc::SIGTERM | libc::SIGINT | libc::SIGHUP => END_REQUESTED.store(1, Relaxed),
            KILL_NOW => KILL_REQUESTED.store(1, Relaxed),
            // The end of a child and of the parent are checked after each wait.
            _ => {}
        }
    }
    // SAFETY: the structures are zeroed, which is a valid empty value, and outlive the calls; the handler only stores
    // to atomics.
    unsafe {
        let mut blocked = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigemptyset(&mut blocked);
        for number in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD, KILL_NOW, PARENT_DIED] {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            action.sa_sigaction = record as extern "C" fn(c_int) as usize;
            libc::sigaction(number, &action, ptr::null_mut());
            libc::sigaddset(&mut blocked, number);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &blocked, ptr::null_mut());
    }
}

/// Waits for a signal, for the end of `pipe` (returns `true`), or for `time` to pass.
fn wait(pipe: Option<RawFd>, time: Option<Duration>) -> bool {
    let time = time.map(|time| libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: all structures are valid and outlive the call. A descriptor may have any number: `pselect` takes only small ones.
    unsafe {
        let mut none = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigemptyset(&mut none);
        let mut watched = libc::pollfd { fd: pipe.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
        let ready = libc::ppoll(&mut watched, 1, time, &none);
        ready > 0
    }
}

/// Closes all descriptors except the standard streams and the death pipe. The server doesn't inherit the pipe.
fn close_foreign_descriptors(pipe: RawFd) {
    let entries = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // SAFETY: no value of this program owns one of these descriptors: it has opened none that is still open.
    unsafe {
        for fd in open.into_iter().filter(|&fd| fd > 2 && fd != pipe) {
            libc::close(fd);
        }
        libc::fcntl(pipe, libc::F_SETFD, libc::FD_CLOEXEC);
    }
}

fn start(
    program: &OsString,
    args: impl Iterator<Item = OsString>,
    niceness: i32,
    limits: &ResourceLimits,
    group: Option<Entry>,
) -> io::Result<u32> {
    #[expect(clippy::disallowed_methods, reason = "the guard starts the language server")]
    let mut command = Command::new(program);
    command.args(args);
    if !cfg!(target_os = "linux") {
        command.process_group(0);
    }
    #[cfg(target_os = "linux")]
    {
        let guard = std::process::id();
        let limits = limits.clone();
        // SAFETY: between fork and exec only async-signal-safe calls are made.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if let Some(group) = &group {
                    group.enter();
                }
                priority::lower_process(0, niceness);
                limits.apply_to_self()?;
                if std::os::unix::process::parent_id() != guard {
                    libc::_exit(NOT_STARTED.into());
                }
                Ok(())
            });
        }
    }
    // Dropping the handle doesn't affect the process. It is reaped by its id.
    let server = command.spawn()?.id();
    if !cfg!(target_os = "linux") {
        priority::lower_process(server, niceness);
    }
    Ok(server)
}

/// Replaces the guard's standard streams, so that only the server holds the ends of its pipes.
fn replace_standard_streams() {
    // SAFETY: the descriptors 0 to 2 are replaced, never left closed.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if null >= 0 {
            for stream in 0..3 {
                libc::dup2(null, stream);
            }
            libc::close(null);
        }
    }
}

/// Exits with the server's exit code or signal.
fn exit_like(status: Option<c_int>) -> ExitCode {
    let Some(status) = status else { return ExitCode::from(NOT_KILLED) };
    if libc::WIFSIGNALED(status) {
        raise_default(libc::WTERMSIG(status));
    }
    ExitCode::from(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(NOT_KILLED))
}

/// Ends this process by a signal, without a core file.
fn raise_default(number: c_int) {
    // SAFETY: the structures are zeroed, which is a valid empty value, and outlive the calls.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(number, libc::SIG_DFL);
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigemptyset(&mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &set, ptr::null_mut());
        libc::raise(number);
    }
}
