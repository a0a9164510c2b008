//! The binary: a thin shell around the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: a guard is one thread, without a runtime.
    if let Some(code) = codeyard::lsp::guard::from_command_line(std::env::args_os()) {
        return code;
    }
    codeyard::cli::run(std::env::args_os())
}
