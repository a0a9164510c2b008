//! Which symbols a word may mean, by its name and by where it stands.
//!
//! In this order, and the first that gives any gives all: the scopes around the word from the inside out, its file, files that its
//! imports name, files of related languages. It isn't a type checker: of several that are equally likely it names all.
//! Invariant: never one by chance, and never more than [`MAX_NAMED_DEFINITIONS`].

use std::collections::BTreeSet;

use super::library::{Library, Trouble, are_related};
use super::spot::{Spot, outwards};
use crate::limits::MAX_NAMED_DEFINITIONS;
use codeyard_index::project::navigate::{Found, Known};
use codeyard_index::{Facts, Symbol};
use codeyard_model::code::SymbolKind;

/// Stems of files that stand for their folder.
const FOLDER_STEMS: [&str; 5] = ["mod", "lib", "index", "__init__", "main"];

/// What the word at `spot` may mean.
///
/// # Errors
/// The library's.
pub(crate) fn resolve(library: &dyn Library, known: &Known, spot: &Spot) -> Result<Vec<Found>, Trouble> {
    match spot.own {
        Some(own) => declared(library, known, own),
        None => named(library, known, spot),
    }
}

/// A symbol that is pointed at: itself; of what is only announced here, where it is written.
fn declared(library: &dyn Library, known: &Known, own: usize) -> Result<Vec<Found>, Trouble> {
    let symbol = &known.facts.symbols[own];
    if !symbol.is_definition {
        let holder = holder(&known.facts, own);
        let mut written = elsewhere(library, known, &symbol.name)?;
        written.extend(inside(known, &symbol.name));
        written.retain(|(file, at)| file.facts.symbols[*at].is_definition);
        if holder.is_some() {
            written.retain(|(file, at)| self::holder(&file.facts, *at) == holder);
        }
        if !written.is_empty() {
            return Ok(best(known, written));
        }
    }
    Ok(vec![(known.clone(), own)])
}

fn named(library: &dyn Library, known: &Known, spot: &Spot) -> Result<Vec<Found>, Trouble> {
    let facts = &known.facts;
    if !spot.is_member {
        for scope in outwards(facts, spot.within).map(Some).chain([None]) {
            let here: Vec<Found> = inside(known, &spot.word)
                .filter(|(_, at)| facts.symbols[*at].parent.map(|parent| parent as usize) == scope)
                .collect();
            if !here.is_empty() {
                return Ok(best(known, here));
            }
        }
        let here: Vec<Found> = inside(known, &spot.word).collect();
        if !here.is_empty() {
            return Ok(best(known, here));
        }
    }
    let mut found: Vec<Found> = inside(known, &spot.word).collect();
    found.extend(elsewhere(library, known, &spot.word)?);
    if let Some(owner) = &spot.owner {
        let owned: Vec<Found> = found.iter().filter(|(file, at)| belongs(file, *at, owner)).cloned().collect();
        if !owned.is_empty() {
            return Ok(best(known, owned));
        }
    }
    if spot.is_member {
        // Of whatever stands before it nothing is known: a member is likelier than what belongs to nothing.
        let members: Vec<Found> =
            found.iter().filter(|(file, at)| holder(&file.facts, *at).is_some()).cloned().collect();
        return Ok(best(known, if members.is_empty() { found } else { members }));
    }
    let imports = imports(facts, &spot.word);
    let score = |found: &Found| imports.iter().map(|import| agreement(import, &found.0.path)).max().unwrap_or(0);
    let highest = found.iter().map(score).max().unwrap_or(0);
    if highest > 0 {
        found.retain(|one| score(one) == highest);
    }
    Ok(best(known, found))
}

/// The file's own symbols of this name.
fn inside<'k>(known: &'k Known, name: &'k str) -> impl Iterator<Item = Found> + 'k {
    let is_meant = move |symbol: &Symbol| symbol.name == name && symbol.kind != SymbolKind::Use;
    (0..known.facts.symbols.len()).filter(move |at| is_meant(&known.facts.symbols[*at])).map(|at| (known.clone(), at))
}

/// The symbols of this name in other files of related languages.
fn elsewhere(library: &dyn Library, known: &Known, name: &str) -> Result<Vec<Found>, Trouble> {
    let mut found = library.defined(name)?;
    found.retain(|(file, at)| {
        file.path != known.path
            && are_related(known.language, file.language)
            && file.facts.symbols[*at].kind != SymbolKind::Use
    });
    Ok(found)
}

/// What is written before what is only announced, each once; the asking file's own first.
fn best(known: &Known, mut found: Vec<Found>) -> Vec<Found> {
    let is_written = |(file, at): &Found| file.facts.symbols[*at].is_definition;
    if found.iter().any(is_written) {
        found.retain(is_written);
    }
    let mut seen = BTreeSet::new();
    found.retain(|(file, at)| seen.insert((file.path.clone(), *at)));
    found.sort_by_key(|(file, _)| file.path != known.path);
    found.truncate(MAX_NAMED_DEFINITIONS);
    found
}

/// The name of the type that a symbol belongs to.
pub(crate) fn holder(facts: &Facts, at: usize) -> Option<&str> {
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

/// Whether a symbol is a part of what `owner` names: a type, a module, a file or its folder.
fn belongs(file: &Known, at: usize, owner: &str) -> bool {
    if let Some(holder) = holder(&file.facts, at) {
        return holder == owner;
    }
    let (folder, stem) = place(&file.path);
    stem == owner || folder == Some(owner)
}

/// The last folder and the stem of a path.
fn place(path: &str) -> (Option<&str>, &str) {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name);
    (parts.next(), stem)
}

/// The words of each import that names `word`, or of all if none does.
fn imports<'f>(facts: &'f Facts, word: &str) -> Vec<Vec<&'f str>> {
    let uses = facts.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Use);
    let all: Vec<Vec<&str>> =
        uses.map(|import| words(&import.name).chain(words(&import.signature)).collect()).collect();
    let naming: Vec<Vec<&str>> = all.iter().filter(|words| words.contains(&word)).cloned().collect();
    if naming.is_empty() { all } else { naming }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_joint = |letter: char| !unicode_ident::is_xid_continue(letter) && letter != '-';
    text.split(is_joint).filter(|word| !word.is_empty())
}

/// How many of a path's last parts an import names, beginning with the file itself.
fn agreement(import: &[&str], path: &str) -> usize {
    let (_, stem) = place(path);
    let folders = path.rsplit('/').skip(1);
    let parts = std::iter::once(stem).filter(|stem| !FOLDER_STEMS.contains(stem)).chain(folders);
    parts.take_while(|part| import.contains(part)).count()
}

#[cfg(test)]
#[path = "resolve/tests.rs"]
mod tests;
