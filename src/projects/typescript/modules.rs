//! What a project of TypeScript takes from other projects of its server, where each has a process of its own.
//!
//! Invariant: a module is wanted only if a file imports it by a path out of the project, or by the name of a package that isn't installed as a
//! copy.

use std::path::Path;

use codeyard_ecosystems::npm::{MANIFEST, PackageJson, split_package};
use codeyard_files::gate::normal;
use codeyard_lsp::registry::{DiskFiles, MarkerFiles};

use super::javascript_imports::read_specifiers;
use crate::prepare::{ProjectModules, ProjectRequest};
use crate::tree::folders_above;

/// The names of its packages, and the modules of others: absolute paths, and names of packages. Reads its files; blocks.
pub(crate) fn of(request: &ProjectRequest<'_>) -> ProjectModules {
    let mut found = ProjectModules::default();
    for folder in folders_above(request.files, request.root) {
        let path = folder.join(MANIFEST);
        let manifest = DiskFiles.exists(&path).then(|| PackageJson::parse(&DiskFiles.read_text(&path, request.top)));
        found.offered.extend(manifest.flatten().and_then(|manifest| manifest.name().map(str::to_owned)));
    }
    request.memory.with_imports(|known| {
        for file in request.files {
            let specifiers = known.entry(file.clone()).or_insert_with(|| read_specifiers(file, request.top));
            let folder = file.parent().unwrap_or(file);
            for specifier in specifiers.iter() {
                if specifier.starts_with('.') {
                    let place = normal(&folder.join(specifier));
                    let is_outside = !place.starts_with(request.root) && place.starts_with(request.top);
                    found.wanted.extend(is_outside.then(|| place.display().to_string()));
                } else if let Some((name, _)) = split_package(specifier)
                    && !is_copy(folder, name, request.top)
                {
                    found.wanted.insert(name.to_owned());
                }
            }
        }
    });
    found.wanted.retain(|wanted| !found.offered.contains(wanted));
    found
}

/// Whether the nearest `node_modules` with this package has a folder of its own for it, not a link to one of the tree.
fn is_copy(folder: &Path, name: &str, top: &Path) -> bool {
    let above = folder.ancestors().take_while(|folder| folder.starts_with(top));
    let mut places = above.map(|folder| folder.join("node_modules").join(name));
    places.find(|place| DiskFiles.exists(place)).is_some_and(|place| !place.is_symlink())
}
