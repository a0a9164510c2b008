//! Components of Vue, Svelte and Astro, and MDX: which of them their server knows by the configurations of TypeScript.
//!
//! Such a server knows the components that a `tsconfig.json` lists, and those that a listed file imports. Components that only a bundler finds,
//! with `import.meta.glob` or by their folder, are in no project. Nothing is passed to the server. Imports are found by their text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::CachedFiles;

use super::configuration::COMPONENTS;
use super::generated::{self, WithGenerated};
use super::javascript_imports::read_specifiers;
use super::module_names::{EXTENSIONS, ModuleNames};
use super::projects::{self, AssignedFiles};
use super::{modules, packages};
use crate::info::{ProjectInfo, ProjectSource};
use crate::limits::MAX_UNKNOWN_FILES;
use crate::prepare::{PreparedProject, ProjectRequest};
use crate::tree::Tree;
use crate::views;

/// The project of a server of components. Reads its files; blocks.
pub(crate) fn prepare(request: &ProjectRequest<'_>) -> PreparedProject {
    let disk = CachedFiles::default();
    let mut info = views::project(request);
    let assigned = projects::assign(request.files, request.top, &disk);
    if info.source != ProjectSource::Missing && !assigned.unassigned.is_empty() {
        leave_out(request, &assigned, &disk, &mut info);
    }
    let none = WithGenerated::new(&disk, &BTreeMap::new(), request.top);
    let mut files = request.files.iter().map(PathBuf::as_path);
    let missing = &assigned.missing;
    info.unresolved.extend(generated::unresolved(missing, &none, &mut files, request.top, request.memory));
    let unwatched = generated::folders(missing).into();
    PreparedProject { info, unwatched, modules: modules::of(request), ..PreparedProject::default() }
}

/// Counts the components that no configuration lists and no import leads to as not known.
fn leave_out(request: &ProjectRequest<'_>, assigned: &AssignedFiles<'_>, disk: &CachedFiles, info: &mut ProjectInfo) {
    let is_script =
        |path: &Path| path.extension().and_then(|name| name.to_str()).is_some_and(|name| EXTENSIONS.contains(&name));
    let tree = Tree::read(request.root);
    let scripts = tree.paths().iter().map(|path| request.root.join(&**path)).filter(|path| is_script(path));
    let scripts: Vec<PathBuf> = scripts.collect();
    let of_scripts = projects::assign(&scripts, request.top, disk);
    let packages = packages::read(request.files, request.top, disk);
    let all = request.files.iter().chain(&scripts).map(PathBuf::as_path);
    let aliases =
        of_scripts.aliases.iter().chain(&assigned.aliases).map(|(name, places)| (name.clone(), places.clone()));
    let aliases = aliases.collect();
    let names = ModuleNames::new(all, &aliases, &packages);
    let listed = of_scripts.by_configuration.values().chain(assigned.by_configuration.values()).flatten();
    let mut waiting: Vec<&Path> = listed.copied().collect();
    let mut reached: BTreeSet<&Path> = waiting.iter().copied().collect();
    request.memory.with_imports(|known| {
        while let Some(file) = waiting.pop() {
            let specifiers = known.entry(file.to_path_buf()).or_insert_with(|| read_specifiers(file, request.top));
            for target in specifiers.iter().flat_map(|specifier| names.targets(file, specifier)) {
                if reached.insert(target) {
                    waiting.push(target);
                }
            }
        }
    });
    let unknown: Vec<&Path> = assigned.unassigned.iter().copied().filter(|file| !reached.contains(file)).collect();
    let Some(first) = unknown.first() else { return };
    let ending = first.extension().and_then(|ending| ending.to_str()).filter(|ending| COMPONENTS.contains(ending));
    info.files_known = Some(info.files_total.saturating_sub(unknown.len()));
    info.problems.insert(0, "no tsconfig.json lists the others, and no import leads to them".into());
    info.remedy = ending.map(|ending| format!("add `**/*.{ending}` to `include` of the tsconfig.json"));
    info.unknown_files = unknown.into_iter().take(MAX_UNKNOWN_FILES).map(Path::to_path_buf).collect();
}
