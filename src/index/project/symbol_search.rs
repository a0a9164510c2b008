//! RankedHits search and the location of symbols.

use super::handles::{SymbolId, is_path, parse_result_id, parse_stable_id, parse_symbol_id};
use super::row_builder::RowBuilder;
use super::manifest_view::ManifestView;
use super::{CancelCheck, QueryContext, Project, broken, out_of_reach, path_filter};
use crate::language::Language;
use crate::ranked::{RankedHit, SymbolIndexError, RankedHits, RankedQuery, classify};
use crate::store::StoreError;
use codeyard_model::code::{
    CallArguments, CodeError, Completeness, ExplainLevel, QueryIntent, LocateBy, LocateQuery, AnswerMetadata, NextAction, RankingReasons,
    CodeRefusal, ResultType, ResultRows, SchemaStatus, SearchMode, SearchQuery, RowOptions, SymbolKind, tools,
};

/// Of so many times as many hits as are wanted, copies are sorted out.
const SPARE: usize = 3;

impl Project {
    /// `search_code`.
    ///
    /// # Errors
    /// As the contract's: nothing else than a [`CodeRefusal`] ends a question.
    pub fn search(&self, query: &SearchQuery, ends: CancelCheck<'_>) -> Result<ResultRows, Box<CodeRefusal>> {
        let here = self.here(query.shape.reference.as_deref(), query.shape.freshness)?;
        let language = language(&query.shape, &here)?;
        let filter = path_filter::PathFilter::new(&query.globs)
            .map_err(|why| invalid(&why, ("paths", "no_glob", "globs such as src/**/*.rs"), &here))?;
        let Some(view) = here.view.clone() else {
            return Ok(nothing(&query.shape, Some(classify(&query.text)), here.metadata));
        };
        let intent = match query.mode {
            SearchMode::Text | SearchMode::Regex => QueryIntent::NaturalLanguage,
            SearchMode::Auto | SearchMode::Symbol => classify(&query.text),
        };
        let lines_first = matches!(query.mode, SearchMode::Text | SearchMode::Regex)
            || query.mode == SearchMode::Auto && intent == QueryIntent::Error;
        if lines_first {
            let lines = self.lines(query, &here, &view, language, &filter, ends)?;
            if !lines.rows.is_empty() || query.mode != SearchMode::Auto {
                return Ok(ResultRows { intent: Some(intent), ..lines });
            }
        }
        let passes = |entry: &crate::ManifestEntry| filter.passes(&entry.path);
        let ask = RankedQuery {
            text: &query.text,
            kind: None,
            language,
            filter: (!query.globs.is_empty()).then_some(&passes),
            files: query.mode != SearchMode::Symbol,
            limit: query.shape.limit * SPARE,
        };
        let found =
            view.ranked.search(&ask, &self.settings().weights).map_err(|error| symbols_broken(&error, &here))?;
        if found.hits.is_empty() && query.mode == SearchMode::Auto && !lines_first {
            let lines = self.lines(query, &here, &view, language, &filter, ends)?;
            return Ok(ResultRows { intent: Some(intent), ..lines });
        }
        let mut rows = self.ranked(found, &query.shape, &here, &view)?;
        rows.intent = Some(intent);
        rows.asked = query.into();
        rows.next = next_actions(query, &rows);
        Ok(rows)
    }

