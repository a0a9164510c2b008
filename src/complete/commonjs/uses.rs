//! Where the modules of a target are required, and other places with its name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::linker::{Linker, Target};
use super::name_places::words;
use super::sources::LinkedFile;
use crate::asked_server::{AskedServer, definitions};
use crate::limits::MAX_LINKED_PLACES;
use codeyard_index::commonjs::{ExportedValue, NamePlace, RequireBinding, RequireCall};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::position::{Position, Range};

/// A place with the name, before the server is asked what it is.
struct NamedPlace {
    path: PathBuf,
    document: DocumentInput,
    range: Range,
    /// Whether it may be a use of the symbol although the server knows no definition of it.
    is_doubtful: bool,
    /// Whether it is taken out of a module whose specifier is computed.
    is_computed: bool,
}

impl<S: AskedServer> Linker<S> {
    /// Adds the places where a target is taken out of its module.
    pub(super) async fn add_requirers(&mut self, target: &Target) -> Result<(), S::Failure> {
        let (module, name) = target;
        let dependents = self.dependents(module).await;
        for path in &dependents.files {
            let Some(file) = self.file(path).await else { continue };
            for call in &file.links.requires {
                if self.leads_to(&file, &call.specifier, module, &dependents).await? {
                    self.add_uses(path, &file, call, name.as_deref()).await?;
                    self.add_passed_on(path, &file, call, name.as_deref());
                }
            }
        }
        Ok(())
    }

    /// Adds what one call of `require` takes out of the module.
    async fn add_uses(
        &mut self,
        path: &Path,
        file: &LinkedFile,
        call: &RequireCall,
        name: Option<&str>,
    ) -> Result<(), S::Failure> {
        let place = |range: Range| (path.to_path_buf(), range);
        match (&call.binding, name) {
            (RequireBinding::Unnamed, None) => self.add(place(call.specifier.range), false),
            (RequireBinding::Whole(variable), None) => {
                self.add(place(variable.range), true);
                self.add_variable(path, file, variable).await?;
            }
            (RequireBinding::Whole(variable), Some(name)) => {
                for used in self.uses_in_file(path, file, variable).await? {
                    let members = file.links.members.iter().filter(|member| member.object == used.start);
                    for member in members.filter(|member| member.property.name == name) {
                        self.add(place(member.property.range), false);
                    }
                    let is_passed_on = file.links.exports.iter().any(|export| {
                        export.name.is_none()
                            && matches!(&export.value, ExportedValue::Name(value) if value.range == used)
                    });
                    if is_passed_on {
                        self.add_target(path, Some(name));
                    }
                }
            }
            (RequireBinding::Names(names), Some(name)) => {
                for (key, variable) in names.iter().filter(|(key, _)| key.name == name) {
                    self.add(place(key.range), true);
                    self.add_variable(path, file, variable).await?;
                }
            }
            (RequireBinding::Member(property, variable), Some(name)) if property.name == name => {
                self.add(place(property.range), false);
                if let Some(variable) = variable {
                    self.add_variable(path, file, variable).await?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the places of a variable that holds the symbol.
    async fn add_variable(&mut self, path: &Path, file: &LinkedFile, variable: &NamePlace) -> Result<(), S::Failure> {
        let Some(places) = file.links.places_of(variable) else {
            return self.add_references(path, variable.range.start).await;
        };
        for range in places {
            self.add((path.to_path_buf(), *range), *range == variable.range);
        }
        Ok(())
    }

    /// The places of a variable in its file.
    pub(super) async fn uses_in_file(
        &mut self,
        path: &Path,
        file: &LinkedFile,
        variable: &NamePlace,
    ) -> Result<Vec<Range>, S::Failure> {
        if let Some(places) = file.links.places_of(variable) {
            return Ok(places.to_vec());
        }
        let uses = self.server.references(&file.document, variable.range.start, true).await?;
        Ok(self.admitted(&uses).await.into_iter().filter(|(of, _)| of == path).map(|(_, range)| range).collect())
    }

    /// A module that exports what it requires.
    fn add_passed_on(&mut self, path: &Path, file: &LinkedFile, call: &RequireCall, name: Option<&str>) {
        for export in &file.links.exports {
            let ExportedValue::Required(specifier, member) = &export.value else { continue };
            if *specifier != call.specifier.range {
                continue;
            }
            match (&export.name, member, name) {
                (None, None, _) => self.add_target(path, name),
                (Some(key), None, None) => self.add_target(path, Some(key)),
                (key, Some(member), Some(name)) if member.name == name => self.add_target(path, key.as_deref()),
                _ => {}
            }
        }
    }

    /// Asks the server about all other places with a name of the targets, until none of them is new.
    pub(super) async fn confirm_named_places(&mut self) -> Result<(), S::Failure> {
        let mut seen = BTreeSet::new();
        loop {
            let names: Vec<String> = self.names().into_iter().filter(|name| seen.insert(name.clone())).collect();
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                self.confirm_places_of(&name).await?;
                self.follow().await?;
            }
        }
    }

    async fn confirm_places_of(&mut self, name: &str) -> Result<(), S::Failure> {
        let candidates = self.named_places(name).await;
        let asked: Vec<(DocumentInput, Position)> =
            candidates.iter().map(|place| (place.document.clone(), place.range.start)).collect();
        let defined = definitions(&self.server, &asked).await?;
        self.admit(defined.iter().flatten()).await;
        for (candidate, defined) in candidates.into_iter().zip(defined) {
            let is_doubtful = candidate.is_computed || (candidate.is_doubtful && defined.is_empty());
            let place = (candidate.path, candidate.range);
            if self.places.contains_key(&place) {
                continue;
            }
            if self.places_of(&defined).iter().any(|definition| self.places.contains_key(definition)) {
                self.add(place, false);
            } else if is_doubtful {
                self.undecided.insert(place);
            }
        }
        Ok(())
    }

    /// The places with a name that aren't known yet.
    async fn named_places(&mut self, name: &str) -> Vec<NamedPlace> {
        let files = self.words.files(|_, text| text.may_have(name));
        let mut found = Vec::new();
        for path in files {
            let Some(file) = self.file(&path).await else { continue };
            let is_near = file.links.has_requires() || self.is_target(&path);
            for range in words(&file.document.source.document, name) {
                let is_looked_up = file.links.properties.contains(&range.start);
                // Servers follow `import` of anything but CommonJS themselves.
                let may_be_used = is_looked_up || self.is_of_commonjs && file.links.has_imports;
                if !may_be_used || self.places.contains_key(&(path.clone(), range)) {
                    continue;
                }
                if found.len() >= MAX_LINKED_PLACES {
                    self.is_cut = true;
                    return found;
                }
                let is_doubtful = is_near && is_looked_up;
                let is_computed = file.links.is_taken_from_computed(range.start);
                let document = file.document.clone();
                found.push(NamedPlace { path: path.clone(), document, range, is_doubtful, is_computed });
            }
        }
        found
    }
}
