//! Chooses the role of this process and runs the tests one after the other.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use codeyard_process::launch::{LaunchSpec, LaunchedServer, Launcher};
use codeyard_process::sandbox::Mechanism;
use codeyard_process::sandbox::probe::SandboxSupport;
use tokio::io::AsyncReadExt;

use crate::{abandoned, attempts, budgets, control_groups, delegated, probes};

/// Long, because the machine may be busy.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The tests by name.
type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("a_confined_server_is_blocked_by_bubblewrap", || probes::all_blocked(Mechanism::Bubblewrap)),
    ("a_confined_server_is_blocked_by_landlock", || probes::all_blocked(Mechanism::Landlock)),
    ("a_confined_server_of_another_user_is_blocked", probes::all_blocked_as_nobody),
    ("a_server_without_a_mechanism_is_not_started", probes::fails_closed),
    ("a_sandbox_of_bubblewrap_is_probed_again", || probes::probed_again(Mechanism::Bubblewrap)),
    ("a_sandbox_of_landlock_is_probed_again", || probes::probed_again(Mechanism::Landlock)),
    ("too_many_processes_end_a_server", budgets::too_many_processes),
    ("threads_that_become_processes_end_a_server", budgets::threads_become_processes),
    ("a_file_over_its_budget_ends_a_server", budgets::too_large_a_file),
    ("daemons_of_a_killed_guard_are_killed", abandoned::with_codeyard_alive),
    ("daemons_of_a_killed_guard_are_killed_after_codeyard", abandoned::with_codeyard_killed),
    ("daemons_are_killed_by_the_next_start", abandoned::with_the_warden_killed),
    ("a_server_runs_in_a_control_group_of_its_own", control_groups::own_group),
    ("a_control_group_ends_with_its_guard", control_groups::ends_with_its_guard),
    ("control_groups_of_a_dead_codeyard_are_removed_by_the_next_start", control_groups::removed_by_the_next_start),
    ("a_tree_over_the_memory_of_its_control_group_is_killed_as_a_whole", control_groups::over_memory),
    ("the_memory_of_control_groups_is_added_up", control_groups::added_up),
    ("a_control_group_stops_a_fork_bomb", control_groups::fork_bomb),
];

/// Runs the role that the arguments name: a part of a test, or the tests whose names contain the first argument.
pub(crate) fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some(attempts::ROLE) => return attempts::main(&args[1..]),
        Some(delegated::ROLE) => return delegated::main(&args[1..]),
        Some(abandoned::HOST_ROLE) => return abandoned::host_main(&args[1..]),
        Some(budgets::SWAP_ROLE) => return budgets::swap_main(),
        Some("--list") => {
            TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let filter = args.iter().find(|arg| !arg.starts_with('-')).cloned().unwrap_or_default();
    let mut failed = 0;
    for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(&filter)) {
        let is_ok = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
        failed += usize::from(!is_ok);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// This program.
pub(crate) fn own() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Whether a mechanism holds here; says so otherwise.
pub(crate) fn holds(mechanism: Mechanism) -> bool {
    let support = SandboxSupport::probe(&own(), &std::env::temp_dir());
    let (_, result) = support.results.into_iter().find(|(found, _)| *found == mechanism).unwrap();
    if let Err(error) = &result {
        println!("SKIPPED: {} doesn't hold on this machine: {error}", mechanism.name());
    }
    result.is_ok()
}

/// Runs a future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

/// Starts a server and reads its whole output.
pub(crate) async fn output(launcher: &dyn Launcher, spec: &LaunchSpec) -> (String, LaunchedServer) {
    let mut server = launcher.launch(spec).await.unwrap();
    let mut text = String::new();
    let read = tokio::time::timeout(LONG, server.reader.read_to_string(&mut text)).await;
    assert!(read.is_ok(), "the server doesn't end; it wrote {text}");
    (text, server)
}

/// Checks `condition` every 20 ms for a bounded time; returns whether it became true.
pub(crate) async fn soon(condition: impl Fn() -> bool) -> bool {
    for _ in 0..LONG.as_millis() / 20 {
        if condition() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    condition()
}
