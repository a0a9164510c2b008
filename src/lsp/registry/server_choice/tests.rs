//! Which server serves a file, from which project root, and why the others do not.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::registry::{DiskFiles, FallbackMode};

/// Folders on disk: the roots `w`, `v` and `v/in` inside it, and an extra root `x`.
struct TestRoots {
    top: PathBuf,
    _folder: tempfile::TempDir,
}

impl TestRoots {
    fn new(files: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for file in files.iter().chain(&["w/.k", "v/in/.k", "x/.k"]) {
            let path = top.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        Self { top, _folder: folder }
    }

    fn roots(&self) -> RootSet {
        let at = |name: &str| self.top.join(name);
        RootSet::of_real_paths(vec![at("w"), at("v"), at("v/in")], vec![at("x")])
    }

    /// The decision about each kind, in order, and the kinds whose programs were probed. Without fallbacks.
    fn decisions(&self, file: &str, selection: &ServerSelection, missing: &[&str]) -> (Vec<String>, Vec<String>) {
        let mut registry = Registry::builtin();
        registry.servers.retain(|_, server| server.role != ServerRole::Fallback);
        self.decisions_of(&registry, file, selection, missing)
    }

    fn decisions_of(
        &self,
        registry: &Registry,
        file: &str,
        selection: &ServerSelection,
        missing: &[&str],
    ) -> (Vec<String>, Vec<String>) {
        let roots = self.roots();
        let chooser = ServerChooser { registry, selection, roots: &roots, files: &DiskFiles };
        let index = crate::registry::LanguageIndex::new(registry);
        let file = self.top.join(file);
        let probed = RefCell::new(Vec::new());
        let mut available = |kind: &str, _: &ServerSpec, root: &Path| {
            probed.borrow_mut().push(format!("{kind} {}", self.relative(root)));
            if missing.contains(&kind) { Err("missing") } else { Ok(()) }
        };
        let all = chooser.consider(index.language_of(&file).unwrap(), &file, true, &mut available);
        let words = all.iter().map(|one| {
            let decision = match &one.verdict {
                ServerVerdict::Serves { root, .. } => format!("serves {}", self.relative(root)),
                ServerVerdict::Unavailable { root, why, .. } => format!("{why} {}", self.relative(root)),
                ServerVerdict::Excluded { by } => format!("excluded by {}", self.relative(by)),
                ServerVerdict::NoMarker => "no marker".into(),
                ServerVerdict::Later { first } => format!("after {first}"),
                ServerVerdict::Disabled => "disabled".into(),
                ServerVerdict::OffByDefault => "off".into(),
                ServerVerdict::NotChosen => "not chosen".into(),
            };
            format!("{}: {decision}", one.kind)
        });
        (words.collect(), probed.take())
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.top).unwrap().display().to_string()
    }

    fn serving(&self, file: &str) -> Vec<String> {
        let (words, _) = self.decisions(file, &ServerSelection::default(), &[]);
        let serving = words.iter().filter_map(|word| word.split_once(": serves "));
        serving.map(|(kind, root)| format!("{kind} {root}")).collect()
    }
}

fn selection(chosen: &[&str], disabled: &[&str]) -> ServerSelection {
    let owned = |kinds: &[&str]| kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>();
    ServerSelection {
        chosen: owned(chosen),
        disabled: owned(disabled).into_iter().collect(),
        ..ServerSelection::default()
    }
}

#[test]
fn the_first_available_server_serves_and_the_others_have_a_reason() {
    let tree = TestRoots::new(&["w/a/pyproject.toml", "w/a/x.py"]);
    let (words, probed) = tree.decisions("w/a/x.py", &ServerSelection::default(), &["ty"]);
    let wanted = [
        "ty: missing w/a", "basedpyright: serves w/a", "pyright: after basedpyright", "pyrefly: after basedpyright",
        "zuban: after basedpyright", "jedi: after basedpyright", "pylsp: after basedpyright", "ruff: serves w/a",
    ];
    assert_eq!(words, wanted);
    assert_eq!(probed, ["ty w", "basedpyright w", "ruff w"], "programs of later alternatives are not probed");
    let (words, _) = tree.decisions("w/a/x.py", &selection(&["pyright"], &["ruff"]), &[]);
    let wanted = [
        "pyright: serves w/a", "ty: not chosen", "basedpyright: not chosen", "pyrefly: not chosen",
        "zuban: not chosen", "jedi: not chosen", "pylsp: not chosen", "ruff: disabled",
    ];
    assert_eq!(words, wanted);
    let (words, probed) = tree.decisions(
        "w/a/x.py",
        &ServerSelection::default(),
        &["ty", "basedpyright", "pyright", "pyrefly", "zuban", "jedi", "pylsp", "ruff"],
    );
    assert!(words.iter().all(|word| word.ends_with(": missing w/a")) && probed.len() == 8, "{words:?}");
}

