//! The commit service `http`: two requests, one for the commit and one for the pull request.
//!
//! Invariants: each request has a key that depends on the run and on what is published, so that a repetition, after a lost answer or a crash, is
//! the same request to the service; an answer is believed only if it has the described form. Source:
//! `docs/internals/reference/commit-services.md#http`.

use codeyard_base::base64_text;
use codeyard_base::digest::sha256hex;
use codeyard_runs::stage::{StageError, StopFlag};
use serde_json::{Value, json};

use super::changed_files::{ChangedFile, changed_files};
use super::commit::{AUTHOR, Change, EMAIL, date};
use super::service::{Service, ServiceResponse};
use super::{PublishRequest, branch_of, is_commit, is_web_address, service_error};
use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::pull_request::PullRequest;

pub(super) fn publish(
    request: &PublishRequest<'_>,
    change: &Change,
    service: &Service<'_>,
    stop: &StopFlag,
) -> Result<PullRequest, StageError> {
    let branch = branch_of(request);
    let repository = request.config.site.as_ref().map(|site| site.repo_url.as_str()).unwrap_or_default();
    let base = request.checkout.branch.clone().ok_or_else(|| {
        let message = "the site is pinned to a commit without a branch, so a pull request has no target; name a branch in \
                       `site.ref` of the run's configuration";
        service_error(message, "no_base_branch")
    })?;
    let files: Vec<Value> = changed_files(request, change, stop)?.iter().map(file).collect();
    let body = json!({
        "schema_version": SCHEMA_VERSION,
        "run_id": request.run,
        "repository": repository,
        "base": {"branch": base, "commit_sha": request.checkout.commit},
        "branch": branch,
        "message": change.message,
        "author": {"name": AUTHOR, "email": EMAIL, "date": date(request)},
        "files": files,
    });
    let response = service.post("/v1/commit", &body, Some(&key(request, "commit", &change.commit)))?;
    let committed = accepted(service, response, "make the commit")?;
    let is_same_branch = committed.text("/branch").is_none_or(|named| named == branch);
    let commit_sha = committed.text("/commit_sha").filter(|sha| is_commit(sha) && is_same_branch);
    let commit_sha = commit_sha.ok_or_else(|| service.unusable("`commit_sha` or `branch` of the commit"))?.to_owned();

    let body = json!({
        "schema_version": SCHEMA_VERSION,
        "run_id": request.run,
        "repository": repository,
        "base": base,
        "branch": branch,
        "commit_sha": commit_sha,
        "title": change.title,
        "body": change.body,
    });
    let response = service.post("/v1/open_pr", &body, Some(&key(request, "open_pr", &commit_sha)))?;
    let opened = accepted(service, response, "open the pull request")?;
    let pr_url = opened.text("/pr_url").filter(|url| is_web_address(url));
    let pr_url = pr_url.ok_or_else(|| service.unusable("`pr_url` of the pull request"))?.to_owned();
    Ok(PullRequest {
        schema_version: SCHEMA_VERSION.into(),
        service: "http".into(),
        pr_url,
        number: opened.body["number"].as_u64(),
        head: branch.clone(),
        branch,
        base,
        commit_sha,
        title: change.title.clone(),
        body: change.body.clone(),
        diff: change.diff.0.clone(),
        is_cut: change.diff.1,
    })
}

/// A file as the request has it.
fn file(file: &ChangedFile) -> Value {
    let Some(new) = &file.new else { return json!({"path": file.path, "deleted": true}) };
    let (encoding, content) = match std::str::from_utf8(&new.bytes) {
        Ok(text) => ("utf-8", text.to_owned()),
        Err(_) => ("base64", base64_text::encode(&new.bytes)),
    };
    json!({"path": file.path, "mode": new.mode, "encoding": encoding, "content": content})
}

/// The key of a request: the same for each repetition of it.
fn key(request: &PublishRequest<'_>, what: &str, commit: &str) -> String {
    sha256hex(format!("{}|{what}|{commit}", request.run).as_bytes())
}

fn accepted(service: &Service<'_>, response: ServiceResponse, doing: &str) -> Result<ServiceResponse, StageError> {
    if response.status.is_success() { Ok(response) } else { Err(service.refusal(&response, doing)) }
}
