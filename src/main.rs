//! The binary: a thin shell around the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: a guard is one thread, without a runtime.
    if let Some(code) = codeyard_process::subcommands::from_command_line(std::env::args_os()) {
        return code;
    }
    // A reader of git confines itself while it has one thread.
    if let Some(code) = codeyard_git::reader_process::from_command_line(std::env::args_os()) {
        return code;
    }
    let code = codeyard_cli::run(std::env::args_os());
    codeyard_process::confined::end_all();
    code
}
