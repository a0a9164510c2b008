//! Imports of packages of the tree by files of other packages, as far as the servers can't follow them to the sources.
//!
//! A configuration finds such a package by a link in `node_modules`, and there what its `package.json` names: a source, or what a build
//! writes. References between configurations lead from the build to the sources. The inferred project knows the packages without links, but no
//! references. Imports of every file are found by their text; in doubt an import isn't counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::MarkerFiles;
use codeyard_model::coverage::Hidden;

use super::javascript_imports::read_specifiers;
use super::module_names::ModuleNames;
use super::package_entries::{Entry, PackageEntries};
use super::packages::{Link, Packages};
use super::projects::AssignedFiles;
use crate::info::UnresolvedNames;
use crate::limits::MAX_EXAMPLES;
use crate::memory::ProjectMemory;

/// What the imports of a tree are looked up in.
#[derive(Clone, Copy)]
pub(super) struct ImportedPackages<'a> {
    /// The files and their configurations.
    pub assigned: &'a AssignedFiles<'a>,
    pub packages: &'a Packages,
    pub names: &'a ModuleNames<'a>,
    pub top: &'a Path,
    /// The view of the file system.
    pub disk: &'a dyn MarkerFiles,
    /// Whether the server has all files in the inferred project, so that their configurations don't count.
    pub is_one_project: bool,
    /// Whether the server is of a version before 6.
    pub is_older: bool,
}

/// The specifiers that can't be followed.
#[derive(Debug, Default)]
struct Unfollowed<'a> {
    /// By the folder of a package that no `node_modules` links.
    unlinked: BTreeMap<&'a Path, BTreeSet<String>>,
    /// By the folder of a package that isn't built.
    unbuilt: BTreeMap<&'a Path, BTreeSet<String>>,
    /// By the folder of a package whose declarations have no maps.
    unmapped: BTreeMap<&'a Path, BTreeSet<String>>,
    /// By the folder of a package whose declarations are where no configuration writes them.
    misplaced: BTreeMap<&'a Path, BTreeSet<String>>,
}

impl<'a> ImportedPackages<'a> {
    /// The imports that can't be followed, by cause. Paths are shown relative to `root`.
    pub(super) fn unresolved(self, root: &Path, memory: &ProjectMemory) -> Vec<UnresolvedNames> {
        let Unfollowed { unlinked, unbuilt, unmapped, misplaced } = self.unfollowed(memory);
        let mut causes = Vec::new();
        if !unlinked.is_empty() {
            let folders: Vec<&Path> = unlinked.keys().copied().collect();
            causes.push(UnresolvedNames {
                what: "`node_modules` doesn't link packages of the workspace".into(),
                remedy: self.packages.link_command(&folders, self.disk),
                // The inferred project finds them, and has the files that import them.
                hides: Hidden::Nothing,
                ..names(unlinked.values().flatten())
            });
        }
        for (by_package, (one, several), how, has_remedy) in [
            (unbuilt, ("isn't", "aren't"), "built", true),
            (unmapped, ("is", "are"), "built without `declarationMap`", false),
            (misplaced, ("is", "are"), "built to where `outDir` and `rootDir` of no tsconfig.json lead to", false),
        ] {
            if by_package.is_empty() {
                continue;
            }
            let folders: Vec<&Path> = by_package.keys().copied().collect();
            let (subject, is_one) = self.subject(&folders, root);
            causes.push(UnresolvedNames {
                what: format!("{subject} {} {how}", if is_one { one } else { several }),
                remedy: if has_remedy { self.packages.build_command(&folders, self.disk) } else { None },
                hides: Hidden::Uses,
                ..names(by_package.values().flatten())
            });
        }
        causes
    }

