//! `codeyard completions` and `codeyard man`: shell completions and manual pages, generated from the declared commands and flags.

use std::path::Path;

use clap::CommandFactory;

use crate::Failure;
use crate::args::Cli;
use crate::shared::output;

pub(crate) fn print_completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "codeyard", &mut text);
    output::print(String::from_utf8_lossy(&text))
}

/// Prints the main manual page, or writes one page for each command into `dir`.
pub(crate) fn manual(dir: Option<&Path>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("cannot write the manual: {error}; check the folder given to --dir"))
    };
    if let Some(dir) = dir {
        std::fs::create_dir_all(dir).map_err(failed)?;
        return clap_mangen::generate_to(Cli::command(), dir).map_err(failed);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(failed)?;
    output::print(String::from_utf8_lossy(&page))
}
