//! A repository's files at one commit, in a folder of a run.
//!
//! It clones with real `git`, which runs nothing that the repository brings: no hook, filter, submodule or line-end conversion, so the files hold
//! exactly the bytes of the commit; links become small files with their target. Invariants: the folder appears as a whole, with the record of what it
//! holds, or not at all, also after a power loss, so a repetition after a crash finds the same without network; a clone over its bounds is stopped; a repository
//! that needs a password is refused at once. Source: `docs/internals/reference/contract-launch.md#clones`.

use std::cell::Cell;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use codeyard_base::atomic_file::Durability;
use codeyard_base::clock::{self, Instant};
use codeyard_process::git::Git;
use codeyard_runs::stage::{StageError, StopFlag};
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_REFERENCE_BYTES, MAX_TREE_LISTING_BYTES};
use crate::repository::git_errors::{is_refused_commit, of_contact, of_io, of_local};
use crate::repository::remote_refs::{RemoteRefs, ResolvedRef, is_full_commit};
use crate::repository::repository_address::{RepositoryAddress, UrlRewrite};

/// Length of the list of a repository's branches and tags, in bytes.
const MAX_REMOTE_REFS_BYTES: usize = 32 * 1024 * 1024;
/// Tags of one commit that are recorded.
const MAX_CHECKED_OUT_TAGS: usize = 100;
/// Time between two looks at the size of a clone under way, in milliseconds.
const CLONE_SIZE_POLL_MS: u64 = 200;

/// What an operator allows for clones.
#[derive(Debug, Clone)]
pub struct CheckoutSettings {
    /// Addresses that are replaced; what replaces them may be cloned.
    pub rewrites: Vec<UrlRewrite>,
    /// Beginnings of the addresses that may be cloned.
    pub sources: Vec<String>,
    /// Size of a clone, in bytes: of git's objects, and of the files.
    pub max_bytes: u64,
    /// The time of one clone.
    pub limit: Duration,
}

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckedOut {
    pub commit: String,
    /// Its committer's date, RFC 3339 in UTC.
    pub commit_date: String,
    /// The branch that was asked for; `None` if it was a tag or a commit.
    pub branch: Option<String>,
    /// The tags that point to the commit, sorted.
    pub tags: Vec<String>,
}

/// The record beside git's own files.
#[derive(Debug, Serialize, Deserialize)]
struct CheckoutRecord {
    url: String,
    reference: String,
    checked_out: CheckedOut,
}

/// The name of the record, below the folder.
const RECORD: &str = ".git/codeyard-checkout.json";
/// The ref that keeps the commit.
const PINNED: &str = "refs/codeyard/pinned";
/// Attributes that win over those of the repository: files are written as the commit has them.
const ATTRIBUTES: &str = "* -text !eol -filter -ident !working-tree-encoding !diff !merge\n";

/// One clone under way.
struct Clone<'c> {
    settings: &'c CheckoutSettings,
    address: &'c RepositoryAddress,
    folder: &'c Path,
    deadline: Instant,
    stop: &'c StopFlag,
}

/// Puts the files of `url` at `reference` (a branch, a tag or a full commit) into the folder `target`, whose parent exists. If `target` already
/// holds them, nothing is contacted; a `target` that is no whole clone is replaced. The files survive a power failure.
///
/// # Errors
/// `INVALID_INPUT` with a `reason`: `source_not_allowed`, `invalid_repository_url`, `repository_not_found`, `authentication_required`,
/// `reference_not_found`, `repository_too_large`, `damaged_repository`; `TOOLCHAIN_MISSING`, `CANCELLED`, `INTERNAL`.
pub fn check_out(
    settings: &CheckoutSettings,
    url: &str,
    reference: &str,
    target: &Path,
    stop: &StopFlag,
) -> Result<CheckedOut, StageError> {
    check_out_as(settings, url, reference, target, Durability::Power, stop)
}

