//! From what was found to rows.

use std::collections::{HashMap, hash_map};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::handles::{place_id, result_id, stable_id, stable_key, symbol_id};
use super::source_reader::SourceReader;
use super::manifest_view::ManifestView;
use super::{QueryContext, Project};
use crate::facts::{Facts, Role, Symbol};
use crate::limits::{MAX_CACHED_FACTS, MAX_PREVIEW_BYTES, MAX_PREVIEW_LINES, MAX_RELATED};
use crate::manifest::{ContentNo, ManifestEntry};
use crate::ranked::{RankedHit, RankedQuery};
use crate::store::{LazyFacts, StoreError};
use codeyard_model::code::{DetailLevel, RelatedSymbol, ResultType, ResultRow, SymbolKind, Weights};

/// Facts that were unpacked lately, by the index's incarnation and the content.
pub(super) struct FactsCache(Mutex<LruCache<(u64, ContentNo), Arc<Facts>>>);

impl Default for FactsCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_CACHED_FACTS)))
    }
}

impl FactsCache {
    fn has(&self, key: (u64, ContentNo)) -> bool {
        self.0.lock().contains(&key)
    }
}

impl QueryContext<'_> {
    /// What is known of a content.
    pub(super) fn facts(&self, cache: &FactsCache, view: &ManifestView, content: ContentNo) -> Result<Arc<Facts>, StoreError> {
        let key = (view.stamp.1, content);
        if let Some(facts) = cache.0.lock().get(&key) {
            return Ok(facts.clone());
        }
        let found = self.store.as_ref().map(|store| store.facts(content)).transpose()?.flatten();
        let facts = Arc::new(found.unwrap_or_default());
        cache.0.lock().put(key, facts.clone());
        Ok(facts)
    }
}

/// What rows are made from. Of one question: what several rows need is read once.
pub(super) struct RowBuilder<'r> {
    project: &'r Project,
    here: &'r QueryContext<'r>,
    view: &'r ManifestView,
    detail: DetailLevel,
    sources: SourceReader<'r>,
    folded: HashMap<ContentNo, LazyFacts>,
    /// By stable key: the symbols that have it.
    same: HashMap<u64, Vec<(usize, u32)>>,
}

impl<'r> RowBuilder<'r> {
    /// For rows with these details.
    pub(super) fn new(project: &'r Project, here: &'r QueryContext<'r>, view: &'r ManifestView, detail: DetailLevel) -> Self {
        let (folded, same) = (HashMap::new(), HashMap::new());
        Self { project, here, view, detail, sources: SourceReader::new(project), folded, same }
    }

    /// The row of a hit.
    pub(super) fn row(&mut self, hit: &RankedHit) -> Result<ResultRow, StoreError> {
        let entry = &self.view.manifest.entries()[hit.entry];
        let mut row = match hit.ordinal {
            Some(ordinal) => self.symbol(hit.entry, ordinal)?,
            None => self.file(entry)?,
        };
        row.score = Some(hit.reasons.final_score);
        Ok(row)
    }

    /// The row of a symbol of the file at this place of the manifest.
    pub(super) fn symbol(&mut self, file: usize, ordinal: u32) -> Result<ResultRow, StoreError> {
        let entry = &self.view.manifest.entries()[file];
        let (facts, at) = self.facts(entry, ordinal)?;
        let symbol = facts.symbols.get(at).ok_or(StoreError::Damaged)?;
        let hash = self.here.store.as_ref().map(|store| store.hash_of(entry.content)).transpose()?.flatten();
        let id = symbol_id(&hash.ok_or(StoreError::Damaged)?, ordinal, &entry.path);
        let stable = entry.language.map(|language| {
            let key = stable_key(language, &facts, at);
            let same = self.same.entry(key).or_insert_with(|| self.view.ranked.stable(key));
            stable_id(key, same.binary_search(&(file, ordinal)).unwrap_or(0))
        });
        let mut row = ResultRow {
            result_type: ResultType::Symbol,
            path: entry.path.to_string(),
            root: self.project.shown_root(),
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
            row.qualified_name = Some(facts.qualified_name(at));
            row.signature = Some(symbol.signature.clone()).filter(|signature| !signature.is_empty());
            row.language = entry.language.map(crate::Language::name);
            row.visibility = Some(symbol.visibility);
        }
        if self.detail == DetailLevel::Context {
            row.body_preview = self.preview(entry, symbol);
            row.parent =
                symbol.parent.and_then(|parent| facts.symbols.get(parent as usize)).map(|parent| of(parent, entry));
            row.related = self.related(entry, &facts, at)?;
        }
        Ok(row)
    }

