//! The public API of a package of JavaScript or TypeScript: what its entry files export, through re-exports.
//!
//! Which files are entries is decided by `npm_entries`. Names are resolved within the repository. Invariants: an item is listed once, under
//! the first entry that exports it; what re-exports can cost is bounded: what is searched and what is copied takes steps, and without steps
//! nothing more is found.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use codeyard_index::Symbol;
use codeyard_index::commonjs::{ExportedValue, ModuleExport, ModuleLinks, NamePlace, RequireBinding, RequireCall};
use codeyard_model::code::SymbolKind;
use codeyard_model::position::{Position, Range};
use codeyard_runs::stage::{StageError, StopFlag};

use super::Selection;
use super::npm_entries::{PackageEntry, source_candidates};
use super::script_names::{assigned_names, is_public_member, namespaces, quoted_at, symbol_at, top_names, whole_name};
use crate::limits::MAX_REEXPORT_STEPS;
use crate::repository::product_sources::{ParsedSource, folder, resolve};

/// Steps of name resolution in one repository.
const MAX_STEPS: u32 = 1_000_000;

/// A symbol, by its file and place.
type SymbolPlace = (usize, usize);

/// What a file exports, by name; `name.inner` is exported by a namespace.
type Exports = BTreeMap<String, Vec<SymbolPlace>>;

struct ScriptFiles<'a> {
    files: &'a [ParsedSource],
    by_path: BTreeMap<&'a str, usize>,
    links: Vec<ModuleLinks>,
    /// By file and name, the symbols at the top and those assigned to a member of `exports`.
    names: Vec<BTreeMap<&'a str, Vec<usize>>>,
    /// By file and the name of an object, what is assigned to its members or to those of its prototype.
    assigned: Vec<BTreeMap<&'a str, Vec<usize>>>,
    /// By file, the namespaces that it exports and imports.
    namespaces: Vec<BTreeMap<(&'static str, &'a str), &'a str>>,
    /// The entries of the repository's packages, by the name that they are imported by.
    packages: BTreeMap<String, usize>,
    stop: &'a StopFlag,
    steps: Cell<u32>,
    /// The files that relative specifiers mean, by path.
    resolved: RefCell<BTreeMap<String, Option<usize>>>,
    /// The files that specifiers mean, by their file and place.
    specifiers: RefCell<BTreeMap<(usize, Position), Option<usize>>>,
    /// The exports of files that are known completely.
    known: RefCell<BTreeMap<usize, Rc<Exports>>>,
    /// The files whose exports are being read, and whether one of them was asked for again.
    open: RefCell<BTreeSet<usize>>,
    is_circular: Cell<bool>,
}

/// The items that the entries export. The first entry is the package itself.
///
/// # Errors
/// If the work has to stop.
pub(super) fn select(
    files: &[ParsedSource],
    entries: &[PackageEntry],
    others: &[PackageEntry],
    stop: &StopFlag,
) -> Result<Vec<Selection>, StageError> {
    let scripts = ScriptFiles::read(files, entries.iter().chain(others), stop)?;
    let exports_of = |entry: &PackageEntry| scripts.exports(*scripts.packages.get(&entry.module)?, 0).into();
    let exports: Vec<Option<Rc<Exports>>> = entries.iter().map(exports_of).collect();
    let mut selections = Vec::new();
    let mut listed = BTreeSet::new();
    // What a namespace repeats is listed where it has a name of its own.
    for is_namespace in [false, true] {
        for (entry, exports) in entries.iter().zip(&exports) {
            let names = exports
                .iter()
                .flat_map(|exports| exports.iter())
                .filter(|(name, _)| name.contains('.') == is_namespace);
            for (name, places) in names {
                let shown = match (name.as_str(), places.first()) {
                    ("default" | "", Some(place)) => whole_name(&files[place.0].symbols[place.1], &entry.module),
                    (name, _) => name.to_owned(),
                };
                let places: Vec<SymbolPlace> = places.iter().copied().filter(|place| listed.insert(*place)).collect();
                scripts.add(&places, &entry.module, &shown, &mut selections);
            }
        }
    }
    if stop.is_set() { Err(StageError::cancelled()) } else { Ok(selections) }
}

