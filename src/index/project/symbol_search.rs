//! Ranked search for symbols and files, and the lookup of symbols by name or handle.

use super::auto_search::NameMatch;
use super::line_search::{LineOrder, SearchScope};
use super::listing::listed;
use super::manifest_view::ManifestView;
use super::refusals::{index_unreachable, no_index, refusal_of_store_error, without_index};
use super::row_builder::RowBuilder;
use super::term_filter::TermFilter;
use super::test_folding::fold_tests;
use super::{CancelCheck, Project, QueryContext, path_filter};
use crate::handles::{SymbolId, is_of_path, parse_result_id, parse_stable_id, parse_symbol_id};
use crate::language::Language;
use crate::ranked::{RankedHit, RankedHits, RankedQuery, SymbolIndexError};
use crate::store::StoreError;
use codeyard_model::code::{
    CallArguments, CodeError, CodeRefusal, Completeness, DetailLevel, ExplainLevel, IndexingStatus, LocateBy,
    LocateQuery, NextAction, QueryIntent, RankingReasons, ResultRows, ResultType, RowOptions, SchemaStatus, SearchMode,
    SearchQuery, SymbolKind, tools,
};

/// Search for this many times the requested hits, because duplicates are removed and tests folded.
pub(super) const OVERFETCH_FACTOR: usize = 4;

impl Project {
    /// `search_code`.
    ///
    /// # Errors
    /// Those of `docs/internals/reference/contract-code.md#errors`.
    pub fn search(&self, query: &SearchQuery, is_cancelled: CancelCheck<'_>) -> Result<ResultRows, Box<CodeRefusal>> {
        let context = self.query_context(query.shape.reference.as_deref(), query.shape.freshness)?;
        let language = language(&query.shape, &context)?;
        let filter = path_filter::PathFilter::of(query, &context)?;
        let Some(view) = context.view.clone() else {
            return Ok(empty_answer(&query.shape, Some(Self::intent(query)), &context));
        };
        let scope = SearchScope { context: &context, view: &view, language, filter: &filter, is_cancelled };
        match query.mode {
            SearchMode::Auto | SearchMode::Symbol if query.is_listing() => {
                let found = listed(query, language, &filter, &context, &view)?;
                self.searched_rows(query, found, &context, &view)
            }
            SearchMode::Text | SearchMode::Regex => {
                let lines = self.lines(query, scope, LineOrder::Path)?;
                Ok(ResultRows { intent: Some(QueryIntent::NaturalLanguage), ..lines })
            }
            SearchMode::Symbol => self.search_ranked(query, scope).map(|(rows, _)| rows),
            SearchMode::Auto => self.search_auto(query, scope),
        }
    }

    /// The ranked rows of a query, and how its name was found.
    pub(super) fn search_ranked(
        &self,
        query: &SearchQuery,
        scope: SearchScope<'_>,
    ) -> Result<(ResultRows, NameMatch), Box<CodeRefusal>> {
        let SearchScope { context, view, language, filter, .. } = scope;
        let passes = |entry: &crate::ManifestEntry| filter.passes(entry);
        let ranked_query = RankedQuery {
            text: &query.text,
            kind: only_kind(query),
            language,
            filter: filter.restricts().then_some(&passes),
            files: query.mode != SearchMode::Symbol,
            limit: overfetched(query),
        };
        let mut found = view
            .ranked
            .search(&ranked_query, &self.settings().weights)
            .map_err(|error| refuse_symbol_index_error(&error, context))?;
        fold_tests(&mut found, view);
        let name = NameMatch {
            is_unknown: found.is_unknown_name,
            is_whole: found.is_whole_name,
            is_begun: found.is_begun_name,
        };
        Ok((self.searched_rows(query, found, context, view)?, name))
    }

