//! What shares an environment of Python: the members of a workspace of uv, rye or hatch, path dependencies of poetry, pdm
//! and uv, and all projects below a lock file or a virtual environment.
//!
//! The projects of one environment import each other, so one server must know them all. The outermost list that names the
//! project counts; without one, the nearest lock file or environment at or above the project. A folder whose workspace
//! omits the project doesn't count: the project has an environment of its own. A `requirements.txt` inside a package
//! (`docs/requirements.txt`) makes no project.

use std::path::{Path, PathBuf};

use codeyard_ecosystems::python::{MANIFEST, MemberList, PACKAGE_FILES, SETUP_PROGRAM, describes_package};

use super::context::{ManifestContext, Membership};
use crate::registry::marker_files::MarkerFiles;

/// The files that lock what an environment holds.
const LOCKS: [&str; 6] = ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "pixi.lock"];
/// The file that marks a virtual environment.
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";
/// Usual names of a project's environment, the first choice first. Others are taken by name.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];

/// The folder of the virtual environment that `folder` holds: `.venv`, `venv`, `env` or any other folder with a `pyvenv.cfg`.
pub fn environment(folder: &Path, files: &dyn MarkerFiles) -> Option<PathBuf> {
    let holds_mark = |path: &PathBuf| files.exists(&path.join(ENVIRONMENT_MARK));
    if let Some(usual) = ENVIRONMENTS.into_iter().map(|name| folder.join(name)).find(holds_mark) {
        return Some(usual);
    }
    let entries = files.entries(folder);
    // Files are left out by their extension, which a version in the name of a folder isn't.
    let has_extension = |name: &&String| {
        let extension = Path::new(name.as_str()).extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extension.parse::<u16>().is_err())
    };
    let mut folders: Vec<&String> = entries.iter().filter(|name| !has_extension(name)).collect();
    folders.sort();
    folders.into_iter().map(|name| folder.join(name)).find(holds_mark)
}

/// Whether the existence of a file of this name may make its folder, or that above it, the folder of an environment.
pub(super) fn marks(name: &str) -> bool {
    name == ENVIRONMENT_MARK || LOCKS.contains(&name)
}

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let marked = context.marked.unwrap_or(context.folders[0]);
    let is_project = PACKAGE_FILES.iter().any(|name| context.files.exists(&marked.join(name)));
    let mut above = context.from(marked).filter(|_| !is_project);
    let package = above.find_map(|folder| Some((folder, package_file(context, folder)?)));
    let own = package.as_ref().map_or(marked, |(folder, _)| folder);
    let mut nearest = None;
    let mut outermost = None;
    for folder in context.from(own) {
        let manifest = folder.join(MANIFEST);
        let listed = context.parsed(&manifest, || MemberList::of(&context.text(&manifest)?));
        let (names, omits) = listed.as_ref().as_ref().map_or((false, false), |members| {
            let names = folder == own || members.globs.hold(folder, own);
            (names, !names && members.is_complete)
        });
        if names {
            outermost = Some((folder, manifest));
        } else if !omits && nearest.is_none() {
            nearest = context
                .parsed(&folder.join(ENVIRONMENT_MARK), || mark(folder, context.files))
                .as_ref()
                .clone()
                .map(|mark| (folder, mark));
        }
    }
    let found = outermost.or(nearest).or(package);
    Membership { build_workspace: found.map(|(folder, by)| (folder.to_path_buf(), by)), ..Membership::default() }
}

/// The file that makes a folder a package that can be built.
fn package_file(context: &ManifestContext<'_>, folder: &Path) -> Option<PathBuf> {
    let setup = folder.join(SETUP_PROGRAM);
    if context.files.exists(&setup) {
        return Some(setup);
    }
    let manifest = folder.join(MANIFEST);
    describes_package(&context.text(&manifest)?).then_some(manifest)
}

/// The lock file or the environment in `folder`.
fn mark(folder: &Path, files: &dyn MarkerFiles) -> Option<PathBuf> {
    let lock = LOCKS.into_iter().map(|name| folder.join(name)).find(|lock| files.exists(lock));
    lock.or_else(|| environment(folder, files))
}
