//! The JSON forms of rows, outlines and metadata, with the members in the contract's order
//! (`docs/internals/reference/contract-code.md#answers`).
//!
//! Invariants: an unknown value is omitted, never null; a row has its handles at every detail level, compact or not; line rows have one
//! detail level.

use serde::Serialize;

use crate::limits::MAX_OUTLINE_LEVELS;
use codeyard_model::code::{
    AnswerMetadata, DetailLevel, ExplainLevel, IncompleteWorkspace, NextAction, Outline, OutlineDepth, OutlineSymbol,
    RankingReasons, RelatedSymbol, ResultRow, ResultType,
};

/// The version of the metadata (`docs/internals/reference/contract-code.md#metadata`).
const PROTOCOL_VERSION: &str = "1.0";

#[derive(Serialize)]
pub(super) struct MetadataShape<'a> {
    codecompass_protocol_version: &'static str,
    #[serde(flatten)]
    state: Option<StateShape>,
    #[serde(rename = "ref", skip_serializing_if = "str::is_empty")]
    reference: &'a str,
    /// Set for outlines only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) symbol_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking_reasons: Option<Vec<ReasonsShape>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "is_zero")]
    suppressed_duplicate_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    safety_limit_applied: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete_workspaces: Vec<IncompleteShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

#[derive(Serialize)]
struct IncompleteShape<'a> {
    workspace: &'a str,
    reason: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct StateShape {
    freshness_status: &'static str,
    indexing_status: &'static str,
    result_completeness: &'static str,
    schema_status: &'static str,
}

/// The ranking of one row. `basic` has the factors that a caller can influence, `full` has all.
#[derive(Serialize)]
struct ReasonsShape {
    result_index: usize,
    exact_match_boost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    qualified_name_boost: Option<f64>,
    path_affinity: f64,
    definition_boost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind_match: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bm25_score: Option<f64>,
    final_score: f64,
}

/// The JSON form of `metadata`, with the ranking reasons of the first `rows` rows. Without the state of the index if the call failed before
/// the index was read.
pub(super) fn metadata(metadata: &AnswerMetadata, rows: usize) -> MetadataShape<'_> {
    let AnswerMetadata { freshness, indexing, completeness, schema, .. } = *metadata;
    let unseen = AnswerMetadata { warnings: metadata.warnings.clone(), ..AnswerMetadata::default() };
    let state = (*metadata != unseen).then(|| StateShape {
        freshness_status: freshness.as_str(),
        indexing_status: indexing.as_str(),
        result_completeness: completeness.as_str(),
        schema_status: schema.as_str(),
    });
    let shown_reasons = metadata.reasons.as_ref().filter(|(level, _)| *level != ExplainLevel::Off);
    let ranking_reasons = shown_reasons.map(|(level, all)| {
        // Lines aren't ranked, so they have no factors.
        let reasons = all.iter().take(rows).enumerate().filter(|(_, reasons)| **reasons != RankingReasons::default());
        reasons.map(|(index, of)| reasons_of(index, of, *level == ExplainLevel::Full)).collect()
    });
    MetadataShape {
        codecompass_protocol_version: PROTOCOL_VERSION,
        state,
        reference: &metadata.reference,
        symbol_count: None,
        ranking_reasons,
        warnings: &metadata.warnings,
        suppressed_duplicate_count: metadata.suppressed_duplicates,
        safety_limit_applied: metadata.safety_limit,
        incomplete_workspaces: metadata.incomplete.iter().map(incomplete).collect(),
        retry_after_ms: metadata.retry_after_ms,
    }
}

fn incomplete(of: &IncompleteWorkspace) -> IncompleteShape<'_> {
    IncompleteShape { workspace: of.workspace.short(), reason: of.reason, message: &of.message }
}

fn reasons_of(result_index: usize, of: &RankingReasons, is_full: bool) -> ReasonsShape {
    ReasonsShape {
        result_index,
        exact_match_boost: of.exact_match_boost,
        qualified_name_boost: is_full.then_some(of.qualified_name_boost),
        path_affinity: of.path_affinity,
        definition_boost: of.definition_boost,
        kind_match: is_full.then_some(of.kind_match),
        bm25_score: is_full.then_some(of.bm25_score),
        final_score: of.final_score,
    }
}

/// The JSON form of a row.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum RowShape<'a> {
    /// A symbol, a reference or a file.
    Named(Box<NamedShape<'a>>),
    Line(LineShape<'a>),
}

/// The JSON form of folded tests.
#[derive(Serialize)]
struct FoldedShape<'a> {
    count: usize,
    paths: &'a [String],
}

/// The JSON form of a symbol, a reference or a file.
#[derive(Serialize, Default)]
pub(super) struct NamedShape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a str>,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<&'a str>,
    line_start: u32,
    line_end: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    qualified_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folded_tests: Option<FoldedShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_preview: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<RelatedShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_symbols: Vec<RelatedShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_by: Option<&'a str>,
    result_id: &'a str,
    result_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol_stable_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

/// The JSON form of a matching line.
#[derive(Serialize)]
pub(super) struct LineShape<'a> {
    result_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a str>,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<&'a str>,
    line_start: u32,
    line_end: u32,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'static str>,
    result_id: &'a str,
}

#[derive(Serialize)]
struct RelatedShape<'a> {
    kind: &'static str,
    name: &'a str,
    path: &'a str,
    line: u32,
}