    /// `locate_symbol`.
    ///
    /// # Errors
    /// As those of [`Self::search`].
    pub fn locate(&self, query: &LocateQuery, _ends: CancelCheck<'_>) -> Result<ResultRows, Box<CodeRefusal>> {
        let here = self.here(query.shape.reference.as_deref(), query.shape.freshness)?;
        let language = language(&query.shape, &here)?;
        let Some(view) = here.view.clone() else {
            return match &query.by {
                LocateBy::Name(_) => Ok(nothing(&query.shape, None, here.metadata)),
                _ => Err(not_ready(here.metadata)),
            };
        };
        let (text, code) = match &query.by {
            LocateBy::Name(name) => {
                let limit = query.shape.limit * SPARE;
                let ask = RankedQuery { text: name, kind: query.kind, language, filter: None, files: false, limit };
                let found = view
                    .ranked
                    .locate(&ask, &self.settings().weights)
                    .map_err(|error| symbols_broken(&error, &here))?;
                return Ok(ResultRows { asked: query.into(), ..self.ranked(found, &query.shape, &here, &view)? });
            }
            LocateBy::SymbolId(id) | LocateBy::StableId(id) => (id, CodeError::SymbolNotFound),
            LocateBy::ResultId(id) => (id, CodeError::ResultNotFound),
        };
        let found = match &query.by {
            LocateBy::StableId(id) => {
                parse_stable_id(id).and_then(|(key, nth)| view.ranked.stable(key).get(nth).copied())
            }
            LocateBy::ResultId(id) => self.by_id(parse_result_id(id), &here, &view)?,
            _ => self.by_id(parse_symbol_id(text), &here, &view)?,
        };
        let Some((entry, ordinal)) = found else {
            let message = format!(
                "Nothing in this index is named '{}' any more. Ask locate_symbol by name, or search_code, for a new handle.",
                text.chars().take(80).collect::<String>()
            );
            return Err(Box::new(CodeRefusal::new(code, message).beside(here.metadata)));
        };
        let content = view.manifest.entries()[entry].content;
        let reasons = RankingReasons { exact_match_boost: 1.0, definition_boost: 1.0, final_score: 1.0, ..RankingReasons::default() };
        let hit = RankedHit { entry, content, ordinal: Some(ordinal), reasons };
        let found = RankedHits { hits: vec![hit], total: 1, intent: QueryIntent::Symbol, is_truncated: false };
        Ok(ResultRows { asked: query.into(), ..self.ranked(found, &query.shape, &here, &view)? })
    }

    fn by_id(&self, id: Option<SymbolId>, here: &QueryContext<'_>, view: &ManifestView) -> Result<Option<(usize, u32)>, Box<CodeRefusal>> {
        let (Some(id), Some(store)) = (id, &here.store) else { return Ok(None) };
        let contents = store.contents_like(&id.content).map_err(|error| store_broken(&error, here))?;
        for content in contents {
            let entries = view.manifest.entries();
            let shown = view.manifest.showing(content).find(|entry| is_path(&id, &entry.path));
            if let Some(shown) = shown
                && let Ok(at) = entries.binary_search_by(|entry| entry.path.cmp(&shown.path))
            {
                let facts = here.facts(&self.facts, view, content).map_err(|error| store_broken(&error, here))?;
                return Ok(Some((at, id.ordinal)).filter(|_| (id.ordinal as usize) < facts.symbols.len()));
            }
        }
        Ok(None)
    }

    /// Rows of ranked hits.
    fn ranked(&self, mut found: RankedHits, shape: &RowOptions, here: &QueryContext<'_>, view: &ManifestView) -> Result<ResultRows, Box<CodeRefusal>> {
        let mut metadata = here.metadata.clone();
        let before = found.hits.len();
        let mut seen = std::collections::BTreeSet::new();
        found.hits.retain(|hit| hit.ordinal.is_none() || seen.insert((hit.content, hit.ordinal)));
        metadata.suppressed_duplicates = before - found.hits.len();
        let total = found.total.saturating_sub(metadata.suppressed_duplicates);
        found.hits.truncate(shape.limit);
        if found.is_truncated {
            metadata.safety_limit = Some("ranked_postings");
        }
        if total > found.hits.len() && metadata.completeness == Completeness::Complete {
            metadata.completeness = Completeness::Truncated;
        }
        let mut builder = RowBuilder::new(self, here, view, shape.detail);
        let mut rows = Vec::with_capacity(found.hits.len());
        for hit in &found.hits {
            let mut row = builder.row(hit).map_err(|error| store_broken(&error, here))?;
            if row.kind == Some(SymbolKind::Use) {
                row.result_type = ResultType::Reference;
            }
            rows.push(row);
        }
        let level = shape.explain.unwrap_or(self.settings().explain);
        if level != ExplainLevel::Off {
            metadata.reasons = Some((level, found.hits.iter().map(|hit| hit.reasons).collect()));
        }
        let (next, asked) = (Vec::new(), CallArguments::default());
        Ok(ResultRows { rows, intent: None, total, next, detail: shape.detail, compact: shape.compact, asked, metadata })
    }
}

