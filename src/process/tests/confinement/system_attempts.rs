//! Attempts by system calls: other processes, namespaces, kernel interfaces, privileges, limits.

use std::ffi::CStr;
use std::fs;
use std::ptr;

use libc::{c_int, c_long};

use crate::attempts::{Target, report};

/// Makes a write over the file size limit an error instead of the end of the process.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: the call takes numbers.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Makes a system call. `true`: it succeeded.
fn call(number: c_long, arguments: [c_long; 5]) -> bool {
    let [a, b, c, d, e] = arguments;
    // SAFETY: all callers pass numbers, null pointers, or addresses of buffers that outlive the call and are large enough.
    unsafe { libc::syscall(number, a, b, c, d, e) >= 0 }
}

fn errno() -> Option<c_int> {
    std::io::Error::last_os_error().raw_os_error()
}

fn address<T>(value: &T) -> c_long {
    ptr::from_ref(value) as c_long
}

/// A change of what the system keeps about a file.
pub(crate) struct MetadataChange {
    pub(crate) name: &'static str,
    /// Makes it for the file with this path; `true`: the system said that it has succeeded.
    pub(crate) make: fn(&CStr) -> bool,
    /// Whether what the system said counts; otherwise only the effect.
    pub(crate) reply_counts: bool,
}

const fn effect(name: &'static str, make: fn(&CStr) -> bool) -> MetadataChange {
    MetadataChange { name, make, reply_counts: false }
}

const fn by_reply(name: &'static str, make: fn(&CStr) -> bool) -> MetadataChange {
    MetadataChange { name, make, reply_counts: true }
}

const AT: c_long = libc::AT_FDCWD as c_long;

/// Calls `number` with an open descriptor of the file.
fn by_descriptor(path: &CStr, number: c_long, rest: [c_long; 3]) -> bool {
    // SAFETY: the text ends with a zero byte.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) };
    let [a, b, c] = rest;
    let done = file >= 0 && call(number, [c_long::from(file), a, b, c, 0]);
    // SAFETY: the descriptor is this function's own.
    unsafe { libc::close(file) };
    done
}

/// The time 1 s after 1970, twice.
const TIMES: [libc::timespec; 2] = [libc::timespec { tv_sec: 1, tv_nsec: 0 }; 2];
/// The second set of call numbers.
const X32: c_long = 0x4000_0000;

/// Requests of `ioctl` that change what a file system keeps about a file, and a flag that the owner may set.
const FS_IOC_SETFLAGS: c_long = 0x4008_6602;
const FS_IOC_FSSETXATTR: c_long = 0x401c_5820;
const FS_NODUMP_FL: c_long = 0x40;

pub(crate) const METADATA_CHANGES: &[MetadataChange] = &[
    effect("the mode", |path| call(libc::SYS_fchmodat, [AT, path.as_ptr() as c_long, 0o600, 0, 0])),
    effect("the mode by a newer call", |path| call(452, [AT, path.as_ptr() as c_long, 0o600, 0, 0])),
    effect("the mode by a descriptor", |path| by_descriptor(path, libc::SYS_fchmod, [0o600, 0, 0])),
    effect("the mode by a second number", |path| {
        call(libc::SYS_fchmodat | X32, [AT, path.as_ptr() as c_long, 0o600, 0, 0])
    }),
    #[cfg(target_arch = "x86_64")]
    effect("the mode by an older call", |path| call(libc::SYS_chmod, [path.as_ptr() as c_long, 0o600, 0, 0, 0])),
    effect("the owner", |path| call(libc::SYS_fchownat, [AT, path.as_ptr() as c_long, 1, 1, 0])),
    effect("the owner by a descriptor", |path| by_descriptor(path, libc::SYS_fchown, [1, 1, 0])),
    #[cfg(target_arch = "x86_64")]
    effect("the owner by an older call", |path| call(libc::SYS_chown, [path.as_ptr() as c_long, 1, 1, 0, 0])),
    effect("the times", |path| call(libc::SYS_utimensat, [AT, path.as_ptr() as c_long, address(&TIMES), 0, 0])),
    effect("the times by a descriptor", |path| by_descriptor(path, libc::SYS_utimensat, [0, address(&TIMES), 0])),
    #[cfg(target_arch = "x86_64")]
    effect("the times by an older call", |path| {
        call(libc::SYS_utime, [path.as_ptr() as c_long, address(&TIMES), 0, 0, 0])
    }),
    by_reply("an attribute", |path| {
        call(libc::SYS_setxattr, [path.as_ptr() as c_long, c"user.x".as_ptr() as c_long, path.as_ptr() as c_long, 1, 0])
    }),
    by_reply("an attribute by a descriptor", |path| {
        by_descriptor(path, libc::SYS_fsetxattr, [c"user.x".as_ptr() as c_long, path.as_ptr() as c_long, 1])
    }),
    by_reply("a flag", |path| by_descriptor(path, libc::SYS_ioctl, [FS_IOC_SETFLAGS, address(&FS_NODUMP_FL), 0])),
    by_reply("the project", |path| by_descriptor(path, libc::SYS_ioctl, [FS_IOC_FSSETXATTR, address(&[0_u32; 7]), 0])),
    by_reply("the project by a newer call", |path| {
        call(469, [AT, path.as_ptr() as c_long, address(&[0_u64; 3]), 24, 0])
    }),
    by_reply("a lease", |path| by_descriptor(path, libc::SYS_fcntl, [1024, c_long::from(libc::F_RDLCK), 0])),
];

