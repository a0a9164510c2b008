//! Assigns the files of TypeScript and JavaScript below a workspace root to configurations, by the rules of the language server.
//!
//! A server looks for `tsconfig.json` and then `jsconfig.json` in the file's folder and then in the folders above, and takes the first one
//! that lists the file itself or references one that does. Files that none of them lists belong to no project.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::MarkerFiles;

use super::configuration::{Aliases, Configuration, ConfigurationReader, Outputs};
use super::package_entries::stem_of_declaration;

/// Configurations of TypeScript and JavaScript that are read in one workspace root.
const MAX_CONFIGURATIONS: usize = 1_000;

/// The names that a server looks for in a folder, in this order.
const NAMES: [&str; 2] = ["tsconfig.json", "jsconfig.json"];

/// The configurations of a tree, and the files that they list.
#[derive(Debug, Default)]
pub(super) struct AssignedFiles<'a> {
    /// By configuration, the files whose project it is, in the order of the input.
    pub by_configuration: BTreeMap<PathBuf, Vec<&'a Path>>,
    /// The configurations that have files and list no files of JavaScript.
    pub without_javascript: BTreeSet<PathBuf>,
    /// Of all configurations that have files.
    pub aliases: Aliases,
    /// By configuration that has files.
    pub own_aliases: BTreeMap<PathBuf, Aliases>,
    /// The patterns that mean different places in two configurations.
    pub ambiguous_aliases: BTreeSet<String>,
    /// By configuration that has files, the others that it references, directly or not.
    pub references: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// By configuration that has files, the conditions of `exports` that it adds.
    pub conditions: BTreeMap<PathBuf, Vec<String>>,
    /// By configuration that has files, where its build writes declarations.
    pub outputs: BTreeMap<PathBuf, Outputs>,
    /// By configuration that doesn't exist, one that extends or references it.
    pub missing: BTreeMap<PathBuf, PathBuf>,
    /// Files of no project, in the order of the input.
    pub unassigned: Vec<&'a Path>,
    /// Whether there is a configuration, even if it lists no file.
    pub has_configuration: bool,
    /// Configurations that were not read because there are too many.
    pub skipped: usize,
}

/// The configurations that were read, by file, and where the search from a folder leads.
struct Configurations<'a> {
    reader: ConfigurationReader<'a>,
    read: BTreeMap<PathBuf, Configuration>,
    /// By folder, its own configurations.
    own: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// By configuration, itself and those that it references, directly or not, in the order of the search.
    reached: BTreeMap<PathBuf, Vec<PathBuf>>,
    skipped: BTreeSet<PathBuf>,
}

/// Whether a folder has a configuration of its own.
pub(super) fn has_configuration(folder: &Path, disk: &dyn MarkerFiles) -> bool {
    NAMES.iter().any(|name| disk.exists(&folder.join(name)))
}

/// Assigns `files`, which lie below `top`. Reads the configurations from `disk`.
pub(super) fn assign<'a>(files: &'a [PathBuf], top: &Path, disk: &dyn MarkerFiles) -> AssignedFiles<'a> {
    let mut all = Configurations::new(top, disk);
    let mut assigned = AssignedFiles::default();
    for file in files {
        match all.of_file(file) {
            Some(path) => assigned.by_configuration.entry(path).or_default().push(file),
            None => assigned.unassigned.push(file),
        }
    }
    for path in assigned.by_configuration.keys() {
        let mut references = all.reached(path);
        references.retain(|reference| reference != path);
        assigned.references.insert(path.clone(), references);
        let Some(configuration) = all.read.get(path) else { continue };
        if !configuration.allows_javascript {
            assigned.without_javascript.insert(path.clone());
        }
        assigned.conditions.insert(path.clone(), configuration.conditions.clone());
        assigned.outputs.insert(path.clone(), configuration.outputs.clone());
        assigned.own_aliases.insert(path.clone(), configuration.aliases.clone());
        for (name, places) in &configuration.aliases {
            let known = assigned.aliases.entry(name.clone()).or_default();
            if !known.is_empty() && known != places {
                assigned.ambiguous_aliases.insert(name.clone());
            }
            let new: Vec<PathBuf> = places.iter().filter(|place| !known.contains(place)).cloned().collect();
            known.extend(new);
        }
    }
    for configuration in all.read.values() {
        let missing = configuration.missing.iter().cloned();
        assigned.missing.extend(missing.map(|path| (path, configuration.path.clone())));
    }
    assigned.has_configuration = !all.read.is_empty();
    assigned.skipped = all.skipped.len();
    assigned
}

