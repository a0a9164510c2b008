//! The files that the configuration of a type checker leaves out. References in them are missing without a word.
//!
//! Observed with ty 0.0.104: `src.include` and `src.exclude` decide where references are searched, also for open files; patterns are anchored
//! at the project root, a pattern that ends with `/` matches folders only, the last pattern that matches counts, and what is below an excluded
//! folder can't be included again. Some folders are excluded by default. Braces are no alternatives. pyright's `include` and `exclude` follow its
//! documentation. A configuration that can't be read counts as none, as it does for the servers.

use std::path::{Path, PathBuf};

use codeyard_ecosystems::jsonc;
use codeyard_ecosystems::python::{MANIFEST, settings};
use codeyard_lsp::registry::{ConfiguredScope, DiskFiles, MarkerFiles};
use globset::{Glob, GlobBuilder, GlobMatcher};
use serde_json::Value;

use crate::info::{ProjectInfo, ProjectSource};
use crate::limits::MAX_UNKNOWN_FILES;
use crate::prepare::ProjectRequest;

const TY_CONFIGURATION: &str = "ty.toml";
/// The files that hold such configurations.
pub(super) const CONFIGURATIONS: [&str; 3] = [TY_CONFIGURATION, "pyrightconfig.json", MANIFEST];
/// Names of folders that ty excludes at any depth, unless a pattern with `!` includes them.
const TY_EXCLUDED: [&str; 20] = [
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".mypy_cache", ".nox", ".pants.d", ".pytype",
    ".ruff_cache", ".svn", ".tox", ".venv", "__pypackages__", "_build", "buck-out", "dist", "node_modules", "venv",
];
/// What pyright excludes if its configuration names nothing.
const PYRIGHT_EXCLUDED: [&str; 3] = ["**/node_modules", "**/__pycache__", "**/.*"];

/// Which files a type checker searches.
struct Scope {
    /// The configuration file, relative to the project root; `None`: there is none that names files.
    file: Option<&'static str>,
    /// Files and folders that are searched; empty: all.
    include: Vec<PathPattern>,
    /// What is left out of them; the last pattern that matches counts.
    exclude: Vec<PathPattern>,
    /// The setting that leaves files out, for people.
    setting: &'static str,
}

/// A pattern of paths relative to the project root.
struct PathPattern {
    glob: GlobMatcher,
    is_negated: bool,
    only_folders: bool,
}

/// Counts the files that the configuration leaves out as not known.
pub(super) fn leave_out(request: &ProjectRequest<'_>, info: &mut ProjectInfo) {
    let Some(scope) = request.server.scope.map(|of| Scope::read(of, request)) else { return };
    let is_left_out = |path: &&PathBuf| path.strip_prefix(request.root).is_ok_and(|path| !scope.searches(path));
    let left_out: Vec<&PathBuf> = request.files.iter().filter(is_left_out).collect();
    if left_out.is_empty() {
        return;
    }
    info.files_known = Some(info.files_total - left_out.len());
    info.unknown_files = left_out.into_iter().take(MAX_UNKNOWN_FILES).cloned().collect();
    match scope.file {
        Some(file) => {
            info.source = ProjectSource::Found { path: file.into() };
            info.problems.insert(0, format!("`{}` in {file} leaves the others out", scope.setting));
            info.remedy = Some(format!("change `{}` in {file}", scope.setting));
        }
        None => {
            info.problems.insert(0, "the server leaves folders of these names out by default".into());
            info.remedy = Some(format!("set `{}` in its configuration", scope.setting));
        }
    }
}

/// Whether the configuration of ty in the project root says where modules are searched.
pub(super) fn names_ty_paths(request: &ProjectRequest<'_>) -> bool {
    let text = |name: &str| DiskFiles.read_text(&request.root.join(name), request.top);
    let environment = match DiskFiles.exists(&request.root.join(TY_CONFIGURATION)) {
        true => settings(&text(TY_CONFIGURATION), &["environment"]),
        false => settings(&text(MANIFEST), &["tool", "ty", "environment"]),
    };
    environment.is_some_and(|table| ["extra-paths", "root", "python"].iter().any(|key| table.get(key).is_some()))
}

impl Scope {
    fn read(of: ConfiguredScope, request: &ProjectRequest<'_>) -> Self {
        let text = |name: &str| {
            let path = request.root.join(name);
            DiskFiles.exists(&path).then(|| DiskFiles.read_text(&path, request.top))
        };
        match of {
            ConfiguredScope::Ty => Self::of_ty(&text),
            ConfiguredScope::Pyright => Self::of_pyright(&text),
        }
    }

