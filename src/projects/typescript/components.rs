//! Components of Vue, Svelte and Astro, and MDX: which of them their server knows by the configurations of TypeScript.
//!
//! Such a server knows the components that a `tsconfig.json` lists, and those that a listed file imports. Components that only a bundler finds,
//! with `import.meta.glob` or by their folder, are in no project. Each configuration is a project of its own to it, whatever `references` say.
//! Nothing is passed to the server. Imports are found by their text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::CachedFiles;

use super::configuration::COMPONENTS;
use super::generated::{self, WithGenerated};
use super::javascript_imports::read_specifiers;
use super::module_names::{EXTENSIONS, ModuleNames};
use super::projects::{self, AssignedFiles};
use super::separate_projects::{Imports, SeparateProjects};
use super::{modules, packages};
use crate::info::{ProjectInfo, ProjectSource};
use crate::limits::MAX_UNKNOWN_FILES;
use crate::prepare::{PreparedProject, ProjectRequest};
use crate::tree::Tree;
use crate::views;

/// The project of a server of components. Reads its files; blocks.
pub(crate) fn prepare(request: &ProjectRequest<'_>) -> PreparedProject {
    let disk = CachedFiles::default();
    let assigned = projects::assign(request.files, request.top, &disk);
    let mut info = match assigned.has_configuration {
        // It may be below the root.
        true => ProjectInfo { files_total: request.files.len(), ..ProjectInfo::default() },
        false => views::project(request),
    };
    if info.source != ProjectSource::Missing {
        look_at_imports(request, &assigned, &disk, &mut info);
    }
    let none = WithGenerated::new(&disk, &BTreeMap::new(), request.top);
    let mut files = request.files.iter().map(PathBuf::as_path);
    let missing = &assigned.missing;
    info.unresolved.extend(generated::unresolved(missing, &none, &mut files, request.top, request.memory));
    let unwatched = generated::folders(missing).into();
    PreparedProject { info, unwatched, modules: modules::of(request), ..PreparedProject::default() }
}

/// Counts the components that no configuration lists and no import leads to as not known, and marks modules that are used in projects which the
/// server doesn't connect with theirs.
fn look_at_imports(
    request: &ProjectRequest<'_>,
    assigned: &AssignedFiles<'_>,
    disk: &CachedFiles,
    info: &mut ProjectInfo,
) {
    let tree = Tree::read(request.root);
    let scripts = tree.paths().iter().map(|path| request.root.join(&**path)).filter(|path| is_script(path));
    let scripts: Vec<PathBuf> = scripts.collect();
    let of_scripts = projects::assign(&scripts, request.top, disk);
    let configurations: BTreeSet<&PathBuf> =
        assigned.by_configuration.keys().chain(of_scripts.by_configuration.keys()).collect();
    let is_one_project = configurations.len() < 2 && of_scripts.unassigned.is_empty();
    if assigned.unassigned.is_empty() && is_one_project {
        return;
    }
    let packages = packages::read(request.files, request.top, disk);
    let all = || request.files.iter().chain(&scripts).map(PathBuf::as_path);
    let aliases =
        of_scripts.aliases.iter().chain(&assigned.aliases).map(|(name, places)| (name.clone(), places.clone()));
    let aliases = aliases.collect();
    let names = ModuleNames::new(all(), &aliases, &packages);
    let imports: Imports<'_> = request.memory.with_imports(|known| {
        let targets = |file: &Path| {
            let specifiers = known.entry(file.to_path_buf()).or_insert_with(|| read_specifiers(file, request.top));
            specifiers.iter().flat_map(|specifier| names.targets(file, specifier)).collect()
        };
        all().zip(all().map(targets)).collect()
    });
    let listed = projects::listed(all(), request.top, disk);
    let projects = SeparateProjects::new([assigned, &of_scripts], &listed, &imports);
    let unknown: Vec<&Path> = assigned.unassigned.iter().copied().filter(|file| !projects.know(file)).collect();
    info.unresolved.extend(projects.used_elsewhere(&imports, request));
    let Some(first) = unknown.first() else { return };
    let ending = first.extension().and_then(|ending| ending.to_str()).filter(|ending| COMPONENTS.contains(ending));
    info.files_known = Some(info.files_total.saturating_sub(unknown.len()));
    info.problems.insert(0, "no tsconfig.json lists the others, and no import leads to them".into());
    info.remedy = ending.map(|ending| format!("add `**/*.{ending}` to `include` of the tsconfig.json"));
    info.unknown_files = unknown.into_iter().take(MAX_UNKNOWN_FILES).map(Path::to_path_buf).collect();
}

/// Whether the name of a file is that of a module of TypeScript or JavaScript.
pub(crate) fn is_script(path: &Path) -> bool {
    path.extension().and_then(|name| name.to_str()).is_some_and(|name| EXTENSIONS.contains(&name))
}
