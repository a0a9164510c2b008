//! Where the variables that hold what a file requires are used, as far as syntax decides it.
//!
//! Invariant: a variable is listed only if no other declaration in the file has its name, it is declared outside of all functions and
//! blocks, and neither a comment nor a type mentions it. Then each place of the name is the variable.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::RequireBinding;
use super::reader::{LinkReader, OuterNodes, walk};
use codeyard_model::position::Range;

/// Nodes between a declaration and a name in it that are looked at.
const MAX_PATTERN_DEPTH: usize = 64;

/// What is known of a name.
#[derive(Default)]
struct NameUses {
    places: Vec<Range>,
    declarations: usize,
    /// Whether anything else may be meant by the name, or may mean it.
    is_doubtful: bool,
}

impl LinkReader<'_> {
    /// Lists the places of the variables.
    pub(super) fn add_variables(&mut self, root: Node<'_>) {
        let mut names: BTreeMap<String, NameUses> = BTreeMap::new();
        for call in &self.links.requires {
            match &call.binding {
                RequireBinding::Whole(variable) | RequireBinding::Member(_, Some(variable)) => {
                    names.insert(variable.name.clone(), NameUses::default());
                }
                RequireBinding::Names(taken) => {
                    names.extend(taken.iter().map(|(_, variable)| (variable.name.clone(), NameUses::default())));
                }
                RequireBinding::Unnamed | RequireBinding::Member(_, None) => {}
            }
        }
        if names.is_empty() {
            return;
        }
        walk(root, &mut |node, outer| match node.kind() {
            "identifier" | "shorthand_property_identifier" | "shorthand_property_identifier_pattern" => {
                let Some(uses) = names.get_mut(self.text_of(node)) else { return };
                uses.places.push(self.range(node));
                if is_declared(node, outer) {
                    uses.declarations += 1;
                    uses.is_doubtful |= !is_at_top(outer);
                }
            }
            "type_identifier" => {
                if let Some(uses) = names.get_mut(self.text_of(node)) {
                    uses.is_doubtful = true;
                }
            }
            "comment" => {
                let is_part = |c: char| c == '$' || c == '_' || c.is_alphanumeric();
                let words: BTreeSet<&str> = self.text_of(node).split(|c| !is_part(c)).collect();
                for word in words {
                    if let Some(uses) = names.get_mut(word) {
                        uses.is_doubtful = true;
                    }
                }
            }
            _ => {}
        });
        let decided = names.into_iter().filter(|(_, uses)| uses.declarations == 1 && !uses.is_doubtful);
        self.links.variables = decided.map(|(name, uses)| (name, uses.places)).collect();
    }
}

/// Whether a name may be declared here. Assignments to patterns count too.
fn is_declared(node: Node<'_>, outer: &OuterNodes<'_>) -> bool {
    if node.kind() == "shorthand_property_identifier_pattern" {
        return true;
    }
    let Some(parent) = outer.parent() else { return false };
    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "variable_declarator"
        | "function_declaration"
        | "generator_function_declaration"
        | "function_expression"
        | "generator_function"
        | "class_declaration"
        | "abstract_class_declaration"
        | "class"
        | "enum_declaration"
        | "internal_module"
        | "module"
        | "function_signature" => is("name"),
        "arrow_function" | "catch_clause" => is("parameter"),
        "assignment_pattern" | "object_assignment_pattern" | "for_in_statement" => is("left"),
        "pair_pattern" => is("value"),
        "required_parameter" | "optional_parameter" => is("pattern"),
        "formal_parameters"
        | "array_pattern"
        | "rest_pattern"
        | "import_clause"
        | "import_specifier"
        | "namespace_import"
        | "import_require_clause"
        | "import_alias" => true,
        _ => false,
    }
}

/// Whether the declaration with these nodes around it is outside of all functions and blocks. One in a deeper pattern counts as inside.
fn is_at_top(outer: &OuterNodes<'_>) -> bool {
    let mut around = outer.all().iter().rev().take(MAX_PATTERN_DEPTH).peekable();
    while let Some(node) = around.next() {
        match node.kind() {
            "lexical_declaration" | "variable_declaration" => {
                return around.peek().is_some_and(|parent| matches!(parent.kind(), "program" | "export_statement"));
            }
            "variable_declarator"
            | "object_pattern"
            | "array_pattern"
            | "pair_pattern"
            | "rest_pattern"
            | "assignment_pattern"
            | "object_assignment_pattern" => {}
            _ => return false,
        }
    }
    false
}
