//! The commit of a run: made in the clone of the site, by plumbing commands of git, with an index of its own.
//!
//! Invariants: the same working copy makes the same commit on every day and every machine; a working copy with a file that the run may not write makes
//! none.

use std::fs;

use codeyard_process::git::Git;
use codeyard_runs::stage::{StageError, StopFlag};

use super::{PublishRequest, pull_request_text, service_error};
use crate::artifacts::patch::DiffReport;
use crate::repository::git_errors::{of_io, of_local};
use crate::site::linker;

/// Who makes the commit.
pub(super) const AUTHOR: &str = "codeyard";
/// The address of whoever makes it.
pub(super) const EMAIL: &str = "codeyard@localhost";

/// What is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) commit: String,
    pub(super) message: String,
    /// The title of the commit and of the pull request.
    pub(super) title: String,
    /// The text of the pull request.
    pub(super) body: String,
    /// The unified diff of the working copy that was committed, and whether it lacks files.
    pub(super) diff: (String, bool),
}

/// Makes the commit.
///
/// # Errors
/// If there is nothing to publish, or a file isn't allowed, or a budget is passed.
pub(super) fn prepare(request: &PublishRequest<'_>, stop: &StopFlag) -> Result<Change, StageError> {
    let base = &request.checkout.commit;
    let diff = linker::diff_report(request.site, base, stop)?;
    check(request, &diff)?;
    let title = pull_request_text::title(request);
    let body = pull_request_text::body(request, &diff);
    let index = tempfile::Builder::new().prefix("codeyard-commit").tempfile_in(request.site.join(".git"));
    let index = index.map_err(|error| of_io("making a commit", &error))?.into_temp_path();
    fs::remove_file(&index).map_err(|error| of_io("making a commit", &error))?;
    let run = |arguments: &[&str]| {
        let git = Git::in_repository(request.site).index_file(&index).args(arguments);
        let git = git.identity(AUTHOR, EMAIL, date(request));
        let output = git.run(&|| stop.is_set()).map_err(|error| of_local(&error))?;
        Ok::<String, StageError>(String::from_utf8_lossy(&output).trim().to_owned())
    };
    run(&["read-tree", base])?;
    run(&["add", "--all", "--force", "--", "."])?;
    let tree = run(&["write-tree"])?;
    // What has come into the working copy since it was compared isn't published.
    let listing = run(&["diff-tree", "-r", "--no-renames", "--name-only", "-z", base, &tree])?;
    let compared = |path: &&str| diff.files.iter().any(|file| file.path == **path);
    if let Some(path) = listing.split('\0').filter(|path| !path.is_empty()).find(|path| !compared(path)) {
        let message =
            format!("the working copy has changed meanwhile ({path}); call launch_validate, then launch_open_pr again");
        return Err(service_error(message, "changed_since_validation").retryable());
    }
    let message = pull_request_text::commit_message(request);
    let commit = run(&["commit-tree", &tree, "-p", base, "-m", &message])?;
    // The branch exists only where it is published; this keeps git from removing the commit.
    run(&["update-ref", "refs/codeyard/result", &commit])?;
    Ok(Change { commit, message, title, body, diff: (diff.diff, diff.is_cut) })
}

/// The later date of the two pinned commits.
pub(super) fn date<'r>(request: &'r PublishRequest<'_>) -> &'r str {
    // RFC 3339 in UTC sorts by time.
    request.checkout.commit_date.as_str().max(&request.product_checkout.commit_date)
}

fn check(request: &PublishRequest<'_>, diff: &DiffReport) -> Result<(), StageError> {
    if diff.files.is_empty() {
        return Err(service_error(
            "the working copy is the same as the site, so there is nothing to publish",
            "nothing_to_publish",
        ));
    }
    let is_refused = |path: &&str| request.allowed.resolve(request.site, path).is_err();
    let refused: Vec<&str> = diff.files.iter().map(|file| file.path.as_str()).filter(is_refused).collect();
    if let Some(first) = refused.first() {
        let message = format!(
            "the working copy changes {} files that the run may not write, such as {first}; take the changes back, or start another \
             run that allows them",
            refused.len()
        );
        return Err(StageError::new("ALLOWED_PATHS_VIOLATION", message).with("paths", refused));
    }
    let max = request.config.budgets.max_files_changed;
    if diff.files.len() > max {
        let message =
            format!("the working copy changes {} files, but budgets.max_files_changed is {max}", diff.files.len());
        return Err(service_error(message, "budget").with("budget", "max_files_changed"));
    }
    Ok(())
}
