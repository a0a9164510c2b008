//! The root set of a workspace: the real paths of its roots and extra roots.
//!
//! Invariant: every path is a real path (without symbolic links), and `key` is the contract's `rootsKey` of exactly these.

use std::path::{Path, PathBuf};

use codeyard_base::digest::sha256hex;

/// The real paths that results may be inside, and their key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootSet {
    /// Roots in which language servers are started, in configured order.
    roots: Vec<PathBuf>,
    /// Roots that are only read.
    extra: Vec<PathBuf>,
    key: String,
}

impl RootSet {
    /// The set of these real paths.
    pub fn of_real_paths(roots: Vec<PathBuf>, extra: Vec<PathBuf>) -> Self {
        let key = roots_key(roots.iter().chain(&extra));
        Self { roots, extra, key }
    }

    /// Roots in which language servers are started, in configured order.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// All allowed roots: roots, then extra roots.
    pub fn allowed(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().chain(&self.extra).map(PathBuf::as_path)
    }

    /// The contract's `rootsKey`: 64 hex characters.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The innermost root that contains the real path `path`. Extra roots don't count.
    pub fn root_of(&self, path: &Path) -> Option<&Path> {
        let holding = self.roots.iter().filter(|root| path.starts_with(root));
        holding.max_by_key(|root| root.as_os_str().len()).map(PathBuf::as_path)
    }

    /// Which of the roots `path` names, as text: nothing is looked up on disk.
    pub fn position(&self, path: &str) -> Option<usize> {
        // Comparing components ignores repeated and trailing slashes.
        self.roots.iter().position(|root| root.components().eq(Path::new(path).components()))
    }

    /// Whether the real path `path` is an allowed root or inside one.
    pub fn allows(&self, path: &Path) -> bool {
        self.allowed().any(|root| path.starts_with(root))
    }
}

fn roots_key<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> String {
    let mut texts: Vec<String> = paths.map(|path| path.to_string_lossy().into_owned()).collect();
    texts.sort_unstable();
    texts.dedup();
    sha256hex(serde_json::Value::from(texts).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_hashes_the_sorted_array_and_siblings_are_outside() {
        let set = RootSet::of_real_paths(vec!["/b".into(), "/a".into()], vec!["/c".into()]);
        assert_eq!(set.key(), sha256hex("[\"/a\",\"/b\",\"/c\"]"));
        assert!(set.allows(Path::new("/c/x")) && set.allows(Path::new("/a")));
        assert!(!set.allows(Path::new("/ab")));
        assert_eq!(set.root_of(Path::new("/c/x")), None);
        assert_eq!((set.position("//a/"), set.position("/a/x"), set.position("/c")), (Some(1), None, None));
    }
}