    /// Facts that hold the symbol, and where: all of the file where they are wanted or at hand, else what it stands in.
    fn facts(&mut self, entry: &ManifestEntry, ordinal: u32) -> Result<(Arc<Facts>, usize), StoreError> {
        let is_context = self.detail == DetailLevel::Context;
        if is_context || self.project.facts.has((self.view.stamp.1, entry.content)) {
            let facts = self.here.facts(&self.project.facts, self.view, entry.content)?;
            return Ok((facts, ordinal as usize));
        }
        let folded = match self.folded.entry(entry.content) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(place) => {
                let found = self.here.store.as_ref().map(|store| store.lazy_facts(entry.content)).transpose()?.flatten();
                place.insert(found.ok_or(StoreError::Damaged)?)
            }
        };
        let lineage = folded.lineage(ordinal)?.ok_or(StoreError::Damaged)?;
        let last = lineage.symbols.len().saturating_sub(1);
        Ok((Arc::new(lineage), last))
    }

    /// The row of a whole file.
    fn file(&mut self, entry: &ManifestEntry) -> Result<ResultRow, StoreError> {
        let lines = self.sources.lines(self.view, entry).map_or(1, |lines| lines.len().max(1));
        let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
        let mut row = ResultRow {
            result_type: ResultType::File,
            path: entry.path.to_string(),
            root: self.project.shown_root(),
            line_start: 1,
            line_end: u32::try_from(lines).unwrap_or(u32::MAX),
            name: name.to_owned(),
            result_id: place_id(&entry.path, 0, ""),
            ..ResultRow::default()
        };
        if self.detail != DetailLevel::Location {
            row.language = entry.language.map(crate::Language::name);
        }
        if self.detail == DetailLevel::Context {
            row.body_preview =
                self.sources.preview(self.view, entry, 1, row.line_end, MAX_PREVIEW_LINES, MAX_PREVIEW_BYTES);
        }
        Ok(row)
    }

    fn preview(&mut self, entry: &ManifestEntry, symbol: &Symbol) -> Option<String> {
        let (from, to) = (symbol.line_start, symbol.line_end);
        self.sources.preview(self.view, entry, from, to, MAX_PREVIEW_LINES, MAX_PREVIEW_BYTES)
    }

    /// What a symbol names inside itself: first what stands in the same file, then what the whole manifest has just one of.
    fn related(&mut self, entry: &ManifestEntry, facts: &Facts, at: usize) -> Result<Vec<RelatedSymbol>, StoreError> {
        let mut names: Vec<(&str, Role)> = Vec::new();
        for reference in &facts.references {
            let is_inside = reference.within.is_some_and(|within| is_within(facts, within as usize, at));
            let is_new = !names.iter().any(|(name, _)| *name == reference.name);
            if is_inside && is_new && reference.name != facts.symbols[at].name && reference.role != Role::Other {
                names.push((&reference.name, reference.role));
            }
        }
        // Types say more than calls.
        names.sort_by_key(|(_, role)| *role != Role::Type && *role != Role::Base);
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (name, _) in names.iter().take(4 * MAX_RELATED) {
            let own = (0..facts.symbols.len()).find(|other| {
                let symbol = &facts.symbols[*other];
                symbol.name == *name && symbol.is_definition && symbol.kind != SymbolKind::Use && *other != at
            });
            if let Some(own) = own {
                near.push(of(&facts.symbols[own], entry));
            } else if near.len() + far.len() < MAX_RELATED {
                far.extend(self.only(name)?);
            }
            if near.len() >= MAX_RELATED {
                break;
            }
        }
        near.append(&mut far);
        near.truncate(MAX_RELATED);
        Ok(near)
    }

    /// The one definition of this name, if there is just one.
    fn only(&self, name: &str) -> Result<Option<RelatedSymbol>, StoreError> {
        let ask = RankedQuery { text: name, kind: None, language: None, filter: None, files: false, limit: 2 };
        let found = self.view.ranked.locate(&ask, &Weights::default()).map_err(|_| StoreError::Damaged)?;
        let [hit] = found.hits.as_slice() else { return Ok(None) };
        let Some(ordinal) = hit.ordinal else { return Ok(None) };
        let facts = self.here.facts(&self.project.facts, self.view, hit.content)?;
        let symbol = facts.symbols.get(ordinal as usize).filter(|symbol| symbol.name == name);
        Ok(symbol.map(|symbol| of(symbol, &self.view.manifest.entries()[hit.entry])))
    }
}

fn of(symbol: &Symbol, entry: &ManifestEntry) -> RelatedSymbol {
    RelatedSymbol { kind: symbol.kind, name: symbol.name.clone(), path: entry.path.to_string(), line: symbol.line_start }
}

/// Whether the symbol `inner` is `outer` or stands in it.
fn is_within(facts: &Facts, inner: usize, outer: usize) -> bool {
    let mut at = Some(inner);
    while let Some(now) = at {
        if now == outer {
            return true;
        }
        // A parent stands before its children, so this ends.
        at = facts
            .symbols
            .get(now)
            .and_then(|symbol| symbol.parent)
            .map(|parent| parent as usize)
            .filter(|parent| *parent < now);
    }
    false
}
