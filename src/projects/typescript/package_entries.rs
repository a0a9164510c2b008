//! What an import of a package of the tree leads to: its sources, or what its build writes.
//!
//! It follows `package.json` as TypeScript does, and looks at the disk only for the files that an entry names. In doubt an entry is taken to be
//! usable.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeyard_ecosystems::npm::PackageJson;
use codeyard_files::gate::normal;
use codeyard_lsp::limits::MAX_MARKER_BYTES;
use codeyard_lsp::registry::MarkerFiles;

use super::module_names::{EXTENSIONS, ModuleNames};
use super::packages::Packages;

/// Extensions of declarations, longer than what a path calls its extension.
const DECLARATIONS: [&str; 3] = [".d.ts", ".d.mts", ".d.cts"];
/// By extension of a target, the endings of the files that TypeScript tries in its place, in this order.
const TRIED: [(&str, &[&str]); 8] = [
    ("js", &["ts", "tsx", "d.ts", "js"]),
    ("jsx", &["tsx", "ts", "d.ts", "jsx"]),
    ("mjs", &["mts", "d.mts", "mjs"]),
    ("cjs", &["cts", "d.cts", "cjs"]),
    ("ts", &["ts"]),
    ("tsx", &["tsx"]),
    ("mts", &["mts"]),
    ("cts", &["cts"]),
];
/// Endings of the files that a target without an extension means.
const ADDED: [&str; 9] = [".ts", ".tsx", ".d.ts", ".js", ".jsx", "/index.ts", "/index.tsx", "/index.d.ts", "/index.js"];
/// The kinds of import. A file's kind isn't known.
const IMPORT_KINDS: [&str; 2] = ["import", "require"];
/// Folders of a build in each other, `dist/esm/`, that stand for the folder of the sources.
const MAX_BUILD_FOLDERS: usize = 3;

/// What an import leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// A source of the package, declarations that lead to it, or nothing that is known.
    Usable,
    /// A file that a build writes and that isn't there.
    Unbuilt,
    /// Declarations that a build wrote without a map to their sources.
    Unmapped,
    /// Declarations with a map, but where no configuration says that a build writes them: the server doesn't follow their maps.
    Misplaced,
}

/// Looks up entries.
pub(super) struct PackageEntries<'a> {
    packages: &'a Packages,
    names: &'a ModuleNames<'a>,
    top: &'a Path,
    disk: &'a dyn MarkerFiles,
    /// The folders to which builds write declarations, each with the folder of their sources.
    written: Vec<(PathBuf, PathBuf)>,
    /// By specifier and conditions, what a configuration finds; without conditions, what the inferred project finds.
    known: BTreeMap<(String, Option<Vec<String>>), Entry>,
}

impl<'a> PackageEntries<'a> {
    /// Entries of these packages.
    pub(super) fn new(
        packages: &'a Packages,
        names: &'a ModuleNames<'a>,
        top: &'a Path,
        disk: &'a dyn MarkerFiles,
        written: Vec<(PathBuf, PathBuf)>,
    ) -> Self {
        Self { packages, names, top, disk, written, known: BTreeMap::new() }
    }

    /// What a configuration with these conditions finds for `specifier`, the path `rest` below the name of a package that is linked.
    pub(super) fn linked(&mut self, specifier: &str, package: &Path, rest: &str, conditions: &[String]) -> Entry {
        let key = (specifier.to_owned(), Some(conditions.to_vec()));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let manifest = self.packages.manifest(package);
        let entry = manifest.map_or(Entry::Usable, |manifest| self.by_manifest(package, manifest, rest, conditions));
        self.known.insert(key, entry);
        entry
    }

