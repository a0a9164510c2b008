//! `codeyard completions` and `codeyard man`: documents made from the declarations of the command line.

use std::path::Path;

use clap::CommandFactory;

use super::args::Cli;
use super::{Failure, output};

/// Prints completions for a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "codeyard", &mut text);
    output::print(String::from_utf8_lossy(&text))
}

/// Prints the manual page with all commands, or writes a page a command into `dir`.
pub(crate) fn man(dir: Option<&Path>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("the manual can't be written: {error}"));
    if let Some(dir) = dir {
        std::fs::create_dir_all(dir).map_err(failed)?;
        return clap_mangen::generate_to(Cli::command(), dir).map_err(failed);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(failed)?;
    output::print(String::from_utf8_lossy(&page))
}
