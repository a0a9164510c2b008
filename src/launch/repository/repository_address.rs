//! Where a repository is cloned from: the address that a run names, checked against what the operator allows, and rewritten.
//!
//! It contacts nothing. Invariants: an address is compared by whole components, after links in a local one were resolved; no address holds
//! credentials; what git gets is an absolute path or one of the URLs with a known transport, so git never reads an option or a program from it.

use std::path::{Component, Path, PathBuf};

use codeyard_model::uri::percent_decode_strictly;
use codeyard_process::git::{Git, Transport};
use codeyard_runs::stage::StageError;

/// Length of the address of a repository, in bytes.
const MAX_REPOSITORY_URL_BYTES: usize = 2_048;

/// An address that is replaced before a repository is cloned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlRewrite {
    /// The beginning that is replaced.
    pub from: String,
    pub to: String,
}

/// An address that may be cloned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAddress {
    /// The address as the run names it. Messages show this one.
    named: String,
    /// The address that git gets.
    target: String,
    transport: Transport,
}

/// An address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// A URL or an `ssh` address, in its normal form.
    Remote(Transport, String),
    /// A folder of this machine.
    Local(PathBuf),
}

impl RepositoryAddress {
    /// The address behind `named`: the longest of `rewrites` that fits is applied; without one, an entry of `sources` must allow it.
    ///
    /// # Errors
    /// `INVALID_INPUT` with a `reason`: `invalid_repository_url`, `source_not_allowed` or `repository_not_found`.
    pub fn resolve(named: &str, rewrites: &[UrlRewrite], sources: &[String]) -> Result<Self, StageError> {
        let form = Form::parse(named).map_err(|fault| {
            StageError::new("INVALID_INPUT", format!("{} is no repository that can be cloned: {fault}", shown(named)))
                .with("reason", "invalid_repository_url")
        })?;
        let fitting = rewrites.iter().filter_map(|rewrite| Some((rewrite, form.after(&rewrite.from)?)));
        let (form, is_rewritten) = match fitting.max_by_key(|(rewrite, _)| rewrite.from.len()) {
            Some((rewrite, rest)) => (Form::rewritten(&rewrite.to, &rest).ok_or_else(|| not_allowed(named))?, true),
            None => (form, false),
        };
        if !is_rewritten && !sources.iter().any(|source| form.after(source).is_some()) {
            return Err(not_allowed(named));
        }
        match form {
            Form::Remote(transport, target) => Ok(Self { named: named.to_owned(), target, transport }),
            Form::Local(path) => {
                let allowed = if is_rewritten { &[][..] } else { sources };
                let target = real_folder(&path, named, allowed)?;
                Ok(Self { named: named.to_owned(), target, transport: Transport::File })
            }
        }
    }

    /// The address as the run names it.
    pub fn named(&self) -> &str {
        &self.named
    }

    /// The address that git gets. Not for messages: it may be a folder of this machine.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// `command` with its arguments and the address: the one transport that it needs is allowed, and a repository of another user is read too.
    pub(crate) fn contact(&self, git: Git, command: &str, arguments: &[&str], rest: &[&str]) -> Git {
        let git = git.allow(self.transport).args([command]).args(arguments);
        let git = match self.transport {
            // The configuration of this process doesn't reach the one that reads the other repository.
            Transport::File => {
                git.args(["--upload-pack=git -c safe.directory='*' -c core.fsmonitor=false upload-pack"])
            }
            _ => git,
        };
        git.args(["--", &self.target]).args(rest)
    }

    /// `text` without the address that git gets.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&self.target, &self.named)
    }
}

