//! The rules of project roots, on trees in memory that record every access, and on the disk.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::rc::Rc;

use super::*;
use crate::limits::MAX_PROJECT_REFERENCES;
use crate::registry::{CachedFiles, DiskFiles, ManifestKind, Registry};

/// Files with texts, and a record of every access.
struct FakeFiles {
    files: BTreeMap<PathBuf, String>,
    seen: RefCell<BTreeSet<PathBuf>>,
    reads: RefCell<usize>,
}

impl MarkerFiles for FakeFiles {
    fn exists(&self, path: &Path) -> bool {
        self.seen.borrow_mut().insert(path.into());
        self.files.keys().any(|file| file.starts_with(path))
    }
    fn entries(&self, folder: &Path) -> Rc<[String]> {
        self.seen.borrow_mut().insert(folder.into());
        let below = self.files.keys().filter_map(|file| file.strip_prefix(folder).ok());
        below.filter_map(|rest| Some(rest.components().next()?.as_os_str().to_str()?.into())).collect()
    }
    fn read_text(&self, file: &Path, top: &Path) -> String {
        assert_eq!(top, Path::new("/w"));
        *self.reads.borrow_mut() += 1;
        self.seen.borrow_mut().insert(file.into());
        self.files.get(file).cloned().unwrap_or_default()
    }
}

