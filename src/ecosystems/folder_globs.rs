//! Lists of folders as globs, as manifests write them. A leading `!` takes folders out.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Longest glob of a list, in bytes: longer than any path, and short enough that few of them exceed what a set of globs may need, which would
/// make the whole list empty.
const MAX_GLOB_BYTES: usize = 4_096;

/// Globs of folders, relative to the folder of their manifest.
#[derive(Debug, Default)]
pub struct FolderGlobs {
    includes: GlobSet,
    /// Those with a leading `!`.
    excludes: GlobSet,
}

impl FolderGlobs {
    /// A glob that isn't valid, or is too large, matches nothing.
    pub fn new(globs: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let [mut includes, mut excludes] = [GlobSetBuilder::new(), GlobSetBuilder::new()];
        for glob in globs {
            let (glob, set) = match glob.as_ref().strip_prefix('!') {
                Some(excluded) => (excluded, &mut excludes),
                None => (glob.as_ref(), &mut includes),
            };
            let glob = glob.trim_start_matches("./").trim_end_matches('/');
            if glob.len() > MAX_GLOB_BYTES {
                continue;
            }
            if let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build() {
                set.add(glob);
            }
        }
        let [includes, excludes] = [includes, excludes].map(|set| set.build().unwrap_or_default());
        Self { includes, excludes }
    }

    /// Whether the list names this folder, relative to that of the manifest.
    pub fn name(&self, folder: &Path) -> bool {
        self.includes.is_match(folder) && !self.excludes.is_match(folder)
    }

    /// Whether a list in `folder` names `own` or a parent of it.
    pub fn hold(&self, folder: &Path, own: &Path) -> bool {
        let Ok(below) = own.strip_prefix(folder) else { return false };
        let mut folders = below.ancestors().take_while(|path| !path.as_os_str().is_empty());
        !self.excludes.is_match(below) && folders.any(|path| self.name(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_folders_and_their_contents() {
        let named = |list: &[&str], own: &str| FolderGlobs::new(list).hold(Path::new("/w"), &Path::new("/w").join(own));
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
