//! One root's part of a search over several roots, in steps, so that the caller can merge the results of all roots between them: first
//! the statistics, then the best hits, then the rows of those hits that are among the best of all.
//!
//! Invariants: all steps see one published manifest; a part whose root isn't indexed has no hits and no rows.

use std::sync::Arc;

use super::line_search::{LineOrder, SearchScope, mark_cut};
use super::listing::listed;
use super::manifest_view::ManifestView;
use super::path_filter::PathFilter;
use super::phrases::quoted_phrase;
use super::symbol_search::{self, OVERFETCH_FACTOR, only_kind, overfetched, refuse_symbol_index_error};
use super::term_filter::TermFilter;
use super::test_folding::fold_tests;
use super::unknown_names::{AbsentName, absent_phrase};
use super::{CancelCheck, Project, QueryContext};
use crate::ranked::{QueryStatistics, RankedHit, RankedHits, RankedQuery, classify};
use crate::{Language, ManifestEntry};
use codeyard_model::code::{
    AnswerMetadata, CodeRefusal, LocateBy, LocateQuery, QueryIntent, ResultRows, RowOptions, SearchMode, SearchQuery,
    SymbolKind,
};

/// What a part searches.
enum Subject {
    Search(Arc<SearchQuery>),
    Name(Arc<LocateQuery>),
}

/// One root's part of a search. It owns what it needs, so that a thread that a file system holds up can be left behind with it.
pub struct PartSearch {
    project: Arc<Project>,
    subject: Subject,
    context: QueryContext,
    language: Option<Language>,
    filter: PathFilter,
}

/// The place of a hit in the order of all parts: score, then path, then position in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct HitPlace {
    pub score: f64,
    /// The path of the file.
    pub path: Box<str>,
    /// The position among the symbols of the file; a file precedes its symbols.
    pub ordinal: Option<u32>,
}

/// The best hits of a part, best first.
#[derive(Default)]
pub struct PartHits {
    found: RankedHits,
    pub places: Vec<HitPlace>,
}

impl PartHits {
    fn new(found: RankedHits, view: &ManifestView) -> Self {
        let place = |hit: &RankedHit| HitPlace {
            score: hit.reasons.final_score,
            path: view.manifest.entries()[hit.entry].path.clone(),
            ordinal: hit.ordinal,
        };
        let places = found.hits.iter().map(place).collect();
        Self { found, places }
    }
}

impl Project {
    /// The intent of a query, which is the same for all roots.
    pub fn intent(query: &SearchQuery) -> QueryIntent {
        match query.mode {
            SearchMode::Text | SearchMode::Regex => QueryIntent::NaturalLanguage,
            SearchMode::Symbol if query.is_listing() => QueryIntent::Symbol,
            SearchMode::Auto if query.is_listing() => QueryIntent::Path,
            SearchMode::Auto | SearchMode::Symbol => classify(&query.text),
        }
    }

    /// Whether lines are the answer to a query, unless none matches: a message, or a phrase in quotation marks.
    pub fn begins_with_lines(query: &SearchQuery) -> bool {
        match query.mode {
            SearchMode::Text | SearchMode::Regex => true,
            SearchMode::Auto if query.is_listing() => false,
            SearchMode::Auto => Self::intent(query) == QueryIntent::Error || quoted_phrase(&query.text).is_some(),
            SearchMode::Symbol => false,
        }
    }

    /// The warning that no line contains the phrase of a query; `None` if it has no phrase.
    pub fn absent_phrase(query: &SearchQuery) -> Option<String> {
        let is_auto = query.mode == SearchMode::Auto && !query.is_listing();
        quoted_phrase(&query.text).filter(|_| is_auto).map(|phrase| absent_phrase(&phrase))
    }

    /// How many hits of all roots are compared with the terms of a query that ranking doesn't know; `None` if it has none.
    pub fn compared_hits(query: &SearchQuery) -> Option<usize> {
        query.restricts_rows().then(|| TermFilter::most_built_rows(query.shape.limit))
    }

