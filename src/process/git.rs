//! Runs `git` so that the result depends only on its arguments and the repository.
//!
//! Off: the system's and the user's configuration, attributes and credentials, hooks, pagers, prompts, the file system monitor,
//! replacement objects, submodules, background maintenance, every transport that the caller doesn't allow, and the environment
//! variables that point `git` to another repository. Filters and programs for diffs can then come only from the repository's own
//! configuration. Invariants: the run time and the output are bounded; a stopped command leaves no process behind; credentials are in no
//! argument, so no list of processes shows them, and in no error.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::tool::{Tool, ToolBounds, ToolEnd};
use codeyard_base::words;

/// Output of one command of `git` that doesn't set a bound of its own, in bytes.
const MAX_GIT_OUTPUT_BYTES: usize = 64 * 1024 * 1024;

/// Longest run of a command that sets no other limit.
const LIMIT: Duration = Duration::from_secs(300);

/// Configuration that overrides the repository's own.
const OPTIONS: [&str; 25] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.quotePath=false",
    "core.bigFileThreshold=16m",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "init.defaultBranch=main",
    "color.ui=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    // A server that sends nothing for a minute ends the command.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    "advice.detachedHead=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
];

/// Configuration for commands that receive objects: they are checked, except for faults of old clients that harm nobody.
const RECEIVE_OPTIONS: [&str; 6] = [
    "transfer.fsckObjects=true",
    "fetch.fsck.badTimezone=ignore",
    "fetch.fsck.missingSpaceBeforeDate=ignore",
    "fetch.fsck.missingEmail=ignore",
    "fetch.fsck.zeroPaddedFilemode=ignore",
    "fetch.fsck.badFilemode=ignore",
];

/// Variables that are set for `git`. All other variables whose name begins with `GIT_` are removed, except [`KEPT`].
const ENVIRONMENT: [(&str, &str); 14] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("HOME", "/dev/null"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

/// Variables of `git` that say how it is installed and which certificates it trusts.
const KEPT: [&str; 3] = ["GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"];

/// Why a `git` command failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git`.
    #[error("git isn't installed, or not on the PATH; install it, for example with `apt-get install git`")]
    Missing,
    /// `git` could not be started.
    #[error("cannot start git: {0}")]
    Start(#[from] io::Error),
    #[error("`git {command}` failed ({status}): {errors}")]
    Failed {
        command: String,
        /// Its exit status in words.
        status: String,
        /// The end of its standard error.
        errors: String,
    },
    #[error("`git {command}` took longer than {limit_s} s")]
    TimedOut {
        command: String,
        /// Its time, in seconds.
        limit_s: u64,
    },
    #[error("`git {command}` was stopped")]
    Stopped { command: String },
    /// Its output was too long.
    #[error("the output of `git {command}` is longer than {max_bytes} bytes")]
    TooMuchOutput { command: String, max_bytes: usize },
}

words! {
    /// How a repository is reached.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Transport {
        /// A folder of this machine.
        File => "file",
        /// HTTP without encryption.
        Http => "http",
        /// HTTP over TLS.
        Https => "https",
        Ssh => "ssh",
    }
    fn name;
}

/// One `git` command. It has no input.
#[derive(Debug)]
pub struct Git {
    dir: PathBuf,
    options: Vec<String>,
    args: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    limit: Duration,
    max_output_bytes: usize,
    max_file_bytes: Option<u64>,
}

