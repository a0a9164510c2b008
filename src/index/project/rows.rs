//! From what was found to rows.

use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::handles::{place_id, result_id, stable_id, stable_key, symbol_id};
use super::sources::Sources;
use super::view::View;
use super::{Here, Project};
use crate::base::limits::{MAX_CACHED_FACTS, MAX_PREVIEW_BYTES, MAX_PREVIEW_LINES, MAX_RELATED};
use crate::index::facts::{Facts, Role, Symbol};
use crate::index::manifest::{ContentNo, Entry};
use crate::index::ranked::{Hit, RankedAsk};
use crate::index::store::StoreError;
use crate::model::code::{DetailLevel, Related, ResultType, Row, SymbolKind, Weights};

/// Facts that were unpacked lately, by the index's incarnation and the content.
pub(super) struct FactsCache(Mutex<LruCache<(u64, ContentNo), Arc<Facts>>>);

impl Default for FactsCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_CACHED_FACTS)))
    }
}

impl Here<'_> {
    /// What is known of a content.
    pub(super) fn facts(&self, cache: &FactsCache, view: &View, content: ContentNo) -> Result<Arc<Facts>, StoreError> {
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

/// What rows are made from.
pub(super) struct Rows<'r> {
    pub project: &'r Project,
    pub here: &'r Here<'r>,
    pub view: &'r View,
    pub detail: DetailLevel,
    pub sources: Sources<'r>,
}

impl Rows<'_> {
    /// The row of a hit.
    pub fn row(&mut self, hit: &Hit) -> Result<Row, StoreError> {
        let entry = &self.view.manifest.entries()[hit.entry];
        let mut row = match hit.ordinal {
            Some(ordinal) => self.symbol(entry, ordinal)?,
            None => self.file(entry)?,
        };
        row.score = Some(hit.reasons.final_score);
        Ok(row)
    }

    /// The row of a symbol.
    pub fn symbol(&mut self, entry: &Entry, ordinal: u32) -> Result<Row, StoreError> {
        let facts = self.here.facts(&self.project.facts, self.view, entry.content)?;
        let at = ordinal as usize;
        let symbol = facts.symbols.get(at).ok_or(StoreError::Damaged)?;
        let hash = self.here.store.as_ref().map(|store| store.hash_of(entry.content)).transpose()?.flatten();
        let id = symbol_id(&hash.ok_or(StoreError::Damaged)?, ordinal, &entry.path);
        let mut row = Row {
            result_type: ResultType::Symbol,
            path: entry.path.to_string(),
            root: self.project.shown_root(),
            line_start: symbol.line_start,
            line_end: symbol.line_end,
            kind: Some(symbol.kind),
            name: symbol.name.clone(),
            result_id: result_id(&id),
            symbol_id: Some(id),
            symbol_stable_id: entry.language.map(|language| {
                let key = stable_key(language, &facts, at);
                let same = self.view.ranked.stable(key);
                let nth = same.iter().position(|(no, nth)| self.is_entry(*no, entry) && *nth == ordinal);
                stable_id(key, nth.unwrap_or(0))
            }),
            ..Row::default()
        };
        if self.detail != DetailLevel::Location {
            row.qualified_name = Some(facts.qualified_name(at));
            row.signature = Some(symbol.signature.clone()).filter(|signature| !signature.is_empty());
            row.language = entry.language.map(crate::index::Language::name);
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

    fn is_entry(&self, no: usize, entry: &Entry) -> bool {
        self.view.manifest.entries().get(no).is_some_and(|other| other.path == entry.path)
    }

    /// The row of a whole file.
    fn file(&mut self, entry: &Entry) -> Result<Row, StoreError> {
        let lines = self.sources.lines(self.view, entry).map_or(1, |lines| lines.len().max(1));
        let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
        let mut row = Row {
            result_type: ResultType::File,
            path: entry.path.to_string(),
            root: self.project.shown_root(),
            line_start: 1,
            line_end: u32::try_from(lines).unwrap_or(u32::MAX),
            kind: Some(SymbolKind::Module),
            name: name.to_owned(),
            result_id: place_id(&entry.path, 0, ""),
            ..Row::default()
        };
        if self.detail != DetailLevel::Location {
            row.language = entry.language.map(crate::index::Language::name);
        }
        if self.detail == DetailLevel::Context {
            row.body_preview =
                self.sources.preview(self.view, entry, 1, row.line_end, MAX_PREVIEW_LINES, MAX_PREVIEW_BYTES);
        }
        Ok(row)
    }

    fn preview(&mut self, entry: &Entry, symbol: &Symbol) -> Option<String> {
        let (from, to) = (symbol.line_start, symbol.line_end);
        self.sources.preview(self.view, entry, from, to, MAX_PREVIEW_LINES, MAX_PREVIEW_BYTES)
    }

    /// What a symbol names inside itself: first what stands in the same file, then what the whole manifest has just one of.
    fn related(&mut self, entry: &Entry, facts: &Facts, at: usize) -> Result<Vec<Related>, StoreError> {
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
    fn only(&self, name: &str) -> Result<Option<Related>, StoreError> {
        let ask = RankedAsk { text: name, kind: None, language: None, filter: None, limit: 2 };
        let found = self.view.ranked.locate(&ask, &Weights::default()).map_err(|_| StoreError::Damaged)?;
        let [hit] = found.hits.as_slice() else { return Ok(None) };
        let Some(ordinal) = hit.ordinal else { return Ok(None) };
        let facts = self.here.facts(&self.project.facts, self.view, hit.content)?;
        let symbol = facts.symbols.get(ordinal as usize).filter(|symbol| symbol.name == name);
        Ok(symbol.map(|symbol| of(symbol, &self.view.manifest.entries()[hit.entry])))
    }
}

fn of(symbol: &Symbol, entry: &Entry) -> Related {
    Related { kind: symbol.kind, name: symbol.name.clone(), path: entry.path.to_string(), line: symbol.line_start }
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
