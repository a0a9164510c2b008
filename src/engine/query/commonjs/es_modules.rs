//! What `require` takes out of modules that export by `export`: ES modules and TypeScript.
//!
//! Such a module has no exports of CommonJS to start from. Instead, names of the symbol that files of JavaScript take out of `require`
//! are found by syntax. A name is a place of the symbol if the server's definition of it is the symbol's. If the server knows no definition,
//! and the call leads to the module or to an unknown one, the name is counted as undecided. Nothing is added by name alone.

use std::collections::BTreeSet;
use std::path::Path;

use super::linker::{FoundPlace, Linker};
use super::sources::{self, LinkedFile};
use super::{specifiers, uses};
use crate::limits::MAX_LINKED_PLACES;
use crate::query::provider_call::ProviderFailure;
use crate::server::document::DocumentInput;
use codeyard_index::commonjs::{RequireBinding, RequireCall};
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

impl Linker<'_> {
    /// Adds the places where `require` takes the symbol out of a module that exports by `export`. `false`: there are none.
    ///
    /// # Errors
    /// As of any request to the server.
    pub(super) async fn is_required(&mut self) -> Result<bool, ProviderFailure> {
        // Overloads are several definitions of one name.
        let mut seen = BTreeSet::new();
        for (module, range) in self.defined.clone() {
            let Some(file) = self.file(&module).await else { continue };
            if let Some(name) = exported_name(&file, range)
                && seen.insert((module.clone(), name.clone()))
            {
                self.add_taken(&module, &name).await?;
            }
        }
        Ok(!self.places.is_empty())
    }

    async fn add_taken(&mut self, module: &Path, name: &str) -> Result<(), ProviderFailure> {
        let mut taken = Vec::new();
        let (requiring, is_left_out) = sources::requiring(self.server.context, name).await;
        for path in requiring {
            if let Some(file) = self.file(&path).await {
                taken.extend(names_taken(&path, &file, name));
            }
        }
        let is_cut = is_left_out || taken.len() > MAX_LINKED_PLACES;
        taken.truncate(MAX_LINKED_PLACES);
        let asked: Vec<_> = taken.iter().map(|taken| (taken.document.clone(), taken.place.1.start)).collect();
        for (taken, defined) in taken.into_iter().zip(self.server.definitions(&asked).await?) {
            let defined = self.admitted(&defined);
            let path = taken.place.0.clone();
            if defined.iter().any(|place| self.defined.contains(place)) {
                self.match_place(&taken.place).await?;
                self.add(taken.place, taken.is_declaration);
                if let Some(alias) = taken.alias {
                    self.add_references(&path, alias).await?;
                }
            } else if defined.iter().all(|(of, _)| *of == path) && self.may_lead_to(module, &taken).await? {
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

    /// Whether the call leads to the module, or may do so because the server doesn't know where it leads.
    async fn may_lead_to(&mut self, module: &Path, taken: &TakenName) -> Result<bool, ProviderFailure> {
        let Some(call) = &taken.call else { return Ok(true) };
        let Some(file) = self.file(&taken.place.0).await else { return Ok(false) };
        let leads_to = self.resolve(&file, call).await?;
        let words = || specifiers::words(self.server.context.gate, module);
        Ok(match leads_to.is_empty() {
            true => specifiers::may_lead_to(call, &words()),
            false => leads_to.iter().any(|path| path == module),
        })
    }
}

/// The name at a place of a file with `export`, unless it is local to a function.
fn exported_name(file: &LinkedFile, range: Range) -> Option<String> {
    let document = &file.document.source.document;
    let exports = |line: &str| line.match_indices("export").any(|(at, word)| !line[at + word.len()..].starts_with('s'));
    if !(0..document.line_count() as u32).any(|line| document.line(line).is_some_and(exports)) {
        return None;
    }
    if file.links.function_at(range.start).is_some_and(|around| around.name.range.start != range.start) {
        return None;
    }
    let units: Vec<u16> = document.line(range.start.line)?.encode_utf16().collect();
    let is_one_line = range.start.line == range.end.line;
    let name = units.get(range.start.character as usize..range.end.character as usize).filter(|_| is_one_line)?;
    Some(String::from_utf16_lossy(name)).filter(|name| !name.is_empty())
}

/// The places where a file takes a name out of `require`.
fn names_taken(path: &Path, file: &LinkedFile, name: &str) -> Vec<TakenName> {
    let mut taken = Vec::new();
    let literal = file.links.requires.iter().map(|call| (&call.binding, Some(call)));
    let computed = file.links.computed_requires.iter().map(|binding| (binding, None));
    for (binding, call) in literal.chain(computed) {
        let mut add = |range: Range, alias, is_declaration| {
            let (place, document) = ((path.to_path_buf(), range), file.document.clone());
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
                let objects = uses::words(&file.document.source.document, &variable.name);
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
