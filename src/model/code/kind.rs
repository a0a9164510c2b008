//! Kinds of symbols, one list for all languages, and their visibility.

use codeyard_base::words;

words! {
    /// The kind of a symbol.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum SymbolKind {
        /// A free function.
        Fn = 0 => "fn",
        /// A function that belongs to a type; constructors, getters and setters too.
        Method = 1 => "method",
        /// A record type; a union too.
        Struct = 2 => "struct",
        /// A class, an object or an actor.
        Class = 3 => "class",
        Enum = 4 => "enum",
        /// A trait or a mixin.
        Trait = 5 => "trait",
        /// An interface or a protocol.
        Interface = 6 => "interface",
        /// A block that adds members to a type: `impl`, `extension`.
        Impl = 7 => "impl",
        /// A type alias.
        Type = 8 => "type",
        /// A value that doesn't change; a variant of an enumeration too.
        Const = 9 => "const",
        Static = 10 => "static",
        /// A variable of a file or a module; a key of a data file too.
        Variable = 11 => "variable",
        /// A field or a property of a type.
        Field = 12 => "field",
        /// A module, a namespace, a package; a heading of a document and a table of a data file too.
        Module = 13 => "module",
        Macro = 14 => "macro",
        Use = 15 => "use",
    }
    /// The contract's word.
    fn as_str;
}

impl SymbolKind {
    /// Whether a filter of this kind lets `kind` through. A method is a function, too.
    pub fn covers(self, kind: Self) -> bool {
        self == kind || (self, kind) == (Self::Fn, Self::Method)
    }

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The kind with this name: the contract's word or a common synonym.
    pub fn parse(text: &str) -> Option<Self> {
        let synonym = match text {
            "function" | "func" => "fn",
            "constructor" => "method",
            "union" | "record" => "struct",
            "object" | "actor" => "class",
            "enumeration" => "enum",
            "mixin" => "trait",
            "protocol" => "interface",
            "extension" => "impl",
            "typedef" | "type_alias" | "alias" => "type",
            "constant" | "enum_member" | "variant" => "const",
            "var" | "let" | "key" => "variable",
            "property" | "member" => "field",
            "namespace" | "package" | "mod" | "heading" => "module",
            "define" => "macro",
            "import" => "use",
            other => other,
        };
        Self::ALL.into_iter().find(|kind| kind.as_str() == synonym)
    }
}

words! {
    /// The visibility of a symbol.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Visibility {
        /// Visible everywhere.
        Public = 0 => "public",
        /// Visible in some places: `pub(crate)`, `protected`, `internal`, a Python name with one underscore.
        Restricted = 1 => "restricted",
        /// Visible in its own file, type or block.
        Private = 2 => "private",
    }
    /// The contract's word.
    fn as_str;
}

impl Visibility {
    /// The visibility with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips_through_its_number_and_its_word() {
        for (number, kind) in (0_u8..).zip(SymbolKind::ALL) {
            assert_eq!(SymbolKind::from_number(number), Some(kind));
            assert_eq!(kind as u8, number);
            assert_eq!(SymbolKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(SymbolKind::from_number(16), None);
        assert_eq!(SymbolKind::parse("function"), Some(SymbolKind::Fn));
        assert_eq!(SymbolKind::parse("Fn"), None);
        assert_eq!(Visibility::from_number(2), Some(Visibility::Private));
    }
}
