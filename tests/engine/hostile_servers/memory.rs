//! Memory that all hostile servers together cost, measured in a process of its own: other tests would be measured too.

use super::*;

/// Set for the process that is measured.
const MEASURED: &str = "HOSTILE_SERVERS_MEASURED";
/// The most that the process may grow by.
const LIMIT_MIB: u64 = 64;

fn resident_mib() -> u64 {
    // SAFETY: it only returns freed memory to the system, so that what is in use is measured and not what the allocator keeps.
    unsafe { libc::malloc_trim(0) };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn all_hostile_servers_together_leave_less_than_64_mib() {
    if std::env::var_os(MEASURED).is_some() {
        // The first services create threads, caches and tables that stay.
        timing::behaviours().iter().take(3).for_each(|behaviour| drop(run(behaviour)));
        let before = resident_mib();
        let rows: Vec<Behaviour> = table().into_iter().flat_map(|(_, rows)| rows).collect();
        rows.iter().for_each(|behaviour| drop(run(behaviour)));
        let after = resident_mib();
        println!("{} behaviours: {before} MiB before, {after} MiB after", rows.len());
        assert!(after < before + LIMIT_MIB, "{before} MiB before, {after} MiB after");
        return;
    }
    let name = "hostile_servers::memory::all_hostile_servers_together_leave_less_than_64_mib";
    #[expect(clippy::disallowed_methods, reason = "this test program itself, in a process of its own")]
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name, "--nocapture"]).env(MEASURED, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let figures: Vec<&str> = text.lines().filter(|line| line.contains("MiB before")).collect();
    println!("{figures:?}");
    assert!(output.status.success() && !figures.is_empty(), "{text}");
}
