//! Lists of folders as globs, as manifests write them. A leading `!` takes folders out.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// Globs of folders, relative to the folder of their manifest.
pub(super) struct FolderGlobs {
    includes: Vec<GlobMatcher>,
    /// Those with a leading `!`.
    excludes: Vec<GlobMatcher>,
}

impl FolderGlobs {
    /// A glob that isn't valid matches nothing.
    pub(super) fn new<'a>(globs: impl IntoIterator<Item = &'a str>) -> Self {
        let compiled = |glob: &str| {
            let glob = glob.trim_start_matches("./").trim_end_matches('/');
            Some(GlobBuilder::new(glob).literal_separator(true).build().ok()?.compile_matcher())
        };
        let (excludes, includes): (Vec<&str>, Vec<&str>) = globs.into_iter().partition(|glob| glob.starts_with('!'));
        Self {
            includes: includes.into_iter().filter_map(compiled).collect(),
            excludes: excludes.into_iter().filter_map(|glob| compiled(&glob[1..])).collect(),
        }
    }

    /// Whether a list in `folder` names `own` or a parent of it.
    pub(super) fn hold(&self, folder: &Path, own: &Path) -> bool {
        let Ok(below) = own.strip_prefix(folder) else { return false };
        let is_excluded = |path: &Path| self.excludes.iter().any(|glob| glob.is_match(path));
        let is_member = |path: &Path| self.includes.iter().any(|glob| glob.is_match(path)) && !is_excluded(path);
        let mut folders = below.ancestors().take_while(|path| !path.as_os_str().is_empty());
        !is_excluded(below) && folders.any(is_member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_folders_and_their_contents() {
        let named = |list: &[&str], own: &str| {
            FolderGlobs::new(list.iter().copied()).hold(Path::new("/w"), &Path::new("/w").join(own))
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