/// A tree below `/w`. Markers and manifests above `/w` would win if they counted.
fn tree(files: &[(&str, &str)]) -> FakeFiles {
    let above = [
        ("/package.json", r#"{"workspaces": ["**"]}"#),
        ("/pnpm-workspace.yaml", "packages:\n  - '**'\n"),
        ("/pnpm-lock.yaml", ""),
        ("/tsconfig.json", r#"{"references": [{"path": "./w"}, {"path": "w/a"}, {"path": "w/p/a"}]}"#),
        ("/Cargo.toml", "[workspace]\nmembers = [\"w/*\"]\n"),
        ("/go.work", "use ./w\nuse ./w/a\n"),
        ("/go.mod", ""),
        ("/deno.json", ""),
        ("/.git/HEAD", ""),
        ("/x.sln", ""),
        ("/pyproject.toml", "[tool.ty]\n"),
        ("/compile_commands.json", "[]"),
        ("/eslint.config.mjs", ""),
    ];
    let above = above.map(|(path, text)| (path.into(), text.to_string()));
    let mine = files.iter().map(|(path, text)| (Path::new("/w").join(path), text.to_string()));
    FakeFiles { files: above.into_iter().chain(mine).collect(), seen: RefCell::default(), reads: RefCell::default() }
}

/// The root and its marker, relative to `/w`.
#[track_caller]
fn found(kind: &str, file: &str, files: &[(&str, &str)]) -> (String, String) {
    let registry = Registry::builtin();
    let tree = tree(files);
    let found = project_root(&Path::new("/w").join(file), Path::new("/w"), &registry.servers[kind].root, &tree);
    let above: Vec<_> = tree.seen.borrow().iter().filter(|seen| !seen.starts_with("/w")).cloned().collect();
    assert!(above.is_empty(), "accessed files above the root: {above:?}");
    let short = |path: &Path| path.strip_prefix("/w").unwrap().to_str().unwrap().to_string();
    match found {
        ProjectRoot::At { root, by: RootReason::Marker(by) } => (short(&root), short(&by)),
        ProjectRoot::At { root, by: RootReason::Manifest(by) } => (short(&root), format!("manifest {}", short(&by))),
        ProjectRoot::At { root, by: RootReason::Unmarked } => (short(&root), "nothing".into()),
        ProjectRoot::At { root, by: RootReason::Always } => (short(&root), "always".into()),
        ProjectRoot::Excluded { by } => ("!".into(), short(&by)),
        ProjectRoot::NoMarker => ("-".into(), String::new()),
    }
}

/// Checks cases of a kind in one tree: the file, the root, the marker.
#[track_caller]
fn roots(kind: &str, files: &[(&str, &str)], cases: &[(&str, &str, &str)]) {
    for (file, root, by) in cases {
        assert_eq!(found(kind, file, files), (root.to_string(), by.to_string()), "{kind} {file}");
    }
}

const EMPTY: &str = "";

#[test]
fn the_nearest_marker_wins() {
    let files = [("pyproject.toml", EMPTY), ("a/pyproject.toml", EMPTY), ("a/b/setup.py", EMPTY)];
    roots(
        "ty",
        &files,
        &[("a/b/c/x.py", "a/b", "a/b/setup.py"), ("a/x.py", "a", "a/pyproject.toml"), ("b/x.py", "", "pyproject.toml")],
    );
    roots("rust-analyzer", &[], &[("x.rs", "", "nothing"), ("a/b/x.rs", "", "nothing")]);
    roots("bash", &[("a/b", EMPTY)], &[("a/x.sh", "", "always")]);
    roots("csharp", &[("s/All.sln", EMPTY), ("s/a/a.csproj", EMPTY)], &[("s/a/x.cs", "s", "s/All.sln")]);
    roots("csharp", &[("s/a/a.csproj", EMPTY)], &[("s/a/x.cs", "s/a", "s/a/a.csproj")]);
    let maven = [("pom.xml", "<project>\n  <modules>\n"), ("a/pom.xml", "<project>\n")];
    roots("jdtls", &maven, &[("a/src/X.java", "", "pom.xml")]);
}

#[test]
fn a_configuration_of_the_checker_above_wins_over_a_nearer_project() {
    let files =
        |top: &'static str| [("pyproject.toml", top), ("a/pyproject.toml", "[project]\n"), ("a/b/ty.toml", EMPTY)];
    let own = ("a/x.py", "a", "a/pyproject.toml");
    let listed = ("a/x.py", "", "pyproject.toml");
    let nearest = ("a/b/x.py", "a/b", "a/b/ty.toml");
    roots("ty", &files("[project]\n"), &[own, nearest]);
    roots("ty", &files("[tool.typos]\n"), &[own, nearest]);
    roots("ty", &files("[project]\n[tool.ty]\n"), &[listed, nearest]);
    roots("ty", &files("  [tool.ty.rules]\n"), &[listed, nearest]);
    roots("pyright", &files("[tool.ty]\n"), &[own]);
    roots("basedpyright", &files("[tool.pyright]\n"), &[listed]);
}

#[test]
fn projects_of_one_python_environment_belong_together() {
    let uv = "[project]\n[tool.uv.workspace]\nmembers = [\"packages/*\"]\nexclude = [\"packages/old\"]\n";
    let own = |file, root| (file, root, "MARK");
    let check = |files: &[(&str, &str)], cases: &[(&str, &str, &str)]| {
        for kind in ["ty", "basedpyright", "pyright", "pyrefly", "zuban", "jedi", "pylsp"] {
            for (file, root, by) in cases {
                let expected = match *by {
                    "MARK" => format!("{root}/pyproject.toml"),
                    by => format!("manifest {by}"),
                };
                assert_eq!(found(kind, file, files), (root.to_string(), expected), "{kind} {file}");
            }
        }
    };
    let members = [
        ("pyproject.toml", uv),
        ("packages/a/pyproject.toml", EMPTY),
        ("packages/a/tests/requirements.txt", EMPTY),
        ("packages/old/pyproject.toml", EMPTY),
        ("examples/pyproject.toml", EMPTY),
    ];
    let whole = |file| (file, "", "pyproject.toml");
    let apart = [own("packages/old/x.py", "packages/old"), own("examples/x.py", "examples")];
    let cases = [whole("packages/a/src/a/x.py"), whole("packages/a/tests/x.py"), whole("x.py"), apart[0], apart[1]];
    check(&members, &cases);
    // The lock file beside the list doesn't count for those that the list omits.
    check(&[&members[..], &[("uv.lock", EMPTY)]].concat(), &cases);
    let broken = "[project\n[tool.uv.workspace]\n";
    check(&[("pyproject.toml", broken), ("p/a/pyproject.toml", EMPTY)], &[whole("p/a/x.py")]);
    for (mark, by) in [
        ("uv.lock", "uv.lock"),
        ("poetry.lock", "poetry.lock"),
        ("pdm.lock", "pdm.lock"),
        ("Pipfile.lock", "Pipfile.lock"),
        (".venv/pyvenv.cfg", ".venv"),
        ("venv/pyvenv.cfg", "venv"),
        ("env/pyvenv.cfg", "env"),
        ("py3.12/pyvenv.cfg", "py3.12"),
    ] {
        let files =
            [(mark, EMPTY), ("p/a/pyproject.toml", EMPTY), ("p/b/pyproject.toml", EMPTY), ("p/b/uv.lock", EMPTY)];
        check(&files, &[("p/a/x.py", "", by), ("x.py", "", by), ("p/b/x.py", "p/b", "p/b/uv.lock")]);
        // An environment inside a project doesn't divide it.
        let inside = [("pyproject.toml", EMPTY), (&*format!("tools/{mark}"), EMPTY)];
        assert_eq!(found("ty", "tools/x.py", &inside), (String::new(), "pyproject.toml".into()), "{mark}");
    }
    // Both usual names: the first one.
    check(&[("venv/pyvenv.cfg", EMPTY), (".venv/pyvenv.cfg", EMPTY)], &[("x.py", "", ".venv")]);
    for list in [
        "[tool.hatch.envs.default]\nworkspace.members = [\"libs/a\", {path = \"libs/b\"}]\n",
        "[tool.poetry.dependencies]\na = {path = \"libs/a\", develop = true}\n[tool.poetry.group.dev.dependencies]\nb = {path = \"./libs/b\"}\n",
        "[tool.uv.sources]\na = {path = \"libs/a\", editable = true}\nb = {path = \"libs/b\"}\n",
        "[dependency-groups]\ndev = [\"pytest\", \"-e file:///${PROJECT_ROOT}/libs/a\", \"-e file:///${PROJECT_ROOT}/libs/b#egg=b\"]\n",
        "[project]\nname = \"w\"\ndependencies = [\"a @ file:///${PROJECT_ROOT}/libs/a\"]\noptional-dependencies.x = [\"b @ file:///${PROJECT_ROOT}/libs/b\"]\n",
        "[tool.rye.workspace]\nmembers = [\"libs/*\"]\n",
    ] {
        let files = [
            ("pyproject.toml", list),
            ("libs/a/pyproject.toml", EMPTY),
            ("libs/b/setup.py", EMPTY),
            ("c/pyproject.toml", EMPTY),
        ];
        check(&files, &[whole("libs/a/x.py"), whole("libs/b/x.py"), own("c/x.py", "c")]);
    }
    // What a package needs for its documentation is no project; a pyproject.toml with settings only is no package.
    let package = [("pyproject.toml", "[build-system]\n"), ("docs/requirements.txt", EMPTY), ("x/a/setup.py", EMPTY)];
    let inside = [("docs/x.py", "", "pyproject.toml"), ("x/a/x.py", "x/a", "x/a/setup.py")];
    for (file, root, by) in inside {
        let found = found("ty", file, &package);
        assert_eq!((found.0.as_str(), found.1.trim_start_matches("manifest ")), (root, by), "{file}");
    }
    let settings = [("pyproject.toml", "[tool.ruff]\n"), ("a/requirements.txt", EMPTY)];
    roots("ty", &settings, &[("a/x.py", "a", "a/requirements.txt")]);
    // The outermost list or configuration wins, as for other build workspaces.
    let configured = [&members[..], &[("packages/a/ty.toml", EMPTY)]].concat();
    roots("ty", &configured, &[("packages/a/x.py", "", "manifest pyproject.toml")]);
}

#[test]
fn cargo_workspaces() {
    let files = [
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"a\", \"libs/*\", \"ex/in\"]\nexclude = [\"ex\", \"./out\", \"old/../near\"]\n",
        ),
        ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
        ("a/inner/Cargo.toml", "[package]\nname = \"inner\"\n"),
        ("a/fuzz/Cargo.toml", "[package]\nname = \"fuzz\"\n[workspace]\n"),
        ("libs/b/Cargo.toml", "[package]\n"),
        ("ex/in/Cargo.toml", "[package]\n"),
        ("ex/alone/Cargo.toml", "[package]\n"),
        ("exact/Cargo.toml", "[package]\n"),
        ("near/Cargo.toml", "[package]\n"),
        ("out/Cargo.toml", "[package]\n"),
        ("out/deep/Cargo.toml", "[workspace.package]\nversion = \"1\"\n"),
        ("out/deep/er/Cargo.toml", "[package]\n"),
        ("target/package/a-1/Cargo.toml", "[package]\n"),
        ("j/rust-project.json", "{}"),
    ];
    let listed = |file| (file, "", "manifest Cargo.toml");
    roots(
        "rust-analyzer",
        &files,
        &[
            listed("a/src/x.rs"),
            listed("a/inner/src/x.rs"),
            listed("libs/b/x.rs"),
            listed("build.rs"),
            listed("docs/x.rs"),
            // Named in `members` although `exclude` names the folder above.
            listed("ex/in/x.rs"),
            // `ex` is a name, not the beginning of one.
            listed("exact/x.rs"),
            // Cargo compares names, not what they lead to.
            listed("near/x.rs"),
            ("a/fuzz/x.rs", "a/fuzz", "manifest a/fuzz/Cargo.toml"),
            ("ex/alone/x.rs", "ex/alone", "ex/alone/Cargo.toml"),
            ("out/src/x.rs", "out", "out/Cargo.toml"),
            ("out/deep/x.rs", "out/deep", "manifest out/deep/Cargo.toml"),
            ("out/deep/er/x.rs", "out/deep", "manifest out/deep/Cargo.toml"),
            ("target/package/a-1/x.rs", "target/package/a-1", "target/package/a-1/Cargo.toml"),
            ("j/x.rs", "j", "j/rust-project.json"),
        ],
    );
    let packages = [("Cargo.toml", "[package]\n"), ("a/Cargo.toml", "[package]\n"), ("b/Cargo.toml", "[package]\n")];
    roots("rust-analyzer", &packages, &[("a/x.rs", "a", "a/Cargo.toml"), ("b/x.rs", "b", "b/Cargo.toml")]);
}

#[test]
fn an_excluded_package_belongs_to_the_next_workspace_above() {
    let files = [
        ("Cargo.toml", "[workspace]\nmembers = [\"in/x\"]\n"),
        ("in/Cargo.toml", "[workspace]\nexclude = [\"x\"]\n"),
        ("in/x/Cargo.toml", "[package]\n"),
    ];
    roots("rust-analyzer", &files, &[("in/x/y.rs", "", "manifest Cargo.toml")]);
}

#[test]
fn a_package_that_names_its_workspace() {
    let files = [
        ("ws/Cargo.toml", "[workspace]\nmembers = [\"../p\"]\n"),
        ("p/Cargo.toml", "[package]\nname = \"p\"\nworkspace = \"../ws\"\n"),
        ("p/sub/Cargo.toml", "[package]\n"),
        ("q/Cargo.toml", "[package]\nworkspace = \"../../outside\"\n"),
        ("r/Cargo.toml", "[package]\nworkspace = \"../gone\"\n"),
    ];
    roots(
        "rust-analyzer",
        &files,
        &[
            ("p/x.rs", "ws", "manifest ws/Cargo.toml"),
            ("p/sub/x.rs", "ws", "manifest ws/Cargo.toml"),
            ("q/x.rs", "q", "q/Cargo.toml"),
            ("r/x.rs", "r", "r/Cargo.toml"),
        ],
    );
}

#[test]
fn a_manifest_that_is_being_edited_keeps_its_workspace_together() {
    let files = |text: &'static str| [("Cargo.toml", text), ("a/Cargo.toml", "[package]\n")];
    let listed = ("a/x.rs", "", "manifest Cargo.toml");
    roots("rust-analyzer", &files("[workspace]\nmembers = [\"a\"\n"), &[listed]);
    roots("rust-analyzer", &files("x = \n[workspace.dependencies]\n"), &[listed]);
    roots("rust-analyzer", &files("text = '''\n[workspace]\n'''\n"), &[("a/x.rs", "a", "a/Cargo.toml")]);
}

#[test]
fn go_workspaces() {
    let files = [
        ("go.work", "go 1.24\n\nuse (\n\t./m\n\t./deep/n // why\n)\n"),
        ("m/go.mod", EMPTY),
        ("deep/n/go.mod", EMPTY),
        ("alone/go.mod", EMPTY),
        ("m/nested/go.mod", EMPTY),
        ("in/go.work", "use ../m\nuse ./k\n"),
        ("in/k/go.mod", EMPTY),
    ];
    roots(
        "gopls",
        &files,
        &[
            ("m/p/x.go", "", "manifest go.work"),
            ("m/go.mod", "", "manifest go.work"),
            ("deep/n/x.go", "", "manifest go.work"),
            ("go.work", "", "manifest go.work"),
            ("tools/x.go", "", "manifest go.work"),
            ("alone/x.go", "alone", "alone/go.mod"),
            ("m/nested/x.go", "m/nested", "m/nested/go.mod"),
            ("in/k/x.go", "in", "manifest in/go.work"),
        ],
    );
    roots(
        "gopls",
        &[("m/go.mod", EMPTY), ("n/go.mod", EMPTY)],
        &[("m/p/x.go", "m", "m/go.mod"), ("x.go", "", "nothing")],
    );
    roots("gopls", &[("go.mod", EMPTY), ("s/go.work", "use ..\n")], &[("s/x.go", "s", "manifest s/go.work")]);
    roots("gopls", &[("go.mod", EMPTY), ("s/go.work", "use ../../..\n")], &[("s/x.go", "", "go.mod")]);
}

#[test]
fn workspaces_of_npm_and_pnpm() {
    let npm = [
        ("package.json", r#"{"workspaces": {"packages": ["packages/*", "!packages/old"]}}"#),
        ("package-lock.json", EMPTY),
        ("packages/a/package.json", "{}"),
        ("packages/a/tsconfig.json", "{}"),
        ("packages/a/esm/package.json", r#"{"type": "module"}"#),
        ("packages/b/package-lock.json", EMPTY),
        ("packages/b/package.json", "{}"),
        ("packages/old/package.json", "{}"),
        ("examples/demo/package.json", "{}"),
        ("examples/demo/tsconfig.json", "{}"),
        ("examples/own/package.json", "{}"),
        ("examples/own/yarn.lock", EMPTY),
        ("scripts/tsconfig.json", "{}"),
        ("node_modules/dep/package.json", "{}"),
        ("node_modules/dep/tsconfig.json", "{}"),
        ("packages/a/node_modules/dep/tsconfig.json", "{}"),
    ];
    let listed = |file| (file, "", "manifest package.json");
    for kind in ["typescript", "typescript-language-server"] {
        roots(
            kind,
            &npm,
            &[
                listed("packages/a/src/x.ts"),
                listed("packages/a/esm/x.ts"),
                listed("packages/b/x.ts"),
                listed("scripts/x.ts"),
                listed("x.ts"),
                listed("node_modules/dep/lib/x.d.ts"),
                listed("packages/a/node_modules/dep/x.d.ts"),
                ("packages/old/x.ts", "packages/old", "packages/old/package.json"),
                ("examples/demo/x.ts", "examples/demo", "examples/demo/tsconfig.json"),
                ("examples/own/src/x.ts", "examples/own", "examples/own/yarn.lock"),
            ],
        );
    }
    let pnpm = [
        ("package.json", r#"{"workspaces": ["nothing"]}"#),
        ("pnpm-workspace.yaml", "packages:\n  - 'apps/**'\n"),
        ("pnpm-lock.yaml", EMPTY),
        ("apps/x/y/package.json", "{}"),
        ("tools/z/package.json", "{}"),
    ];
    roots(
        "typescript",
        &pnpm,
        &[
            ("apps/x/y/a.ts", "", "manifest pnpm-workspace.yaml"),
            ("tools/z/a.ts", "tools/z", "tools/z/package.json"),
            ("a.ts", "", "manifest pnpm-workspace.yaml"),
        ],
    );
    let all = [("pnpm-workspace.yaml", "catalog: {}\n"), ("a/package.json", "{}")];
    roots("svelte", &all, &[("a/x.svelte", "", "manifest pnpm-workspace.yaml")]);
}

#[test]
fn a_lock_file_counts_for_every_project_below_unless_a_list_omits_it() {
    let files = [("yarn.lock", EMPTY), ("package.json", "{}"), ("p/a/tsconfig.json", "{}"), ("p/a/package.json", "{}")];
    roots("typescript", &files, &[("p/a/x.ts", "", "yarn.lock")]);
    let broken = [("yarn.lock", EMPTY), ("package.json", "{\"workspaces\": ["), ("p/a/package.json", "{}")];
    roots("typescript", &broken, &[("p/a/x.ts", "", "yarn.lock")]);
    let two = [("p/a/package-lock.json", EMPTY), ("p/b/package-lock.json", EMPTY)];
    let cases = [("p/a/x.ts", "p/a", "p/a/package-lock.json"), ("p/b/x.ts", "p/b", "p/b/package-lock.json")];
    roots("typescript", &two, &cases);
}

#[test]
fn solutions_of_typescript() {
    let files = [
        ("tsconfig.json", "// all\n{\"files\": [], \"references\": [{\"path\": \"./core\"}, {\"path\": \"gone\"},],}"),
        (
            "core/tsconfig.json",
            r#"{"references": [{"path": "../base/tsconfig.json"}, {"path": "./tsconfig.lib.json"}]}"#,
        ),
        ("core/tsconfig.lib.json", "{}"),
        ("core/package-lock.json", EMPTY),
        ("base/tsconfig.json", r#"{"references": [{"path": "../tsconfig.json"}, {"path": "../../a"}]}"#),
        ("base/test/tsconfig.json", "{}"),
        ("base/src/x/package.json", "{}"),
        ("alone/tsconfig.json", r#"{"references": [{"path": "./tsconfig.lib.json"}]}"#),
        ("alone/tsconfig.lib.json", "{}"),
        ("sub/tsconfig.json", r#"{"references": [{"path": "./one"}, {"path": "two/tsconfig.build.json"}]}"#),
        ("sub/one/tsconfig.json", "{}"),
        ("sub/two/tsconfig.build.json", "{}"),
        ("sub/two/package.json", "{}"),
        ("sub/three/jsconfig.json", "{}"),
    ];
    let listed = |file| (file, "", "manifest tsconfig.json");
    roots(
        "typescript",
        &files,
        &[
            listed("core/x.ts"),
            // Reached only through another configuration.
            listed("base/x.ts"),
            // Covered by the reached configuration, although a nearer folder has a marker.
            listed("base/src/x/y.ts"),
            ("base/test/x.ts", "base/test", "base/test/tsconfig.json"),
            ("alone/x.ts", "alone", "alone/tsconfig.json"),
            ("sub/one/x.ts", "sub", "manifest sub/tsconfig.json"),
            ("sub/two/x.ts", "sub", "manifest sub/tsconfig.json"),
            ("sub/three/x.js", "sub/three", "sub/three/jsconfig.json"),
            ("x.ts", "", "tsconfig.json"),
        ],
    );
    let none = [("tsconfig.json", "{}"), ("a/tsconfig.json", "{}"), ("b/tsconfig.json", "{}")];
    roots("typescript", &none, &[("a/x.ts", "a", "a/tsconfig.json"), ("b/x.ts", "b", "b/tsconfig.json")]);
    let locked = [("a/package-lock.json", EMPTY), ("a/lib/tsconfig.json", r#"{"references": [{"path": "src"}]}"#)];
    let locked = [locked.as_slice(), &[("a/lib/src/tsconfig.json", "{}")]].concat();
    roots("typescript", &locked, &[("a/lib/src/x.ts", "a", "a/package-lock.json")]);
}

#[test]
fn references_are_followed_up_to_a_limit() {
    let path = |at: usize| if at == 0 { "tsconfig.json".to_owned() } else { format!("p{at}/tsconfig.json") };
    let chain: Vec<(String, String)> = (0..MAX_PROJECT_REFERENCES + 2)
        .map(|at| (path(at), format!(r#"{{"references": [{{"path": "/w/p{}"}}]}}"#, at + 1)))
        .collect();
    let files: Vec<(&str, &str)> = chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let tree = tree(&files);
    let rule = &Registry::builtin().servers["typescript"].root;
    let at = |at: usize| {
        let file = Path::new("/w").join(format!("p{at}/x.ts"));
        *tree.reads.borrow_mut() = 0;
        match project_root(&file, Path::new("/w"), rule, &tree) {
            ProjectRoot::At { root, .. } => root,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(at(MAX_PROJECT_REFERENCES), Path::new("/w"));
    assert_eq!(at(MAX_PROJECT_REFERENCES + 1), Path::new("/w").join(format!("p{}", MAX_PROJECT_REFERENCES + 1)));
    assert!(*tree.reads.borrow() <= MAX_PROJECT_REFERENCES + 20, "{}", tree.reads.borrow());
}

#[test]
fn required_markers_and_excluding_markers() {
    let mixed = [("p/a/deno.json", EMPTY), ("package.json", EMPTY), ("q/tsconfig.json", EMPTY)];
    roots("typescript", &mixed, &[("p/a/x.ts", "!", "p/a/deno.json"), ("p/a/b/x.ts", "!", "p/a/deno.json")]);
    roots("typescript", &mixed, &[("p/x.ts", "", "package.json"), ("q/x.ts", "q", "q/tsconfig.json")]);
    roots("deno", &mixed, &[("p/a/b/x.ts", "p/a", "p/a/deno.json"), ("q/x.ts", "-", "")]);
    // A deno.json counts for all folders below it, as in Deno itself.
    let above = [("deno.jsonc", EMPTY), ("q/tsconfig.json", EMPTY)];
    roots("typescript", &above, &[("q/x.ts", "!", "deno.jsonc")]);
    roots("eslint", &[("package.json", EMPTY)], &[("p/a/x.ts", "-", "")]);
    roots(
        "eslint",
        &[("p/eslint.config.mjs", EMPTY)],
        &[("p/a/x.ts", "p", "p/eslint.config.mjs"), ("q/x.ts", "-", "")],
    );
    roots("biome", &[("p/b/biome.jsonc", EMPTY)], &[("p/a/x.ts", "-", ""), ("p/b/x.ts", "p/b", "p/b/biome.jsonc")]);
    roots("eslint", &[("node_modules/d/.eslintrc", EMPTY)], &[("node_modules/d/x.js", "-", "")]);
}

#[test]
fn compile_databases() {
    let files = [
        ("compile_commands.json", EMPTY),
        ("a/.clangd", EMPTY),
        ("b/build/compile_commands.json", EMPTY),
        ("c/compile_flags.txt", EMPTY),
    ];
    roots(
        "clangd",
        &files,
        &[
            ("src/x.c", "", "compile_commands.json"),
            ("a/x.c", "", "compile_commands.json"),
            ("b/src/x.c", "b", "b/build/compile_commands.json"),
            ("c/x.c", "c", "c/compile_flags.txt"),
        ],
    );
    roots("clangd", &[("a/.clangd", EMPTY)], &[("a/x.c", "a", "a/.clangd")]);
}

#[test]
fn the_outermost_marker_the_workspace_root_and_files_outside() {
    let rule = RootRule { markers: vec!["pom.xml".into()], pick: RootPick::Outermost, ..RootRule::default() };
    let tree = tree(&[("a/pom.xml", ""), ("a/b/pom.xml", "")]);
    let root = Path::new("/w");
    let of = |file: &str, rule: &RootRule| project_root(Path::new(file), root, rule, &tree);
    let at = |root: &str, by| ProjectRoot::At { root: root.into(), by };
    assert_eq!(of("/w/a/b/c/X.java", &rule), at("/w/a", RootReason::Marker("/w/a/pom.xml".into())));
    assert_eq!(of("/w", &rule), at("/w", RootReason::Unmarked));
    assert_eq!(of("/w", &RootRule { required: true, ..rule.clone() }), ProjectRoot::NoMarker);
    assert_eq!(of("/elsewhere/a", &rule), ProjectRoot::NoMarker);
    assert_eq!(of("/www/a", &rule), ProjectRoot::NoMarker);
    let listed = RootRule { pick: RootPick::Workspace, required: true, ..rule };
    assert_eq!(of("/w/a/X.java", &listed), at("/w", RootReason::Always));
    assert_eq!(of("/w/b/X.java", &listed), ProjectRoot::NoMarker);
}

#[test]
fn the_disk_and_the_cache_give_the_same_roots() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/src")).unwrap();
    fs::write(root.join("a/A.sln"), "").unwrap();
    fs::write(root.join("a/tsconfig.json"), "{}").unwrap();
    fs::write(root.join("tsconfig.json"), r#"{"references": [{"path": "a"}]}"#).unwrap();
    fs::write(root.join("Cargo.toml"), "[package]\n  [workspace]\n").unwrap();
    let servers = Registry::builtin().servers;
    let cached_files = CachedFiles::default();
    for files in [&DiskFiles as &dyn MarkerFiles, &cached_files, &cached_files] {
        let of = |kind: &str| project_root(&root.join("a/src/x"), &root, &servers[kind].root, files);
        let at = |root: &Path, by| ProjectRoot::At { root: root.into(), by };
        assert_eq!(of("csharp"), at(&root.join("a"), RootReason::Marker(root.join("a/A.sln"))));
        assert_eq!(of("rust-analyzer"), at(&root, RootReason::Manifest(root.join("Cargo.toml"))));
        assert_eq!(of("typescript"), at(&root, RootReason::Manifest(root.join("tsconfig.json"))));
        assert_eq!(of("deno"), ProjectRoot::NoMarker);
    }
}

#[test]
fn no_file_is_read_through_a_link_that_leads_outside_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let root = top.join("w");
    let outside = top.join("outside");
    for path in [root.join("a"), root.join("real"), outside.clone()] {
        fs::create_dir_all(path).unwrap();
    }
    fs::write(root.join("a/Cargo.toml"), "[package]\n").unwrap();
    fs::write(outside.join("Cargo.toml"), "[workspace]\n").unwrap();
    symlink(outside.join("Cargo.toml"), root.join("Cargo.toml")).unwrap();
    let rule = RootRule { manifests: vec![ManifestKind::Cargo], pick: RootPick::Nearest, ..RootRule::default() };
    let of = || project_root(&root.join("a/x.rs"), &root, &rule, &DiskFiles);
    assert_eq!(of(), ProjectRoot::At { root: root.clone(), by: RootReason::Unmarked }, "the link leads out");
    let marked = RootRule { markers: vec!["Cargo.toml ~ [workspace]".into()], required: true, ..rule.clone() };
    assert_eq!(project_root(&root.join("a/x.rs"), &root, &marked, &DiskFiles), ProjectRoot::NoMarker);
    fs::remove_file(root.join("Cargo.toml")).unwrap();
    fs::rename(outside.join("Cargo.toml"), root.join("real/Cargo.toml")).unwrap();
    symlink("real/Cargo.toml", root.join("Cargo.toml")).unwrap();
    let by = RootReason::Manifest(root.join("Cargo.toml"));
    assert_eq!(of(), ProjectRoot::At { root: root.clone(), by }, "the link stays inside");
}

#[test]
fn files_whose_content_decides() {
    let servers = Registry::builtin().servers;
    let reads = |kind: &str, file: &str| servers[kind].root.reads(Path::new(file));
    assert!(reads("rust-analyzer", "/w/a/Cargo.toml") && !reads("rust-analyzer", "/w/a/Cargo.lock"));
    assert!(reads("gopls", "/w/go.work") && !reads("gopls", "/w/go.mod"));
    assert!(reads("typescript", "/w/tsconfig.base.json") && reads("typescript", "/w/pnpm-workspace.yaml"));
    assert!(reads("ty", "/w/pyproject.toml") && !reads("ty", "/w/ty.toml") && !reads("bash", "/w/package.json"));
}

#[test]
fn markers_are_recognised_by_their_names() {
    let registry = Registry::builtin();
    let marks = |kind: &str, path: &str| registry.servers[kind].root.marks(&Path::new("/w").join(path));
    for path in ["a/pyproject.toml", "ty.toml", "requirements.txt"] {
        assert!(marks("ty", path), "{path}");
    }
    assert!(marks("clangd", "a/build/compile_commands.json") && marks("typescript", "a/deno.json"));
    assert!(marks("eslint", "a/.eslintrc.yml") && marks("eslint", "eslint.config.mjs"), "globs");
    assert!(!marks("ty", "a.py") && !marks("ty", "my-pyproject.toml") && !marks("eslint", "a.eslintrc"));
}
