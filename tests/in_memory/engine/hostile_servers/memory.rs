//! Memory that each hostile server leaves, measured in a process of its own: other tests would be measured too.

use codeyard_engine::heap_trim;

use super::*;

/// Set for the process that is measured.
const MEASURED: &str = "HOSTILE_SERVERS_MEASURED";
/// The most that the process may grow by for one behaviour.
const LIMIT_MIB: u64 = 64;

fn resident_mib() -> u64 {
    // What is in use is measured, not what the allocator keeps.
    heap_trim::now();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}

/// What is in use when other threads have dropped what they still worked on; at once if that isn't much more than `before`.
fn settled_mib(before: u64) -> u64 {
    for _ in 0..100 {
        let now = resident_mib();
        if now.saturating_sub(before) < LIMIT_MIB {
            return now;
        }
        #[expect(clippy::disallowed_methods, reason = "the pause between two looks at this process")]
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    resident_mib()
}

#[test]
fn no_hostile_server_leaves_64_mib() {
    if std::env::var_os(MEASURED).is_some() {
        // As in the program: otherwise the free end of each arena, up to 64 MiB, stays.
        heap_trim::bound_retained_memory();
        // The first services create threads, caches and tables that stay.
        timing::behaviours().iter().take(3).for_each(|behaviour| drop(run(behaviour)));
        let first = resident_mib();
        let mut before = first;
        let mut most = (0, "");
        let rows: Vec<Behaviour> = table().into_iter().flat_map(|(_, rows)| rows).collect();
        for behaviour in &rows {
            drop(run(behaviour));
            let after = settled_mib(before);
            most = most.max((after.saturating_sub(before), behaviour.name));
            before = after;
        }
        println!("{} behaviours: {first} MiB before, {before} MiB after; most: {} MiB, {}", rows.len(), most.0, most.1);
        assert!(most.0 < LIMIT_MIB, "{most:?}");
        return;
    }
    let name = "engine::hostile_servers::memory::no_hostile_server_leaves_64_mib";
    #[expect(clippy::disallowed_methods, reason = "this test program itself, in a process of its own")]
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name, "--nocapture"]).env(MEASURED, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let figures: Vec<&str> = text.lines().filter(|line| line.contains("MiB before")).collect();
    println!("{figures:?}");
    assert!(output.status.success() && !figures.is_empty(), "{text}");
}
