//! What a failed `git` means to a run: the contract's code, a reason for programs, and the next step for people.
//!
//! It reads the messages of `git`, which are English because [`codeyard_process::git`] sets the language. Invariant: no message holds an address
//! or a folder of this machine that the run doesn't name.

use codeyard_process::git::GitError;
use codeyard_runs::stage::StageError;

use crate::repository::repository_address::{RepositoryAddress, shown};

/// Parts of messages of git, curl and ssh, each with what it means. The first that fits counts.
const MEANINGS: [(&str, Meaning); 34] = [
    ("could not read Username", Meaning::Authentication),
    ("could not read Password", Meaning::Authentication),
    ("terminal prompts disabled", Meaning::Authentication),
    ("Authentication failed", Meaning::Authentication),
    ("Invalid username or", Meaning::Authentication),
    ("returned error: 401", Meaning::Authentication),
    ("returned error: 403", Meaning::Authentication),
    ("Permission denied (", Meaning::Authentication),
    ("Host key verification failed", Meaning::Authentication),
    ("' not found", Meaning::NotFound),
    ("returned error: 404", Meaning::NotFound),
    ("Repository not found", Meaning::NotFound),
    ("does not appear to be a git repository", Meaning::NotFound),
    ("does not exist", Meaning::NotFound),
    ("not valid: is this a git repository?", Meaning::NotFound),
    ("possible repository corruption", Meaning::Damaged),
    ("fsck error", Meaning::Damaged),
    ("invalid path '", Meaning::Damaged),
    ("File name too long", Meaning::Damaged),
    ("No space left on device", Meaning::DiskFull),
    ("Out of diskspace", Meaning::DiskFull),
    ("Disk quota exceeded", Meaning::DiskFull),
    ("Read-only file system", Meaning::ReadOnly),
    ("Could not resolve host", Meaning::Network),
    ("Failed to connect", Meaning::Network),
    ("Connection", Meaning::Network),
    ("timed out", Meaning::Network),
    ("early EOF", Meaning::Network),
    ("unexpected disconnect", Meaning::Network),
    ("the remote end hung up", Meaning::Network),
    ("unable to access '", Meaning::Network),
    ("bad object", Meaning::Damaged),
    ("invalid index-pack output", Meaning::Damaged),
    ("index-pack failed", Meaning::Damaged),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Authentication,
    NotFound,
    Damaged,
    DiskFull,
    ReadOnly,
    Network,
}

/// The error of a command that contacted `address`.
pub(crate) fn of_contact(error: &GitError, address: &RepositoryAddress) -> StageError {
    let name = shown(address.named());
    let invalid = |reason: &str, message: String| StageError::new("INVALID_INPUT", message).with("reason", reason);
    let GitError::Failed { errors, .. } = error else { return of_local(error) };
    match meaning(errors) {
        Some(Meaning::Authentication) => invalid(
            "authentication_required",
            format!(
                "{name} needs a password, or doesn't exist; make it public, or map it to a mirror with `rewrites` in `[runs]`"
            ),
        ),
        Some(Meaning::NotFound) => invalid("repository_not_found", format!("there is no repository at {name}")),
        Some(Meaning::Damaged) => invalid(
            "damaged_repository",
            format!("{name} has objects that git refuses: {}; run `git fsck` in it", fault_in(errors, Some(address))),
        ),
        Some(Meaning::Network) => {
            let message = format!("{name} can't be reached: {}; try again later", fault_in(errors, Some(address)));
            StageError::new("INTERNAL", message).retryable().with("cause_class", "network")
        }
        Some(Meaning::DiskFull) => disk_full(),
        Some(Meaning::ReadOnly) => read_only(),
        None => {
            let message = format!("git can't clone {name}: {}", fault_in(errors, Some(address)));
            StageError::new("INTERNAL", message).with("cause_class", "git")
        }
    }
}

/// The error of a command that contacted no other repository.
pub(crate) fn of_local(error: &GitError) -> StageError {
    match error {
        GitError::Missing => StageError::new("TOOLCHAIN_MISSING", error.to_string())
            .with("tool", "git")
            .with("install", "apt-get install git"),
        GitError::Stopped { .. } => StageError::cancelled(),
        GitError::TimedOut { .. } => {
            StageError::new("INTERNAL", in_words(error, None)).retryable().with("cause_class", "timeout")
        }
        GitError::TooMuchOutput { .. } => {
            let message = format!("the repository is too large: {}", in_words(error, None));
            StageError::new("INVALID_INPUT", message).with("reason", "repository_too_large")
        }
        GitError::Failed { errors, .. } => {
            let fault = fault_in(errors, None);
            match meaning(errors) {
                Some(Meaning::Damaged) => {
                    StageError::new("INVALID_INPUT", format!("git refuses the repository's content: {fault}"))
                        .with("reason", "damaged_repository")
                }
                Some(Meaning::DiskFull) => disk_full(),
                Some(Meaning::ReadOnly) => read_only(),
                _ => StageError::new("INTERNAL", in_words(error, None)).with("cause_class", "git"),
            }
        }
        GitError::Start(error) => StageError::new("INTERNAL", format!("git can't be started: {}", error.kind()))
            .with("cause_class", "git_start"),
    }
}

