//! Workspaces of npm, yarn and bun (`workspaces` in a `package.json`) and of pnpm (`pnpm-workspace.yaml`, which wins
//! where both exist). The lists are globs of folders.
//!
//! The folder with the list belongs to its own workspace. Everything inside a member belongs to the workspace, also a
//! nested `package.json`. A package that no glob matches stands alone, also beside the workspace's lock file.

use std::path::Path;

use globset::GlobBuilder;
use serde_json::Value;

use super::context::{ManifestContext, Membership};
use super::jsonc;

const NPM: &str = "package.json";
const PNPM: &str = "pnpm-workspace.yaml";

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(own) = context.nearest(NPM) else { return Membership::default() };
    let mut not_listed_in = Vec::new();
    for folder in context.from(own) {
        let Some((name, globs)) = list(context, folder) else { continue };
        if folder == own || globs_match(&globs, folder, own) {
            return Membership { not_listed_in, ..Membership::of(folder, name) };
        }
        not_listed_in.push(folder.to_path_buf());
    }
    Membership { build_workspace: None, not_listed_in }
}

/// The list in `folder`, and the name of its file.
fn list(context: &ManifestContext<'_>, folder: &Path) -> Option<(&'static str, Vec<String>)> {
    if let Some(text) = context.text(&folder.join(PNPM)) {
        return Some((PNPM, pnpm_packages(&text).unwrap_or_else(|| vec!["**".into()])));
    }
    let manifest = jsonc::parse_object(&context.text(&folder.join(NPM))?)?;
    let workspaces = manifest.get("workspaces")?;
    let globs = workspaces.as_array().or_else(|| workspaces.get("packages")?.as_array())?;
    Some((NPM, globs.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
}

/// Whether the globs in `folder` match `own` or a parent of it. A glob with a leading `!` excludes.
fn globs_match(globs: &[String], folder: &Path, own: &Path) -> bool {
    let glob_matches = |glob: &str, path: &Path| {
        let glob = glob.trim_start_matches("./").trim_end_matches('/');
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        built.is_ok_and(|glob| glob.compile_matcher().is_match(path))
    };
    let Ok(below) = own.strip_prefix(folder) else { return false };
    let (excludes, includes): (Vec<&String>, Vec<&String>) = globs.iter().partition(|glob| glob.starts_with('!'));
    let is_excluded = |path: &Path| excludes.iter().any(|glob| glob_matches(&glob[1..], path));
    let is_member = |path: &Path| includes.iter().any(|glob| glob_matches(glob, path)) && !is_excluded(path);
    let mut folders = below.ancestors().take_while(|path| !path.as_os_str().is_empty());
    !is_excluded(below) && folders.any(is_member)
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
        let named = |list: &[&str], own: &str| globs_match(&globs(list), Path::new("/w"), &Path::new("/w").join(own));
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