/// The JSON form of `row` at this detail level.
pub(super) fn row(row: &ResultRow, detail: DetailLevel, compact: bool) -> RowShape<'_> {
    if row.result_type == ResultType::Line {
        return RowShape::Line(line(row, row.text.as_deref().unwrap_or_default(), compact));
    }
    let mut shown = NamedShape {
        workspace: row.workspace.as_ref().map(|name| name.short()),
        path: &row.path,
        root: row.root.as_deref(),
        line_start: row.line_start,
        line_end: row.line_end,
        kind: row.kind.map(|kind| kind.as_str()),
        name: &row.name,
        confirmed_by: row.confirmed_by.as_deref(),
        result_id: &row.result_id,
        result_type: row.result_type.as_str(),
        symbol_id: row.symbol_id.as_deref(),
        symbol_stable_id: row.symbol_stable_id.as_deref(),
        score: row.score,
        folded_tests: row.folded_tests.as_ref().map(|of| FoldedShape { count: of.count, paths: &of.paths }),
        ..NamedShape::default()
    };
    if detail != DetailLevel::Location {
        shown.qualified_name = row.qualified_name.as_deref();
        shown.signature = row.signature.as_deref();
        shown.language = row.language;
        shown.visibility = row.visibility.map(|visibility| visibility.as_str());
    }
    if detail == DetailLevel::Context {
        shown.parent = row.parent.as_ref().map(related);
        if !compact {
            shown.body_preview = row.body_preview.as_deref();
            shown.related_symbols = row.related.iter().map(related).collect();
        }
    }
    RowShape::Named(Box::new(shown))
}

/// The JSON form of the line `row` with `text` as its text.
pub(super) fn line<'a>(row: &'a ResultRow, text: &'a str, compact: bool) -> LineShape<'a> {
    LineShape {
        result_type: row.result_type.as_str(),
        workspace: row.workspace.as_ref().map(|name| name.short()),
        path: &row.path,
        root: row.root.as_deref(),
        line_start: row.line_start,
        line_end: row.line_end,
        text,
        before: (!compact).then_some(&row.before),
        after: (!compact).then_some(&row.after),
        language: row.language,
        result_id: &row.result_id,
    }
}

fn related(symbol: &RelatedSymbol) -> RelatedShape<'_> {
    RelatedShape { kind: symbol.kind.as_str(), name: &symbol.name, path: &symbol.path, line: symbol.line }
}

/// The JSON form of a suggested call.
#[derive(Serialize)]
pub(super) struct ActionShape<'a> {
    tool: &'static str,
    arguments: &'a serde_json::Value,
    reason: &'a str,
}

/// The JSON form of `action`.
pub(super) fn action(action: &NextAction) -> ActionShape<'_> {
    ActionShape { tool: action.tool, arguments: &action.arguments, reason: &action.reason }
}

/// The payload of `get_file_outline`.
#[derive(Serialize)]
pub(super) struct OutlineShape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a str>,
    file_path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'static str>,
    symbols: &'a [SymbolShape<'a>],
    metadata: MetadataShape<'a>,
}

/// The JSON form of an outline's symbol.
#[derive(Serialize)]
pub(super) struct SymbolShape<'a> {
    kind: &'static str,
    name: &'a str,
    line_start: u32,
    line_end: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<SymbolShape<'a>>,
}

/// The payload of `outline` with these symbols.
pub(super) fn outline<'a>(
    outline: &'a Outline,
    symbols: &'a [SymbolShape<'a>],
    metadata: MetadataShape<'a>,
) -> OutlineShape<'a> {
    let file_path = &*outline.path;
    let root = outline.root.as_deref();
    let workspace = outline.workspace.as_ref().map(|name| name.short());
    OutlineShape { workspace, file_path, root, language: outline.language, symbols, metadata }
}

/// The first symbols of an outline in the file's order, with the symbols that contain them.
pub(super) struct OutlinePrefix<'a> {
    pub(super) symbols: Vec<SymbolShape<'a>>,
    pub(super) count: usize,
    pub(super) last_line: u32,
}

/// At most the first `most` symbols of `outline`, and no deeper than [`MAX_OUTLINE_LEVELS`].
pub(super) fn first_symbols(outline: &Outline, most: usize) -> OutlinePrefix<'_> {
    let mut shown = OutlinePrefix { symbols: Vec::new(), count: 0, last_line: 0 };
    let levels = if outline.depth == OutlineDepth::Top { 1 } else { MAX_OUTLINE_LEVELS };
    shown.symbols = shown.take(&outline.symbols, levels, most);
    shown
}

impl<'a> OutlinePrefix<'a> {
    /// Takes symbols until there are `most`. `levels` bounds the recursion.
    fn take(&mut self, symbols: &'a [OutlineSymbol], levels: usize, most: usize) -> Vec<SymbolShape<'a>> {
        let mut taken = Vec::new();
        for symbol in symbols {
            if levels == 0 || self.count == most {
                break;
            }
            self.count += 1;
            self.last_line = symbol.line_start;
            taken.push(SymbolShape {
                kind: symbol.kind.as_str(),
                name: &symbol.name,
                line_start: symbol.line_start,
                line_end: symbol.line_end,
                visibility: symbol.visibility.as_deref(),
                signature: symbol.signature.as_deref(),
                children: self.take(&symbol.children, levels - 1, most),
            });
        }
        taken
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
