//! Which packages are members of a workspace: the patterns of `workspaces` in a `package.json`, and of `pnpm-workspace.yaml`.
//!
//! Pure. A pattern that can't be read has no members.

use std::path::Path;

use codeyard_lsp::registry::pnpm_packages;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;

/// The file that lists the members of a workspace of pnpm.
pub(super) const PNPM_WORKSPACE: &str = "pnpm-workspace.yaml";

#[derive(Debug, Default)]
pub(super) struct Members {
    included: GlobSet,
    excluded: GlobSet,
}

impl Members {
    /// The members that a manifest lists, and the text of a `pnpm-workspace.yaml` beside it; `None` if neither lists any.
    pub(super) fn of(manifest: Option<&Value>, pnpm: &str) -> Option<Self> {
        let workspaces = manifest.and_then(|manifest| manifest.get("workspaces"));
        let list = workspaces.and_then(|list| list.as_array().or_else(|| list.get("packages")?.as_array()));
        let texts = list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let patterns: Vec<String> = texts.chain(pnpm_packages(pnpm).unwrap_or_default()).collect();
        if patterns.is_empty() {
            return None;
        }
        let (excluded, included): (Vec<&str>, Vec<&str>) =
            patterns.iter().map(String::as_str).partition(|pattern| pattern.starts_with('!'));
        Some(Self { included: set(&included), excluded: set(&excluded) })
    }

    /// Whether the folder of a package, relative to that of the workspace, is a member.
    pub(super) fn hold(&self, folder: &Path) -> bool {
        self.included.is_match(folder) && !self.excluded.is_match(folder)
    }
}

fn set(patterns: &[&str]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.trim_start_matches('!').trim_start_matches("./").trim_end_matches('/');
        if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_what_the_patterns_match() {
        let holds = |manifest: &Value, pnpm: &str, folder: &str| {
            Members::of(Some(manifest), pnpm).is_some_and(|members| members.hold(Path::new(folder)))
        };
        for list in [
            json!({"workspaces": ["./packages/*/", "tool"]}),
            json!({"workspaces": {"packages": ["packages/*", "tool"]}}),
        ] {
            assert!(holds(&list, "", "packages/a") && holds(&list, "", "tool"));
            assert!(!holds(&list, "", "packages/a/test/b") && !holds(&list, "", "tools") && !holds(&list, "", ""));
        }
        let none = json!({});
        for pnpm in [
            "# note\npackages:\n  - 'packages/**' # all\n  # note\n\n  - \"!**/test/**\"\ncatalog:\n  - 'x'\n",
            "packages:\n- packages/**\n- '!**/test/**'\n",
            "packages: ['packages/**', '!**/test/**']\n",
        ] {
            assert!(holds(&none, pnpm, "packages/a") && holds(&none, pnpm, "packages/a/b"), "{pnpm}");
            assert!(!holds(&none, pnpm, "packages/a/test/b") && !holds(&none, pnpm, "x"), "{pnpm}");
        }
        assert!(Members::of(Some(&none), "catalog:\n  - x\n").is_none() && Members::of(None, "").is_none());
        assert!(!holds(&json!({"workspaces": ["[", 1]}), "", "["));
    }
}
