//! Follows one symbol through the modules that export and require it, until nothing new is found.
//!
//! A *target* is an export of a file: a name, or all of `module.exports`. A *place* is a reference. Each new place may be the value of
//! an export, which is a new target; each new target has new places, where the modules are required. What the gate says of a URI holds for
//! the whole question.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::AskedSymbol;
use super::module_cache::ModuleWords;
use super::resolution::ModuleDependents;
use super::sources::{self, LinkedFile, is_javascript};
use crate::identifier::word_at;

use crate::asked_server::AskedServer;
use codeyard_files::gate::Gate;
use codeyard_index::commonjs::ExportedValue;
use codeyard_lsp::documents::document_input::DocumentInput;
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
pub(super) struct Linker<S> {
    pub(super) server: S,
    /// The words of all files.
    pub(super) words: Arc<ModuleWords>,
    files: BTreeMap<PathBuf, Option<Arc<LinkedFile>>>,
    /// The files that URIs of the server name; `None`: none inside the roots.
    named_files: HashMap<Arc<str>, Option<PathBuf>>,
    /// The places, and whether each is a declaration, as far as the question needs that.
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
    pub(super) resolved: BTreeMap<(PathBuf, Position), Vec<PathBuf>>,
    /// By module, the files that may require it.
    pub(super) dependents_of: BTreeMap<PathBuf, Arc<ModuleDependents>>,
    /// The packages of the tree by name, if they were needed.
    pub(super) packages: Option<BTreeMap<String, PathBuf>>,
    /// By folder, the files that its manifest may name as the main module.
    pub(super) mains: BTreeMap<PathBuf, Option<Vec<PathBuf>>>,
    /// Whether the question needs to tell declarations from uses.
    separates_declarations: bool,
    /// Whether a target is an export of CommonJS.
    pub(super) is_of_commonjs: bool,
    /// Places that may be references, and a name that no target has.
    pub(super) undecided: BTreeSet<FoundPlace>,
    pub(super) undecided_name: Option<String>,
    pub(super) is_cut: bool,
}

impl<S: AskedServer> Linker<S> {
    /// A linker that knows nothing yet.
    pub(super) fn new(server: S, words: Arc<ModuleWords>) -> Self {
        Self {
            server,
            words,
            files: BTreeMap::new(),
            named_files: HashMap::new(),
            places: BTreeMap::new(),
            defined: Vec::new(),
            near: BTreeSet::new(),
            targets: BTreeSet::new(),
            new_targets: Vec::new(),
            new_places: Vec::new(),
            asked: BTreeSet::new(),
            resolved: BTreeMap::new(),
            dependents_of: BTreeMap::new(),
            packages: None,
            separates_declarations: false,
            mains: BTreeMap::new(),
            is_of_commonjs: false,
            undecided: BTreeSet::new(),
            undecided_name: None,
            is_cut: false,
        }
    }

    /// Whether a symbol of this document may be linked: JavaScript, or TypeScript beside files that are.
    pub(super) fn may_link(&self, document: &DocumentInput) -> bool {
        is_javascript(&document.source.uri.to_path())
            || self.words.any(|path, text| is_javascript(path) || text.may_have("require"))
    }

