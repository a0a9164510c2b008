//! What is known of one file's content after it was parsed. It says nothing about where the file lies, so that one content is parsed
//! once, whatever paths, branches and worktrees show it.

use codeyard_model::code::{SymbolKind, Visibility};

/// Everything that was found in one content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Definitions and imports, ordered by where they begin; a parent stands before its children.
    pub symbols: Vec<Symbol>,
    /// Places that name something, ordered by where they stand.
    pub references: Vec<Reference>,
    /// The parser found errors, so that something may be missing.
    pub has_errors: bool,
}

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// See there.
    pub kind: SymbolKind,
    /// As the source spells it.
    pub name: String,
    /// The index in [`Facts::symbols`] of what it stands in.
    pub parent: Option<u32>,
    /// What it belongs to where no parent says so: the type of a Go method, the class of a C++ member defined outside of it.
    pub scope: Option<String>,
    /// The source's own words: `pub(crate)`, `export`, `protected static`; empty where it says none.
    pub marker: String,
    /// See there.
    pub visibility: Visibility,
    /// Its head without its body, on one line, blanks joined; at most [`MAX_SIGNATURE`] bytes, cut at a letter.
    pub signature: String,
    /// The comment or docstring that documents it, without the comment's own signs; at most [`MAX_DOC`] bytes.
    pub doc: String,
    /// First line, from 1; of the definition, not of its comment.
    pub line_start: u32,
    /// Last line, from 1.
    pub line_end: u32,
    /// The line of its name, from 1.
    pub name_line: u32,
    /// The column of its name in UTF-16 units, from 0.
    pub name_column: u32,
    /// It is written here, not only announced: false for a prototype, a forward declaration, an abstract method, an import.
    pub is_definition: bool,
}

/// One place that names something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The name, without what qualifies it.
    pub name: String,
    /// See there.
    pub role: Role,
    /// From 1.
    pub line: u32,
    /// In UTF-16 units, from 0.
    pub column: u32,
    /// The index in [`Facts::symbols`] of the innermost symbol around it.
    pub within: Option<u32>,
}

/// What a name does at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    /// It is called.
    Call = 0,
    /// It is used as a type.
    Type = 1,
    /// It is imported.
    Import = 2,
    /// It is extended or implemented.
    Base = 3,
    /// It is named in another way.
    Other = 4,
}

impl Role {
    /// The role with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Call, Self::Type, Self::Import, Self::Base, Self::Other].get(usize::from(number)).copied()
    }
}

/// Bytes of a signature.
pub const MAX_SIGNATURE: usize = 400;
/// Bytes of a doc comment.
pub const MAX_DOC: usize = 2_000;

impl Facts {
    /// The names that a symbol stands in, from the outside in, and its own, joined with `::`.
    pub fn qualified_name(&self, index: usize) -> String {
        let mut names = Vec::new();
        let mut at = Some(index);
        while let Some(symbol) = at.and_then(|at| self.symbols.get(at)) {
            names.push(symbol.name.as_str());
            if let Some(scope) = &symbol.scope {
                names.push(scope);
            }
            // A parent stands before its children, so this ends.
            at = symbol.parent.map(|parent| parent as usize).filter(|parent| names.len() < 64 && *parent < index);
        }
        names.reverse();
        names.join("::")
    }
}
