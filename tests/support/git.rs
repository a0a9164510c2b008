//! Runs `git` in a test's repository, with the environment of `codeyard_process::git` and a fixed author.

use std::path::Path;

/// Runs `git` in `dir` and returns its standard output without white space around it.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "core.autocrlf=false"];
    let output = codeyard_process::git::run_git(dir, &[&identity[..], args].concat());
    output.unwrap_or_else(|error| panic!("{error}"))
}
