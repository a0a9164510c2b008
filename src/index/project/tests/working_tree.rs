//! A working tree that changes or disappears behind its index, and what git says of its files.

use super::*;
use codeyard_model::code::{DetailLevel, OutlineDepth};

fn with_bodies(project: &Project, name: &str) -> ResultRows {
    let shape = RowOptions { limit: 10, detail: DetailLevel::Context, ..RowOptions::default() };
    project.locate(&LocateQuery { by: LocateBy::Name(name.to_owned()), kind: None, shape }, &|| false).unwrap()
}

fn bodies(rows: &ResultRows) -> Vec<Option<&str>> {
    rows.rows.iter().map(|row| row.body_preview.as_deref()).collect()
}

#[test]
fn a_body_comes_only_from_the_text_that_was_indexed() {
    let place = TestRoot::new(&[
        ("moved.py", "def first():\n    return 1\n\n\ndef second():\n    return 2\n"),
        ("same.py", "def third():\n    return 3\n"),
    ]);
    let project = place.project();
    project.watch();
    sync(&project, None);
    let second = "def second():\n    return 2";
    assert_eq!(bodies(&with_bodies(&project, "second")), [Some(second)]);
    // Equal length and other lines, and a file that is gone.
    place.write("moved.py", "def second():\n    return 2\n\n\ndef first():\n    return 1\n");
    project.mark_changed(["moved.py".to_owned()]);
    let mut ranked = query("second", SearchMode::Symbol);
    ranked.shape.detail = DetailLevel::Context;
    for rows in [with_bodies(&project, "second"), project.search(&ranked, &|| false).unwrap()] {
        assert_eq!(bodies(&rows), [None]);
        let warning = rows.metadata.warnings.iter().find(|warning| warning.contains("moved.py"));
        assert!(warning.is_some_and(|warning| warning.contains("sync_repo")), "{:?}", rows.metadata.warnings);
    }
    let rows = with_bodies(&project, "third");
    assert_eq!((bodies(&rows), rows.metadata.warnings.as_slice()), (vec![Some("def third():\n    return 3")], &[][..]));
    fs::remove_file(place.root.join("same.py")).unwrap();
    assert_eq!(bodies(&with_bodies(&project, "third")), [None]);
    sync(&project, None);
    assert_eq!(bodies(&with_bodies(&project, "second")), [Some(second)]);
}

#[test]
fn a_root_that_is_gone_is_no_complete_answer() {
    let place = TestRoot::new(&[("a.py", "def alpha():\n    pass\n")]);
    let project = place.project();
    project.watch();
    sync(&project, None);
    let away = place.dir.path().join("away");
    fs::rename(&place.root, &away).unwrap();
    for mode in [SearchMode::Text, SearchMode::Symbol] {
        let rows = project.search(&query("alpha", mode), &|| false).unwrap();
        assert_eq!(rows.metadata.completeness, Completeness::Partial, "{mode:?}");
        assert_eq!(rows.metadata.freshness, Freshness::Stale, "{mode:?}");
        let root = place.root.to_str().unwrap();
        assert!(rows.metadata.warnings.iter().any(|warning| warning.contains(root)), "{:?}", rows.metadata.warnings);
    }
    assert_eq!(project.metadata().completeness, Completeness::Partial);
    fs::rename(&away, &place.root).unwrap();
    let rows = project.search(&query("alpha", SearchMode::Text), &|| false).unwrap();
    assert_eq!((rows.rows.len(), rows.metadata.completeness), (1, Completeness::Complete));
}

