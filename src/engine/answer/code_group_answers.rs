//! Answers of a group that its workspaces don't give by themselves: refusals about the argument `workspace`, the outline of the one
//! workspace that has a file, suggested calls, and confirmed rows.
//!
//! Invariant: a suggested call names its workspace, so that it means the same thing at the group's endpoint.

use std::collections::BTreeMap;

use futures::future::join_all;
use serde_json::Value;

use super::confirm::RowConfirmation;
use super::wait_status::{WaitStatus, Waiting};
use crate::indexer::group_report;
use crate::limits::MAX_CONFIRMED_ROWS;
use crate::workspace::handle::WorkspaceHandle;
use codeyard_base::clock::Deadline;
use codeyard_base::ids::WorkspaceName;
use codeyard_model::code::{
    AnswerMetadata, CallArguments, CodeAnswer, CodeError, CodeQuery, CodeRefusal, IncompleteWorkspace, Outline,
    OutlineQuery, ResultRow, ResultRows, ResultType, tools,
};
use codeyard_telemetry::CallTrace;

/// Longest text of a caller that a message repeats, in characters.
const MAX_REPEATED_CHARS: usize = 80;

/// The refusal of a workspace that the group doesn't have.
pub(super) fn no_such_workspace(asked: &str, names: &[&str]) -> Box<CodeRefusal> {
    let message = format!(
        "No workspace of this group matches '{}'. Its workspaces are {}.",
        repeated(asked),
        group_report::listed(names)
    );
    let refusal = CodeRefusal::new(CodeError::WorkspaceNotRegistered, message).with("argument", "workspace");
    Box::new(refusal.with("allowed", group_report::listed(names)))
}

/// The refusal of a text that is neither a name nor a pattern.
pub(super) fn wrong_pattern(asked: &str) -> Box<CodeRefusal> {
    let message = format!(
        "'{}' is neither the name of a workspace nor a pattern with `*` and `?`. health_check lists the workspaces.",
        repeated(asked)
    );
    let refusal = CodeRefusal::new(CodeError::InvalidInput, message);
    Box::new(refusal.with("argument", "workspace").with("reason", "no_name"))
}

fn repeated(text: &str) -> String {
    text.chars().take(MAX_REPEATED_CHARS).collect()
}

/// Adds the argument `workspace` to the suggested calls: that of the first row to calls about it, `asked` to those that repeat the
/// search.
pub(super) fn name_workspace_in_actions(rows: &mut ResultRows, asked: Option<&str>) {
    let first = rows.rows.first().and_then(|row| row.workspace.as_ref()).map(|name| name.as_str().to_owned());
    for action in &mut rows.next {
        let name = match action.tool {
            tools::LOCATE | tools::OUTLINE => first.as_deref(),
            _ => asked,
        };
        if let (Some(arguments), Some(name)) = (action.arguments.as_object_mut(), name) {
            arguments.insert("workspace".to_owned(), Value::from(name));
        }
    }
    if let Some(name) = asked.filter(|_| !rows.asked.arguments.is_empty()) {
        rows.asked.arguments.insert("workspace".to_owned(), Value::from(name));
    }
}

/// The outlines that the workspaces gave.
type Outlines = Vec<(WorkspaceName, Result<Outline, Box<CodeRefusal>>)>;

/// The outline of the only workspace that has the file; a refusal if none or several have it.
pub(super) fn one_outline(
    query: &OutlineQuery,
    outlines: Outlines,
    payload_bytes: Option<usize>,
    mut problems: Vec<IncompleteWorkspace>,
) -> CodeAnswer {
    let (mut found, mut missing, mut outside) = (Vec::new(), None, None);
    for (name, result) in outlines {
        match result {
            Ok(outline) => found.push((name, outline)),
            Err(refusal) if refusal.code == CodeError::FileNotFound => drop(missing.get_or_insert(refusal)),
            // The path is absolute, and may be inside another workspace.
            Err(refusal) if refusal.code == CodeError::ProjectNotFound => drop(outside.get_or_insert(refusal)),
            Err(refusal) => problems.push(group_report::refused(name, &refusal)),
        }
    }
    if found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!(
            "{} workspaces of this group have the file '{}': {}. Name one with `workspace`.",
            names.len(),
            repeated(&query.path),
            group_report::listed(&names)
        );
        let refusal = CodeRefusal::new(CodeError::InvalidInput, message)
            .with("argument", "workspace")
            .with("reason", "several")
            .with("allowed", group_report::listed(&names));
        return CodeAnswer::Refused(Box::new(refusal));
    }
    let Some((name, mut outline)) = found.pop() else {
        return CodeAnswer::Refused(match (missing, outside) {
            (None, Some(outside)) if problems.is_empty() => outside,
            (missing, outside) => not_found(query, missing.or(outside), problems),
        });
    };
    outline.asked = CallArguments::of(&CodeQuery::Outline(query.clone()));
    outline.asked.arguments.insert("workspace".to_owned(), Value::from(name.as_str()));
    outline.asked.payload_bytes = payload_bytes;
    outline.workspace = Some(name);
    outline.metadata.incomplete = Vec::new();
    // These may have the file, too.
    group_report::report(&mut outline.metadata, problems);
    CodeAnswer::Outline(outline)
}

