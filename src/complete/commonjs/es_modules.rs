//! Symbols of modules that export by `export`: what `require` takes out of them, under whatever name they and others export them.
//!
//! The exports of such a module are links too, but servers follow `import` and `export` themselves. So they count only if a file takes the
//! symbol out of `require`: from the module, or from one that passes it on. Names that are taken out of modules nobody can tell are
//! counted as undecided. Nothing is added by name alone.

use std::collections::BTreeSet;
use std::path::Path;

use super::AskedSymbol;
use super::linker::{FoundPlace, Linker, Target};
use super::name_places::words;
use super::sources::LinkedFile;
use super::specifiers;
use crate::asked_server::{AskedServer, definitions};
use crate::identifier::{text_at, word_at};
use crate::limits::MAX_LINKED_PLACES;
use codeyard_index::commonjs::{ExportedValue, ModuleExport, NamePlace, RequireBinding, RequireCall};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::position::{Position, Range};

/// A name that is taken out of a call of `require`.
struct TakenName {
    place: FoundPlace,
    document: DocumentInput,
    /// The variable that it is taken to.
    alias: Option<Position>,
    /// Whether the place declares a variable.
    is_declaration: bool,
    /// The call. `None`: its specifier is computed.
    call: Option<RequireCall>,
}

impl<S: AskedServer> Linker<S> {
    /// Adds the exports by which `require` takes the symbol out of modules that export by `export`. `false`: there are none.
    ///
    /// # Errors
    /// As of any request to the server.
    pub(super) async fn is_required(&mut self) -> Result<bool, S::Failure> {
        if !self.words.any(|_, text| text.may_have("require")) {
            return Ok(false);
        }
        let mut targets = BTreeSet::new();
        for (module, range) in self.defined.clone() {
            let Some(file) = self.file(&module).await else { continue };
            for name in self.names_exported(&module, &file, range).await? {
                targets.insert((module.clone(), name));
            }
        }
        let mut waiting: Vec<Target> = targets.iter().cloned().collect();
        while let Some(target) = waiting.pop() {
            let passed_on = self.passed_on_by_export(&target).await?;
            waiting.extend(passed_on.into_iter().filter(|target| targets.insert(target.clone())));
        }
        let mut is_taken = false;
        for target in &targets {
            is_taken |= self.is_taken(target).await?;
        }
        let names: BTreeSet<String> = targets.iter().filter_map(|(_, name)| name.clone()).collect();
        for name in names {
            let modules: Vec<&Path> = targets.iter().map(|(module, _)| module.as_path()).collect();
            self.add_taken(&modules, &name).await?;
        }
        if is_taken {
            for (module, name) in &targets {
                self.add_target(module, name.as_deref());
            }
        }
        Ok(is_taken || !self.places.is_empty())
    }

    /// The names by which a module exports what is defined there.
    async fn names_exported(
        &mut self,
        module: &Path,
        file: &LinkedFile,
        defined: Range,
    ) -> Result<Vec<Option<String>>, S::Failure> {
        let mut names = Vec::new();
        if file.links.es_exports.is_empty() {
            return Ok(names);
        }
        let word = text_at(&file.document.source.document, defined);
        for export in &file.links.es_exports {
            let is_defined = match &export.value {
                ExportedValue::Own(Some(own)) => own.range.start == defined.start,
                ExportedValue::Name(value) if Some(&value.name) == word.as_ref() => {
                    let found = self.server.definition(&file.document, value.range.start).await?;
                    self.admitted(&found)
                        .await
                        .iter()
                        .any(|(path, range)| path == module && range.start == defined.start)
                }
                _ => export.key.start == defined.start,
            };
            if is_defined {
                names.push(export.name.clone());
            }
        }
        Ok(names)
    }

    /// The exports of other modules that pass on an export by `export … from`.
    pub(super) async fn passed_on_by_export(&mut self, target: &Target) -> Result<Vec<Target>, S::Failure> {
        let (module, name) = target;
        let Some(name) = name else { return Ok(vec![]) };
        let dependents = self.dependents(module).await;
        let mut found = Vec::new();
        for path in &dependents.files {
            let Some(file) = self.file(path).await else { continue };
            for export in &file.links.es_exports {
                let ExportedValue::Required(range, member) = &export.value else { continue };
                let is_passed_on = match member {
                    Some(member) => member.name == *name,
                    None => export.name.is_none() && name != "default",
                };
                if !is_passed_on {
                    continue;
                }
                let Some(specifier) = specifier_at(&file, *range) else { continue };
                if self.leads_to(&file, &specifier, module, &dependents).await? {
                    found.push((path.clone(), export.name.clone().or_else(|| Some(name.clone()))));
                }
            }
        }
        Ok(found)
    }