/// An answer of no rows from no index.
fn nothing(shape: &RowOptions, intent: Option<QueryIntent>, mut metadata: AnswerMetadata) -> ResultRows {
    metadata
        .warnings
        .push("Nothing is indexed yet. Call index_repo, wait until index_status says ready, and ask again.".to_owned());
    let next = intent.map(|_| NextAction {
        tool: tools::INDEX,
        arguments: serde_json::json!({}),
        reason: "Nothing is indexed yet.".to_owned(),
    });
    let next = next.into_iter().collect();
    let (rows, asked) = (Vec::new(), CallArguments::default());
    ResultRows { rows, intent, total: 0, next, detail: shape.detail, compact: shape.compact, asked, metadata }
}

fn not_ready(metadata: AnswerMetadata) -> Box<CodeRefusal> {
    let message = "Nothing is indexed yet. Call index_repo, wait until index_status says ready, and ask again.";
    Box::new(CodeRefusal::new(CodeError::IndexNotReady, message).beside(metadata))
}

fn language(shape: &RowOptions, here: &QueryContext<'_>) -> Result<Option<Language>, Box<CodeRefusal>> {
    let Some(name) = &shape.language else { return Ok(None) };
    let known = || Language::ALL.iter().map(|language| language.name()).collect::<Vec<_>>().join(", ");
    let unknown = || {
        let message = format!(
            "'{}' is no language that is indexed. FileFacts are: {}.",
            name.chars().take(40).collect::<String>(),
            known()
        );
        Box::new(
            CodeRefusal::new(CodeError::InvalidInput, message)
                .with("argument", "language")
                .with("reason", "unknown_language")
                .with("allowed", known())
                .beside(here.metadata.clone()),
        )
    };
    Language::by_name(name).ok_or_else(unknown).map(Some)
}

/// The refusal of an argument that can't be read as what it is meant to be.
pub(super) fn invalid(why: &str, (argument, reason, allowed): (&str, &str, &str), here: &QueryContext<'_>) -> Box<CodeRefusal> {
    let refusal = CodeRefusal::new(CodeError::InvalidInput, why).with("argument", argument).with("reason", reason);
    Box::new(refusal.with("allowed", allowed).beside(here.metadata.clone()))
}

pub(super) fn store_broken(error: &StoreError, here: &QueryContext<'_>) -> Box<CodeRefusal> {
    let mut metadata = here.metadata.clone();
    if matches!(error, StoreError::Damaged) {
        metadata.schema = SchemaStatus::CorruptManifest;
    }
    Box::new(broken(error).beside(metadata))
}

fn symbols_broken(error: &SymbolIndexError, here: &QueryContext<'_>) -> Box<CodeRefusal> {
    match error {
        SymbolIndexError::Foreign { .. } | SymbolIndexError::Damaged(_) => store_broken(&StoreError::Damaged, here),
        other => Box::new(out_of_reach(other).beside(here.metadata.clone())),
    }
}

fn next_actions(query: &SearchQuery, rows: &ResultRows) -> Vec<NextAction> {
    let mut next = Vec::new();
    match rows.rows.first() {
        None => next.push(NextAction {
            tool: tools::SEARCH,
            arguments: serde_json::json!({"query": query.text, "mode": "text"}),
            reason: "No symbol fits; the text may stand in a line.".to_owned(),
        }),
        Some(first) => {
            if first.result_type == ResultType::Symbol
                && query.shape.detail != codeyard_model::code::DetailLevel::Context
            {
                next.push(NextAction {
                    tool: tools::LOCATE,
                    arguments: serde_json::json!({"symbol_id": first.symbol_id, "detail_level": "context"}),
                    reason: "Shows the first result's beginning, its parent and what it uses.".to_owned(),
                });
            }
            next.push(NextAction {
                tool: tools::OUTLINE,
                arguments: serde_json::json!({"path": first.path}),
                reason: "Shows what else the first result's file declares.".to_owned(),
            });
        }
    }
    next
}
