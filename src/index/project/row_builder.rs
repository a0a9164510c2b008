//! Builds the rows of answers.

use std::collections::{HashMap, hash_map};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::manifest_view::ManifestView;
use super::qualified_names::qualified_name;
use super::source_reader::SourceReader;
use super::{Project, QueryContext};
use crate::facts::{Facts, ReferenceRole, Symbol};
use crate::handles::{line_result_id, result_id, stable_id, stable_key, symbol_id};
use crate::language::Language;
use crate::limits::{MAX_CACHED_FACTS, MAX_RELATED};
use crate::manifest::{ContentNo, ManifestEntry};
use crate::ranked::{RankedHit, RankedQuery};
use crate::store::{LazyFacts, StoreError};
use codeyard_model::code::{DetailLevel, RelatedSymbol, ResultRow, ResultType, SymbolKind, Weights};

/// Recently decoded facts, by the database's random id and the content.
pub(super) struct FactsCache(Mutex<LruCache<(u64, ContentNo), Arc<Facts>>>);

impl Default for FactsCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_CACHED_FACTS)))
    }
}

impl QueryContext {
    /// The facts of a content; empty if it has none.
    pub(super) fn facts(
        &self,
        cache: &FactsCache,
        view: &ManifestView,
        content: ContentNo,
    ) -> Result<Arc<Facts>, StoreError> {
        let key = (view.stamp.database, content);
        if let Some(facts) = cache.0.lock().get(&key) {
            return Ok(facts.clone());
        }
        let found = self.store.as_ref().map(|store| store.facts(content)).transpose()?.flatten();
        // A content that isn't parsed yet may be the next time.
        let Some(found) = found else { return Ok(Arc::default()) };
        let facts = Arc::new(found);
        cache.0.lock().put(key, facts.clone());
        Ok(facts)
    }
}

impl Project {
    /// The root's path, if rows name it.
    pub(super) fn root_in_rows(&self) -> Option<String> {
        self.names_root.then(|| self.root.to_string_lossy().into_owned())
    }
}

/// Builds the rows of one query. What several rows need is read once.
pub(super) struct RowBuilder<'r> {
    project: &'r Project,
    context: &'r QueryContext,
    view: &'r ManifestView,
    detail: DetailLevel,
    sources: SourceReader<'r>,
    lazy: HashMap<ContentNo, LazyFacts>,
    /// The symbols of a stable key.
    by_stable_key: HashMap<u64, Vec<(usize, u32)>>,
}

impl<'r> RowBuilder<'r> {
    /// A builder of rows with these details.
    pub(super) fn new(
        project: &'r Project,
        context: &'r QueryContext,
        view: &'r ManifestView,
        detail: DetailLevel,
    ) -> Self {
        let lazy = HashMap::new();
        let by_stable_key = HashMap::new();
        Self { project, context, view, detail, sources: SourceReader::new(project), lazy, by_stable_key }
    }

    pub(super) fn row(&mut self, hit: &RankedHit) -> Result<ResultRow, StoreError> {
        let entry = &self.view.manifest.entries()[hit.entry];
        let mut row = match hit.ordinal {
            Some(ordinal) => self.symbol(hit.entry, ordinal)?,
            None => self.file(entry)?,
        };
        row.score = Some(hit.reasons.final_score);
        Ok(row)
    }

    /// The row of a symbol. `file` is the index of the manifest entry.
    pub(super) fn symbol(&mut self, file: usize, ordinal: u32) -> Result<ResultRow, StoreError> {
        let entry = &self.view.manifest.entries()[file];
        let (facts, at) = self.facts(entry, ordinal)?;
        let symbol = facts.symbols.get(at).ok_or(StoreError::Damaged)?;
        let hash = self.context.store.as_ref().map(|store| store.hash_of(entry.content)).transpose()?.flatten();
        let hash = hash.ok_or(StoreError::Damaged)?;
        let id = symbol_id(&hash, ordinal, &entry.path);
        let stable = entry.language.map(|language| {
            let key = stable_key(language, &facts, at);
            let by_stable_key = self.by_stable_key.entry(key).or_insert_with(|| self.view.ranked.stable(key));
            stable_id(key, by_stable_key.binary_search(&(file, ordinal)).unwrap_or(0))
        });
        let mut row = ResultRow {
            result_type: ResultType::Symbol,
            path: entry.path.to_string(),
            root: self.project.root_in_rows(),
            line_start: symbol.line_start,
            line_end: symbol.line_end,
            name_line: Some(symbol.name_line),
            kind: Some(symbol.kind),
            name: symbol.name.clone(),
            result_id: result_id(&id),
            symbol_id: Some(id),
            symbol_stable_id: stable,
            ..ResultRow::default()
        };
        if self.detail != DetailLevel::Location {
            let package = self.package(entry, &facts)?;
            let names = qualified_name(&facts, at, &self.view.manifest, entry, package.as_deref());
            (row.qualified_name, row.module) = (Some(names.0), names.1);
            row.signature = Some(symbol.signature.clone()).filter(|signature| !signature.is_empty());
            row.language = entry.language.map(crate::Language::name);
            row.visibility = Some(symbol.visibility);
        }
        if self.detail == DetailLevel::Context {
            row.body_preview = self.sources.preview(self.view, entry, &hash, symbol.line_start, symbol.line_end);
            row.parent = symbol
                .parent
                .and_then(|parent| facts.symbols.get(parent as usize))
                .map(|parent| related_symbol(parent, entry));
            row.related = self.related(entry, &facts, at)?;
        }
        Ok(row)
    }

