//! What the code index knows of one name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::name_words::is_compound;
use crate::limits::{MAX_COMPARED_DEFINITIONS, MAX_COMPARED_FILES};
use codeyard_ecosystems::npm;
use codeyard_index::project::import_match::{import_match_length, relevant_imports};
use codeyard_index::project::navigator::{FileFacts, Navigator};
use codeyard_index::{Language, Project, ReferenceRole, Symbol};
use codeyard_model::code::{SymbolKind, Visibility};

/// The name that a question is about.
#[derive(Debug, Clone)]
pub struct AskedName {
    pub name: String,
    /// The file of the question and the line in it, from 1. `None`: the name itself was asked for.
    pub place: Option<(PathBuf, u32)>,
    /// The languages of the index whose files count, if there is no file.
    pub languages: Vec<Language>,
    /// Those of them whose server may leave macros out.
    pub macro_languages: Vec<Language>,
    /// Whether uses count that are no calls, imports, bases or types.
    pub with_plain_uses: bool,
}

/// Why the index can't be compared with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFailure {
    /// There is none yet, or any file may have changed since it was made.
    NotCurrent,
    /// Reading it takes too long.
    NotInTime,
    /// It can't be read, or the name is in too many files.
    Impossible,
}

/// What the index knows of one name, in the sources that share names with that of the question.
#[derive(Debug, Clone, Default)]
pub struct NameRecord {
    pub(super) name: String,
    pub(super) definitions: Vec<IndexedDefinition>,
    pub(super) users: Vec<NameUser>,
    /// The macros whose names contain the name in any case, with their names. Only if the name itself was asked for.
    pub(super) macros: Vec<(String, IndexedDefinition)>,
    /// The only definition, if the place of the question is a use of the name in a file that reaches it.
    pub(super) reached: Option<usize>,
    /// Whether files don't count, because they have changed since they were indexed.
    pub is_partial: bool,
}

/// A symbol with the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexedDefinition {
    pub(super) file: PathBuf,
    /// The path relative to its root.
    pub(super) shown: Arc<str>,
    pub(super) line: u32,
    /// The type or module around it.
    pub(super) owner: Option<String>,
    /// Whether it isn't a mere declaration.
    pub(super) is_definition: bool,
    /// No other file can name it.
    pub(super) is_file_local: bool,
}

/// A file that uses the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameUser {
    pub(super) file: PathBuf,
    pub(super) shown: Arc<str>,
    pub(super) roles: BTreeSet<ReferenceRole>,
    /// The lines on which it imports the name.
    pub(super) import_lines: Vec<u32>,
    /// The definitions whose files it may reach: its imports may name them, they describe it, or a source that includes it imports them.
    pub(super) reached: Vec<usize>,
    /// It calls the name in a language in which only a function can be meant by that: shell scripts have no methods.
    pub(super) is_command: bool,
}

impl NameRecord {
    /// Reads it from the indexes of all roots. Blocks.
    ///
    /// # Errors
    /// An index isn't current, can't be read, or has the name too often.
    pub fn read(
        projects: &[Arc<Project>],
        asked: &AskedName,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, RecordFailure> {
        let mut record = Self { name: asked.name.clone(), ..Self::default() };
        let mut sources = Vec::new();
        for project in projects {
            let navigator = project.navigate().map_err(|_| RecordFailure::Impossible)?;
            let changed = navigator.changed().ok_or(RecordFailure::NotCurrent)?;
            record.is_partial |= !changed.is_empty();
            sources.push(RootSource { root: project.root(), navigator, changed });
        }
        let languages = languages(&sources, asked)?;
        for source in &sources {
            source.definitions(asked, &languages, &mut record)?;
        }
        if !asked.macro_languages.is_empty() {
            for source in &sources {
                source.macros(asked, &mut record)?;
            }
        }
        for source in &sources {
            source.users(asked, &languages, &mut record, is_cancelled)?;
        }
        record.reached = sources.iter().find_map(|source| source.reached(asked, &record));
        Ok(record)
    }

    /// The definitions; mere declarations if there are none.
    pub(super) fn defined(&self) -> impl Iterator<Item = (usize, &IndexedDefinition)> {
        let has_definition = self.definitions.iter().any(|one| one.is_definition);
        self.definitions.iter().enumerate().filter(move |(_, one)| one.is_definition || !has_definition)
    }

    /// Whether the name can hardly mean anything but its only symbol.
    pub(super) fn is_certain(&self) -> bool {
        is_compound(&self.name) && self.is_unique()
    }

    /// Whether all symbols of the name are one: definitions of the same owner in one file, and declarations of them.
    pub(super) fn is_unique(&self) -> bool {
        let mut groups: BTreeSet<_> =
            self.defined().map(|(_, one)| (one.owner.as_deref(), one.file.as_path())).collect();
        let owners: BTreeSet<_> = groups.iter().map(|(owner, _)| *owner).collect();
        let declared = self.definitions.iter().map(|one| (one.owner.as_deref(), Path::new("")));
        groups.extend(declared.filter(|(owner, _)| !owners.contains(owner)));
        groups.len() == 1
    }
}

/// The languages whose sources count.
fn languages(sources: &[RootSource<'_>], asked: &AskedName) -> Result<Vec<Language>, RecordFailure> {
    let Some((path, _)) = &asked.place else { return Ok(asked.languages.clone()) };
    let own = sources.iter().find_map(|source| source.language(path)).ok_or(RecordFailure::Impossible)?;
    Ok(Language::ALL.iter().copied().filter(|other| own.shares_names_with(*other)).collect())
}

/// The index of one root.
struct RootSource<'a> {
    root: &'a Path,
    navigator: Navigator<'a>,
    /// The files that have changed since.
    changed: BTreeSet<String>,
}

impl RootSource<'_> {
    fn file(&self, path: &Path) -> Option<FileFacts> {
        let path = path.strip_prefix(self.root).ok()?.to_str()?;
        self.navigator.file(path).ok()?
    }