    /// Whether the file of the symbol, or one that defines it, is of CommonJS. If not, nothing else is asked.
    ///
    /// # Errors
    /// As of any request to the server.
    pub(super) async fn is_commonjs(&mut self, asked: AskedSymbol<'_>) -> Result<bool, S::Failure> {
        let defined = self.server.definition(asked.document, asked.position).await?;
        self.defined = self.admitted(&defined).await;
        self.near = self.defined.iter().map(|(path, _)| path.clone()).collect();
        self.near.insert(asked.document.source.uri.to_path());
        for path in &self.near {
            if sources::mentions_modules(self.server.gate(), path).await {
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
    ) -> Result<bool, S::Failure> {
        self.separates_declarations = !asked.include_declaration;
        let own = self.admitted(own).await;
        let mut seeds: BTreeSet<FoundPlace> = self.defined.iter().cloned().collect();
        seeds.extend(own.iter().filter(|(path, _)| self.near.contains(path)).cloned());
        if let Some(range) = word_at(&asked.document.source.document, asked.position) {
            let path = asked.document.source.uri.to_path();
            self.asked.insert((path.clone(), range.start));
            seeds.insert((path, range));
        }
        for seed in &seeds {
            self.match_place(seed).await?;
        }
        if self.places.is_empty() && self.new_targets.is_empty() && !self.is_required().await? {
            return Ok(false);
        }
        self.is_cut |= self.words.is_cut;
        let uses: BTreeSet<FoundPlace> = self.admitted(uses).await.into_iter().collect();
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

    /// The places that count.
    pub(super) fn found(&self, with_declarations: bool) -> Vec<FoundPlace> {
        let wanted = self.places.iter().filter(|(_, is_declaration)| with_declarations || !**is_declaration);
        wanted.map(|(place, _)| place.clone()).collect()
    }

    /// A file with its links.
    pub(super) async fn file(&mut self, path: &Path) -> Option<Arc<LinkedFile>> {
        if let Some(known) = self.files.get(path) {
            return known.clone();
        }
        let file = sources::linked_file(&self.server, path, self.words.settled(path)).await;
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
    pub(super) async fn follow(&mut self) -> Result<(), S::Failure> {
        loop {
            if let Some(place) = self.new_places.pop() {
                self.match_place(&place).await?;
            } else if let Some(target) = self.new_targets.pop() {
                self.add_exports(&target).await?;
                self.add_requirers(&target).await?;
                for (path, name) in self.passed_on_by_export(&target).await? {
                    self.add_target(&path, name.as_deref());
                }
            } else {
                return Ok(());
            }
        }
    }

    /// The places of locations inside the roots.
    pub(super) async fn admitted(&mut self, locations: &[RawLocation]) -> Vec<FoundPlace> {
        self.admit(locations).await;
        self.places_of(locations)
    }

    /// Asks the gate about the files of these locations, as far as it wasn't asked before.
    pub(super) async fn admit<'l>(&mut self, locations: impl IntoIterator<Item = &'l RawLocation>) {
        let all = locations.into_iter().map(|location| &location.uri);
        let unknown: BTreeSet<Arc<str>> = all.filter(|uri| !self.named_files.contains_key(*uri)).cloned().collect();
        if unknown.is_empty() {
            return;
        }
        let admit = move |gate: &Gate| -> Vec<(Arc<str>, Option<PathBuf>)> {
            let path_of = |uri: &str| match gate.admit(uri) {
                UriAdmission::Inside(uri) => Some(uri.to_path()),
                _ => None,
            };
            unknown.into_iter().map(|uri| (uri.clone(), path_of(&uri))).collect()
        };
        self.named_files.extend(self.server.gate().run(admit).await.unwrap_or_default());
    }

    /// The places of locations inside the roots, after [`Self::admit`].
    pub(super) fn places_of(&self, locations: &[RawLocation]) -> Vec<FoundPlace> {
        let inside = locations.iter().filter_map(|location| {
            let path = self.named_files.get(&location.uri)?.clone()?;
            Some((path, location.range))
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

    /// Adds all these as uses.
    pub(super) async fn add_all(&mut self, locations: &[RawLocation]) {
        for place in self.admitted(locations).await {
            self.add(place, false);
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
    pub(super) async fn add_references(&mut self, path: &Path, at: Position) -> Result<(), S::Failure> {
        if !self.asked.insert((path.to_path_buf(), at)) {
            return Ok(());
        }
        let Some(file) = self.file(path).await else { return Ok(()) };
        let all = self.server.references(&file.document, at, true).await?;
        let uses: BTreeSet<FoundPlace> = match self.separates_declarations {
            true => {
                let uses = self.server.references(&file.document, at, false).await?;
                self.admitted(&uses).await.into_iter().collect()
            }
            false => BTreeSet::new(),
        };
        for place in self.admitted(&all).await {
            let is_declaration = self.separates_declarations && !uses.contains(&place);
            self.add(place, is_declaration);
        }
        Ok(())
    }

    /// The places of a target in its own module, and what it is taken from.
    async fn add_exports(&mut self, target: &Target) -> Result<(), S::Failure> {
        let (path, name) = target;
        let Some(file) = self.file(path).await else { return Ok(()) };
        self.add_es_exports(&(path.clone(), name.clone())).await?;
        for export in file.links.exports.iter().filter(|export| export.name == *name) {
            self.is_of_commonjs = true;
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
                    let defined = self.admitted(&defined).await;
                    let is_asked = |(path, range): &FoundPlace| self.asked.contains(&(path.clone(), range.start));
                    let is_known = !defined.is_empty() && defined.iter().all(is_asked);
                    for place in defined {
                        self.add(place, true);
                    }
                    // The variable is what is defined there, so its references are the same.
                    if !is_known {
                        self.add_references(path, value.range.start).await?;
                    }
                }
                ExportedValue::Required(specifier, member) => {
                    let call = file.links.requires.iter().find(|call| call.specifier.range == *specifier);
                    let Some(call) = call else { continue };
                    for module in self.resolve(&file, &call.specifier).await? {
                        self.add_target(&module, member.as_ref().map(|member| member.name.as_str()));
                    }
                }
                ExportedValue::Member(value) => {
                    let defined = self.server.definition(&file.document, value.range.start).await?;
                    for place in self.admitted(&defined).await {
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
}
