//! The rows of a search as they are printed, from an index that this process opened or from a server's answer.

use std::path::{Path, PathBuf};

use serde_json::Value;

use codeyard_model::code::{RankingReasons, ResultRow, ResultRows};

#[derive(Debug, Default)]
pub(super) struct PrintedRows {
    /// In the order of the answer.
    pub(super) rows: Vec<PrintedRow>,
    /// Number of all matching rows.
    pub(super) total: usize,
    /// Whether the index or the answer is incomplete.
    pub(super) is_partial: bool,
    /// Sentences for the person.
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PrintedRow {
    /// The workspace, in answers of a group.
    pub(super) workspace: Option<String>,
    /// The path below its root.
    pub(super) path: String,
    /// Where the file is, if that is known.
    pub(super) file: Option<PathBuf>,
    /// The line, from 1.
    pub(super) line: u32,
    pub(super) content: RowContent,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RowContent {
    /// A line with those around it.
    Line { text: String, before: Vec<String>, after: Vec<String> },
    /// A symbol or a file: its kind and name, and the lines below.
    Named { kind: String, name: String, below: Vec<String> },
}

impl PrintedRow {
    /// The path with its workspace.
    pub(super) fn shown_path(&self) -> String {
        match &self.workspace {
            Some(workspace) => format!("{workspace}/{}", self.path),
            None => self.path.clone(),
        }
    }
}

impl PrintedRows {
    /// The rows of an answer of an index. `root_of` is the root of a row that names none.
    pub(super) fn of_answer(found: &ResultRows, root_of: impl Fn(&ResultRow) -> Option<PathBuf>) -> Self {
        let reasons = found.metadata.reasons.as_ref().map(|(_, reasons)| reasons.as_slice()).unwrap_or_default();
        let row = |(at, row): (usize, &ResultRow)| {
            let root = row.root.as_ref().map(PathBuf::from).or_else(|| root_of(row));
            PrintedRow {
                workspace: row.workspace.as_ref().map(|name| name.as_str().to_owned()),
                path: row.path.clone(),
                file: root.map(|root| root.join(&row.path)),
                line: row.line_start,
                content: content(row, reasons.get(at)),
            }
        };
        Self {
            rows: found.rows.iter().enumerate().map(row).collect(),
            total: found.total,
            is_partial: found.metadata.completeness == codeyard_model::code::Completeness::Partial,
            notes: with_copies(found.metadata.warnings.clone(), found.metadata.suppressed_duplicates),
        }
    }

    /// The rows of a server's answer. `root_of` is the root of a workspace that has only one.
    pub(super) fn of_json(answer: &Value, root_of: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let rows = answer["results"].as_array().into_iter().flatten();
        let metadata = &answer["metadata"];
        let reasons = metadata["ranking_reasons"].as_array();
        let row = |(at, row): (usize, &Value)| {
            let workspace = row["workspace"].as_str().map(str::to_owned);
            let path = text(row, "path");
            let root = row["root"].as_str().map(PathBuf::from).or_else(|| root_of(workspace.as_deref()?));
            PrintedRow {
                file: root.map(|root| root.join(&path)),
                workspace,
                path,
                line: row["line_start"].as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(1),
                content: json_content(row, reasons.and_then(|all| all.get(at))),
            }
        };
        Self {
            rows: rows.enumerate().map(row).collect(),
            total: number(answer, "total_candidates"),
            is_partial: metadata["result_completeness"] == "partial",
            notes: with_copies(texts(metadata, "warnings"), number(metadata, "suppressed_duplicate_count")),
        }
    }
}

/// Adds what is known of symbols whose file has equal copies: only the first copy has a row.
fn with_copies(mut notes: Vec<String>, copies: usize) -> Vec<String> {
    match copies {
        0 => {}
        1 => notes.push("1 symbol in an equal copy of a shown file is left out".to_owned()),
        _ => notes.push(format!("{copies} symbols in equal copies of shown files are left out")),
    }
    notes
}

/// The number that a member holds; 0 if it holds none.
fn number(value: &Value, member: &str) -> usize {
    value[member].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

fn content(row: &ResultRow, reasons: Option<&RankingReasons>) -> RowContent {
    if let Some(text) = &row.text {
        return RowContent::Line { text: text.clone(), before: row.before.clone(), after: row.after.clone() };
    }
    let below = match &row.body_preview {
        Some(preview) => preview.lines().map(str::to_owned).collect(),
        None => row.signature.iter().cloned().collect(),
    };
    let scores = reasons.map(|of| {
        [
            of.final_score, of.exact_match_boost, of.qualified_name_boost, of.path_affinity, of.definition_boost,
            of.kind_match, of.bm25_score,
        ]
    });
    RowContent::Named {
        kind: row.kind.map_or(String::new(), |kind| kind.as_str().to_owned()),
        name: row.qualified_name.clone().unwrap_or_else(|| row.name.clone()),
        below: with_scores(below, scores),
    }
}

fn json_content(row: &Value, reasons: Option<&Value>) -> RowContent {
    if let Some(line) = row["text"].as_str() {
        return RowContent::Line { text: line.to_owned(), before: texts(row, "before"), after: texts(row, "after") };
    }
    let below = match row["body_preview"].as_str() {
        Some(preview) => preview.lines().map(str::to_owned).collect(),
        None => row["signature"].as_str().map(str::to_owned).into_iter().collect(),
    };
    let scores = reasons.map(|of| {
        [
            "final_score", "exact_match_boost", "qualified_name_boost", "path_affinity", "definition_boost",
            "kind_match", "bm25_score",
        ]
        .map(|key| of[key].as_f64().unwrap_or_default())
    });
    let name = row["qualified_name"].as_str().map_or_else(|| text(row, "name"), str::to_owned);
    RowContent::Named { kind: text(row, "kind"), name, below: with_scores(below, scores) }
}

/// The lines below a symbol, and its factors: score, name, qualified, path, definition, kind, words.
fn with_scores(mut below: Vec<String>, scores: Option<[f64; 7]>) -> Vec<String> {
    if let Some([score, name, qualified, path, definition, kind, words]) = scores {
        below.push(format!(
            "score {score:.4}: name {name:.2}, qualified {qualified:.2}, path {path:.2}, definition {definition:.2}, kind {kind:.2}, words {words:.2}"
        ));
    }
    below
}

fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}

fn texts(of: &Value, key: &str) -> Vec<String> {
    of[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(super) fn one_root(root: &Path) -> impl Fn(&ResultRow) -> Option<PathBuf> + '_ {
    move |_| Some(root.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_catalog::{CatalogId, EncodedReply};
    use codeyard_model::answer::Answer;
    use codeyard_model::code::{CodeAnswer, DetailLevel, ExplainLevel, QueryIntent, ResultType, SymbolKind};

    #[test]
    fn an_answer_and_its_json_give_the_same_rows() {
        let symbol = ResultRow {
            path: "a.rs".into(),
            line_start: 3,
            line_end: 4,
            kind: Some(SymbolKind::Fn),
            name: "f".into(),
            qualified_name: Some("m::f".into()),
            signature: Some("fn f()".into()),
            workspace: codeyard_base::ids::WorkspaceName::new("w"),
            ..ResultRow::default()
        };
        let line = ResultRow {
            result_type: ResultType::Line,
            path: "b".into(),
            root: Some("/r".into()),
            line_start: 7,
            text: Some("x".into()),
            before: vec!["w".into()],
            ..ResultRow::default()
        };
        let mut metadata = codeyard_model::code::AnswerMetadata {
            warnings: vec!["note.".into()],
            suppressed_duplicates: 2,
            reasons: Some((ExplainLevel::Full, vec![RankingReasons { final_score: 0.5, ..Default::default() }])),
            ..Default::default()
        };
        metadata.completeness = codeyard_model::code::Completeness::Partial;
        let found = ResultRows {
            rows: vec![symbol, line],
            intent: Some(QueryIntent::Symbol),
            total: 9,
            next: vec![],
            detail: DetailLevel::Signature,
            compact: false,
            asked: Default::default(),
            metadata,
        };
        let direct = PrintedRows::of_answer(&found, |_| Some(PathBuf::from("/w")));
        let reply = CatalogId::Code.catalog().encode(Ok(&Answer::Code(CodeAnswer::Rows(found))), 1 << 20);
        let EncodedReply::Result(bytes) = reply else { panic!("an answer") };
        let reply: Value = serde_json::from_slice(&bytes).unwrap();
        let from_json = PrintedRows::of_json(&reply["structuredContent"], |_| Some(PathBuf::from("/w")));
        assert_eq!(direct.rows, from_json.rows);
        assert_eq!(
            (direct.total, direct.is_partial, &direct.notes),
            (from_json.total, from_json.is_partial, &from_json.notes)
        );
        assert_eq!(
            (direct.rows[0].file.as_deref(), direct.rows[0].shown_path().as_str()),
            (Some(Path::new("/w/a.rs")), "w/a.rs")
        );
        assert_eq!(direct.rows[1].file.as_deref(), Some(Path::new("/r/b")));
        assert_eq!(direct.notes, ["note.", "2 symbols in equal copies of shown files are left out"]);
    }
}
