//! `codeyard bench`: replaces this process by `codeyard-bench`, which is installed beside it.
//!
//! The benchmark is a program of its own so that a build of codeyard doesn't contain it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use codeyard_process::sibling;

use super::Failure;

const PROGRAM: &str = "codeyard-bench";

/// Passes `args` on. Returns only if the program can't be started.
pub(crate) fn run(args: &[OsString]) -> Result<(), Failure> {
    let Some(program) = sibling::path(PROGRAM) else {
        return Err(Failure::missing(format!(
            "{PROGRAM} is not installed beside codeyard; build it and measure with: cargo run --release -p {PROGRAM} -- {}",
            args.join(" ".as_ref()).display()
        )));
    };
    let error = sibling::command(&program).args(args).exec();
    Err(Failure::new(format!("{} can't be started: {error}", program.display())))
}
