//! The command line of codeyard: flags, commands, exit codes. This file only parses and dispatches.
//!
//! # Code map
//!
//! A folder imports only folders above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | folder | holds |
//! |---|---|
//! | [`args`] | the flags and arguments of all commands |
//! | [`shared`] | what several commands share |
//! | [`commands`] | each command as one file or folder |
//!
//! # Exit codes
//!
//! 0 success; 1 failure, the message says what to do; 2 wrong usage; 3 not found or not running. `search` has those of
//! ripgrep: 1 nothing found, 2 failure. `runs` exits with 4 if the run has failed or needs a repair. `top` and installations that a
//! signal ends exit with 128 plus the number of the signal, as shells expect.

pub mod args;
mod commands;
pub mod limits;
pub mod shared;
pub mod terminal_style;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use commands::{
    audit, bench, call, code_index, completions, config, connect, doctor, health, permissions, quickstart, runs, serve,
    servers, stdio, syntactic, token, top, workspaces,
};
use shared::output;

/// Why a command failed, with the exit code.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong, why, and what to do next; for a person.
    pub message: String,
    /// The exit code of the process.
    pub code: u8,
}

impl Failure {
    /// Exit code 1: the command failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    /// Exit code 2: wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }

    /// Exit code 3: not found or not running.
    pub fn missing(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 3 }
    }
}

/// Runs the command that `args` name, the program's name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    codeyard_engine::heap_trim::bound_retained_memory();
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage_exit(&error),
    };
    let result = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Stdio(args) => stdio::run(args),
        Command::Quickstart(args) => quickstart::run(args),
        Command::Call(args) => call::run(args),
        Command::Index(args) => code_index::run_index(args),
        Command::Search(args) => code_index::run_search(args),
        Command::Outline(args) => code_index::run_outline(args),
        Command::Runs(command) => runs::run(command),
        Command::Servers(command) => servers::run(command),
        Command::Workspaces(args) => workspaces::run(args),
        Command::Top(args) => top::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Health(args) => health::run(&args),
        Command::Config(command) => config::run(command),
        Command::Connect(args) => connect::run(args),
        Command::Bench { args } => bench::run(&args),
        Command::Audit(command) => audit::run(command),
        Command::Permissions(command) => permissions::run(command),
        Command::Token(command) => token::run(command),
        Command::Syntactic(args) => syntactic::run(args),
        Command::Completions { shell } => completions::print_completions(shell),
        Command::Man { dir } => completions::manual(dir.as_deref()),
    };
    exit_code(result)
}

/// Prints the message of the argument parser and returns its exit code: 0 for help and version, 2 for wrong usage.
pub fn usage_exit(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    error.print().ok();
    ExitCode::from(code)
}

/// The exit code of a command. Prints a failure on standard error.
pub fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // `search` has an exit code of its own for a result without rows.
            if !failure.message.is_empty() {
                output::eprint_line(format_args!("codeyard: {}", failure.message));
            }
            ExitCode::from(failure.code)
        }
    }
}

/// A tokio runtime with several threads.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(format!("cannot start threads: {error}; check the limit `ulimit -u`")))
}
