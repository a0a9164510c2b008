//! The facts of one content: its symbols and references.
//!
//! Facts don't depend on the file's path, so a content is parsed once for all paths, branches and worktrees that have it.

use codeyard_model::code::{SymbolKind, Visibility};

/// The symbols and references of one content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Definitions and imports, sorted by where they begin. A parent precedes its children.
    pub symbols: Vec<Symbol>,
    /// Uses of names, sorted by position.
    pub references: Vec<Reference>,
    /// The source has syntax errors or exceeds a limit, so symbols or references may be missing.
    pub has_errors: bool,
    /// The source costs more work or memory than one source may, so it has no symbols and no references.
    pub is_too_complex: bool,
}

/// One definition, declaration or import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub kind: SymbolKind,
    /// The name as the source spells it.
    pub name: String,
    /// The index in [`Facts::symbols`] of the symbol around it.
    pub parent: Option<u32>,
    /// The name of its container where that isn't its parent: the type of a Go method, the class of a C++ member defined outside it.
    pub scope: Option<String>,
    /// Its modifiers as in the source: `pub(crate)`, `export`, `protected static`; empty without any.
    pub marker: String,
    /// The visibility by the rules of its language.
    pub visibility: Visibility,
    /// The definition without its body, on one line; at most [`MAX_SIGNATURE`] bytes, cut at a character boundary.
    pub signature: String,
    /// Its comment or docstring without comment markers; at most [`MAX_DOC`] bytes.
    pub doc: String,
    /// The first line of the definition, without its comment, from 1.
    pub line_start: u32,
    /// The last line, from 1.
    pub line_end: u32,
    /// The line of its name, from 1.
    pub name_line: u32,
    /// The column of its name in UTF-16 units, from 0.
    pub name_column: u32,
    /// It is defined here: false for a prototype, a forward declaration, an abstract method, or an import.
    pub is_definition: bool,
}

impl Symbol {
    pub(crate) fn text_bytes(&self) -> usize {
        let scope = self.scope.as_ref().map_or(0, String::len);
        self.name.len() + scope + self.marker.len() + self.signature.len() + self.doc.len()
    }
}

/// One use of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The name without qualifiers.
    pub name: String,
    /// How the name is used.
    pub role: ReferenceRole,
    /// The line, from 1.
    pub line: u32,
    /// The column in UTF-16 units, from 0.
    pub column: u32,
    /// The index in [`Facts::symbols`] of the innermost symbol around it.
    pub within: Option<u32>,
}

/// How a reference uses a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ReferenceRole {
    Call = 0,
    /// A use as a type.
    Type = 1,
    Import = 2,
    /// A base that is extended or implemented.
    Base = 3,
    /// Any other use.
    Other = 4,
}

impl ReferenceRole {
    /// The role with this number, which the index stores.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Call, Self::Type, Self::Import, Self::Base, Self::Other].get(usize::from(number)).copied()
    }
}

/// The longest signature in bytes.
pub const MAX_SIGNATURE: usize = 400;
/// The longest doc comment in bytes.
pub const MAX_DOC: usize = 2_000;

impl Facts {
    /// The facts of a source that is too complex.
    pub fn too_complex() -> Self {
        Self { has_errors: true, is_too_complex: true, ..Self::default() }
    }

    /// Roughly the bytes that the facts take, with the names of all symbols around each symbol, because searches know these too.
    pub(crate) fn approximate_bytes(&self) -> usize {
        let mut scopes: Vec<usize> = Vec::with_capacity(self.symbols.len());
        let mut bytes = 0;
        for symbol in &self.symbols {
            // A parent precedes its children.
            let around = symbol.parent.and_then(|parent| scopes.get(parent as usize)).copied().unwrap_or(0);
            let around = around + symbol.scope.as_ref().map_or(0, String::len);
            scopes.push(around + symbol.name.len());
            bytes += size_of::<Symbol>() + symbol.text_bytes() + around;
        }
        let references = self.references.iter();
        bytes + references.map(|reference| size_of::<Reference>() + reference.name.len()).sum::<usize>()
    }

    /// The symbol at `index` and all symbols that enclose it, from the inside out.
    pub fn around(&self, index: Option<usize>) -> impl Iterator<Item = usize> {
        // Ends, because a parent precedes its children.
        std::iter::successors(index.filter(|index| *index < self.symbols.len()), |now| {
            self.symbols.get(*now)?.parent.map(|parent| parent as usize).filter(|parent| parent < now)
        })
    }

    /// The name of the type or module that a symbol belongs to.
    pub fn owning_type(&self, at: usize) -> Option<&str> {
        let symbol = self.symbols.get(at)?;
        if let Some(scope) = &symbol.scope {
            return Some(scope.rsplit(['.', ':']).next().unwrap_or(scope));
        }
        let parent = self.symbols.get(symbol.parent? as usize)?;
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

    /// The names of a symbol's containers and its own name, joined with `::`.
    pub fn qualified_name(&self, index: usize) -> String {
        let mut names = Vec::new();
        let mut at = Some(index);
        while let Some(symbol) = at.and_then(|at| self.symbols.get(at)) {
            names.push(symbol.name.as_str());
            if let Some(scope) = &symbol.scope {
                names.push(scope);
            }
            // A parent precedes its children, so this loop ends.
            at = symbol.parent.map(|parent| parent as usize).filter(|parent| names.len() < 64 && *parent < index);
        }
        names.reverse();
        names.join("::")
    }
}
