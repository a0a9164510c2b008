//! Puts files into the working copy of the site, and says what the working copy changes.
//!
//! It decides nothing about the content. Invariants: no path is written that the run isn't allowed to write, by its text and after its links were
//! resolved; a file appears as a whole; the same bundle again changes nothing; the repository's own index isn't touched. Source:
//! `docs/internals/reference/contract-launch.md#allowed-paths`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use codeyard_base::digest::sha256hex;
use codeyard_process::git::{Git, GitError};
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::page_draft::PageDraft;
use crate::artifacts::patch::{ChangedFile, DiffReport, PatchBundle, PatchedFile};
use crate::limits::MAX_DIFF_BYTES;
use crate::repository::git_errors::{of_io, of_local};
use crate::request::allowed_paths::AllowedPaths;
use crate::request::run_config::RunConfig;

/// Size of git's list of changed files, in bytes.
const MAX_DIFF_LISTING_BYTES: usize = 16 * 1024 * 1024;

/// Paths that one call of git is asked for.
const MAX_LISTED_PATHS: usize = 500;
/// The identifier of the bundle of all pages.
const FIRST_PATCH: &str = "patch_001";
/// Options of every comparison: nothing of the repository's configuration has a say.
const COMPARISON: [&str; 6] = ["diff", "--cached", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"];

/// The bundle of `drafts` for the working copy `site` of `base_commit`.
///
/// # Errors
/// `INVALID_INPUT` if there are more files or longer ones than the run's budgets allow; `INTERNAL` if the working copy can't be read.
pub fn bundle(
    drafts: &[PageDraft],
    base_commit: &str,
    site: &Path,
    config: &RunConfig,
) -> Result<PatchBundle, StageError> {
    let budgets = &config.budgets;
    let mut files = Vec::with_capacity(drafts.len());
    let mut long = Vec::new();
    // Not from the working copy, which an interrupted attempt may have changed already.
    let existing = existing_in_commit(site, base_commit, drafts)?;
    for draft in drafts {
        if draft.text.lines().count() > budgets.max_lines_per_file {
            long.push(draft.path.clone());
        }
        let before = match existing.contains(&draft.path) {
            true => Some(sha256hex(git_output(site, &["cat-file", "blob", &format!("{base_commit}:{}", draft.path)])?)),
            false => None,
        };
        let content = Some(draft.text.clone());
        files.push(PatchedFile { path: draft.path.clone(), sha256_before: before, content });
    }
    if !long.is_empty() {
        let message = format!(
            "{} pages have more than {} lines, such as {}; raise budgets.max_lines_per_file and start another run",
            long.len(),
            budgets.max_lines_per_file,
            long[0]
        );
        return Err(over_budget(message, "max_lines_per_file").with("paths", long));
    }
    if files.len() > budgets.max_files_changed {
        let message = format!(
            "the run would change {} files, but its configuration allows {}; raise budgets.max_files_changed and start another run",
            files.len(),
            budgets.max_files_changed
        );
        return Err(over_budget(message, "max_files_changed"));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(PatchBundle {
        schema_version: SCHEMA_VERSION.into(),
        patch_id: FIRST_PATCH.into(),
        base_commit: base_commit.into(),
        files,
    })
}

/// Which of the drafts' paths a commit has.
fn existing_in_commit(site: &Path, commit: &str, drafts: &[PageDraft]) -> Result<BTreeSet<String>, StageError> {
    let mut existing = BTreeSet::new();
    for some in drafts.chunks(MAX_LISTED_PATHS) {
        let paths = some.iter().map(|draft| draft.path.as_str());
        let arguments: Vec<&str> =
            ["ls-tree", "-z", "--name-only", "--full-tree", commit, "--"].into_iter().chain(paths).collect();
        let listed = git_output(site, &arguments)?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        existing.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
    }
    Ok(existing)
}

fn git_output(site: &Path, arguments: &[&str]) -> Result<Vec<u8>, StageError> {
    let git = Git::in_repository(site).env("GIT_LITERAL_PATHSPECS", "1").args(arguments);
    git.run(&|| false).map_err(|error| of_local(&error))
}

fn over_budget(message: String, budget: &str) -> StageError {
    StageError::new("INVALID_INPUT", message).with("reason", "budget").with("budget", budget)
}

/// Writes the files of `bundle` into the working copy. Nothing is written if one of them isn't allowed.
///
/// # Errors
/// `ALLOWED_PATHS_VIOLATION` with all such paths; `INTERNAL` if one can't be written. Repeating the call completes it.
pub fn apply(site: &Path, allowed: &AllowedPaths, bundle: &PatchBundle) -> Result<(), StageError> {
    let targets = targets(site, allowed, bundle.files.iter().map(|file| file.path.as_str()))?;
    for (target, file) in targets.iter().zip(&bundle.files) {
        let done = match &file.content {
            Some(content) => write(site, target, content.as_bytes()),
            None => remove(target),
        };
        done.map_err(|error| of_io("writing the working copy", &error))?;
    }
    Ok(())
}

/// Where writes to `paths` really go.
///
/// # Errors
/// `ALLOWED_PATHS_VIOLATION` with all paths that may not be written.
pub(crate) fn targets<'p>(
    site: &Path,
    allowed: &AllowedPaths,
    paths: impl Iterator<Item = &'p str>,
) -> Result<Vec<PathBuf>, StageError> {
    let mut targets = Vec::new();
    let mut refused = Vec::new();
    for path in paths {
        match allowed.resolve(site, path) {
            Ok(target) => targets.push(target),
            Err(violation) => refused.push((path.to_owned(), violation.to_string())),
        }
    }
    let Some((path, why)) = refused.first() else { return Ok(targets) };
    let message = format!("{path} can't be written: {why}; add it to allowed_paths if the run may write it");
    let paths: Vec<String> = refused.into_iter().map(|(path, _)| path).collect();
    Err(StageError::new("ALLOWED_PATHS_VIOLATION", message).with("paths", paths))
}

/// Replaces a file as a whole. What an interrupted attempt leaves is in git's own folder, where it is no change of the site.
pub(crate) fn write(site: &Path, target: &Path, content: &[u8]) -> io::Result<()> {
    let folder = target.parent().unwrap_or(site);
    fs::create_dir_all(folder)?;
    let mut draft = tempfile::Builder::new().prefix("codeyard-page").tempfile_in(site.join(".git"))?;
    draft.write_all(content)?;
    draft.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    draft.as_file().sync_all()?;
    draft.persist(target).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

/// Removes a file, if it is there.
pub(crate) fn remove(target: &Path) -> io::Result<()> {
    match fs::remove_file(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// What the working copy changes, compared with the full commit `base_commit`.
///
/// # Errors
/// If git can't compare them.
pub fn diff_report(site: &Path, base_commit: &str, stop: &StopFlag) -> Result<DiffReport, StageError> {
    let comparison = Comparison::begin(site, base_commit, stop)?;
    let files = comparison.files()?;
    let (diff, is_cut) = comparison.text(&files)?;
    Ok(DiffReport {
        schema_version: SCHEMA_VERSION.into(),
        base_commit: base_commit.into(),
        lines_added: files.iter().map(|file| file.lines_added).sum(),
        lines_removed: files.iter().map(|file| file.lines_removed).sum(),
        files,
        diff,
        is_cut,
    })
}

/// A comparison of the working copy with a commit, by an index of its own.
struct Comparison<'c> {
    site: &'c Path,
    base: &'c str,
    stop: &'c StopFlag,
    /// A folder of its own, because a git that is killed leaves a lock beside its index.
    folder: tempfile::TempDir,
}

impl<'c> Comparison<'c> {
    /// Reads the working copy into an index.
    fn begin(site: &'c Path, base: &'c str, stop: &'c StopFlag) -> Result<Self, StageError> {
        let folder = tempfile::Builder::new().prefix("codeyard-index").tempdir_in(site.join(".git"));
        let folder = folder.map_err(|error| of_io("comparing the working copy", &error))?;
        let comparison = Self { site, base, stop, folder };
        comparison.git(&["read-tree", base], MAX_DIFF_LISTING_BYTES)?;
        // What the site's own rules ignore counts too: a page there would be lost silently.
        comparison.git(&["add", "--all", "--force", "--", "."], MAX_DIFF_LISTING_BYTES)?;
        Ok(comparison)
    }

    fn run(&self, arguments: &[&str], max_bytes: usize) -> Result<Vec<u8>, GitError> {
        let index = self.folder.path().join("index");
        let git = Git::in_repository(self.site).args(arguments).index_file(&index).max_output_bytes(max_bytes);
        // Paths are names, not patterns.
        git.env("GIT_LITERAL_PATHSPECS", "1").run(&|| self.stop.is_set())
    }

    fn git(&self, arguments: &[&str], max_bytes: usize) -> Result<Vec<u8>, StageError> {
        self.run(arguments, max_bytes).map_err(|error| of_local(&error))
    }

    /// The changed files, by path.
    fn files(&self) -> Result<Vec<ChangedFile>, StageError> {
        let list = |option: &'static str| {
            let arguments: Vec<&str> = COMPARISON.into_iter().chain([option, "-z", self.base, "--"]).collect();
            self.git(&arguments, MAX_DIFF_LISTING_BYTES)
        };
        let changes = list("--name-status")?;
        let counts = list("--numstat")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut lines: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for entry in counts.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let mut parts = entry.splitn(3, |byte| *byte == b'\t');
            let mut number = || parts.next().map(text).and_then(|number| number.parse().ok()).unwrap_or_default();
            let counts = (number(), number());
            lines.insert(parts.next().map(text).unwrap_or_default(), counts);
        }
        let mut parts = changes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        let mut files = Vec::new();
        while let (Some(change), Some(path)) = (parts.next(), parts.next()) {
            let path = text(path);
            let change = match change.first() {
                Some(b'A') => "added",
                Some(b'D') => "removed",
                _ => "modified",
            };
            let (lines_added, lines_removed) = lines.get(&path).copied().unwrap_or_default();
            files.push(ChangedFile { path, change: change.into(), lines_added, lines_removed });
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }

    /// The unified diff, and whether it lacks files because it would be too large.
    fn text(&self, files: &[ChangedFile]) -> Result<(String, bool), StageError> {
        let arguments: Vec<&str> = COMPARISON.into_iter().chain([self.base, "--"]).collect();
        match self.run(&arguments, MAX_DIFF_BYTES) {
            Ok(diff) => return Ok((String::from_utf8_lossy(&diff).into_owned(), false)),
            Err(GitError::TooMuchOutput { .. }) => {}
            Err(error) => return Err(of_local(&error)),
        }
        let mut diff = String::new();
        for file in files {
            let one: Vec<&str> = arguments.iter().copied().chain([file.path.as_str()]).collect();
            let left = MAX_DIFF_BYTES - diff.len();
            match self.run(&one, left) {
                Ok(text) => diff.push_str(&String::from_utf8_lossy(&text)),
                Err(GitError::TooMuchOutput { .. }) => return Ok((diff, true)),
                Err(error) => return Err(of_local(&error)),
            }
        }
        Ok((diff, false))
    }
}

#[cfg(test)]
mod tests;
