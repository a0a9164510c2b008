//! Modules of Go and packages of Cargo: which of them a project holds, and which it takes from folders of other projects.
//!
//! gopls and rust-analyzer find their projects by themselves; nothing is passed to them. Invariant: a name is wanted only if a manifest of the
//! project names it and the project doesn't hold it.

use std::path::Path;

use codeyard_ecosystems::cargo::{self, CargoManifest};
use codeyard_ecosystems::go::{self, GoModule};
use codeyard_files::gate::normal;
use codeyard_lsp::registry::{DiskFiles, MarkerFiles, ProjectInference};

use crate::prepare::{PreparedProject, ProjectModules, ProjectRequest};
use crate::{tree, views};

pub(crate) fn prepare(request: &ProjectRequest<'_>, inference: ProjectInference) -> PreparedProject {
    PreparedProject {
        info: views::project(request),
        modules: modules(request, inference),
        ..PreparedProject::default()
    }
}

/// What the project offers and wants. Reads its manifests; blocks.
pub(crate) fn modules(request: &ProjectRequest<'_>, inference: ProjectInference) -> ProjectModules {
    let is_go = inference == ProjectInference::GoModules;
    let name = if is_go { go::MANIFEST } else { cargo::MANIFEST };
    let mut found = ProjectModules::default();
    let folders = tree::folders_above(request.files, request.root);
    for folder in folders.into_iter().filter(|folder| DiskFiles.exists(&folder.join(name))) {
        let text = DiskFiles.read_text(&folder.join(name), request.top);
        if is_go { add_go(&text, &mut found) } else { add_cargo(&text, folder, &mut found) }
    }
    found.wanted.retain(|wanted| !found.offered.contains(wanted));
    found
}

/// Whether a change of this file's text may change what [`prepare`] returns.
pub(crate) fn reads(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == go::MANIFEST || name == cargo::MANIFEST)
}

/// The module of a manifest, and the modules that it requires.
fn add_go(text: &str, found: &mut ProjectModules) {
    let GoModule { module, requires } = GoModule::parse(text);
    found.offered.extend(module.map(str::to_owned));
    found.wanted.extend(requires.into_iter().map(str::to_owned));
}

/// The folder of a package of Cargo, and the folders of its path dependencies.
fn add_cargo(text: &str, folder: &Path, found: &mut ProjectModules) {
    let Some(manifest) = CargoManifest::parse(text) else { return };
    if manifest.is_package() {
        found.offered.insert(folder.display().to_string());
    }
    let paths = manifest.path_dependencies();
    found.wanted.extend(paths.into_iter().map(|path| normal(&folder.join(path)).display().to_string()));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;

    use codeyard_model::coverage::Hidden;

    use super::*;
    use crate::{ProjectMemory, mark_uses_in_other_projects};

    /// The mark of each project at these roots of a tree, and its remedy.
    fn marks(
        files: &[(&str, &str)],
        roots: &[&str],
        kind: &str,
        inference: ProjectInference,
    ) -> Vec<(String, Option<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let mut sources = Vec::new();
        for (name, text) in files {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            sources.extend((!name.ends_with("toml") && !name.ends_with("mod")).then_some(path));
        }
        let place = |root: &&str| if root.is_empty() { top.clone() } else { top.join(root) };
        let all: Vec<PathBuf> = roots.iter().map(place).collect();
        let innermost = |file: &PathBuf| {
            file.ancestors().find(|folder| all.iter().any(|root| root == folder)).unwrap().to_path_buf()
        };
        let of = |root: &PathBuf| {
            let files: Vec<PathBuf> = sources.iter().filter(|file| innermost(file) == *root).cloned().collect();
            let memory = ProjectMemory::default();
            let request = ProjectRequest { top: &top, ..ProjectRequest::for_test(kind, root, &files, &memory) };
            (root.clone(), prepare(&request, inference))
        };
        let mut projects: BTreeMap<PathBuf, PreparedProject> = all.iter().map(of).collect();
        mark_uses_in_other_projects(&mut projects, &BTreeMap::new(), &top, inference);
        let marked = all.iter().map(|root| &projects[root].info.unresolved);
        marked
            .map(|unresolved| match &unresolved[..] {
                [] => (String::new(), None),
                [one] => (one.what.clone(), one.remedy.clone().filter(|_| one.hides >= Hidden::Uses)),
                more => panic!("{more:?}"),
            })
            .collect()
    }

    #[test]
    fn modules_of_go_that_no_workspace_joins_are_marked() {
        let app = "module example.com/app\n\ngo 1.19\n\nrequire (\n\texample.com/core v0.0.0 // core\n\texample.com/lone v1.2.3 // indirect\n)\n\
                   replace example.com/core => ../core\n";
        let files = [
            ("core/go.mod", "module example.com/core // core\n"),
            ("core/money/money.go", ""),
            ("app/go.mod", app),
            ("app/main.go", ""),
            ("lone/go.mod", "module \"example.com/lone\"\nrequire example.com/no v1.0.0\n"),
            ("lone/x.go", ""),
        ];
        let found = marks(&files, &["core", "app", "lone"], "gopls", ProjectInference::GoModules);
        let what = "app imports them, and no `go.work` joins the modules".to_owned();
        let none = (String::new(), None);
        assert_eq!(found, [(what, Some("go work init ./core ./app".to_owned())), none.clone(), none]);
    }

    #[test]
    fn packages_of_cargo_outside_the_workspace_are_marked() {
        let files = [
            ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/legacy\"]\n"),
            ("crates/core/Cargo.toml", "[package]\nname = \"core\"\n"),
            ("crates/core/src/lib.rs", ""),
            ("crates/app/Cargo.toml", "[package]\nname = \"app\"\n[dependencies]\ncore = { path = \"../core\" }\n"),
            ("crates/app/src/main.rs", ""),
            ("crates/legacy/Cargo.toml", "[package]\nname = \"l\"\n[dev-dependencies.core]\npath = \"../core\"\n"),
            ("crates/legacy/src/lib.rs", ""),
        ];
        let found = marks(&files, &["", "crates/legacy"], "rust-analyzer", ProjectInference::CargoPackages);
        let what = "crates/legacy uses them from outside of the Cargo workspace".to_owned();
        assert_eq!(found, [(what, None), (String::new(), None)]);
    }
}