fn not_found(
    query: &OutlineQuery,
    missing: Option<Box<CodeRefusal>>,
    problems: Vec<IncompleteWorkspace>,
) -> Box<CodeRefusal> {
    let mut metadata = missing.map(|refusal| refusal.metadata).unwrap_or_default();
    metadata.incomplete = Vec::new();
    group_report::report(&mut metadata, problems);
    let message = format!(
        "No workspace of this group has the file '{}'. Call search_code with the file's name to find its path.",
        repeated(&query.path)
    );
    Box::new(CodeRefusal::new(CodeError::FileNotFound, message).with_metadata(metadata))
}

/// The confirmation of the rows of several workspaces.
pub(super) struct GroupConfirmation<'a> {
    pub(super) workspaces: &'a [&'a WorkspaceHandle],
    /// The branch, tag or commit that the query names.
    pub(super) reference: Option<&'a str>,
    /// When the confirmation must end.
    pub(super) deadline: Deadline,
    pub(super) status: &'a WaitStatus,
    pub(super) call: &'a CallTrace,
}

impl GroupConfirmation<'_> {
    /// Confirms the first [`MAX_CONFIRMED_ROWS`] symbols, each with the language servers of its workspace.
    pub(super) async fn confirm(&self, found: &mut ResultRows) {
        let mut by_workspace: BTreeMap<WorkspaceName, Vec<usize>> = BTreeMap::new();
        let (mut symbols, mut beyond) = (0, 0);
        for (at, row) in found.rows.iter().enumerate() {
            if row.result_type == ResultType::Symbol {
                symbols += 1;
                if symbols > MAX_CONFIRMED_ROWS {
                    beyond += 1;
                    continue;
                }
            }
            if let Some(name) = &row.workspace {
                by_workspace.entry(name.clone()).or_default().push(at);
            }
        }
        let mut parts = Vec::new();
        for (name, at) in by_workspace {
            let Some(workspace) = self.workspaces.iter().find(|workspace| workspace.name == name) else { continue };
            let rows: Vec<ResultRow> = at.iter().map(|at| found.rows[*at].clone()).collect();
            let metadata = AnswerMetadata::default();
            parts.push((at, workspace, ResultRows { rows, metadata, next: Vec::new(), ..found.clone() }));
        }
        let statuses: Vec<WaitStatus> = parts.iter().map(|_| WaitStatus::default()).collect();
        self.status.write(Waiting::Each(statuses.clone()));
        let confirmed = parts.into_iter().zip(&statuses).map(|((at, workspace, mut rows), status)| async move {
            let (reference, deadline, call) = (self.reference, self.deadline, self.call);
            RowConfirmation { workspace, reference, deadline, status, call }.confirm(&mut rows).await;
            (at, rows)
        });
        for (at, confirmed) in join_all(confirmed).await {
            for (at, row) in at.into_iter().zip(confirmed.rows) {
                found.rows[at].confirmed_by = row.confirmed_by;
            }
            found.metadata.warnings.extend(confirmed.metadata.warnings);
        }
        if beyond > 0 {
            let rows = if beyond == 1 { "1 row is".to_owned() } else { format!("{beyond} rows are") };
            let warning = format!("{rows} unconfirmed: only the first {MAX_CONFIRMED_ROWS} symbols are asked about.");
            found.metadata.warnings.push(warning);
        }
        found.metadata.warnings.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::code::{NextAction, OutlineDepth};

    fn name(text: &str) -> WorkspaceName {
        WorkspaceName::new(text).unwrap()
    }

    fn outline() -> Outline {
        Outline {
            path: "a.rs".into(),
            root: None,
            workspace: None,
            language: None,
            depth: OutlineDepth::All,
            symbols: Vec::new(),
            asked: CallArguments::default(),
            metadata: AnswerMetadata::default(),
        }
    }

    fn query() -> OutlineQuery {
        OutlineQuery { path: "a.rs".into(), reference: None, depth: OutlineDepth::All, freshness: None }
    }

    fn refusal(code: CodeError) -> Result<Outline, Box<CodeRefusal>> {
        Err(Box::new(CodeRefusal::new(code, "No.")))
    }

    #[test]
    fn a_file_of_one_workspace_is_outlined_and_of_several_refused() {
        let outlines = vec![(name("a"), refusal(CodeError::FileNotFound)), (name("b"), Ok(outline()))];
        match one_outline(&query(), outlines, None, Vec::new()) {
            CodeAnswer::Outline(found) => {
                assert_eq!((found.workspace, found.metadata), (Some(name("b")), AnswerMetadata::default()));
            }
            other => panic!("{other:?}"),
        }
        let outlines = vec![(name("a"), refusal(CodeError::IndexStale)), (name("b"), Ok(outline()))];
        match one_outline(&query(), outlines, None, vec![group_report::late(name("c"))]) {
            CodeAnswer::Outline(found) => {
                let left_out: Vec<&str> = found.metadata.incomplete.iter().map(|one| one.workspace.as_str()).collect();
                assert_eq!((left_out, found.metadata.warnings.len()), (vec!["a", "c"], 2), "they may have it, too");
            }
            other => panic!("{other:?}"),
        }
        let outlines = vec![(name("a"), Ok(outline())), (name("b"), Ok(outline()))];
        match one_outline(&query(), outlines, None, Vec::new()) {
            CodeAnswer::Refused(refused) => {
                assert_eq!(refused.code, CodeError::InvalidInput);
                assert!(refused.message.contains("a, b. Name one with `workspace`."), "{}", refused.message);
            }
            other => panic!("{other:?}"),
        }
        for (one, other, code) in [
            (CodeError::ProjectNotFound, CodeError::ProjectNotFound, CodeError::ProjectNotFound),
            (CodeError::ProjectNotFound, CodeError::FileNotFound, CodeError::FileNotFound),
            (CodeError::FileNotFound, CodeError::ProjectNotFound, CodeError::FileNotFound),
            (CodeError::ProjectNotFound, CodeError::IndexStale, CodeError::FileNotFound),
        ] {
            match one_outline(&query(), vec![(name("a"), refusal(one)), (name("b"), refusal(other))], None, Vec::new())
            {
                CodeAnswer::Refused(refused) => assert_eq!(refused.code, code, "{one:?} {other:?}"),
                other => panic!("{other:?}"),
            }
        }
        let outlines = vec![(name("a"), refusal(CodeError::FileNotFound)), (name("b"), refusal(CodeError::IndexStale))];
        match one_outline(&query(), outlines, None, Vec::new()) {
            CodeAnswer::Refused(refused) => {
                assert_eq!(refused.code, CodeError::FileNotFound);
                assert_eq!(refused.metadata.incomplete[0].reason, "index_stale");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn suggested_calls_name_the_workspace() {
        let action = |tool| NextAction { tool, arguments: serde_json::json!({}), reason: String::new() };
        let mut rows = ResultRows {
            rows: vec![ResultRow { workspace: Some(name("b")), ..ResultRow::default() }],
            intent: None,
            total: 1,
            next: vec![action(tools::LOCATE), action(tools::OUTLINE), action(tools::SEARCH)],
            detail: Default::default(),
            compact: false,
            asked: CallArguments::default(),
            metadata: AnswerMetadata::default(),
        };
        name_workspace_in_actions(&mut rows, Some("svc-*"));
        let names: Vec<&str> = rows.next.iter().map(|next| next.arguments["workspace"].as_str().unwrap()).collect();
        assert_eq!(names, ["b", "b", "svc-*"]);
    }
}