    /// Whether any file takes an export out of `require`.
    async fn is_taken(&mut self, target: &Target) -> Result<bool, S::Failure> {
        let (module, name) = target;
        let dependents = self.dependents(module).await;
        for path in &dependents.files {
            let Some(file) = self.file(path).await else { continue };
            for call in file.links.requires.iter().filter(|call| takes(&file, call, name.as_deref())) {
                if self.leads_to(&file, &call.specifier, module, &dependents).await? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The places of an export by `export`, and what it is taken from.
    pub(super) async fn add_es_exports(&mut self, target: &Target) -> Result<(), S::Failure> {
        let (path, name) = target;
        let Some(file) = self.file(path).await else { return Ok(()) };
        let exports = &file.links.es_exports;
        let is_explicit = exports.iter().any(|export| export.name == *name);
        let is_wanted = |export: &Option<String>| if is_explicit { export == name } else { export.is_none() };
        for export in exports.iter().filter(|export| is_wanted(&export.name)) {
            match &export.value {
                ExportedValue::Own(Some(local)) | ExportedValue::Name(local) if is_explicit => {
                    self.add_references(path, local.range.start).await?;
                    // The same may be exported by several names.
                    for other in exports.iter().filter(|other| exports_local(other, &local.name)) {
                        self.add_target(path, other.name.as_deref());
                    }
                }
                ExportedValue::Required(range, member) => {
                    let Some(specifier) = specifier_at(&file, *range) else { continue };
                    for module in self.resolve(&file, &specifier).await? {
                        let taken = member.as_ref().map(|member| member.name.as_str()).or(name.as_deref());
                        if self.may_export(&module, taken).await {
                            self.add_target(&module, taken);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a module has an export of this name, or passes on all of another one.
    async fn may_export(&mut self, module: &Path, name: Option<&str>) -> bool {
        let Some(file) = self.file(module).await else { return false };
        let mut exports = file.links.es_exports.iter().chain(&file.links.exports);
        exports.any(|export| export.name.is_none() || export.name.as_deref() == name)
    }

    /// Adds names that are taken out of other modules than these, if the server's definition of them is the symbol.
    async fn add_taken(&mut self, modules: &[&Path], name: &str) -> Result<(), S::Failure> {
        let mut taken = Vec::new();
        for path in self.words.files(|_, text| text.may_have("require") && text.may_have(name)) {
            if let Some(file) = self.file(&path).await {
                for one in names_taken(&path, &file, name) {
                    let leads_to = match &one.call {
                        Some(call) => self.resolve(&file, &call.specifier).await?,
                        None => vec![],
                    };
                    if !leads_to.iter().any(|module| modules.contains(&module.as_path())) {
                        taken.push((one, leads_to.is_empty()));
                    }
                }
            }
        }
        let is_cut = self.words.is_cut || taken.len() > MAX_LINKED_PLACES;
        taken.truncate(MAX_LINKED_PLACES);
        let asked: Vec<_> = taken.iter().map(|(taken, _)| (taken.document.clone(), taken.place.1.start)).collect();
        let all = definitions(&self.server, &asked).await?;
        self.admit(all.iter().flatten()).await;
        for ((taken, is_unknown), defined) in taken.into_iter().zip(all) {
            let defined = self.places_of(&defined);
            let path = taken.place.0.clone();
            if defined.iter().any(|place| self.defined.contains(place)) {
                self.match_place(&taken.place).await?;
                self.add(taken.place, taken.is_declaration);
                if let Some(alias) = taken.alias {
                    self.add_references(&path, alias).await?;
                }
            } else if is_unknown && defined.iter().all(|(of, _)| *of == path) && self.may_lead_to(modules, &taken).await
            {
                self.undecided.insert(taken.place);
                self.undecided_name = Some(name.to_owned());
            }
        }
        if is_cut {
            self.is_cut = true;
            self.undecided_name = Some(name.to_owned());
        }
        Ok(())
    }

    /// Whether a call that leads to no known file may lead to one of these modules.
    async fn may_lead_to(&mut self, modules: &[&Path], taken: &TakenName) -> bool {
        let Some(call) = &taken.call else { return true };
        for module in modules {
            let dependents = self.dependents(module).await;
            if specifiers::may_lead_to(&call.specifier.name, &dependents.words) {
                return true;
            }
        }
        false
    }

    /// Whether the symbol is imported from a module that the server doesn't know where it is imported, although it may know the symbol's
    /// other uses: TypeScript that imports JavaScript which its configuration leaves out.
    pub(super) async fn is_unknown_import(&mut self, asked: AskedSymbol<'_>) -> bool {
        let path = asked.document.source.uri.to_path();
        let word = word_at(&asked.document.source.document, asked.position).map(|range| (path.clone(), range));
        if self.defined.is_empty() {
            return word.is_some();
        }
        let places: Vec<FoundPlace> = self.defined.iter().cloned().chain(word).collect();
        let mut is_import = false;
        for (path, range) in places {
            let Some(file) = self.file(&path).await else { return false };
            let imports = file.links.imports.iter();
            let is_imported = imports.flat_map(|import| [&import.key, &import.local]).any(|name| name.range == range);
            let is_passed_on = file.links.es_exports.iter().any(|export| match &export.value {
                ExportedValue::Required(_, Some(member)) => export.key == range || member.range == range,
                _ => false,
            });
            is_import |= is_imported || is_passed_on;
            let is_definition = self.defined.iter().any(|defined| *defined == (path.clone(), range));
            if is_definition && !is_imported && !is_passed_on {
                return false;
            }
        }
        is_import
    }
}

/// Whether it exports what has this name in its file.
fn exports_local(export: &ModuleExport, name: &str) -> bool {
    match &export.value {
        ExportedValue::Own(Some(local)) | ExportedValue::Name(local) => local.name == name,
        _ => false,
    }
}

/// The specifier in this range.
fn specifier_at(file: &LinkedFile, range: Range) -> Option<NamePlace> {
    let name = text_at(&file.document.source.document, range)?;
    Some(NamePlace { name, range })
}

/// Whether a call of `require` takes an export out of its module, or passes it on.
fn takes(file: &LinkedFile, call: &RequireCall, name: Option<&str>) -> bool {
    let is_exported = file.links.exports.iter().any(
        |export| matches!(&export.value, ExportedValue::Required(specifier, _) if *specifier == call.specifier.range),
    );
    let is_taken = match (&call.binding, name) {
        (RequireBinding::Whole(variable), Some(name)) => {
            let is_member = file.links.members.iter().any(|member| member.property.name == name);
            let is_value = |value: &ExportedValue| matches!(value, ExportedValue::Name(of) if of.name == variable.name);
            is_member || file.links.exports.iter().any(|export| is_value(&export.value))
        }
        (RequireBinding::Names(names), Some(name)) => names.iter().any(|(key, _)| key.name == name),
        (RequireBinding::Member(property, _), Some(name)) => property.name == name,
        (RequireBinding::Unnamed, Some(_)) | (RequireBinding::Names(_) | RequireBinding::Member(..), None) => false,
        (RequireBinding::Unnamed | RequireBinding::Whole(_), None) => true,
    };
    is_taken || is_exported
}

/// The places where a file takes a name out of `require`.
fn names_taken(path: &Path, file: &LinkedFile, name: &str) -> Vec<TakenName> {
    let mut taken = Vec::new();
    let literal = file.links.requires.iter().map(|call| (&call.binding, Some(call)));
    let computed = file.links.computed_requires.iter().map(|binding| (binding, None));
    for (binding, call) in literal.chain(computed) {
        let mut add = |range: Range, alias, is_declaration| {
            let place = (path.to_path_buf(), range);
            let document = file.document.clone();
            taken.push(TakenName { place, document, alias, is_declaration, call: call.cloned() });
        };
        match binding {
            RequireBinding::Names(names) => {
                for (key, variable) in names.iter().filter(|(key, _)| key.name == name) {
                    add(key.range, Some(variable.range.start), true);
                }
            }
            RequireBinding::Member(property, variable) if property.name == name => {
                add(property.range, variable.as_ref().map(|variable| variable.range.start), false);
            }
            RequireBinding::Whole(variable) => {
                let objects = words(&file.document.source.document, &variable.name);
                let members = file.links.members.iter().filter(|member| member.property.name == name);
                for member in members.filter(|member| objects.iter().any(|object| object.start == member.object)) {
                    add(member.property.range, None, false);
                }
            }
            _ => {}
        }
    }
    taken
}
