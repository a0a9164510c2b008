//! The search paths of trees of scripts and packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::ProjectInference;
use codeyard_model::coverage::Hidden;
use serde_json::json;

use crate::memory::ProjectMemory;
use crate::prepare::{PreparedProject, ProjectRequest};

/// Prepares the tree of these files; returns the search paths relative to the root, too.
fn prepare(files: &[(&str, &str)]) -> (PreparedProject, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let prepared = prepare_at(&root, files, ProjectInference::PythonPaths);
    let settings = prepared.settings.clone().unwrap_or_default();
    let paths = settings["ty"]["configuration"]["environment"]["extra-paths"].as_array().cloned().unwrap_or_default();
    let relative =
        |path: &serde_json::Value| Path::new(path.as_str().unwrap()).strip_prefix(&root).unwrap().display().to_string();
    let paths = paths.iter().map(relative).collect();
    (prepared, paths)
}

/// Prepares the tree of these files in `root`, with the cache folder `root/.cache`.
fn prepare_at(root: &Path, files: &[(&str, &str)], inference: ProjectInference) -> PreparedProject {
    let mut sources: Vec<PathBuf> = Vec::new();
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let is_source = name.ends_with(".py") && !name.contains("venv/");
        sources.extend(is_source.then_some(path));
    }
    sources.sort();
    let memory = ProjectMemory::default();
    let request = ProjectRequest::for_test("ty", root, &sources, &memory);
    super::prepare(&ProjectRequest { cache: &root.join(".cache"), ..request }, inference).unwrap()
}

#[test]
fn each_server_gets_the_environment_in_its_own_settings() {
    let inference = ProjectInference::PythonPaths;
    for name in [".venv", "venv", "env", "py3.12"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mark = format!("{name}/pyvenv.cfg");
        let python = format!("{name}/bin/python");
        let files = [("a.py", "import os\n"), (&mark, "home = /usr/bin\n")];
        assert_eq!(prepare_at(&root, &files, inference).settings, None, "{name}: its interpreter is missing");
        let prepared = prepare_at(&root, &[&files[..], &[(&python, "")]].concat(), inference);
        let settings = prepared.settings.unwrap();
        let options = prepared.initialization_options.unwrap();
        let interpreter = root.join(name).join("bin/python");
        assert_eq!(settings["python"]["pythonPath"], json!(interpreter), "{name}");
        assert_eq!(settings["pylsp"]["plugins"]["jedi"]["environment"], json!(interpreter), "{name}");
        assert_eq!(options["workspace"]["environmentPath"], json!(interpreter), "{name}");
        let of_ty = if name == ".venv" { json!(null) } else { json!(root.join(name)) };
        assert_eq!(settings["ty"]["configuration"]["environment"]["python"], of_ty, "{name}: ty finds `.venv` itself");
        let configured = [&files[..], &[(&python, ""), ("ty.toml", "[environment]\npython = \"x\"\n")]].concat();
        let prepared = prepare_at(&root, &configured, inference);
        assert_eq!((prepared.settings, prepared.initialization_options), (None, None), "{name}: configured");
    }
}

