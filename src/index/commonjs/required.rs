//! What a file takes out of `require`, and out of variables.

use tree_sitter::Node;

use super::reader::{LinkReader, OuterNodes, with_parentheses};
use super::{MemberAccess, NamePlace, RequireBinding, RequireCall};

impl LinkReader<'_> {
    /// The literal of `require('…')`.
    pub(super) fn specifier<'t>(&self, call: Node<'t>) -> Option<Node<'t>> {
        self.required(call).filter(|first| first.kind() == "string")
    }

    /// The argument of `require(…)`.
    fn required<'t>(&self, call: Node<'t>) -> Option<Node<'t>> {
        let function = call.child_by_field_name("function")?;
        let is_require = function.kind() == "identifier" && self.text_of(function) == "require";
        call.child_by_field_name("arguments").filter(|_| is_require)?.named_child(0)
    }

    pub(super) fn add_require(&mut self, call: Node<'_>, outer: &OuterNodes<'_>) {
        let Some(argument) = self.required(call) else { return };
        let binding = self.binding(call, outer).unwrap_or(RequireBinding::Unnamed);
        if argument.kind() == "string" {
            let specifier = self.place(argument);
            self.links.requires.push(RequireCall { specifier, binding });
        } else {
            self.links.computed_requires.push(binding);
        }
    }

    fn binding(&self, call: Node<'_>, outer: &OuterNodes<'_>) -> Option<RequireBinding> {
        let (value, outer) = with_parentheses(call, outer.all());
        let (parent, outer) = outer.split_last()?;
        if parent.kind() == "member_expression" {
            let property = self.property(*parent)?;
            let (member, outer) = with_parentheses(*parent, outer);
            let alias = outer.last().and_then(|parent| variable_of(member, *parent)).map(|name| self.place(name));
            return Some(RequireBinding::Member(property, alias));
        }
        if let Some(name) = variable_of(value, *parent) {
            return Some(RequireBinding::Whole(self.place(name)));
        }
        let field = if parent.kind() == "variable_declarator" { "name" } else { "left" };
        let pattern = parent.child_by_field_name(field).filter(|pattern| pattern.kind() == "object_pattern")?;
        Some(RequireBinding::Names(self.names(pattern)))
    }

    /// `const { name } = object`: names that are taken out of a variable.
    pub(super) fn add_declarator(&mut self, declarator: Node<'_>) {
        self.add_alias(declarator);
        let field = |name: &str| declarator.child_by_field_name(name);
        let (Some(pattern), Some(object)) = (field("name"), field("value")) else { return };
        if pattern.kind() != "object_pattern" || object.kind() != "identifier" {
            return;
        }
        let is_own_exports = self.is_exports(object);
        let object = self.range(object).start;
        let names = self.names(pattern);
        let taken = names.into_iter().map(|(property, _)| MemberAccess { object, is_own_exports, property });
        self.links.members.extend(taken);
    }

    /// The names of an object pattern, each with its variable.
    fn names(&self, pattern: Node<'_>) -> Vec<(NamePlace, NamePlace)> {
        let mut names = Vec::new();
        let mut cursor = pattern.walk();
        for part in pattern.named_children(&mut cursor) {
            let simple = match part.kind() {
                "object_assignment_pattern" => part.child_by_field_name("left").unwrap_or(part),
                _ => part,
            };
            match simple.kind() {
                "shorthand_property_identifier_pattern" => names.push((self.place(simple), self.place(simple))),
                "pair_pattern" => {
                    let (Some(key), Some(value)) =
                        (simple.child_by_field_name("key"), simple.child_by_field_name("value"))
                    else {
                        continue;
                    };
                    let variable = match value.kind() {
                        "assignment_pattern" => value.child_by_field_name("left").unwrap_or(value),
                        _ => value,
                    };
                    // A nested pattern has no variable for the name itself.
                    let alias = if variable.kind() == "identifier" { variable } else { key };
                    names.push((self.place(key), self.place(alias)));
                }
                _ => {}
            }
        }
        names
    }
}

/// The variable that a value is assigned to, by the node around it.
fn variable_of<'t>(value: Node<'t>, parent: Node<'t>) -> Option<Node<'t>> {
    let name = match parent.kind() {
        "variable_declarator" => parent.child_by_field_name("name")?,
        "assignment_expression" if parent.child_by_field_name("right") == Some(value) => {
            parent.child_by_field_name("left")?
        }
        _ => return None,
    };
    (name.kind() == "identifier").then_some(name)
}
