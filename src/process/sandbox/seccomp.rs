//! The filter of system calls of a confined process.
//!
//! It denies what a language server never needs and what Landlock doesn't cover: sockets, other processes, kernel interfaces, devices, and the
//! owner, mode, times and attributes of files. Landlock lets a process change those of every file of its user, so calls that change mode, owner
//! or times do nothing and report success: programs that copy a file make them, and need no effect. Invariants: the filter holds for all
//! programs that the process starts; no call of the second set of numbers that x86-64 kernels may have is made.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter, sock_filter,
};

/// System calls that are denied with any arguments.
const DENIED: &[libc::c_long] = &[
    // Sockets. Pairs of connected stream sockets are allowed below, because programs use them as pipes.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Memory and queues that other processes share by a number or a name.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    // File systems and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_fanotify_init,
    // The kernel.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// The same, for calls that only one architecture has.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[libc::c_long] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[libc::c_long] = &[];

/// `fchmodat2`, in all architectures.
const FCHMODAT2: libc::c_long = 452;
/// `setxattrat`, `removexattrat` and `file_setattr`, likewise.
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const FILE_SETATTR: libc::c_long = 469;

/// System calls that do nothing and report success: they change the mode, the owner or the times of a file.
const WITHOUT_EFFECT: &[libc::c_long] =
    &[libc::SYS_fchmod, libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat];

/// The same, for calls that only one architecture has.
#[cfg(target_arch = "x86_64")]
const WITHOUT_EFFECT_HERE: &[libc::c_long] =
    &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(not(target_arch = "x86_64"))]
const WITHOUT_EFFECT_HERE: &[libc::c_long] = &[];

/// System calls that a file system without attributes doesn't have.
const UNSUPPORTED: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// The first number of the second set of calls. Other architectures have no such numbers.
const SECOND_SET: u32 = 0x4000_0000;

/// System calls that look like those of an older kernel, so that programs use their older ways.
const UNKNOWN: &[libc::c_long] =
    &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_clone3];

/// Flags of `clone` that make namespaces.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Requests of `ioctl` that write into a terminal's input.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541C];

/// The kinds of requests of `ioctl` that change what a file system keeps about a file which may be only readable: flags, project, version,
/// encryption, verity (`f`, `X`, `v`), subvolumes (`0x94`). A kind is the second byte.
const FILE_SYSTEM_REQUESTS: [u64; 4] = [0x6600, 0x5800, 0x7600, 0x9400];
const REQUEST_KIND: u64 = 0xff00;

/// The first argument of `ioprio_set` for one process.
const IOPRIO_WHO_PROCESS: u64 = 1;

/// The bits of a socket's type that aren't flags.
const SOCKET_TYPE: u64 = 0xf;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Applies the filter to this process.
///
/// # Errors
/// If the kernel doesn't take it.
pub(super) fn apply() -> Result<(), String> {
    let applied = |program: &BpfProgram| {
        apply_filter(program).map_err(|error| format!("the filter of system calls can't be applied: {error}"))
    };
    applied(&without_second_set()?)?;
    let without_effect = [WITHOUT_EFFECT, WITHOUT_EFFECT_HERE].concat();
    let programs = [
        (denied()?, libc::EPERM),
        (all(UNKNOWN), libc::ENOSYS),
        (all(&without_effect), 0),
        (all(UNSUPPORTED), libc::EOPNOTSUPP),
    ];
    for (rules, errno) in programs {
        let errno = u32::try_from(errno).map_err(|error| error.to_string())?;
        let target = std::env::consts::ARCH.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), target);
        let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|error| error.to_string())?;
        applied(&program)?;
    }
    Ok(())
}

/// A filter that denies all calls of the second set. `seccompiler` compares single numbers only.
fn without_second_set() -> Result<BpfProgram, String> {
    let instruction = |code: u32, jump_false: u8, k: u32| {
        let code = u16::try_from(code).map_err(|error| error.to_string())?;
        Ok(sock_filter { code, jt: 0, jf: jump_false, k })
    };
    let denied = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    // The number of the call is the first field.
    let load = u32::try_from(std::mem::offset_of!(libc::seccomp_data, nr)).map_err(|error| error.to_string())?;
    [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, load),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, SECOND_SET),
        instruction(libc::BPF_RET | libc::BPF_K, 0, denied),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ]
    .into_iter()
    .collect()
}

fn all(calls: &[libc::c_long]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn denied() -> Result<Rules, String> {
    let mut rules = all(DENIED);
    rules.extend(all(DENIED_HERE));
    let mut add = |call: libc::c_long, conditions: Vec<(u8, SeccompCmpOp, u64)>| -> Result<(), String> {
        let one =
            |(argument, operator, value)| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value);
        let conditions: Result<Vec<_>, _> = conditions.into_iter().map(one).collect();
        let rule = conditions.and_then(SeccompRule::new).map_err(|error| error.to_string())?;
        rules.entry(call).or_default().push(rule);
        Ok(())
    };
    let number = |number: libc::c_int| u64::from(number.unsigned_abs());
    for flag in NAMESPACES.map(number) {
        add(libc::SYS_clone, vec![(0, SeccompCmpOp::MaskedEq(flag), flag)])?;
    }
    for request in TERMINAL_INPUT {
        add(libc::SYS_ioctl, vec![(1, SeccompCmpOp::Eq, request)])?;
    }
    for kind in FILE_SYSTEM_REQUESTS {
        add(libc::SYS_ioctl, vec![(1, SeccompCmpOp::MaskedEq(REQUEST_KIND), kind)])?;
    }
    // Who holds a lease makes others wait that open the file to write.
    add(libc::SYS_fcntl, vec![(1, SeccompCmpOp::Eq, number(libc::F_SETLEASE))])?;
    add(libc::SYS_socketpair, vec![(0, SeccompCmpOp::Ne, number(libc::AF_UNIX))])?;
    // A pair of datagram sockets can send to other sockets.
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW].map(number) {
        add(libc::SYS_socketpair, vec![(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)])?;
    }
    for kind in [libc::S_IFCHR, libc::S_IFBLK] {
        let kind = u64::from(kind);
        add(libc::SYS_mknodat, vec![(2, SeccompCmpOp::MaskedEq(u64::from(libc::S_IFMT)), kind)])?;
        #[cfg(target_arch = "x86_64")]
        add(libc::SYS_mknod, vec![(1, SeccompCmpOp::MaskedEq(u64::from(libc::S_IFMT)), kind)])?;
    }
    // A process may change its own priority and limits, not those of others.
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
    ] {
        add(call, vec![(0, SeccompCmpOp::Ne, 0)])?;
    }
    add(libc::SYS_setpriority, vec![(0, SeccompCmpOp::Ne, 0)])?;
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        add(call, vec![(1, SeccompCmpOp::Ne, 0)])?;
    }
    // Of all processes of a group or a user, which 0 names, too.
    add(libc::SYS_ioprio_set, vec![(0, SeccompCmpOp::Ne, IOPRIO_WHO_PROCESS)])?;
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_and_no_call_is_both_denied_and_unknown() {
        let rules = denied().unwrap();
        assert!(rules.contains_key(&libc::SYS_clone) && rules.contains_key(&libc::SYS_socketpair));
        let others = [UNKNOWN, WITHOUT_EFFECT, WITHOUT_EFFECT_HERE, UNSUPPORTED].concat();
        assert!(others.iter().all(|call| !rules.contains_key(call)));
        let target = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(1), target).unwrap();
        assert!(BpfProgram::try_from(filter).unwrap().len() > DENIED.len());
    }
}