    fn unfollowed(self, memory: &ProjectMemory) -> Unfollowed<'a> {
        let mut found = Unfollowed::default();
        if !self.packages.import_each_other() {
            return found;
        }
        let mut entries = PackageEntries::new(
            self.packages,
            self.names,
            self.top,
            self.disk,
            self.assigned.written_folders(self.is_older),
        );
        let configured = self.assigned.by_configuration.iter();
        let listed = configured.flat_map(|(path, files)| {
            let configuration = (!self.is_one_project).then_some(path.as_path());
            files.iter().map(move |file| (*file, configuration))
        });
        let unlisted = self.assigned.unassigned.iter().map(|file| (*file, None));
        memory.with_imports(|known| {
            for (file, configuration) in listed.chain(unlisted) {
                let specifiers = known.entry(file.to_path_buf()).or_insert_with(|| read_specifiers(file, self.top));
                for specifier in specifiers.iter() {
                    self.add(file, configuration, specifier, &mut entries, &mut found);
                }
            }
        });
        found
    }

    /// Adds one import of a file, unless the server can follow it. Without a configuration the inferred project has the file.
    fn add(
        self,
        file: &'a Path,
        configuration: Option<&Path>,
        specifier: &str,
        entries: &mut PackageEntries<'a>,
        found: &mut Unfollowed<'a>,
    ) {
        let (Some((name, package, rest)), Some(folder)) = (self.names.package(specifier), file.parent()) else {
            return;
        };
        let is_own = || self.packages.nearest(folder).is_some_and(|(own, _)| own == package);
        if is_own() || self.names.is_aliased(self.assigned.aliases_in(configuration), specifier) {
            return;
        }
        let link = self.packages.link(folder, name, package, self.disk);
        let is_expected = || link == Link::Missing && self.packages.expects(folder, name, package);
        if link != Link::Package && !is_expected() {
            return;
        }
        let Some(configuration) = configuration else {
            found.add(package, specifier, entries.inferred(specifier, package, rest));
            return;
        };
        let conditions = self.assigned.conditions.get(configuration).map_or(&[][..], Vec::as_slice);
        if link == Link::Missing {
            let is_found = !self.names.targets(file, specifier).is_empty();
            // The inferred project has the file only if it finds the module.
            let entry = match is_found {
                true => entries.inferred(specifier, package, rest),
                false => entries.linked(specifier, package, rest, conditions),
            };
            if is_found || entry != Entry::Usable {
                found.unlinked.entry(package).or_default().insert(specifier.to_owned());
                found.add(package, specifier, entry);
            }
        } else if !self.references(configuration, package) {
            found.add(package, specifier, entries.linked(specifier, package, rest, conditions));
        }
    }

    /// Whether a configuration references one of a package, so that the server takes the sources in place of the build.
    fn references(self, configuration: &Path, package: &Path) -> bool {
        let references = self.assigned.references.get(configuration);
        references.into_iter().flatten().any(|reference| reference.starts_with(package))
    }

    /// How a sentence names packages, and whether it is only one.
    fn subject(self, folders: &[&Path], root: &Path) -> (String, bool) {
        let shown = |folder: &Path| {
            let below = folder.strip_prefix(root).or_else(|_| folder.strip_prefix(self.top)).unwrap_or(folder);
            let name = || self.packages.manifest(folder)?.name().map(PathBuf::from);
            let shown = if below.as_os_str().is_empty() { name().unwrap_or_default() } else { below.to_path_buf() };
            format!("`{}`", shown.display())
        };
        match folders {
            [] => (String::new(), false),
            [one] => (shown(one), true),
            [one, other] => (format!("{} and {}", shown(one), shown(other)), false),
            [one, others @ ..] => (format!("{} and {} other packages", shown(one), others.len()), false),
        }
    }
}

impl<'a> Unfollowed<'a> {
    fn add(&mut self, package: &'a Path, specifier: &str, entry: Entry) {
        let by_package = match entry {
            Entry::Usable => return,
            Entry::Unbuilt => &mut self.unbuilt,
            Entry::Unmapped => &mut self.unmapped,
            Entry::Misplaced => &mut self.misplaced,
        };
        by_package.entry(package).or_default().insert(specifier.to_owned());
    }
}

/// A cause with these names and nothing else.
fn names<'n>(specifiers: impl IntoIterator<Item = &'n String>) -> UnresolvedNames {
    let specifiers: BTreeSet<&String> = specifiers.into_iter().collect();
    UnresolvedNames {
        what: String::new(),
        count: specifiers.len(),
        examples: specifiers.into_iter().take(MAX_EXAMPLES).cloned().collect(),
        remedy: None,
        hides: Hidden::Nothing,
    }
}
