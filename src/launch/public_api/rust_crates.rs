//! The public API of a Rust crate: what `pub mod` and `pub use` make reachable from its root.
//!
//! Names are resolved within the crate and the crates beside it in the repository. It expands no macros and evaluates no `cfg` but
//! `test`. Invariants: an item is listed once, under its shortest public path; what re-exports can cost is bounded, however they refer to each
//! other.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use codeyard_model::code::{SymbolKind, Visibility};
use codeyard_runs::stage::{StageError, StopFlag};

use super::use_tree::{UsePath, use_paths};
use super::{Selection, attributes_of, is_hidden_in_docs};
use crate::limits::{MAX_API_NAME_BYTES, MAX_REEXPORT_STEPS};
use crate::repository::product_sources::{ParsedSource, folder, join};

/// Length of the path of a module of the API, in bytes; modules with longer ones are left out.
const MAX_API_PATH_BYTES: usize = 500;

/// Steps of name resolution in one repository.
const MAX_STEPS: u32 = 2_000_000;

/// A public path in the order of preference.
type PathRank = (bool, usize, usize, String);

pub(super) struct CrateRoot {
    /// Its name in source code.
    pub(super) name: String,
    pub(super) path: String,
}

struct CrateModule {
    file: usize,
    /// The symbol that is the module; `None` if it is the whole file.
    scope: Option<u32>,
    parent: Option<usize>,
    /// The folder with the files of its child modules.
    folder: String,
    /// Its modules, by name, and whether they are public.
    children: BTreeMap<String, (usize, bool)>,
    uses: Vec<ModuleUse>,
    /// How many symbols are directly in it.
    items: usize,
}

/// One name of a `use`.
struct ModuleUse {
    path: UsePath,
    is_public: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(usize),
    Item(usize, usize),
}

struct ModuleGraph<'a> {
    files: &'a [ParsedSource],
    by_path: BTreeMap<&'a str, usize>,
    modules: Vec<CrateModule>,
    roots: BTreeMap<String, usize>,
    /// Each item with its best public module and name there.
    found: BTreeMap<(usize, usize), (String, String)>,
    /// The modules that are read.
    published: BTreeSet<usize>,
    /// The public modules with their best known paths, and in the order of these paths those that aren't read.
    offered: BTreeMap<usize, PathRank>,
    queue: BTreeSet<(PathRank, usize)>,
    stop: &'a StopFlag,
    /// Steps of name resolution that are left.
    steps: Cell<u32>,
}

/// The items that users of the first crate reach.
///
/// # Errors
/// If the work has to stop.
pub(super) fn select(
    files: &[ParsedSource],
    crates: &[CrateRoot],
    stop: &StopFlag,
) -> Result<Vec<Selection>, StageError> {
    let selections = published(files, crates, stop).selections();
    if stop.is_set() { Err(StageError::cancelled()) } else { Ok(selections) }
}

/// The modules of the crates, with the public places of the first crate's items.
fn published<'a>(files: &'a [ParsedSource], crates: &[CrateRoot], stop: &'a StopFlag) -> ModuleGraph<'a> {
    let by_path = files.iter().enumerate().map(|(at, file)| (file.path(), at)).collect();
    let mut graph = ModuleGraph {
        files,
        by_path,
        modules: Vec::new(),
        roots: BTreeMap::new(),
        found: BTreeMap::new(),
        published: BTreeSet::new(),
        offered: BTreeMap::new(),
        queue: BTreeSet::new(),
        stop,
        steps: Cell::new(MAX_STEPS),
    };
    for root in crates {
        if let Some(&file) = graph.by_path.get(root.path.as_str()) {
            let module = graph.add_module(file, None, None, folder(&root.path).to_owned());
            graph.roots.entry(root.name.clone()).or_insert(module);
        }
    }
    if let Some((name, module)) = crates.first().and_then(|root| Some((&root.name, *graph.roots.get(&root.name)?))) {
        graph.publish_crate(module, name);
        graph.publish_macros(module, name);
    }
    graph
}

/// Which of two paths is the better place: the smaller. A prelude repeats what has a better one.
fn rank(path: String) -> PathRank {
    (path.contains("::prelude"), path.matches("::").count(), path.len(), path)
}

