//! Which files a specifier may name: relative paths, `paths` and `baseUrl` of configurations, `imports` of the nearest `package.json`, and
//! packages of the tree by their names.
//!
//! It looks at names, not at the disk, and lists every file that some condition or configuration leads to. Whoever needs to know which one
//! it is asks the language server.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use codeyard_ecosystems::npm::{matched, split_package};
use codeyard_files::gate::normal;
use codeyard_lsp::registry::MarkerFiles;

use super::configuration::Aliases;
use super::package_entries::sources_of_built;
use super::packages::Packages;

/// Extensions of modules, in the order in which they are tried.
pub(super) const EXTENSIONS: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
/// An extension in a specifier, and the extensions of the files that it also means.
const WRITTEN_AS: [(&str, &[&str]); 3] = [("js", &["ts", "tsx", "jsx"]), ("mjs", &["mts"]), ("cjs", &["cts"])];

/// What specifiers are looked up in.
pub(super) struct ModuleNames<'a> {
    files: BTreeSet<&'a Path>,
    aliases: &'a Aliases,
    packages: &'a Packages,
    by_name: BTreeMap<&'a str, &'a Path>,
}

impl<'a> ModuleNames<'a> {
    /// The names of these files.
    pub(super) fn new(files: impl Iterator<Item = &'a Path>, aliases: &'a Aliases, packages: &'a Packages) -> Self {
        Self { files: files.collect(), aliases, packages, by_name: packages.by_name() }
    }

    /// The files that a specifier in the file `from` may name.
    pub(super) fn targets(&self, from: &Path, specifier: &str) -> BTreeSet<&'a Path> {
        let Some(folder) = from.parent() else { return BTreeSet::new() };
        let places = if specifier.starts_with('.') {
            vec![folder.join(specifier)]
        } else if specifier.starts_with('#') {
            self.own_import(folder, specifier)
        } else {
            let mut places = aliased(self.aliases, specifier);
            places.extend(self.in_package(specifier));
            places
        };
        places.iter().filter_map(|place| self.module(&normal(place))).collect()
    }

    /// The name of the package of the tree that a specifier names, its folder, and the path below the name.
    pub(super) fn package<'s>(&self, specifier: &'s str) -> Option<(&'s str, &'a Path, &'s str)> {
        let (name, rest) = split_package(specifier)?;
        Some((name, self.by_name.get(name)?, rest))
    }

    /// Whether aliases give a name a place: by a pattern for such names, or by one for all names that leads to a module.
    pub(super) fn is_aliased(&self, aliases: &Aliases, specifier: &str) -> bool {
        has_pattern(aliases, specifier) || aliased(aliases, specifier).iter().any(|place| self.module(place).is_some())
    }

    pub(super) fn holds(&self, file: &Path) -> bool {
        self.files.contains(file)
    }

    pub(super) fn below(&self, folder: &Path) -> impl Iterator<Item = &'a Path> {
        let from = self.files.range::<Path, _>((Bound::Included(folder), Bound::Unbounded));
        from.copied().take_while(move |file| file.starts_with(folder))
    }

    /// Whether a specifier names a package of the tree that the configuration of a file can't find: neither a pattern of its `aliases` nor a
    /// `node_modules` leads there.
    pub(super) fn is_unlinked(&self, from: &Path, aliases: &Aliases, specifier: &str, disk: &dyn MarkerFiles) -> bool {
        let Some((name, ..)) = self.package(specifier).filter(|_| !has_pattern(aliases, specifier)) else {
            return false;
        };
        from.parent().is_some_and(|folder| !self.packages.is_installed(folder, name, disk))
    }

    /// The file that a path without its extension means, or a folder.
    fn module(&self, place: &Path) -> Option<&'a Path> {
        let known = |path: PathBuf| self.files.get(path.as_path()).copied();
        let written = place.extension().and_then(|extension| extension.to_str());
        let meant = WRITTEN_AS.iter().find(|(extension, _)| Some(*extension) == written).map(|(_, meant)| *meant);
        let with = |extension: &str| PathBuf::from(format!("{}.{extension}", place.display()));
        known(place.to_path_buf())
            .or_else(|| meant?.iter().find_map(|extension| known(place.with_extension(extension))))
            .or_else(|| EXTENSIONS.iter().find_map(|extension| known(with(extension))))
            .or_else(|| EXTENSIONS.iter().find_map(|extension| known(place.join(format!("index.{extension}")))))
    }

    /// `#name`, by the nearest `package.json`.
    fn own_import(&self, folder: &Path, specifier: &str) -> Vec<PathBuf> {
        let Some((package, manifest)) = self.packages.nearest(folder) else { return vec![] };
        manifest.import_targets(specifier).into_iter().map(|target| package.join(target)).collect()
    }

    /// `name` and `@scope/name/path`, where the package is in the tree.
    fn in_package(&self, specifier: &str) -> Vec<PathBuf> {
        let Some((_, package, rest)) = self.package(specifier) else { return vec![] };
        let mut places = Vec::new();
        if let Some(manifest) = self.packages.manifest(package) {
            // What it names may not be built.
            let whole = if rest.is_empty() { manifest.whole_package() } else { manifest.export_targets(rest) };
            let sources = whole.iter().flat_map(|target| sources_of_built(self, package, target, rest.is_empty()));
            places.extend(sources.map(|source| package.join(source)));
            places.extend(manifest.export_targets(rest).into_iter().map(|target| package.join(target)));
            if rest.is_empty() {
                places.extend(manifest.modules().into_iter().map(|target| package.join(target)));
            }
        }
        places.extend([package.join(rest), package.join("src").join(rest)]);
        places
    }
}

