//! The executable `codeyard-bench`.
//!
//! It contains all of codeyard, so that one build measures itself: with a subcommand of codeyard as its first argument it behaves as
//! `codeyard`. It starts its own executable for the side that serves.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The guard process runs on one thread without a runtime, so this check comes first.
    if let Some(code) = codeyard_process::subcommands::from_command_line(std::env::args_os()) {
        return code;
    }
    if let Some(code) = codeyard_git::reader_process::from_command_line(std::env::args_os()) {
        return code;
    }
    let is_codeyard =
        std::env::args_os().nth(1).is_some_and(|word| codeyard_bench::OWN_COMMANDS.iter().any(|own| word == *own));
    if is_codeyard { codeyard_cli::run(std::env::args_os()) } else { codeyard_bench::main(std::env::args_os()) }
}
