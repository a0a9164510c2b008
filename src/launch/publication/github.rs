//! The commit service `github`: GitHub's REST API, or one of the same form at another address.
//!
//! Invariants: before a branch or a pull request is made it is looked for, and again after each answer that was lost, so a repetition makes no second
//! one; git's names of contents and trees are compared with ours, so the service has exactly what was validated; an existing branch with
//! anything else is never moved. Source: `docs/internals/reference/commit-services.md#github`.

use codeyard_base::base64_text;
use codeyard_runs::stage::{StageError, StopFlag};
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};

use super::changed_files::{changed_files, tree_of};
use super::commit::{AUTHOR, Change, EMAIL, date};
use super::service::{Service, ServiceRequest, ServiceResponse};
use super::{PublishRequest, branch_exists, branch_of, is_commit, is_web_address, service_error};
use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::pull_request::PullRequest;

/// Characters of a pull request's description that the commit service `github` takes.
const MAX_PULL_REQUEST_CHARS: usize = 60_000;

struct Publication<'p> {
    request: &'p PublishRequest<'p>,
    change: &'p Change,
    service: &'p Service<'p>,
    stop: &'p StopFlag,
    owner: String,
    /// `/repos/OWNER/NAME`.
    repository: String,
    branch: String,
    /// The tree that the commit has.
    tree: String,
}

/// A pull request that exists.
struct Opened {
    url: String,
    number: Option<u64>,
}

pub(super) fn publish(
    request: &PublishRequest<'_>,
    change: &Change,
    service: &Service<'_>,
    stop: &StopFlag,
) -> Result<PullRequest, StageError> {
    let url = request.config.site.as_ref().map(|site| site.repo_url.as_str()).unwrap_or_default();
    let (owner, name) = owner_and_name(url).ok_or_else(|| {
        let message = "the address of the site's repository doesn't end with OWNER/NAME; correct `site.repo_url` in the run's \
                       configuration";
        service_error(message, "invalid_repository")
    })?;
    let publication = Publication {
        request,
        change,
        service,
        stop,
        repository: format!("/repos/{owner}/{name}"),
        owner,
        branch: branch_of(request),
        tree: tree_of(request, &change.commit, stop)?,
    };
    let base = publication.base()?;
    let commit_sha = publication.branch()?;
    let opened = publication.pull_request(&base)?;
    Ok(PullRequest {
        schema_version: SCHEMA_VERSION.into(),
        service: "github".into(),
        pr_url: opened.url,
        number: opened.number,
        head: publication.branch.clone(),
        branch: publication.branch,
        base,
        commit_sha,
        title: change.title.clone(),
        body: change.body.clone(),
        diff: change.diff.0.clone(),
        is_cut: change.diff.1,
    })
}

