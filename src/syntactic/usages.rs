//! The uses of a name in code that the facts don't hold: plain uses, names in templates, and local names.
//!
//! A name that a function binds is local there: it isn't a use of the symbol of that name. Invariants: only a bounded amount of text is
//! read for one request, the file of the question first; places are in the order of the file.

use std::collections::{BTreeMap, BTreeSet};

use super::cursor_context::{CursorContext, enclosing_function, innermost_symbol, innermost_symbols};
use super::fact_source::FactSource;
use codeyard_index::Facts;
use codeyard_index::extract::{CodeName, names_in_code};
use codeyard_index::project::navigator::FileFacts;
use codeyard_model::code::SymbolKind;

/// Bytes of source that are read for the uses of one name.
const MAX_SCANNED_BYTES: usize = 4 * 1024 * 1024;

/// Finds the places of one name, within a budget of bytes.
pub(crate) struct UsageScan<'s> {
    source: &'s dyn FactSource,
    word: &'s str,
    left: usize,
}

impl<'s> UsageScan<'s> {
    pub(crate) fn new(source: &'s dyn FactSource, word: &'s str) -> Self {
        Self { source, word, left: MAX_SCANNED_BYTES }
    }

    /// The places of the name in a file. None if too much was read before.
    pub(crate) fn read(&mut self, file: &FileFacts) -> NamePlaces {
        NamePlaces::of(&file.facts, self.places(file))
    }

    /// The places of the name in a file, without those where a symbol is declared.
    fn places(&mut self, file: &FileFacts) -> Vec<CodeName> {
        if self.left == 0 {
            return Vec::new();
        }
        let Some(language) = file.language.filter(|language| language.is_code()) else { return Vec::new() };
        let Some(document) = self.source.text(&file.path) else { return Vec::new() };
        let text = document.text();
        if text.len() > self.left {
            self.left = 0;
            return Vec::new();
        }
        self.left -= text.len();
        undeclared(&file.facts, names_in_code(language, text, self.word))
    }
}

/// The places of the local name at the cursor, as [`NamePlaces::local`].
pub(crate) fn local_places(
    source: &dyn FactSource,
    current: &FileFacts,
    cursor: &CursorContext,
) -> Option<Vec<CodeName>> {
    if !may_be_local(cursor) {
        return None;
    }
    UsageScan::new(source, &cursor.word).read(current).local(&current.facts, cursor)
}

fn may_be_local(cursor: &CursorContext) -> bool {
    cursor.declared.is_none() && !cursor.is_member
}

/// The places of one name in a file, without those where a symbol is declared.
pub(crate) struct NamePlaces {
    /// Each with the innermost function around its line.
    places: Vec<(CodeName, Option<usize>)>,
    /// The first place in each function, and in the code outside of functions. Members of something aren't names of a function.
    first: BTreeMap<Option<usize>, CodeName>,
}

impl NamePlaces {
    /// `places` are in order.
    fn of(facts: &Facts, places: Vec<CodeName>) -> Self {
        let places = with_scopes(facts, places);
        let mut first = BTreeMap::new();
        for (place, scope) in places.iter().filter(|(place, _)| !place.is_member) {
            first.entry(*scope).or_insert(*place);
        }
        Self { places, first }
    }

    fn is_bound_in(&self, scope: Option<usize>) -> bool {
        self.first.get(&scope).is_some_and(|first| first.binds)
    }

    /// The places that aren't local to a function.
    pub(crate) fn uses(&self) -> Vec<CodeName> {
        let is_local = |scope: Option<usize>| scope.is_some() && self.is_bound_in(scope);
        let uses = self.places.iter().filter(|(place, scope)| place.is_member || !is_local(*scope));
        uses.map(|(place, _)| *place).collect()
    }

    /// The places of the local name at the cursor, in the function around it; the first one binds it. `None`: it isn't a local name.
    pub(crate) fn local(&self, facts: &Facts, cursor: &CursorContext) -> Option<Vec<CodeName>> {
        if !may_be_local(cursor) {
            return None;
        }
        let scope = enclosing_function(facts, innermost_symbol(facts, cursor.line + 1));
        // Outside of functions, a later assignment doesn't hide the symbol of the file.
        let is_symbol = || facts.symbols.iter().any(|symbol| symbol.name == cursor.word);
        if scope.is_none() && is_symbol() {
            return None;
        }
        let is_here = |place: &CodeName| (place.line, place.column) == (cursor.line + 1, cursor.column);
        if !self.is_bound_in(scope) || !self.places.iter().any(|(place, _)| is_here(place)) {
            return None;
        }
        let is_same = |own: Option<usize>| own == scope || scope.is_none() && !self.is_bound_in(own);
        let same = self.places.iter().filter(|(place, own)| !place.is_member && is_same(*own));
        Some(same.map(|(place, _)| *place).collect())
    }
}

fn undeclared(facts: &Facts, mut places: Vec<CodeName>) -> Vec<CodeName> {
    let symbols = facts.symbols.iter().filter(|symbol| symbol.kind != SymbolKind::Use);
    let declared: BTreeSet<(u32, u32)> = symbols.map(|symbol| (symbol.name_line, symbol.name_column)).collect();
    places.retain(|place| !declared.contains(&(place.line, place.column)));
    places
}

/// Places in order, each with the innermost function around its line.
fn with_scopes(facts: &Facts, places: Vec<CodeName>) -> Vec<(CodeName, Option<usize>)> {
    if places.is_empty() {
        return Vec::new();
    }
    let innermost = innermost_symbols(facts, places.iter().map(|place| place.line));
    let scopes = innermost.into_iter().map(|symbol| enclosing_function(facts, symbol));
    places.into_iter().zip(scopes).collect()
}