#[test]
fn uses_in_other_projects_mark_the_project_that_they_import() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let of = |name: &str, files: &[(&str, &str)]| {
        let root = top.join(name);
        (root.clone(), prepare_at(&root, files, ProjectInference::PythonPaths))
    };
    let projects = || {
        BTreeMap::from([
            of("core", &[("pyproject.toml", ""), ("src/core/__init__.py", ""), ("tests/__init__.py", "")]),
            of("other", &[("a.py", "import os, tests, numpy\n"), ("tests/__init__.py", "")]),
            of("web", &[("setup.py", ""), ("src/web/__init__.py", "import core\nfrom core import x\n")]),
        ])
    };
    let mut all = projects();
    crate::mark_uses_in_other_projects(&mut all, &BTreeMap::new(), &top, ProjectInference::PythonPaths);
    let marks = |all: &BTreeMap<PathBuf, PreparedProject>, name: &str| {
        let marking = all[&top.join(name)].info.unresolved.iter().filter(|cause| cause.hides >= Hidden::Uses);
        marking.map(|cause| (cause.what.clone(), cause.remedy.clone())).collect::<Vec<_>>()
    };
    let what = "web imports them without an environment that they share".to_owned();
    let remedy = "python -m venv .venv && .venv/bin/pip install -e core -e web".to_owned();
    assert_eq!(marks(&all, "core"), [(what, Some(remedy))]);
    assert_eq!((marks(&all, "web"), marks(&all, "other")), (vec![], vec![]));

    // Parts of one namespace package.
    let parts = [
        of("a", &[("pyproject.toml", ""), ("src/acme/core/__init__.py", ""), ("src/acme/core/ids.py", "")]),
        of(
            "b",
            &[
                ("pyproject.toml", ""),
                ("src/acme/web/__init__.py", ""),
                ("src/acme/web/app.py", "from acme.core.ids import x\n"),
            ],
        ),
        of(
            "c",
            &[
                ("pyproject.toml", ""),
                ("acme/own/__init__.py", "import acme.own.x, acme.other\n"),
                ("acme/own/x.py", ""),
            ],
        ),
    ];
    all = BTreeMap::from(parts);
    crate::mark_uses_in_other_projects(&mut all, &BTreeMap::new(), &top, ProjectInference::PythonPaths);
    assert_eq!(marks(&all, "a")[0].0, "b imports them without an environment that they share");
    assert_eq!((marks(&all, "b"), marks(&all, "c")), (vec![], vec![]));

    // An environment that holds another package of this name.
    let mark = ("venv/pyvenv.cfg", "home = /usr/bin\n");
    let held = ("venv/lib/python3.12/site-packages/core/x.py", "");
    all = projects();
    all.extend([of("web", &[mark, held, ("src/web/__init__.py", "import core\n")])]);
    crate::mark_uses_in_other_projects(&mut all, &BTreeMap::new(), &top, ProjectInference::PythonPaths);
    assert_eq!(marks(&all, "core"), []);
}

#[test]
fn pyrefly_gets_a_configuration_and_servers_without_search_paths_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let files = [("b/run.py", "import helper\n"), ("b/helper.py", "")];
    let prepared = prepare_at(&root, &files, ProjectInference::PythonConfiguration);
    let path = root.join(".cache/pyrefly.toml");
    assert_eq!(prepared.settings.unwrap()["python"]["pyrefly"]["configPath"], json!(path));
    let configuration: toml::Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let search = [root.join("b"), root.clone(), root.join("src")].map(|folder| folder.display().to_string());
    assert_eq!(configuration["search-path"].as_array().unwrap().len(), 3);
    assert!(configuration["search-path"].as_array().unwrap().iter().zip(&search).all(|(a, b)| a.as_str() == Some(b)));
    assert!(prepared.info.unresolved.is_empty() && prepared.digest != [0; 32]);

    let prepared = prepare_at(&root, &files, ProjectInference::PythonImports);
    assert_eq!(prepared.settings, None);
    let cause = &prepared.info.unresolved[0];
    assert_eq!((cause.count, cause.hides >= Hidden::Uses, cause.examples[0].as_str()), (1, true, "helper"));
}

#[test]
fn scripts_import_from_their_own_folder_and_those_above() {
    let (prepared, paths) = prepare(&[
        ("main.py", "import tools.run\n"),
        ("tools/run.py", "import helper\nimport os, json\n"),
        ("tools/helper.py", ""),
        ("tools/deep/more.py", "from helper import x\n"),
        ("alone.py", "import numpy\n"),
    ]);
    assert_eq!(paths, ["tools"]);
    assert!(!prepared.info.is_partial());
    assert_eq!(prepared.settings.unwrap()["python"]["analysis"]["extraPaths"].as_array().map(Vec::len), Some(1));
}

#[test]
fn packages_in_source_folders_are_found_from_anywhere() {
    let (_, paths) = prepare(&[
        ("src/top/__init__.py", ""),
        ("tests/test_top.py", "import top\n"),
        ("packages/one/src/one/__init__.py", ""),
        ("packages/one/src/one/core.py", "from one import x\n"),
        ("packages/two/tests/test_two.py", "from one.core import y\n"),
    ]);
    assert_eq!(paths, ["packages/one/src"], "the type checkers know `src`");
}

#[test]
fn a_project_in_a_folder_named_like_its_package_is_found_from_anywhere() {
    let member = |inner: &str, init: &str| {
        let package = format!("evalkit/{inner}evalkit/{init}");
        let files = [
            ("evalkit/pyproject.toml", "[project]\nname = \"evalkit\"\n"),
            (&package, ""),
            ("evalkit/tests/test_report.py", "import evalkit.report\n"),
            ("app/main.py", "from evalkit import (  # its report\n    report,\n)\n"),
        ];
        prepare(&files).1
    };
    assert_eq!(member("", "__init__.py"), ["evalkit"]);
    assert_eq!(member("src/", "__init__.py"), ["evalkit/src"]);
    assert_eq!(member("", "report.py"), ["evalkit"], "a namespace package");
    assert_eq!(member("src/", "report.py"), ["evalkit/src"], "a namespace package");
}