pub(crate) fn run(target: &Target) {
    other_processes(target);
    namespaces();
    kernel(target);
    privileges();
    limits(target);
    own_parent();
}

fn other_processes(target: &Target) {
    let own = std::process::id();
    for (name, pid) in [("codeyard", target.codeyard), ("another child", target.sibling)] {
        if pid == own || pid < 3 {
            continue;
        }
        let pid = c_long::from(pid);
        let signals = [libc::SIGTERM, libc::SIGKILL, libc::SIGSTOP, 0].map(c_long::from);
        report(&format!("signal {name}"), signals.iter().any(|signal| call(libc::SYS_kill, [pid, *signal, 0, 0, 0])));
        report(&format!("signal a thread of {name}"), call(libc::SYS_tgkill, [pid, pid, 0, 0, 0]));
        // Its code says that a program has queued it: others only the process itself may send.
        let mut info = [0_i32; 32];
        info[2] = libc::SI_QUEUE;
        let of_process = [pid, 0, address(&info), 0, 0];
        report(&format!("signal the group of {name}"), call(libc::SYS_kill, [-pid, 0, 0, 0, 0]));
        report(&format!("signal a thread of {name} by its id alone"), call(libc::SYS_tkill, [pid, 0, 0, 0, 0]));
        report(&format!("queue a signal for {name}"), call(libc::SYS_rt_sigqueueinfo, of_process));
        report(
            &format!("queue a signal for a thread of {name}"),
            call(libc::SYS_rt_tgsigqueueinfo, [pid, pid, 0, address(&info), 0]),
        );
        report(&format!("signal {name} by a descriptor"), signal_by_descriptor(pid));
        report(&format!("trace {name}"), call(libc::SYS_ptrace, [c_long::from(libc::PTRACE_SEIZE), pid, 0, 0, 0]));
        let buffer = [0_u8; 8];
        let part = libc::iovec { iov_base: buffer.as_ptr().cast_mut().cast(), iov_len: 8 };
        report(
            &format!("read memory of {name}"),
            call(libc::SYS_process_vm_readv, [pid, address(&part), 1, address(&part), 1]),
        );
        report(&format!("lower the priority of {name}"), call(libc::SYS_setpriority, [0, pid, 19, 0, 0]));
        report(&format!("lower the priority of the group of {name}"), call(libc::SYS_setpriority, [1, pid, 19, 0, 0]));
        let limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        let nofile = c_long::from(libc::RLIMIT_NOFILE);
        report(&format!("lower a limit of {name}"), call(libc::SYS_prlimit64, [pid, nofile, address(&limit), 0, 0]));
        let mask = [1_u64; 16];
        report(
            &format!("bind {name} to a processor"),
            call(libc::SYS_sched_setaffinity, [pid, 128, address(&mask), 0, 0]),
        );
        report(&format!("take a descriptor of {name}"), take_descriptor(pid));
    }
    report("lower the disk priority of all processes of the user", call(libc::SYS_ioprio_set, [3, 0, 0x6000, 0, 0]));
    report("lower the priority of all processes of the user", call(libc::SYS_setpriority, [2, 0, 19, 0, 0]));
    report("lower the priority of all processes of a user", call(libc::SYS_setpriority, [2, 1, 19, 0, 0]));
    report("lower the disk priority of the group", call(libc::SYS_ioprio_set, [2, 0, 0x6000, 0, 0]));
    #[cfg(target_arch = "x86_64")]
    for (name, number) in [("socket", libc::SYS_socket), ("ptrace", 521 & !X32), ("memory of others", 539)] {
        let arguments = if number == libc::SYS_socket { [1, 1, 0, 0, 0] } else { [0; 5] };
        report(&format!("{name} by a second number"), call(number | X32, arguments));
    }
    #[cfg(target_arch = "x86_64")]
    for (name, number) in [("process id", libc::SYS_getpid), ("ioctl", 514), ("readv", 515)] {
        let answered = call(number | X32, [-1, 0, 0, 0, 0]) || errno() != Some(libc::EPERM);
        report(&format!("{name} by a second number that the filter lets through"), answered);
    }
    report("signal everyone", call(libc::SYS_kill, [-1, 0, 0, 0, 0]) && is_alone_unsignalled(target));
}

