//! The names that a source uses without calling, importing or extending them, and without using them as types: constants, attributes,
//! functions that are handed on.
//!
//! [`NamePlaces`](super::NamePlaces) says the same of one name, with its places, from the text; the facts hold only which names there
//! are, so that a question about a name needs no text. A test compares the two.

use std::collections::{HashMap, HashSet};

use tree_sitter::Tree;

use super::c_macros;
use super::code_names::is_member;
use super::grammar::CompiledGrammar;
use crate::facts::{Facts, NameDigest, NameSet};
use crate::language::Language;
use codeyard_model::code::SymbolKind;

/// A name in code.
#[derive(Debug, Clone, Copy)]
struct NamePlace {
    name: NameDigest,
    /// From 1.
    line: u32,
    binds: bool,
    is_member: bool,
    is_label: bool,
}

/// The places of all names in a source, in order.
pub(super) struct AllNames(Vec<NamePlace>);

impl AllNames {
    /// Reads them from the tree of `text`, which has blanks where the grammar can't read `source`.
    pub(super) fn read(language: Language, compiled: &CompiledGrammar, tree: &Tree, text: &str, source: &str) -> Self {
        let mut places = Vec::new();
        if !language.is_code() {
            return Self(places);
        }
        compiled.name_context.each_leaf(tree, |leaf| {
            let name = text.get(leaf.node.byte_range()).filter(|name| is_name(name) && leaf.is_code(language));
            if let Some(name) = name {
                let row = u32::try_from(leaf.node.start_position().row).unwrap_or(u32::MAX);
                places.push(NamePlace {
                    name: NameDigest::of(name),
                    line: row.saturating_add(1),
                    binds: leaf.binds(language),
                    is_member: is_member(&text[..leaf.node.start_byte()]),
                    is_label: leaf.is_label(),
                });
            }
        });
        if matches!(language, Language::C | Language::CPP) {
            // These are code for the preprocessor.
            let hidden = c_macros::blanked_words(source, text).map(|(line, name)| NamePlace {
                name: NameDigest::of(name),
                line,
                binds: false,
                is_member: false,
                is_label: false,
            });
            places.extend(hidden);
            places.sort_by_key(|place| place.line);
        }
        Self(places)
    }

    /// The names that are used, without those that a symbol or a reference of the facts has.
    pub(super) fn plain_uses(self, facts: &Facts) -> NameSet {
        let symbols = facts.symbols.iter().filter(|symbol| symbol.kind != SymbolKind::Use);
        let names = symbols.map(|symbol| &symbol.name).chain(facts.references.iter().map(|reference| &reference.name));
        let known: HashSet<NameDigest> = names.map(|name| NameDigest::of(name)).collect();
        let mut places = self.0;
        places.retain(|place| !known.contains(&place.name));
        let innermost = facts.innermost_of(places.iter().map(|place| place.line));
        let functions: Vec<Option<usize>> =
            innermost.into_iter().map(|symbol| facts.enclosing_function(symbol)).collect();
        // Whether the first place of a name in a function binds it, so that it is local there.
        let mut bound = HashMap::new();
        for (place, function) in places.iter().zip(&functions).filter(|(place, _)| !place.is_member) {
            if let Some(function) = function {
                bound.entry((*function, place.name)).or_insert(place.binds);
            }
        }
        let is_local = |place: &NamePlace, function: &Option<usize>| {
            let key = function.map(|function| (function, place.name));
            !place.is_member && key.and_then(|key| bound.get(&key)).is_some_and(|binds| *binds)
        };
        let uses = places.iter().zip(&functions).filter(|(place, function)| !is_local(place, function));
        uses.filter(|(place, _)| !place.binds && !place.is_label).map(|(place, _)| place.name).collect()
    }
}

/// Whether a leaf can be asked for: not a number or a sign.
fn is_name(text: &str) -> bool {
    let is_sign = |c: char| !c.is_alphabetic() && !matches!(c, '_' | '$');
    !text.chars().all(is_sign) && !text.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::extract::tests::sample;
    use crate::extract::{NamePlaces, code_words, extract, names_in_code};

    /// The plain uses by the places of each name.
    fn by_places(language: Language, source: &str, facts: &Facts) -> BTreeSet<String> {
        let words: BTreeSet<String> =
            code_words(language, source).unwrap_or_default().into_iter().map(|word| word.word).collect();
        let is_known = |word: &String| {
            facts.references.iter().any(|reference| reference.name == *word)
                || facts.symbols.iter().any(|symbol| symbol.kind != SymbolKind::Use && symbol.name == *word)
        };
        let is_used = |word: &String| {
            let places = NamePlaces::of(facts, names_in_code(language, source, word));
            places.uses().iter().any(|place| !place.binds && !place.is_label)
        };
        words.into_iter().filter(|word| !is_known(word) && is_used(word)).collect()
    }

    #[test]
    fn facts_hold_what_the_places_of_each_name_say() {
        let mut compared = 0;
        let mut different = Vec::new();
        for language in Language::with_grammar().into_iter().filter(|language| language.is_code()) {
            let source = sample(language);
            let facts = extract(language, &source);
            let words = code_words(language, &source).unwrap_or_default().into_iter().map(|word| word.word);
            // Macros that contain items are opened for the facts of Rust; elsewhere their keywords look like names.
            let is_keyword = |word: &str| language == Language::RUST && ["else", "self"].contains(&word);
            // The place of `com` in `package com.example` is that of a symbol.
            let begins =
                |name: &str, word: &str| name.strip_prefix(word).is_some_and(|rest| rest.starts_with(['.', '\\']));
            let begins_symbol = |word: &str| facts.symbols.iter().any(|symbol| begins(&symbol.name, word));
            let counts = |word: &String| !is_keyword(word) && !begins_symbol(word);
            let words: BTreeSet<String> = words.filter(counts).collect();
            compared += words.len();
            let expected: BTreeSet<String> = by_places(language, &source, &facts).into_iter().filter(counts).collect();
            let found: BTreeSet<String> = words.into_iter().filter(|word| facts.plain_uses.has(word)).collect();
            different.extend((found != expected).then(|| (language.name(), found, expected)));
        }
        assert_eq!(different, []);
        assert!(compared > 500, "{compared}");
    }
}
