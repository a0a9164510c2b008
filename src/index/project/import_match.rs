//! Whether an import may name a file: by the words of the import and the parts of the file's path.
//!
//! It doesn't resolve imports; that needs the rules of each language. `docs/internals/decisions/syntactic.md` says what it is used for.

use crate::facts::Facts;
use codeyard_model::code::SymbolKind;

/// Stems of files whose module has the folder's name.
const FOLDER_STEMS: [&str; 5] = ["mod", "lib", "index", "__init__", "main"];

/// The last folder and the stem of a path.
pub fn folder_and_stem(path: &str) -> (Option<&str>, &str) {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name);
    (parts.next(), stem)
}

/// The words of each import that contains `word`; of all imports if none does.
pub fn relevant_imports<'f>(facts: &'f Facts, word: &str) -> Vec<Vec<&'f str>> {
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
pub fn import_match_length(import: &[&str], path: &str) -> usize {
    let (_, stem) = folder_and_stem(path);
    let folders = path.rsplit('/').skip(1);
    let parts = std::iter::once(stem).filter(|stem| !FOLDER_STEMS.contains(stem)).chain(folders);
    parts.take_while(|part| import.contains(part)).count()
}