/// Whether a signal to all reaches a process outside: this is seen from there, so only that none is named here is checked.
fn is_alone_unsignalled(target: &Target) -> bool {
    target.codeyard > 2 && call(libc::SYS_kill, [c_long::from(target.codeyard), 0, 0, 0, 0])
}

fn take_descriptor(pid: c_long) -> bool {
    // SAFETY: the calls take numbers.
    unsafe {
        let handle = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        handle >= 0 && libc::syscall(libc::SYS_pidfd_getfd, handle, 0, 0) >= 0
    }
}

fn signal_by_descriptor(pid: c_long) -> bool {
    // SAFETY: the calls take numbers and a null pointer.
    unsafe {
        let handle = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        handle >= 0 && libc::syscall(libc::SYS_pidfd_send_signal, handle, 0, ptr::null::<u8>(), 0) >= 0
    }
}

fn namespaces() {
    let flags = [
        ("user", libc::CLONE_NEWUSER),
        ("mount", libc::CLONE_NEWNS),
        ("network", libc::CLONE_NEWNET),
        ("process", libc::CLONE_NEWPID),
    ];
    for (name, flag) in flags {
        report(&format!("unshare a {name} namespace"), call(libc::SYS_unshare, [c_long::from(flag), 0, 0, 0, 0]));
    }
    // SAFETY: a child of `clone` without a stack of its own is a copy of this process, and ends at once.
    let cloned = unsafe {
        let pid = libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0);
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    };
    report("clone a user namespace", cloned > 0);
    let path = c"/tmp";
    let kind = c"tmpfs";
    let mount = [path.as_ptr() as c_long, path.as_ptr() as c_long, kind.as_ptr() as c_long, 0, 0];
    report("mount", call(libc::SYS_mount, mount));
    report("unmount", call(libc::SYS_umount2, [c"/proc".as_ptr() as c_long, c_long::from(libc::MNT_DETACH), 0, 0, 0]));
    report("open a new file system", call(libc::SYS_fsopen, [kind.as_ptr() as c_long, 0, 0, 0, 0]));
    report("chroot", call(libc::SYS_chroot, [path.as_ptr() as c_long, 0, 0, 0, 0]));
    report("change the root", call(libc::SYS_pivot_root, [path.as_ptr() as c_long, path.as_ptr() as c_long, 0, 0, 0]));
    let temp = format!("{}/device\0", std::env::var("TMPDIR").unwrap());
    // SAFETY: the text ends with a zero byte and outlives the call.
    let made = unsafe { libc::mknod(temp.as_ptr().cast(), libc::S_IFBLK | 0o600, libc::makedev(254, 0)) };
    report("make a block device", made == 0);
    // SAFETY: the same.
    let made = unsafe { libc::mknod(temp.as_ptr().cast(), libc::S_IFCHR | 0o600, libc::makedev(1, 1)) };
    report("make a character device", made == 0);
}

