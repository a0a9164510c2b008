//! The files of a commit as a service gets them.
//!
//! Invariant: they are read from git's objects, not from the working copy, so what is sent is what was compared and committed.

use codeyard_process::git::Git;
use codeyard_runs::stage::{StageError, StopFlag};

use super::PublishRequest;
use super::commit::Change;
use crate::repository::git_errors::of_local;

/// A file that a commit changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// The path from the top of the repository.
    pub(super) path: String,
    /// What it becomes; `None` if it is deleted.
    pub(super) new: Option<NewContent>,
}

/// The new content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewContent {
    /// The mode, such as `100644`.
    pub(super) mode: String,
    /// Git's name of the content.
    pub(super) blob: String,
    pub(super) bytes: Vec<u8>,
}

/// What `change` changes.
///
/// # Errors
/// If git fails.
pub(super) fn changed_files(
    request: &PublishRequest<'_>,
    change: &Change,
    stop: &StopFlag,
) -> Result<Vec<ChangedFile>, StageError> {
    let git = |arguments: &[&str]| {
        let output = Git::in_repository(request.site).args(arguments).run(&|| stop.is_set());
        output.map_err(|error| of_local(&error))
    };
    let base = &request.checkout.commit;
    let raw = git(&["diff-tree", "-r", "--no-renames", "--raw", "--full-index", "-z", base, &change.commit])?;
    let raw = String::from_utf8_lossy(&raw).into_owned();
    let mut parts = raw.split('\0');
    let mut files = Vec::new();
    while let (Some(head), Some(path)) = (parts.next().filter(|head| !head.is_empty()), parts.next()) {
        let fields: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let new = match fields.as_slice() {
            [_, mode, _, blob, status] if *status != "D" => {
                let bytes = git(&["cat-file", "blob", blob])?;
                Some(NewContent { mode: (*mode).to_owned(), blob: (*blob).to_owned(), bytes })
            }
            _ => None,
        };
        files.push(ChangedFile { path: path.to_owned(), new });
    }
    Ok(files)
}

/// The tree of a commit.
///
/// # Errors
/// If git fails.
pub(super) fn tree_of(request: &PublishRequest<'_>, commit: &str, stop: &StopFlag) -> Result<String, StageError> {
    let name = format!("{commit}^{{tree}}");
    let output = Git::in_repository(request.site).args(["rev-parse", "--verify", &name]).run(&|| stop.is_set());
    let output = output.map_err(|error| of_local(&error))?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}
