//! The facts of one content: its symbols and references.
//!
//! Facts don't depend on the file's path, so a content is parsed once for all paths, branches and worktrees that have it.

use std::cmp::Reverse;

use codeyard_model::code::{SymbolKind, Visibility};

/// The symbols and references of one content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Definitions and imports, sorted by where they begin. A parent precedes its children.
    pub symbols: Vec<Symbol>,
    /// Uses of names, sorted by position.
    pub references: Vec<Reference>,
    /// The names that code uses in other ways, and that aren't local to a function there: constants, attributes, functions that are handed on.
    /// Without the names of the symbols and of the references.
    pub plain_uses: NameSet,
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
    /// Whether it is a function, a method or a macro.
    pub fn is_callable(&self) -> bool {
        matches!(self.kind, SymbolKind::Fn | SymbolKind::Method | SymbolKind::Macro)
    }

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

/// A digest of a name. Names differ in it but for one pair in four thousand million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameDigest(u32);

impl NameDigest {
    /// The digest of a name, which is stored and therefore the same for ever: FNV-1a.
    pub fn of(name: &str) -> Self {
        const OFFSET: u32 = 0x811c_9dc5;
        const PRIME: u32 = 0x0100_0193;
        Self(name.bytes().fold(OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME)))
    }

    /// What a [`NameSet`] keeps of it.
    fn short(self) -> u32 {
        ((self.0 >> NAME_BITS) ^ self.0) & ((1 << NAME_BITS) - 1)
    }
}

/// Bits that a [`NameSet`] keeps of a name. A source of a thousand names seems to have one name in a thousand that it doesn't have, and each
/// takes about two bytes of the index.
const NAME_BITS: u32 = 20;

/// A set of names that says of a few others, too, that it has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameSet(Vec<u32>);

impl NameSet {
    /// Whether the set has this name: certainly if it has, and seldom if it hasn't.
    pub fn has(&self, name: &str) -> bool {
        self.0.binary_search(&NameDigest::of(name).short()).is_ok()
    }

    /// From what [`Self::numbers`] gave.
    pub(crate) fn from_numbers(numbers: Vec<u32>) -> Self {
        Self(numbers)
    }

    /// Its names as numbers, in order.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.0
    }
}

impl FromIterator<NameDigest> for NameSet {
    fn from_iter<I: IntoIterator<Item = NameDigest>>(names: I) -> Self {
        let mut numbers: Vec<u32> = names.into_iter().map(NameDigest::short).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.shrink_to_fit();
        Self(numbers)
    }
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
        bytes
            + references.map(|reference| size_of::<Reference>() + reference.name.len()).sum::<usize>()
            + size_of_val(self.plain_uses.numbers())
    }

    /// The symbol at `index` and all symbols that enclose it, from the inside out.
    pub fn around(&self, index: Option<usize>) -> impl Iterator<Item = usize> {
        // Ends, because a parent precedes its children.
        std::iter::successors(index.filter(|index| *index < self.symbols.len()), |now| {
            self.symbols.get(*now)?.parent.map(|parent| parent as usize).filter(|parent| parent < now)
        })
    }

    /// The innermost symbol that contains a line, counted from 1.
    pub fn innermost(&self, line: u32) -> Option<usize> {
        let contains =
            |symbol: &Symbol| symbol.line_start <= line && line <= symbol.line_end && symbol.kind != SymbolKind::Use;
        (0..self.symbols.len()).filter(|at| contains(&self.symbols[*at])).max_by_key(|at| self.nesting(*at))
    }

    /// [`Facts::innermost`] of each of these lines, which are in order. One pass over the symbols.
    pub fn innermost_of(&self, lines: impl Iterator<Item = u32>) -> Vec<Option<usize>> {
        let symbols = &self.symbols;
        let mut order: Vec<usize> = (0..symbols.len()).filter(|at| symbols[*at].kind != SymbolKind::Use).collect();
        order.sort_by_key(|at| self.nesting(*at));
        let mut order = order.into_iter().peekable();
        // A symbol that has ended stays as long as one that began later hasn't.
        let mut begun: Vec<usize> = Vec::new();
        let innermost = |line: u32| {
            while let Some(at) = order.next_if(|at| symbols[*at].line_start <= line) {
                begun.push(at);
            }
            while begun.last().is_some_and(|at| symbols[*at].line_end < line) {
                begun.pop();
            }
            begun.last().copied()
        };
        lines.map(innermost).collect()
    }

    /// Of the symbols that contain a line, the innermost has the greatest key.
    fn nesting(&self, at: usize) -> (u32, Reverse<u32>, usize) {
        (self.symbols[at].line_start, Reverse(self.symbols[at].line_end), at)
    }

    /// The function around a symbol, or the symbol itself if it is one.
    pub fn enclosing_function(&self, within: Option<usize>) -> Option<usize> {
        self.around(within).find(|at| self.symbols[*at].is_callable())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(kind: SymbolKind, [line_start, line_end]: [u32; 2]) -> Symbol {
        Symbol {
            kind,
            name: "f".into(),
            parent: None,
            scope: None,
            marker: String::new(),
            visibility: Visibility::Public,
            signature: String::new(),
            doc: String::new(),
            line_start,
            line_end,
            name_line: line_start,
            name_column: 0,
            is_definition: true,
        }
    }

    #[test]
    fn lines_in_order_have_the_same_innermost_symbols_as_each_line_alone() {
        let spans = [[2, 12], [3, 5], [5, 7], [5, 5], [6, 9], [8, 8], [1, 3], [14, 13], [15, 15], [15, 15]];
        let mut symbols: Vec<Symbol> = spans.into_iter().map(|lines| symbol(SymbolKind::Fn, lines)).collect();
        symbols.push(symbol(SymbolKind::Use, [1, 20]));
        let facts = Facts { symbols, ..Facts::default() };
        let lines = [1, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16];
        assert_eq!(facts.innermost_of(lines.into_iter()), lines.map(|line| facts.innermost(line)));
        assert_eq!(facts.innermost_of([8, 15].into_iter()), [Some(5), Some(9)]);
    }
}