impl Form {
    /// `text` taken apart, or what is wrong with it.
    fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_REPOSITORY_URL_BYTES {
            return Err(format!("it is longer than {MAX_REPOSITORY_URL_BYTES} bytes"));
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
            return Err("it has white space, a control character or a backslash".into());
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return match scheme.to_ascii_lowercase().as_str() {
                "https" => Self::url(Transport::Https, "https", rest),
                "http" => Self::url(Transport::Http, "http", rest),
                "ssh" => Self::url(Transport::Ssh, "ssh", rest),
                "file" => Self::local(&decoded(rest).ok_or("its percent-encoding is wrong")?),
                other => Err(format!("git may not use the transport {other:?}; use https, ssh or file")),
            };
        }
        if text.starts_with('/') {
            return Self::local(text);
        }
        match text.split_once(':') {
            Some((host, path)) if !host.contains('/') && !path.starts_with(':') => {
                let user_and_host = host.strip_prefix(|c: char| c.is_ascii_alphanumeric()).is_some();
                if !user_and_host || path.is_empty() || has_dots(path) {
                    return Err("it is neither a URL nor an address of ssh".into());
                }
                Ok(Self::Remote(Transport::Ssh, text.to_owned()))
            }
            _ => Err("it is neither a URL nor an absolute path".into()),
        }
    }

    fn url(transport: Transport, scheme: &str, rest: &str) -> Result<Self, String> {
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() || authority.starts_with('-') {
            return Err("it has no host".into());
        }
        // A user name is a part of an address of ssh; a password never is.
        if authority.contains('@') && (transport != Transport::Ssh || authority.contains(':')) {
            return Err("it has a user name or a password; a repository is cloned without".into());
        }
        if path.contains(['?', '#']) {
            return Err("it has a query or a fragment".into());
        }
        let plain = decoded(path).ok_or("its percent-encoding is wrong")?;
        if has_dots(&plain) {
            return Err("it has a component `.` or `..`".into());
        }
        Ok(Self::Remote(transport, format!("{scheme}://{}/{path}", authority.to_ascii_lowercase())))
    }

    fn local(path: &str) -> Result<Self, String> {
        if !path.starts_with('/') || path.starts_with("//") {
            return Err("it names another host or a relative path; write file:/// and an absolute path".into());
        }
        if path.contains('\0') || has_dots(path) {
            return Err("it has a component `.` or `..`".into());
        }
        Ok(Self::Local(Path::new(path).components().collect()))
    }

    /// What follows `beginning`, if the address begins with it and a component ends there.
    fn after(&self, beginning: &str) -> Option<String> {
        let begins_with_both = |text: &str, beginning: &str| {
            let rest = text.strip_prefix(beginning)?;
            let is_whole =
                beginning.ends_with(['/', ':']) || rest.is_empty() || rest.starts_with('/') || rest == ".git";
            is_whole.then(|| rest.to_owned())
        };
        match (self, Self::parse_beginning(beginning)?) {
            (Self::Remote(_, text), Self::Remote(_, beginning)) => begins_with_both(text, &beginning),
            (Self::Local(path), Self::Local(folder)) => {
                Some(path.strip_prefix(&folder).ok()?.to_str()?.trim_start_matches('/').to_owned())
            }
            _ => None,
        }
    }

    /// An operator's beginning of addresses: an address, or one that ends after its host.
    fn parse_beginning(text: &str) -> Option<Self> {
        let is_scp = !text.contains('/') && text.ends_with(':');
        if is_scp {
            return Some(Self::Remote(Transport::Ssh, text.to_owned()));
        }
        let parsed = Self::parse(text).ok()?;
        match parsed {
            // A trailing slash that the text doesn't have would be needed twice.
            Self::Remote(transport, url) if !text.ends_with('/') => {
                Some(Self::Remote(transport, url.trim_end_matches('/').to_owned()))
            }
            other => Some(other),
        }
    }

    /// The address that an operator's `to` and the rest of a caller's address make.
    fn rewritten(to: &str, rest: &str) -> Option<Self> {
        let joined = match to.ends_with(['/', ':']) || rest.is_empty() || rest == ".git" {
            true => format!("{to}{}", if to.ends_with('/') { rest.trim_start_matches('/') } else { rest }),
            false => format!("{to}/{}", rest.trim_start_matches('/')),
        };
        Self::parse(&joined).ok()
    }
}

/// The folder at `path` with its links resolved, or the same with `.git` at its end. It must lie below one of `allowed`, unless there is none.
fn real_folder(path: &Path, named: &str, allowed: &[String]) -> Result<String, StageError> {
    let with_ending = path.with_file_name(format!("{}.git", path.file_name().unwrap_or_default().to_string_lossy()));
    let found = [path.to_owned(), with_ending].into_iter().find_map(|path| path.canonicalize().ok());
    let Some(found) = found.filter(|found| found.is_dir()) else {
        return Err(StageError::new("INVALID_INPUT", format!("there is no repository at {}", shown(named)))
            .with("reason", "repository_not_found"));
    };
    let is_below = |source: &String| match Form::parse_beginning(source) {
        Some(Form::Local(folder)) => folder.canonicalize().is_ok_and(|folder| found.starts_with(folder)),
        _ => false,
    };
    if !allowed.is_empty() && !allowed.iter().any(is_below) {
        return Err(not_allowed(named));
    }
    found.to_str().map(str::to_owned).ok_or_else(|| not_allowed(named))
}

fn not_allowed(named: &str) -> StageError {
    let message = format!(
        "this server may not clone {}; an operator can add the beginning of its address to `sources` in the section `[runs]` of the \
         configuration, which `codeyard config show` explains",
        shown(named)
    );
    StageError::new("INVALID_INPUT", message).with("reason", "source_not_allowed").with("setting", "runs.sources")
}

/// The address for a message: without a user name and password, and not longer than a line.
pub(crate) fn shown(named: &str) -> String {
    let without_user = match named.split_once("://") {
        Some((scheme, rest)) => match rest.split('/').next().and_then(|authority| authority.rsplit_once('@')) {
            Some((user, _)) => format!("{scheme}://{}", &rest[user.len() + 1..]),
            None => named.to_owned(),
        },
        None => named.to_owned(),
    };
    without_user.chars().filter(|c| !c.is_control()).take(300).collect()
}

fn has_dots(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "." | ".."))
        || Path::new(path).components().any(|c| c == Component::ParentDir)
}

