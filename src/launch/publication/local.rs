//! The commit service `local`: a branch in the site's repository, where that is a folder of this machine.
//!
//! Invariants: no hook of the repository runs, and no program that its configuration names; its checked-out branch and its work tree stay as
//! they are; a branch that exists is never moved.

use codeyard_process::git::{Git, GitError, Transport};
use codeyard_runs::stage::{StageError, StopFlag};

use super::commit::Change;
use super::{PublishRequest, branch_exists, branch_of, service_error};
use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::pull_request::PullRequest;
use crate::repository::git_errors::{in_words, of_local};
use crate::repository::repository_address::{RepositoryAddress, shown};

/// How the other side is started: without its hooks, without the programs of its configuration, and without a dialogue about its owner.
const RECEIVER: &str = "--receive-pack=git -c core.hooksPath=/dev/null -c safe.directory='*' -c core.fsmonitor=false \
                        -c core.alternateRefsCommand=true -c receive.autogc=false receive-pack";

pub(super) fn publish(
    request: &PublishRequest<'_>,
    change: &Change,
    stop: &StopFlag,
) -> Result<PullRequest, StageError> {
    let site = request.config.site.as_ref();
    let url = site.map(|site| site.repo_url.as_str()).unwrap_or_default();
    let settings = request.checkout_settings;
    // It was allowed when the run was started; now it is the service that fails.
    let address = RepositoryAddress::resolve(url, &settings.rewrites, &settings.sources).map_err(|mut error| {
        error.code = "COMMIT_SERVICE_ERROR";
        error
    })?;
    if !address.target().starts_with('/') {
        let message = format!(
            "the commit service `local` writes to repositories of this machine, and {} is none; use the commit service `github` or \
             `http` in the run's configuration",
            shown(url)
        );
        return Err(service_error(message, "remote_repository"));
    }
    let branch = branch_of(request);
    let name = format!("refs/heads/{branch}");
    let refspec = format!("{}:{name}", change.commit);
    match remote_commit(request, &address, &name, stop)? {
        Some(found) if found == change.commit => {}
        Some(found) => return Err(branch_exists(&branch, &found)),
        None => {
            let lease = format!("--force-with-lease={name}:");
            let git = Git::in_repository(request.site).allow(Transport::File);
            let git = git.args([
                "push",
                "--quiet",
                "--no-verify",
                "--no-follow-tags",
                RECEIVER,
                &lease,
                "--",
                address.target(),
                &refspec,
            ]);
            git.run(&|| stop.is_set()).map_err(|error| refused(&error, &address))?;
        }
    }
    let base = request.checkout.branch.clone().unwrap_or_else(|| request.checkout.commit.clone());
    let shown_url = if url.starts_with('/') { format!("file://{url}") } else { url.to_owned() };
    Ok(PullRequest {
        schema_version: SCHEMA_VERSION.into(),
        service: "local".into(),
        pr_url: format!("{shown_url}#{branch}"),
        number: None,
        head: branch.clone(),
        branch,
        base,
        commit_sha: change.commit.clone(),
        title: change.title.clone(),
        body: change.body.clone(),
        diff: change.diff.0.clone(),
        is_cut: change.diff.1,
    })
}

/// The commit that a branch of the repository has; `None` if there is no such branch.
fn remote_commit(
    request: &PublishRequest<'_>,
    address: &RepositoryAddress,
    name: &str,
    stop: &StopFlag,
) -> Result<Option<String>, StageError> {
    let git = address.contact(Git::in_repository(request.site), "ls-remote", &["--quiet"], &[name]);
    let listing = git.run(&|| stop.is_set()).map_err(|error| refused(&error, address))?;
    let listing = String::from_utf8_lossy(&listing).into_owned();
    let of_name = listing.lines().find_map(|line| line.split_once('\t').filter(|(_, found)| *found == name));
    Ok(of_name.map(|(commit, _)| commit.to_owned()))
}

fn refused(error: &GitError, address: &RepositoryAddress) -> StageError {
    match error {
        GitError::Stopped { .. } | GitError::Missing => of_local(error),
        _ => {
            let why = in_words(error, Some(address));
            let message =
                format!("the site's repository doesn't take the branch: {why}; check its permissions, then try again");
            service_error(message, "push_failed").retryable()
        }
    }
}
