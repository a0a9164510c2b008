//! The outline of the one workspace of a group that has a file, and suggested calls that name their workspace.

use serde_json::Value;

use super::code_refusals::repeated;
use crate::indexer::group_report;
use codeyard_base::ids::WorkspaceName;
use codeyard_model::code::{
    CallArguments, CodeAnswer, CodeError, CodeRefusal, IncompleteWorkspace, Outline, ResultRows, tools,
};

/// Adds the argument `workspace` to the suggested calls: that of the first row to calls about it, `asked` to those that repeat the
/// search.
pub(super) fn name_workspace_in_actions(rows: &mut ResultRows, asked: Option<&str>) {
    let first = rows.rows.first().and_then(|row| row.workspace.as_ref()).map(|name| name.short().to_owned());
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
    path: &str,
    outlines: Outlines,
    asked: CallArguments,
    mut problems: Vec<IncompleteWorkspace>,
) -> CodeAnswer {
    let mut found = Vec::new();
    let mut missing = None;
    let mut outside = None;
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
        let names: Vec<&str> = found.iter().map(|(name, _)| name.short()).collect();
        let message = format!(
            "{} workspaces of this group have the file '{}': {}. Name one with `workspace`.",
            names.len(),
            repeated(path),
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
            (missing, outside) => not_found(path, missing.or(outside), problems),
        });
    };
    outline.asked = asked;
    outline.asked.arguments.insert("workspace".to_owned(), Value::from(name.short()));
    outline.workspace = Some(name);
    outline.metadata.incomplete = Vec::new();
    // These may have the file, too.
    group_report::report(&mut outline.metadata, problems);
    CodeAnswer::Outline(outline)
}

fn not_found(path: &str, missing: Option<Box<CodeRefusal>>, problems: Vec<IncompleteWorkspace>) -> Box<CodeRefusal> {
    let mut metadata = missing.map(|refusal| refusal.metadata).unwrap_or_default();
    metadata.incomplete = Vec::new();
    group_report::report(&mut metadata, problems);
    let message = format!(
        "No workspace of this group has the file '{}'. Call search_code with the file's name to find its path.",
        repeated(path)
    );
    Box::new(CodeRefusal::new(CodeError::FileNotFound, message).with_metadata(metadata))
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::code::{AnswerMetadata, NextAction, OutlineDepth, ResultRow};

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

    fn refusal(code: CodeError) -> Result<Outline, Box<CodeRefusal>> {
        Err(Box::new(CodeRefusal::new(code, "No.")))
    }

    #[test]
    fn a_file_of_one_workspace_is_outlined_and_of_several_refused() {
        let outlines = vec![(name("a"), refusal(CodeError::FileNotFound)), (name("b"), Ok(outline()))];
        match one_outline("a.rs", outlines, CallArguments::default(), Vec::new()) {
            CodeAnswer::Outline(found) => {
                assert_eq!((found.workspace, found.metadata), (Some(name("b")), AnswerMetadata::default()));
            }
            other => panic!("{other:?}"),
        }
        let outlines = vec![(name("a"), refusal(CodeError::IndexStale)), (name("b"), Ok(outline()))];
        match one_outline("a.rs", outlines, CallArguments::default(), vec![group_report::late(name("c"))]) {
            CodeAnswer::Outline(found) => {
                let left_out: Vec<&str> = found.metadata.incomplete.iter().map(|one| one.workspace.short()).collect();
                assert_eq!((left_out, found.metadata.warnings.len()), (vec!["a", "c"], 2), "they may have it, too");
            }
            other => panic!("{other:?}"),
        }
        let outlines = vec![(name("a"), Ok(outline())), (name("b"), Ok(outline()))];
        match one_outline("a.rs", outlines, CallArguments::default(), Vec::new()) {
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
            match one_outline(
                "a.rs",
                vec![(name("a"), refusal(one)), (name("b"), refusal(other))],
                CallArguments::default(),
                Vec::new(),
            ) {
                CodeAnswer::Refused(refused) => assert_eq!(refused.code, code, "{one:?} {other:?}"),
                other => panic!("{other:?}"),
            }
        }
        let outlines = vec![(name("a"), refusal(CodeError::FileNotFound)), (name("b"), refusal(CodeError::IndexStale))];
        match one_outline("a.rs", outlines, CallArguments::default(), Vec::new()) {
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
