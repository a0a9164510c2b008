//! The public API of a package of JavaScript or TypeScript: what its entry files export, through re-exports.
//!
//! Which files are entries is decided by `npm_entries`. Names are resolved within the repository. Invariant: an item is listed once, under
//! the first entry that exports it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use codeyard_index::Symbol;
use codeyard_index::commonjs::{ExportedValue, ModuleExport, ModuleLinks, NamePlace, RequireBinding};
use codeyard_model::code::SymbolKind;
use codeyard_model::position::Range;

use super::Selection;
use super::npm_entries::{PackageEntry, source_candidates};
use crate::limits::MAX_REEXPORT_STEPS;
use crate::product_sources::{ParsedSource, folder, resolve};

/// Steps of name resolution in one repository.
const MAX_STEPS: u32 = 500_000;

/// A symbol, by its file and place.
type SymbolPlace = (usize, usize);

struct ScriptFiles<'a> {
    files: &'a [ParsedSource],
    by_path: BTreeMap<&'a str, usize>,
    links: Vec<ModuleLinks>,
    /// By file and name, the symbols at the top and those assigned to a member of `exports`.
    names: Vec<BTreeMap<&'a str, Vec<usize>>>,
    /// The entries of the repository's packages, by the name that they are imported by.
    packages: BTreeMap<String, usize>,
    steps: Cell<u32>,
}

/// The items that the entries export. The first entry is the package itself.
pub(super) fn select(files: &[ParsedSource], entries: &[PackageEntry], others: &[PackageEntry]) -> Vec<Selection> {
    let by_path: BTreeMap<&str, usize> = files.iter().enumerate().map(|(at, file)| (file.path(), at)).collect();
    let read = |file: &ParsedSource| ModuleLinks::read(file.path(), &file.source.text).unwrap_or_default();
    let links = files.iter().map(read).collect();
    let names = files.iter().map(top_names).collect();
    let mut scripts =
        ScriptFiles { files, by_path, links, names, packages: BTreeMap::new(), steps: Cell::new(MAX_STEPS) };
    for entry in entries.iter().chain(others) {
        if let Some(file) = entry.files.iter().find_map(|path| scripts.by_path.get(path.as_str()).copied()) {
            scripts.packages.entry(entry.module.clone()).or_insert(file);
        }
    }
    let mut selections = Vec::new();
    let mut listed = BTreeSet::new();
    for entry in entries {
        let Some(file) = scripts.packages.get(&entry.module).copied() else { continue };
        for (name, places) in scripts.exports(file, 0) {
            let shown = match (name.as_str(), places.first()) {
                ("default" | "", Some(place)) => whole_name(&files[place.0].symbols[place.1], &entry.module),
                (name, _) => name.to_owned(),
            };
            let places: Vec<SymbolPlace> = places.into_iter().filter(|place| listed.insert(*place)).collect();
            scripts.add(&places, &entry.module, &shown, &mut selections);
        }
    }
    selections
}

/// The name of what a package exports as a whole: that of a class; a function is called as the package is.
fn whole_name(symbol: &Symbol, module: &str) -> String {
    let last = module.rsplit('/').next().unwrap_or(module).trim_end_matches(".js");
    let mut name = String::new();
    let mut is_next_upper = false;
    for character in last.chars() {
        if matches!(character, '-' | '.' | '_') {
            is_next_upper = !name.is_empty();
        } else {
            name.extend(character.to_uppercase().filter(|_| is_next_upper));
            name.extend(Some(character).filter(|_| !is_next_upper));
            is_next_upper = false;
        }
    }
    let is_type = symbol.name.starts_with(char::is_uppercase);
    if is_type || name.is_empty() { symbol.name.clone() } else { name }
}

fn top_names(file: &ParsedSource) -> BTreeMap<&str, Vec<usize>> {
    let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, symbol) in file.children(None).filter(|(_, symbol)| symbol.kind != SymbolKind::Use) {
        names.entry(&symbol.name).or_default().push(at);
    }
    names
}

/// Whether users may use a member. The index doesn't see a class as public that is exported further below.
fn is_public_member(symbol: &Symbol) -> bool {
    let is_closed = symbol.marker.split(' ').any(|word| matches!(word, "private" | "protected"));
    let is_api = !symbol.doc.contains("@internal") && !symbol.doc.contains("@private");
    !is_closed && is_api && !symbol.name.starts_with(['#', '_', '[']) && symbol.kind != SymbolKind::Use
}

