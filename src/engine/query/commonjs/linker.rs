//! Follows one symbol through the modules that export and require it, until nothing new is found.
//!
//! A *target* is an export of a file: a name, or all of `module.exports`. A *place* is a reference. Each new place may be the value of
//! an export, which is a new target; each new target has new places, where the modules are required.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::AskedSymbol;
use super::requests::ServerQuestions;
use super::sources::{self, LinkedFile, Sources, is_javascript};
use super::specifiers;
use crate::query::provider_call::ProviderFailure;
use codeyard_index::commonjs::{ExportedValue, ModuleExport, RequireBinding, RequireCall};
use codeyard_model::coverage::UndecidedName;
use codeyard_model::position::{Position, Range, RawLocation};
use codeyard_model::uri::UriAdmission;

/// Names of the exports of one symbol that a mark shows.
const MAX_NAMES_SHOWN: usize = 3;

/// An export: its file and its name, or `None` for all of `module.exports`.
pub(super) type Target = (PathBuf, Option<String>);

/// A reference: its file and where the name is.
pub(super) type FoundPlace = (PathBuf, Range);

/// What is known so far of one symbol.
pub(super) struct Linker<'a> {
    pub(super) server: ServerQuestions<'a>,
    pub(super) sources: Sources,
    files: BTreeMap<PathBuf, Option<Arc<LinkedFile>>>,
    /// The places, and whether each is a declaration.
    pub(super) places: BTreeMap<FoundPlace, bool>,
    /// Where the server says that the symbol is defined.
    pub(super) defined: Vec<FoundPlace>,
    /// The files of these places, and that of the question.
    near: BTreeSet<PathBuf>,
    targets: BTreeSet<Target>,
    new_targets: Vec<Target>,
    new_places: Vec<FoundPlace>,
    /// Symbols whose references were asked for.
    asked: BTreeSet<(PathBuf, Position)>,
    /// By file and specifier, the files that it leads to.
    resolved: BTreeMap<(PathBuf, Position), Vec<PathBuf>>,
    /// Places that may be references, and a name that no target has.
    pub(super) undecided: BTreeSet<FoundPlace>,
    pub(super) undecided_name: Option<String>,
    pub(super) is_cut: bool,
}

impl<'a> Linker<'a> {
    /// A linker that knows nothing yet.
    pub(super) fn new(server: ServerQuestions<'a>) -> Self {
        Self {
            server,
            sources: Sources::default(),
            files: BTreeMap::new(),
            places: BTreeMap::new(),
            defined: Vec::new(),
            near: BTreeSet::new(),
            targets: BTreeSet::new(),
            new_targets: Vec::new(),
            new_places: Vec::new(),
            asked: BTreeSet::new(),
            resolved: BTreeMap::new(),
            undecided: BTreeSet::new(),
            undecided_name: None,
            is_cut: false,
        }
    }

