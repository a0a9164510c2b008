//! Working copies of real git: what is written, what is refused, and what a comparison shows.

use serde_json::json;

use super::*;
use crate::artifacts::page_claims::ClaimedPage;
use crate::test_product;
use crate::testing::TestRepository;

fn config(budgets: serde_json::Value) -> RunConfig {
    test_product::config(|value| {
        value["required_sections"] = json!(["docs"]);
        value["budgets"] = budgets;
    })
}

fn draft(path: &str, text: &str) -> PageDraft {
    let claims = ClaimedPage { path: path.into(), blocks: Vec::new() };
    PageDraft { path: path.into(), text: text.into(), claims }
}

fn allowed() -> AllowedPaths {
    AllowedPaths::parse(&["content/**"]).unwrap()
}

/// A site with three files in its folder, and its commit.
struct Site {
    repository: TestRepository,
    commit: String,
    _dir: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repository = TestRepository::new(&dir.path().canonicalize().unwrap().join("site"));
        let files: [(&str, &[u8]); 3] =
            [("content/a.md", b"one\ntwo\n"), ("content/z.md", b"last\n"), (".gitignore", b"*.tmp.md\n")];
        let commit = repository.commit(&files, "2026-01-20T10:00:00Z");
        Self { repository, commit, _dir: dir }
    }

    fn path(&self) -> &Path {
        self.repository.path()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path().join(path), text).unwrap();
    }
}

#[test]
fn a_bundle_is_written_and_compared_and_written_again_without_a_change() {
    let site = Site::new();
    let drafts = [draft("content/new/b.tmp.md", "b\n"), draft("content/a.md", "one\n2\n")];
    let bundle = bundle(&drafts, &site.commit, site.path(), &config(json!({}))).unwrap();
    assert_eq!(bundle.files[0].sha256_before, Some(sha256hex("one\ntwo\n")));
    assert_eq!(bundle.files[1].sha256_before, None);
    apply(site.path(), &allowed(), &bundle).unwrap();
    fs::remove_file(site.path().join("content/z.md")).unwrap();
    let report = diff_report(site.path(), &site.commit, &StopFlag::default()).unwrap();
    let shown: Vec<(&str, &str, usize, usize)> = report
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.change.as_str(), file.lines_added, file.lines_removed))
        .collect();
    // A page that the site's rules ignore is shown, too.
    assert_eq!(
        shown,
        [
            ("content/a.md", "modified", 1, 1),
            ("content/new/b.tmp.md", "added", 1, 0),
            ("content/z.md", "removed", 0, 1)
        ]
    );
    assert_eq!((report.lines_added, report.lines_removed, report.is_cut), (2, 2, false));
    assert!(report.diff.contains("-two\n+2\n"), "{}", report.diff);
    assert_eq!(site.repository.run(&["status", "--short", "--untracked-files=no"]), "M content/a.md\n D content/z.md");

    apply(site.path(), &allowed(), &bundle).unwrap();
    assert_eq!(diff_report(site.path(), &site.commit, &StopFlag::default()).unwrap(), report);
}

#[test]
fn nothing_is_written_if_one_path_is_not_allowed() {
    let site = Site::new();
    std::os::unix::fs::symlink("/tmp", site.path().join("content/out")).unwrap();
    for path in ["layouts/x.html", "content/../x.md", "content/out/x.md", ".git/config", "content/.GIT/x", "/etc/x"] {
        let files = [("content/ok.md", "ok"), (path, "bad")].map(|(path, text)| PatchedFile {
            path: path.into(),
            sha256_before: None,
            content: Some(text.into()),
        });
        let bundle = PatchBundle {
            schema_version: SCHEMA_VERSION.into(),
            patch_id: FIRST_PATCH.into(),
            base_commit: site.commit.clone(),
            files: files.into(),
        };
        let error = apply(site.path(), &allowed(), &bundle).unwrap_err();
        assert_eq!((error.code, &error.details["paths"]), ("ALLOWED_PATHS_VIOLATION", &json!([path])), "{path}");
        assert!(!site.path().join("content/ok.md").exists(), "{path}");
    }
}

