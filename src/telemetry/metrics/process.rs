//! Figures of this process: processor time, memory, descriptors, threads.
//!
//! They are read from `/proc/self` at each export, which takes well below a millisecond. Only Linux has them.

use std::fs;

use super::Observers;
use crate::names::instruments as known;
use codeyard_base::clock::Instant;
use codeyard_base::proc_status;

/// Ticks per second in `/proc`, a constant of Linux's interface to programs.
const USER_HZ: f64 = 100.0;

/// Registers the process's figures. `version` is the program's.
pub(super) fn observe(observers: &Observers<'_>, version: &'static str) {
    let started = Instant::now();
    observers.observe(&known::BUILD, move |sink| sink.record(1, &[version]));
    observers.observe(&known::UPTIME, move |sink| sink.record_real(started.elapsed().as_secs_f64(), &[]));
    observers.observe(&known::CPU, |sink| {
        if let Some((user, system)) = cpu_seconds() {
            sink.record_real(user, &["user"]);
            sink.record_real(system, &["system"]);
        }
    });
    observers.observe(&known::RESIDENT, |sink| {
        if let Some(bytes) = resident_bytes() {
            sink.record(bytes, &[]);
        }
    });
    observers.observe(&known::DESCRIPTORS, |sink| {
        if let Some(count) = entries("/proc/self/fd") {
            sink.record(count, &[]);
        }
    });
    observers.observe(&known::THREADS, |sink| {
        if let Some(count) = entries("/proc/self/task") {
            sink.record(count, &[]);
        }
    });
}

/// Resident memory of this process in bytes.
pub(super) fn resident_bytes() -> Option<u64> {
    proc_status::bytes_in(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Processor time of this process in user and in system mode, in seconds.
fn cpu_seconds() -> Option<(f64, f64)> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name is in brackets and may contain blanks: the last bracket ends it.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user / USER_HZ, system / USER_HZ))
}

fn entries(folder: &str) -> Option<u64> {
    Some(fs::read_dir(folder).ok()?.count() as u64)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_this_process_are_plausible() {
        assert!(resident_bytes().unwrap() > 1_000_000);
        let (user, system) = cpu_seconds().unwrap();
        assert!(user >= 0.0 && system >= 0.0 && user + system < 1e6);
        assert!(entries("/proc/self/fd").unwrap() >= 3 && entries("/proc/self/task").unwrap() >= 1);
    }
}
