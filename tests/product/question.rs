//! Queries about real code, chosen from its identifiers by a fixed seed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::bare::uri_of;
use codeyard_test_support::real_servers::files_below;

/// A position in a file; the character counts UTF-16 code units.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub path: PathBuf,
    /// From 0.
    pub line: usize,
    /// From 0.
    pub character: usize,
    /// The identifier at this position.
    pub word: String,
}

/// A query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ask {
    /// `vscode.lsp.definition`
    Definition(At),
    /// `vscode.lsp.hover`
    Hover(At),
    /// `vscode.lsp.references`, with or without the declaration.
    References(At, bool),
    /// `vscode.lsp.documentSymbols`
    DocumentSymbols(PathBuf),
    /// `vscode.lsp.workspaceSymbols`
    WorkspaceSymbols(String),
    /// `vscode.lsp.diagnostics.document`
    Diagnostics(PathBuf),
}

impl Ask {
    /// The file of the query.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Definition(at) | Self::Hover(at) | Self::References(at, _) => Some(&at.path),
            Self::DocumentSymbols(path) | Self::Diagnostics(path) => Some(path),
            Self::WorkspaceSymbols(_) => None,
        }
    }

    /// The tool and its arguments.
    pub(crate) fn to_call(&self) -> (&'static str, Value) {
        let at = |at: &At| json!({"uri": uri_of(&at.path), "position": {"line": at.line, "character": at.character}});
        match self {
            Self::Definition(place) => ("vscode.lsp.definition", at(place)),
            Self::Hover(place) => ("vscode.lsp.hover", at(place)),
            Self::References(place, declaration) => {
                let mut arguments = at(place);
                arguments["includeDeclaration"] = json!(declaration);
                ("vscode.lsp.references", arguments)
            }
            Self::DocumentSymbols(path) => ("vscode.lsp.documentSymbols", json!({"uri": uri_of(path)})),
            Self::WorkspaceSymbols(query) => ("vscode.lsp.workspaceSymbols", json!({"query": query})),
            Self::Diagnostics(path) => ("vscode.lsp.diagnostics.document", json!({"uri": uri_of(path)})),
        }
    }

    /// Whether the tool's answer has pages.
    pub(crate) fn is_paged(&self) -> bool {
        matches!(self, Self::References(..) | Self::WorkspaceSymbols(_))
    }
}

/// Number of queries of each kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Definitions, and as many hovers.
    pub places: usize,
    /// References, each sent twice: with and without the declaration.
    pub references: usize,
    /// Files queried for symbols and for diagnostics.
    pub files: usize,
    pub searches: usize,
}

/// Queries about the files in `root` with one of these extensions, grouped by file.
pub(crate) fn draw(root: &Path, endings: &[&str], counts: Counts, seed: u64) -> Vec<Ask> {
    let files = source_files(root, endings);
    let all: Vec<At> = files.iter().flat_map(|path| identifiers(path)).collect();
    let mut dice = Dice(seed);
    let mut asks = Vec::new();
    for _ in 0..counts.places {
        asks.push(Ask::Definition(dice.pick(&all)));
        asks.push(Ask::Hover(dice.pick(&all)));
    }
    for _ in 0..counts.references {
        let at = dice.pick(&all);
        asks.push(Ask::References(at.clone(), false));
        asks.push(Ask::References(at, true));
    }
    for _ in 0..counts.files {
        asks.push(Ask::DocumentSymbols(dice.pick(&files)));
        asks.push(Ask::Diagnostics(dice.pick(&files)));
    }
    for _ in 0..counts.searches {
        asks.push(Ask::WorkspaceSymbols(dice.pick(&all).word));
    }
    asks.sort_by_key(|ask| ask.path().map(Path::to_path_buf));
    asks
}

/// Files in `root` with one of these extensions, sorted.
pub(crate) fn source_files(root: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut files = files_below(root);
    files.retain(|path| path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)));
    files
}

/// The identifiers in a file's code.
pub(crate) fn identifiers(path: &Path) -> Vec<At> {
    assert!(
        std::fs::read_to_string(path).is_ok(),
        "{} can't be read as text, so nothing would be asked",
        path.display()
    );
    let found = codeyard_test_support::identifiers::identifiers(path).into_iter();
    found.map(|of| At { path: path.into(), line: of.line, character: of.character, word: of.word }).collect()
}

/// A reproducible random generator; the number is its state.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let place = usize::try_from((mixed ^ (mixed >> 31)) % from.len() as u64).expect("below a length");
        from[place].clone()
    }
}