    fn language(&self, path: &Path) -> Option<Language> {
        self.file(path).and_then(|file| file.language).or_else(|| Language::of_file(path.to_str()?, b""))
    }

    fn counts(&self, file: &FileFacts, languages: &[Language]) -> bool {
        file.language.is_some_and(|language| languages.contains(&language)) && !self.changed.contains(&*file.path)
    }

    fn definitions(
        &self,
        asked: &AskedName,
        languages: &[Language],
        into: &mut NameRecord,
    ) -> Result<(), RecordFailure> {
        let found = self.navigator.definitions(&asked.name, MAX_COMPARED_DEFINITIONS);
        let found = found.map_err(|_| RecordFailure::Impossible)?;
        if found.len() >= MAX_COMPARED_DEFINITIONS {
            return Err(RecordFailure::Impossible);
        }
        for (file, at) in found.iter().filter(|(file, _)| self.counts(file, languages)) {
            let symbol = &file.facts.symbols[*at];
            let owner = file.facts.owning_type(*at);
            // A constructor is no other symbol than its type.
            if matches!(symbol.kind, SymbolKind::Use | SymbolKind::Impl) || owner == Some(&asked.name) {
                continue;
            }
            into.definitions.push(self.definition(file, *at));
        }
        into.definitions.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        Ok(())
    }

    fn macros(&self, asked: &AskedName, into: &mut NameRecord) -> Result<(), RecordFailure> {
        let found = self.navigator.search(&asked.name, Some(SymbolKind::Macro), MAX_COMPARED_DEFINITIONS);
        let found = found.map_err(|_| RecordFailure::Impossible)?;
        let lower = asked.name.to_lowercase();
        for (file, at) in found.iter().filter(|(file, _)| self.counts(file, &asked.macro_languages)) {
            let name = &file.facts.symbols[*at].name;
            if name.to_lowercase().contains(&lower) {
                into.macros.push((name.clone(), self.definition(file, *at)));
            }
        }
        Ok(())
    }

    fn definition(&self, file: &FileFacts, at: usize) -> IndexedDefinition {
        let symbol = &file.facts.symbols[at];
        IndexedDefinition {
            file: self.root.join(&*file.path),
            shown: file.path.clone(),
            line: symbol.name_line,
            owner: file.facts.owning_type(at).map(str::to_owned),
            is_definition: symbol.is_definition,
            is_file_local: is_file_local(file, symbol),
        }
    }

    /// Adds the files that use the name.
    fn users(
        &self,
        asked: &AskedName,
        languages: &[Language],
        into: &mut NameRecord,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), RecordFailure> {
        let looked = AtomicUsize::new(0);
        let ends = || looked.fetch_add(1, Relaxed) >= MAX_COMPARED_FILES || is_cancelled();
        let found = self.navigator.files_with(&asked.name, &ends).map_err(|_| RecordFailure::Impossible)?;
        if looked.load(Relaxed) > MAX_COMPARED_FILES {
            return Err(RecordFailure::Impossible);
        }
        if is_cancelled() {
            return Err(RecordFailure::NotInTime);
        }
        for file in found.into_iter().filter(|file| self.counts(file, languages)) {
            let own = file.facts.references.iter().filter(|reference| reference.name == asked.name);
            let mut roles: BTreeSet<ReferenceRole> = own.clone().map(|reference| reference.role).collect();
            if asked.with_plain_uses && file.facts.plain_uses.has(&asked.name) {
                roles.insert(ReferenceRole::Other);
            }
            if roles.is_empty() {
                continue;
            }
            let is_command = file.language == Some(Language::BASH) && roles.contains(&ReferenceRole::Call);
            let imports = own.filter(|reference| reference.role == ReferenceRole::Import);
            let path = self.root.join(&*file.path);
            let reached = self.reaches(&file, &path, into, is_cancelled);
            into.users.push(NameUser {
                file: path,
                shown: file.path.clone(),
                roles,
                import_lines: imports.map(|reference| reference.line).collect(),
                reached,
                is_command,
            });
        }
        Ok(())
    }