impl<'a> ScriptFiles<'a> {
    fn read<'e>(
        files: &'a [ParsedSource],
        entries: impl Iterator<Item = &'e PackageEntry>,
        stop: &'a StopFlag,
    ) -> Result<Self, StageError> {
        let by_path: BTreeMap<&str, usize> = files.iter().enumerate().map(|(at, file)| (file.path(), at)).collect();
        let read = |file: &ParsedSource| {
            if stop.is_set() {
                return Err(StageError::cancelled());
            }
            Ok(ModuleLinks::read(file.path(), &file.source.text).unwrap_or_default())
        };
        let links = files.iter().map(read).collect::<Result<_, _>>()?;
        let mut scripts = Self {
            files,
            by_path,
            links,
            names: files.iter().map(top_names).collect(),
            assigned: files.iter().map(assigned_names).collect(),
            namespaces: files.iter().map(|file| namespaces(&file.source.text)).collect(),
            packages: BTreeMap::new(),
            stop,
            steps: Cell::new(MAX_STEPS),
            resolved: RefCell::default(),
            specifiers: RefCell::default(),
            known: RefCell::default(),
            open: RefCell::default(),
            is_circular: Cell::new(false),
        };
        for entry in entries {
            if let Some(file) = entry.files.iter().find_map(|path| scripts.by_path.get(path.as_str()).copied()) {
                scripts.packages.entry(entry.module.clone()).or_insert(file);
            }
        }
        Ok(scripts)
    }

    /// Adds a name with all its declarations: overloads, and an interface and a class of one name.
    fn add(&self, places: &[SymbolPlace], module: &str, name: &str, selections: &mut Vec<Selection>) {
        let symbol = |place: &SymbolPlace| &self.files[place.0].symbols[place.1];
        let has_overloads =
            places.iter().any(|place| symbol(place).kind == SymbolKind::Fn && !symbol(place).is_definition);
        for place in places {
            let (file, at) = *place;
            let found = symbol(place);
            if found.doc.contains("@internal") || has_overloads && found.kind == SymbolKind::Fn && found.is_definition {
                continue;
            }
            selections.push(Selection::top(file, at, module, name));
            self.add_members(file, at, module, name, 0, selections);
        }
    }

    fn add_members(&self, file: usize, at: usize, module: &str, owner: &str, depth: usize, to: &mut Vec<Selection>) {
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
        if depth > 3 || !has_members || self.stop.is_set() {
            return;
        }
        let own = &source.symbols[at];
        let assigned = self.assigned[file].get(own.name.as_str()).into_iter().flatten();
        let assigned = assigned.map(|at| (*at, &source.symbols[*at]));
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
            to.push(Selection::member(file, member, module, owner, &qualified));
            self.add_members(file, member, module, &qualified, depth + 1, to);
        }
        if kind == SymbolKind::Class {
            self.add_parameter_fields(file, at, module, owner, to);
        }
    }

    /// `constructor(public readonly name: string)` declares a field.
    fn add_parameter_fields(&self, file: usize, at: usize, module: &str, owner: &str, to: &mut Vec<Selection>) {
        let source = &self.files[file];
        let is_constructor = |(_, symbol): &(usize, &Symbol)| symbol.name == "constructor";
        for (constructor, _) in source.children(u32::try_from(at).ok()).filter(is_constructor) {
            for (member, symbol) in source.children(u32::try_from(constructor).ok()) {
                if symbol.kind == SymbolKind::Field && is_public_member(symbol) {
                    to.push(Selection::member(file, member, module, owner, &format!("{owner}.{}", symbol.name)));
                }
            }
        }
    }

    /// What a file exports, by name. Of files that re-export each other, the first one has all.
    fn exports(&self, file: usize, step: usize) -> Rc<Exports> {
        if let Some(known) = self.known.borrow().get(&file) {
            return Rc::clone(known);
        }
        if step > MAX_REEXPORT_STEPS || self.steps.get() == 0 || !self.open.borrow_mut().insert(file) {
            self.is_circular.set(true);
            return Rc::default();
        }
        let exports = Rc::new(self.read_exports(file, step));
        self.open.borrow_mut().remove(&file);
        if step == 0 {
            self.is_circular.set(false);
        }
        if !self.is_circular.get() {
            self.known.borrow_mut().insert(file, Rc::clone(&exports));
        }
        exports
    }

    fn read_exports(&self, file: usize, step: usize) -> Exports {
        let mut exports = Exports::new();
        let links = &self.links[file];
        if !self.may_search(8 * (links.es_exports.len() + links.exports.len())) {
            return exports;
        }
        let mut taken = BTreeSet::new();
        for export in links.es_exports.iter().chain(&links.exports) {
            match (&export.name, &export.value) {
                (None, ExportedValue::Required(specifier, None)) => {
                    // A second `export *` of the same file adds nothing.
                    let other = self.required(file, specifier).filter(|other| taken.insert(*other));
                    let Some(other) = other else { continue };
                    for (name, places) in self.exports(other, step + 1).iter().filter(|(name, _)| *name != "default") {
                        if !exports.contains_key(name) && self.may_copy(name.len(), places) {
                            exports.insert(name.clone(), places.clone());
                        }
                    }
                }
                (name, value) => {
                    let places = self.value(file, export, step);
                    if !places.is_empty() {
                        exports.insert(name.clone().unwrap_or_default(), places);
                    } else if let (Some(name), ExportedValue::Name(local)) = (name, value) {
                        self.add_namespace(file, "import", &local.name, name, step, &mut exports);
                    }
                }
            }
        }
        for (_, name) in self.namespaces[file].keys().filter(|(word, _)| *word == "export") {
            self.add_namespace(file, "export", name, name, step, &mut exports);
        }
        // A declaration file without an export of its own declares everything.
        if exports.is_empty() && self.files[file].path().ends_with(".d.ts") && links.es_exports.is_empty() {
            for (name, places) in &self.names[file] {
                exports.insert((*name).to_owned(), places.iter().map(|at| (file, *at)).collect());
            }
        }
        exports
    }

    /// Adds what the namespace `local` of a file holds, under the name `shown`.
    fn add_namespace(&self, file: usize, word: &'static str, local: &str, shown: &str, step: usize, to: &mut Exports) {
        let Some(specifier) = self.namespaces[file].get(&(word, local)) else { return };
        let Some(inner) = self.file_of(file, specifier).filter(|inner| *inner != file) else { return };
        for (name, places) in self.exports(inner, step + 1).iter() {
            let is_name = !matches!(name.as_str(), "" | "default") && !name.contains('.');
            if is_name && self.may_copy(shown.len() + name.len(), places) {
                to.entry(format!("{shown}.{name}")).or_insert_with(|| places.clone());
            }
        }
    }

    /// Takes the steps that a copy of a name and its places costs.
    fn may_copy(&self, name_bytes: usize, places: &[SymbolPlace]) -> bool {
        self.may_search(name_bytes + 8 * places.len())
    }

    /// Takes the steps that a search among this many things costs.
    fn may_search(&self, things: usize) -> bool {
        let left = self.steps.get().checked_sub(u32::try_from(1 + things / 64).unwrap_or(u32::MAX));
        self.steps.set(left.unwrap_or(0));
        left.is_some() && !self.stop.is_set()
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
        let exports = self.exports(file, step + 1);
        let found = match member {
            Some(member) => exports.get(&member.name),
            None => ["", "default"].into_iter().find_map(|name| exports.get(name)),
        };
        found.filter(|places| self.may_search(8 * places.len())).cloned().unwrap_or_default()
    }

    fn own(&self, file: usize, name: &str) -> Vec<SymbolPlace> {
        let found = self.names[file].get(name).filter(|places| self.may_search(8 * places.len()));
        found.into_iter().flatten().map(|at| (file, *at)).collect()
    }

    /// A symbol whose name is where an export's key is: a function without a name of its own.
    fn on_line(&self, file: usize, key: &Range) -> Vec<SymbolPlace> {
        if !self.may_search(self.files[file].symbols.len()) {
            return Vec::new();
        }
        symbol_at(&self.files[file], key).map(|at| (file, at)).into_iter().collect()
    }

    /// What a variable means: a declaration, or something that is imported.
    fn local(&self, file: usize, name: &NamePlace, step: usize) -> Vec<SymbolPlace> {
        let own = self.own(file, &name.name);
        let links = &self.links[file];
        let is_declaration = |place: &SymbolPlace| {
            let symbol = &self.files[place.0].symbols[place.1];
            !(matches!(symbol.kind, SymbolKind::Variable | SymbolKind::Const) && symbol.signature.contains("require("))
        };
        let names_of =
            |call: &RequireCall| if let RequireBinding::Names(names) = &call.binding { names.len() } else { 1 };
        let things = || links.imports.len() + links.requires.iter().map(names_of).sum::<usize>();
        if own.iter().any(is_declaration) || !self.may_search(things()) {
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
        let place = (file, specifier.start);
        if let Some(known) = self.specifiers.borrow().get(&place) {
            return *known;
        }
        let found = self.read_specifier(file, specifier);
        self.specifiers.borrow_mut().insert(place, found);
        found
    }

    fn read_specifier(&self, file: usize, specifier: &Range) -> Option<usize> {
        // A file can be one long line.
        if !self.may_search(specifier.start.character as usize / 16) {
            return None;
        }
        let line = self.files[file].source.line(specifier.start.line as usize + 1);
        self.file_of(file, quoted_at(line, specifier.start.character)?)
    }

    /// The file that a specifier in a file means.
    fn file_of(&self, file: usize, text: &str) -> Option<usize> {
        if !text.starts_with('.') {
            return self.packages.get(text).copied();
        }
        let path = resolve(folder(self.files[file].path()), text)?;
        if let Some(known) = self.resolved.borrow().get(&path) {
            return *known;
        }
        let found = source_candidates(&path).iter().find_map(|path| self.by_path.get(path.as_str()).copied());
        self.resolved.borrow_mut().insert(path, found);
        found
    }
}

#[cfg(test)]
mod tests;
