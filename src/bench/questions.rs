//! Questions drawn from a repository's identifiers by a seed, none twice.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::corpus::Corpus;
use codeyard_model::uri::encode_path;

/// Files whose identifiers are asked about; they are read by the server before the clock runs.
const WARM_FILES: usize = 90;
/// Sizes of files to draw from, in bytes.
const FILE_BYTES: std::ops::Range<u64> = 200..120_000;
/// Questions of a mix.
pub(crate) const MIX: usize = 7;
/// Entries on the first page of a paged answer.
pub(crate) const PAGE_SIZE: usize = 100;

/// A place in a file; the character counts UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct At {
    /// The file.
    pub path: PathBuf,
    /// From 0.
    pub line: usize,
    /// From 0.
    pub character: usize,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    /// Where it is defined.
    Definition(At),
    /// What it is.
    Hover(At),
    /// Where it is used, without the declaration.
    References(At),
    /// What a file declares.
    Symbols(PathBuf),
}

impl Ask {
    /// The file it is about.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Definition(at) | Self::Hover(at) | Self::References(at) => &at.path,
            Self::Symbols(path) => path,
        }
    }

    /// In words for a report: the method, the file's name, line and column from 1.
    pub(crate) fn told(&self) -> String {
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
        let position = |at: &At| json!({"line": at.line, "character": at.character});
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
        let at = |at: &At| json!({"uri": uri, "position": {"line": at.line, "character": at.character}});
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

/// A reproducible source of chance.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// One that begins at `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit.max(1) as u64).unwrap_or(0)
    }

    /// Puts `items` into an order of chance.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Questions in an order of chance, each given once.
#[derive(Debug, Clone)]
pub(crate) struct Deck {
    /// The files whose identifiers are asked about.
    pub warm: Vec<PathBuf>,
    definitions: Vec<At>,
    hovers: Vec<At>,
    references: Vec<At>,
    symbols: Vec<PathBuf>,
}

impl Deck {
    /// A deck of a repository.
    pub(crate) fn new(corpus: &Corpus, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let fits = |path: &&PathBuf| fs::metadata(path).is_ok_and(|found| FILE_BYTES.contains(&found.len()));
        let mut files: Vec<PathBuf> = corpus.files.iter().filter(fits).cloned().collect();
        dice.shuffle(&mut files);
        let warm: Vec<PathBuf> = files.iter().take(WARM_FILES).cloned().collect();
        // The first place of a file is asked about when it is warmed.
        let asked_before = |at: &At| at.line == 0 && at.character == 0;
        let places: Vec<At> = warm.iter().flat_map(|path| identifiers(path)).map(|(at, _)| at).collect();
        let places: Vec<At> = places.into_iter().filter(|at| !asked_before(at)).collect();
        let mut shuffled = || {
            let mut all = places.clone();
            dice.shuffle(&mut all);
            all
        };
        let (definitions, hovers, references) = (shuffled(), shuffled(), shuffled());
        // The warm files last: the others haven't been asked about in any way.
        files.rotate_left(warm.len());
        files.reverse();
        Self { warm, definitions, hovers, references, symbols: files }
    }

    /// Places whose definition hasn't been asked for.
    pub(crate) fn places(&self) -> usize {
        self.definitions.len()
    }

    /// The next definition.
    pub(crate) fn definition(&mut self) -> Option<Ask> {
        self.definitions.pop().map(Ask::Definition)
    }

    /// The next hover.
    pub(crate) fn hover(&mut self) -> Option<Ask> {
        self.hovers.pop().map(Ask::Hover)
    }

    /// The next references.
    pub(crate) fn references(&mut self) -> Option<Ask> {
        self.references.pop().map(Ask::References)
    }

    /// The next file's symbols.
    pub(crate) fn symbols(&mut self) -> Option<Ask> {
        self.symbols.pop().map(Ask::Symbols)
    }

    /// Files that weren't read to warm up, and whose symbols haven't been asked for.
    pub(crate) fn unread(&self) -> usize {
        self.symbols.len().saturating_sub(self.warm.len())
    }

    /// Three definitions, one hover, two document symbols, one references; less where one kind is used up.
    pub(crate) fn mixed(&mut self) -> Vec<Ask> {
        let order: [fn(&mut Self) -> Option<Ask>; MIX] = [
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

/// Words and how often they stand in the files, with a place of each, the ones nearest to `wanted` first.
pub(crate) fn words_near(files: &[PathBuf], wanted: usize) -> Vec<At> {
    let mut found: HashMap<String, (usize, At)> = HashMap::new();
    for (at, word) in files.iter().flat_map(|path| identifiers(path)) {
        found.entry(word).or_insert_with(|| (0, at)).0 += 1;
    }
    let mut all: Vec<(usize, String, At)> = found.into_iter().map(|(word, (count, at))| (count, word, at)).collect();
    all.retain(|(_, word, _)| word.len() > 4);
    all.sort_by(|a, b| (a.0.abs_diff(wanted), &a.1).cmp(&(b.0.abs_diff(wanted), &b.1)));
    all.into_iter().map(|(_, _, at)| at).collect()
}

/// The places of a word in the files.
pub(crate) fn places_of(files: &[PathBuf], like: &At) -> Vec<At> {
    let word = identifiers(&like.path).into_iter().find(|(at, _)| at == like).map(|(_, word)| word);
    let all = files.iter().flat_map(|path| identifiers(path));
    all.filter(|(_, found)| Some(found) == word.as_ref()).map(|(at, _)| at).collect()
}

/// The identifiers of a file's code: words of letters, digits and `_` that don't begin with a digit. Comments are left
/// out as well as that goes without a parser. A file that is no text has none.
pub(crate) fn identifiers(path: &Path) -> Vec<(At, String)> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut found = Vec::new();
    let mut in_comment = false;
    for (line, text) in text.lines().enumerate() {
        let quotes = text.matches("\"\"\"").count();
        in_comment = in_comment != (quotes % 2 == 1) || text.contains("/*");
        let prose = in_comment || quotes > 0 || text.trim_start().starts_with('*');
        in_comment = in_comment && !text.contains("*/");
        if !prose {
            let code = text.split("//").next().unwrap_or_default().split("# ").next().unwrap_or_default();
            let words = words(code).into_iter();
            found.extend(words.map(|(character, word)| (At { path: path.into(), line, character }, word)));
        }
    }
    found
}

fn words(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut word, mut character) = (String::new(), 0);
    for letter in code.chars().chain([' ']) {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
        } else if !word.is_empty() {
            let units = word.encode_utf16().count();
            let whole = std::mem::take(&mut word);
            if !whole.starts_with(char::is_numeric) {
                found.push((character - units, whole));
            }
        }
        character += letter.len_utf16();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_code() {
        let found = words("if a_1(2x, 'ü𝄞', b)");
        assert_eq!(found, vec![(0, "if".into()), (3, "a_1".into()), (12, "ü".into()), (18, "b".into())]);
    }

    #[test]
    fn the_same_seed_is_the_same_order() {
        let order = |seed| {
            let mut items: Vec<usize> = (0..100).collect();
            Dice::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