    /// Whether the file of the symbol, or one that defines it, is of CommonJS. If not, nothing else is asked.
    ///
    /// # Errors
    /// As of any request to the server.
    pub(super) async fn is_commonjs(&mut self, asked: AskedSymbol<'_>) -> Result<bool, ProviderFailure> {
        let defined = self.server.definition(asked.document, asked.position).await?;
        self.defined = self.admitted(&defined);
        self.near = self.defined.iter().map(|(path, _)| path.clone()).collect();
        self.near.insert(asked.document.source.uri.to_path());
        for path in &self.near {
            if sources::mentions_modules(self.server.context.gate, path).await {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finds all places of the symbol, after [`Self::is_commonjs`]. `own` are the server's references, and `uses` those that count if
    /// declarations don't. `false`: the symbol isn't an export of CommonJS.
    ///
    /// # Errors
    /// As of any request to the server.
    pub(super) async fn link(
        &mut self,
        asked: AskedSymbol<'_>,
        own: &[RawLocation],
        uses: &[RawLocation],
    ) -> Result<bool, ProviderFailure> {
        let own = self.admitted(own);
        let mut seeds: BTreeSet<FoundPlace> = self.defined.iter().cloned().collect();
        seeds.extend(own.iter().filter(|(path, _)| self.near.contains(path)).cloned());
        if let Some(range) = word_at(&asked) {
            seeds.insert((asked.document.source.uri.to_path(), range));
        }
        for seed in &seeds {
            self.match_place(seed).await?;
        }
        if self.places.is_empty() && self.new_targets.is_empty() && !self.is_required().await? {
            return Ok(false);
        }
        self.sources = Sources::read(self.server.context).await;
        self.is_cut |= self.sources.is_cut;
        let uses: BTreeSet<FoundPlace> = self.admitted(uses).into_iter().collect();
        for place in own {
            let is_declaration = !uses.contains(&place);
            self.add(place, is_declaration);
        }
        // A declaration may be another symbol than the export that names it.
        for (path, range) in self.defined.clone() {
            self.add_references(&path, range.start).await?;
        }
        self.follow().await?;
        self.confirm_named_places().await?;
        Ok(true)
    }

    /// The places, by the URIs of their files.
    pub(super) fn found(&self, with_declarations: bool) -> impl Iterator<Item = (Arc<str>, Range)> + '_ {
        let wanted = self.places.iter().filter(move |(_, is_declaration)| with_declarations || !**is_declaration);
        wanted.filter_map(|((path, range), _)| Some((self.server.context.gate.path(path).ok()?.text(), *range)))
    }

    /// All places.
    pub(super) fn found_places(&self) -> impl Iterator<Item = FoundPlace> + use<> {
        self.places.keys().cloned().collect::<Vec<_>>().into_iter()
    }

    /// A file with its links.
    pub(super) async fn file(&mut self, path: &Path) -> Option<Arc<LinkedFile>> {
        if let Some(known) = self.files.get(path) {
            return known.clone();
        }
        let file = sources::linked_file(self.server.context.gate, path).await;
        self.files.insert(path.into(), file.clone());
        file
    }

    /// The places with the name that may be references.
    pub(super) fn undecided(&self) -> Option<UndecidedName> {
        let names: BTreeSet<String> = self.names().into_iter().chain(self.undecided_name.clone()).collect();
        let names: Vec<String> = names.into_iter().take(MAX_NAMES_SHOWN).collect();
        let places = self.undecided.iter().filter(|place| !self.places.contains_key(place)).count();
        let is_doubtful = !names.is_empty() && (places > 0 || self.is_cut);
        is_doubtful.then(|| UndecidedName { name: names.join("`, `"), places, is_cut: self.is_cut })
    }

    /// The names of the targets.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.targets.iter().filter_map(|(_, name)| name.clone()).collect()
    }

    /// Whether a file is a target's module.
    pub(super) fn is_target(&self, path: &Path) -> bool {
        self.targets.iter().any(|(target, _)| target == path)
    }

    /// Handles new targets and places until there are none.
    pub(super) async fn follow(&mut self) -> Result<(), ProviderFailure> {
        loop {
            if let Some(place) = self.new_places.pop() {
                self.match_place(&place).await?;
            } else if let Some(target) = self.new_targets.pop() {
                self.add_exports(&target).await?;
                self.add_requirers(&target).await?;
            } else {
                return Ok(());
            }
        }
    }

    /// The places of locations inside the roots.
    pub(super) fn admitted(&self, locations: &[RawLocation]) -> Vec<FoundPlace> {
        let gate = self.server.context.gate;
        let inside = locations.iter().filter_map(|location| match gate.admit(&location.uri) {
            UriAdmission::Inside(uri) => Some((uri.to_path(), location.range)),
            _ => None,
        });
        inside.collect()
    }

    pub(super) fn add(&mut self, place: FoundPlace, is_declaration: bool) {
        match self.places.get_mut(&place) {
            // One server calls the same place a use and a declaration, by the place that it is asked about.
            Some(known) => *known |= is_declaration,
            None => {
                self.new_places.push(place.clone());
                self.places.insert(place, is_declaration);
            }
        }
    }

    /// Adds an export whose places are looked for.
    pub(super) fn add_target(&mut self, path: &Path, name: Option<&str>) {
        let target = (path.to_path_buf(), name.map(str::to_owned));
        if self.targets.insert(target.clone()) {
            self.new_targets.push(target);
        }
    }

    /// Adds the server's references of the symbol at a position.
    pub(super) async fn add_references(&mut self, path: &Path, at: Position) -> Result<(), ProviderFailure> {
        if !self.asked.insert((path.to_path_buf(), at)) {
            return Ok(());
        }
        let Some(file) = self.file(path).await else { return Ok(()) };
        let all = self.server.references(&file.document, at, true).await?;
        let uses = self.server.references(&file.document, at, false).await?;
        let uses: BTreeSet<FoundPlace> = self.admitted(&uses).into_iter().collect();
        for place in self.admitted(&all) {
            let is_declaration = !uses.contains(&place);
            self.add(place, is_declaration);
        }
        Ok(())
    }

    /// The exports and the modules that a place belongs to become targets.
    pub(super) async fn match_place(&mut self, (path, range): &FoundPlace) -> Result<(), ProviderFailure> {
        if !is_javascript(path) {
            return Ok(());
        }
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
            for module in self.resolve(&file, call).await? {
                match &name {
                    Some(name) => self.add_target(&module, Some(name)),
                    None if self.is_one_symbol(&module).await => self.add_target(&module, None),
                    None => {}
                }
            }
        }
        self.match_member(path, &file, range.start).await
    }