fn kernel(target: &Target) {
    let buffer = [0_u64; 64];
    let name = c"name".as_ptr() as c_long;
    report("add a key", call(libc::SYS_add_key, [c"user".as_ptr() as c_long, name, address(&buffer), 8, -2]));
    report("open a keyring", call(libc::SYS_keyctl, [0, -4, 1, 0, 0]));
    report("bpf", call(libc::SYS_bpf, [0, address(&buffer), 64, 0, 0]));
    report("perf", call(libc::SYS_perf_event_open, [address(&buffer), 0, -1, -1, 0]));
    report("io_uring", call(libc::SYS_io_uring_setup, [4, address(&buffer), 0, 0, 0]));
    report("userfaultfd", call(libc::SYS_userfaultfd, [1, 0, 0, 0, 0]));
    report("fanotify", call(libc::SYS_fanotify_init, [0, 0, 0, 0, 0]));
    report("kernel log", call(libc::SYS_syslog, [3, address(&buffer), 64, 0, 0]));
    report("shared memory by number", call(libc::SYS_shmget, [0x1234, 4096, 0o1666, 0, 0]));
    report("a message queue by name", call(libc::SYS_mq_open, [name, 0o102, 0o600, 0, 0]));
    report(
        "a handle of a file",
        call(libc::SYS_name_to_handle_at, [-100, name, address(&buffer), address(&buffer), 0]),
    );
    report("set the clock", call(libc::SYS_clock_settime, [0, address(&buffer), 0, 0, 0]));
    report("set the host name", call(libc::SYS_sethostname, [name, 4, 0, 0, 0]));
    for (kind, family) in
        [("netlink", libc::AF_NETLINK), ("packet", libc::AF_PACKET), ("vsock", libc::AF_VSOCK), ("alg", libc::AF_ALG)]
    {
        report(
            &format!("a {kind} socket"),
            call(libc::SYS_socket, [c_long::from(family), c_long::from(libc::SOCK_RAW), 0, 0, 0]),
        );
    }
    let unix = c_long::from(libc::AF_UNIX);
    report(
        "a pair of datagram sockets",
        call(libc::SYS_socketpair, [unix, c_long::from(libc::SOCK_DGRAM), 0, address(&buffer), 0]),
    );
    report("terminal input", terminal_input());
    let _ = target;
}

/// Writes into the input of a terminal: standard input, the controlling one, and a new one.
fn terminal_input() -> bool {
    let byte = b'x';
    // SAFETY: the calls take numbers, a constant text, and the address of a byte that outlives them.
    unsafe {
        let own = libc::open(c"/dev/tty".as_ptr(), libc::O_RDWR);
        let pseudo = libc::open(c"/dev/ptmx".as_ptr(), libc::O_RDWR | libc::O_NOCTTY);
        [0, 1, 2, own, pseudo]
            .into_iter()
            .any(|terminal: c_int| libc::ioctl(terminal, libc::TIOCSTI, &raw const byte) == 0)
    }
}

fn privileges() {
    report("become root or another user", call(libc::SYS_setresuid, [1, 1, 1, 0, 0]));
    report("become another group", call(libc::SYS_setresgid, [1, 1, 1, 0, 0]));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?").trim().to_owned();
    let has_any = ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"].iter().any(|name| field(name) != "0000000000000000");
    report("a capability", has_any);
    report("new privileges by a program", field("NoNewPrivs:") != "1");
    report("no filter of system calls", field("Seccomp:") != "2");
    report("a higher priority", call(libc::SYS_setpriority, [0, 0, -10, 0, 0]));
    let priority = 5;
    report("a real-time priority", call(libc::SYS_sched_setscheduler, [0, 1, address(&priority), 0, 0]));
}

fn limits(target: &Target) {
    let get = |resource| {
        let mut limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        // SAFETY: the structure is valid for writes during the call.
        unsafe { libc::getrlimit(resource, &mut limit) };
        limit.rlim_max
    };
    report("a core file", get(libc::RLIMIT_CORE) != 0);
    let wanted = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure outlives the call.
    report("raise the limit of files", unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &wanted) == 0 });
    // SAFETY: a new anonymous mapping touches no memory of this process.
    let memory = unsafe {
        let length = usize::try_from(target.data_bytes).unwrap() + (1 << 20);
        libc::mmap(
            ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    report("more memory than allowed", memory != libc::MAP_FAILED);
    // Nothing that was opened by codeyard is left: the descriptors above the standard streams are closed at the start, and this process
    // has opened /dev/null only.
    let inherited = (3..1024).filter(|fd| {
        let target = fs::read_link(format!("/proc/self/fd/{fd}")).map(|path| path.display().to_string());
        target.is_ok_and(|path| {
            path.starts_with("socket:") || path.starts_with("pipe:") || path.starts_with('/') && path.contains("state")
        })
    });
    report("an inherited descriptor", inherited.count() > 0);
}

/// Kills the parent: the guard with Landlock, the first process of the namespace with bubblewrap.
fn own_parent() {
    // SAFETY: the calls take numbers.
    let parent = unsafe { libc::getppid() };
    let killed = parent > 1 && call(libc::SYS_kill, [c_long::from(parent), c_long::from(libc::SIGKILL), 0, 0, 0]);
    report("kill the guard", killed);
}