impl Git {
    /// A command in `dir`, which may lie inside a repository.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            options: OPTIONS.map(str::to_owned).to_vec(),
            args: Vec::new(),
            environment: Vec::new(),
            limit: LIMIT,
            max_output_bytes: MAX_GIT_OUTPUT_BYTES,
            max_file_bytes: None,
        }
    }

    /// A command in no repository: one around `dir` isn't looked for, and its configuration isn't read.
    pub fn outside_repositories(dir: &Path) -> Self {
        Self::new(dir).env("GIT_DIR", "/dev/null")
    }

    /// A command in the work tree `dir` of the repository `dir/.git`. No repository around it is looked for.
    pub fn in_repository(dir: &Path) -> Self {
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        Self::new(&dir).env("GIT_DIR", dir.join(".git")).env("GIT_WORK_TREE", &dir)
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets a key of its configuration, as `key=value`. Everyone on this machine can read it in the list of processes.
    #[must_use]
    pub fn config(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Uses another index than the repository's own.
    #[must_use]
    pub fn index_file(self, path: &Path) -> Self {
        self.env("GIT_INDEX_FILE", path)
    }

    /// Who makes a commit, as author and committer, and when: RFC 3339 or seconds since 1970 after `@`.
    #[must_use]
    pub fn identity(mut self, name: &str, email: &str, date: &str) -> Self {
        for role in ["AUTHOR", "COMMITTER"] {
            for (part, value) in [("NAME", name), ("EMAIL", email), ("DATE", date)] {
                self = self.env(format!("GIT_{role}_{part}"), value);
            }
        }
        self
    }

    /// Allows a transport. What is received is checked.
    #[must_use]
    pub fn allow(mut self, transport: Transport) -> Self {
        self.options.push(format!("protocol.{}.allow=always", transport.name()));
        self.options.extend(RECEIVE_OPTIONS.map(str::to_owned));
        self
    }

    /// Sets its time. Default: 5 minutes.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the bound of its output. Default: [`MAX_GIT_OUTPUT_BYTES`](MAX_GIT_OUTPUT_BYTES).
    #[must_use]
    pub fn max_output_bytes(mut self, max: usize) -> Self {
        self.max_output_bytes = max;
        self
    }

    /// Bounds each file that it writes. Default: none.
    #[must_use]
    pub fn max_file_bytes(mut self, max: u64) -> Self {
        self.max_file_bytes = Some(max);
        self
    }

    /// Runs it until it ends or `stop`, which is asked at least every 50 ms, says `true`, and returns its standard output. Blocks.
    ///
    /// # Errors
    /// If there is no `git`, or it fails, is stopped, or passes a bound.
    pub fn run(self, stop: &dyn Fn() -> bool) -> Result<Vec<u8>, GitError> {
        let bounds = ToolBounds { limit: self.limit, max_output_bytes: self.max_output_bytes, stop };
        let command = self.command();
        let dir = self.dir.clone();
        let outcome = self.tool().run_whole(&bounds).map_err(|error| match error.kind() {
            // A missing folder is reported in the same way.
            io::ErrorKind::NotFound if dir.is_dir() => GitError::Missing,
            _ => GitError::Start(error),
        })?;
        match outcome.end {
            ToolEnd::Exited(status) if status.success() => Ok(outcome.output),
            ToolEnd::Exited(status) => {
                let errors = outcome.errors.trim().to_owned();
                Err(GitError::Failed { command, status: status.to_string(), errors })
            }
            ToolEnd::TimedOut => Err(GitError::TimedOut { command, limit_s: bounds.limit.as_secs() }),
            ToolEnd::Stopped => Err(GitError::Stopped { command }),
            ToolEnd::TooMuchOutput => Err(GitError::TooMuchOutput { command, max_bytes: bounds.max_output_bytes }),
        }
    }

    /// The same, without a way to stop it, and its output as text without white space around it.
    ///
    /// # Errors
    /// As for [`Self::run`]. Bytes that aren't UTF-8 are replaced.
    pub fn text(self) -> Result<String, GitError> {
        self.run(&|| false).map(|output| String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Its arguments in one line, for errors.
    fn command(&self) -> String {
        let args: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy()).collect();
        args.join(" ")
    }

    fn tool(self) -> Tool {
        let mut tool = Tool::new("git").current_dir(&self.dir);
        for (name, _) in std::env::vars_os() {
            let is_of_git = name.to_string_lossy().starts_with("GIT_");
            if is_of_git && !KEPT.iter().any(|kept| name == *kept) {
                tool = tool.env_remove(name);
            }
        }
        for (name, value) in ENVIRONMENT {
            tool = tool.env(name, value);
        }
        for (name, value) in &self.environment {
            tool = tool.env(name, value);
        }
        for option in &self.options {
            tool = tool.args(["-c", option]);
        }
        if let Some(max) = self.max_file_bytes {
            tool = tool.max_file_bytes(max);
        }
        tool.args(&self.args)
    }
}

/// Runs `git` with `args` in `dir` and returns its standard output without white space around it. Folders of this machine are allowed as
/// remotes. Blocks.
///
/// # Errors
/// If `git` can't be started, exits with an error, or takes longer than 5 minutes.
pub fn run_git(dir: &Path, args: &[&str]) -> Result<String, GitError> {
    Git::new(dir).config("protocol.file.allow=always").args(args).text()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn commit(dir: &Path) -> Git {
        Git::in_repository(dir)
            .identity("t", "t@example.org", "2026-01-21T10:00:00Z")
            .args(["commit", "--quiet", "--allow-empty", "--message", "first"])
    }

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn hooks_do_not_run_and_failures_name_the_command() {
        let dir = tempfile::tempdir().unwrap();
        run_git(dir.path(), &["init", "--quiet"]).unwrap();
        script(&dir.path().join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
        commit(dir.path()).text().unwrap();
        assert_eq!(run_git(dir.path(), &["symbolic-ref", "HEAD"]).unwrap(), "refs/heads/main");
        let error = run_git(dir.path(), &["show", "none"]).unwrap_err().to_string();
        assert!(error.starts_with("`git show none` failed (exit status: 128): fatal:"), "{error}");
    }

    #[test]
    fn equal_commits_have_equal_identifiers() {
        let made = [(), ()].map(|()| {
            let dir = tempfile::tempdir().unwrap();
            run_git(dir.path(), &["init", "--quiet"]).unwrap();
            commit(dir.path()).text().unwrap();
            run_git(dir.path(), &["log", "-1", "--format=%H %cI %an"]).unwrap()
        });
        assert_eq!(made[0], made[1]);
        assert!(made[0].ends_with(" 2026-01-21T10:00:00Z t") || made[0].ends_with(" 2026-01-21T10:00:00+00:00 t"));
    }

    #[test]
    fn the_repository_around_a_folder_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        run_git(dir.path(), &["init", "--quiet"]).unwrap();
        let inner = dir.path().join("inner");
        fs::create_dir(&inner).unwrap();
        assert!(run_git(&inner, &["rev-parse", "--git-dir"]).is_ok());
        for git in [Git::in_repository(&inner), Git::outside_repositories(&inner)] {
            let error = git.args(["rev-parse", "--git-dir"]).text().unwrap_err();
            assert!(error.to_string().contains("not a git repository"), "{error}");
        }
    }

    #[test]
    fn a_missing_git_and_a_missing_folder_are_different_errors() {
        let dir = tempfile::tempdir().unwrap();
        let error = Git::new(dir.path()).env("PATH", dir.path()).args(["version"]).text().unwrap_err();
        assert!(matches!(error, GitError::Missing) && error.to_string().contains("apt-get install git"), "{error}");
        let error = Git::new(&dir.path().join("none")).args(["version"]).text().unwrap_err();
        assert!(matches!(error, GitError::Start(_)), "{error}");
    }

    #[test]
    fn transports_are_closed_unless_they_are_allowed() {
        let dir = tempfile::tempdir().unwrap();
        run_git(dir.path(), &["init", "--quiet"]).unwrap();
        commit(dir.path()).text().unwrap();
        let here = dir.path().to_str().unwrap().to_owned();
        let list = |url: &str| Git::outside_repositories(dir.path()).args(["ls-remote", "--", url]);
        for url in [here.as_str(), "https://127.0.0.1:1/x", "ssh://127.0.0.1:1/x", "ext::true", "git://127.0.0.1:1/x"] {
            let error = list(url).text().unwrap_err().to_string();
            assert!(error.contains("not allowed"), "{url}: {error}");
        }
        assert!(list(&here).allow(Transport::File).text().unwrap().contains("refs/heads/main"));
        // The program of a helper would run, if its transport were allowed.
        let mark = dir.path().join("ran");
        let url = format!("ext::touch {}", mark.display());
        assert!(list(&url).allow(Transport::File).text().is_err());
        assert!(!mark.exists());
    }

    #[test]
    fn programs_that_a_repository_or_the_environment_names_do_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let repository = dir.path().join("r");
        let mark = dir.path().join("ran");
        fs::create_dir(&repository).unwrap();
        run_git(&repository, &["init", "--quiet"]).unwrap();
        let program = dir.path().join("program");
        script(&program, &format!("#!/bin/sh\ntouch {}\n", mark.display()));
        let program = program.to_str().unwrap();
        for key in ["core.fsmonitor", "core.pager", "diff.external", "core.askPass", "core.editor", "gpg.program"] {
            run_git(&repository, &["config", key, program]).unwrap();
        }
        fs::write(repository.join("f"), "1\n").unwrap();
        symlink("/etc/passwd", repository.join("link")).unwrap();
        run_git(&repository, &["add", "."]).unwrap();
        commit(&repository).text().unwrap();
        fs::write(repository.join("f"), "2\n").unwrap();
        let diff = Git::in_repository(&repository).args(["diff", "--no-ext-diff"]).text().unwrap();
        assert!(diff.contains("-1\n+2"), "{diff}");
        Git::in_repository(&repository).args(["status", "--porcelain"]).text().unwrap();
        assert!(!mark.exists(), "a program of the repository ran");
    }

    #[test]
    fn outputs_and_times_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let version = || Git::new(dir.path()).args(["version"]);
        let error = version().max_output_bytes(3).text().unwrap_err();
        assert!(matches!(error, GitError::TooMuchOutput { max_bytes: 3, .. }), "{error}");
        assert!(matches!(version().run(&|| true), Err(GitError::Stopped { .. })));
        assert!(matches!(version().limit(Duration::ZERO).run(&|| false), Err(GitError::TimedOut { .. })));
    }
}