/// By configuration at or above files, those of them that it lists, also if a nearer one lists them too.
pub(super) fn listed<'a>(
    files: impl Iterator<Item = &'a Path>,
    top: &Path,
    disk: &dyn MarkerFiles,
) -> BTreeMap<PathBuf, Vec<&'a Path>> {
    let mut all = Configurations::new(top, disk);
    let mut listed: BTreeMap<PathBuf, Vec<&'a Path>> = BTreeMap::new();
    for file in files {
        for folder in file.ancestors().skip(1).take_while(|folder| folder.starts_with(top)) {
            for path in all.listing(folder, file) {
                listed.entry(path).or_default().push(file);
            }
        }
    }
    listed
}

impl AssignedFiles<'_> {
    /// The aliases that hold in files of a configuration; without one, those in files of the inferred project.
    pub(super) fn aliases_in(&self, configuration: Option<&Path>) -> &Aliases {
        configuration.and_then(|path| self.own_aliases.get(path)).unwrap_or(&self.aliases)
    }

    /// The folders to which builds write declarations, each with the folder of their sources. Without `rootDir`, TypeScript takes the folder of the
    /// configuration; before version 6 (`is_older`) it took the folder that all sources are in.
    pub(super) fn written_folders(&self, is_older: bool) -> Vec<(PathBuf, PathBuf)> {
        let folders = self.outputs.iter().filter_map(|(configuration, outputs)| {
            let default = || match is_older && !outputs.is_composite {
                true => common_folder(self.by_configuration.get(configuration)?),
                false => configuration.parent().map(Path::to_path_buf),
            };
            Some((outputs.folder.clone(), outputs.root.clone().or_else(default)?))
        });
        folders.collect()
    }
}

/// The innermost folder that holds all of these files; declarations don't count.
fn common_folder(files: &[&Path]) -> Option<PathBuf> {
    let sources: Vec<&Path> = files.iter().copied().filter(|file| stem_of_declaration(file).is_none()).collect();
    let mut folders = sources.first()?.ancestors().skip(1);
    folders.find(|folder| sources.iter().all(|file| file.starts_with(folder))).map(Path::to_path_buf)
}

impl<'a> Configurations<'a> {
    fn new(top: &'a Path, disk: &'a dyn MarkerFiles) -> Self {
        Self {
            reader: ConfigurationReader { disk, top },
            read: BTreeMap::new(),
            own: BTreeMap::new(),
            reached: BTreeMap::new(),
            skipped: BTreeSet::new(),
        }
    }

    /// The configuration whose project a file belongs to.
    fn of_file(&mut self, file: &Path) -> Option<PathBuf> {
        let top = self.reader.top;
        let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
        folders.into_iter().find_map(|folder| self.listing(folder, file).next())
    }

    /// The configurations that the search in a folder leads to and that list a file, in the order of the search.
    fn listing<'s>(&'s mut self, folder: &Path, file: &'s Path) -> impl Iterator<Item = PathBuf> + use<'s, 'a> {
        let own = self.own(folder);
        let reached: Vec<PathBuf> = own.iter().flat_map(|own| self.reached(own)).collect();
        reached.into_iter().filter(|path| self.configuration(path).is_some_and(|config| config.lists(file)))
    }

    fn own(&mut self, folder: &Path) -> Vec<PathBuf> {
        let exists = |path: &PathBuf| self.reader.disk.exists(path);
        let find = || NAMES.iter().map(|name| folder.join(name)).filter(exists).collect();
        self.own.entry(folder.into()).or_insert_with(find).clone()
    }

    fn reached(&mut self, first: &Path) -> Vec<PathBuf> {
        if let Some(known) = self.reached.get(first) {
            return known.clone();
        }
        let mut order = Vec::new();
        let mut waiting = VecDeque::from([first.to_path_buf()]);
        while let Some(path) = waiting.pop_front() {
            if order.contains(&path) {
                continue;
            }
            if let Some(configuration) = self.configuration(&path) {
                waiting.extend(configuration.references.iter().cloned());
            }
            order.push(path);
        }
        self.reached.insert(first.into(), order.clone());
        order
    }

    fn configuration(&mut self, path: &Path) -> Option<&Configuration> {
        if !self.read.contains_key(path) {
            if self.read.len() >= MAX_CONFIGURATIONS {
                self.skipped.insert(path.into());
                return None;
            }
            let configuration = self.reader.read(path);
            self.read.insert(path.into(), configuration);
        }
        self.read.get(path)
    }
}
