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
    let Some(program) = sibling::path(PROGRAM) else { return Err(Failure::missing(install_help(args))) };
    let error = sibling::command(&program).args(args).exec();
    Err(Failure::new(format!("cannot start {}: {error}", program.display())))
}

/// How to get `codeyard-bench`, and how to run it with `args` in a checkout.
fn install_help(args: &[OsString]) -> String {
    let is_help = args.iter().any(|arg| arg == "--help" || arg == "-h");
    let mut run = format!("cargo run --profile dist -p {PROGRAM}");
    if is_help || args.is_empty() {
        run.push_str(" -- --help");
    } else {
        run.push_str(&format!(" -- {}", args.join(" ".as_ref()).display()));
    }
    format!(
        "{PROGRAM} is not in the folder of codeyard\n\n\
         `codeyard bench` runs {PROGRAM}, which compares codeyard with a bare language server on a repository.\n\
         In a checkout of codeyard, install it:\n  cargo install --profile dist --path src/bench\n\
         or run it without installation:\n  {run}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_both_ways_to_run_the_benchmark() {
        for args in [&[][..], &["--help".into()], &["-h".into()]] {
            let help = install_help(args);
            assert!(help.contains("cargo install --profile dist --path src/bench"), "{help}");
            assert!(help.ends_with("-p codeyard-bench -- --help"), "{help}");
        }
        let run = install_help(&["~/src".into(), "--scenario".into(), "mix".into()]);
        assert!(run.ends_with("-p codeyard-bench -- ~/src --scenario mix"), "{run}");
    }
}
