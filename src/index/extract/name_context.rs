//! What the nodes around a name say of it: whether it is code, whether it is bound there, whether it is a label.
//!
//! Grammars have no common vocabulary, but their kinds of nodes and their fields have telling names. The names are compared once for each
//! grammar, into tables. A walk of a tree keeps the path from the root, because asking a node for its parent searches from the root.

use std::num::NonZeroU16;

use tree_sitter::{Node, Tree};

use crate::language::Language;

/// Nodes around a name that are looked at to see whether it is bound there.
const MAX_BINDING_LEVELS: usize = 4;

/// Nodes around a leaf that are looked at to see whether it is part of a comment.
const COMMENT_LEVELS: usize = 3;

/// What the name of a node's kind says, as a set of bits.
#[derive(Debug, Clone, Copy, Default)]
struct KindTraits(u16);

impl KindTraits {
    const NAMED: u16 = 1;
    /// A string, a character or other text.
    const TEXT: u16 = 1 << 1;
    const COMMENT: u16 = 1 << 2;
    /// Parameters, but not of types.
    const PARAMETER: u16 = 1 << 3;
    /// What is on the left side of it is declared.
    const DECLARES_LEFT: u16 = 1 << 4;
    /// What is its name is declared.
    const DECLARES_NAME: u16 = 1 << 5;
    const VARIABLES: u16 = 1 << 6;
    /// `local` and `declare` of a shell.
    const SHELL_DECLARATION: u16 = 1 << 7;
    /// A list of names, or what encloses a name without another meaning.
    const LIST: u16 = 1 << 8;
    const ARGUMENT: u16 = 1 << 9;
    const FIELD_VALUE: u16 = 1 << 10;
    const PAIR: u16 = 1 << 11;
    const KEY: u16 = 1 << 12;

    fn of(kind: &str, is_named: bool) -> Self {
        let has = |parts: &[&str]| parts.iter().any(|part| kind.contains(part));
        let bits = [
            (Self::NAMED, is_named),
            (Self::TEXT, has(&["comment", "string", "content", "fragment", "char", "text", "regex"])),
            (Self::COMMENT, has(&["comment"])),
            (Self::PARAMETER, has(&["parameter"]) && !has(&["type"])),
            (Self::DECLARES_LEFT, has(&["short_var", "range", "for_", "pattern"])),
            (Self::DECLARES_NAME, has(&["declar", "variable", "spec", "binding", "let_"])),
            (Self::VARIABLES, has(&["variable_declaration"])),
            (Self::SHELL_DECLARATION, kind == "declaration_command"),
            (Self::LIST, has(&["list", "tuple", "pattern", "variable_name", "identifier"]) && !has(&["argument"])),
            (Self::ARGUMENT, matches!(kind, "keyword_argument" | "argument")),
            (Self::FIELD_VALUE, kind == "field_initializer"),
            (Self::PAIR, kind == "pair"),
            (Self::KEY, matches!(kind, "property_identifier" | "hash_key_symbol")),
        ];
        Self(bits.into_iter().filter(|(_, holds)| *holds).fold(0, |all, (bit, _)| all | bit))
    }

    fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }
}

/// What a field says of the node in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldRole {
    /// Its type or its value.
    Value,
    /// What is declared.
    Pattern,
    Left,
    Name,
    Field,
    Other,
}

impl FieldRole {
    fn of(name: &str) -> Self {
        match name {
            "type" | "value" | "default_value" | "right" | "body" => Self::Value,
            "pattern" | "declarator" => Self::Pattern,
            "left" => Self::Left,
            "name" => Self::Name,
            "field" => Self::Field,
            _ => Self::Other,
        }
    }
}

/// The tables of one grammar.
pub(super) struct NameContext {
    /// Indexed by the number of a node's kind.
    kinds: Vec<KindTraits>,
    /// Indexed by the number of a field.
    fields: Vec<FieldRole>,
}

impl NameContext {
    pub(super) fn of(grammar: &tree_sitter::Language) -> Self {
        let kinds = (0..grammar.node_kind_count()).filter_map(|kind| u16::try_from(kind).ok());
        let traits =
            |kind| KindTraits::of(grammar.node_kind_for_id(kind).unwrap_or_default(), grammar.node_kind_is_named(kind));
        // Fields count from 1.
        let fields = (0..=grammar.field_count()).filter_map(|field| u16::try_from(field).ok());
        let role = |field| FieldRole::of(grammar.field_name_for_id(field).unwrap_or_default());
        Self { kinds: kinds.map(traits).collect(), fields: fields.map(role).collect() }
    }