    /// ty reads `ty.toml`, and `pyproject.toml` only where there is none.
    fn of_ty(text: &dyn Fn(&str) -> Option<String>) -> Self {
        let (file, table) = match text(TY_CONFIGURATION) {
            Some(own) => (TY_CONFIGURATION, settings(&own, &["src"])),
            None => (MANIFEST, settings(&text(MANIFEST).unwrap_or_default(), &["tool", "ty", "src"])),
        };
        let table = table.unwrap_or_default();
        let include = strings(table.get("include"));
        let exclude = strings(table.get("exclude"));
        let by_default = TY_EXCLUDED.map(|name| format!("**/{name}/"));
        Self {
            file: (!include.is_empty() || !exclude.is_empty()).then_some(file),
            setting: if include.is_empty() { "src.exclude" } else { "src.include" },
            include: patterns(&include),
            exclude: patterns(by_default.iter().chain(&exclude)),
        }
    }

    /// pyright reads `pyrightconfig.json`, and `pyproject.toml` only where there is none.
    fn of_pyright(text: &dyn Fn(&str) -> Option<String>) -> Self {
        let (file, table) = match text("pyrightconfig.json") {
            Some(own) => ("pyrightconfig.json", jsonc::parse_object(&own)),
            None => {
                let pyproject = text(MANIFEST).unwrap_or_default();
                let based = settings(&pyproject, &["tool", "basedpyright"]);
                (MANIFEST, based.or_else(|| settings(&pyproject, &["tool", "pyright"])))
            }
        };
        let table = table.unwrap_or_default();
        let include = strings(table.get("include"));
        let mut exclude = strings(table.get("exclude"));
        let is_named = !include.is_empty() || !exclude.is_empty();
        if exclude.is_empty() {
            exclude = PYRIGHT_EXCLUDED.map(str::to_owned).to_vec();
        }
        Self {
            file: is_named.then_some(file),
            setting: if include.is_empty() { "exclude" } else { "include" },
            include: patterns(&include),
            exclude: patterns(&exclude),
        }
    }

    /// Whether references are searched in the file at this relative path.
    fn searches(&self, path: &Path) -> bool {
        let mut folders: Vec<&Path> =
            path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
        folders.reverse();
        let is_included = self.include.is_empty()
            || self.include.iter().any(|pattern| {
                pattern.matches(path, false) || folders.iter().any(|folder| pattern.matches(folder, true))
            });
        is_included && !folders.iter().any(|folder| self.excludes(folder, true)) && !self.excludes(path, false)
    }

    fn excludes(&self, path: &Path, is_folder: bool) -> bool {
        let last = self.exclude.iter().rev().find(|pattern| pattern.matches(path, is_folder));
        last.is_some_and(|pattern| !pattern.is_negated)
    }
}

impl PathPattern {
    /// The pattern that a configuration writes as `text`; `None` if nothing in the project can match it.
    fn parse(text: &str) -> Option<Self> {
        let (text, is_negated) = text.strip_prefix('!').map_or((text, false), |rest| (rest, true));
        let text = text.strip_prefix("./").unwrap_or(text);
        let (path, only_folders) = text.strip_suffix('/').map_or((text, false), |path| (path, true));
        if path.starts_with('/') {
            return None;
        }
        let path = if path.is_empty() || path == "." { "**" } else { path };
        // Braces are no alternatives here.
        let glob = path.replace('{', "[{]").replace('}', "[}]");
        let glob: Glob = GlobBuilder::new(&glob).literal_separator(true).build().ok()?;
        Some(Self { glob: glob.compile_matcher(), is_negated, only_folders })
    }

    fn matches(&self, path: &Path, is_folder: bool) -> bool {
        (is_folder || !self.only_folders) && self.glob.is_match(path)
    }
}

