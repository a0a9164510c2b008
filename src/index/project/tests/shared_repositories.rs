//! Several roots in one git repository share contents, and nothing else.

use super::*;

/// A repository with the folders `a` and `b`, and a file at its top; all of them are on the branch `main`.
fn repository() -> TestRoot {
    let place = TestRoot::new(&[
        ("top.rs", "fn harbour_top() {}\n"),
        ("a/own.rs", "fn harbour_a() {}\n"),
        ("b/own.rs", "fn harbour_b() {}\n"),
        ("b/deep/own.rs", "fn harbour_b() {}\n"),
    ]);
    place.git(&["init", "-q", "-b", "main"]);
    place.commit();
    place
}

/// The project of the folder with this path below the top.
fn project_at(place: &TestRoot, folder: &str) -> Project {
    place.project_of(&place.root.join(folder).canonicalize().unwrap())
}

/// The lines that `root` finds in the branch, with the number of its files as the status shows it.
fn found(project: &Project, reference: &str) -> (Vec<String>, u64) {
    let files = project.health(Some(reference)).file_count;
    (lines_at(project, "harbour", Some(reference)), files)
}

fn expected(root: &str) -> (Vec<String>, u64) {
    let lines: &[&str] = match root {
        "a" => &["own.rs:1:fn harbour_a() {}"],
        "b" => &["deep/own.rs:1:fn harbour_b() {}", "own.rs:1:fn harbour_b() {}"],
        "b/deep" => &["own.rs:1:fn harbour_b() {}"],
        _ => &[
            "a/own.rs:1:fn harbour_a() {}",
            "b/deep/own.rs:1:fn harbour_b() {}",
            "b/own.rs:1:fn harbour_b() {}",
            "top.rs:1:fn harbour_top() {}",
        ],
    };
    (lines.iter().map(|line| (*line).to_owned()).collect(), lines.len() as u64)
}

/// Asserts that an unindexed branch or commit is refused, whatever another root has indexed.
fn assert_not_indexed(project: &Project, references: &[&str]) {
    for reference in references {
        let refused = project.status(Some(reference)).unwrap_err();
        assert_eq!(refused.code, CodeError::RefNotIndexed, "{reference}");
        let mut query = query("harbour", SearchMode::Text);
        query.shape.reference = Some((*reference).to_owned());
        assert_eq!(project.search(&query, &|| false).unwrap_err().code, CodeError::RefNotIndexed, "{reference}");
        assert_eq!(project.health(Some(reference)).file_count, 0, "{reference}");
    }
}

#[test]
fn each_root_of_a_repository_finds_its_own_files_of_a_branch() {
    for order in [["a", "b"], ["b", "a"], ["", "a"], ["a", ""], ["b", "b/deep"], ["b/deep", "b"], ["", "b/deep"]] {
        let place = repository();
        let commit = place.git(&["rev-parse", "HEAD"]);
        let references = ["main", &commit, &commit[..10], "HEAD"];
        let [first, second] = order.map(|root| project_at(&place, root));
        assert_eq!(first.index_dir.folder(), second.index_dir.folder(), "they share contents");
        assert_eq!(sync(&first, Some("main")).files, expected(order[0]).1, "{order:?}");
        assert_not_indexed(&second, &references);
        assert!(second.prepare(Some("main"), false).is_ok_and(|ticket| ticket.mode == JobMode::Full), "{order:?}");
        let second = project_at(&place, order[1]);
        assert_eq!(sync(&second, Some("main")).files, expected(order[1]).1, "{order:?}");
        // The garbage collection of either root deletes nothing of the other one.
        for collector in [&first, &second] {
            for reference in references {
                assert_eq!(found(&first, reference), expected(order[0]), "{order:?}: {reference}");
                assert_eq!(found(&second, reference), expected(order[1]), "{order:?}: {reference}");
            }
            let removed = collector.collect_garbage().unwrap().unwrap();
            assert_eq!((removed.manifests, removed.contents), (0, 0), "{order:?}");
            assert_eq!(collector.verify().unwrap(), [""; 0]);
        }
        // A new commit of the branch, indexed by one root only.
        let addition = place.root.join(order[0]).join("zz_new.rs");
        fs::write(addition, "fn harbour_new() {}\n").unwrap();
        let moved = place.commit();
        sync(&first, Some("main"));
        assert_eq!(found(&second, "main"), expected(order[1]), "{order:?}");
        assert_eq!(second.status(Some("main")).unwrap().metadata.freshness, Freshness::Stale);
        assert_not_indexed(&second, &[&moved]);
        sync(&second, Some(&moved));
        assert!(found(&first, &moved).0.iter().any(|line| line.contains("harbour_new")), "{order:?}");
        let sees_new = order[0].starts_with(order[1]);
        assert_eq!(found(&second, &moved).0.iter().any(|line| line.contains("harbour_new")), sees_new, "{order:?}");
    }
}

#[test]
fn a_repository_that_appears_below_a_root_shows_nothing_of_the_one_around_it() {
    let place = repository();
    let below = place.root.join("b");
    let top = place.project();
    let project = place.project_of(&below);
    sync(&top, Some("main"));
    sync(&project, Some("main"));
    // The folder of the root becomes a repository of its own, while the root is open.
    git(&below, &["init", "-q", "-b", "main"]);
    git(&below, &["add", "own.rs"]);
    git(&below, &["commit", "-q", "-m", "x"]);
    assert_not_indexed(&project, &["main", "HEAD"]);
    assert_eq!(project.collect_garbage().unwrap().unwrap().manifests, 0);
    assert_eq!(sync(&project, Some("main")).files, 1);
    assert_eq!(lines_at(&project, "harbour", Some("main")), ["own.rs:1:fn harbour_b() {}"]);
    assert_eq!(found(&top, "main"), expected(""));
    // The manifests of a repository that is gone are deleted.
    fs::remove_dir_all(below.join(".git")).unwrap();
    assert_eq!(found(&project, "main"), expected("b"));
    assert_eq!(project.collect_garbage().unwrap().unwrap().manifests, 1);
    assert_eq!((found(&top, "main"), found(&project, "main")), (expected(""), expected("b")));
}

#[test]
fn the_same_folder_in_two_working_trees_shares_the_files_of_a_branch() {
    let place = repository();
    let tree = place.dir.path().canonicalize().unwrap().join("tree");
    place.git(&["worktree", "add", "-q", tree.to_str().unwrap(), "-b", "other"]);
    let here = place.project_of(&place.root.join("b"));
    let there = place.project_of(&tree.join("b"));
    sync(&here, Some("main"));
    assert_eq!(found(&there, "main"), expected("b"));
    assert_not_indexed(&place.project_of(&tree), &["main"]);
    assert_not_indexed(&place.project_of(&tree.join("a")), &["main"]);
}