    /// The definitions whose files a file may reach.
    fn reaches(
        &self,
        file: &FileFacts,
        path: &Path,
        record: &NameRecord,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Vec<usize> {
        let mut reached = imported(file, &record.name, &record.definitions);
        let describes = |at: &usize| self.describes(&record.definitions[*at].file, file, path);
        reached.extend((0..record.definitions.len()).filter(describes));
        // A certain name counts wherever it is used.
        if reached.is_empty() && record.is_unique() && !record.is_certain() {
            let of_includer = |includer: FileFacts| imported(&includer, &record.name, &record.definitions);
            reached.extend(self.includers(file, is_cancelled).into_iter().flat_map(of_includer));
        }
        reached
    }

    /// Whether `declarations` describes a source that doesn't import it: it is a declaration file of the same package of JavaScript, or a stub
    /// of Python around it.
    fn describes(&self, declarations: &Path, file: &FileFacts, path: &Path) -> bool {
        let ends = |ends: &[&str]| ends.iter().any(|end| declarations.to_string_lossy().ends_with(end));
        match file.language {
            Some(Language::JAVASCRIPT) if ends(&[".d.ts", ".d.mts", ".d.cts"]) => {
                self.package(declarations).is_some_and(|package| self.package(path) == Some(package))
            }
            Some(Language::PYTHON) if ends(&[".pyi"]) => {
                declarations.parent().is_some_and(|folder| path.starts_with(folder))
            }
            _ => false,
        }
    }

    /// The sources that include a source of C, which is compiled as a part of them. Most include headers only.
    fn includers(&self, file: &FileFacts, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Vec<FileFacts> {
        if !is_source_of_c(file) {
            return Vec::new();
        }
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let mut found = self.navigator.files_with(name, is_cancelled).unwrap_or_default();
        let includes = |symbol: &Symbol| symbol.kind == SymbolKind::Use && symbol.signature.contains(name);
        found.retain(|other| other.path != file.path && other.facts.symbols.iter().any(includes));
        found
    }

    /// The folder of the package of a file.
    fn package<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(self.root));
        folders.into_iter().find(|folder| self.file(&folder.join(npm::MANIFEST)).is_some())
    }

    /// The only definition, if the place of the question is a use of the name that may reach it.
    fn reached(&self, asked: &AskedName, record: &NameRecord) -> Option<usize> {
        let (path, line) = asked.place.as_ref()?;
        let file = self.file(path)?;
        let (only, definition) = record.defined().next().filter(|_| record.is_unique())?;
        let is_use = |reference: &codeyard_index::Reference| reference.name == asked.name && reference.line == *line;
        let is_near = definition.file.parent() == path.parent();
        let reaches = is_near || !imported(&file, &asked.name, std::slice::from_ref(definition)).is_empty();
        (reaches && file.facts.references.iter().any(is_use)).then_some(only)
    }
}

/// Whether a symbol is local to its file: a `static` one in a source of C. A local of Lua is often handed out under its name.
fn is_file_local(file: &FileFacts, symbol: &Symbol) -> bool {
    symbol.visibility == Visibility::Private && is_source_of_c(file)
}

/// Whether a file is a source of C or C++, and no header.
fn is_source_of_c(file: &FileFacts) -> bool {
    let is_c = matches!(file.language, Some(Language::C | Language::CPP));
    is_c && [".c", ".cc", ".cpp", ".cxx"].iter().any(|end| file.path.ends_with(end))
}

/// The definitions whose files the imports of `file` may name: those of the imports that have the name, else all.
fn imported(file: &FileFacts, name: &str, definitions: &[IndexedDefinition]) -> Vec<usize> {
    let imports = relevant_imports(&file.facts, name);
    let names = |one: &IndexedDefinition| imports.iter().any(|import| import_match_length(import, &one.shown) > 0);
    (0..definitions.len()).filter(|at| names(&definitions[*at])).collect()
}