#[test]
fn tracked_files_are_indexed_although_a_rule_ignores_them() {
    let place = TestRoot::new(&[
        (".gitignore", "build/\n*.log\n"),
        ("build/keep.py", "kept_name = 1\n"),
        ("build/out.py", "kept_name = 2\n"),
        ("build/deep/keep.py", "kept_name = 3\n"),
        ("build/other/out.py", "kept_name = 4\n"),
        ("kept.log", "kept_name = 5\n"),
        ("out.log", "kept_name = 6\n"),
    ]);
    place.git(&["init", "-q", "-b", "main"]);
    place.git(&["add", "-f", "build/keep.py", "build/deep/keep.py", "kept.log"]);
    let found = |project: &Project| {
        lines(project, "kept_name").iter().map(|line| line.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let project = place.project();
    project.watch();
    sync(&project, None);
    assert_eq!(found(&project), ["build/deep/keep.py", "build/keep.py", "kept.log"]);
    let path = "build/keep.py".to_owned();
    let outline = OutlineQuery { path, reference: None, depth: OutlineDepth::All, freshness: None };
    assert_eq!(project.outline(&outline).unwrap().symbols.len(), 1);
    assert_eq!(with_bodies(&project, "kept_name").rows.len(), 2);
    // A job for single files lists the same.
    place.write("build/keep.py", "kept_name = 11\n");
    place.write("build/out.py", "kept_name = 12\n");
    project.mark_changed(["build/keep.py".to_owned(), "build/out.py".to_owned()]);
    sync(&project, None);
    assert_eq!(found(&project), ["build/deep/keep.py", "build/keep.py", "kept.log"]);
    place.git(&["rm", "-q", "-f", "--cached", "build/deep/keep.py"]);
    project.mark_all_changed();
    sync(&project, None);
    assert_eq!(found(&project), ["build/keep.py", "kept.log"]);
    // codeyard's own rules are for tracked files, too.
    place.write(".codeyardignore", "build/\n");
    project.mark_all_changed();
    sync(&project, None);
    assert_eq!(found(&project), ["kept.log"]);
}

#[test]
fn a_linked_worktree_below_the_root_is_not_indexed_with_it() {
    let place = TestRoot::new(&[("a.py", "def alpha():\n    pass\n")]);
    place.git(&["init", "-q", "-b", "main"]);
    place.commit();
    place.git(&["worktree", "add", "-q", "--detach", ".claude/worktrees/x"]);
    // Another repository is no copy.
    place.write("other/b.py", "def alpha():\n    pass\n");
    git(&place.root.join("other"), &["init", "-q"]);
    let project = place.project();
    sync(&project, None);
    assert_eq!(lines(&project, "alpha"), ["a.py:1:def alpha():", "other/b.py:1:def alpha():"]);
    let inner = place.root.join(".claude/worktrees/x");
    fs::create_dir(inner.join("sub")).unwrap();
    fs::write(inner.join("sub/c.py"), "def alpha():\n    pass\n").unwrap();
    let worktree = place.project_of(&inner);
    sync(&worktree, None);
    assert_eq!(lines(&worktree, "alpha"), ["a.py:1:def alpha():", "sub/c.py:1:def alpha():"]);
}

#[test]
fn files_whose_lines_are_counted_otherwise_elsewhere_are_named() {
    let place = TestRoot::new(&[
        ("odd.py", "# a stray\r # return\nx = 1\ndef target():\n    return x\n"),
        ("plain.py", "def target():\r\n    return 2\r\n"),
    ]);
    let project = place.project();
    sync(&project, None);
    let named = |warnings: &[String]| {
        let warning = warnings.iter().find(|warning| warning.contains("U+2028"));
        warning.is_some_and(|warning| warning.contains("odd.py") && !warning.contains("plain.py"))
    };
    assert_eq!(lines(&project, "def target"), ["odd.py:3:def target():", "plain.py:1:def target():"]);
    let rows = project.search(&query("def target", SearchMode::Text), &|| false).unwrap();
    assert!(named(&rows.metadata.warnings), "{:?}", rows.metadata.warnings);
    assert!(named(&with_bodies(&project, "target").metadata.warnings));
    for (path, is_named) in [("odd.py", true), ("plain.py", false)] {
        let path = path.to_owned();
        let outline = OutlineQuery { path, reference: None, depth: OutlineDepth::All, freshness: None };
        assert_eq!(named(&project.outline(&outline).unwrap().metadata.warnings), is_named);
    }
}
