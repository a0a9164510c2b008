//! Servers in control groups of their own.
//!
//! Each case runs in a codeyard that has a delegated group. Controllers that this machine doesn't have are named as skipped.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use codeyard_process::launch::{ExceededBudget, Isolation, LaunchSpec, LaunchedServer, Launcher, SandboxRequest};
use codeyard_process::proc_tree;
use codeyard_process::resource_limits::ResourceLimits;
use codeyard_process::sandbox::Mechanism;
use codeyard_process::spawn::ProcessLauncher;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::abandoned::{daemons, mark};
use crate::delegated::{Delegated, names};
use crate::harness::{LONG, block_on, holds, output, own, soon};

const MIB: u64 = 1 << 20;

/// What a codeyard does in the delegated group, with a mark for the arguments of its processes.
pub(crate) type Case = fn(&Path, &str);

pub(crate) const CASES: &[(&str, Case)] = &[
    ("own_group", in_own_group),
    ("guard_killed", guard_killed),
    ("dies", dies),
    ("starts_again", starts_again),
    ("over_memory", killed_over_memory),
    ("added_up", memory_added_up),
    ("fork_bomb", bomb_stopped),
];

/// Runs a case in a group with these controllers. Afterwards only the group of codeyard itself is left.
fn run(case: &str, controllers: &[&str]) {
    let Some(group) = Delegated::with(controllers) else { return };
    assert!(group.run_in(&group.0, case, &mark()).success());
    let names = group.names();
    assert!(names.len() == 1 && names[0].ends_with("-self"), "{names:?}");
}

pub(crate) fn own_group() {
    run("own_group", &[]);
}

pub(crate) fn ends_with_its_guard() {
    run("guard_killed", &[]);
}

pub(crate) fn over_memory() {
    run("over_memory", &["memory"]);
}

pub(crate) fn added_up() {
    run("added_up", &["memory"]);
}

pub(crate) fn fork_bomb() {
    run("fork_bomb", &["pids"]);
}

/// codeyard and the guard are killed while a daemon runs; the next codeyard is started in a group that exists already.
pub(crate) fn removed_by_the_next_start() {
    let Some(group) = Delegated::with(&[]) else { return };
    let mark = mark();
    assert!(!group.run_in(&group.0, "dies", &mark).success());
    assert!(block_on(soon(|| daemons(&mark) > 0)), "the daemon has outlived its guard");
    assert_eq!(group.names().len(), 2);
    let place = group.0.join("main");
    fs::create_dir(&place).unwrap();
    assert!(group.run_in(&place, "starts_again", &mark).success());
    assert_eq!(group.names(), ["main"]);
}

fn launcher() -> ProcessLauncher {
    ProcessLauncher::with_guard(own(), None).with_control_groups()
}

fn shell(script: &str, mark: &str, limits: ResourceLimits) -> LaunchSpec {
    let env = [("PATH", "/usr/bin:/bin"), ("MARK", mark), ("CODEYARD", &std::process::id().to_string())];
    LaunchSpec {
        label: "shell".into(),
        program: "/bin/sh".into(),
        args: ["-c", script].map(OsString::from).to_vec(),
        cwd: std::env::temp_dir(),
        env: env.map(|(name, value)| (name.into(), value.into())).to_vec(),
        limits,
        isolation: Isolation::Trusted,
    }
}

/// Every level that this machine has: a launcher and what it must confine.
fn levels() -> Vec<(ProcessLauncher, Isolation)> {
    let launcher = launcher();
    let mut levels = vec![(launcher.clone(), Isolation::Trusted)];
    for mechanism in Mechanism::ALL.into_iter().filter(|mechanism| holds(*mechanism)) {
        let request = SandboxRequest { roots: vec![std::env::temp_dir()], ..SandboxRequest::default() };
        levels.push((launcher.clone().with_mechanism(mechanism), Isolation::Restricted(request)));
    }
    levels
}

/// Starts a server and reads until it has written `line`.
async fn started(launcher: &ProcessLauncher, spec: &LaunchSpec, line: &str) -> LaunchedServer {
    let mut server = launcher.launch(spec).await.unwrap();
    read_line(&mut server, line).await;
    server
}

async fn read_line(server: &mut LaunchedServer, line: &str) {
    let mut read = vec![0; line.len() + 1];
    let result = tokio::time::timeout(LONG, server.reader.read_exact(&mut read)).await;
    let stderr = server.process.stderr_tail();
    result.expect("the server is slow").unwrap_or_else(|error| panic!("{error}: {stderr}"));
    assert_eq!(String::from_utf8_lossy(&read).trim(), line);
}

/// The name of the group of a process.
fn group_of(pid: u32) -> String {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    groups.lines().find_map(|line| line.strip_prefix("0::")?.rsplit('/').next()).unwrap_or_default().to_owned()
}

/// The whole tree of a server is in its group, at each level; its guard is in that of codeyard.
fn in_own_group(group: &Path, mark: &str) {
    for (number, (launcher, isolation)) in levels().into_iter().enumerate() {
        let spec =
            LaunchSpec { isolation, ..shell("sleep 600.$MARK & echo ready; cat", mark, ResourceLimits::default()) };
        block_on(async {
            let server = started(&launcher, &spec, "ready").await;
            let guard = server.process.id().unwrap();
            let members = proc_tree::descendants(guard);
            assert!(members.len() >= 2, "{members:?}");
            let groups: Vec<String> = members.iter().map(|member| group_of(member.pid)).collect();
            assert!(groups.iter().all(|name| name.ends_with(&format!("-{number}"))), "{groups:?}");
            assert!(group_of(guard).ends_with("-self") && group_of(std::process::id()).ends_with("-self"));
            assert_eq!(names(group).len(), 2);
            server.process.kill();
            let exit = server.process.exited().await;
            assert!(exit.is_killed() && !exit.over_memory, "{exit:?}");
            assert_eq!((daemons(mark), names(group).len()), (0, 1));
        });
    }
}