impl<'a> ModuleGraph<'a> {
    fn add_module(&mut self, file: usize, scope: Option<u32>, parent: Option<usize>, folder: String) -> usize {
        let at = self.modules.len();
        let source = &self.files[file];
        let of_use = |(_, symbol): &(usize, &codeyard_index::Symbol)| symbol.kind == SymbolKind::Use;
        let uses = source.children(scope).filter(of_use).flat_map(|(_, symbol)| {
            let is_public = symbol.visibility == Visibility::Public && !is_hidden_in_docs(source, symbol);
            use_paths(source.text_of(symbol)).into_iter().map(move |path| ModuleUse { path, is_public })
        });
        let uses = uses.collect();
        let items = source.children(scope).count();
        self.modules.push(CrateModule { file, scope, parent, folder, children: BTreeMap::new(), uses, items });
        self.add_children(at);
        at
    }

    fn add_children(&mut self, at: usize) {
        let file = self.modules[at].file;
        let scope = self.modules[at].scope;
        let below = self.modules[at].folder.clone();
        // A file that is included as its own descendant would never end.
        let mut depth = 0;
        let mut outer = self.modules[at].parent;
        while let Some(module) = outer {
            depth += 1;
            outer = self.modules[module].parent;
        }
        if depth > 64 || self.modules.len() > self.files.len() * 8 || self.stop.is_set() {
            return;
        }
        let source = &self.files[file];
        let modules: Vec<(usize, &codeyard_index::Symbol)> =
            source.children(scope).filter(|(_, symbol)| symbol.kind == SymbolKind::Module).collect();
        for (symbol_at, symbol) in modules {
            let attributes = attributes_of(source, symbol);
            if attributes.contains("cfg(test)") || attributes.contains("doc(hidden)") {
                continue;
            }
            let inner = join(&below, &symbol.name);
            let child = if symbol.is_definition {
                u32::try_from(symbol_at).ok().map(|scope| self.add_module(file, Some(scope), Some(at), inner))
            } else {
                let chosen = attributes.split_once("path = \"").and_then(|(_, rest)| rest.split_once('"'));
                let own = chosen
                    .and_then(|(path, _)| crate::repository::product_sources::resolve(folder(source.path()), path));
                let paths = [own, Some(format!("{inner}.rs")), Some(format!("{inner}/mod.rs"))];
                let found = paths.into_iter().flatten().find_map(|path| self.by_path.get(path.as_str()).copied());
                found.filter(|child| *child != file).map(|child| self.add_module(child, None, Some(at), inner))
            };
            if let Some(child) = child {
                let is_public = symbol.visibility == Visibility::Public;
                self.modules[at].children.entry(symbol.name.clone()).or_insert((child, is_public));
            }
        }
    }