/// The same, and says whether the files survive a power failure.
///
/// # Errors
/// As for [`check_out`].
pub(crate) fn check_out_as(
    settings: &CheckoutSettings,
    url: &str,
    reference: &str,
    target: &Path,
    durability: Durability,
    stop: &StopFlag,
) -> Result<CheckedOut, StageError> {
    if let Some(record) = load_record(target) {
        if record.url == url && record.reference == reference {
            return Ok(record.checked_out);
        }
        return Err(StageError::new("INTERNAL", format!("the run's folder holds {} instead of {url}", record.url))
            .with("cause_class", "other_checkout"));
    }
    let address = RepositoryAddress::resolve(url, &settings.rewrites, &settings.sources)?;
    check_reference(reference)?;
    let parent = target.parent().unwrap_or(Path::new("."));
    let prefix = draft_prefix(target);
    remove_drafts(parent, &prefix).map_err(|error| of_io("removing an interrupted clone", &error))?;
    let draft = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
    let draft = draft.map_err(|error| of_io("making the folder of a clone", &error))?;
    let deadline = Instant::now() + settings.limit;
    let clone = Clone { settings, address: &address, folder: draft.path(), deadline, stop };
    let checked_out = clone.make(reference)?;
    let record = CheckoutRecord { url: url.to_owned(), reference: reference.to_owned(), checked_out };
    let bytes = serde_json::to_vec(&record).unwrap_or_default();
    fs::write(draft.path().join(RECORD), bytes).map_err(|error| of_io("recording a clone", &error))?;
    remove_broken(target).map_err(|error| of_io("removing a broken clone", &error))?;
    rename(draft.path(), target, durability).map_err(|error| of_io("publishing a clone", &error))?;
    // It has another name now.
    let _ = draft.keep();
    Ok(record.checked_out)
}

/// The full commit that `reference` means at `url` now. Nothing is cloned.
///
/// # Errors
/// As for [`check_out`].
pub fn pin(settings: &CheckoutSettings, url: &str, reference: &str, stop: &StopFlag) -> Result<String, StageError> {
    let address = RepositoryAddress::resolve(url, &settings.rewrites, &settings.sources)?;
    check_reference(reference)?;
    if is_full_commit(reference) {
        return Ok(reference.to_ascii_lowercase());
    }
    let deadline = Instant::now() + settings.limit;
    let clone = Clone { settings, address: &address, folder: Path::new("/"), deadline, stop };
    Ok(clone.resolve(&clone.refs()?, reference)?.commit)
}