    /// Marks an answer that lacks lines, because the time was up before all files were searched.
    pub fn mark_cut(metadata: &mut AnswerMetadata) {
        mark_cut(metadata);
    }

    /// The warning of an answer with too few rows, because no more than these hits were compared.
    pub fn too_many_hits(compared: usize) -> String {
        TermFilter::too_many_hits(compared)
    }

    /// Begins this root's part of `search_code`.
    ///
    /// # Errors
    /// Those of [`Self::search`].
    pub fn begin_search(self: &Arc<Self>, query: &Arc<SearchQuery>) -> Result<PartSearch, Box<CodeRefusal>> {
        self.begin_part(Subject::Search(query.clone()), &query.shape)
    }

    /// Begins this root's part of `locate_symbol` by name. A handle has no hits: [`Self::locate`] looks it up.
    ///
    /// # Errors
    /// Those of [`Self::locate`].
    pub fn begin_locate(self: &Arc<Self>, query: &Arc<LocateQuery>) -> Result<PartSearch, Box<CodeRefusal>> {
        self.begin_part(Subject::Name(query.clone()), &query.shape)
    }

    fn begin_part(self: &Arc<Self>, subject: Subject, shape: &RowOptions) -> Result<PartSearch, Box<CodeRefusal>> {
        let context = self.query_context(shape.reference.as_deref(), shape.freshness)?;
        let language = symbol_search::language(shape, &context)?;
        let filter = match &subject {
            Subject::Search(query) => PathFilter::of(query, &context)?,
            Subject::Name(_) => PathFilter::default(),
        };
        Ok(PartSearch { project: self.clone(), subject, context, language, filter })
    }

    /// Whether a manifest is in memory, so that a query need not load one.
    pub fn is_loaded(&self) -> bool {
        // Not even a lock of one that is just being replaced is waited for.
        self.views.try_lock().is_some_and(|views| !views.is_empty())
    }
}

/// The name that a query asks for; none if it asks for a handle.
fn name_of(query: &LocateQuery) -> &str {
    match &query.by {
        LocateBy::Name(name) => name,
        LocateBy::SymbolId(_) | LocateBy::StableId(_) | LocateBy::ResultId(_) => "",
    }
}

impl PartSearch {
    /// Whether there is an index to search.
    pub fn is_indexed(&self) -> bool {
        self.context.view.is_some()
    }

