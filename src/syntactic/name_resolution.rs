//! Resolves a word to the symbols that it may refer to, by its name and its place.
//!
//! It looks at the enclosing scopes from the inside out, then the file, then the files that the imports name, then the files of related
//! languages, and returns all symbols of the first of these that has any. It isn't a type checker. Invariants: symbols that are equally
//! likely are all returned, never one of them by chance; at most [`MAX_NAMED_DEFINITIONS`] are returned.

use std::collections::BTreeSet;

use super::cursor_context::CursorContext;
use super::fact_source::{FactSource, SyntacticError};
use crate::limits::MAX_NAMED_DEFINITIONS;
use codeyard_index::Symbol;
use codeyard_index::project::import_match::{folder_and_stem, import_match_length, relevant_imports};
use codeyard_index::project::navigator::{FileFacts, SymbolRef};
use codeyard_model::code::SymbolKind;

/// The symbols that the word at the cursor may refer to.
///
/// # Errors
/// Those of the fact source.
pub(crate) fn resolve(
    source: &dyn FactSource,
    current: &FileFacts,
    cursor: &CursorContext,
) -> Result<Vec<SymbolRef>, SyntacticError> {
    match cursor.declared {
        Some(symbol) => resolve_declaration(source, current, symbol),
        None => resolve_name(source, current, cursor),
    }
}

/// The cursor is on a symbol's own name: the definitions of a mere declaration, otherwise the symbol itself.
fn resolve_declaration(
    source: &dyn FactSource,
    current: &FileFacts,
    declared: usize,
) -> Result<Vec<SymbolRef>, SyntacticError> {
    let symbol = &current.facts.symbols[declared];
    if !symbol.is_definition {
        let owning_type = current.facts.owning_type(declared);
        let mut definitions = in_other_files(source, current, &symbol.name)?;
        definitions.extend(in_file(current, &symbol.name));
        definitions.retain(|(file, at)| file.facts.symbols[*at].is_definition);
        if owning_type.is_some() {
            definitions.retain(|(file, at)| file.facts.owning_type(*at) == owning_type);
        }
        if !definitions.is_empty() {
            return Ok(rank_candidates(current, definitions));
        }
    }
    Ok(vec![(current.clone(), declared)])
}

fn resolve_name(
    source: &dyn FactSource,
    current: &FileFacts,
    cursor: &CursorContext,
) -> Result<Vec<SymbolRef>, SyntacticError> {
    let facts = &current.facts;
    if !cursor.is_member {
        for scope in facts.around(cursor.enclosing).map(Some).chain([None]) {
            let in_scope: Vec<SymbolRef> = in_file(current, &cursor.word)
                .filter(|(_, at)| facts.symbols[*at].parent.map(|parent| parent as usize) == scope)
                .collect();
            if !in_scope.is_empty() {
                return Ok(rank_candidates(current, in_scope));
            }
        }
        let in_scope: Vec<SymbolRef> = in_file(current, &cursor.word).collect();
        if !in_scope.is_empty() {
            return Ok(rank_candidates(current, in_scope));
        }
    }
    let mut found: Vec<SymbolRef> = in_file(current, &cursor.word).collect();
    found.extend(in_other_files(source, current, &cursor.word)?);
    if let Some(qualifier) = &cursor.qualifier {
        let qualified: Vec<SymbolRef> =
            found.iter().filter(|(file, at)| belongs_to(file, *at, qualifier)).cloned().collect();
        if !qualified.is_empty() {
            return Ok(rank_candidates(current, qualified));
        }
    }
    if cursor.is_member {
        // The type of the expression before the word is unknown. A member of some type is likelier than a free symbol.
        let members: Vec<SymbolRef> =
            found.iter().filter(|(file, at)| file.facts.owning_type(*at).is_some()).cloned().collect();
        return Ok(rank_candidates(current, if members.is_empty() { found } else { members }));
    }
    let imports = relevant_imports(facts, &cursor.word);
    let score =
        |found: &SymbolRef| imports.iter().map(|import| import_match_length(import, &found.0.path)).max().unwrap_or(0);
    let highest = found.iter().map(score).max().unwrap_or(0);
    if highest > 0 {
        found.retain(|one| score(one) == highest);
    }
    Ok(rank_candidates(current, found))
}

/// The symbols of this name in the file.
fn in_file<'k>(current: &'k FileFacts, name: &'k str) -> impl Iterator<Item = SymbolRef> + 'k {
    let is_match = move |symbol: &Symbol| symbol.name == name && symbol.kind != SymbolKind::Use;
    (0..current.facts.symbols.len())
        .filter(move |at| is_match(&current.facts.symbols[*at]))
        .map(|at| (current.clone(), at))
}

/// The symbols of this name in other files of related languages.
fn in_other_files(source: &dyn FactSource, current: &FileFacts, name: &str) -> Result<Vec<SymbolRef>, SyntacticError> {
    let mut found = source.definitions(name)?;
    found.retain(|(file, at)| {
        file.path != current.path && current.shares_names_with(file) && file.facts.symbols[*at].kind != SymbolKind::Use
    });
    Ok(found)
}

/// Drops declarations if there are definitions, drops duplicates, and puts the symbols of the requesting file first.
fn rank_candidates(current: &FileFacts, mut found: Vec<SymbolRef>) -> Vec<SymbolRef> {
    let is_definition = |(file, at): &SymbolRef| file.facts.symbols[*at].is_definition;
    if found.iter().any(is_definition) {
        found.retain(is_definition);
    }
    let mut seen = BTreeSet::new();
    found.retain(|(file, at)| seen.insert((file.path.clone(), *at)));
    found.sort_by_key(|(file, _)| file.path != current.path);
    found.truncate(MAX_NAMED_DEFINITIONS);
    found
}

/// Whether a symbol belongs to what `qualifier` names: a type, a module, a file or its folder.
fn belongs_to(file: &FileFacts, at: usize, qualifier: &str) -> bool {
    if let Some(owning_type) = file.facts.owning_type(at) {
        return owning_type == qualifier;
    }
    let (folder, stem) = folder_and_stem(&file.path);
    stem == qualifier || folder == Some(qualifier)
}

#[cfg(test)]
#[path = "name_resolution/tests.rs"]
mod tests;