    /// Facts that contain the symbol, and its index in them: the whole file if its facts are needed or cached, else
    /// the symbol's ancestry.
    fn facts(&mut self, entry: &ManifestEntry, ordinal: u32) -> Result<(Arc<Facts>, usize), StoreError> {
        let is_context = self.detail == DetailLevel::Context;
        if is_context || self.project.facts.0.lock().contains(&(self.view.stamp.database, entry.content)) {
            let facts = self.context.facts(&self.project.facts, self.view, entry.content)?;
            return Ok((facts, ordinal as usize));
        }
        let lazy = match self.lazy.entry(entry.content) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(place) => {
                let found =
                    self.context.store.as_ref().map(|store| store.lazy_facts(entry.content)).transpose()?.flatten();
                place.insert(found.ok_or(StoreError::Damaged)?)
            }
        };
        let ancestry = lazy.with_ancestors(ordinal)?.ok_or(StoreError::Damaged)?;
        let last = ancestry.symbols.len().saturating_sub(1);
        Ok((Arc::new(ancestry), last))
    }

    /// The package that a file of Go names at its top. `facts` may have only a symbol's ancestry.
    fn package(&mut self, entry: &ManifestEntry, facts: &Facts) -> Result<Option<String>, StoreError> {
        let of = |facts: &Facts| {
            facts.symbols.first().filter(|symbol| symbol.kind == SymbolKind::Module).map(|symbol| symbol.name.clone())
        };
        match self.lazy.get(&entry.content) {
            _ if entry.language != Some(Language::GO) => Ok(None),
            Some(lazy) => Ok(lazy.with_ancestors(0)?.as_ref().and_then(of)),
            None => Ok(of(facts)),
        }
    }

    fn file(&mut self, entry: &ManifestEntry) -> Result<ResultRow, StoreError> {
        let lines = self.sources.line_count(self.view, entry).map_or(1, |lines| lines.max(1));
        let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
        let mut row = ResultRow {
            result_type: ResultType::File,
            path: entry.path.to_string(),
            root: self.project.root_in_rows(),
            line_start: 1,
            line_end: u32::try_from(lines).unwrap_or(u32::MAX),
            name: name.to_owned(),
            result_id: line_result_id(&entry.path, 0, ""),
            ..ResultRow::default()
        };
        if self.detail != DetailLevel::Location {
            row.language = entry.language.map(crate::Language::name);
        }
        if self.detail == DetailLevel::Context {
            row.body_preview = self.sources.beginning(self.view, entry);
        }
        Ok(row)
    }

    /// What there is to know about the lines of the files that were read.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.sources.warnings()
    }

    /// The symbols that a symbol refers to: first those of the same file, then those with a unique definition in the
    /// manifest.
    fn related(&mut self, entry: &ManifestEntry, facts: &Facts, at: usize) -> Result<Vec<RelatedSymbol>, StoreError> {
        let mut names: Vec<(&str, ReferenceRole)> = Vec::new();
        for reference in &facts.references {
            let is_inside = reference.within.is_some_and(|within| is_inside_symbol(facts, within as usize, at));
            let is_new = !names.iter().any(|(name, _)| *name == reference.name);
            if is_inside && is_new && reference.name != facts.symbols[at].name && reference.role != ReferenceRole::Other
            {
                names.push((&reference.name, reference.role));
            }
        }
        // Types are more useful than calls.
        names.sort_by_key(|(_, role)| *role != ReferenceRole::Type && *role != ReferenceRole::Base);
        let mut in_file = Vec::new();
        let mut in_other_files = Vec::new();
        for (name, _) in names.iter().take(4 * MAX_RELATED) {
            let own = (0..facts.symbols.len()).find(|other| {
                let symbol = &facts.symbols[*other];
                symbol.name == *name && symbol.is_definition && symbol.kind != SymbolKind::Use && *other != at
            });
            if let Some(own) = own {
                in_file.push(related_symbol(&facts.symbols[own], entry));
            } else if in_file.len() + in_other_files.len() < MAX_RELATED {
                in_other_files.extend(self.unique_definition(name)?);
            }
            if in_file.len() >= MAX_RELATED {
                break;
            }
        }
        in_file.append(&mut in_other_files);
        in_file.truncate(MAX_RELATED);
        Ok(in_file)
    }

    /// The definition of this name, if there is exactly one.
    fn unique_definition(&self, name: &str) -> Result<Option<RelatedSymbol>, StoreError> {
        let query = RankedQuery { text: name, kind: None, language: None, filter: None, files: false, limit: 2 };
        let found = self.view.ranked.locate(&query, &Weights::default()).map_err(|_| StoreError::Damaged)?;
        let [hit] = found.hits.as_slice() else { return Ok(None) };
        let Some(ordinal) = hit.ordinal else { return Ok(None) };
        let facts = self.context.facts(&self.project.facts, self.view, hit.content)?;
        let symbol = facts.symbols.get(ordinal as usize).filter(|symbol| symbol.name == name);
        Ok(symbol.map(|symbol| related_symbol(symbol, &self.view.manifest.entries()[hit.entry])))
    }
}

fn related_symbol(symbol: &Symbol, entry: &ManifestEntry) -> RelatedSymbol {
    RelatedSymbol {
        kind: symbol.kind,
        name: symbol.name.clone(),
        path: entry.path.to_string(),
        line: symbol.line_start,
    }
}

/// Whether the symbol `inner` is `outer` or inside of it.
fn is_inside_symbol(facts: &Facts, inner: usize, outer: usize) -> bool {
    let mut at = Some(inner);
    while let Some(now) = at {
        if now == outer {
            return true;
        }
        // Ends, because a parent precedes its children.
        at = facts
            .symbols
            .get(now)
            .and_then(|symbol| symbol.parent)
            .map(|parent| parent as usize)
            .filter(|parent| *parent < now);
    }
    false
}
