//! Random questions about the identifiers of a repository, reproducible by a seed, without repetition.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::corpus::Corpus;
use codeyard_model::uri::encode_path;

/// Number of files whose identifiers are asked about. The servers read them before the clock starts.
const WARM_FILES: usize = 90;
/// Sizes of files that are used, in bytes.
const FILE_BYTES: std::ops::Range<u64> = 200..120_000;
/// Number of questions in one mix.
pub(crate) const MIX: usize = 7;
/// Entries on the first page of a paged answer.
pub(crate) const PAGE_SIZE: usize = 100;

/// A position in a file; the character counts UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SourcePosition {
    pub path: PathBuf,
    /// Line, from 0.
    pub line: usize,
    /// Character, from 0.
    pub character: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum BenchQuestion {
    /// The definition of the symbol at a position.
    Definition(SourcePosition),
    /// The hover at a position.
    Hover(SourcePosition),
    /// The references of the symbol at a position, without the declaration.
    References(SourcePosition),
    /// The document symbols of a file.
    Symbols(PathBuf),
}

impl BenchQuestion {
    /// The file of the question.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Definition(at) | Self::Hover(at) | Self::References(at) => &at.path,
            Self::Symbols(path) => path,
        }
    }

    /// The question as text for a report: method, file name, line and column from 1.
    pub(crate) fn description(&self) -> String {
        let file = self.path().file_name().unwrap_or_default().to_string_lossy();
        let (what, at) = match self {
            Self::Definition(at) => ("definition", Some(at)),
            Self::Hover(at) => ("hover", Some(at)),
            Self::References(at) => ("references", Some(at)),
            Self::Symbols(_) => ("document symbols", None),
        };
        let place = at.map(|at| format!(":{}:{}", at.line + 1, at.character + 1)).unwrap_or_default();
        format!("{what} in {file}{place}")
    }

    /// The LSP method and its parameters as JSON.
    pub(crate) fn to_lsp(&self) -> (&'static str, String) {
        let document = json!({"uri": encode_path(self.path())});
        let position = |at: &SourcePosition| json!({"line": at.line, "character": at.character});
        match self {
            Self::Definition(at) => {
                ("textDocument/definition", json!({"textDocument": document, "position": position(at)}).to_string())
            }
            Self::Hover(at) => {
                ("textDocument/hover", json!({"textDocument": document, "position": position(at)}).to_string())
            }
            Self::References(at) => {
                let context = json!({"includeDeclaration": false});
                let params = json!({"textDocument": document, "position": position(at), "context": context});
                ("textDocument/references", params.to_string())
            }
            Self::Symbols(_) => ("textDocument/documentSymbol", json!({"textDocument": document}).to_string()),
        }
    }

    /// The tool and its arguments as JSON.
    pub(crate) fn to_tool(&self) -> (&'static str, String) {
        let uri = encode_path(self.path());
        let at = |at: &SourcePosition| json!({"uri": uri, "position": {"line": at.line, "character": at.character}});
        match self {
            Self::Definition(place) => ("vscode.lsp.definition", at(place).to_string()),
            Self::Hover(place) => ("vscode.lsp.hover", at(place).to_string()),
            Self::References(place) => {
                let mut arguments = at(place);
                arguments["pageSize"] = json!(PAGE_SIZE);
                ("vscode.lsp.references", arguments.to_string())
            }
            Self::Symbols(_) => ("vscode.lsp.documentSymbols", json!({"uri": uri}).to_string()),
        }
    }
}

/// A reproducible random number generator (SplitMix64). Own code, because `rand` does not promise the same numbers in later versions,
/// and figures of the same seed must stay comparable.
#[derive(Debug, Clone)]
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    /// A generator that starts at `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Questions in random order, each returned once.
#[derive(Debug, Clone)]
pub(crate) struct QuestionPool {
    /// The warm-up files, whose identifiers are asked about.
    pub warm: Vec<PathBuf>,
    definitions: Vec<SourcePosition>,
    hovers: Vec<SourcePosition>,
    references: Vec<SourcePosition>,
    symbols: Vec<PathBuf>,
}

