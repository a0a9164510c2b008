//! The workspaces of a group that an answer doesn't cover: why, and what to do.
//!
//! Pure. Invariants: each such workspace is named once; an answer that leaves one out is marked as partial.

use codeyard_base::ids::WorkspaceName;
use codeyard_model::code::{AnswerMetadata, CodeError, CodeRefusal, Completeness, IncompleteWorkspace};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_model::name_list;

use crate::limits::{MAX_LISTED_WORKSPACES, MAX_WORKSPACES_IN_SENTENCE};

/// The reason of a workspace whose first index is being built.
const INDEXING: &str = "indexing";
/// The reason of a workspace that nobody indexes.
const NOT_INDEXED: &str = "not_indexed";
/// The reason of a workspace that wasn't reached in time.
const LATE: &str = "timeout";
/// The reason of a workspace with too many calls in flight.
const OVERLOADED: &str = "overloaded";

/// Why a root has no part in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnitProblem {
    /// It refused the query.
    Refused(Box<CodeRefusal>),
    /// The time was up before it had answered.
    Late,
    /// Its queries hang, so it wasn't asked.
    Hangs,
    /// A defect in codeyard.
    Panicked,
}

impl UnitProblem {
    /// The refusal of a single workspace with this problem.
    pub(super) fn refusal(self) -> CodeRefusal {
        match self {
            Self::Refused(refusal) => *refusal,
            Self::Late => CodeRefusal::new(CodeError::Timeout, LATE_MESSAGE),
            Self::Hangs => CodeRefusal::new(CodeError::Timeout, HANGING_MESSAGE),
            Self::Panicked => CodeRefusal::new(
                CodeError::InternalError,
                "A fault of codeyard's ended the search; see the server's log.",
            ),
        }
    }
}

const LATE_MESSAGE: &str =
    "The time was up before it was searched; ask again, or narrow the search with repo: or paths.";

const HANGING_MESSAGE: &str = "Its earlier queries still wait for its files: a file system hangs. Ask again in 10 s.";

const PARTLY_INDEXED_MESSAGE: &str =
    "Its first index is being built, so that rows are missing; ask again, or call index_status for the progress.";

/// A workspace without an index. `is_being_indexed`: a job that builds it runs or waits.
pub fn not_indexed(workspace: WorkspaceName, is_being_indexed: bool) -> IncompleteWorkspace {
    let (reason, message) = if is_being_indexed {
        (INDEXING, "Its first index is being built; ask again, or call index_status for the progress.")
    } else {
        (NOT_INDEXED, "Nothing is indexed yet; call index_repo for it.")
    };
    IncompleteWorkspace { workspace, reason, message: message.to_owned() }
}

/// A workspace whose first index is being built, and which answered from the files that are in it.
pub fn partly_indexed(workspace: WorkspaceName) -> IncompleteWorkspace {
    IncompleteWorkspace { workspace, reason: INDEXING, message: PARTLY_INDEXED_MESSAGE.to_owned() }
}

/// A workspace that wasn't reached in time.
pub fn late(workspace: WorkspaceName) -> IncompleteWorkspace {
    IncompleteWorkspace { workspace, reason: LATE, message: LATE_MESSAGE.to_owned() }
}

/// A workspace with too many calls in flight.
pub fn overloaded(workspace: WorkspaceName) -> IncompleteWorkspace {
    let message = "It has too many calls in flight; ask again.".to_owned();
    IncompleteWorkspace { workspace, reason: OVERLOADED, message }
}

/// A workspace that the caller has no permission for.
pub fn not_permitted(workspace: WorkspaceName) -> IncompleteWorkspace {
    let message = "This caller has no permission for it: `permission.lsp` denies it, or a person has to be asked first, which a call to the \
                   workspace's own endpoint does.";
    let message = message.to_owned();
    IncompleteWorkspace { workspace, reason: CodeError::WorkspaceNotAllowed.as_str(), message }
}

/// A workspace that refused the query.
pub fn refused(workspace: WorkspaceName, refusal: &CodeRefusal) -> IncompleteWorkspace {
    IncompleteWorkspace { workspace, reason: refusal.code.as_str(), message: refusal.message.clone() }
}

/// A workspace that failed before its index was asked.
pub fn failed(workspace: WorkspaceName, error: &ToolError) -> IncompleteWorkspace {
    let code = match error.code {
        ErrorCode::ProviderUnavailable => CodeError::IndexNotReady,
        ErrorCode::WorkspaceDenied => CodeError::ProjectNotFound,
        ErrorCode::CapExceeded => CodeError::Timeout,
        _ => CodeError::InternalError,
    };
    let mut message = error.message.clone();
    if let Some(first) = message.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    IncompleteWorkspace { workspace, reason: code.as_str(), message }
}