fn patterns<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<PathPattern> {
    texts.into_iter().filter_map(|text| PathPattern::parse(text)).collect()
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&str; 6] =
        ["pkg/a.py", "scripts/c.py", "scripts/d.py", "dist/e.py", "sub/dist/f.py", "node_modules/g/h.py"];

    /// The files that the scope leaves out.
    fn left_out(scope: &Scope) -> Vec<&'static str> {
        FILES.into_iter().filter(|path| !scope.searches(Path::new(path))).collect()
    }

    fn ty(toml: &str) -> Vec<&'static str> {
        left_out(&Scope::of_ty(&|name| (name == "ty.toml").then(|| toml.to_owned())))
    }

    const DEFAULT: [&str; 3] = ["dist/e.py", "sub/dist/f.py", "node_modules/g/h.py"];

    fn and_default(others: &[&'static str]) -> Vec<&'static str> {
        FILES.into_iter().filter(|path| others.contains(path) || DEFAULT.contains(path)).collect()
    }

    #[test]
    fn patterns_mean_what_they_mean_to_ty() {
        // Each line was observed with the real server.
        for (toml, expected) in [
            ("", and_default(&[])),
            ("[src]\nexclude = [\"scripts\"]", and_default(&["scripts/c.py", "scripts/d.py"])),
            ("[src]\nexclude = [\"./scripts/\"]", and_default(&["scripts/c.py", "scripts/d.py"])),
            ("[src]\nexclude = [\"script\"]", and_default(&[])),
            ("[src]\nexclude = [\"d.py\"]", and_default(&[])),
            ("[src]\nexclude = [\"/scripts/c.py\"]", and_default(&[])),
            ("[src]\nexclude = [\"scripts/*.py\"]", and_default(&["scripts/c.py", "scripts/d.py"])),
            ("[src]\nexclude = [\"**/c.py\"]", and_default(&["scripts/c.py"])),
            ("[src]\nexclude = [\"scripts/{c,x}.py\"]", and_default(&[])),
            ("[src]\nexclude = [\"scripts/[cx].py\"]", and_default(&["scripts/c.py"])),
            ("[src]\nexclude = [\"scripts/**\", \"!scripts/d.py\"]", and_default(&["scripts/c.py"])),
            ("[src]\nexclude = [\"scripts\", \"!scripts/c.py\"]", and_default(&["scripts/c.py", "scripts/d.py"])),
            ("[src]\nexclude = [\"!scripts/c.py\", \"scripts/c.py\"]", and_default(&["scripts/c.py"])),
            ("[src]\nexclude = [\"!dist/\"]", vec!["sub/dist/f.py", "node_modules/g/h.py"]),
            ("[src]\nexclude = [\"!**/dist/\"]", vec!["node_modules/g/h.py"]),
            ("[src]\ninclude = [\"pkg\", \"dist\"]", and_default(&["scripts/c.py", "scripts/d.py"])),
            ("[src]\ninclude = [\"scripts/c.py\"]", and_default(&["pkg/a.py", "scripts/d.py"])),
            ("[src]\ninclude = [\"**/c.py\", \"pkg/*\"]", and_default(&["scripts/d.py"])),
            ("[src", and_default(&[])),
        ] {
            assert_eq!(ty(toml), expected, "{toml}");
        }
    }

    #[test]
    fn the_own_file_of_a_type_checker_wins_over_pyproject() {
        let both = |name: &str| match name {
            "ty.toml" => Some("[src]\nexclude = [\"scripts/c.py\"]".to_owned()),
            _ => Some("[tool.ty.src]\nexclude = [\"scripts/d.py\"]".to_owned()),
        };
        let scope = Scope::of_ty(&both);
        assert_eq!((left_out(&scope), scope.file), (and_default(&["scripts/c.py"]), Some("ty.toml")));
        let second = |name: &str| both(name).filter(|_| name == "pyproject.toml");
        let scope = Scope::of_ty(&second);
        assert_eq!((left_out(&scope), scope.file), (and_default(&["scripts/d.py"]), Some("pyproject.toml")));
        let empty = |name: &str| if name == "ty.toml" { Some(String::new()) } else { both(name) };
        assert_eq!(left_out(&Scope::of_ty(&empty)), and_default(&[]), "an empty file wins too");
        assert_eq!(Scope::of_ty(&|_| None).file, None, "a default has no file");
    }

    #[test]
    fn pyright_excludes_what_it_names_or_its_defaults() {
        let json = |text: &'static str| {
            left_out(&Scope::of_pyright(&move |name: &str| (name == "pyrightconfig.json").then(|| text.to_owned())))
        };
        assert_eq!(json("{}"), ["node_modules/g/h.py"]);
        assert_eq!(json("// note\n{\"exclude\": [\"**/dist\"],}"), ["dist/e.py", "sub/dist/f.py"]);
        assert_eq!(json("{\"include\": [\"pkg\", \"scripts/c.py\"]}").len(), 4);
        let toml = "[tool.pyright]\ninclude = [\"pkg\"]";
        let scope = Scope::of_pyright(&|name: &str| (name == "pyproject.toml").then(|| toml.to_owned()));
        assert_eq!((left_out(&scope).len(), scope.file, scope.setting), (5, Some("pyproject.toml"), "include"));
    }
}