/// The error of the file system.
pub(crate) fn of_io(doing: &str, error: &std::io::Error) -> StageError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => disk_full(),
        std::io::ErrorKind::ReadOnlyFilesystem => read_only(),
        // The error itself can name a folder.
        kind => StageError::new("INTERNAL", format!("{doing} failed: {kind}")).with("cause_class", "io"),
    }
}

fn disk_full() -> StageError {
    StageError::of_disk("disk_full", "the disk with the run's files is full; free space, then resume the run")
}

fn read_only() -> StageError {
    StageError::of_disk(
        "read_only",
        "the disk with the run's files is read-only; make it writable, then resume the run",
    )
}

/// Whether a server refused to send a commit that no branch or tag points to, or can't send a part of the history.
pub(crate) fn is_refused_commit(error: &GitError) -> bool {
    let GitError::Failed { errors, .. } = error else { return false };
    ["unadvertised object", "not our ref", "not advertised", "does not support shallow", "couldn't find remote ref"]
        .iter()
        .any(|part| errors.contains(part))
}

fn meaning(errors: &str) -> Option<Meaning> {
    MEANINGS.iter().find(|(part, _)| errors.contains(part)).map(|(_, meaning)| *meaning)
}

/// What went wrong, without the arguments of the command. `address` is the one that it contacted.
pub(crate) fn in_words(error: &GitError, address: Option<&RepositoryAddress>) -> String {
    let name = |command: &str| command.split(' ').next().unwrap_or_default().to_owned();
    match error {
        GitError::Missing => error.to_string(),
        GitError::Start(error) => format!("git can't be started: {}", error.kind()),
        GitError::Failed { command, errors, .. } => {
            format!("`git {}` failed: {}", name(command), fault_in(errors, address))
        }
        GitError::TimedOut { command, limit_s } => format!("`git {}` took longer than {limit_s} s", name(command)),
        GitError::Stopped { command } => format!("`git {}` was stopped", name(command)),
        GitError::TooMuchOutput { command, max_bytes } => {
            format!("the output of `git {}` is longer than {max_bytes} bytes", name(command))
        }
    }
}

/// The line of the message that says most: the first error, without the prefix.
fn fault_in(errors: &str, address: Option<&RepositoryAddress>) -> String {
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_fault = |line: &&&str| ["error:", "fatal:", "remote: error:"].iter().any(|prefix| line.starts_with(prefix));
    let line = lines.iter().find(is_fault).or(lines.first()).copied().unwrap_or("no message");
    let line = line.trim_start_matches("remote: ").trim_start_matches("error: ").trim_start_matches("fatal: ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    let shown = match address {
        // The address that the run names stays.
        Some(address) => {
            let marked = address.redact(&line).replace(address.named(), NAMED);
            without_folders(&marked).replace(NAMED, address.named())
        }
        None => without_folders(&line),
    };
    shown.chars().take(300).collect()
}

/// Stands for an address; messages have no control characters.
const NAMED: &str = "\u{1}";

/// The line without absolute paths: what is inside of a repository's `.git` is relative to the repository, and the rest isn't shown.
fn without_folders(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(start) = start_of_path(rest) {
        let (before, path) = rest.split_at(start);
        let (path, after) = path.split_at(end_of_path(before, path));
        shown.push_str(before);
        match path.split_once("/.git/") {
            Some((_, inner)) => shown.extend([".git/", inner]),
            None => shown.push('…'),
        }
        rest = after;
    }
    shown + rest
}

/// Where an absolute path begins: a slash that nothing but a quote, a bracket, a sign or a space is in front of. `https://` has none.
fn start_of_path(line: &str) -> Option<usize> {
    line.match_indices('/').map(|(at, _)| at).find(|at| {
        let is_url = line[*at..].starts_with("//") && !line[*at..].starts_with("///");
        let before = &line[..*at];
        let is_begin = |c: char| !c.is_alphanumeric() && !"/.-_~\u{1}".contains(c);
        (before.is_empty() || before.ends_with(is_begin)) && (!is_url || !before.ends_with(':'))
    })
}

