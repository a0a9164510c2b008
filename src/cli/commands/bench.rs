//! `codeyard bench`: replaces this process with `codeyard-bench`, which is installed in the same folder.
//!
//! The benchmark is a separate executable, so that a build of codeyard does not contain it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use codeyard_process::sibling;

use crate::Failure;

const PROGRAM: &str = "codeyard-bench";

/// Executes `codeyard-bench` with `args`. Returns only if it cannot be started.
pub(crate) fn run(args: &[OsString]) -> Result<(), Failure> {
    let Some(program) = sibling::path(PROGRAM) else {
        return Err(Failure::missing(format!(
            "{PROGRAM} is not in the folder of codeyard; build and run it with: cargo run --profile dist -p {PROGRAM} -- {}",
            args.join(" ".as_ref()).display()
        )));
    };
    let error = sibling::command(&program).args(args).exec();
    Err(Failure::new(format!("cannot start {}: {error}", program.display())))
}
