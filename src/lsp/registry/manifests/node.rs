//! Workspaces of npm, yarn and bun (`workspaces` in a `package.json`) and of pnpm (`pnpm-workspace.yaml`, which wins
//! where both exist). The lists are globs of folders.
//!
//! The folder with the list belongs to its own workspace. Everything inside a member belongs to the workspace, also a
//! nested `package.json`. A package that no glob matches stands alone, also beside the workspace's lock file.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::context::{ManifestContext, Membership};
use super::jsonc;

const NPM: &str = "package.json";
const PNPM: &str = "pnpm-workspace.yaml";

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(own) = context.nearest(NPM) else { return Membership::default() };
    let mut not_listed_in = Vec::new();
    for folder in context.from(own) {
        let listed = context.parsed(&folder.join(NPM), || list(context, folder));
        let Some(listed) = &*listed else { continue };
        if folder == own || listed.has(folder, own) {
            return Membership { not_listed_in, ..Membership::of(folder, listed.file) };
        }
        not_listed_in.push(folder.to_path_buf());
    }
    Membership { build_workspace: None, not_listed_in }
}

/// A list of packages.
struct PackageList {
    /// The name of the file that it is in.
    file: &'static str,
    includes: Vec<GlobMatcher>,
    /// Those with a leading `!`.
    excludes: Vec<GlobMatcher>,
}

impl PackageList {
    /// A glob that isn't valid matches nothing.
    fn new(file: &'static str, globs: &[String]) -> Self {
        let compiled = |glob: &str| {
            let glob = glob.trim_start_matches("./").trim_end_matches('/');
            Some(GlobBuilder::new(glob).literal_separator(true).build().ok()?.compile_matcher())
        };
        let (excludes, includes): (Vec<&String>, Vec<&String>) = globs.iter().partition(|glob| glob.starts_with('!'));
        Self {
            file,
            includes: includes.into_iter().filter_map(|glob| compiled(glob)).collect(),
            excludes: excludes.into_iter().filter_map(|glob| compiled(&glob[1..])).collect(),
        }
    }

    /// Whether the list in `folder` names `own` or a parent of it.
    fn has(&self, folder: &Path, own: &Path) -> bool {
        let Ok(below) = own.strip_prefix(folder) else { return false };
        let is_excluded = |path: &Path| self.excludes.iter().any(|glob| glob.is_match(path));
        let is_member = |path: &Path| self.includes.iter().any(|glob| glob.is_match(path)) && !is_excluded(path);
        let mut folders = below.ancestors().take_while(|path| !path.as_os_str().is_empty());
        !is_excluded(below) && folders.any(is_member)
    }
}

/// The list in `folder`.
fn list(context: &ManifestContext<'_>, folder: &Path) -> Option<PackageList> {
    if let Some(text) = context.text(&folder.join(PNPM)) {
        return Some(PackageList::new(PNPM, &pnpm_packages(&text).unwrap_or_else(|| vec!["**".into()])));
    }
    let manifest = jsonc::parse_object(&context.text(&folder.join(NPM))?)?;
    let workspaces = manifest.get("workspaces")?;
    let globs = workspaces.as_array().or_else(|| workspaces.get("packages")?.as_array())?;
    let globs: Vec<String> = globs.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Some(PackageList::new(NPM, &globs))
}

/// The `packages` of a `pnpm-workspace.yaml`; `None` without the key, which means all folders. Only the two YAML
/// notations of a list of strings are read, so no YAML parser is needed, and an error elsewhere in the file doesn't hide
/// the list.
fn pnpm_packages(text: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().map(|line| without_comment(line).trim_end()).filter(|line| !line.is_empty());
    let first = lines.find_map(|line| line.strip_prefix("packages:"))?.trim();
    let unquoted = |item: &str| item.trim().trim_matches(['"', '\'']).to_owned();
    if first.starts_with('[') {
        let all: Vec<&str> = std::iter::once(first).chain(lines).collect();
        let all = all.join(" ");
        let items = all.trim_start_matches('[').split(']').next().unwrap_or_default().split(',');
        return Some(items.map(unquoted).filter(|item| !item.is_empty()).collect());
    }
    Some(lines.map_while(|line| line.trim_start().strip_prefix('-')).map(unquoted).collect())
}

/// A line without its comment: a `#` at the start or after a space.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') { "" } else { line.split_once(" #").map_or(line, |(before, _)| before) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_lists_of_pnpm() {
        let block = "# all\ncatalog:\n  x: 1\npackages:\n  # those\n  - 'packages/*'\n\n  - \"!**/test/**\" # not these\n- apps/a\nother:\n  - no\n";
        assert_eq!(pnpm_packages(block).unwrap(), ["packages/*", "!**/test/**", "apps/a"]);
        assert_eq!(pnpm_packages("packages: ['a', \"b/*\"]\n").unwrap(), ["a", "b/*"]);
        assert_eq!(pnpm_packages("packages: [\n  'a',\n  b,\n]\nx: [c]\n").unwrap(), ["a", "b"]);
        assert_eq!(pnpm_packages("packages:\n").unwrap(), Vec::<String>::new());
        assert_eq!(pnpm_packages("onlyBuiltDependencies:\n  - esbuild\n"), None);
    }

    #[test]
    fn globs_match_folders_and_their_contents() {
        let globs = |list: &[&str]| list.iter().map(|glob| glob.to_string()).collect::<Vec<_>>();
        let named = |list: &[&str], own: &str| {
            PackageList::new(NPM, &globs(list)).has(Path::new("/w"), &Path::new("/w").join(own))
        };
        assert!(named(&["packages/*"], "packages/a") && named(&["./packages/*/"], "packages/a/src/esm"));
        assert!(!named(&["packages/*"], "packages") && !named(&["packages/*"], "other/packages/a"));
        assert!(named(&["packages/**"], "packages/a/b") && named(&["**"], "a") && named(&["a"], "a"));
        assert!(!named(&["packages/*", "!packages/old"], "packages/old/src"));
        // As npm has it: what is taken away is that folder, not what lies below it under a name of its own.
        assert!(!named(&["packages/**", "!packages/old"], "packages/old"));
        assert!(named(&["packages/**", "!packages/old"], "packages/old/in"));
        assert!(!named(&["**", "!**/test/**"], "a/test/b") && named(&["**", "!**/test/**"], "a"));
        assert!(!named(&["["], "a") && !named(&[], "a"));
    }
}
