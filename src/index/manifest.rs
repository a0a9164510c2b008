//! Manifests: the paths of one commit or working tree, and the content at each path.
//!
//! A manifest is immutable. Invariant: entries are sorted by the bytes of their paths, and each path occurs once.

use super::classify::Provenance;
use super::language::Language;

/// The number of a content in its index. Numbers are never reused.
pub type ContentNo = u32;

/// One file of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The path relative to the root, with `/` separators.
    pub path: Box<str>,
    pub content: ContentNo,
    /// `None` if the file is searched as text only.
    pub language: Option<Language>,
    /// The size in bytes.
    pub size: u64,
    /// The file's class, which ranking uses.
    pub class: FileClass,
}

/// The class of a file. Ranking prefers files of no class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FileClass {
    /// A test, a fixture or a benchmark.
    pub is_test: bool,
    /// Third-party code: `vendor`, `third_party`, `node_modules`.
    pub is_vendored: bool,
    /// Who wrote it. A path alone doesn't say.
    pub provenance: Provenance,
}

/// The files of one commit or working tree.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    entries: Box<[ManifestEntry]>,
    /// Pairs of a content and a position in `entries`, sorted.
    by_content: Box<[(ContentNo, u32)]>,
}

impl Manifest {
    /// A manifest of these files.
    pub fn new(mut entries: Vec<ManifestEntry>) -> Self {
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        entries.dedup_by(|one, other| one.path == other.path);
        let mut by_content: Vec<_> = (0_u32..).zip(&entries).map(|(at, entry)| (entry.content, at)).collect();
        by_content.sort_unstable();
        Self { entries: entries.into(), by_content: by_content.into() }
    }

    /// The files, sorted by path.
    pub fn entries(&self) -> &[ManifestEntry] {
        &self.entries
    }

    /// The file at this path.
    pub fn find(&self, path: &str) -> Option<&ManifestEntry> {
        self.entries.binary_search_by(|entry| (*entry.path).cmp(path)).ok().map(|at| &self.entries[at])
    }

    /// The files with this content, sorted by path.
    pub fn with_content(&self, content: ContentNo) -> impl Iterator<Item = &ManifestEntry> {
        self.positions(content).map(|at| &self.entries[at])
    }

    /// The positions in [`Self::entries`] of the files with this content, ascending.
    pub fn positions(&self, content: ContentNo) -> impl Iterator<Item = usize> {
        let from = self.by_content.partition_point(|(no, _)| *no < content);
        let found = self.by_content[from..].iter().take_while(move |(no, _)| *no == content);
        found.map(|(_, at)| *at as usize)
    }
}

impl FileClass {
    /// The class of a written file at `path`.
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
    fn entries_are_found_by_path_and_by_content() {
        let entry = |path: &str, content| ManifestEntry {
            path: path.into(),
            content,
            language: None,
            size: 1,
            class: FileClass::of(path),
        };
        let manifest = Manifest::new(vec![entry("b", 7), entry("a/x", 7), entry("c", 3)]);
        assert_eq!(manifest.find("b").map(|found| found.content), Some(7));
        assert_eq!(manifest.find("a"), None);
        let paths: Vec<&str> = manifest.with_content(7).map(|found| &*found.path).collect();
        assert_eq!(paths, ["a/x", "b"]);
        assert_eq!(manifest.with_content(8).count(), 0);
    }

    #[test]
    fn paths_of_tests_and_vendored_code_are_classified() {
        let class = |path| (FileClass::of(path).is_test, FileClass::of(path).is_vendored);
        assert_eq!(class("src/lib.rs"), (false, false));
        assert_eq!(class("src/tests/a.rs"), (true, false));
        assert_eq!(class("pkg/thing_test.go"), (true, false));
        assert_eq!(class("src/a.spec.ts"), (true, false));
        assert_eq!(class("vendor/github.com/x/test_a.py"), (true, true));
        assert_eq!(class("src/contest.rs"), (false, false));
    }
}
