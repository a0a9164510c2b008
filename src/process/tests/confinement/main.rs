//! Real servers in a real sandbox, and servers that kill their guards. The program is the guard, the server and the test at once, so it
//! needs no other program: it has its own `main`.
//!
//! A mechanism that this machine doesn't have is named as skipped.

#[cfg(target_os = "linux")]
mod abandoned;
#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod budgets;
#[cfg(target_os = "linux")]
mod control_groups;
#[cfg(target_os = "linux")]
mod delegated;
#[cfg(target_os = "linux")]
mod harness;
#[cfg(target_os = "linux")]
mod probes;
#[cfg(target_os = "linux")]
mod system_attempts;

fn main() -> std::process::ExitCode {
    if let Some(code) = codeyard_process::subcommands::from_command_line(std::env::args_os()) {
        return code;
    }
    #[cfg(target_os = "linux")]
    return harness::main();
    #[cfg(not(target_os = "linux"))]
    std::process::ExitCode::SUCCESS
}
