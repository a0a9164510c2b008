//! The guard: a tiny process between us and a language server, the hidden subcommand `__guard` of our own binary.
//!
//! It starts the server with its own standard streams (so nothing is copied), waits, and sees to it that nothing the
//! server started outlives the server or us. It is one thread, knows no protocol and allocates next to nothing.
//! Invariants: it ends only when no descendant is left, or its time (`GUARD_TERM_MS` + `GUARD_KILL_MS`) is over; it ends
//! as the server ended, same code or same signal; it acts on the end of the death pipe, so also when we are killed.
//!
//! It leads the session and the group, and on Linux is the subreaper: whoever leaves the group still becomes its child.
//! The parent's death signal follows the *thread* that forked, so it is only taken as a hint to look at the parent's id.

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

use super::{proc_tree, signal};
use crate::limits;
use codeyard_base::clock::Instant;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__guard";
/// Asks the guard to kill at once instead of asking first.
pub(super) const KILL_NOW: c_int = libc::SIGUSR2;
/// The death signal of our parent.
const PARENT_DIED: c_int = libc::SIGUSR1;
/// ProcessExit code when the server could not be started.
const NOT_STARTED: u8 = 127;
/// ProcessExit code when the server could not even be killed.
const NOT_ENDED: u8 = 125;
/// Pause between two rounds of killing.
const ROUND: Duration = Duration::from_millis(10);

static ASKED_TO_END: AtomicU32 = AtomicU32::new(0);
static ASKED_TO_KILL: AtomicU32 = AtomicU32::new(0);

/// Runs the guard if the process was called as one; to be called first thing in `main`.
pub fn from_command_line(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    (args.next()? == SUBCOMMAND).then(|| guard_main(args))
}

/// The guard itself. Arguments: the number of the death pipe's descriptor, the parent's process id, the program, its arguments.
pub fn guard_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let mut number = || args.next().and_then(|text| text.to_str()?.parse::<u32>().ok());
    let (Some(pipe), Some(parent), Some(program)) =
        (number().and_then(|fd| RawFd::try_from(fd).ok()), number(), args.next())
    else {
        return ExitCode::from(NOT_STARTED);
    };
    let guard = Guard { pipe, parent, server: 0, status: None };
    match guard.run(&program, args) {
        Ok(status) => end_as(status),
        Err(error) => {
            eprintln!("language server could not be started: {error}");
            ExitCode::from(NOT_STARTED)
        }
    }
}

struct Guard {
    pipe: RawFd,
    parent: u32,
    server: u32,
    /// How the server ended, as `waitpid` says.
    status: Option<c_int>,
}

impl Guard {
    fn run(mut self, program: &OsString, args: impl Iterator<Item = OsString>) -> io::Result<Option<c_int>> {
        become_leader();
        catch_signals();
        close_foreign_descriptors(self.pipe);
        if self.orphaned() {
            return Ok(None);
        }
        self.server = start(program, args)?;
        leave_standard_streams();
        loop {
            let hung_up = wait(Some(self.pipe), None);
            self.reap();
            if self.status.is_some() {
                self.end_all(limits::GUARD_LINGER_MS);
            } else if ASKED_TO_KILL.load(Relaxed) != 0 {
                self.end_all(0);
            } else if hung_up || ASKED_TO_END.load(Relaxed) != 0 || self.orphaned() {
                self.end_all(limits::GUARD_TERM_MS);
            } else {
                continue;
            }
            return Ok(self.status);
        }
    }

    fn orphaned(&self) -> bool {
        std::os::unix::process::parent_id() != self.parent
    }

    /// Ends everything that is left: asks, waits `grace_ms`, then kills until nothing is left or the time is over.
    fn end_all(&mut self, grace_ms: u64) {
        if self.reap() {
            return;
        }
        self.signal_all(libc::SIGTERM);
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_millis(grace_ms) && ASKED_TO_KILL.load(Relaxed) == 0 {
            wait(None, Some(ROUND));
            if self.reap() {
                return;
            }
        }
        let killing = Instant::now();
        while killing.elapsed() < Duration::from_millis(limits::GUARD_KILL_MS) {
            self.signal_all(libc::SIGKILL);
            wait(None, Some(ROUND));
            if self.reap() {
                return;
            }
        }
    }