/// Where a path ends: at the quote that closes it, or else behind the last word with a slash in front of a colon.
fn end_of_path(before: &str, path: &str) -> usize {
    if let Some(quote) = before.chars().next_back().filter(|c| matches!(c, '\'' | '"' | '`')) {
        return path.find(quote).unwrap_or(path.len());
    }
    let end = path.find([':', '\'', '"', '`', ',', ';', ')']).unwrap_or(path.len());
    let last = path[..end].rfind('/').unwrap_or_default();
    path[last..end].find(char::is_whitespace).map_or(end, |space| last + space)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(errors: &str) -> GitError {
        GitError::Failed { command: "fetch -- x".into(), status: "exit status: 128".into(), errors: errors.into() }
    }

    #[test]
    fn messages_of_git_become_codes_with_reasons() {
        let address =
            RepositoryAddress::resolve("https://example.org/a", &[], &["https://example.org/".to_owned()]).unwrap();
        let of = |errors: &str| {
            let error = of_contact(&failed(errors), &address);
            let detail = error.details.get("reason").or_else(|| error.details.get("cause_class")).cloned();
            (error.code, detail.unwrap().as_str().unwrap().to_owned(), error.retryable)
        };
        for (errors, expected) in [
            (
                "fatal: could not read Username for 'https://example.org': terminal prompts disabled",
                ("INVALID_INPUT", "authentication_required", false),
            ),
            ("fatal: repository 'https://example.org/a/' not found", ("INVALID_INPUT", "repository_not_found", false)),
            (
                "error: object 1: hasDotgit: contains '.git'\nfatal: fsck error in packed object",
                ("INVALID_INPUT", "damaged_repository", false),
            ),
            (
                "fatal: unable to access 'https://example.org/a/': Could not resolve host: example.org",
                ("INTERNAL", "network", true),
            ),
            (
                "remote: aborting due to possible repository corruption on the remote side.\nfatal: early EOF",
                ("INVALID_INPUT", "damaged_repository", false),
            ),
            ("fatal: write error: No space left on device", ("INTERNAL", "disk_full", true)),
            ("fatal: something else", ("INTERNAL", "git", false)),
        ] {
            assert_eq!(of(errors), (expected.0, expected.1.to_owned(), expected.2), "{errors}");
        }
    }

    #[test]
    fn no_message_names_a_folder_of_this_machine() {
        for (line, shown) in [
            (
                "fatal: Unable to create '/srv/state/r 1/.git/index.lock': File exists.",
                "Unable to create '.git/index.lock': File exists.",
            ),
            ("fatal: cannot open /srv/my state/x: Permission denied", "cannot open …: Permission denied"),
            ("error: unable to write file /srv/a/b", "unable to write file …"),
            (
                "error: remote unpack failed: unable to create temporary object directory",
                "remote unpack failed: unable to create temporary object directory",
            ),
            ("fatal: '/srv/gone' does not appear to be a git repository", "'…' does not appear to be a git repository"),
            ("error: path=/srv/x and \"/srv/y z\"", "path=… and \"…\""),
            ("fatal: unable to access 'https://example.org/a/': 500", "unable to access 'https://example.org/a/': 500"),
            ("error: invalid path 'a/b/../c'", "invalid path 'a/b/../c'"),
            ("fatal: file:///srv/x", "file:…"),
        ] {
            assert_eq!(fault_in(line, None), shown, "{line}");
            assert!(!of_local(&failed(line)).message.contains("srv"), "{line}");
        }
        let sources = ["/srv/named".to_owned(), "https://example.org".to_owned()];
        let rewrites = [crate::repository::repository_address::UrlRewrite {
            from: "https://example.org/a".into(),
            to: "https://inner.example/b".into(),
        }];
        let address = RepositoryAddress::resolve("https://example.org/a", &rewrites, &sources).unwrap();
        let line = "fatal: unable to access 'https://inner.example/b/': '/srv/named/x' and https://example.org/a/x";
        let expected = "unable to access 'https://example.org/a/': '…' and https://example.org/a/x";
        assert_eq!(fault_in(line, Some(&address)), expected);
        for error in [
            GitError::TimedOut { command: "fetch -- /srv/x".into(), limit_s: 5 },
            GitError::TooMuchOutput { command: "ls-tree /srv/x".into(), max_bytes: 5 },
            GitError::Start(std::io::Error::other("/srv/x")),
        ] {
            assert!(!of_local(&error).message.contains("srv") && !in_words(&error, None).contains("srv"), "{error}");
        }
        let gone = tempfile::Builder::new().tempdir_in("/nonexistent/srv").unwrap_err();
        let error = of_io("making a folder", &gone);
        assert_eq!(error.message, "making a folder failed: entity not found");
    }

    #[test]
    fn a_missing_git_names_the_command_that_installs_it() {
        let error = of_local(&GitError::Missing);
        assert_eq!((error.code, &error.details["tool"]), ("TOOLCHAIN_MISSING", &serde_json::json!("git")));
        assert!(error.message.contains("apt-get install git"), "{error}");
        assert_eq!(of_local(&GitError::Stopped { command: "fetch".into() }).code, "CANCELLED");
    }
}
