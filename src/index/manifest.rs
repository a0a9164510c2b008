//! Which paths show which contents: one commit, or one working tree as it was when the manifest was made.
//!
//! Immutable once made. Invariant: entries are ordered by their paths' bytes, each path once.

use super::language::Language;

/// The number of a content in its index. Numbers are never given twice.
pub type ContentNo = u32;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the root, with `/` between.
    pub path: Box<str>,
    /// What it holds.
    pub content: ContentNo,
    /// `None`: searched as text only.
    pub language: Option<Language>,
    /// In bytes.
    pub size: u64,
    /// How it is ranked.
    pub class: PathClass,
}

/// What kind of place a path is; ranking puts some behind others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PathClass {
    /// A test, a fixture or a benchmark.
    pub is_test: bool,
    /// Somebody else's code: `vendor`, `third_party`, `node_modules`.
    pub is_vendored: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    entries: Box<[Entry]>,
    /// Content and position, ordered.
    by_content: Box<[(ContentNo, u32)]>,
}

impl Manifest {
    /// A manifest of these files.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        entries.dedup_by(|one, other| one.path == other.path);
        let mut by_content: Vec<_> = (0_u32..).zip(&entries).map(|(at, entry)| (entry.content, at)).collect();
        by_content.sort_unstable();
        Self { entries: entries.into(), by_content: by_content.into() }
    }

    /// The files, ordered by path.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The file at this path.
    pub fn find(&self, path: &str) -> Option<&Entry> {
        self.entries.binary_search_by(|entry| (*entry.path).cmp(path)).ok().map(|at| &self.entries[at])
    }

    /// The files that show this content, ordered by path.
    pub fn showing(&self, content: ContentNo) -> impl Iterator<Item = &Entry> {
        self.positions(content).map(|at| &self.entries[at])
    }

    /// Where the files that show this content are in [`Self::entries`], ascending.
    pub fn positions(&self, content: ContentNo) -> impl Iterator<Item = usize> {
        let from = self.by_content.partition_point(|(no, _)| *no < content);
        let found = self.by_content[from..].iter().take_while(move |(no, _)| *no == content);
        found.map(|(_, at)| *at as usize)
    }
}

impl PathClass {
    /// What `path` looks like.
    pub fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let mut segments = lower.split('/').peekable();
        let mut class = Self::default();
        while let Some(segment) = segments.next() {
            let stem = segment.split('.').next().unwrap_or(segment);
            if segments.peek().is_some() {
                class.is_test |= matches!(
                    segment,
                    "test"
                        | "tests"
                        | "testing"
                        | "__tests__"
                        | "spec"
                        | "specs"
                        | "fixtures"
                        | "testdata"
                        | "selftests"
                        | "benches"
                        | "benchmarks"
                );
                class.is_vendored |= matches!(
                    segment,
                    "vendor"
                        | "vendored"
                        | "_vendor"
                        | "third_party"
                        | "third-party"
                        | "thirdparty"
                        | "node_modules"
                        | "site-packages"
                        | "external"
                );
            } else {
                class.is_test |= stem.starts_with("test_")
                    || stem.ends_with("_test")
                    || stem.ends_with("_spec")
                    || matches!(stem, "test" | "tests" | "conftest")
                    || segment.contains(".test.")
                    || segment.contains(".spec.");
            }
        }
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_and_so_is_who_shows_a_content() {
        let entry = |path: &str, content| Entry {
            path: path.into(),
            content,
            language: None,
            size: 1,
            class: PathClass::of(path),
        };
        let manifest = Manifest::new(vec![entry("b", 7), entry("a/x", 7), entry("c", 3)]);
        assert_eq!(manifest.find("b").map(|found| found.content), Some(7));
        assert_eq!(manifest.find("a"), None);
        let showing: Vec<&str> = manifest.showing(7).map(|found| &*found.path).collect();
        assert_eq!(showing, ["a/x", "b"]);
        assert_eq!(manifest.showing(8).count(), 0);
    }

    #[test]
    fn tests_and_vendored_code_are_known_by_their_paths() {
        let class = |path| (PathClass::of(path).is_test, PathClass::of(path).is_vendored);
        assert_eq!(class("src/lib.rs"), (false, false));
        assert_eq!(class("src/tests/a.rs"), (true, false));
        assert_eq!(class("pkg/thing_test.go"), (true, false));
        assert_eq!(class("src/a.spec.ts"), (true, false));
        assert_eq!(class("vendor/github.com/x/test_a.py"), (true, true));
        assert_eq!(class("src/contest.rs"), (false, false));
    }
}