impl Publication<'_> {
    /// The branch that the pull request is for.
    fn base(&self) -> Result<String, StageError> {
        if let Some(branch) = &self.request.checkout.branch {
            return Ok(branch.clone());
        }
        let response = self.wanted(self.service.get(&self.repository)?, "show the repository")?;
        let name = response.text("/default_branch").filter(|name| !name.is_empty());
        name.map(str::to_owned).ok_or_else(|| self.service.unusable("`default_branch` of the repository"))
    }

    /// Makes the branch if it doesn't exist, and returns its commit.
    fn branch(&self) -> Result<String, StageError> {
        if let Some(commit) = self.existing_branch()? {
            return Ok(commit);
        }
        let commit = self.commit()?;
        let name = format!("refs/heads/{}", self.branch);
        let made =
            self.make("/git/refs", &json!({"ref": name, "sha": commit}), "make the branch", || self.existing_branch())?;
        match made {
            Made::Now(_) => Ok(commit),
            Made::Before(found) => Ok(found),
        }
    }

    /// The commit of the branch, if it is the one that is published.
    fn existing_branch(&self) -> Result<Option<String>, StageError> {
        let response = self.get(&format!("/git/ref/heads/{}", self.branch))?;
        if response.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let response = self.wanted(response, "show the branch")?;
        let commit = response.text("/object/sha").filter(|sha| is_commit(sha));
        let commit = commit.ok_or_else(|| self.service.unusable("`object.sha` of the branch"))?;
        let found = self.wanted(self.get(&format!("/git/commits/{commit}"))?, "show the commit of the branch")?;
        let parents: Vec<&str> = found.body["parents"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|parent| parent["sha"].as_str())
            .collect();
        if found.text("/tree/sha") == Some(&self.tree) && parents == [self.request.checkout.commit.as_str()] {
            Ok(Some(commit.to_owned()))
        } else {
            Err(branch_exists(&self.branch, commit))
        }
    }

    /// Makes the commit. Contents, trees and commits are named by what they are, so a repetition makes nothing more.
    fn commit(&self) -> Result<String, StageError> {
        let mut entries = Vec::new();
        for file in changed_files(self.request, self.change, self.stop)? {
            let Some(new) = file.new else {
                entries.push(json!({"path": file.path, "mode": "100644", "type": "blob", "sha": Value::Null}));
                continue;
            };
            let content = json!({"content": base64_text::encode(&new.bytes), "encoding": "base64"});
            self.object("/git/blobs", &content, "take a file", Some(&new.blob))?;
            entries.push(json!({"path": file.path, "mode": new.mode, "type": "blob", "sha": new.blob}));
        }
        let parent = &self.request.checkout.commit;
        let base_tree = tree_of(self.request, parent, self.stop)?;
        let tree = json!({"base_tree": base_tree, "tree": entries});
        self.object("/git/trees", &tree, "take the files", Some(&self.tree))?;
        let person = json!({"name": AUTHOR, "email": EMAIL, "date": date(self.request)});
        let commit = json!({
            "message": self.change.message,
            "tree": self.tree,
            "parents": [parent],
            "author": person,
            "committer": person,
        });
        self.object("/git/commits", &commit, "make the commit", None)
    }

    /// Makes an object of git and returns its name, which must be `expected` if that is known.
    fn object(&self, path: &str, body: &Value, doing: &str, expected: Option<&str>) -> Result<String, StageError> {
        let response = self.service.post(&format!("{}{path}", self.repository), body, None)?;
        let response = self.wanted(response, doing)?;
        let name =
            response.text("/sha").filter(|sha| is_commit(sha) && expected.is_none_or(|expected| expected == *sha));
        name.map(str::to_owned).ok_or_else(|| self.service.unusable(&format!("`sha` of {path}")))
    }

    /// Opens the pull request if it doesn't exist.
    fn pull_request(&self, base: &str) -> Result<Opened, StageError> {
        if let Some(opened) = self.existing_pull_request(base)? {
            return Ok(opened);
        }
        let body = json!({"title": self.change.title, "head": self.branch, "base": base, "body": shortened(&self.change.body)});
        let made = self.make("/pulls", &body, "open the pull request", || self.existing_pull_request(base))?;
        match made {
            Made::Now(response) => self.opened(&response.body),
            Made::Before(opened) => Ok(opened),
        }
    }

    /// The pull request from the branch, in whatever state.
    fn existing_pull_request(&self, base: &str) -> Result<Option<Opened>, StageError> {
        let head = format!("{}:{}", self.owner, self.branch);
        let wanted = [("head", head.as_str()), ("base", base), ("state", "all")];
        let url = Url::parse_with_params("http://localhost", wanted);
        let query = url.ok().and_then(|url| url.query().map(str::to_owned)).unwrap_or_default();
        let response = self.wanted(self.get(&format!("/pulls?{query}"))?, "list pull requests")?;
        let list = response.body.as_array().ok_or_else(|| self.service.unusable("the list of pull requests"))?;
        // A service that ignores the filter would list others.
        let own = list.iter().find(|pull| pull["head"]["ref"] == self.branch.as_str());
        own.map(|pull| self.opened(pull)).transpose()
    }

    fn opened(&self, pull: &Value) -> Result<Opened, StageError> {
        let url = pull["html_url"].as_str().filter(|url| is_web_address(url));
        let url = url.ok_or_else(|| self.service.unusable("`html_url` of the pull request"))?;
        Ok(Opened { url: url.to_owned(), number: pull["number"].as_u64() })
    }

    /// Makes something that exists once. After each answer that was lost or says that it exists, it is looked for.
    fn make<T>(
        &self,
        path: &str,
        body: &Value,
        doing: &str,
        look: impl Fn() -> Result<Option<T>, StageError>,
    ) -> Result<Made<T>, StageError> {
        let path = format!("{}{path}", self.repository);
        let mut tries = self.service.tries();
        loop {
            let request = ServiceRequest { method: Method::POST, path: &path, body: Some(body), key: None };
            let sent = self.service.send_once(&request);
            if let Ok(response) = &sent
                && response.status.is_success()
            {
                return Ok(Made::Now(response.clone()));
            }
            let is_again = tries.again(&sent, self.stop)?;
            let may_exist = match &sent {
                Ok(response) => {
                    is_again || response.status.is_server_error() || response.status == StatusCode::UNPROCESSABLE_ENTITY
                }
                Err(_) => !self.stop.is_set(),
            };
            if may_exist && let Some(found) = look()? {
                return Ok(Made::Before(found));
            }
            if !is_again {
                let response = sent.map_err(super::service::NoResponse::into_error)?;
                return Err(self.service.refusal(&response, doing));
            }
        }
    }

    fn get(&self, path: &str) -> Result<ServiceResponse, StageError> {
        self.service.get(&format!("{}{path}", self.repository))
    }

    fn wanted(&self, response: ServiceResponse, doing: &str) -> Result<ServiceResponse, StageError> {
        if response.status.is_success() { Ok(response) } else { Err(self.service.refusal(&response, doing)) }
    }
}