/// Without orphan collection only the group ends what a killed guard leaves.
fn guard_killed(group: &Path, mark: &str) {
    const SCRIPT: &str = "(setsid sh -c '(setsid sleep 600.$MARK &) ; sleep 600.$MARK' &)
        while [ $(grep -lac \"600[.]$MARK\" /proc/[0-9]*/cmdline 2>/dev/null | wc -l) -lt 2 ]; do sleep 0.05; done
        kill -KILL $PPID; sleep 600.$MARK";
    block_on(async {
        let server = launcher().launch(&shell(SCRIPT, mark, ResourceLimits::default())).await.unwrap();
        let exit = server.process.exited().await;
        assert!(exit.is_killed() && !exit.over_memory, "{exit:?}");
        assert_eq!((daemons(mark), names(group).len()), (0, 1));
    });
}

/// The server kills codeyard and the guard. What it has started ignores the guard's signal.
fn dies(_: &Path, mark: &str) {
    let script = "trap '' TERM; setsid sleep 600.$MARK & kill -KILL $CODEYARD $PPID";
    block_on(async {
        let server = launcher().launch(&shell(script, mark, ResourceLimits::default())).await.unwrap();
        server.process.exited().await;
        std::future::pending::<()>().await;
    });
}

/// Groups of the dead codeyard are removed, with what runs in them.
fn starts_again(group: &Path, mark: &str) {
    assert!(daemons(mark) > 0);
    let _launcher = launcher();
    assert!(block_on(soon(|| daemons(mark) == 0 && names(group) == ["main"])), "{:?}", names(group));
}

/// The kernel kills the whole tree, and the exit says why. codeyard lives.
fn killed_over_memory(group: &Path, mark: &str) {
    let limits = ResourceLimits { tree_bytes: Some(64 * MIB), ..ResourceLimits::default() };
    let script = "setsid sleep 600.$MARK & dd if=/dev/zero of=/dev/null bs=209715200 count=1; echo survived";
    for (launcher, isolation) in levels() {
        let spec = LaunchSpec { isolation, ..shell(script, mark, limits.clone()) };
        block_on(async {
            let (text, server) = output(&launcher, &spec).await;
            let exit = server.process.exited().await;
            println!("over memory, {:?}: {exit:?}, wrote {text:?}", spec.isolation);
            assert_eq!((exit.exceeded(), text.as_str()), (Some(ExceededBudget::Memory), ""), "{exit:?}");
            assert_eq!((daemons(mark), names(group).len()), (0, 1));
        });
    }
}

/// The memory of all children is that of the groups of the servers, with what is in the group of codeyard.
fn memory_added_up(_: &Path, mark: &str) {
    let script = "x=$(dd if=/dev/zero bs=1048576 count=32 2>/dev/null | tr '\\000' x); echo ready; read end";
    let limits = ResourceLimits { tree_bytes: Some(1024 * MIB), ..ResourceLimits::default() };
    block_on(async {
        let launcher = launcher();
        let bytes = |servers: &[&LaunchedServer]| {
            let processes: Vec<_> = servers.iter().map(|server| server.process.clone()).collect();
            launcher.measure(&processes).group_bytes.expect("the kernel counts memory")
        };
        let first = started(&launcher, &shell(script, mark, limits.clone()), "ready").await;
        let one = bytes(&[&first]);
        let second = started(&launcher, &shell(script, mark, limits.clone()), "ready").await;
        let two = bytes(&[&first, &second]);
        println!("memory of one server: {one}, of two: {two}");
        assert!(one > 30 * MIB && two > one + 30 * MIB);
        first.process.kill();
        first.process.exited().await;
        assert!(bytes(&[&second]) < two - 30 * MIB);
        second.process.kill();
        second.process.exited().await;
    });
}

/// Tasks are bounded by the processes that a server may have. Here fewer are allowed than the guard counts.
fn bomb_stopped(group: &Path, mark: &str) {
    const SCRIPT: &str = "echo ready; read go; (while :; do sleep 600 & done) 2>/dev/null; echo stopped; read end";
    let limits = ResourceLimits { processes: Some(100), ..ResourceLimits::default() };
    block_on(async {
        let mut server = started(&launcher(), &shell(SCRIPT, mark, limits), "ready").await;
        let name = group_of(server.process.server_id().unwrap());
        let file = |file: &str| group.join(&name).join(file);
        let number = |name: &str| fs::read_to_string(file(name)).unwrap().trim().parse::<u64>().unwrap();
        assert_eq!(number("pids.max"), 1600);
        fs::write(file("pids.max"), "50").unwrap();
        server.writer.write_all(b"go\n").await.unwrap();
        read_line(&mut server, "stopped").await;
        let tasks = number("pids.current");
        let events = fs::read_to_string(file("pids.events")).unwrap();
        println!("fork bomb: {tasks} tasks, events {events:?}");
        assert!((40..=50).contains(&tasks) && !events.contains("max 0\n"), "{tasks} tasks, {events}");
        server.process.kill();
        server.process.exited().await;
    });
}