impl Clone<'_> {
    fn make(&self, reference: &str) -> Result<CheckedOut, StageError> {
        let refs = self.refs()?;
        let mut resolved = self.resolve(&refs, reference)?;
        self.initialise(&resolved.commit)?;
        self.fetch(&resolved)?;
        // The identifier of an annotated tag is as long as one of a commit.
        let commit = self.local(&["rev-parse", "--verify", &format!("{}^{{commit}}", resolved.commit)])?;
        resolved.commit = String::from_utf8_lossy(&commit).trim().to_owned();
        self.check_tree(&resolved.commit)?;
        self.local(&["update-ref", "--no-deref", "HEAD", &resolved.commit])?;
        self.local(&["read-tree", "--reset", "-u", "HEAD"])?;
        let seconds = self.local(&["show", "--no-patch", "--format=%ct", "HEAD"])?;
        let seconds: u64 = String::from_utf8_lossy(&seconds).trim().parse().unwrap_or_default();
        Ok(CheckedOut {
            commit_date: clock::utc(seconds),
            branch: resolved.branch,
            tags: refs.tags_of(&resolved.commit, MAX_CHECKED_OUT_TAGS),
            commit: resolved.commit,
        })
    }

    fn refs(&self) -> Result<RemoteRefs, StageError> {
        let names = ["HEAD", "refs/heads/*", "refs/tags/*"];
        let git = Git::outside_repositories(self.folder).max_output_bytes(MAX_REMOTE_REFS_BYTES);
        let git = self.address.contact(git, "ls-remote", &["--symref", "--quiet"], &names).limit(self.left());
        let listing = git.run(&|| self.stop.is_set()).map_err(|error| of_contact(&error, self.address))?;
        Ok(RemoteRefs::parse(&listing))
    }

    fn resolve(&self, refs: &RemoteRefs, reference: &str) -> Result<ResolvedRef, StageError> {
        refs.resolve(reference).ok_or_else(|| {
            let known = refs.suggestions();
            let advice = match (refs.is_empty(), known.is_empty()) {
                (true, _) => "the repository is empty".into(),
                (false, true) => "it has neither branches nor tags".into(),
                (false, false) => format!("it has {}", known.join(", ")),
            };
            let message = format!("{} has no branch or tag {reference:?}: {advice}", self.address.named());
            StageError::new("INVALID_INPUT", message).with("reason", "reference_not_found").with("suggestions", known)
        })
    }

    /// An empty repository whose configuration makes checkouts harmless.
    fn initialise(&self, commit: &str) -> Result<(), StageError> {
        let format = if commit.len() == 64 { "--object-format=sha256" } else { "--object-format=sha1" };
        self.run(Git::new(self.folder).args(["init", "--quiet", "--template=", format]))?;
        self.local(&["config", "core.symlinks", "false"])?;
        self.local(&["config", "core.autocrlf", "false"])?;
        let info = self.folder.join(".git/info");
        fs::create_dir_all(&info)
            .and_then(|()| fs::write(info.join("attributes"), ATTRIBUTES))
            .map_err(|error| of_io("preparing a clone", &error))
    }

    /// Fetches the commit alone; if the server refuses that, its branch or tag alone; at last all branches and tags with their history.
    fn fetch(&self, resolved: &ResolvedRef) -> Result<(), StageError> {
        let shallow = ["--quiet", "--no-tags", "--no-write-fetch-head", "--force", "--depth=1"];
        let by_commit = format!("{}:{PINNED}", resolved.commit);
        if self.try_fetch(&shallow, &[&by_commit])? && self.has(&resolved.commit) {
            return Ok(());
        }
        if let Some(name) = &resolved.full_name {
            let by_name = format!("{name}:{PINNED}");
            if self.try_fetch(&shallow, &[&by_name])? && self.has(&resolved.commit) {
                return Ok(());
            }
        }
        let all = ["+refs/heads/*:refs/codeyard/heads/*", "+refs/tags/*:refs/codeyard/tags/*"];
        self.try_fetch(&shallow[..4], &all)?;
        if self.has(&resolved.commit) {
            return self.local(&["update-ref", PINNED, &resolved.commit]).map(drop);
        }
        let message = format!("{} has no commit {}", self.address.named(), resolved.commit);
        Err(StageError::new("INVALID_INPUT", message).with("reason", "reference_not_found"))
    }

    /// Whether the server sent what was asked for. Stops as soon as the objects pass the bound.
    fn try_fetch(&self, arguments: &[&str], wanted: &[&str]) -> Result<bool, StageError> {
        let too_large = Cell::new(false);
        let last = Cell::new(Instant::now());
        let objects = self.folder.join(".git/objects");
        let stop = || {
            if last.get().elapsed() >= Duration::from_millis(CLONE_SIZE_POLL_MS) {
                last.set(Instant::now());
                too_large.set(size_of(&objects) > self.settings.max_bytes);
            }
            too_large.get() || self.stop.is_set()
        };
        // The bound on files holds even when codeyard is killed, and the pack is one file.
        let git = Git::in_repository(self.folder).max_file_bytes(self.settings.max_bytes.saturating_add(1));
        let git = self.address.contact(git, "fetch", arguments, wanted).limit(self.left());
        match git.run(&stop) {
            Ok(_) if size_of(&objects) > self.settings.max_bytes => Err(self.too_large("its objects are larger")),
            Ok(_) => Ok(true),
            // The pack that reached its bound is still there.
            Err(_) if too_large.get() || size_of(&objects) > self.settings.max_bytes => {
                Err(self.too_large("its objects are larger"))
            }
            Err(error) if is_refused_commit(&error) => Ok(false),
            Err(error) => Err(of_contact(&error, self.address)),
        }
    }

    fn has(&self, commit: &str) -> bool {
        self.local(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok()
    }

    /// The files of the commit, before they are written, must not be larger than the bound.
    fn check_tree(&self, commit: &str) -> Result<(), StageError> {
        let listing = Git::in_repository(self.folder).args(["ls-tree", "-r", "-l", "-z", "--full-tree", commit]);
        let listing = self.run(listing.max_output_bytes(MAX_TREE_LISTING_BYTES))?;
        let size = |entry: &[u8]| -> u64 {
            let head = entry.split(|byte| *byte == b'\t').next().unwrap_or_default();
            let size = String::from_utf8_lossy(head).split_whitespace().nth(3).map(str::to_owned);
            size.and_then(|size| size.parse().ok()).unwrap_or_default()
        };
        let total = listing.split(|byte| *byte == 0).map(size).fold(0_u64, u64::saturating_add);
        if total > self.settings.max_bytes { Err(self.too_large("its files are larger")) } else { Ok(()) }
    }

    fn too_large(&self, why: &str) -> StageError {
        let max_mib = self.settings.max_bytes / (1024 * 1024);
        let message = format!(
            "{} can't be cloned: {why} than {max_mib} MiB; an operator can raise `max_clone_mib` in the section `[runs]` of the configuration",
            self.address.named()
        );
        let error = StageError::new("INVALID_INPUT", message).with("reason", "repository_too_large");
        error.with("setting", "runs.max_clone_mib").with("max_mib", max_mib)
    }

    fn local(&self, args: &[&str]) -> Result<Vec<u8>, StageError> {
        self.run(Git::in_repository(self.folder).args(args))
    }

    fn run(&self, git: Git) -> Result<Vec<u8>, StageError> {
        git.limit(self.left()).run(&|| self.stop.is_set()).map_err(|error| of_local(&error))
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// A name that can't be an option, a pattern or several names.
fn check_reference(reference: &str) -> Result<(), StageError> {
    let is_refused =
        |c: char| c.is_control() || c.is_whitespace() || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let is_right = (1..=MAX_REFERENCE_BYTES).contains(&reference.len())
        && !reference.starts_with(['-', '/'])
        && !reference.ends_with('/')
        && !reference.contains("..")
        && !reference.contains("@{")
        && !reference.chars().any(is_refused);
    if is_right {
        return Ok(());
    }
    let message = format!("{reference:?} is no name of a branch or tag, and no full commit");
    Err(StageError::new("INVALID_INPUT", message).with("reason", "reference_not_found"))
}

/// The record of a folder; `None` if there is no folder, or it isn't a clone of this module.
fn load_record(target: &Path) -> Option<CheckoutRecord> {
    serde_json::from_slice(&fs::read(target.join(RECORD)).ok()?).ok()
}

/// Gives a clone its name, after its files are on the disk: the whole file system is written once, which costs less than each of many files.
fn rename(draft: &Path, target: &Path, durability: Durability) -> std::io::Result<()> {
    if durability == Durability::Power {
        rustix::fs::syncfs(fs::File::open(draft)?)?;
    }
    fs::rename(draft, target)?;
    match target.parent() {
        Some(folder) if durability == Durability::Power => fs::File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Removes a folder whose record is missing or can't be read: its files may be lost as well.
fn remove_broken(target: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(target) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(target),
        Ok(_) => fs::remove_file(target),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// How the names of unfinished clones of `target` begin.
fn draft_prefix(target: &Path) -> String {
    format!(".{}.clone-", target.file_name().unwrap_or_default().to_string_lossy())
}

/// Removes what interrupted clones have left, as far as no `git` of a killed codeyard writes there any more.
fn remove_drafts(parent: &Path, prefix: &str) -> std::io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        match fs::remove_dir_all(entry.path()) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The size of the files below `folder`, in bytes. Files that vanish meanwhile count as nothing.
fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