/// Adds these workspaces to an answer's metadata: in the order of their names, one sentence for each reason, and when to ask again.
pub fn report(metadata: &mut AnswerMetadata, mut problems: Vec<IncompleteWorkspace>) {
    problems.append(&mut metadata.incomplete);
    problems.sort_by(|one, other| one.workspace.cmp(&other.workspace));
    problems.dedup_by(|one, other| one.workspace == other.workspace);
    if problems.is_empty() {
        return;
    }
    metadata.completeness = Completeness::Partial;
    if problems.iter().any(|problem| matches!(problem.reason, INDEXING | LATE | OVERLOADED)) {
        metadata.retry_after_ms = Some(RETRY_AFTER_MS);
    }
    let mut sentences: Vec<(&str, Vec<&str>)> = Vec::new();
    for problem in &problems {
        match sentences.iter_mut().find(|(message, _)| *message == problem.message) {
            Some((_, names)) => names.push(problem.workspace.short()),
            None => sentences.push((&problem.message, vec![problem.workspace.short()])),
        }
    }
    let written: Vec<String> = sentences
        .into_iter()
        .map(|(message, names)| format!("{} {}: {message}", verdict(message), listed(&names)))
        .collect();
    metadata.warnings.extend(written);
    metadata.warnings.sort_unstable();
    metadata.warnings.dedup();
    problems.truncate(MAX_LISTED_WORKSPACES);
    metadata.incomplete = problems;
}

/// How far an answer covers a workspace with a problem.
fn verdict(message: &str) -> &'static str {
    if message == PARTLY_INDEXED_MESSAGE { "Only partly searched" } else { "Left out" }
}

/// A refusal of several workspaces, with those of `problems` that have another reason: they may have what the others lack.
pub fn with_problems(mut refusal: Box<CodeRefusal>, mut problems: Vec<IncompleteWorkspace>) -> Box<CodeRefusal> {
    problems.retain(|problem| problem.reason != refusal.code.as_str());
    if refusal.code != CodeError::InvalidInput {
        report(&mut refusal.metadata, problems);
    }
    refusal
}

/// The first names, and how many more there are.
pub fn listed(names: &[&str]) -> String {
    name_list::listed(names, MAX_WORKSPACES_IN_SENTENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> WorkspaceName {
        WorkspaceName::new(text).unwrap()
    }

    #[test]
    fn each_workspace_is_named_once_with_one_sentence_for_each_reason() {
        let mut metadata = AnswerMetadata::default();
        let refusal = CodeRefusal::new(CodeError::IndexIncompatible, "Run it.");
        let problems = vec![
            not_indexed(name("z"), true),
            not_indexed(name("b"), true),
            refused(name("c"), &refusal),
            not_indexed(name("z"), true),
        ];
        report(&mut metadata, problems);
        let named: Vec<_> = metadata.incomplete.iter().map(|one| (one.workspace.as_str(), one.reason)).collect();
        assert_eq!(named, [("b", "indexing"), ("c", "index_incompatible"), ("z", "indexing")]);
        assert_eq!(metadata.warnings.len(), 2);
        assert!(metadata.warnings[0].starts_with("Left out b, z: "), "{:?}", metadata.warnings);
        assert_eq!((metadata.completeness, metadata.retry_after_ms), (Completeness::Partial, Some(RETRY_AFTER_MS)));
    }

    #[test]
    fn a_workspace_that_nobody_indexes_has_no_retry_hint() {
        let mut metadata = AnswerMetadata::default();
        report(&mut metadata, Vec::new());
        assert_eq!(metadata, AnswerMetadata::default());
        report(&mut metadata, vec![not_indexed(name("a"), false)]);
        assert_eq!(metadata.retry_after_ms, None);
    }

    #[test]
    fn a_workspace_that_is_indexed_in_part_is_not_left_out() {
        let mut metadata = AnswerMetadata::default();
        report(&mut metadata, vec![partly_indexed(name("a")), not_indexed(name("b"), true)]);
        assert!(metadata.warnings[0].starts_with("Left out b: "), "{:?}", metadata.warnings);
        assert!(metadata.warnings[1].starts_with("Only partly searched a: "), "{:?}", metadata.warnings);
        assert_eq!(metadata.retry_after_ms, Some(RETRY_AFTER_MS));
    }

    #[test]
    fn a_refusal_names_the_workspaces_with_another_reason() {
        let refusal = |code| Box::new(CodeRefusal::new(code, "No."));
        let problems = || vec![late(name("a")), refused(name("b"), &refusal(CodeError::RefNotIndexed))];
        let refused = with_problems(refusal(CodeError::RefNotIndexed), problems());
        let named: Vec<&str> = refused.metadata.incomplete.iter().map(|one| one.workspace.as_str()).collect();
        assert_eq!((named, refused.metadata.completeness), (vec!["a"], Completeness::Partial));
        let wrong = with_problems(refusal(CodeError::InvalidInput), problems());
        assert_eq!(wrong.metadata, AnswerMetadata::default());
    }

    #[test]
    fn long_lists_are_cut_in_sentences() {
        let names: Vec<String> = (0..40).map(|n| format!("w{n:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(listed(&names).ends_with(&format!(" and {} more", 40 - MAX_WORKSPACES_IN_SENTENCE)));
        assert_eq!(listed(&names[..2]), "w00, w01");
    }
}
