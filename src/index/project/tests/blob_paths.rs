//! What a blob is depends on its path too, so answers don't depend on the path under which it was indexed first.

use super::*;

/// Paths that give the same bytes different meanings: minified by its name only, a script by its first line only, a header by its mode line.
const PATHS: [(&str, [&str; 2]); 4] = [
    ("function harbour() { return 1; }\n", ["site/harbour.min.js", "site/harbour.js"]),
    ("#!/bin/sh\nharbour() { true; }\n", ["bin/harbour.in", "bin/harbour"]),
    ("// -*- C++ -*-\nclass Harbour { int ships; };\n", ["include/harbour.h", "include/harbour.c"]),
    ("harbour: 1\n", ["harbour.css.map", "harbour.yaml"]),
];

/// A repository whose branches `first` and `second` have the same blobs at other paths, and `both` has them at both.
fn repository() -> TestRoot {
    let place = TestRoot::new(&[("README.md", "# Harbour\n")]);
    place.git(&["init", "-q", "-b", "main"]);
    place.commit();
    for (branch, sides) in [("first", &[0][..]), ("second", &[1]), ("both", &[0, 1])] {
        place.git(&["checkout", "-q", "-b", branch, "main"]);
        for (text, paths) in PATHS {
            sides.iter().for_each(|side| place.write(paths[*side], text));
        }
        let lines = format!("let harbour = [{}];\n", "1, ".repeat(4_000));
        sides.iter().for_each(|side| place.write(["long.js", "long.json"][*side], &lines));
        place.commit();
    }
    place.git(&["checkout", "-q", "main"]);
    place
}

/// All that the index says about a branch.
fn answers(project: &Project, branch: &str) -> String {
    let mut found = format!("{:?}", project.status(Some(branch)).unwrap().left_out);
    for mode in [SearchMode::Text, SearchMode::Symbol, SearchMode::Auto] {
        let mut query = query("harbour", mode);
        query.shape.reference = Some(branch.to_owned());
        found += &format!("\n{:#?}", project.search(&query, &|| false).unwrap());
    }
    for path in PATHS.iter().flat_map(|(_, paths)| paths) {
        let query = OutlineQuery {
            path: path.to_string(),
            reference: Some(branch.to_owned()),
            depth: Default::default(),
            freshness: None,
        };
        found += &format!("\n{:#?}", project.outline(&query).map_err(|refused| refused.code));
    }
    found
}

#[test]
fn answers_for_a_branch_do_not_depend_on_the_branches_indexed_before() {
    let place = repository();
    let branches = ["first", "second", "both"];
    let project_in = |state: &str| {
        let settings = IndexSettings::new(2, 1 << 20, 1 << 18);
        codeyard_git::testing::use_test_binary("project::tests::reader_entry");
        Project::new(&place.dir.path().join(state), &place.root, false, settings).unwrap()
    };
    let alone = branches.map(|branch| {
        let project = project_in(&format!("alone-{branch}"));
        sync(&project, Some(branch));
        answers(&project, branch)
    });
    assert!(alone[0].contains("minified") && alone[1].contains("bash") && alone[0].contains("cpp"), "{}", alone[0]);
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let project = project_in(&format!("order-{order:?}"));
        for at in order {
            sync(&project, Some(branches[at]));
        }
        for (at, branch) in branches.iter().enumerate() {
            assert_eq!(answers(&project, branch), alone[at], "{branch} after {order:?}");
        }
        assert_eq!(project.verify().unwrap(), [""; 0]);
        // Nor on a garbage collection in between, nor on what another order has left behind.
        place.git(&["branch", "-m", "second", "hidden"]);
        assert_eq!(project.collect_garbage().unwrap().unwrap().manifests, 1);
        place.git(&["branch", "-m", "hidden", "second"]);
        sync(&project, Some("second"));
        for (at, branch) in branches.iter().enumerate() {
            assert_eq!(answers(&project, branch), alone[at], "{branch} after {order:?} and a garbage collection");
        }
    }
}

#[test]
fn a_changed_size_limit_applies_to_a_blob_that_another_branch_has_too() {
    let place = TestRoot::new(&[("a.txt", &"harbour\n".repeat(300))]);
    place.git(&["init", "-q", "-b", "main"]);
    place.commit();
    place.git(&["branch", "same"]);
    for (before, after, expected) in [(1 << 10, 1 << 20, 1), (1 << 20, 1 << 10, 0)] {
        let project = place.project();
        project.set_settings(IndexSettings::new(2, before, before));
        assert_eq!(sync(&project, Some("main")).files, 1 - expected);
        project.set_settings(IndexSettings::new(2, after, after));
        assert_eq!(sync(&project, Some("same")).files, expected);
        fs::remove_dir_all(project.index_dir.folder()).unwrap();
    }
}
