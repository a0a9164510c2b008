//! What shares an environment of Python: the members of a workspace of uv, rye or hatch, path dependencies of poetry, pdm
//! and uv, and all projects below a lock file or a virtual environment.
//!
//! The projects of one environment import each other, so one server must know them all. The outermost list that names the
//! project counts; without one, the nearest lock file or environment at or above the project. A folder whose workspace
//! omits the project doesn't count: the project has an environment of its own. A `requirements.txt` inside a package
//! (`docs/requirements.txt`) makes no project.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::context::{ManifestContext, Membership};
use super::folder_globs::FolderGlobs;
use crate::registry::marker_files::MarkerFiles;

pub(super) const MANIFEST: &str = "pyproject.toml";
/// The files that lock what an environment holds.
const LOCKS: [&str; 6] = ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "pixi.lock"];
/// Files that make a folder a project of its own, whatever is above it, and that pip can install.
pub const PACKAGE_FILES: [&str; 3] = [MANIFEST, "setup.py", "setup.cfg"];
/// The tables of a `pyproject.toml` that describe a package. Others configure tools.
const PACKAGE_TABLES: [&str; 3] = ["[project]", "[tool.poetry]", "[build-system]"];
/// The file that marks a virtual environment.
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";
/// Usual names of a project's environment, the first choice first. Others are taken by name.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];
/// What pdm writes for the project's folder in the URL of a dependency.
const PDM_ROOT: &str = "file:///${PROJECT_ROOT}/";

/// The projects that a `pyproject.toml` names as its own.
struct MemberList {
    globs: FolderGlobs,
    /// Whether no others belong to it.
    is_complete: bool,
}

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
    let (mut nearest, mut outermost) = (None, None);
    for folder in context.from(own) {
        let manifest = folder.join(MANIFEST);
        let listed = context.parsed(&manifest, || members(&context.text(&manifest)?));
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
    let setup = folder.join("setup.py");
    if context.files.exists(&setup) {
        return Some(setup);
    }
    let manifest = folder.join(MANIFEST);
    let heads = |line: &str| PACKAGE_TABLES.iter().any(|table| line.trim_start().starts_with(table));
    context.text(&manifest)?.lines().any(heads).then_some(manifest)
}

/// The lock file or the environment in `folder`.
fn mark(folder: &Path, files: &dyn MarkerFiles) -> Option<PathBuf> {
    let lock = LOCKS.into_iter().map(|name| folder.join(name)).find(|lock| files.exists(lock));
    lock.or_else(|| environment(folder, files))
}

/// The members that the text of a manifest names; `None` if it names none.
fn members(text: &str) -> Option<MemberList> {
    let Ok(manifest) = text.parse::<Table>() else {
        // A manifest that is being edited must not split its workspace.
        let has_workspace = text.lines().any(|line| line.trim_start().starts_with("[tool.uv.workspace]"));
        return has_workspace.then(|| MemberList { globs: FolderGlobs::new(["**"]), is_complete: false });
    };
    let manifest = Value::Table(manifest);
    for tool in ["uv", "rye"] {
        if let Some(workspace) = at(&manifest, &["tool", tool, "workspace"]) {
            let excluded = strings(workspace.get("exclude")).map(|glob| format!("!{glob}"));
            let globs: Vec<String> = strings(workspace.get("members")).map(str::to_owned).chain(excluded).collect();
            return Some(MemberList { globs: FolderGlobs::new(globs.iter().map(String::as_str)), is_complete: true });
        }
    }
    let members: Vec<String> = hatch_members(&manifest).chain(path_dependencies(&manifest)).collect();
    let globs = || FolderGlobs::new(members.iter().map(String::as_str));
    (!members.is_empty()).then(|| MemberList { globs: globs(), is_complete: false })
}

/// `tool.hatch.envs.*.workspace.members`: globs, or tables with a `path`.
fn hatch_members(manifest: &Value) -> impl Iterator<Item = String> {
    let environments = at(manifest, &["tool", "hatch", "envs"]).and_then(Value::as_table).into_iter().flatten();
    let members = environments.filter_map(|(_, environment)| at(environment, &["workspace", "members"])?.as_array());
    let members = members.flatten().filter_map(|member| member.as_str().or_else(|| member.get("path")?.as_str()));
    members.map(str::to_owned)
}

/// The folders of path dependencies, of poetry, uv and pdm.
fn path_dependencies(manifest: &Value) -> impl Iterator<Item = String> {
    let groups = at(manifest, &["tool", "poetry", "group"]).and_then(Value::as_table).into_iter().flatten();
    let tables = groups.filter_map(|(_, group)| group.get("dependencies"));
    let tables = tables.chain(at(manifest, &["tool", "poetry", "dependencies"]));
    let tables = tables.chain(at(manifest, &["tool", "uv", "sources"])).filter_map(Value::as_table);
    let by_path = tables.flatten().filter_map(|(_, dependency)| dependency.get("path")?.as_str()).map(str::to_owned);
    let pdm = [&["dependency-groups"][..], &["tool", "pdm", "dev-dependencies"]];
    let lists = pdm.into_iter().filter_map(|keys| at(manifest, keys)?.as_table()).flatten();
    let lines = lists.filter_map(|(_, list)| list.as_array()).flatten().filter_map(Value::as_str);
    let by_url =
        lines.filter_map(|line| Some(line.split_once(PDM_ROOT)?.1.split(['#', '[']).next()?.trim().to_owned()));
    by_path.chain(by_url)
}

fn at<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