impl<'a> ScriptFiles<'a> {
    /// Adds a name with all its declarations: overloads, and an interface and a class of one name.
    fn add(&self, places: &[SymbolPlace], module: &str, name: &str, selections: &mut Vec<Selection>) {
        let symbol = |place: &SymbolPlace| &self.files[place.0].symbols[place.1];
        let has_overloads =
            places.iter().any(|place| symbol(place).kind == SymbolKind::Fn && !symbol(place).is_definition);
        for place in places {
            let found = symbol(place);
            if found.doc.contains("@internal") || has_overloads && found.kind == SymbolKind::Fn && found.is_definition {
                continue;
            }
            selections.push(Selection::top(*place, module, name));
            self.add_members(*place, module, name, 0, selections);
        }
    }

    fn add_members(&self, (file, at): SymbolPlace, module: &str, owner: &str, depth: usize, to: &mut Vec<Selection>) {
        let source = &self.files[file];
        let kind = source.symbols[at].kind;
        let has_members = matches!(
            kind,
            SymbolKind::Class
                | SymbolKind::Interface
                | SymbolKind::Enum
                | SymbolKind::Module
                | SymbolKind::Const
                | SymbolKind::Variable
                | SymbolKind::Type
        );
        if depth > 3 || !has_members {
            return;
        }
        let own = &source.symbols[at];
        // Methods that are assigned to the object or to its prototype.
        let is_assigned = |symbol: &Symbol| symbol.scope.as_deref() == Some(own.name.as_str());
        let assigned = source.children(None).filter(|(_, symbol)| is_assigned(symbol));
        let mut seen = BTreeSet::new();
        for (member, symbol) in source.children(u32::try_from(at).ok()).chain(assigned) {
            let is_exported =
                kind != SymbolKind::Module || symbol.marker.contains("export") || source.path().ends_with(".d.ts");
            // A setter repeats its getter; overloads differ in their signatures.
            let accessor = Some(symbol.name.as_str()).filter(|_| symbol.signature.starts_with("set "));
            let repeats = accessor.is_some_and(|name| seen.contains(name));
            if !is_public_member(symbol) || !is_exported || repeats {
                continue;
            }
            seen.insert(symbol.name.as_str());
            let qualified = format!("{owner}.{}", symbol.name);
            to.push(Selection::member((file, member), module, owner, &qualified));
            self.add_members((file, member), module, &qualified, depth + 1, to);
        }
        if kind == SymbolKind::Class {
            self.add_parameter_fields((file, at), module, owner, to);
        }
    }

    /// `constructor(public readonly name: string)` declares a field.
    fn add_parameter_fields(&self, (file, at): SymbolPlace, module: &str, owner: &str, to: &mut Vec<Selection>) {
        let source = &self.files[file];
        let is_constructor = |(_, symbol): &(usize, &Symbol)| symbol.name == "constructor";
        for (constructor, _) in source.children(u32::try_from(at).ok()).filter(is_constructor) {
            for (member, symbol) in source.children(u32::try_from(constructor).ok()) {
                if symbol.kind == SymbolKind::Field && is_public_member(symbol) {
                    to.push(Selection::member((file, member), module, owner, &format!("{owner}.{}", symbol.name)));
                }
            }
        }
    }

    /// What a file exports, by name.
    fn exports(&self, file: usize, step: usize) -> BTreeMap<String, Vec<SymbolPlace>> {
        let mut exports: BTreeMap<String, Vec<SymbolPlace>> = BTreeMap::new();
        if step > MAX_REEXPORT_STEPS || self.steps.get() == 0 {
            return exports;
        }
        self.steps.set(self.steps.get() - 1);
        let links = &self.links[file];
        for export in links.es_exports.iter().chain(&links.exports) {
            match (&export.name, &export.value) {
                (None, ExportedValue::Required(specifier, None)) => {
                    let Some(other) = self.required(file, specifier) else { continue };
                    for (name, places) in self.exports(other, step + 1) {
                        if name != "default" {
                            exports.entry(name).or_insert(places);
                        }
                    }
                }
                (name, _) => {
                    let places = self.value(file, export, step);
                    if !places.is_empty() {
                        exports.insert(name.clone().unwrap_or_default(), places);
                    }
                }
            }
        }
        // A declaration file without an export of its own declares everything.
        if exports.is_empty() && self.files[file].path().ends_with(".d.ts") && links.es_exports.is_empty() {
            for (name, places) in &self.names[file] {
                exports.insert((*name).to_owned(), places.iter().map(|at| (file, *at)).collect());
            }
        }
        exports
    }