impl QuestionPool {
    /// The questions about a repository.
    pub(crate) fn new(corpus: &Corpus, seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let fits = |path: &&PathBuf| fs::metadata(path).is_ok_and(|found| FILE_BYTES.contains(&found.len()));
        let mut files: Vec<PathBuf> = corpus.files.iter().filter(fits).cloned().collect();
        random.shuffle(&mut files);
        let warm: Vec<PathBuf> = files.iter().take(WARM_FILES).cloned().collect();
        // The first position of a file is used for the warm-up.
        let asked_before = |at: &SourcePosition| at.line == 0 && at.character == 0;
        let places: Vec<SourcePosition> = warm.iter().flat_map(|path| identifiers(path)).map(|(at, _)| at).collect();
        let places: Vec<SourcePosition> = places.into_iter().filter(|at| !asked_before(at)).collect();
        let mut shuffled = || {
            let mut all = places.clone();
            random.shuffle(&mut all);
            all
        };
        let definitions = shuffled();
        let hovers = shuffled();
        let references = shuffled();
        // The warm-up files come last, because the servers have not read the others.
        files.rotate_left(warm.len());
        files.reverse();
        Self { warm, definitions, hovers, references, symbols: files }
    }

    /// Number of remaining positions for definitions.
    pub(crate) fn places(&self) -> usize {
        self.definitions.len()
    }

    pub(crate) fn definition(&mut self) -> Option<BenchQuestion> {
        self.definitions.pop().map(BenchQuestion::Definition)
    }

    pub(crate) fn hover(&mut self) -> Option<BenchQuestion> {
        self.hovers.pop().map(BenchQuestion::Hover)
    }

    pub(crate) fn references(&mut self) -> Option<BenchQuestion> {
        self.references.pop().map(BenchQuestion::References)
    }

    /// The next document symbols question.
    pub(crate) fn symbols(&mut self) -> Option<BenchQuestion> {
        self.symbols.pop().map(BenchQuestion::Symbols)
    }

    /// Number of remaining document symbols questions about files outside the warm-up.
    pub(crate) fn unread_files(&self) -> usize {
        self.symbols.len().saturating_sub(self.warm.len())
    }

    /// One mix: three definitions, one hover, two document symbols, one references; fewer if a kind is used up.
    pub(crate) fn mixed(&mut self) -> Vec<BenchQuestion> {
        let order: [fn(&mut Self) -> Option<BenchQuestion>; MIX] = [
            Self::definition,
            Self::symbols,
            Self::definition,
            Self::hover,
            Self::references,
            Self::definition,
            Self::symbols,
        ];
        order.iter().filter_map(|next| next(self)).collect()
    }
}

/// One position for each word of the files, sorted by how close its number of occurrences is to `wanted`.
pub(crate) fn words_near(files: &[PathBuf], wanted: usize) -> Vec<SourcePosition> {
    let mut found: HashMap<String, (usize, SourcePosition)> = HashMap::new();
    for (at, word) in files.iter().flat_map(|path| identifiers(path)) {
        found.entry(word).or_insert_with(|| (0, at)).0 += 1;
    }
    let mut all: Vec<(usize, String, SourcePosition)> =
        found.into_iter().map(|(word, (count, at))| (count, word, at)).collect();
    all.retain(|(_, word, _)| word.len() > 4);
    all.sort_by(|a, b| (a.0.abs_diff(wanted), &a.1).cmp(&(b.0.abs_diff(wanted), &b.1)));
    all.into_iter().map(|(_, _, at)| at).collect()
}

/// All positions of the word at `like` in the files.
pub(crate) fn places_of(files: &[PathBuf], like: &SourcePosition) -> Vec<SourcePosition> {
    let word = identifiers(&like.path).into_iter().find(|(at, _)| at == like).map(|(_, word)| word);
    let all = files.iter().flat_map(|path| identifiers(path));
    all.filter(|(_, found)| Some(found) == word.as_ref()).map(|(at, _)| at).collect()
}

/// The identifiers in the code of a file, with their places.
pub(crate) fn identifiers(path: &Path) -> Vec<(SourcePosition, String)> {
    let found = codeyard_test_support::identifiers::identifiers(path).into_iter();
    found.map(|of| (SourcePosition { path: path.into(), line: of.line, character: of.character }, of.word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order() {
        let order = |seed| {
            let mut items: Vec<usize> = (0..100).collect();
            SeededRandom::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