    /// What the inferred project finds, whose options give the package's name its sources, its folder, what it exports, and its `src`.
    pub(super) fn inferred(&mut self, specifier: &str, package: &Path, rest: &str) -> Entry {
        let key = (specifier.to_owned(), None);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let targets = self.packages.manifest(package).map_or_else(Vec::new, |manifest| match rest {
            "" => manifest.whole_package(),
            _ => manifest.export_targets(rest),
        });
        let fallbacks = [package.join(rest), package.join("src").join(rest)];
        let sources = targets.iter().flat_map(|target| sources_of_built(self.names, package, target, rest.is_empty()));
        let named = sources.chain(targets.iter().cloned()).filter_map(|target| in_folder(package, &target));
        let places = named.chain(fallbacks);
        let found = places.into_iter().find_map(|place| self.found(&place));
        let entry = match found {
            Some(file) => self.of_file(package, &file),
            None => self.linked(specifier, package, rest, &[]),
        };
        self.known.insert(key, entry);
        entry
    }

    fn by_manifest(&self, package: &Path, manifest: &PackageJson, rest: &str, conditions: &[String]) -> Entry {
        if manifest.has_exports() {
            let found = IMPORT_KINDS.iter().filter_map(|kind| manifest.chosen_export(rest, kind, conditions));
            let all: Vec<Entry> = found.map(|target| self.of_target(package, &target)).collect();
            let is_usable = all.contains(&Entry::Usable);
            return all.first().copied().filter(|_| !is_usable).unwrap_or(Entry::Usable);
        }
        if manifest.has_versioned_types() {
            return Entry::Usable;
        }
        let index = package.join(rest);
        match manifest.typed_main().filter(|_| rest.is_empty()) {
            Some(target) if self.found(&index).is_none() => self.of_target(package, target),
            Some(target) => in_folder(package, target)
                .and_then(|place| self.found(&place))
                .map_or(Entry::Usable, |file| self.of_file(package, &file)),
            None => self.found(&index).map_or(Entry::Usable, |file| self.of_file(package, &file)),
        }
    }

    fn of_target(&self, package: &Path, target: &str) -> Entry {
        let Some(place) = in_folder(package, target) else { return Entry::Usable };
        match self.found(&place) {
            Some(file) => self.of_file(package, &file),
            None if is_module(&place) && self.has_sources(package) => Entry::Unbuilt,
            None => Entry::Usable,
        }
    }

    fn of_file(&self, package: &Path, file: &Path) -> Entry {
        match stem_of_declaration(file) {
            Some(stem) if self.is_built(package, file, stem) => match self.has_map(file) {
                false => Entry::Unmapped,
                true if self.is_expected(file) => Entry::Usable,
                true => Entry::Misplaced,
            },
            _ => Entry::Usable,
        }
    }

    /// Whether a configuration says that a source of the tree is written to these declarations.
    fn is_expected(&self, file: &Path) -> bool {
        self.written.iter().any(|(folder, root)| {
            let below = file.strip_prefix(folder).ok().and_then(Path::to_str);
            let endings = DECLARATIONS.iter().zip([&["ts", "tsx"][..], &["mts"], &["cts"]]);
            let mut sources = endings.flat_map(|(ending, sources)| {
                let stem = below.and_then(|below| below.strip_suffix(ending));
                sources.iter().map(move |source| stem.map(|stem| root.join(format!("{stem}.{source}"))))
            });
            sources.any(|source| source.is_some_and(|source| self.names.holds(&source)))
        })
    }

    /// The file that TypeScript takes for a target.
    fn found(&self, place: &Path) -> Option<PathBuf> {
        meant(place).into_iter().find(|file| self.names.holds(file) || self.disk.exists(file))
    }

    /// Whether a build wrote these declarations. Those that people write and keep in the tree have no source of TypeScript.
    fn is_built(&self, package: &Path, file: &Path, stem: &str) -> bool {
        if !self.names.holds(file) {
            return self.has_sources(package);
        }
        self.names.below(package).any(|source| {
            let is_typescript =
                source.extension().is_some_and(|extension| extension.as_encoded_bytes().contains(&b't'));
            let has_name = source.file_stem().is_some_and(|name| name == stem);
            is_typescript && has_name
        })
    }

    /// Whether the tree has modules of this package, other than declarations.
    fn has_sources(&self, package: &Path) -> bool {
        self.names.below(package).any(|source| stem_of_declaration(source).is_none())
    }

