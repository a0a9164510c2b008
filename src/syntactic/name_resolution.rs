//! Resolves a word to the symbols that it may refer to, by its name and its place.
//!
//! It looks at the enclosing scopes from the inside out, then the file, then the files that the imports name, then the files of related
//! languages, and returns all symbols of the first of these that has any. It isn't a type checker. Invariants: symbols that are equally
//! likely are all returned, never one of them by chance; at most [`MAX_NAMED_DEFINITIONS`] are returned.

use std::collections::BTreeSet;

use super::cursor_context::CursorContext;
use super::fact_source::{FactSource, SyntacticError, are_related};
use crate::limits::MAX_NAMED_DEFINITIONS;
use codeyard_index::project::navigator::{FileFacts, SymbolRef};
use codeyard_index::{Facts, Symbol};
use codeyard_model::code::SymbolKind;

/// Stems of files whose module has the folder's name.
const FOLDER_STEMS: [&str; 5] = ["mod", "lib", "index", "__init__", "main"];

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
        let owning_type = owning_type(&current.facts, declared);
        let mut definitions = in_other_files(source, current, &symbol.name)?;
        definitions.extend(in_file(current, &symbol.name));
        definitions.retain(|(file, at)| file.facts.symbols[*at].is_definition);
        if owning_type.is_some() {
            definitions.retain(|(file, at)| self::owning_type(&file.facts, *at) == owning_type);
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
            found.iter().filter(|(file, at)| owning_type(&file.facts, *at).is_some()).cloned().collect();
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
        file.path != current.path
            && are_related(current.language, file.language)
            && file.facts.symbols[*at].kind != SymbolKind::Use
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

/// The name of the type or module that a symbol belongs to.
pub(crate) fn owning_type(facts: &Facts, at: usize) -> Option<&str> {
    let symbol = facts.symbols.get(at)?;
    if let Some(scope) = &symbol.scope {
        return Some(scope.rsplit(['.', ':']).next().unwrap_or(scope));
    }
    let parent = facts.symbols.get(symbol.parent? as usize)?;
    let is_type = matches!(
        parent.kind,
        SymbolKind::Struct
            | SymbolKind::Class
            | SymbolKind::Enum
            | SymbolKind::Trait
            | SymbolKind::Interface
            | SymbolKind::Impl
            | SymbolKind::Type
            | SymbolKind::Module
    );
    is_type.then_some(parent.name.as_str())
}

/// Whether a symbol belongs to what `qualifier` names: a type, a module, a file or its folder.
fn belongs_to(file: &FileFacts, at: usize, qualifier: &str) -> bool {
    if let Some(owning_type) = owning_type(&file.facts, at) {
        return owning_type == qualifier;
    }
    let (folder, stem) = folder_and_stem(&file.path);
    stem == qualifier || folder == Some(qualifier)
}

/// The last folder and the stem of a path.
fn folder_and_stem(path: &str) -> (Option<&str>, &str) {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name);
    (parts.next(), stem)
}

/// The words of each import that contains `word`; of all imports if none does.
fn relevant_imports<'f>(facts: &'f Facts, word: &str) -> Vec<Vec<&'f str>> {
    let uses = facts.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Use);
    let all: Vec<Vec<&str>> = uses
        .map(|import| identifier_words(&import.name).chain(identifier_words(&import.signature)).collect())
        .collect();
    let naming_word: Vec<Vec<&str>> = all.iter().filter(|words| words.contains(&word)).cloned().collect();
    if naming_word.is_empty() { all } else { naming_word }
}

fn identifier_words(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |character: char| !unicode_ident::is_xid_continue(character) && character != '-';
    text.split(is_separator).filter(|word| !word.is_empty())
}

/// How many parts of a path an import contains in a row, from the file upwards.
fn import_match_length(import: &[&str], path: &str) -> usize {
    let (_, stem) = folder_and_stem(path);
    let folders = path.rsplit('/').skip(1);
    let parts = std::iter::once(stem).filter(|stem| !FOLDER_STEMS.contains(stem)).chain(folders);
    parts.take_while(|part| import.contains(part)).count()
}

#[cfg(test)]
#[path = "name_resolution/tests.rs"]
mod tests;
