//! Inventories of repositories that real git has made.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::Duration;

use codeyard_runs::stage::StopFlag;

use super::*;
use crate::artifacts::to_bytes;
use crate::repository::checkout::{CheckoutSettings, check_out};
use crate::testing::TestRepository;

/// The inventory of a clone of the repository.
fn inventory_of(dir: &Path, repository: &TestRepository, name: &str) -> RepoInventory {
    let settings = CheckoutSettings {
        rewrites: Vec::new(),
        sources: vec![dir.to_str().unwrap().to_owned()],
        max_bytes: 512 * 1024 * 1024,
        limit: Duration::from_secs(300),
    };
    let url = repository.path().to_str().unwrap();
    let target = dir.join(name);
    let checkout = check_out(&settings, url, "main", &target, &StopFlag::default()).unwrap();
    let found = inventory(&target, &checkout, &Sites::builtin(), &StopFlag::default()).unwrap();
    let stopped = StopFlag::default();
    stopped.set();
    assert_eq!(inventory(&target, &checkout, &Sites::builtin(), &stopped).unwrap_err().code, "CANCELLED");
    found
}

#[test]
fn a_repository_is_listed_with_languages_and_manifests() {
    let dir = tempfile::tempdir().unwrap();
    let repository = TestRepository::new(&dir.path().join("source"));
    let package = b"[package]\nname = \"cells\"\nversion.workspace = true\nlicense = { workspace = true }\n";
    let root = b"[workspace]\nmembers = [\"crates/*\"]\n[workspace.package]\nversion = \"1.2.0\"\nlicense = \"MIT\"\n";
    repository.commit(
        &[
            ("Cargo.toml", root),
            ("crates/cells/Cargo.toml", package),
            ("crates/cells/src/lib.rs", b"pub fn a() {}\n"),
            ("tool", b"#!/usr/bin/env python3\nprint()\n"),
            ("README", b"plain"),
            ("readme.md", b"# Cells\n"),
            ("LICENSE-MIT", b"MIT"),
            ("COPYING", b"MIT"),
            ("examples/a.rs", b"fn main() {}\n"),
            ("tests/a.rs", b"#[test]\nfn a() {}\n"),
        ],
        "2026-01-21T10:00:00Z",
    );
    repository.run(&["tag", "v1.2.0"]);
    let found = inventory_of(dir.path(), &repository, "a");
    assert_eq!((found.files.len(), found.files_total, found.omitted.len()), (10, 10, 0));
    assert_eq!((found.readme.as_deref(), found.tags.as_slice()), (Some("readme.md"), &["v1.2.0".to_owned()][..]));
    assert_eq!(found.license_files, ["COPYING", "LICENSE-MIT"]);
    let kinds: Vec<_> = found.files.iter().map(|file| (file.path.as_str(), file.kind)).collect();
    assert!(
        kinds.contains(&("tool", FileKind::Source)) && kinds.contains(&("examples/a.rs", FileKind::Example)),
        "{kinds:?}"
    );
    let languages: Vec<_> = found.languages.iter().map(|share| (share.language.as_str(), share.files)).collect();
    assert_eq!(languages, [("python", 1), ("rust", 1)]);
    let cells = found.manifests.iter().find(|manifest| manifest.path == "crates/cells/Cargo.toml").unwrap();
    let value = |value: &Option<crate::artifacts::repository::ManifestValue>| {
        let value = value.clone().unwrap();
        (value.text, value.line, value.path)
    };
    assert_eq!(value(&cells.name), ("cells".into(), 2, None));
    assert_eq!(value(&cells.version), ("1.2.0".into(), 4, Some("Cargo.toml".into())));
    assert_eq!(value(&cells.license), ("MIT".into(), 5, Some("Cargo.toml".into())));
    let again = inventory_of(dir.path(), &repository, "b");
    assert_eq!(to_bytes(&found), to_bytes(&again));
}

