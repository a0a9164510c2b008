//! Which exports a place belongs to: as what is exported there, or as what is taken out of a module.

use std::path::Path;

use super::linker::{FoundPlace, Linker};
use super::sources::{LinkedFile, is_javascript};
use crate::asked_server::AskedServer;
use codeyard_index::commonjs::{ExportedValue, ModuleExport, RequireBinding, RequireCall};
use codeyard_model::position::Position;

impl<S: AskedServer> Linker<S> {
    /// The exports and the modules that a place belongs to become targets.
    pub(super) async fn match_place(&mut self, place: &FoundPlace) -> Result<(), S::Failure> {
        let (path, range) = place;
        let Some(file) = self.file(path).await else { return Ok(()) };
        for export in &file.links.exports {
            let is_key = export.name.is_some() && export.key.start == range.start;
            let is_value = match &export.value {
                ExportedValue::Own(Some(name)) | ExportedValue::Name(name) | ExportedValue::Member(name) => {
                    name.range.start == range.start
                }
                ExportedValue::Own(None) | ExportedValue::Object | ExportedValue::Required(..) => false,
            };
            if is_key || is_value {
                self.add_target(path, export.name.as_deref());
            }
        }
        for call in &file.links.requires {
            let Some(name) = name_of(call, range.start) else { continue };
            for module in self.resolve(&file, &call.specifier).await? {
                match &name {
                    Some(name) => self.add_target(&module, Some(name)),
                    None if self.is_one_symbol(&module).await => {
                        if !is_javascript(path) {
                            self.add_whole(&module).await;
                        }
                        self.add_target(&module, None);
                    }
                    None => {}
                }
            }
        }
        self.match_member(path, &file, range.start).await
    }

    /// `variable.name`, where the variable is a module.
    async fn match_member(&mut self, path: &Path, file: &LinkedFile, at: Position) -> Result<(), S::Failure> {
        let Some(member) = file.links.members.iter().find(|member| member.property.range.start == at) else {
            return Ok(());
        };
        for call in &file.links.requires {
            let RequireBinding::Whole(variable) = &call.binding else { continue };
            let uses = self.uses_in_file(path, file, variable).await?;
            if uses.iter().any(|range| range.start == member.object) {
                for module in self.resolve(file, &call.specifier).await? {
                    self.add_target(&module, Some(&member.property.name));
                }
            }
        }
        Ok(())
    }

    /// Whether all of `module.exports` is one function, class or variable, and not an object made there.
    async fn is_one_symbol(&mut self, module: &Path) -> bool {
        let is_symbol = |export: &ModuleExport| {
            export.name.is_none() && !matches!(export.value, ExportedValue::Object | ExportedValue::Required(_, None))
        };
        self.file(module).await.is_some_and(|file| file.links.exports.iter().any(is_symbol))
    }

    /// Adds the names that are all of `module.exports`, for a variable of TypeScript, whose definition the server doesn't know.
    async fn add_whole(&mut self, module: &Path) {
        let Some(file) = self.file(module).await else { return };
        for export in file.links.exports.iter().filter(|export| export.name.is_none()) {
            if let ExportedValue::Name(value) = &export.value {
                self.add((module.to_path_buf(), value.range), false);
            }
        }
    }
}

/// The name that is taken out of a module at this position of a call of `require`; `Some(None)`: all of it.
fn name_of(call: &RequireCall, at: Position) -> Option<Option<String>> {
    match &call.binding {
        RequireBinding::Unnamed => None,
        RequireBinding::Whole(variable) => (variable.range.start == at).then_some(None),
        RequireBinding::Names(names) => {
            let taken = names.iter().find(|(key, alias)| key.range.start == at || alias.range.start == at);
            taken.map(|(key, _)| Some(key.name.clone()))
        }
        RequireBinding::Member(name, alias) => {
            let is_there = name.range.start == at || alias.as_ref().is_some_and(|alias| alias.range.start == at);
            is_there.then(|| Some(name.name.clone()))
        }
    }
}