    fn level(&self, node: Node<'_>, field: Option<NonZeroU16>) -> Level {
        // The kind of an error node isn't in the table.
        let kind = self.kinds.get(usize::from(node.kind_id())).copied().unwrap_or(KindTraits(KindTraits::NAMED));
        let role = |field: NonZeroU16| self.fields.get(usize::from(field.get())).copied().unwrap_or(FieldRole::Other);
        Level { kind, field: field.map(role) }
    }

    /// Calls `each` with every leaf of a tree, in order.
    pub(super) fn each_leaf<'t>(&self, tree: &'t Tree, mut each: impl FnMut(&Leaf<'_, 't>)) {
        let mut cursor = tree.walk();
        let mut path = vec![self.level(cursor.node(), cursor.field_id())];
        loop {
            if cursor.goto_first_child() {
                path.push(self.level(cursor.node(), cursor.field_id()));
                continue;
            }
            each(&Leaf { node: cursor.node(), path: &path });
            loop {
                path.pop();
                if cursor.goto_next_sibling() {
                    path.push(self.level(cursor.node(), cursor.field_id()));
                    break;
                }
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }
}

/// A node on the path from the root to a leaf.
#[derive(Debug, Clone, Copy)]
struct Level {
    kind: KindTraits,
    /// The field of its parent that it is in.
    field: Option<FieldRole>,
}

/// A leaf of a tree.
pub(super) struct Leaf<'w, 't> {
    pub(super) node: Node<'t>,
    /// From the root to the leaf itself.
    path: &'w [Level],
}

impl Leaf<'_, '_> {
    /// The leaf and what is around it, from the inside out: each node with its parent.
    fn levels(&self) -> impl Iterator<Item = (Level, Level)> + '_ {
        self.path.windows(2).rev().filter_map(|pair| Some((*pair.get(1)?, *pair.first()?)))
    }

    fn kind(&self) -> KindTraits {
        self.path.last().map(|level| level.kind).unwrap_or_default()
    }

    /// Whether it is a name in code.
    pub(super) fn is_code(&self, language: Language) -> bool {
        let kind = self.kind();
        let is_name = !language.is_code() || kind.has(KindTraits::NAMED) && !kind.has(KindTraits::TEXT);
        let mut around = self.levels().take(COMMENT_LEVELS);
        is_name && !self.node.is_missing() && !around.any(|(_, parent)| parent.kind.has(KindTraits::COMMENT))
    }

    /// Whether the grammar's fields and kinds around it say that it is bound there.
    pub(super) fn binds(&self, language: Language) -> bool {
        for (at, (node, parent)) in self.levels().take(MAX_BINDING_LEVELS).enumerate() {
            if node.field == Some(FieldRole::Value) {
                return false;
            }
            if parent.kind.has(KindTraits::PARAMETER) {
                return true;
            }
            match node.field {
                Some(FieldRole::Pattern) => return true,
                Some(FieldRole::Left) => {
                    return assigning_binds(language) || parent.kind.has(KindTraits::DECLARES_LEFT);
                }
                // A variable of a shell is local only if it is declared.
                Some(FieldRole::Name) if language == Language::BASH => {
                    let outer = self.levels().nth(at + 1);
                    return outer.is_some_and(|(_, outer)| outer.kind.has(KindTraits::SHELL_DECLARATION));
                }
                Some(FieldRole::Name) if parent.kind.has(KindTraits::DECLARES_NAME) => return true,
                None if parent.kind.has(KindTraits::VARIABLES) => return true,
                _ => {}
            }
            // `a, b = f()`: the list is what is on the left side.
            if !parent.kind.has(KindTraits::LIST) {
                return false;
            }
        }
        false
    }

    /// Whether it names an argument or a field to which a value is given there.
    pub(super) fn is_label(&self) -> bool {
        let Some((leaf, parent)) = self.levels().next() else { return false };
        parent.kind.has(KindTraits::ARGUMENT) && leaf.field == Some(FieldRole::Name)
            || parent.kind.has(KindTraits::FIELD_VALUE) && leaf.field == Some(FieldRole::Field)
            || parent.kind.has(KindTraits::PAIR) && leaf.kind.has(KindTraits::KEY)
    }
}

/// Whether the first assignment in a function declares a local variable.
fn assigning_binds(language: Language) -> bool {
    matches!(
        language,
        Language::PYTHON | Language::RUBY | Language::PHP | Language::R | Language::JULIA | Language::ELIXIR
    )
}