    fn items(&self, module: usize) -> impl Iterator<Item = (usize, &'a codeyard_index::Symbol)> + use<'a> {
        let CrateModule { file, scope, .. } = self.modules[module];
        self.files[file].children(scope).filter(|(_, symbol)| {
            !matches!(symbol.kind, SymbolKind::Use | SymbolKind::Module | SymbolKind::Impl | SymbolKind::Macro)
        })
    }

    /// Records what can be reached from the root of a crate. The best paths come first, so each module is read once, under its best path.
    fn publish_crate(&mut self, root: usize, name: &str) {
        self.offer(root, name.to_owned());
        while let Some(((.., path), module)) = self.queue.pop_first().filter(|_| !self.stop.is_set()) {
            self.publish(module, &path, 0);
        }
    }

    /// A path of a public module that waits until all better paths are read.
    fn offer(&mut self, module: usize, path: String) {
        if path.len() > MAX_API_PATH_BYTES || self.published.contains(&module) {
            return;
        }
        let rank = rank(path);
        if let Some(known) = self.offered.get(&module) {
            if *known <= rank {
                return;
            }
            self.queue.remove(&(known.clone(), module));
        }
        self.offered.insert(module, rank.clone());
        self.queue.insert((rank, module));
    }

    /// Records what a public module has, and what it re-exports. Names that nobody would write are left out.
    fn publish(&mut self, module: usize, path: &str, step: usize) {
        if step > MAX_REEXPORT_STEPS {
            return self.offer(module, path.to_owned());
        }
        if !self.published.insert(module) {
            return;
        }
        let file = self.modules[module].file;
        for (at, symbol) in self.items(module) {
            if symbol.visibility == Visibility::Public && !is_hidden_in_docs(&self.files[file], symbol) {
                self.record(file, at, path, &symbol.name);
            }
        }
        let children: Vec<(String, usize)> = self.modules[module]
            .children
            .iter()
            .filter(|(_, (_, is_public))| *is_public)
            .map(|(name, (child, _))| (name.clone(), *child))
            .collect();
        for (name, child) in children {
            self.offer(child, format!("{path}::{name}"));
        }
        let is_shown = |used: &&ModuleUse| used.is_public && used.path.name.len() <= MAX_API_NAME_BYTES;
        let uses = self.modules[module].uses.iter().filter(is_shown);
        let uses: Vec<UsePath> = uses.map(|used| used.path.clone()).collect();
        for used in uses {
            for target in self.resolve(module, &used.segments, 0) {
                match (target, used.is_glob) {
                    // No better path can come later: it is that of this module.
                    (Target::Module(target), true) => self.publish(target, path, step + 1),
                    (Target::Module(target), false) => self.offer(target, format!("{path}::{}", used.name)),
                    (Target::Item(file, at), false) => self.record(file, at, path, &used.name),
                    (Target::Item(..), true) => {}
                }
            }
        }
    }

    fn record(&mut self, file: usize, at: usize, path: &str, name: &str) {
        let rank = |path: &str| rank(path.to_owned());
        let better = self.found.get(&(file, at)).is_none_or(|(known, _)| rank(path) < rank(known));
        if better && name != "_" && name.len() <= MAX_API_NAME_BYTES {
            self.found.insert((file, at), (path.to_owned(), name.to_owned()));
        }
    }

    /// What a path means in a module: the first segment is a keyword, something in the module, or a crate of the repository.
    fn resolve(&self, module: usize, segments: &[String], step: usize) -> BTreeSet<Target> {
        let may_go_on = step <= MAX_REEXPORT_STEPS && self.steps.get() > 0 && !self.stop.is_set();
        let Some((first, rest)) = segments.split_first().filter(|_| may_go_on) else {
            return BTreeSet::new();
        };
        let cost = 1 + (self.modules[module].uses.len() + self.modules[module].items) / 64;
        self.steps.set(self.steps.get().saturating_sub(u32::try_from(cost).unwrap_or(u32::MAX)));
        let parent_of = |module: usize| self.modules[module].parent;
        let mut root = module;
        while let Some(parent) = parent_of(root) {
            root = parent;
        }
        let start = match first.as_str() {
            "crate" => Some(root),
            "self" => Some(module),
            "super" => parent_of(module),
            _ => None,
        };
        if let Some(start) = start {
            return if rest.is_empty() { [Target::Module(start)].into() } else { self.resolve(start, rest, step + 1) };
        }
        let mut targets = self.named(module, first, step);
        if targets.is_empty()
            && let Some(other) = self.roots.get(first).filter(|_| !matches!(first.as_str(), "std" | "core" | "alloc"))
        {
            targets.insert(Target::Module(*other));
        }
        if rest.is_empty() {
            return targets;
        }
        let modules = targets.into_iter().filter_map(|target| match target {
            Target::Module(inner) => Some(inner),
            Target::Item(..) => None,
        });
        // A loop of re-exports ends at the limit of steps.
        modules.flat_map(|inner| self.resolve(inner, rest, step + 1)).collect()
    }

    /// What a name means directly in a module.
    fn named(&self, module: usize, name: &str, step: usize) -> BTreeSet<Target> {
        let mut targets = BTreeSet::new();
        if let Some((child, _)) = self.modules[module].children.get(name) {
            targets.insert(Target::Module(*child));
        }
        let file = self.modules[module].file;
        targets.extend(self.items(module).filter(|(_, item)| item.name == name).map(|(at, _)| Target::Item(file, at)));
        if !targets.is_empty() {
            return targets;
        }
        for used in &self.modules[module].uses {
            // `use name::…` alone would ask for itself.
            let is_itself = used.path.segments.first().is_some_and(|first| first == name);
            if !used.path.is_glob && used.path.name == name && (!is_itself || used.path.segments.len() > 1) {
                if !is_itself || step < 3 {
                    targets.extend(self.resolve(module, &used.path.segments, step + 1));
                }
            } else if used.path.is_glob && !is_itself && step < 6 {
                for target in self.resolve(module, &used.path.segments, step + 1) {
                    if let Target::Module(inner) = target
                        && inner != module
                    {
                        targets.extend(self.named(inner, name, step + 1));
                    }
                }
            }
            if !targets.is_empty() {
                break;
            }
        }
        targets
    }

    /// `#[macro_export]` puts a macro at the top of its crate.
    fn publish_macros(&mut self, root: usize, name: &str) {
        let below = self.modules[root].folder.clone();
        let files = self.files;
        let of_crate = files.iter().enumerate().filter(|(_, source)| source.path().starts_with(&below));
        for (file, source) in of_crate.take_while(|_| !self.stop.is_set()) {
            for (at, symbol) in source.symbols.iter().enumerate().filter(|(_, symbol)| symbol.kind == SymbolKind::Macro)
            {
                let attributes = attributes_of(source, symbol);
                if attributes.contains("macro_export") && !attributes.contains("doc(hidden)") {
                    self.record(file, at, name, &symbol.name);
                }
            }
        }
    }

    fn selections(self) -> Vec<Selection> {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let impls = self.own_impls();
        let types = |symbol: &codeyard_index::Symbol| {
            matches!(symbol.kind, SymbolKind::Struct | SymbolKind::Enum | SymbolKind::Trait | SymbolKind::Type)
        };
        for symbol in self.files.iter().flat_map(|file| &file.symbols).filter(|symbol| types(symbol)) {
            *names.entry(&symbol.name).or_default() += 1;
        }
        let mut selections = Vec::new();
        for ((file, at), (module, name)) in self.found.iter().take_while(|_| !self.stop.is_set()) {
            let symbol = &self.files[*file].symbols[*at];
            selections.push(Selection::top(*file, *at, module, name));
            if !types(symbol) {
                continue;
            }
            let inner = self.files[*file].children(u32::try_from(*at).ok());
            let shown = inner.filter(|(_, member)| member.visibility == Visibility::Public);
            let mut members: Vec<(usize, usize)> = shown.map(|(member, _)| (*file, member)).collect();
            // Two types of one name: only the impls beside each of them are surely its own.
            let is_unique = names.get(symbol.name.as_str()).is_none_or(|count| *count == 1);
            let blocks = impls.get(symbol.name.as_str()).into_iter().flatten();
            for (block_file, block) in blocks.filter(|(block_file, _)| is_unique || block_file == file) {
                let inner = self.files[*block_file].children(u32::try_from(*block).ok());
                let shown = inner.filter(|(_, member)| member.visibility == Visibility::Public);
                members.extend(shown.map(|(member, _)| (*block_file, member)));
            }
            let visible = |(file, at): &(usize, usize)| {
                let source = &self.files[*file];
                !is_hidden_in_docs(source, &source.symbols[*at])
            };
            for (file, at) in members.into_iter().filter(visible) {
                let inner_name = &self.files[file].symbols[at].name;
                selections.push(Selection::member(file, at, module, name, &format!("{name}::{inner_name}")));
            }
        }
        selections
    }

    /// The `impl` blocks without a trait, by the name of their type.
    fn own_impls(&self) -> BTreeMap<&'a str, Vec<(usize, usize)>> {
        let mut impls: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
        for (file, source) in self.files.iter().enumerate().take_while(|_| !self.stop.is_set()) {
            for (at, block) in source.symbols.iter().enumerate().filter(|(_, block)| block.kind == SymbolKind::Impl) {
                if !block.signature.contains(" for ") && !attributes_of(source, block).contains("cfg(test)") {
                    impls.entry(&block.name).or_default().push((file, at));
                }
            }
        }
        impls
    }
}

#[cfg(test)]
mod tests;
