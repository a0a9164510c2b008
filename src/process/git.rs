//! Runs `git` so that the result depends only on its arguments and the repository.
//!
//! Off: the system's and the user's configuration and attributes, hooks, pagers, prompts, credentials, the file system
//! monitor, and the environment variables that point `git` to another repository. Filters can then come only from the
//! repository's own configuration. The run time is bounded.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::tool::Tool;

/// Longest run of one command.
const LIMIT: Duration = Duration::from_secs(300);

/// Configuration that overrides the repository's own.
const OPTIONS: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "credential.helper=",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "init.defaultBranch=main",
];

/// Variables that are set for `git`.
const ENVIRONMENT: [(&str, &str); 7] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
];

/// Variables that are removed: they would select another repository or add configuration.
const REMOVED: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
];

/// Why a `git` command failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// `git` could not be started.
    #[error("cannot start git: {0}")]
    Start(#[from] io::Error),
    /// The command failed or took too long.
    #[error("`git {command}` failed ({status}): {errors}")]
    Failed {
        /// Its arguments.
        command: String,
        /// Its exit status in words.
        status: String,
        /// The end of its standard error.
        errors: String,
    },
}

/// Runs `git` with `args` in `dir` and returns the end of its standard output (at most
/// [`TOOL_OUTPUT_TAIL_BYTES`](crate::limits::TOOL_OUTPUT_TAIL_BYTES)), without white space around it. Blocks.
///
/// # Errors
/// If `git` can't be started, exits with an error, or takes longer than 5 minutes.
pub fn run_git(dir: &Path, args: &[&str]) -> Result<String, GitError> {
    let mut tool = Tool::new("git").args(OPTIONS).args(args).current_dir(dir).separate_errors();
    for (name, value) in ENVIRONMENT {
        tool = tool.env(name, value);
    }
    for name in REMOVED {
        tool = tool.env_remove(name);
    }
    let outcome = tool.run(LIMIT, &|| ())?;
    if outcome.success() {
        return Ok(outcome.output.trim().to_owned());
    }
    Err(GitError::Failed { command: args.join(" "), status: outcome.why(), errors: outcome.errors.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn hooks_do_not_run_and_failures_name_the_command() {
        let dir = tempfile::tempdir().unwrap();
        run_git(dir.path(), &["init", "--quiet"]).unwrap();
        let hook = dir.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let commit = [&identity[..], &["commit", "--quiet", "--allow-empty", "--message", "first"]].concat();
        run_git(dir.path(), &commit).unwrap();
        assert_eq!(run_git(dir.path(), &["symbolic-ref", "HEAD"]).unwrap(), "refs/heads/main");
        let error = run_git(dir.path(), &["show", "none"]).unwrap_err().to_string();
        assert!(error.starts_with("`git show none` failed (exit status: 128): fatal:"), "{error}");
    }
}
