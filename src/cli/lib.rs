//! Rank 7: the command line. Each command is one file; this one only chooses.
//!
//! Exit codes: 0 done; 1 failed, the message says what to do; 2 wrong usage; 3 not found or not running.

pub mod args;
pub mod assemble;
mod benchmark;
mod call;
mod client;
mod code;
mod configuration;
mod doctor;
mod documents;
pub mod limits;
mod logging;
mod operate;
pub mod output;
mod permissions;
mod quickstart;
mod render;
mod running;
mod serve;
pub mod servers;
mod signals;
mod stdio;
mod survey;
mod syntactic;
mod token;
mod top;
mod workspaces;

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
    /// Exit code 1: failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    /// Exit code 2: wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }

    /// Exit code 3: not found, or not running.
    pub fn missing(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 3 }
    }
}

/// Runs the command that `args` name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage_exit(&error),
    };
    let done = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Stdio(args) => stdio::run(args),
        Command::Quickstart(args) => quickstart::run(args),
        Command::Call(args) => call::run(args),
        Command::Index(args) => code::run_index(args),
        Command::Search(args) => code::run_search(args),
        Command::Outline(args) => code::run_outline(args),
        Command::Servers(command) => servers::run(command),
        Command::Workspaces(args) => workspaces::run(args),
        Command::Top(args) => top::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Config(command) => configuration::run(command),
        Command::Bench { args } => benchmark::run(&args),
        Command::Permissions(command) => permissions::run(command),
        Command::Token(command) => token::run(command),
        Command::Syntactic(args) => syntactic::run(args),
        Command::Completions { shell } => documents::completions(shell),
        Command::Man { dir } => documents::man(dir.as_deref()),
    };
    exit_code(done)
}

/// Prints what the parser of the command line says, and gives its exit code: 0 for help and version, 2 for wrong usage.
pub fn usage_exit(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    error.print().ok();
    ExitCode::from(code)
}

/// The exit code of a command; a failure is printed on standard error.
pub fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(format_args!("codeyard: {}", failure.message));
            ExitCode::from(failure.code)
        }
    }
}

/// A runtime for commands that wait for something.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(format!("threads can't be started: {error}")))
}
