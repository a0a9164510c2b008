//! Which packages are members of a workspace: `workspaces` in a `package.json`, and `packages` in a `pnpm-workspace.yaml`.
//!
//! A pattern that can't be read has no members.

use serde_json::Value;

use super::PackageJson;
use crate::folder_globs::FolderGlobs;

/// The name of the file that lists the members of a workspace of pnpm.
pub const PNPM_WORKSPACE: &str = "pnpm-workspace.yaml";

impl PackageJson {
    fn workspace_patterns(&self) -> Option<impl Iterator<Item = &str>> {
        let workspaces = self.0.get("workspaces")?;
        let list = workspaces.as_array().or_else(|| workspaces.get("packages")?.as_array())?;
        Some(list.iter().filter_map(Value::as_str))
    }

    /// The members that it lists itself; `None` if it is no workspace.
    pub fn own_members(&self) -> Option<FolderGlobs> {
        self.workspace_patterns().map(FolderGlobs::new)
    }
}

/// The members that the text of a `pnpm-workspace.yaml` lists: all folders if it has no list.
pub fn pnpm_members(text: &str) -> FolderGlobs {
    FolderGlobs::new(pnpm_packages(text).unwrap_or_else(|| vec!["**".to_owned()]))
}

/// The members that a manifest or the text of a `pnpm-workspace.yaml` beside it lists; `None` if neither lists any.
pub fn members(manifest: &PackageJson, pnpm: &str) -> Option<FolderGlobs> {
    let own = manifest.workspace_patterns().into_iter().flatten().map(str::to_owned);
    let patterns: Vec<String> = own.chain(pnpm_packages(pnpm).unwrap_or_default()).collect();
    (!patterns.is_empty()).then(|| FolderGlobs::new(patterns))
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
    use std::path::Path;

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
    fn members_are_what_the_patterns_match() {
        let holds = |manifest: &str, pnpm: &str, folder: &str| {
            let manifest = PackageJson::parse(manifest).unwrap();
            members(&manifest, pnpm).is_some_and(|members| members.name(Path::new(folder)))
        };
        for list in
            [r#"{"workspaces": ["./packages/*/", "tool"]}"#, r#"{"workspaces": {"packages": ["packages/*", "tool"]}}"#]
        {
            assert!(holds(list, "", "packages/a") && holds(list, "", "tool"));
            assert!(!holds(list, "", "packages/a/test/b") && !holds(list, "", "tools") && !holds(list, "", ""));
        }
        for pnpm in [
            "# note\npackages:\n  - 'packages/**' # all\n  # note\n\n  - \"!**/test/**\"\ncatalog:\n  - 'x'\n",
            "packages:\n- packages/**\n- '!**/test/**'\n",
            "packages: ['packages/**', '!**/test/**']\n",
        ] {
            assert!(holds("{}", pnpm, "packages/a") && holds("{}", pnpm, "packages/a/b"), "{pnpm}");
            assert!(!holds("{}", pnpm, "packages/a/test/b") && !holds("{}", pnpm, "x"), "{pnpm}");
        }
        let none = PackageJson::default();
        assert!(members(&none, "catalog:\n  - x\n").is_none() && members(&none, "").is_none());
        assert!(!holds(r#"{"workspaces": ["[", 1]}"#, "", "["));
    }
}