enum Made<T> {
    /// By the request.
    Now(ServiceResponse),
    /// By an earlier one.
    Before(T),
}

/// The last two components of a repository's address.
fn owner_and_name(url: &str) -> Option<(String, String)> {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut parts = path.rsplit(['/', ':']);
    let name = parts.next()?;
    let owner = parts.next()?;
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    // The host alone is no owner.
    parts.next()?;
    (is_plain(owner) && is_plain(name)).then(|| (owner.to_owned(), name.to_owned()))
}

/// A description that the service takes: whole lines.
fn shortened(body: &str) -> String {
    const REST: &str = "\n\nThe rest is left out; the artifact pr.json has it.\n";
    if body.chars().count() <= MAX_PULL_REQUEST_CHARS {
        return body.to_owned();
    }
    let kept: String = body.chars().take(MAX_PULL_REQUEST_CHARS - REST.len()).collect();
    let end = kept.rfind('\n').unwrap_or(kept.len());
    format!("{}{REST}", &kept[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_named_by_the_end_of_their_address() {
        for (url, expected) in [
            ("https://github.com/acme/site", Some(("acme", "site"))),
            ("https://github.com/acme/site.git", Some(("acme", "site"))),
            ("https://git.example.org/forge/acme/my.site/", Some(("acme", "my.site"))),
            ("ssh://git@github.com/acme/site.git", Some(("acme", "site"))),
            ("git@github.com:acme/site.git", Some(("acme", "site"))),
            ("https://github.com/site", None),
            ("https://github.com/acme/..", None),
            ("https://github.com/ac%2fme/site", None),
            ("site", None),
        ] {
            let expected = expected.map(|(owner, name)| (owner.to_owned(), name.to_owned()));
            assert_eq!(owner_and_name(url), expected, "{url}");
        }
    }

    #[test]
    fn long_descriptions_end_with_a_whole_line() {
        assert_eq!(shortened("a\n"), "a\n");
        let short = shortened(&"äbc\n".repeat(MAX_PULL_REQUEST_CHARS));
        assert!(short.chars().count() <= MAX_PULL_REQUEST_CHARS && short.contains("äbc\n\nThe rest is left out"));
    }
}
