//! Modules as they are written: what a file of JavaScript or TypeScript assigns to `exports`, what it takes out of `require`, what it exports
//! by `export`, and who calls what.
//!
//! Syntax only: no specifier is resolved to a file and no name to a declaration; whoever links modules asks a language server for that.
//! Invariants: reading never fails; the same text gives the same links, in the order of the text; columns are in UTF-16.

mod es_modules;
mod exported;
mod reader;
mod required;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use codeyard_model::position::{Position, Range};

/// A name and its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamePlace {
    /// The name; the text of a specifier without its quotes.
    pub name: String,
    pub range: Range,
}

/// What a file exports, requires and calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleLinks {
    /// Its exports of CommonJS.
    pub exports: Vec<ModuleExport>,
    /// Its exports by `export`. Those without a name: `export =`, and `export *` with the place of the specifier as the key.
    pub es_exports: Vec<ModuleExport>,
    /// The names that it imports by `import`.
    pub imports: Vec<ImportedName>,
    /// Its calls of `require` with a literal.
    pub requires: Vec<RequireCall>,
    /// By name, all places of the variables that hold what it requires, where syntax decides them.
    pub variables: BTreeMap<String, Vec<Range>>,
    /// What becomes of the modules of its calls of `require` without a literal.
    pub computed_requires: Vec<RequireBinding>,
    /// Names that are taken out of a variable: `object.name`, `const { name } = object`.
    pub members: Vec<MemberAccess>,
    /// Functions and methods with a name, outer ones before those inside of them.
    pub functions: Vec<NamedFunction>,
    /// Where the names begin that are called or constructed; for `require('x')()` where the specifier begins.
    pub callees: BTreeSet<Position>,
    /// Where names begin that are looked up in an object: behind a dot, or in the pattern of a destructuring.
    pub properties: BTreeSet<Position>,
    /// Whether it has statements of `import`. Without them, other names mean something that the file binds itself.
    pub has_imports: bool,
    /// The end of the text.
    pub end: Position,
}

/// One export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleExport {
    /// Its name. `None`: the whole of `module.exports`, or everything that the value has is exported too.
    pub name: Option<String>,
    /// The name in `exports.name` or in the object; for the whole, the word `exports`.
    pub key: Range,
    pub value: ExportedValue,
}

/// What is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportedValue {
    /// Something that is written there, with the name of its function or class.
    Own(Option<NamePlace>),
    /// An object that is written there. Its members are exports too if it is all of `module.exports`.
    Object,
    /// A variable.
    Name(NamePlace),
    /// `require(…)` or what `from` names, by the place of its specifier, or a member of it.
    Required(Range, Option<NamePlace>),
    /// `object.name`.
    Member(NamePlace),
}

/// A name that is imported by `import`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedName {
    /// The specifier of its module.
    pub specifier: NamePlace,
    /// Its name in the module, and where that is; of a default import where the variable is.
    pub key: NamePlace,
    pub local: NamePlace,
}

/// One call of `require`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequireCall {
    pub specifier: NamePlace,
    /// What becomes of the module.
    pub binding: RequireBinding,
}

/// What becomes of a module that is required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequireBinding {
    /// Nothing that has a name here.
    Unnamed,
    /// A variable.
    Whole(NamePlace),
    /// `const { key, key: variable } = require(…)`
    Names(Vec<(NamePlace, NamePlace)>),
    /// `require(…).name`, and the variable that it is assigned to.
    Member(NamePlace, Option<NamePlace>),
}

/// A name that is taken out of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberAccess {
    /// Where the variable's name begins.
    pub object: Position,
    /// Whether the variable is the file's own `exports` or `module.exports`, or another name of it.
    pub is_own_exports: bool,
    pub property: NamePlace,
}

/// A function or method with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFunction {
    pub name: NamePlace,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// All of it.
    pub range: Range,
}

impl ModuleLinks {
    /// The links of a file with this name. `None` if it isn't JavaScript or TypeScript, or is too large.
    pub fn read(file_name: &str, text: &str) -> Option<Self> {
        reader::read(file_name, text)
    }

    /// Whether it requires any module.
    pub fn has_requires(&self) -> bool {
        !self.requires.is_empty() || !self.computed_requires.is_empty()
    }

    /// All places of a variable that holds what is required, if syntax decides them.
    pub fn places_of(&self, variable: &NamePlace) -> Option<&[Range]> {
        self.variables.get(&variable.name).map(Vec::as_slice).filter(|places| places.contains(&variable.range))
    }

    /// Whether the name at this position is directly taken out of a `require` without a literal: `const { name } = require(variable)`.
    pub fn is_taken_from_computed(&self, at: Position) -> bool {
        self.computed_requires.iter().any(|binding| match binding {
            RequireBinding::Names(names) => names.iter().any(|(key, _)| key.range.start == at),
            RequireBinding::Member(name, _) => name.range.start == at,
            RequireBinding::Unnamed | RequireBinding::Whole(_) => false,
        })
    }

    /// The innermost function around a position.
    pub fn function_at(&self, at: Position) -> Option<&NamedFunction> {
        self.functions.iter().rfind(|function| function.range.start <= at && at < function.range.end)
    }
}
