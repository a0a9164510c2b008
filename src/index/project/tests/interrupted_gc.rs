//! A garbage collection that ends at any step, as with its process, loses nothing.

use super::*;

/// Files that stay, so many that a segment covers them.
const KEPT: usize = 300;

/// Files that are deleted, so many that their contents are removed from the segment.
const DELETED: usize = 10;

/// An index with unreferenced contents: those with `early` were replaced, others were deleted.
fn with_unused_contents() -> (TestRoot, Project) {
    let place = TestRoot::new(&[("a.rs", "fn early() {}\n"), ("b.md", "# Early words\n"), ("c.txt", "early text\n")]);
    (0..KEPT).for_each(|at| place.write(&format!("{at}.rs"), &format!("fn kept_{at}() {{}}\n")));
    (0..DELETED).for_each(|at| place.write(&format!("deleted{at}.rs"), &format!("fn deleted_{at}() {{}}\n")));
    let project = place.project();
    sync(&project, None);
    (0..DELETED).for_each(|at| fs::remove_file(place.root.join(format!("deleted{at}.rs"))).unwrap());
    for (path, text) in [("a.rs", "fn later() {}\n"), ("b.md", "# Later words\n"), ("c.txt", "later text\n")] {
        place.write(path, text);
    }
    sync(&project, None);
    (place, project)
}

/// Puts the files back, and asserts that an ordinary job makes them found again.
fn assert_recovers(place: &TestRoot, project: &Project, step: &str) {
    assert_eq!(project.verify().unwrap(), [""; 0], "{step}");
    assert_eq!(located(project, LocateBy::Name("later".to_owned())).unwrap().rows.len(), 1, "{step}");
    for (path, text) in [("a.rs", "fn early() {}\n"), ("b.md", "# Early words\n"), ("c.txt", "early text\n")] {
        place.write(path, text);
    }
    for project in [project, &place.project()] {
        let summary = sync(project, None);
        assert_eq!(summary.symbols, KEPT as u64 + 2, "{step}");
        for name in ["early", "Early words", "kept_7"] {
            assert_eq!(located(project, LocateBy::Name(name.to_owned())).unwrap().rows.len(), 1, "{step}: {name}");
        }
        assert_eq!(lines(project, "early").len(), 3, "{step}");
        assert_eq!(project.verify().unwrap(), [""; 0], "{step}");
        assert!(project.collect_garbage().unwrap().is_some(), "{step}");
    }
}

#[test]
fn a_garbage_collection_that_ends_before_the_symbols_are_removed_loses_none() {
    let (place, project) = with_unused_contents();
    let symbols = project.index_dir.symbols().unwrap();
    let held = symbols.writer().unwrap();
    assert!(project.collect_garbage().is_err());
    drop(held);
    assert_recovers(&place, &project, "no symbol was removed");
}

#[test]
fn a_garbage_collection_that_ends_when_the_symbols_are_removed_loses_none() {
    let (place, project) = with_unused_contents();
    let database = rusqlite::Connection::open(project.index_dir.folder().join("index.sqlite")).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE DELETE ON contents BEGIN SELECT RAISE(ABORT, 'as if killed'); END";
    database.execute_batch(refuse).unwrap();
    assert!(project.collect_garbage().is_err());
    database.execute_batch("DROP TRIGGER refuse").unwrap();
    assert_recovers(&place, &project, "the contents are still there");
}

#[test]
fn a_garbage_collection_that_ends_before_segments_are_merged_loses_nothing() {
    let (place, project) = with_unused_contents();
    let (reserved, _) = project.index_dir.reader().unwrap().reserved_numbers().unwrap();
    // A folder is where the merged segment would be written.
    let obstacle = project.index_dir.segment_path(&format!("{}.seg", reserved + 1));
    fs::create_dir(&obstacle).unwrap();
    assert!(project.collect_garbage().is_err());
    assert_eq!(project.stats().unwrap().contents.0, KEPT as u64 + 3, "the contents are removed");
    fs::remove_dir(&obstacle).unwrap();
    assert_recovers(&place, &project, "the contents are gone");
}

#[test]
fn verify_reports_symbols_that_are_missing_from_the_symbol_index() {
    let (_place, project) = with_unused_contents();
    let (_, _, view) = project.find_view(None, None, true).unwrap().unwrap();
    let manifest = view.unwrap().manifest.clone();
    let mut writer = project.index_dir.symbol_writer().unwrap();
    writer.remove(&[manifest.find("7.rs").unwrap().content, manifest.find("8.rs").unwrap().content]);
    writer.commit().unwrap();
    drop(writer);
    let problems = project.verify().unwrap();
    assert!(problems.len() == 1 && problems[0].contains("2 contents"), "{problems:?}");
}

#[test]
fn a_job_that_ends_between_the_symbol_index_and_the_database_adds_no_symbol_twice() {
    let place = TestRoot::new(&[("a.rs", "fn early() {}\n")]);
    let project = place.project();
    drop(project.index_dir.writer().unwrap());
    project.index_dir.symbols().unwrap();
    let database = rusqlite::Connection::open(project.index_dir.folder().join("index.sqlite")).unwrap();
    let refuse =
        "CREATE TRIGGER refuse BEFORE UPDATE OF symbols ON contents BEGIN SELECT RAISE(ABORT, 'as if killed'); END";
    database.execute_batch(refuse).unwrap();
    let ticket = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
    project.run(&ticket).unwrap_err();
    database.execute_batch("DROP TRIGGER refuse").unwrap();
    sync(&project, None);
    let symbols = project.index_dir.symbols().unwrap().symbols_by_content().unwrap();
    assert_eq!(symbols.into_values().collect::<Vec<_>>(), [1]);
}