    /// `variable.name`, where the variable is a module.
    async fn match_member(&mut self, path: &Path, file: &LinkedFile, at: Position) -> Result<(), ProviderFailure> {
        let Some(member) = file.links.members.iter().find(|member| member.property.range.start == at) else {
            return Ok(());
        };
        for call in &file.links.requires {
            let RequireBinding::Whole(variable) = &call.binding else { continue };
            let uses = self.server.references(&file.document, variable.range.start, true).await?;
            let is_used = self.admitted(&uses).iter().any(|(of, range)| of == path && range.start == member.object);
            if is_used {
                for module in self.resolve(file, call).await? {
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

    /// The places of a target in its own module, and what it is taken from.
    async fn add_exports(&mut self, (path, name): &Target) -> Result<(), ProviderFailure> {
        let Some(file) = self.file(path).await else { return Ok(()) };
        for export in file.links.exports.iter().filter(|export| export.name == *name) {
            if name.is_some() {
                self.add((path.clone(), export.key), true);
                self.add_references(path, export.key.start).await?;
            }
            match &export.value {
                ExportedValue::Own(Some(own)) => {
                    self.add_references(path, own.range.start).await?;
                }
                ExportedValue::Name(value)
                    if name.is_some() || self.places.contains_key(&(path.clone(), value.range)) =>
                {
                    self.add((path.clone(), value.range), false);
                    let defined = self.server.definition(&file.document, value.range.start).await?;
                    for place in self.admitted(&defined) {
                        self.add(place, true);
                    }
                    self.add_references(path, value.range.start).await?;
                }
                ExportedValue::Required(specifier, member) => {
                    let call = file.links.requires.iter().find(|call| call.specifier.range == *specifier);
                    let Some(call) = call else { continue };
                    for module in self.resolve(&file, call).await? {
                        self.add_target(&module, member.as_ref().map(|member| member.name.as_str()));
                    }
                }
                ExportedValue::Member(value) => {
                    let defined = self.server.definition(&file.document, value.range.start).await?;
                    for place in self.admitted(&defined) {
                        Box::pin(self.match_place(&place)).await?;
                    }
                }
                ExportedValue::Own(None) | ExportedValue::Object | ExportedValue::Name(_) => {}
            }
        }
        for member in file.links.members.iter().filter(|member| member.is_own_exports) {
            if name.as_ref() == Some(&member.property.name) {
                self.add((path.clone(), member.property.range), false);
            }
        }
        Ok(())
    }

    /// The files that a call of `require` leads to.
    pub(super) async fn resolve(
        &mut self,
        file: &LinkedFile,
        call: &RequireCall,
    ) -> Result<Vec<PathBuf>, ProviderFailure> {
        let at = call.specifier.range.start;
        let key = (file.document.source.uri.to_path(), at);
        if let Some(known) = self.resolved.get(&key) {
            return Ok(known.clone());
        }
        let found = self.server.definition(&file.document, at).await?;
        let mut modules: Vec<PathBuf> = self.admitted(&found).into_iter().map(|(path, _)| path).collect();
        let gate = self.server.context.gate;
        let described: Vec<PathBuf> = modules.iter().filter_map(|module| specifiers::javascript_of(module)).collect();
        modules.extend(described.into_iter().filter(|path| gate.path(path).is_ok()));
        modules.sort();
        modules.dedup();
        self.resolved.insert(key, modules.clone());
        Ok(modules)
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

/// The word at the position that is asked about.
fn word_at(asked: &AskedSymbol<'_>) -> Option<Range> {
    let line = asked.document.source.document.line(asked.position.line)?;
    let is_part = |c: char| c == '$' || c == '_' || unicode_ident::is_xid_continue(c);
    let (mut column, mut start) = (0u32, None);
    for c in line.chars() {
        match (is_part(c), start) {
            (true, None) => start = Some(column),
            (false, Some(_)) if column >= asked.position.character => break,
            (false, _) => start = None,
            (true, Some(_)) => {}
        }
        if start.is_none() && column >= asked.position.character {
            return None;
        }
        column += c.len_utf16() as u32;
    }
    let line = asked.position.line;
    start.filter(|start| *start <= asked.position.character).map(|start| Range::new(line, start, line, column))
}
