//! Memory that each hostile server leaves, measured in a process of its own: other tests would be measured too.

use super::*;

/// Set for the process that is measured.
const MEASURED: &str = "HOSTILE_SERVERS_MEASURED";
/// The most that the process may grow by for one behaviour.
const LIMIT_MIB: u64 = 64;

fn resident_mib() -> u64 {
    // SAFETY: it only returns freed memory to the system, so that what is in use is measured and not what the allocator keeps.
    unsafe { libc::malloc_trim(0) };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn no_hostile_server_leaves_64_mib() {
    if std::env::var_os(MEASURED).is_some() {
        // The first services create threads, caches and tables that stay.
        timing::behaviours().iter().take(3).for_each(|behaviour| drop(run(behaviour)));
        let first = resident_mib();
        let (mut before, mut most) = (first, (0, ""));
        let rows: Vec<Behaviour> = table().into_iter().flat_map(|(_, rows)| rows).collect();
        for behaviour in &rows {
            drop(run(behaviour));
            let after = resident_mib();
            most = most.max((after.saturating_sub(before), behaviour.name));
            before = after;
        }
        println!("{} behaviours: {first} MiB before, {before} MiB after; most: {} MiB, {}", rows.len(), most.0, most.1);
        assert!(most.0 < LIMIT_MIB, "{most:?}");
        return;
    }
    let name = "hostile_servers::memory::no_hostile_server_leaves_64_mib";
    #[expect(clippy::disallowed_methods, reason = "this test program itself, in a process of its own")]
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name, "--nocapture"]).env(MEASURED, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let figures: Vec<&str> = text.lines().filter(|line| line.contains("MiB before")).collect();
    println!("{figures:?}");
    assert!(output.status.success() && !figures.is_empty(), "{text}");
}
