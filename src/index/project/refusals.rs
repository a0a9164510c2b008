//! Refusals of a query whose index is missing, unreachable, damaged or written by another version.

use std::path::Path;

use codeyard_git::{GitError, GitRepository, NoRepository};
use codeyard_model::code::{CodeError, CodeRefusal, IndexingStatus, SchemaStatus};
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_model::next_steps::ask_again;

use super::QueryContext;
use crate::index_dir::IndexOpenError;
use crate::job::JobError;
use crate::ranked::SymbolIndexError;
use crate::store::StoreError;

/// The reason of a refusal whose cause is that the last job failed.
pub(super) const INDEX_FAILED: &str = "index_failed";

pub(super) fn written_by_other_version() -> CodeRefusal {
    incompatible(SchemaStatus::ReindexRequired, "Another version of codeyard wrote the index")
}

pub(super) fn damaged() -> CodeRefusal {
    incompatible(SchemaStatus::CorruptManifest, "The index is damaged")
}

pub(super) fn incompatible(schema: SchemaStatus, why: &str) -> CodeRefusal {
    CodeRefusal::new(
        CodeError::IndexIncompatible,
        format!("{why}. Run `codeyard index --force`, or call index_repo with force."),
    )
    .with("schema_status", schema.as_str())
    .with("remediation", "codeyard index --force")
}

pub(super) fn refusal_of_store_error(error: &StoreError) -> CodeRefusal {
    match error {
        StoreError::OtherFormat { .. } => written_by_other_version(),
        StoreError::Damaged => damaged(),
        other => index_unreachable(other),
    }
}

/// The refusal for an index that can't be reached. The index itself may be intact.
pub(super) fn index_unreachable(error: &impl std::fmt::Display) -> CodeRefusal {
    CodeRefusal::new(CodeError::IndexNotReady, format!("Could not reach the index: {error}."))
}

pub(super) fn refusal_of_open_error(error: &IndexOpenError) -> CodeRefusal {
    match error {
        IndexOpenError::Store(error) => refusal_of_store_error(error),
        IndexOpenError::Symbols(SymbolIndexError::OtherFormat { .. } | SymbolIndexError::Damaged(_))
        | IndexOpenError::Segment => damaged(),
        IndexOpenError::Symbols(error) => index_unreachable(error),
    }
}

pub(super) fn not_indexed(reference: &str, git: Result<&GitRepository, NoRepository>) -> CodeRefusal {
    let message = match git.map(|git| git.resolve(reference)) {
        Err(NoRepository::Outside) => format!(
            "'{reference}' isn't indexed, and the git directory of this root lies outside of it. Leave ref out to search the working tree, \
             or let the operator allow the directory with [index] git_dirs."
        ),
        Err(NoRepository::Missing | NoRepository::Invalid) => format!(
            "'{reference}' isn't indexed, and this root is in no git repository. Leave ref out to search the working tree."
        ),
        Ok(Err(GitError::Missing)) => {
            format!(
                "No branch, tag or commit '{reference}' in this repository. List the branches with `git branch --all`."
            )
        }
        Ok(Err(error)) => format!("'{reference}' can't be read: {error}."),
        Ok(Ok(_)) => format!(
            "'{reference}' isn't indexed. Call index_repo with this ref, or run `codeyard index --ref {reference}`."
        ),
    };
    CodeRefusal::new(CodeError::RefNotIndexed, message).with("ref", reference)
}

/// The refusal of a query about the working tree of a bare repository.
pub(super) fn no_working_tree() -> CodeRefusal {
    let message = "This root is a bare git repository, which has no working tree. Name a branch with ref, and index it with index_repo and this ref.";
    CodeRefusal::new(CodeError::IndexNotReady, message)
}

/// The warning that a root can't be read.
pub(super) fn root_is_gone(root: &Path) -> String {
    let root = root.display();
    format!(
        "The root {root} does not exist or can't be read now, so no file in it was searched. Serve a folder that exists, or restore it."
    )
}

/// The warning that a branch has moved since it was indexed.
pub(super) fn has_moved(reference: &str) -> String {
    format!(
        "'{reference}' has moved since it was indexed; these are the results of the indexed commit. Call sync_repo with this ref, or run \
         `codeyard index --ref {reference}`."
    )
}

/// The warning that the index is behind and can't be updated.
pub(super) fn cannot_update(failure: &JobError) -> String {
    format!(
        "The index is behind the files and can't be updated: {failure}. Repeating the call doesn't help before that."
    )
}

/// What to do where nothing is indexed: mend what prevents it, wait for the first index, or request it.
pub(super) fn without_index(context: &QueryContext) -> String {
    match &context.failure {
        Some(failure) => {
            format!("The index can't be built: {failure}. Repeating the call doesn't help before that.")
        }
        None if context.metadata.indexing == IndexingStatus::Indexing => {
            format!("The first index is being built. {}", ask_again(RETRY_AFTER_MS))
        }
        None => "Nothing is indexed yet. Call index_repo, wait until index_status says ready, and repeat the call."
            .to_owned(),
    }
}

/// The refusal of a query that needs an index where there is none.
pub(super) fn no_index(context: &QueryContext) -> Box<CodeRefusal> {
    let mut refusal = CodeRefusal::new(CodeError::IndexNotReady, without_index(context));
    if context.failure.is_some() {
        refusal = refusal.with("reason", INDEX_FAILED);
    } else if context.metadata.indexing == IndexingStatus::Indexing {
        refusal = refusal.with("retryAfterMs", RETRY_AFTER_MS);
    }
    Box::new(refusal.with_metadata(context.metadata.clone()))
}