#[test]
fn a_fallback_serves_where_no_alternative_is_available() {
    let tree = TestRoots::new(&["w/a/pyproject.toml", "w/a/x.py"]);
    let decisions = |fallback: FallbackMode, missing: &[&str]| {
        let selection = ServerSelection { fallback, ..ServerSelection::default() };
        let (mut words, probed) = tree.decisions_of(&Registry::builtin(), "w/a/x.py", &selection, missing);
        words.retain(|word| word.starts_with("syntactic"));
        (words.join(""), probed.contains(&"syntactic w".to_owned()))
    };
    let all = ["ty", "basedpyright", "pyright", "pyrefly", "zuban", "jedi", "pylsp"];
    assert_eq!(decisions(FallbackMode::IfMissing, &all), ("syntactic: serves w".into(), true));
    assert_eq!(decisions(FallbackMode::IfMissing, &all[..6]), ("syntactic: after pylsp".into(), false));
    assert_eq!(decisions(FallbackMode::UntilReady, &[]), ("syntactic: after ty".into(), false));
    assert_eq!(decisions(FallbackMode::Off, &all), ("syntactic: disabled".into(), false));
}

#[test]
fn excluding_markers_required_markers_and_servers_that_are_off() {
    let tree = TestRoots::new(&["w/d/deno.json", "w/t/package.json", "w/eslint.config.js"]);
    let (words, _) = tree.decisions("w/d/x.ts", &ServerSelection::default(), &["deno"]);
    assert_eq!(
        words[..3],
        [
            "deno: missing w/d",
            "typescript: excluded by w/d/deno.json",
            "typescript-language-server: excluded by w/d/deno.json"
        ]
    );
    assert!(words.contains(&"eslint: serves w".into()) && words.contains(&"biome: no marker".into()), "{words:?}");
    let (words, _) = tree.decisions("w/t/x.ts", &ServerSelection::default(), &[]);
    assert_eq!(
        words[..3],
        ["deno: no marker", "typescript: serves w/t", "typescript-language-server: after typescript"]
    );
    let mut registry = Registry::builtin();
    registry.servers.get_mut("vue").expect("vue").disabled = true;
    let (words, probed) = tree.decisions_of(&registry, "w/t/x.vue", &ServerSelection::default(), &[]);
    assert!(words.contains(&"vue: off".into()) && !probed.iter().any(|kind| kind.starts_with("vue")), "{words:?}");
    let (words, _) = tree.decisions_of(&registry, "w/t/x.vue", &selection(&["vue"], &[]), &[]);
    assert!(words.contains(&"vue: serves w/t".into()), "{words:?}");
}

#[test]
fn two_roots_of_a_workspace_and_a_nested_root() {
    let tree = TestRoots::new(&["w/pyproject.toml", "v/pyproject.toml", "v/in/k.py"]);
    assert_eq!(tree.serving("w/a/x.py"), ["ty w", "ruff w"]);
    assert_eq!(tree.serving("v/a/x.py"), ["ty v", "ruff v"]);
    assert_eq!(tree.serving("v/in/a/x.py"), ["ty v/in", "ruff v/in"], "the marker of the outer root does not count");
}

#[test]
fn two_projects_of_one_kind_are_two_roots() {
    let tree = TestRoots::new(&["w/a/tsconfig.json", "w/b/tsconfig.json"]);
    assert_eq!(tree.serving("w/a/x.ts"), ["typescript w/a"]);
    assert_eq!(tree.serving("w/b/x.ts"), ["typescript w/b"]);
    assert_eq!(tree.serving("w/x.ts"), ["typescript w"]);
}

#[test]
fn a_file_in_an_extra_root_belongs_to_the_first_root() {
    let tree = TestRoots::new(&["x/pyproject.toml", "x/p/tsconfig.json", "x/p/deno.json", "x/p/biome.json"]);
    assert_eq!(tree.serving("x/p/y.py"), ["ty w", "ruff w"], "markers there don't count");
    let (words, _) = tree.decisions("x/p/y.ts", &ServerSelection::default(), &[]);
    assert_eq!(words[..2], ["deno: no marker", "typescript: serves w"]);
    assert!(words.contains(&"biome: no marker".into()), "{words:?}");
    fs::write(tree.top.join("w/deno.json"), "").unwrap();
    assert_eq!(tree.serving("x/p/y.ts"), ["deno w"]);
}

#[test]
fn a_linked_folder_belongs_to_the_project_of_its_target() {
    let tree = TestRoots::new(&["w/real/pyproject.toml", "w/real/x.py", "w/a/pyproject.toml"]);
    symlink(tree.top.join("w/real"), tree.top.join("w/a/linked")).unwrap();
    // Callers pass real paths: the path gate resolves them, and so does the doctor.
    let real = tree.top.join("w/a/linked/x.py").canonicalize().unwrap();
    assert_eq!(tree.serving(&tree.relative(&real)), ["ty w/real", "ruff w/real"]);
}
