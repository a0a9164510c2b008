//! Answers a query that only filters: lists the files, or with `kind:` or `sym:` the symbols, that pass.
//!
//! Rows are in the order of their paths, then of the source, and have the score 0. Nothing is ranked, folded or searched as text instead.

use super::QueryContext;
use super::manifest_view::ManifestView;
use super::path_filter::PathFilter;
use super::symbol_search::{overfetched, refuse_symbol_index_error};
use super::term_filter::TermFilter;
use crate::ranked::{RankedHit, RankedHits, SymbolListing};
use crate::{Language, ManifestEntry};
use codeyard_model::code::{CodeRefusal, QueryIntent, RankingReasons, SearchMode, SearchQuery};

/// The files or symbols that pass the filters of a query. `language` is the argument of the call.
pub(super) fn listed(
    query: &SearchQuery,
    language: Option<Language>,
    filter: &PathFilter,
    context: &QueryContext,
    view: &ManifestView,
) -> Result<RankedHits, Box<CodeRefusal>> {
    if query.mode != SearchMode::Symbol {
        return Ok(files(
            query,
            |entry| filter.passes(entry) && language.is_none_or(|language| entry.language == Some(language)),
            view,
        ));
    }
    let names = TermFilter::of_query(query, context)?;
    let passes_name = |name: &str| names.as_ref().is_none_or(|names| names.passes_name(name));
    let (kinds, excluded_kinds) = query.kinds();
    let listing = SymbolListing {
        kinds: &kinds,
        excluded_kinds: &excluded_kinds,
        language,
        filter: &|entry| filter.passes(entry),
        name: query.has_name_expression().then_some(&passes_name),
        limit: overfetched(query),
    };
    view.ranked.list(listing).map_err(|error| refuse_symbol_index_error(&error, context))
}

fn files(query: &SearchQuery, passes: impl Fn(&ManifestEntry) -> bool, view: &ManifestView) -> RankedHits {
    let mut found = RankedHits { intent: QueryIntent::Path, ..RankedHits::default() };
    let limit = overfetched(query);
    for (at, entry) in view.manifest.entries().iter().enumerate().filter(|(_, entry)| passes(entry)) {
        found.total += 1;
        if found.hits.len() < limit {
            let content = entry.content;
            let is_test = entry.class.is_test;
            let reasons = RankingReasons::default();
            found.hits.push(RankedHit { entry: at, content, ordinal: None, is_test, reasons });
        }
    }
    found
}