    /// How often the features of the query occur.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn statistics(&self) -> Result<QueryStatistics, Box<CodeRefusal>> {
        // Scores of `locate_symbol` don't depend on frequencies.
        let (Some(view), Subject::Search(_), false) = (&self.context.view, &self.subject, self.is_listing()) else {
            return Ok(Default::default());
        };
        self.ranked_query(|query| {
            view.ranked.statistics(query).map_err(|error| refuse_symbol_index_error(&error, &self.context))
        })
    }

    /// The best hits, scored with the sums of the statistics of all parts.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn hits(&self, sums: &QueryStatistics) -> Result<PartHits, Box<CodeRefusal>> {
        let Some(view) = &self.context.view else {
            return Ok(PartHits::default());
        };
        if let Subject::Search(query) = &self.subject
            && query.is_listing()
        {
            let found = listed(query, self.language, &self.filter, &self.context, view)?;
            return Ok(PartHits::new(found, view));
        }
        let weights = self.project.settings().weights;
        let mut found = self.ranked_query(|query| match &self.subject {
            Subject::Search(_) => {
                let found = view.ranked.search_among(query, &weights, Some(sums));
                found.map_err(|error| refuse_symbol_index_error(&error, &self.context))
            }
            Subject::Name(_) => self.project.named(query, &self.context, view),
        })?;
        if matches!(&self.subject, Subject::Search(_)) {
            fold_tests(&mut found, view);
        }
        Ok(PartHits::new(found, view))
    }

    /// The rows of the first `count` of these hits. The total counts all.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn rows(&self, hits: PartHits, count: usize) -> Result<ResultRows, Box<CodeRefusal>> {
        let shape = self.shape();
        let Some(view) = &self.context.view else {
            return Ok(symbol_search::empty_answer(shape, None, &self.context));
        };
        let mut found = hits.found;
        found.hits.truncate(count);
        match &self.subject {
            Subject::Search(query) => self.project.searched_rows(query, found, &self.context, view),
            Subject::Name(query) => {
                let rows = self.project.ranked(found, shape, &self.context, view)?;
                Ok(ResultRows { asked: (&**query).into(), ..rows })
            }
        }
    }

    /// The matching lines from `offset`, at most `limit`. The total counts all.
    ///
    /// # Errors
    /// The query is no valid pattern, or the index is damaged.
    pub fn lines(
        &self,
        offset: usize,
        limit: usize,
        is_cancelled: CancelCheck<'_>,
    ) -> Result<ResultRows, Box<CodeRefusal>> {
        let (Some(view), Subject::Search(query)) = (&self.context.view, &self.subject) else {
            return Ok(symbol_search::empty_answer(self.shape(), None, &self.context));
        };
        let mut query = SearchQuery { offset, ..SearchQuery::clone(query) };
        query.shape.limit = limit;
        let filter = &self.filter;
        let scope = SearchScope { context: &self.context, view, language: self.language, filter, is_cancelled };
        let found = match query.mode {
            SearchMode::Auto => self.project.message_lines(&query, scope)?,
            SearchMode::Text | SearchMode::Regex | SearchMode::Symbol => {
                self.project.lines(&query, scope, LineOrder::Path)?
            }
        };
        Ok(ResultRows { intent: Some(Project::intent(&query)), ..found })
    }

    /// Which names are nearly the requested one, if the index has no symbol of that name, kind and language. `None`: there is no
    /// index to search, or the query isn't one name.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn absent_name(&self) -> Result<Option<AbsentName>, Box<CodeRefusal>> {
        let Some(view) = &self.context.view else { return Ok(None) };
        match &self.subject {
            Subject::Name(query) => self.project.absent_name(name_of(query), query, &self.context, view).map(Some),
            Subject::Search(query) if query.is_listing() => Ok(None),
            Subject::Search(query) => {
                let by = LocateBy::Name(query.text.clone());
                let query = LocateQuery { by, kind: None, shape: query.shape.clone() };
                self.project.nearest_names(&query, &self.context, view).map(Some)
            }
        }
    }

    fn is_listing(&self) -> bool {
        matches!(&self.subject, Subject::Search(query) if query.is_listing())
    }

    fn shape(&self) -> &RowOptions {
        match &self.subject {
            Subject::Search(query) => &query.shape,
            Subject::Name(query) => &query.shape,
        }
    }

    fn ranked_query<T>(
        &self,
        ask: impl FnOnce(&RankedQuery<'_>) -> Result<T, Box<CodeRefusal>>,
    ) -> Result<T, Box<CodeRefusal>> {
        let passes = |entry: &ManifestEntry| self.filter.passes(entry);
        let (text, kind, files, has_filter): (&str, Option<SymbolKind>, bool, bool) = match &self.subject {
            Subject::Search(query) => {
                (&query.text, only_kind(query), query.mode != SearchMode::Symbol, self.filter.restricts())
            }
            Subject::Name(query) => (name_of(query), query.kind, false, false),
        };
        let query = RankedQuery {
            text,
            kind,
            language: self.language,
            filter: has_filter.then_some(&passes),
            files,
            limit: match &self.subject {
                Subject::Search(query) => overfetched(query),
                Subject::Name(query) => query.shape.limit * OVERFETCH_FACTOR,
            },
        };
        ask(&query)
    }
}
