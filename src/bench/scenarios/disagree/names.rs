//! The names of a repository, read without a language server: which files have a name in code, and where it is defined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::questions::SeededRandom;
use codeyard_index::Language;
use codeyard_index::extract::{code_words, extract};
use codeyard_model::code::SymbolKind;

/// Largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Shortest name that is asked about.
const MIN_CHARS: usize = 3;

/// A name that the repository defines once.
#[derive(Debug, Clone)]
pub(super) struct SampledName {
    pub(super) word: String,
    pub(super) language: Language,
    pub(super) file: PathBuf,
    /// The line, from 1.
    pub(super) line: u32,
    /// The column in UTF-16 units, from 0.
    pub(super) column: u32,
}

/// The first place of a name in a file.
#[derive(Debug, Clone)]
struct UsedPlace {
    language: Language,
    line: u32,
    column: u32,
    text: String,
}

/// The names in the code of a repository.
#[derive(Debug)]
pub(super) struct RepositoryNames {
    pub(super) root: PathBuf,
    uses: BTreeMap<String, BTreeMap<PathBuf, UsedPlace>>,
    definitions: BTreeMap<String, Vec<SampledName>>,
}

impl RepositoryNames {
    pub(super) fn read(root: &Path, files: &[PathBuf]) -> Self {
        let mut names = Self { root: root.to_owned(), uses: BTreeMap::new(), definitions: BTreeMap::new() };
        for file in files {
            let is_small = file.metadata().is_ok_and(|found| found.len() <= MAX_FILE_BYTES);
            if let Some(text) = is_small.then(|| std::fs::read_to_string(file).ok()).flatten()
                && let Some(language) = Language::of_file(&file.to_string_lossy(), b"").filter(|one| one.is_code())
            {
                names.add(file, language, &text);
            }
        }
        names
    }

    fn add(&mut self, file: &Path, language: Language, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for found in code_words(language, text).unwrap_or_default() {
            let line = lines.get(found.line as usize - 1).copied().unwrap_or_default();
            let place =
                UsedPlace { language, line: found.line, column: found.column, text: line.chars().take(300).collect() };
            self.uses.entry(found.word).or_default().entry(file.to_owned()).or_insert(place);
        }
        for symbol in extract(language, text).symbols {
            if matches!(symbol.kind, SymbolKind::Use | SymbolKind::Impl | SymbolKind::Module) {
                continue;
            }
            self.definitions.entry(symbol.name.clone()).or_default().push(SampledName {
                word: symbol.name,
                language,
                file: file.to_owned(),
                line: symbol.name_line,
                column: symbol.name_column,
            });
        }
    }

    /// At most `most` names for each language, in random order.
    pub(super) fn sample(&self, most: usize, seed: u64) -> BTreeMap<&'static str, Vec<SampledName>> {
        let mut found: BTreeMap<&'static str, Vec<SampledName>> = BTreeMap::new();
        for (word, definitions) in &self.definitions {
            if let [only] = definitions.as_slice()
                && word.chars().count() >= MIN_CHARS
                && self.uses.get(word).is_some_and(|uses| uses.len() > 1)
            {
                found.entry(only.language.name()).or_default().push(only.clone());
            }
        }
        for names in found.values_mut() {
            SeededRandom::new(seed).shuffle(names);
            names.truncate(most);
        }
        found
    }

    /// The files whose code has the name, and whose language shares names with that of its definition.
    pub(super) fn files_with<'a>(&'a self, name: &'a SampledName) -> impl Iterator<Item = &'a PathBuf> {
        let uses = self.uses.get(&name.word).into_iter().flatten();
        uses.filter(|(_, place)| place.language.shares_names_with(name.language)).map(|(file, _)| file)
    }

    /// The first line of a file with the name.
    pub(super) fn line_of_use(&self, file: &Path, word: &str) -> &str {
        self.uses.get(word).and_then(|uses| uses.get(file)).map(|place| place.text.as_str()).unwrap_or_default()
    }

    /// A use of the name in another file: the file, the line from 1, the column.
    pub(super) fn use_elsewhere(&self, name: &SampledName) -> Option<(PathBuf, u32, u32)> {
        let files: BTreeSet<&PathBuf> = self.files_with(name).filter(|file| **file != name.file).collect();
        let file = files.into_iter().next()?;
        let place = self.uses.get(&name.word)?.get(file)?;
        Some((file.clone(), place.line, place.column))
    }
}
