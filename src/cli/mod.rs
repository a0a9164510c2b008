//! Rank 7: the command line. Each command is one file; this one only chooses.
//!
//! Exit codes: 0 done; 1 failed, the message says what to do; 2 wrong usage; 3 not found or not running.

pub mod args;
pub mod assemble;
pub mod logging;
pub mod serve;
pub mod stdio;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// Why a command failed: a sentence for a person that says what to do, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// The sentence.
    pub message: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// Exit code 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }
}

/// Runs the command that `args` name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // clap's own exit code: 0 for help and version, 2 for wrong usage.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            error.print().ok();
            return ExitCode::from(code);
        }
    };
    let done = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Stdio(args) => stdio::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("codeyard: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}
