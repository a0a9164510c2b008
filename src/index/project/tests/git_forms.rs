//! Repositories of unusual forms: bare, partial, with replaced objects, in formats that aren't read.

use super::*;
use codeyard_model::code::OutlineDepth;

fn indexed(project: &Project, reference: &str) -> Result<(), String> {
    let ticket = project.prepare(Some(reference), false).unwrap_or_else(|active| panic!("{active:?}"));
    project.run(&ticket).map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_branch_that_has_moved_says_so() {
    let place = TestRoot::new(&[("a.py", "old_name = 1\n")]);
    place.git(&["init", "-q", "-b", "main"]);
    place.commit();
    let project = place.project();
    sync(&project, Some("main"));
    assert!(!project.is_behind("main") && !project.is_behind("none"));
    let mut of_main = query("_name", SearchMode::Text);
    of_main.shape.reference = Some("main".to_owned());
    assert_eq!(project.search(&of_main, &|| false).unwrap().metadata.warnings, Vec::<String>::new());
    place.write("a.py", "new_name = 1\n");
    place.commit();
    assert!(project.is_behind("main"));
    let rows = project.search(&of_main, &|| false).unwrap();
    assert_eq!(rows.metadata.freshness, Freshness::Stale);
    assert!(rows.metadata.warnings.iter().any(|warning| warning.contains("'main' has moved")));
    sync(&project, Some("main"));
    assert_eq!(lines_at(&project, "_name", Some("main")), ["a.py:1:new_name = 1"]);
}

#[test]
fn replaced_objects_are_read_as_git_shows_them() {
    let place = TestRoot::new(&[("a.py", "def first_name(): pass\n"), ("b.py", "def kept(): pass\n")]);
    place.git(&["init", "-q", "-b", "main"]);
    let one = place.commit();
    place.write("a.py", "def other_name(): pass\n");
    let two = place.commit();
    let blob = |commit: &str| place.git(&["rev-parse", &format!("{commit}:a.py")]);
    place.git(&["reset", "-q", "--hard", &one]);
    let project = place.project();
    // What `git show` prints; tests run git without replaced objects.
    let agree = |step: &str, shown: &str| {
        sync(&project, Some("main"));
        assert!(!project.is_behind("main"), "{step}");
        assert_eq!(lines_at(&project, "_name", Some("main")), [format!("a.py:1:{shown}")], "{step}");
        let path = "a.py".to_owned();
        let reference = Some("main".to_owned());
        let outline = OutlineQuery { path, reference, depth: OutlineDepth::All, freshness: None };
        let names: Vec<String> =
            project.outline(&outline).unwrap().symbols.into_iter().map(|symbol| symbol.name).collect();
        assert!(names.len() == 1 && shown.contains(&names[0]), "{step}: {names:?} and {shown}");
    };
    let first = "def first_name(): pass";
    let other = "def other_name(): pass";
    agree("before", first);
    place.git(&["replace", &blob(&one), &blob(&two)]);
    assert!(project.is_behind("main"));
    agree("a replaced blob", other);
    place.git(&["replace", "-d", &blob(&one)]);
    assert!(project.is_behind("main"));
    agree("after", first);
    place.git(&["replace", &one, &two]);
    agree("a replaced commit", other);
    place.git(&["pack-refs", "--all"]);
    agree("packed", other);
}

#[test]
fn a_bare_repository_has_branches_and_no_working_tree() {
    let origin = TestRoot::new(&[("a.py", "alpha = 1\n")]);
    origin.git(&["init", "-q", "-b", "main"]);
    origin.commit();
    let place = TestRoot::new(&[]);
    place.git(&["clone", "-q", "--bare", origin.root.to_str().unwrap(), "r.git"]);
    let project = place.project_of(&place.root.join("r.git"));
    sync(&project, Some("main"));
    assert_eq!(lines_at(&project, "alpha", Some("main")), ["a.py:1:alpha = 1"]);
    let ticket = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
    assert_eq!(project.run(&ticket), Err(JobError::Bare));
    let refused = project.search(&query("alpha", SearchMode::Text), &|| false).unwrap_err();
    assert!(refused.message.contains("bare"), "{}", refused.message);
}

#[test]
fn a_clone_without_trees_names_what_is_missing() {
    let origin = TestRoot::new(&[("a.py", "alpha = 1\n")]);
    origin.git(&["init", "-q", "-b", "main"]);
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.commit();
    origin.git(&["tag", "v1"]);
    origin.write("sub/b.py", "alpha = 2\n");
    origin.commit();
    let place = TestRoot::new(&[]);
    let url = format!("file://{}", origin.root.display());
    let fetching = |dir: &Path, arguments: &[&str]| {
        let git = codeyard_process::git::Git::new(dir).env("GIT_NO_LAZY_FETCH", "0");
        git.config("protocol.file.allow=always").args(arguments).text().unwrap()
    };
    fetching(&place.root, &["clone", "-q", "--filter=tree:0", &url, "clone"]);
    let root = place.root.join("clone");
    let project = place.project_of(&root);
    let why = indexed(&project, "v1").unwrap_err();
    assert!(why.contains("partial clone") && why.contains("git archive"), "{why}");
    fetching(&root, &["archive", "--output", "/dev/null", "v1"]);
    assert_eq!(indexed(&project, "v1"), Ok(()));
    assert_eq!(lines_at(&project, "alpha", Some("v1")), ["a.py:1:alpha = 1"]);
    // A name that doesn't exist is still just that.
    assert!(indexed(&project, &"1".repeat(40)).unwrap_err().contains("no branch, tag or commit"));
}

#[test]
fn formats_that_are_not_read_are_named() {
    for (option, named) in [("--object-format=sha256", "SHA-256"), ("--ref-format=reftable", "reftable")] {
        let place = TestRoot::new(&[("a.py", "alpha = 1\n"), (".gitignore", "*.log\n"), ("b.log", "alpha")]);
        if git_or_none(&place.root, &["init", "-q", "-b", "main", option]).is_none() {
            // An old git has no reftable.
            continue;
        }
        place.git(&["add", "-f", "b.log"]);
        place.commit();
        let project = place.project();
        let why = indexed(&project, "main").unwrap_err();
        assert!(why.contains(named), "{why}");
        let mut of_main = query("alpha", SearchMode::Text);
        of_main.shape.reference = Some("main".to_owned());
        let refused = project.search(&of_main, &|| false).unwrap_err();
        assert!(refused.message.contains(named), "{}", refused.message);
        // The working tree is indexed nevertheless, with its tracked files.
        sync(&project, None);
        assert_eq!(lines(&project, "alpha"), ["a.py:1:alpha = 1", "b.log:1:alpha"]);
    }
}

fn git_or_none(root: &Path, arguments: &[&str]) -> Option<String> {
    codeyard_process::git::run_git(root, arguments).ok()
}

#[test]
fn a_submodule_with_a_sparse_checkout_is_read() {
    let library = TestRoot::new(&[("s/a.py", "alpha = 1\n")]);
    library.git(&["init", "-q", "-b", "main"]);
    library.commit();
    let place = TestRoot::new(&[]);
    place.git(&["init", "-q", "-b", "main"]);
    place.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "lib"]);
    let root = place.root.join("lib");
    git(&root, &["sparse-checkout", "set", "s"]);
    let project = place.project_of(&root);
    sync(&project, Some("main"));
    assert_eq!(lines_at(&project, "alpha", Some("main")), ["s/a.py:1:alpha = 1"]);
}
