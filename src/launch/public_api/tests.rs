//! Sources for tests of the public API, and what all languages have in common.

use super::*;
use crate::repository::checkout::CheckedOut;
use crate::repository::repo_scout;
use crate::request::sites::Sites;
use crate::testing::TestRepository;

const DATE: &str = "2026-01-20T10:00:00Z";

/// The sources of a repository with these files.
pub(super) fn parsed(files: &[(&str, &str)]) -> Vec<ParsedSource> {
    let (inventory, reader, _dir) = repository(files);
    let platforms = ["rust", "typescript", "python", "java"];
    let languages: Vec<Language> = platforms.iter().flat_map(|platform| languages(platform)).copied().collect();
    reader.parse(&inventory, &languages, &StopFlag::default()).unwrap()
}

fn repository(files: &[(&str, &str)]) -> (RepoInventory, ProductReader, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let commit = TestRepository::new(&repo).commit(&files, DATE);
    let checkout = CheckedOut { commit, commit_date: DATE.to_owned(), branch: None, tags: Vec::new() };
    let inventory = repo_scout::inventory(&repo, &checkout, &Sites::builtin(), &StopFlag::default()).unwrap();
    (inventory, ProductReader::open(&repo).unwrap(), dir)
}

#[test]
fn a_stop_ends_the_search_in_every_language() {
    let sources = [
        ("Cargo.toml", "[package]\nname = \"shapes\"\nversion = \"1.0.0\"\n"),
        ("src/lib.rs", "pub fn one() {}\n"),
        ("package.json", "{\"name\": \"shapes\", \"main\": \"index.ts\"}"),
        ("index.ts", "export const one = 1\n"),
        ("shapes/__init__.py", "def one(): pass\n"),
        ("src/One.java", "package shapes;\npublic class One {}\n"),
    ];
    let (inventory, reader, _dir) = repository(&sources);
    let files = parsed(&sources);
    for (platform, kind) in
        [("rust", Some(ManifestKind::Cargo)), ("typescript", Some(ManifestKind::Npm)), ("python", None), ("java", None)]
    {
        let manifest = inventory.manifests.iter().find(|manifest| Some(manifest.kind) == kind);
        let found = |stop: &StopFlag| select(platform, &files, &inventory, manifest, &reader, stop);
        let stop = StopFlag::default();
        assert!(!found(&stop).unwrap().is_empty(), "{platform}");
        stop.set();
        assert_eq!(found(&stop).unwrap_err().code, "CANCELLED", "{platform}");
    }
}
