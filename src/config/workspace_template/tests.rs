//! Tests of patterns of workspaces.

use super::*;

fn expand(text: &str, folders: &[&str], before: &[WorkspaceConfig]) -> ExpandedConfig {
    expand_with(text, folders, &[], before)
}

/// Expands with these folders and their parents; those of `unreadable` can't be listed.
fn expand_with(text: &str, folders: &[&str], unreadable: &[&str], before: &[WorkspaceConfig]) -> ExpandedConfig {
    let there = folders.iter().flat_map(|folder| Path::new(folder).ancestors().map(Path::to_path_buf)).collect();
    let unreadable = unreadable.iter().map(PathBuf::from).collect();
    expand_tree(text, &FolderTree { there, unreadable, links: BTreeMap::new() }, before)
}

fn expand_tree(text: &str, tree: &FolderTree, before: &[WorkspaceConfig]) -> ExpandedConfig {
    crate::parse(text, Path::new("/etc/codeyard")).expect(text).expanded(tree, before)
}

/// Folders that aren't on the disk.
struct FolderTree {
    there: BTreeSet<PathBuf>,
    unreadable: BTreeSet<PathBuf>,
    /// Those of them that are links, and where each leads.
    links: BTreeMap<PathBuf, PathBuf>,
}

impl FolderSource for FolderTree {
    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        if self.unreadable.contains(folder) {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        if !self.there.contains(folder) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let inside = self.there.iter().filter(|path| path.parent() == Some(folder)).rev();
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn real_path(&self, folder: &Path) -> PathBuf {
        self.links.get(folder).cloned().unwrap_or_else(|| folder.to_path_buf())
    }
}

fn names_and_roots(expanded: &ExpandedConfig) -> Vec<(&str, &str)> {
    let each = expanded.config.workspaces.iter();
    each.map(|workspace| (workspace.name.as_str(), workspace.roots[0].to_str().unwrap_or_default())).collect()
}

const ALL: &str = "[[workspaces_from]]\nroots = [\"/srv/*\"]\n";

#[test]
fn each_matching_folder_is_a_workspace_with_the_settings_of_the_table() {
    let text = "[[workspaces_from]]\nroots = [\"/srv/*\"]\nprewarm = true\nexclude = [\"*.bak\", \"/srv/old\"]\n";
    let expanded = expand(text, &["/srv/b", "/srv/A b", "/srv/.git", "/srv/c.bak", "/srv/old", "/srv/b/inner"], &[]);
    assert_eq!(names_and_roots(&expanded), [("a-b", "/srv/A b"), ("b", "/srv/b")]);
    assert!(expanded.config.workspaces.iter().all(|workspace| workspace.prewarm == Prewarm::All(true)));
    assert_eq!(expanded.problems, Vec::<String>::new());
}

#[test]
fn a_pattern_may_have_several_levels_and_names_may_hold_the_parent() {
    let text = "[[workspaces_from]]\nroots = [\"/srv/{x,y}/*/src\"]\nname = \"{parent}.{folder}\"\n";
    let expanded = expand(text, &["/srv/x/one/src", "/srv/y/two/src", "/srv/z/three/src", "/srv/x/four/lib"], &[]);
    assert_eq!(names_and_roots(&expanded), [("one.src", "/srv/x/one/src"), ("two.src", "/srv/y/two/src")]);
}

#[test]
fn a_relative_pattern_starts_at_the_folder_of_the_file() {
    let expanded = expand("[[workspaces_from]]\nroots = [\"../repos/*\"]\n", &["/etc/codeyard/../repos/a"], &[]);
    assert_eq!(names_and_roots(&expanded), [("a", "/etc/codeyard/../repos/a")]);
}

#[test]
fn workspaces_of_the_file_win_over_patterns_and_keep_their_names() {
    let text =
        "[[workspace]]\nname = \"b\"\nroots = [\"/srv/a\"]\n[[workspaces_from]]\nroots = [\"/srv/*\", \"/srv/a*\"]\n";
    let expanded = expand(text, &["/srv/a", "/srv/b"], &[]);
    assert_eq!(names_and_roots(&expanded), [("b", "/srv/a"), ("b-2", "/srv/b")]);
}

#[test]
fn a_folder_is_one_workspace_however_many_links_lead_to_it() {
    let tree = |links: &[(&str, &str)]| {
        let folders = ["/srv/a-link", "/srv/m", "/srv/repo", "/srv/z", "/elsewhere/repo"];
        FolderTree {
            there: folders.iter().flat_map(|folder| Path::new(folder).ancestors().map(Path::to_path_buf)).collect(),
            unreadable: BTreeSet::new(),
            links: links.iter().map(|(link, target)| (PathBuf::from(link), PathBuf::from(target))).collect(),
        }
    };
    // A link to a folder that the file names.
    let named = format!("[[workspace]]\nname = \"main\"\nroots = [\"/elsewhere/repo\"]\n{ALL}");
    let found = expand_tree(&named, &tree(&[("/srv/a-link", "/elsewhere/repo"), ("/srv/z", "/srv/z2")]), &[]);
    let wanted = [("main", "/elsewhere/repo"), ("m", "/srv/m"), ("repo", "/srv/repo"), ("z", "/srv/z")];
    assert_eq!(names_and_roots(&found), wanted);
    // The file names the link, the pattern matches the folder.
    let named = format!("[[workspace]]\nname = \"main\"\nroots = [\"/srv/a-link\"]\n{ALL}");
    let found = expand_tree(&named, &tree(&[("/srv/a-link", "/srv/repo")]), &[]);
    assert_eq!(names_and_roots(&found), [("main", "/srv/a-link"), ("m", "/srv/m"), ("z", "/srv/z")]);
    // Of links and their target the target counts, of several links the first.
    let links = [("/srv/a-link", "/srv/repo"), ("/srv/m", "/elsewhere/repo"), ("/srv/z", "/elsewhere/repo")];
    let both = expand_tree(ALL, &tree(&links), &[]);
    assert_eq!(names_and_roots(&both), [("m", "/srv/m"), ("repo", "/srv/repo")]);
    // One that runs stays.
    let running = |root: &str, name: &str| WorkspaceConfig::new(WorkspaceName::new(name).unwrap(), vec![root.into()]);
    let before = [running("/srv/a-link", "a-link"), running("/srv/z", "z")];
    assert_eq!(
        names_and_roots(&expand_tree(ALL, &tree(&links), &before)),
        [("a-link", "/srv/a-link"), ("z", "/srv/z")]
    );
    // The first table counts.
    let text =
        "[[workspaces_from]]\nroots = [\"/srv/a*\"]\n[[workspaces_from]]\nroots = [\"/srv/r*\"]\nprewarm = true\n";
    let found = expand_tree(text, &tree(&links), &[]);
    assert_eq!(names_and_roots(&found), [("a-link", "/srv/a-link")]);
}

#[test]
fn a_folder_that_has_a_workspace_keeps_its_name_when_others_appear() {
    let text = "[[workspaces_from]]\nroots = [\"/srv/*/lib\"]\n";
    let first = expand(text, &["/srv/m/lib"], &[]);
    assert_eq!(names_and_roots(&first), [("lib", "/srv/m/lib")]);
    let second = expand(text, &["/srv/m/lib", "/srv/a/lib", "/srv/z/lib"], &first.config.workspaces);
    assert_eq!(names_and_roots(&second), [("lib-2", "/srv/a/lib"), ("lib", "/srv/m/lib"), ("lib-3", "/srv/z/lib")]);
}

#[test]
fn a_folder_that_cannot_be_listed_removes_no_workspace() {
    let before = expand(ALL, &["/srv/a", "/srv/b"], &[]).config.workspaces;
    let gone = expand_with(ALL, &["/srv/a"], &["/srv"], &before);
    assert_eq!(names_and_roots(&gone), [("a", "/srv/a"), ("b", "/srv/b")]);
    assert!(gone.problems[0].contains("cannot list /srv"), "{:?}", gone.problems);
    // One of several folders between two patterns.
    let text = "[[workspaces_from]]\nroots = [\"/srv/*/*\"]\n";
    let before = expand(text, &["/srv/x/a", "/srv/y/b"], &[]).config.workspaces;
    let gone = expand_with(text, &["/srv/x/a", "/srv/y/b", "/srv/x/c"], &["/srv/y"], &before);
    assert_eq!(names_and_roots(&gone), [("a", "/srv/x/a"), ("c", "/srv/x/c"), ("b", "/srv/y/b")]);
    // A folder that went is gone.
    assert_eq!(names_and_roots(&expand(ALL, &["/srv/a"], &before)), [("a", "/srv/a")]);
}

#[test]
fn a_pattern_without_a_match_is_a_problem_but_no_error() {
    let expanded = expand(ALL, &["/srv"], &[]);
    assert!(expanded.config.workspaces.is_empty() && expanded.problems[0].contains("no folder matches `/srv/*`"));
    let missing = expand(ALL, &["/other"], &[]);
    assert!(missing.problems[0].contains("cannot list /srv"), "{:?}", missing.problems);
}

#[test]
fn a_plain_path_is_a_pattern_too() {
    let text = "[[workspaces_from]]\nroots = [\"/srv/a\", \"/srv/missing\"]\n";
    assert_eq!(names_and_roots(&expand(text, &["/srv/a"], &[])), [("a", "/srv/a")]);
}

#[test]
fn wrong_tables_are_refused_with_the_key() {
    for (text, key, word) in [
        ("roots = []", "workspaces_from[0].roots", "empty"),
        ("roots = [\"/a/**\"]", "workspaces_from[0].roots[0]", "`**`"),
        ("roots = [\"/a/[x\"]", "workspaces_from[0].roots[0]", "valid pattern"),
        ("roots = [\"\"]", "workspaces_from[0].roots[0]", "empty"),
        ("roots = [\"~/a/*\"]", "workspaces_from[0].roots[0]", "home"),
        ("roots = [\"/a/*\"]\nexclude = [\"{a\"]", "workspaces_from[0].exclude[0]", "valid pattern"),
        ("roots = [\"/a/*\"]\nname = \"all\"", "workspaces_from[0].name", "{folder}"),
        ("roots = [\"/a/*\"]\nprewarn = true", "workspaces_from[0].prewarn", "prewarm"),
        (
            "roots = [\"/a/*\"]\nprewarm = [\"ty\"]\nservers = { disable = [\"ty\"] }",
            "workspaces_from[0].prewarm",
            "ty",
        ),
    ] {
        let text = format!("[[workspaces_from]]\n{text}\n");
        let error = crate::parse(&text, Path::new("/etc")).unwrap_err();
        assert!(error.key == key && error.to_string().contains(word) && error.position.is_some(), "{text}: {error:?}");
    }
}

#[test]
fn the_default_workspace_may_come_from_a_pattern() {
    let text = format!("default_workspace = \"b\"\n{ALL}");
    let expanded = expand(&text, &["/srv/a", "/srv/b"], &[]);
    assert_eq!(expanded.config.default_name().map(WorkspaceName::as_str), Some("b"));
    let missing = expand(&text, &["/srv/a"], &[]);
    assert!(missing.problems.iter().any(|problem| problem.contains("default_workspace")), "{:?}", missing.problems);
}

#[test]
fn secrets_of_a_template_are_redacted() {
    let text = format!(
        "{ALL}env = {{ A = \"s3cret\" }}\n[workspaces_from.settings.ty]\napiKey = \"s3cret\"\n[workspaces_from.permission.principals.my-key]\nlsp = \"deny\"\n"
    );
    let config = crate::parse(&text, Path::new("/etc")).expect("the template is valid");
    let shown = config.show();
    assert!(!shown.contains("s3cret") && shown.contains("my-key"), "{shown}");
}