    /// Collects ended children; `true` when none is left.
    fn reap(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: `status` is a valid place for an int during the call.
            match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
                0 => return false,
                -1 => return !self.leaves_group(),
                pid if u32::try_from(pid) == Ok(self.server) => self.status = Some(status),
                _ => {}
            }
        }
    }

    /// Without a subreaper having no child doesn't mean having no descendant: the server's group is asked.
    fn leaves_group(&self) -> bool {
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

fn become_leader() {
    // SAFETY: these calls change attributes of this process and take numbers only.
    unsafe {
        libc::setsid();
        #[cfg(target_os = "linux")]
        {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
            libc::prctl(libc::PR_SET_PDEATHSIG, PARENT_DIED);
            // Not our own name: who kills all processes of our name must leave the guards to do their work.
            libc::prctl(libc::PR_SET_NAME, c"lsp-guard".as_ptr());
        }
    }
}

/// Installs the handlers and blocks the signals: they come only while [`wait`] waits.
fn catch_signals() {
    extern "C" fn note(number: c_int) {
        match number {
            libc::SIGTERM | libc::SIGINT | libc::SIGHUP => ASKED_TO_END.store(1, Relaxed),
            KILL_NOW => ASKED_TO_KILL.store(1, Relaxed),
            // The end of a child and the parent's death are looked at after each wait.
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
            action.sa_sigaction = note as extern "C" fn(c_int) as usize;
            libc::sigaction(number, &action, ptr::null_mut());
            libc::sigaddset(&mut blocked, number);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &blocked, ptr::null_mut());
    }
}

/// Waits for a signal, for the end of `pipe` (then `true`), or for the time to pass.
fn wait(pipe: Option<RawFd>, time: Option<Duration>) -> bool {
    let time = time.map(|time| libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: all structures are zeroed, which is a valid empty value, and outlive the call; the descriptor is open and
    // below `FD_SETSIZE`, being among the first that were opened.
    unsafe {
        let mut none = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigemptyset(&mut none);
        let mut set = MaybeUninit::<libc::fd_set>::zeroed().assume_init();
        if let Some(pipe) = pipe {
            libc::FD_SET(pipe, &mut set);
        }
        let ready =
            libc::pselect(pipe.map_or(0, |pipe| pipe + 1), &mut set, ptr::null_mut(), ptr::null_mut(), time, &none);
        ready > 0
    }
}

/// Closes everything but the standard streams and the death pipe, which the server mustn't hold either.
fn close_foreign_descriptors(pipe: RawFd) {
    let entries = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // SAFETY: none of these descriptors belongs to a value of this program: it has opened nothing that is still open.
    unsafe {
        for fd in open.into_iter().filter(|&fd| fd > 2 && fd != pipe) {
            libc::close(fd);
        }
        libc::fcntl(pipe, libc::F_SETFD, libc::FD_CLOEXEC);
    }
}

fn start(program: &OsString, args: impl Iterator<Item = OsString>) -> io::Result<u32> {
    #[expect(clippy::disallowed_methods, reason = "the guard is the other half of `spawn`")]
    let mut command = Command::new(program);
    command.args(args);
    if !cfg!(target_os = "linux") {
        command.process_group(0);
    }
    #[cfg(target_os = "linux")]
    {
        let guard = std::process::id();
        // SAFETY: between fork and exec only async-signal-safe calls are made.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if std::os::unix::process::parent_id() != guard {
                    libc::_exit(NOT_STARTED.into());
                }
                Ok(())
            });
        }
    }
    // The handle is dropped, which doesn't touch the process: it is waited for by id.
    Ok(command.spawn()?.id())
}

/// Lets go of the server's pipes, so that their ends are the server's alone.
fn leave_standard_streams() {
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

/// Ends this process as the server ended.
fn end_as(status: Option<c_int>) -> ExitCode {
    let Some(status) = status else { return ExitCode::from(NOT_ENDED) };
    if libc::WIFSIGNALED(status) {
        die_of(libc::WTERMSIG(status));
    }
    ExitCode::from(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(NOT_ENDED))
}

/// Dies of a signal, without a core file.
fn die_of(number: c_int) {
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