    /// Whether declarations have a map to their sources.
    fn has_map(&self, file: &Path) -> bool {
        if self.disk.exists(&PathBuf::from(format!("{}.map", file.display()))) {
            return true;
        }
        let text = self.disk.read_text(file, self.top);
        if text.len() as u64 >= MAX_MARKER_BYTES {
            // The end, where the map is named, wasn't read.
            return true;
        }
        let Some((_, url)) = text.rsplit_once("sourceMappingURL=") else { return false };
        let url = url.trim();
        let named = file.parent().map(|folder| normal(&folder.join(url)));
        url.starts_with("data:") || named.is_some_and(|map| map.starts_with(self.top) && self.disk.exists(&map))
    }
}

/// A path of a manifest, unless it leads out of the package.
pub(super) fn in_folder(package: &Path, target: &str) -> Option<PathBuf> {
    Some(normal(&package.join(target))).filter(|place| place.starts_with(package))
}

/// Where the source of a target may be that a build writes: none if the target is a file of the tree. Of the `whole` package it may be in a folder
/// less deep.
pub(super) fn sources_of_built(names: &ModuleNames<'_>, package: &Path, target: &str, whole: bool) -> Vec<String> {
    if meant(&normal(&package.join(target))).iter().any(|file| names.holds(file)) {
        return vec![];
    }
    let mut sources = sources_of(target);
    if !whole {
        sources.truncate(1);
    }
    sources
}

/// Where the source of a target may be that a build writes: `src/esm/index` and `src/index` for `dist/esm/index.d.ts`. Without an extension.
fn sources_of(target: &str) -> Vec<String> {
    let target = target.strip_prefix("./").unwrap_or(target);
    let of_declaration = DECLARATIONS.iter().find_map(|ending| target.strip_suffix(ending));
    let mut extensions = TRIED.iter().map(|(extension, _)| extension);
    let stem =
        of_declaration.or_else(|| extensions.find_map(|extension| target.strip_suffix(extension)?.strip_suffix('.')));
    let parts: Vec<&str> = stem.unwrap_or(target).split('/').collect();
    (1..parts.len().min(MAX_BUILD_FOLDERS + 1)).map(|built| format!("src/{}", parts[built..].join("/"))).collect()
}

/// `index` of `index.d.ts`; `None` for other files.
pub(super) fn stem_of_declaration(file: &Path) -> Option<&str> {
    let name = file.file_name()?.to_str()?;
    DECLARATIONS.iter().find_map(|ending| name.strip_suffix(ending))
}

/// Whether a target names a module, with an extension or without one.
fn is_module(place: &Path) -> bool {
    let extension = place.extension().and_then(|extension| extension.to_str());
    extension.is_none_or(|extension| EXTENSIONS.contains(&extension))
}

/// The files that a target may mean, in the order in which TypeScript tries them.
fn meant(place: &Path) -> Vec<PathBuf> {
    if stem_of_declaration(place).is_some() {
        return vec![place.into()];
    }
    let extension = place.extension().and_then(|extension| extension.to_str());
    match TRIED.iter().find(|(known, _)| Some(*known) == extension) {
        Some((_, tried)) => tried.iter().map(|ending| place.with_extension(ending)).collect(),
        None => ADDED.iter().map(|ending| PathBuf::from(format!("{}{ending}", place.display()))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_what_a_build_writes() {
        assert_eq!(sources_of("./dist/esm/index.d.ts"), ["src/esm/index", "src/index"]);
        assert_eq!(sources_of("lib/*.js"), ["src/*"]);
        assert_eq!(sources_of("build/main"), ["src/main"]);
        assert_eq!(sources_of("dist/events"), ["src/events"]);
        assert_eq!(sources_of("src/index.ts"), ["src/index"]);
        assert_eq!((sources_of("index.js"), sources_of("")), (vec![], vec![]));
        assert_eq!(sources_of("a/b/c/d/e/f.mjs").len(), MAX_BUILD_FOLDERS);
    }
}