fn has_pattern(aliases: &Aliases, specifier: &str) -> bool {
    aliases.keys().any(|pattern| pattern != "*" && matched(pattern, specifier).is_some())
}

/// Where the name patterns look for a name.
fn aliased(aliases: &Aliases, name: &str) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for (pattern, targets) in aliases {
        let Some(middle) = matched(pattern, name) else { continue };
        places.extend(targets.iter().map(|target| PathBuf::from(target.to_string_lossy().replacen('*', middle, 1))));
    }
    places
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_lead_to_files() {
        let files = [
            "/r/src/a.ts", "/r/src/j.js", "/r/src/deep/index.js", "/r/lib/x.mts", "/r/pk/w/index.js",
            "/r/pk/w/dist/sub.cjs", "/r/pk/v/main.js",
        ];
        let aliases = BTreeMap::from([
            ("~/*".to_owned(), vec![PathBuf::from("/r/src/*")]),
            ("exact".to_owned(), vec![PathBuf::from("/r/src/j.js")]),
        ]);
        let packages = Packages::of(
            Path::new("/r"),
            [
                ("/r", json!({"imports": {"#j": "./src/j.js", "#lib/*": {"node": "./lib/*.mjs", "default": [null]}}})),
                (
                    "/r/pk/w",
                    json!({"name": "@x/w", "exports": {".": "./index.js", "./s": {"import": "./dist/sub.cjs"}}}),
                ),
                ("/r/pk/v", json!({"name": "v", "main": "main"})),
            ],
        );
        let names = ModuleNames::new(files.iter().map(Path::new), &aliases, &packages);
        let lead = |from: &str, specifier: &str| -> Vec<&str> {
            names.targets(Path::new(from), specifier).into_iter().filter_map(Path::to_str).collect()
        };
        for (specifier, expected) in [
            ("./j", "/r/src/j.js"),
            ("./a.js", "/r/src/a.ts"),
            ("./deep", "/r/src/deep/index.js"),
            ("../src/deep/", "/r/src/deep/index.js"),
            ("~/j", "/r/src/j.js"),
            ("exact", "/r/src/j.js"),
            ("#j", "/r/src/j.js"),
            ("#lib/x", "/r/lib/x.mts"),
            ("@x/w", "/r/pk/w/index.js"),
            ("@x/w/s", "/r/pk/w/dist/sub.cjs"),
            ("@x/w/dist/sub", "/r/pk/w/dist/sub.cjs"),
            ("v", "/r/pk/v/main.js"),
        ] {
            assert_eq!(lead("/r/src/a.ts", specifier), [expected], "{specifier}");
        }
        for specifier in ["exacts", "@x", "@x/none", "v/none", "#none", "fs", "", "/", "../../../../j", "~/"] {
            assert!(lead("/r/src/a.ts", specifier).is_empty(), "{specifier}");
        }
        // Another package has no such imports.
        assert!(lead("/r/pk/w/index.js", "#j").is_empty());
    }
}