#[test]
fn parts_of_a_namespace_package_are_found_in_all_projects() {
    let files = [
        ("core/setup.py", ""),
        ("core/acme/cloud/core/__init__.py", ""),
        ("web/pyproject.toml", ""),
        ("web/src/acme/cloud/web/__init__.py", "from acme.cloud import core\n"),
        ("no/acme/cloud/x.py", ""),
    ];
    assert_eq!(prepare(&files).1, ["core", "web/src"]);
}

#[test]
fn a_folder_of_the_root_comes_before_the_package_of_a_project_if_it_has_the_module() {
    let files = [
        ("kit/setup.py", ""),
        ("kit/tests/__init__.py", ""),
        ("tests/helper.py", ""),
        ("tests/test_a.py", "from tests import helper\n"),
    ];
    assert_eq!(prepare(&files).1, Vec::<String>::new());
    let both = ("kit/tests/test_b.py", "from tests.util import x\n");
    let (prepared, paths) = prepare(&[&files[..], &[("kit/tests/util.py", ""), both]].concat());
    assert_eq!(paths, Vec::<String>::new(), "`kit` would give the tests of the root the wrong module");
    let ambiguous = &prepared.info.unresolved[0];
    assert_eq!((ambiguous.examples[0].as_str(), ambiguous.hides >= Hidden::Uses), ("tests", true));
    let script = ("tools/run.py", "from names import x\n");
    let (_, paths) = prepare(&[script, ("tools/names.py", ""), ("names/other.py", "")]);
    assert_eq!(paths, ["tools"], "a script's folder is searched first");
}

#[test]
fn a_package_is_no_search_path() {
    let files = [
        ("top/__init__.py", ""),
        ("top/inner/__init__.py", ""),
        ("top/inner/become.py", ""),
        ("top/inner/completion.py", "import become\nfrom .become import x\n"),
        ("tools/scripts/run.py", "import become\nimport own\n"),
        ("tools/scripts/own.py", ""),
    ];
    assert_eq!(prepare(&files).1, ["tools/scripts"], "the interpreter doesn't search `top/inner` either");
}

#[test]
fn names_of_the_standard_library_are_never_replaced() {
    let (_, paths) = prepare(&[("a/types.py", ""), ("a/b.py", "import types\n")]);
    assert_eq!(paths, Vec::<String>::new());
}

#[test]
fn a_project_that_names_its_search_paths_is_left_alone() {
    let files = [("a/x.py", "import y\n"), ("a/y.py", "")];
    assert_eq!(prepare(&files).1, ["a"]);
    for (file, text, is_given) in [
        ("ty.toml", "[environment]\nextra-paths = []\n", false),
        ("pyproject.toml", "[tool.ty]\nenvironment.root = [\".\"]\n", false),
        // ty joins these with the settings.
        ("ty.toml", "", true),
        ("pyproject.toml", "[tool.ty]\n", true),
        ("pyproject.toml", "[tool.ty.rules]\nunresolved-import = \"warn\"\n", true),
        ("pyproject.toml", "[project]\n", true),
    ] {
        let paths = prepare(&[files[0], files[1], (file, text)]).1;
        assert_eq!(paths, ["a"][..usize::from(is_given)], "{file}: {text}");
    }
}

#[test]
fn ambiguous_modules_and_missing_packages_are_reported() {
    let (prepared, paths) = prepare(&[
        ("a/x.py", "import helper\n"),
        ("a/helper.py", ""),
        ("b/x.py", "import helper\nimport flask\n"),
        ("b/helper.py", ""),
        ("uv.lock", ""),
        ("pyproject.toml", ""),
    ]);
    assert_eq!(paths, Vec::<String>::new(), "`a` would give `b/x.py` the wrong module");
    // Without this, an empty answer of references would look whole.
    let ambiguous = &prepared.info.unresolved[1];
    assert_eq!((ambiguous.count, ambiguous.examples[0].as_str()), (1, "helper"));
    let missing = &prepared.info.unresolved[0];
    assert_eq!((missing.count, missing.examples[0].as_str(), missing.remedy.as_deref()), (1, "flask", Some("uv sync")));
}

