//! Workspaces of npm, yarn and bun (`workspaces` in a `package.json`) and of pnpm (`pnpm-workspace.yaml`, which wins
//! where both exist). The lists are globs of folders.
//!
//! The folder with the list belongs to its own workspace. Everything inside a member belongs to the workspace, also a
//! nested `package.json`. A package that no glob matches stands alone, also beside the workspace's lock file.

use std::path::Path;

use serde_json::Value;

use super::context::{ManifestContext, Membership};
use super::folder_globs::FolderGlobs;
use super::jsonc;

const NPM: &str = "package.json";
const PNPM: &str = "pnpm-workspace.yaml";

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(own) = context.nearest(NPM) else { return Membership::default() };
    let mut not_listed_in = Vec::new();
    for folder in context.from(own) {
        let listed = context.parsed(&folder.join(NPM), || list(context, folder));
        let Some(listed) = &*listed else { continue };
        if folder == own || listed.globs.hold(folder, own) {
            return Membership { not_listed_in, ..Membership::of(folder, listed.file) };
        }
        not_listed_in.push(folder.to_path_buf());
    }
    Membership { build_workspace: None, not_listed_in }
}

struct PackageList {
    /// The name of the file that it is in.
    file: &'static str,
    globs: FolderGlobs,
}

impl PackageList {
    fn new(file: &'static str, globs: &[String]) -> Self {
        Self { file, globs: FolderGlobs::new(globs.iter().map(String::as_str)) }
    }
}

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
pub fn pnpm_packages(text: &str) -> Option<Vec<String>> {
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
}
