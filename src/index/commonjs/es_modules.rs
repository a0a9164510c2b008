//! What a file exports by `export` and imports by `import`.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::reader::{LinkReader, without_parentheses};
use super::{ExportedValue, ImportedName, ModuleExport, NamePlace};

/// The name of what `export default` exports.
const DEFAULT: &str = "default";

impl LinkReader<'_> {
    pub(super) fn add_es_export(&mut self, statement: Node<'_>) {
        let field = |name: &str| statement.child_by_field_name(name);
        let source = field("source").filter(|source| source.kind() == "string");
        let mut cursor = statement.walk();
        let children: Vec<Node<'_>> = statement.children(&mut cursor).collect();
        let has = |kind: &str| children.iter().any(|child| child.kind() == kind);
        if let Some(clause) = children.iter().find(|child| child.kind() == "export_clause") {
            self.add_specifiers(*clause, source);
        } else if let Some(source) = source {
            // `export * as name` exports an object whose members servers know.
            if has("*") {
                let value = ExportedValue::Required(self.place(source).range, None);
                self.push_es(None, self.place(source), value);
            }
        } else if has(DEFAULT) {
            self.add_default(field("declaration").or_else(|| field("value")));
        } else if let Some(declaration) = field("declaration") {
            for name in declared_names(declaration) {
                let place = self.place(name);
                self.push_es(Some(place.name.clone()), place.clone(), ExportedValue::Own(Some(place)));
            }
        } else if has("=")
            && let Some(value) = children.iter().rfind(|child| child.kind() == "identifier")
        {
            let place = self.place(*value);
            self.push_es(None, place.clone(), ExportedValue::Name(place));
        }
    }

    fn add_default(&mut self, value: Option<Node<'_>>) {
        let Some(value) = value.map(without_parentheses) else { return };
        let exported = match value.kind() {
            "identifier" => ExportedValue::Name(self.place(value)),
            _ => ExportedValue::Own(value.child_by_field_name("name").map(|name| self.place(name))),
        };
        let key = match &exported {
            ExportedValue::Name(name) | ExportedValue::Own(Some(name)) => name.clone(),
            _ => self.place(value),
        };
        self.push_es(Some(DEFAULT.to_owned()), key, exported);
    }

    /// `export { name, name as other }`, also of another module.
    fn add_specifiers(&mut self, clause: Node<'_>, source: Option<Node<'_>>) {
        let mut cursor = clause.walk();
        for part in clause.named_children(&mut cursor).filter(|part| part.kind() == "export_specifier") {
            let Some(name) = part.child_by_field_name("name").map(|name| self.place(name)) else { continue };
            let key = part.child_by_field_name("alias").map_or_else(|| name.clone(), |alias| self.place(alias));
            let value = match source {
                Some(source) => ExportedValue::Required(self.place(source).range, Some(name)),
                None => ExportedValue::Name(name),
            };
            self.push_es(Some(key.name.clone()), key, value);
        }
    }

    fn push_es(&mut self, name: Option<String>, key: NamePlace, value: ExportedValue) {
        self.links.es_exports.push(ModuleExport { name, key: key.range, value });
    }

    /// A statement of `import` with names.
    pub(super) fn add_import(&mut self, statement: Node<'_>) {
        self.links.has_imports = true;
        let Some(source) = statement.child_by_field_name("source").filter(|source| source.kind() == "string") else {
            return;
        };
        let specifier = self.place(source);
        let mut cursor = statement.walk();
        let clause = statement.named_children(&mut cursor).find(|child| child.kind() == "import_clause");
        let Some(clause) = clause else { return };
        let mut cursor = clause.walk();
        for part in clause.named_children(&mut cursor) {
            match part.kind() {
                "identifier" => {
                    let local = self.place(part);
                    let key = NamePlace { name: DEFAULT.to_owned(), range: local.range };
                    self.links.imports.push(ImportedName { specifier: specifier.clone(), key, local });
                }
                "named_imports" => {
                    let mut names = part.walk();
                    for name in part.named_children(&mut names).filter(|name| name.kind() == "import_specifier") {
                        let Some(key) = name.child_by_field_name("name").map(|name| self.place(name)) else { continue };
                        let alias = name.child_by_field_name("alias");
                        let local = alias.map_or_else(|| key.clone(), |alias| self.place(alias));
                        self.links.imports.push(ImportedName { specifier: specifier.clone(), key, local });
                    }
                }
                _ => {}
            }
        }
    }

    /// What is imported and exported again is an export of the other module.
    pub(super) fn add_imported_exports(&mut self) {
        let imports = std::mem::take(&mut self.links.imports);
        let mut by_name: BTreeMap<&str, &ImportedName> = BTreeMap::new();
        for import in &imports {
            by_name.entry(&import.local.name).or_insert(import);
        }
        for export in &mut self.links.es_exports {
            let ExportedValue::Name(name) = &export.value else { continue };
            if let Some(import) = by_name.get(name.name.as_str()) {
                export.value = ExportedValue::Required(import.specifier.range, Some(import.key.clone()));
            }
        }
        self.links.imports = imports;
    }
}

fn declared_names(declaration: Node<'_>) -> Vec<Node<'_>> {
    if !matches!(declaration.kind(), "lexical_declaration" | "variable_declaration") {
        return declaration.child_by_field_name("name").into_iter().collect();
    }
    let mut cursor = declaration.walk();
    let declarators: Vec<Node<'_>> = declaration.named_children(&mut cursor).collect();
    let mut waiting: Vec<Node<'_>> =
        declarators.iter().rev().filter_map(|declarator| declarator.child_by_field_name("name")).collect();
    let mut names = Vec::new();
    while let Some(next) = waiting.pop() {
        match next.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => names.push(next),
            "pair_pattern" => waiting.extend(next.child_by_field_name("value")),
            "assignment_pattern" | "object_assignment_pattern" => waiting.extend(next.child_by_field_name("left")),
            _ => {
                let mut cursor = next.walk();
                waiting.extend(next.named_children(&mut cursor));
            }
        }
    }
    names
}