    /// The rows of the hits of `search_code`.
    pub(super) fn searched_rows(
        &self,
        query: &SearchQuery,
        mut found: RankedHits,
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<ResultRows, Box<CodeRefusal>> {
        let intent = found.intent;
        let nearest = std::mem::take(&mut found.nearest);
        let is_unknown = found.is_unknown_name;
        let mut rows = self.restricted_rows(query, found, context, view)?;
        if is_unknown {
            let unknown = self.unknown_name(&query.text, &nearest, &rows.rows, context, view)?;
            rows.metadata.warnings.push(unknown.to_string());
            rows.metadata.warnings.sort();
        }
        rows.intent = Some(intent);
        rows.asked = query.into();
        rows.next = next_actions(query, &rows);
        Ok(rows)
    }

    /// `locate_symbol`.
    ///
    /// # Errors
    /// Those of [`Self::search`].
    pub fn locate(&self, query: &LocateQuery, _is_cancelled: CancelCheck<'_>) -> Result<ResultRows, Box<CodeRefusal>> {
        let context = self.query_context(query.shape.reference.as_deref(), query.shape.freshness)?;
        let language = language(&query.shape, &context)?;
        let Some(view) = context.view.clone() else {
            return match &query.by {
                LocateBy::Name(_) => Ok(empty_answer(&query.shape, None, &context)),
                LocateBy::SymbolId(_) | LocateBy::StableId(_) | LocateBy::ResultId(_) => Err(no_index(&context)),
            };
        };
        let (id, found, code) = match &query.by {
            LocateBy::Name(name) => {
                let limit = query.shape.limit * OVERFETCH_FACTOR;
                let ranked_query =
                    RankedQuery { text: name, kind: query.kind, language, filter: None, files: false, limit };
                let found = self.named(&ranked_query, &context, &view)?;
                let mut rows = self.ranked(found, &query.shape, &context, &view)?;
                if rows.rows.is_empty() {
                    rows.metadata.warnings.push(self.absent_name(name, query, &context, &view)?.to_string());
                    rows.metadata.warnings.sort();
                }
                return Ok(ResultRows { asked: query.into(), ..rows });
            }
            LocateBy::SymbolId(id) => {
                (id, self.by_id(parse_symbol_id(id), &context, &view)?, CodeError::SymbolNotFound)
            }
            LocateBy::StableId(id) => {
                let key = parse_stable_id(id);
                let found = key.and_then(|(key, nth)| view.ranked.stable(key).get(nth).copied());
                (id, found, CodeError::SymbolNotFound)
            }
            LocateBy::ResultId(id) => {
                (id, self.by_id(parse_result_id(id), &context, &view)?, CodeError::ResultNotFound)
            }
        };
        let Some((entry, ordinal)) = found else {
            let message = format!(
                "No symbol of this index has the handle '{}'. Get a new handle from locate_symbol by name, or from search_code.",
                id.chars().take(80).collect::<String>()
            );
            return Err(Box::new(CodeRefusal::new(code, message).with_metadata(context.metadata)));
        };
        let content = view.manifest.entries()[entry].content;
        let reasons = RankingReasons {
            exact_match_boost: 1.0,
            definition_boost: 1.0,
            final_score: 1.0,
            ..RankingReasons::default()
        };
        let hit = RankedHit { entry, content, ordinal: Some(ordinal), is_test: false, reasons };
        let found = RankedHits { hits: vec![hit], total: 1, ..RankedHits::default() };
        Ok(ResultRows { asked: query.into(), ..self.ranked(found, &query.shape, &context, &view)? })
    }

    fn by_id(
        &self,
        id: Option<SymbolId>,
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<Option<(usize, u32)>, Box<CodeRefusal>> {
        let (Some(id), Some(store)) = (id, &context.store) else { return Ok(None) };
        let contents = store.contents_with_prefix(&id.content).map_err(|error| refuse_store_error(&error, context))?;
        for content in contents {
            let entries = view.manifest.entries();
            let shown = view.manifest.with_content(content).find(|entry| is_of_path(&id, &entry.path));
            if let Some(shown) = shown
                && let Ok(at) = entries.binary_search_by(|entry| entry.path.cmp(&shown.path))
            {
                let facts =
                    context.facts(&self.facts, view, content).map_err(|error| refuse_store_error(&error, context))?;
                return Ok(Some((at, id.ordinal)).filter(|_| (id.ordinal as usize) < facts.symbols.len()));
            }
        }
        Ok(None)
    }

    /// The rows of ranked hits that fulfil the conditions of the query language.
    fn restricted_rows(
        &self,
        query: &SearchQuery,
        found: RankedHits,
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<ResultRows, Box<CodeRefusal>> {
        let Some(filter) = TermFilter::of_query(query, context)? else {
            return self.ranked(found, &query.shape, context, view);
        };
        let limit = query.shape.limit;
        let detail = query.shape.detail;
        // The conditions need the qualified names.
        let detail_built = if detail == DetailLevel::Location { DetailLevel::Signature } else { detail };
        let restricted = |built: usize| -> Result<ResultRows, Box<CodeRefusal>> {
            let shape = RowOptions { limit: built, detail: detail_built, ..query.shape.clone() };
            let mut rows = self.ranked(found.clone(), &shape, context, view)?;
            filter.restrict(&mut rows, limit);
            rows.detail = detail;
            Ok(rows)
        };
        let few = TermFilter::built_rows(limit);
        let most = TermFilter::most_built_rows(limit);
        let mut rows = restricted(few)?;
        if rows.rows.len() < limit && found.hits.len() > few {
            rows = restricted(most)?;
        }
        if rows.rows.len() < limit && found.hits.len() >= most && rows.total > rows.rows.len() {
            rows.metadata.warnings.push(TermFilter::too_many_hits(most));
            rows.metadata.warnings.sort();
        }
        Ok(rows)
    }

    /// The rows of ranked hits.
    pub(super) fn ranked(
        &self,
        mut found: RankedHits,
        shape: &RowOptions,
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<ResultRows, Box<CodeRefusal>> {
        let mut metadata = context.metadata.clone();
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
        let mut builder = RowBuilder::new(self, context, view, shape.detail);
        let mut rows = Vec::with_capacity(found.hits.len());
        for hit in &found.hits {
            let mut row = builder.row(hit).map_err(|error| refuse_store_error(&error, context))?;
            if row.kind == Some(SymbolKind::Use) {
                row.result_type = ResultType::Reference;
            }
            let folded = found.folded.as_ref().filter(|(of, _)| *of == (hit.entry, hit.ordinal));
            row.folded_tests = folded.map(|(_, tests)| tests.clone());
            rows.push(row);
        }
        metadata.warnings.extend(builder.warnings());
        metadata.warnings.sort();
        let level = shape.explain.unwrap_or(self.settings().explain);
        if level != ExplainLevel::Off {
            metadata.reasons = Some((level, found.hits.iter().map(|hit| hit.reasons).collect()));
        }
        Ok(ResultRows {
            rows,
            intent: None,
            total,
            next: Vec::new(),
            detail: shape.detail,
            compact: shape.compact,
            asked: CallArguments::default(),
            metadata,
        })
    }
}

/// The kind that all rows must have, if the query names one.
pub(super) fn only_kind(query: &SearchQuery) -> Option<SymbolKind> {
    match query.kinds().0.as_slice() {
        [kind] => Some(*kind),
        _ => None,
    }
}

/// The limit of hits: more than the limit of rows, because some are left out later.
pub(super) fn overfetched(query: &SearchQuery) -> usize {
    let limit = query.shape.limit;
    if query.restricts_rows() { TermFilter::most_built_rows(limit) } else { limit * OVERFETCH_FACTOR }
}

/// The answer when there is no index: no rows.
pub(super) fn empty_answer(shape: &RowOptions, intent: Option<QueryIntent>, context: &QueryContext) -> ResultRows {
    let mut metadata = context.metadata.clone();
    let is_wanted = metadata.indexing != IndexingStatus::Indexing && context.failure.is_none();
    metadata.warnings.push(without_index(context));
    let next = intent.filter(|_| is_wanted).map(|_| NextAction {
        tool: tools::INDEX,
        arguments: serde_json::json!({}),
        reason: "Nothing is indexed yet.".to_owned(),
    });
    let next = next.into_iter().collect();
    let rows = Vec::new();
    let asked = CallArguments::default();
    ResultRows { rows, intent, total: 0, next, detail: shape.detail, compact: shape.compact, asked, metadata }
}

pub(super) fn language(shape: &RowOptions, context: &QueryContext) -> Result<Option<Language>, Box<CodeRefusal>> {
    shape.language.as_deref().map(|name| language_named(name, context)).transpose()
}

/// The language of this name or synonym.
pub(super) fn language_named(name: &str, context: &QueryContext) -> Result<Language, Box<CodeRefusal>> {
    let known = || Language::ALL.iter().map(|language| language.name()).collect::<Vec<_>>().join(", ");
    let unknown = || {
        let message = format!(
            "Language '{}' is not supported. Supported languages: {}.",
            name.chars().take(40).collect::<String>(),
            known()
        );
        Box::new(
            CodeRefusal::new(CodeError::InvalidInput, message)
                .with("argument", "language")
                .with("reason", "unknown_language")
                .with("allowed", known())
                .with_metadata(context.metadata.clone()),
        )
    };
    Language::by_name(name).ok_or_else(unknown)
}

/// The refusal of an invalid_argument argument.
pub(super) fn invalid_argument(
    why: &str,
    argument: &str,
    reason: &str,
    allowed: &str,
    context: &QueryContext,
) -> Box<CodeRefusal> {
    let refusal = CodeRefusal::new(CodeError::InvalidInput, why).with("argument", argument).with("reason", reason);
    Box::new(refusal.with("allowed", allowed).with_metadata(context.metadata.clone()))
}

pub(super) fn refuse_store_error(error: &StoreError, context: &QueryContext) -> Box<CodeRefusal> {
    let mut metadata = context.metadata.clone();
    if matches!(error, StoreError::Damaged) {
        metadata.schema = SchemaStatus::CorruptManifest;
    }
    Box::new(refusal_of_store_error(error).with_metadata(metadata))
}

pub(super) fn refuse_symbol_index_error(error: &SymbolIndexError, context: &QueryContext) -> Box<CodeRefusal> {
    match error {
        SymbolIndexError::OtherFormat { .. } | SymbolIndexError::Damaged(_) => {
            refuse_store_error(&StoreError::Damaged, context)
        }
        other => Box::new(index_unreachable(other).with_metadata(context.metadata.clone())),
    }
}

/// The calls that show more of the first row, and the tests that are folded.
pub(super) fn next_actions(query: &SearchQuery, rows: &ResultRows) -> Vec<NextAction> {
    let mut next = Vec::new();
    match rows.rows.first() {
        None if query.is_listing() => {}
        None => next.push(NextAction {
            tool: tools::SEARCH,
            arguments: serde_json::json!({"query": query.text, "mode": "text"}),
            reason: "No symbol matches; search in lines instead.".to_owned(),
        }),
        Some(first) => {
            if first.result_type == ResultType::Symbol && query.shape.detail != DetailLevel::Context {
                next.push(NextAction {
                    tool: tools::LOCATE,
                    arguments: serde_json::json!({"symbol_id": first.symbol_id, "detail_level": "context"}),
                    reason: "Shows the start of the first result, its parent and what it uses.".to_owned(),
                });
            }
            next.push(NextAction {
                tool: tools::OUTLINE,
                arguments: serde_json::json!({"path": first.path}),
                reason: "Shows the other symbols of the first result's file.".to_owned(),
            });
        }
    }
    for folded in rows.rows.iter().filter_map(|row| row.folded_tests.as_ref()) {
        next.push(NextAction {
            tool: tools::SEARCH,
            arguments: serde_json::json!({"query": query.text, "paths": folded.paths}),
            reason: format!("Shows the {} folded tests.", folded.count + 1),
        });
    }
    next
}
