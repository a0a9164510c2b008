//! What a file assigns to `exports` and `module.exports`.

use tree_sitter::Node;

use super::reader::{LinkReader, OuterNodes, with_parentheses, without_parentheses};
use super::{ExportedValue, ModuleExport, NamePlace};
use codeyard_model::position::Range;

impl LinkReader<'_> {
    /// `exports.name = value`, also in a chain of assignments.
    pub(super) fn add_assignment(&mut self, node: Node<'_>, outer: &OuterNodes<'_>) {
        let (whole, around) = with_parentheses(node, outer.all());
        let is_inner = around.last().is_some_and(|parent| {
            parent.kind() == "assignment_expression" && parent.child_by_field_name("right") == Some(whole)
        });
        if is_inner {
            return;
        }
        let (targets, value) = chain(node);
        self.add_targets(&targets, value, outer.has_function());
    }

    /// `const name = module.exports = value`: another name of the exports.
    pub(super) fn add_alias(&mut self, declarator: Node<'_>) {
        let field = |name: &str| declarator.child_by_field_name(name);
        let (Some(name), Some(value)) = (field("name"), field("value")) else { return };
        let is_exported = match value.kind() {
            "assignment_expression" => chain(value).0.iter().any(|target| self.is_exports(*target)),
            _ => self.is_exports(value),
        };
        if is_exported && name.kind() == "identifier" {
            self.aliases.insert(self.text_of(name).to_owned());
        }
    }

    fn add_targets(&mut self, targets: &[Node<'_>], value: Node<'_>, is_in_function: bool) {
        let is_whole = targets.iter().any(|target| self.is_exports(*target));
        for target in targets {
            match target.kind() {
                _ if self.is_exports(*target) => self.add_whole(*target, value),
                "identifier" if is_whole => drop(self.aliases.insert(self.text_of(*target).to_owned())),
                "member_expression" | "subscript_expression" => self.add_member_target(*target, value, is_in_function),
                _ => {}
            }
        }
    }

    fn add_member_target(&mut self, target: Node<'_>, value: Node<'_>, is_in_function: bool) {
        let Some(object) = target.child_by_field_name("object") else { return };
        let key = match target.child_by_field_name("index") {
            Some(index) if index.kind() == "string" => self.place(index),
            Some(_) => return,
            None => match self.property(target) {
                Some(property) => property,
                None => return,
            },
        };
        let exported = self.value(value);
        if self.is_exports(object) {
            self.links.exports.push(ModuleExport { name: Some(key.name), key: key.range, value: exported });
        } else if object.kind() == "identifier" && !is_in_function {
            self.assigned.push((self.text_of(object).to_owned(), key, exported));
        }
    }

    /// `module.exports = value`.
    fn add_whole(&mut self, target: Node<'_>, value: Node<'_>) {
        let word = target.child_by_field_name("property").unwrap_or(target);
        let key = self.range(word);
        let exported = self.value(value);
        if let ExportedValue::Name(name) = &exported {
            self.aliases.insert(name.name.clone());
        }
        self.links.exports.push(ModuleExport { name: None, key, value: exported });
        self.add_object(value, key);
    }

    /// The members of an object whose members are exported.
    fn add_object(&mut self, object: Node<'_>, whole: Range) {
        if object.kind() != "object" {
            return;
        }
        let mut cursor = object.walk();
        for part in object.named_children(&mut cursor) {
            let (key, value) = match part.kind() {
                "shorthand_property_identifier" => (self.place(part), ExportedValue::Name(self.place(part))),
                "method_definition" => match part.child_by_field_name("name") {
                    Some(name) => (self.place(name), ExportedValue::Own(Some(self.place(name)))),
                    None => continue,
                },
                "pair" => match (part.child_by_field_name("key"), part.child_by_field_name("value")) {
                    (Some(key), Some(value)) if key.kind() != "computed_property_name" => {
                        (self.place(key), self.value(value))
                    }
                    _ => continue,
                },
                "spread_element" => {
                    if let Some(spread) = part.named_child(0) {
                        let value = self.value(spread);
                        self.links.exports.push(ModuleExport { name: None, key: whole, value });
                    }
                    continue;
                }
                _ => continue,
            };
            self.links.exports.push(ModuleExport { name: Some(key.name), key: key.range, value });
        }
    }

    /// `Object.defineProperty(exports, 'name', …)`, `Object.assign(exports, value)` and the helper for `export *` of compilers.
    pub(super) fn add_export_call(&mut self, call: Node<'_>) {
        let (Some(function), Some(arguments)) =
            (call.child_by_field_name("function"), call.child_by_field_name("arguments"))
        else {
            return;
        };
        let argument = |at: usize| arguments.named_child(at as _);
        let (Some(first), Some(second)) = (argument(0), argument(1)) else { return };
        match self.text_of(function) {
            "Object.defineProperty" if self.is_exports(first) && second.kind() == "string" => {
                let key = self.place(second);
                let value = ExportedValue::Own(None);
                self.links.exports.push(ModuleExport { name: Some(key.name), key: key.range, value });
            }
            "Object.assign" if self.is_exports(first) => {
                let key = self.range(first);
                let mut cursor = arguments.walk();
                for part in arguments.named_children(&mut cursor).skip(1) {
                    let value = self.value(part);
                    if !matches!(value, ExportedValue::Own(_) | ExportedValue::Object) {
                        self.links.exports.push(ModuleExport { name: None, key, value });
                    }
                    self.add_object(part, key);
                }
            }
            "__exportStar" | "tslib_1.__exportStar" if self.is_exports(second) => {
                let value = self.value(first);
                let key = self.range(second);
                self.links.exports.push(ModuleExport { name: None, key, value });
            }
            _ => {}
        }
    }

    /// Members that were assigned to another name of the exports.
    pub(super) fn add_aliased_exports(&mut self) {
        for (object, key, value) in std::mem::take(&mut self.assigned) {
            if self.aliases.contains(&object) {
                self.links.exports.push(ModuleExport { name: Some(key.name), key: key.range, value });
            }
        }
        self.links.exports.sort_by_key(|export| export.key);
    }

    fn value(&self, value: Node<'_>) -> ExportedValue {
        let value = without_parentheses(value);
        let place = |node: Node<'_>| -> NamePlace { self.place(node) };
        match value.kind() {
            "object" => ExportedValue::Object,
            "identifier" => ExportedValue::Name(place(value)),
            "call_expression" => match self.specifier(value) {
                Some(specifier) => ExportedValue::Required(self.place(specifier).range, None),
                None => ExportedValue::Own(None),
            },
            "member_expression" => {
                let object = value.child_by_field_name("object").map(without_parentheses);
                let (Some(object), Some(property)) = (object, self.property(value)) else {
                    return ExportedValue::Own(None);
                };
                match (object.kind(), self.specifier(object)) {
                    (_, Some(specifier)) => ExportedValue::Required(self.place(specifier).range, Some(property)),
                    ("identifier" | "member_expression", None) => ExportedValue::Member(property),
                    _ => ExportedValue::Own(None),
                }
            }
            "function_expression" | "generator_function" | "class" => {
                ExportedValue::Own(value.child_by_field_name("name").map(place))
            }
            _ => ExportedValue::Own(None),
        }
    }
}

/// The targets of `a = b = value`, and the value.
fn chain(node: Node<'_>) -> (Vec<Node<'_>>, Node<'_>) {
    let mut targets = Vec::new();
    let mut value = node;
    while value.kind() == "assignment_expression" {
        let (Some(left), Some(right)) = (value.child_by_field_name("left"), value.child_by_field_name("right")) else {
            break;
        };
        targets.push(left);
        value = without_parentheses(right);
    }
    (targets, value)
}
