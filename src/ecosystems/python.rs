//! `pyproject.toml` and the other manifests of packages of Python.

use serde_json::Value;

use crate::folder_globs::FolderGlobs;
use crate::toml_text::{TomlText, at, items, members, str};
use crate::values::{ManifestValue, ManifestValues, license_of_classifier, value};

/// The name of the manifest that describes a package and configures tools.
pub const MANIFEST: &str = "pyproject.toml";
/// The name of the program that builds a package.
pub const SETUP_PROGRAM: &str = "setup.py";
/// The name of the configuration of that program.
pub const SETUP_CONFIGURATION: &str = "setup.cfg";
/// Files that make a folder a project of its own, whatever is above it, and that pip can install.
pub const PACKAGE_FILES: [&str; 3] = [MANIFEST, SETUP_PROGRAM, SETUP_CONFIGURATION];

/// The tables of a `pyproject.toml` that describe a package. Others configure tools.
const PACKAGE_TABLES: [&str; 3] = ["[project]", "[tool.poetry]", "[build-system]"];
/// What pdm writes for the project's folder in the URL of a dependency.
const PDM_ROOT: &str = "file:///${PROJECT_ROOT}/";

/// The projects that a `pyproject.toml` names as its own: members of a workspace of uv, rye or hatch, path dependencies of poetry, pdm and uv.
pub struct MemberList {
    pub globs: FolderGlobs,
    /// Whether no others belong to it.
    pub is_complete: bool,
}

impl MemberList {
    /// The members that the text of a manifest names; `None` if it names none.
    pub fn of(text: &str) -> Option<Self> {
        let Some(manifest) = TomlText::parse(text) else {
            // A manifest that is being edited must not split its workspace.
            let has_workspace = text.lines().any(|line| line.trim_start().starts_with("[tool.uv.workspace]"));
            return has_workspace.then(|| Self { globs: FolderGlobs::new(["**"]), is_complete: false });
        };
        for tool in ["uv", "rye"] {
            if let Some(workspace) = manifest.at(&["tool", tool, "workspace"]) {
                let excluded = items(at(workspace, &["exclude"])).filter_map(str).map(|glob| format!("!{glob}"));
                let members = items(at(workspace, &["members"])).filter_map(str).map(str::to_owned);
                return Some(Self { globs: FolderGlobs::new(members.chain(excluded)), is_complete: true });
            }
        }
        let members: Vec<&str> = hatch_members(&manifest).chain(path_dependencies(&manifest)).collect();
        (!members.is_empty()).then(|| Self { globs: FolderGlobs::new(members), is_complete: false })
    }
}

/// Whether a `pyproject.toml` describes a package.
pub fn describes_package(text: &str) -> bool {
    text.lines().any(|line| PACKAGE_TABLES.iter().any(|table| line.trim_start().starts_with(table)))
}

/// The table at `keys` of a `pyproject.toml`, or of the configuration of a tool in TOML.
pub fn settings(text: &str, keys: &[&str]) -> Option<Value> {
    let value: Value = toml::from_str(text).ok()?;
    keys.iter().try_fold(&value, |table, key| table.get(key)).cloned()
}

/// `tool.hatch.envs.*.workspace.members`: globs, or tables with a `path`.
fn hatch_members<'m>(manifest: &'m TomlText<'_>) -> impl Iterator<Item = &'m str> {
    let environments = members(manifest.at(&["tool", "hatch", "envs"]));
    let members = environments.flat_map(|environment| items(at(environment, &["workspace", "members"])));
    members.filter_map(|member| str(member).or_else(|| str(at(member, &["path"])?)))
}

/// The folders of path dependencies, of poetry, uv and pdm.
fn path_dependencies<'m>(manifest: &'m TomlText<'_>) -> impl Iterator<Item = &'m str> {
    let groups = members(manifest.at(&["tool", "poetry", "group"])).map(|group| at(group, &["dependencies"]));
    let others = [&["tool", "poetry", "dependencies"], &["tool", "uv", "sources"]].map(|keys| manifest.at(keys));
    let by_path = groups.chain(others).flat_map(members).filter_map(|dependency| str(at(dependency, &["path"])?));
    let pdm = [&["dependency-groups"][..], &["tool", "pdm", "dev-dependencies"]].map(|keys| manifest.at(keys));
    let optional = members(manifest.at(&["project", "optional-dependencies"]));
    let lists = pdm.into_iter().flat_map(members).chain(optional).map(Some);
    let lists = lists.chain([manifest.at(&["project", "dependencies"])]);
    let lines = lists.flat_map(items).filter_map(str);
    let by_url = lines.filter_map(|line| Some(line.split_once(PDM_ROOT)?.1.split(['#', '[']).next()?.trim()));
    by_path.chain(by_url)
}

/// The values of a `pyproject.toml`: of its section `project`, or else of Poetry's.
pub(crate) fn metadata(text: &str) -> ManifestValues {
    let Some(toml) = TomlText::parse(text) else { return ManifestValues::default() };
    let of = |key: &str| toml.value(&["project", key]).or_else(|| toml.value(&["tool", "poetry", key]));
    let classifier = |keys: &[&str]| toml.in_list(keys, license_of_classifier);
    ManifestValues {
        name: of("name"),
        version: of("version"),
        description: of("description"),
        license: of("license")
            .or_else(|| toml.value(&["project", "license", "text"]))
            .or_else(|| classifier(&["project", "classifiers"]))
            .or_else(|| classifier(&["tool", "poetry", "classifiers"])),
        requires: toml
            .value(&["project", "requires-python"])
            .or_else(|| toml.value(&["tool", "poetry", "dependencies", "python"])),
    }
}

/// The values of a `setup.cfg`.
pub(crate) fn setup_metadata(text: &str) -> ManifestValues {
    let of = |section: &str, key: &str| -> Option<ManifestValue> {
        let mut current = "";
        for (index, line) in text.lines().enumerate() {
            let trimmed = line.trim_end();
            if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                current = name.trim();
            } else if let Some((found, rest)) = trimmed.split_once(['=', ':'])
                && current == section
                && found.trim_end().replace('-', "_").eq_ignore_ascii_case(key)
            {
                // `attr: x` and `file: x` are computed.
                let is_computed = ["attr:", "file:"].iter().any(|start| rest.trim_start().starts_with(start));
                return if is_computed { None } else { value(rest, u32::try_from(index).ok()? + 1) };
            }
        }
        None
    };
    let classifier = || {
        let mut lines = text.lines().enumerate();
        lines.find_map(|(index, line)| value(&license_of_classifier(line)?, u32::try_from(index).ok()? + 1))
    };
    ManifestValues {
        name: of("metadata", "name"),
        version: of("metadata", "version"),
        description: of("metadata", "description").or_else(|| of("metadata", "summary")),
        license: of("metadata", "license").or_else(classifier),
        requires: of("options", "python_requires"),
    }
}
