//! The places of one name in a source, and which of them are local to a function.
//!
//! A name that a function binds is local there: it isn't a use of the symbol of that name. Invariant: places are in the order of the file.

use std::collections::{BTreeMap, BTreeSet};

use super::code_names::CodeName;
use crate::facts::Facts;
use codeyard_model::code::SymbolKind;

/// The places of one name in a file, without those where a symbol is declared.
pub struct NamePlaces {
    /// Each with the innermost function around its line.
    places: Vec<(CodeName, Option<usize>)>,
    /// The first place in each function, and in the code outside of functions. Members of something aren't names of a function.
    first: BTreeMap<Option<usize>, CodeName>,
}

impl NamePlaces {
    /// All `places` of a name in the source of `facts`, in order.
    pub fn of(facts: &Facts, places: Vec<CodeName>) -> Self {
        let places = with_functions(facts, undeclared(facts, places));
        let mut first = BTreeMap::new();
        for (place, function) in places.iter().filter(|(place, _)| !place.is_member) {
            first.entry(*function).or_insert(*place);
        }
        Self { places, first }
    }

    fn is_bound_in(&self, function: Option<usize>) -> bool {
        self.first.get(&function).is_some_and(|first| first.binds)
    }

    /// The places that aren't local to a function.
    pub fn uses(&self) -> Vec<CodeName> {
        let is_local = |function: Option<usize>| function.is_some() && self.is_bound_in(function);
        let uses = self.places.iter().filter(|(place, function)| place.is_member || !is_local(*function));
        uses.map(|(place, _)| *place).collect()
    }

    /// The places of the local name at a line, from 1, and column, in the function around it; the first one binds it. `None`: it isn't a
    /// local name.
    pub fn local(&self, facts: &Facts, name: &str, line: u32, column: u32) -> Option<Vec<CodeName>> {
        let function = facts.enclosing_function(facts.innermost(line));
        // Outside of functions, a later assignment doesn't hide the symbol of the file.
        let is_symbol = || facts.symbols.iter().any(|symbol| symbol.name == name);
        if function.is_none() && is_symbol() {
            return None;
        }
        let is_here = |place: &CodeName| (place.line, place.column) == (line, column);
        if !self.is_bound_in(function) || !self.places.iter().any(|(place, _)| is_here(place)) {
            return None;
        }
        let is_same = |own: Option<usize>| own == function || function.is_none() && !self.is_bound_in(own);
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
fn with_functions(facts: &Facts, places: Vec<CodeName>) -> Vec<(CodeName, Option<usize>)> {
    if places.is_empty() {
        return Vec::new();
    }
    let innermost = facts.innermost_of(places.iter().map(|place| place.line));
    let functions = innermost.into_iter().map(|symbol| facts.enclosing_function(symbol));
    places.into_iter().zip(functions).collect()
}