    /// The symbols that an export means.
    fn value(&self, file: usize, export: &ModuleExport, step: usize) -> Vec<SymbolPlace> {
        match &export.value {
            ExportedValue::Own(name) => {
                let names = name.as_ref().map(|name| name.name.as_str()).or(export.name.as_deref());
                let found = names.map(|name| self.own(file, name)).unwrap_or_default();
                if found.is_empty() { self.on_line(file, &export.key) } else { found }
            }
            ExportedValue::Object => self.on_line(file, &export.key),
            ExportedValue::Name(name) => self.local(file, name, step),
            ExportedValue::Required(specifier, member) => self
                .required(file, specifier)
                .map_or_else(Vec::new, |other| self.of_module(other, member.as_ref(), step)),
            ExportedValue::Member(name) => self.own(file, &name.name),
        }
    }

    fn of_module(&self, file: usize, member: Option<&NamePlace>, step: usize) -> Vec<SymbolPlace> {
        let mut exports = self.exports(file, step + 1);
        let whole = || ["", "default"].into_iter();
        match member {
            Some(member) => exports.remove(&member.name).unwrap_or_default(),
            None => whole().find_map(|name| exports.remove(name)).unwrap_or_default(),
        }
    }

    fn own(&self, file: usize, name: &str) -> Vec<SymbolPlace> {
        self.names[file].get(name).into_iter().flatten().map(|at| (file, *at)).collect()
    }

    /// A symbol whose name is where an export's key is: a function without a name of its own.
    fn on_line(&self, file: usize, key: &Range) -> Vec<SymbolPlace> {
        let line = key.start.line + 1;
        let symbols = self.files[file].symbols.iter().enumerate();
        let on_line: Vec<(usize, &Symbol)> =
            symbols.filter(|(_, symbol)| symbol.kind != SymbolKind::Use && symbol.name_line == line).collect();
        let is_at_key = |(_, symbol): &&(usize, &Symbol)| symbol.name_column == key.start.character;
        // `const app = module.exports = {…}` has its name elsewhere in the line.
        let is_value = |(_, symbol): &&(usize, &Symbol)| symbol.parent.is_none();
        let found = on_line.iter().find(is_at_key).or_else(|| on_line.iter().find(is_value));
        found.map(|(at, _)| (file, *at)).into_iter().collect()
    }

    /// What a variable means: a declaration, or something that is imported.
    fn local(&self, file: usize, name: &NamePlace, step: usize) -> Vec<SymbolPlace> {
        let own = self.own(file, &name.name);
        let links = &self.links[file];
        let is_declaration = |place: &SymbolPlace| {
            let symbol = &self.files[place.0].symbols[place.1];
            !(matches!(symbol.kind, SymbolKind::Variable | SymbolKind::Const) && symbol.signature.contains("require("))
        };
        if own.iter().any(is_declaration) {
            return own;
        }
        if let Some(import) = links.imports.iter().find(|import| import.local.name == name.name) {
            let other = self.required(file, &import.specifier.range);
            return other.map_or_else(Vec::new, |other| self.of_module(other, Some(&import.key), step));
        }
        for call in &links.requires {
            let member = match &call.binding {
                RequireBinding::Whole(variable) if variable.name == name.name => None,
                RequireBinding::Names(names) => match names.iter().find(|(_, variable)| variable.name == name.name) {
                    Some((key, _)) => Some(key),
                    None => continue,
                },
                RequireBinding::Member(key, Some(variable)) if variable.name == name.name => Some(key),
                _ => continue,
            };
            let Some(other) = self.required(file, &call.specifier.range) else { continue };
            let found = self.of_module(other, member, step);
            if !found.is_empty() {
                return found;
            }
        }
        own
    }

    /// The file that a specifier in quotes means.
    fn required(&self, file: usize, specifier: &Range) -> Option<usize> {
        let source = &self.files[file].source;
        let line = source.line(specifier.start.line as usize + 1);
        let units = |text: &str, column: u32| {
            let mut left = column as usize;
            text.char_indices().find_map(|(at, c)| {
                if left == 0 {
                    return Some(at);
                }
                left = left.saturating_sub(c.len_utf16());
                None
            })
        };
        let rest = &line[units(line, specifier.start.character)?..];
        let rest = rest.trim_start_matches(['"', '\'', '`']);
        let text = rest.split(['"', '\'', '`']).next().filter(|text| !text.is_empty())?;
        if !text.starts_with('.') {
            return self.packages.get(text).copied();
        }
        let path = resolve(folder(self.files[file].path()), text)?;
        source_candidates(&path).iter().find_map(|path| self.by_path.get(path.as_str()).copied())
    }
}