#[test]
fn a_folder_with_the_name_of_a_standard_package_makes_nothing_missing() {
    let (prepared, _) = prepare(&[("a.py", "import http.server\n"), ("tests/http/x.py", "")]);
    assert_eq!(prepared.info.unresolved, []);
}

#[test]
fn only_new_imports_affect_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let file = root.join("a.py");
    fs::write(&file, "import os\n").unwrap();
    let memory = ProjectMemory::default();
    let request = ProjectRequest::for_test("ty", &root, std::slice::from_ref(&file), &memory);
    super::prepare(&request, ProjectInference::PythonPaths).unwrap();
    let affected = || memory.is_affected_by_text(ProjectInference::PythonPaths, &file, &root);
    fs::write(&file, "import os\nx = 1\n").unwrap();
    assert!(!affected());
    fs::write(&file, "import os\nimport b\n").unwrap();
    assert!(affected());
    assert!(!affected(), "it is remembered");
}

#[test]
fn folders_beyond_the_limit_are_reported() {
    let files: Vec<(String, String)> = (0..crate::limits::MAX_SEARCH_PATHS + 3)
        .flat_map(|at| {
            let import = format!("import helper_{at}\n");
            [(format!("f{at}/x.py"), import), (format!("f{at}/helper_{at}.py"), String::new())]
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let (prepared, paths) = prepare(&files);
    assert_eq!(paths.len(), crate::limits::MAX_SEARCH_PATHS);
    let left_out = &prepared.info.unresolved[0];
    assert_eq!((left_out.count, left_out.examples[0].as_str()), (3, "helper_7"));
}

#[test]
fn packages_that_the_environment_lacks_are_named_with_the_command_that_installs_them() {
    let code = ("a.py", "import werkzeug, yaml, six, os, _ext\n");
    let own = (".venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n");
    let packages = ".venv/lib/python3.12/site-packages";
    let held = |entry: &str| format!("{packages}/{entry}");
    let yaml = held("yaml/__init__.pyi");
    let six = held("six.py");
    let ext = held("_ext.abi3.so");
    let unresolved = |files: &[(&str, &str)]| {
        let (prepared, _) = prepare(files);
        let shown = |names: &crate::info::UnresolvedNames| {
            format!(
                "{}: {} ({}); {}",
                names.what,
                names.examples.join(" "),
                names.count,
                names.remedy.as_deref().unwrap_or("-")
            )
        };
        prepared.info.unresolved.iter().map(shown).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        unresolved(&[code]),
        "`.venv` is missing: _ext six werkzeug yaml (4); python -m venv .venv && .venv/bin/pip install PACKAGE"
    );
    assert_eq!(
        unresolved(&[code, ("requirements.txt", "")]),
        "`.venv` is missing: _ext six werkzeug yaml (4); python -m venv .venv && .venv/bin/pip install -r requirements.txt"
    );
    assert_eq!(unresolved(&[code, ("uv.lock", "")]), "`.venv` is missing: _ext six werkzeug yaml (4); uv sync");
    let installed = [code, own, (&yaml, ""), (&six, ""), (&ext, "")];
    assert_eq!(unresolved(&installed), "`.venv` doesn't hold them: werkzeug (1); .venv/bin/pip install PACKAGE");
    let with = |more: (&'static str, &'static str)| [&installed[..], &[more]].concat();
    assert_eq!(
        unresolved(&with(("setup.py", ""))),
        "`.venv` doesn't hold them: werkzeug (1); .venv/bin/pip install -e ."
    );
    assert_eq!(unresolved(&with((".venv/lib/python3.12/site-packages/werkzeug/x.py", ""))), "");
    assert_eq!(
        unresolved(&with((".venv/lib/python3.12/site-packages/distutils-precedence.pth", ""))).lines().count(),
        1
    );
    // What these environments hold can't be read from their files.
    assert_eq!(unresolved(&with((".venv/lib/python3.12/site-packages/__editable__.x.pth", "/elsewhere"))), "");
    let open = (".venv/pyvenv.cfg", "include-system-site-packages = true\n");
    assert_eq!(unresolved(&[code, open]), "");
    assert_eq!(unresolved(&[code, ("venv/readme.txt", "")]), "");
    assert_eq!(unresolved(&[("b.py", "import os, json\n")]), "");
}