#[test]
fn links_submodules_pointers_and_odd_names_are_omitted_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let repository = TestRepository::new(&dir.path().join("source"));
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    let head = repository
        .commit(&[("a.py", b"x = 1\n"), ("model.bin", pointer), ("new\nline.py", b"")], "2026-01-21T10:00:00Z");
    symlink("/etc/passwd", repository.path().join("link.py")).unwrap();
    fs::write(repository.path().join(std::ffi::OsStr::from_bytes(b"\xff.py")), "").unwrap();
    // Sparse: it costs no disk, and git stores it in a few kilobytes.
    let large = fs::File::create(repository.path().join("large.py")).unwrap();
    large.set_len(MAX_INVENTORY_FILE_BYTES + 1).unwrap();
    repository.commit(&[], "2026-01-22T10:00:00Z");
    repository.run(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},module")]);
    repository.run(&["commit", "--quiet", "--message", "submodule"]);
    let found = inventory_of(dir.path(), &repository, "a");
    let omitted: Vec<_> = found.omitted.iter().map(|file| (file.path.as_str(), file.reason.as_str())).collect();
    assert_eq!(
        omitted,
        [
            ("large.py", "too large"),
            ("link.py", "link"),
            ("model.bin", "large file storage"),
            ("module", "submodule"),
            ("\u{fffd}.py", "not UTF-8 path"),
        ]
    );
    let paths: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.py", "new\nline.py"]);
}

#[test]
fn a_readme_of_any_size_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let repository = TestRepository::new(&dir.path().join("source"));
    let readme = fs::File::create(repository.path().join("README.md")).unwrap();
    readme.set_len(50 * 1024 * 1024).unwrap();
    repository.commit(&[], "2026-01-22T10:00:00Z");
    let found = inventory_of(dir.path(), &repository, "a");
    assert_eq!((found.readme.as_deref(), found.files[0].bytes), (Some("README.md"), 50 * 1024 * 1024));
}

#[test]
fn a_readme_that_is_a_link_is_the_file_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let repository = TestRepository::new(&dir.path().join("source"));
    symlink("packages/cells/README.md", repository.path().join("README.md")).unwrap();
    repository.commit(&[("packages/cells/README.md", b"# Cells\n"), ("README.rst", b"no\n")], "2026-01-22T10:00:00Z");
    let found = inventory_of(dir.path(), &repository, "a");
    assert_eq!(found.readme.as_deref(), Some("packages/cells/README.md"));
    assert!(found.files.iter().any(|file| file.kind == FileKind::Readme && file.path == "packages/cells/README.md"));
    fs::remove_file(repository.path().join("README.md")).unwrap();
    symlink("../../../etc/passwd", repository.path().join("README.md")).unwrap();
    repository.commit(&[], "2026-01-23T10:00:00Z");
    assert_eq!(inventory_of(dir.path(), &repository, "b").readme.as_deref(), Some("README.rst"));
}

#[test]
fn sources_win_when_there_are_too_many_files() {
    let file = |path: String, kind| InventoryFile { path, bytes: 1, kind, language: None };
    let mut inventory = RepoInventory {
        schema_version: SCHEMA_VERSION.into(),
        commit: String::new(),
        commit_date: String::new(),
        tags: Vec::new(),
        files: (0..MAX_INVENTORY_FILES + 5).map(|n| file(format!("a/{n:06}"), FileKind::Other)).collect(),
        files_total: 0,
        omitted: Vec::new(),
        languages: Vec::new(),
        manifests: Vec::new(),
        readme: None,
        license_files: Vec::new(),
    };
    inventory.files.push(file("z/source".into(), FileKind::Source));
    limit_files(&mut inventory);
    assert_eq!(inventory.files.len(), MAX_INVENTORY_FILES);
    assert_eq!(inventory.files.last().unwrap().path, "z/source");
    assert_eq!((inventory.omitted.len(), inventory.omitted[0].reason.as_str()), (6, "too many files"));
}