/// `text` without percent-encoding; `None` if it isn't one or isn't UTF-8.
fn decoded(text: &str) -> Option<String> {
    percent_decode_strictly(text).filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn reason(outcome: Result<RepositoryAddress, StageError>) -> String {
        match outcome {
            Ok(address) => address.target,
            Err(error) => {
                assert_eq!(error.code, "INVALID_INPUT");
                error.details["reason"].as_str().unwrap().to_owned()
            }
        }
    }

    #[test]
    fn sources_allow_whole_components_only() {
        let sources = ["https://github.com/", "https://gitlab.example/team", "git@host.example:"].map(str::to_owned);
        let of = |url: &str| reason(RepositoryAddress::resolve(url, &[], &sources));
        for (url, target) in [
            ("https://github.com/a/b", "https://github.com/a/b"),
            ("HTTPS://GitHub.com/A/b.git", "https://github.com/A/b.git"),
            ("https://gitlab.example/team", "https://gitlab.example/team"),
            ("https://gitlab.example/team/x", "https://gitlab.example/team/x"),
            ("git@host.example:a/b.git", "git@host.example:a/b.git"),
        ] {
            assert_eq!(of(url), target);
        }
        for url in [
            "https://github.com.evil.example/a/b",
            "https://gitlab.example/teams/x",
            "http://github.com/a/b",
            "https://evil.example/https://github.com/",
            "git@host.example.evil:a/b",
            "ssh://github.com/a/b",
            "/srv/x",
            "file:///srv/x",
        ] {
            assert_eq!(of(url), "source_not_allowed", "{url}");
        }
        for url in [
            "https://github.com@evil.example/a",
            "https://user:pw@github.com/a/b",
            "https://github.com/a/../../b",
            "https://github.com/a/%2e%2e/b",
            "https://github.com/a%zz",
            "https://github.com/a?b",
            "https:///a",
            "ext::sh -c x",
            "ext::x",
            "--upload-pack=x",
            "-oProxyCommand=x:y",
            "git://host/x",
            "a/b",
            "",
            "file://host/x",
            "file:///a/%2e%2e/b",
            "/a/../b",
            "https://github.com/a\nb",
        ] {
            assert_eq!(of(url), "invalid_repository_url", "{url}");
        }
    }

    #[test]
    fn passwords_are_in_no_message() {
        let error = RepositoryAddress::resolve("https://user:secret@github.com/a/b", &[], &[]).unwrap_err();
        assert!(!error.message.contains("secret") && error.message.contains("https://github.com/a/b"), "{error}");
    }

    #[test]
    fn the_longest_rewrite_wins_and_allows_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let mirrors = dir.path().canonicalize().unwrap();
        for name in ["a/b.git", "special", "plain/c"] {
            fs::create_dir_all(mirrors.join(name)).unwrap();
        }
        let rewrite = |from: &str, to: String| UrlRewrite { from: from.into(), to };
        let rewrites = [
            rewrite("https://github.com/", format!("{}/", mirrors.display())),
            rewrite("https://github.com/a/special", mirrors.join("special").display().to_string()),
            rewrite("https://docs.example", "https://mirror.example/docs".into()),
        ];
        let of = |url: &str| reason(RepositoryAddress::resolve(url, &rewrites, &[]));
        let path = |name: &str| mirrors.join(name).display().to_string();
        assert_eq!(of("https://github.com/a/b"), path("a/b.git"));
        assert_eq!(of("https://github.com/a/b.git"), path("a/b.git"));
        assert_eq!(of("https://github.com/plain/c"), path("plain/c"));
        assert_eq!(of("https://github.com/a/special"), path("special"));
        assert_eq!(of("https://github.com/a/none"), "repository_not_found");
        assert_eq!(of("https://docs.example/x"), "https://mirror.example/docs/x");
        assert_eq!(of("https://docs.example.evil/x"), "source_not_allowed");
        assert_eq!(of("https://github.com/../etc"), "invalid_repository_url");
        let error = RepositoryAddress::resolve("https://github.com/a/none", &rewrites, &[]).unwrap_err();
        assert!(!error.message.contains(mirrors.to_str().unwrap()), "{error}");
    }

    #[test]
    fn local_sources_are_compared_after_their_links() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for name in ["allowed/x", "allowed with space/y", "secret"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        symlink(top.join("secret"), top.join("allowed/link")).unwrap();
        symlink(top.join("allowed"), top.join("entry")).unwrap();
        let text = |name: &str| top.join(name).display().to_string();
        let sources =
            [text("allowed"), format!("file://{}", text("entry")), text("allowed with space").replace(' ', "%20")];
        let of = |url: &str| reason(RepositoryAddress::resolve(url, &[], &sources));
        assert_eq!(of(&text("allowed/x")), text("allowed/x"));
        assert_eq!(of(&format!("file://{}", text("allowed/x"))), text("allowed/x"));
        assert_eq!(of(&format!("FILE://{}", text("allowed/%78"))), text("allowed/x"));
        assert_eq!(of(&text("entry/x")), text("allowed/x"));
        assert_eq!(of(&text("allowed/link")), "source_not_allowed");
        assert_eq!(of(&text("secret")), "source_not_allowed");
        assert_eq!(of(&text("allowedx")), "source_not_allowed");
        assert_eq!(of(&text("allowed/none")), "repository_not_found");
    }
}