#[test]
fn names_that_only_look_like_allowed_ones_are_refused() {
    let site = Site::new();
    let composed = "content/caf\u{e9}/x.md";
    let decomposed = "content/cafe\u{301}/x.md";
    for (entries, path) in [
        ("content/**", "Content/x.md"),
        ("content/**", "CONTENT/X.MD"),
        ("content/**", "content /x.md"),
        ("content/**", "content\u{200b}/x.md"),
        // Cyrillic `о`, full-width letters, and a division slash.
        ("content/**", "c\u{43e}ntent/x.md"),
        ("content/**", "\u{ff43}ontent/x.md"),
        ("content/**", "content\u{2215}x.md"),
        ("content/**", "content\\..\\x.md"),
        ("content/**", "content/..\\x.md"),
        ("content/**", "content/\u{0}x.md"),
        ("content/**", "content/a\nb.md"),
        ("content/**", "C:/content/x.md"),
        ("content/**", "./content/x.md"),
        ("content/**", "content//x.md"),
        ("content/**", "content/./x.md"),
        ("content/**", "content/"),
        ("content/**", "content/.g\u{200c}it/x"),
        ("content/**", "content/.gi\u{2060}T/x"),
        ("content/**", "content/.git ./x"),
        ("content/**", "content/GIT~1/x"),
        ("content/**", "content/.git::$INDEX_ALLOCATION/x"),
        ("content/**", "content/.gitmodules"),
        ("**", ".g\u{200c}it/hooks/post-commit"),
        ("content/caf\u{e9}/**", decomposed),
        ("content/cafe\u{301}/**", composed),
        ("content/docs", "content/docs2/x.md"),
        ("content/docs", "content/docs/en/x.md"),
    ] {
        let allowed = AllowedPaths::parse(&[entries]).unwrap();
        let file = PatchedFile { path: path.into(), sha256_before: None, content: Some("bad".into()) };
        let bundle = PatchBundle {
            schema_version: SCHEMA_VERSION.into(),
            patch_id: FIRST_PATCH.into(),
            base_commit: site.commit.clone(),
            files: vec![file],
        };
        let error = apply(site.path(), &allowed, &bundle).unwrap_err();
        assert_eq!((error.code, &error.details["paths"]), ("ALLOWED_PATHS_VIOLATION", &json!([path])), "{path:?}");
        let report = diff_report(site.path(), &site.commit, &StopFlag::default()).unwrap();
        assert_eq!(report.files, [], "{path:?}");
    }
    // The same names are no others where they are spelled the same.
    for (entries, path) in [("content/caf\u{e9}/**", composed), ("content/cafe\u{301}/**", decomposed)] {
        let allowed = AllowedPaths::parse(&[entries]).unwrap();
        assert_eq!(targets(site.path(), &allowed, [path].into_iter()).unwrap(), [site.path().join(path)]);
    }
}

#[test]
fn budgets_are_enforced_and_named() {
    let site = Site::new();
    let drafts = [draft("content/b.md", "1\n2\n3\n"), draft("content/c.md", "1\n")];
    let refused = |budgets| bundle(&drafts, &site.commit, site.path(), &config(budgets)).unwrap_err();
    let lines = refused(json!({"max_lines_per_file": 2}));
    assert_eq!((lines.code, &lines.details["budget"]), ("INVALID_INPUT", &json!("max_lines_per_file")));
    assert_eq!(lines.details["paths"], json!(["content/b.md"]));
    let files = refused(json!({"max_files_changed": 1}));
    assert_eq!(files.details["budget"], json!("max_files_changed"));
}

#[test]
fn a_comparison_that_is_too_large_is_cut_at_a_file() {
    let site = Site::new();
    let line = format!("{}\n", "x".repeat(1_000));
    site.write("content/b.md", "small\n");
    site.write("content/big[1].md", &line.repeat(MAX_DIFF_BYTES / 1_000 + 10));
    site.write("content/c.md", "small\n");
    let report = diff_report(site.path(), &site.commit, &StopFlag::default()).unwrap();
    assert_eq!((report.files.len(), report.is_cut), (3, true));
    assert!(report.diff.contains("content/b.md") && !report.diff.contains("big[1]"), "{}", report.diff.len());
}

#[test]
fn a_comparison_that_is_stopped_leaves_nothing_behind() {
    let site = Site::new();
    let stop = StopFlag::default();
    stop.set();
    assert_eq!(diff_report(site.path(), &site.commit, &stop).unwrap_err().code, "CANCELLED");
    let left = fs::read_dir(site.path().join(".git")).unwrap().filter_map(Result::ok);
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains("codeyard-index")));
}
