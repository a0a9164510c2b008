//! Repositories without a configuration, or with one that covers only a part: references are complete at the first question, and the
//! next answer after a change on disk is right. Expected answers are written by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::Mcp;
use crate::running_server::{Yard, listing};

/// A repository of these files, served alone.
struct Repository {
    root: PathBuf,
    yard: Yard,
    client: Mcp,
    _folder: tempfile::TempDir,
}

impl Repository {
    fn serve(files: &[(&str, &str)], kind: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path").join("code");
        for (name, text) in files {
            put(&root, name, text);
        }
        let servers = format!("servers = {{ prefer = [{kind:?}] }}");
        let yard = Yard::serve(&format!("[[workspace]]\nname = \"u\"\nroots = [{root:?}]\n{servers}\n"));
        let client = yard.client("u");
        Self { root, yard, client, _folder: folder }
    }

    fn write(&self, name: &str, text: &str) {
        put(&self.root, name, text);
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.root.join(name)).expect("a file");
    }

    /// The files that use the first `word` of `file`, which declares it.
    fn users(&mut self, file: &str, word: &str) -> Vec<String> {
        let path = self.root.join(file);
        let text = fs::read_to_string(&path).expect("UTF-8");
        let (line, character) = text
            .lines()
            .enumerate()
            .find_map(|(line, text)| Some((line, text.find(word)?)))
            .unwrap_or_else(|| panic!("{word} isn't in {file}"));
        let position = json!({"line": line, "character": character});
        let arguments = json!({"uri": uri_of(&path), "position": position, "pageSize": 200});
        let answer = self.client.ask("vscode.lsp.references", &arguments).expect("references");
        let items = answer["items"].as_array().expect("items");
        let files: BTreeSet<String> =
            items.iter().map(|item| self.relative(item)).filter(|used| used != file).collect();
        files.into_iter().collect()
    }

    /// The files with a symbol of this name.
    fn symbols(&mut self, name: &str) -> Vec<String> {
        let arguments = json!({"query": name, "pageSize": 200});
        let answer = self.client.ask("vscode.lsp.workspaceSymbols", &arguments).expect("symbols");
        let items = answer["items"].as_array().expect("items").iter().filter(|item| item["name"] == name);
        items.map(|item| self.relative(&item["location"])).collect()
    }

    fn relative(&self, item: &Value) -> String {
        let uri = item["uri"].as_str().expect("a URI");
        uri.strip_prefix(&(uri_of(&self.root) + "/")).expect("inside the root").to_owned()
    }
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

const SRC_ONLY: [(&str, &str); 10] = [
    ("tsconfig.json", r#"{"compilerOptions": {"strict": true}, "include": ["src"]}"#),
    ("src/a.ts", "export function alpha(x: number) { return x; }\n"),
    ("src/b.ts", "import { alpha } from \"./a\";\nexport const b = alpha(1);\n"),
    ("scripts/s.ts", "import { alpha } from \"../src/a\";\nexport function helper() { return alpha(2); }\n"),
    ("scripts/t.ts", "import { helper } from \"./s\";\nhelper();\n"),
    ("tests/u.test.tsx", "import { helper } from \"../scripts/s\";\nhelper();\n"),
    ("build.config.ts", "import { helper } from \"./scripts/s\";\nhelper();\n"),
    ("src/j.js", "import { alpha } from \"./a\";\nexport function inJs() { return alpha(4); }\n"),
    ("src/k.mjs", "import { inJs } from \"./j.js\";\ninJs();\n"),
    ("node_modules/x/index.ts", "import { alpha } from \"../../src/a\";\nalpha(5);\n"),
];

/// Files outside `include`, files without `allowJs`, and the file of a tool in the root are in no project of the repository.
fn a_configuration_of_a_part(kind: &str) {
    let mut repository = Repository::serve(&SRC_ONLY, kind);
    let before = listing(&repository.root);
    assert_eq!(repository.users("src/a.ts", "alpha"), ["scripts/s.ts", "src/b.ts", "src/j.js"]);
    assert_eq!(repository.users("scripts/s.ts", "helper"), ["build.config.ts", "scripts/t.ts", "tests/u.test.tsx"]);
    assert_eq!(repository.users("src/j.js", "inJs"), ["src/k.mjs"]);
    assert_eq!(listing(&repository.root), before, "something was written into the root");
    repository.yard.stop();
}

#[test]
fn typescript_outside_the_configuration() {
    a_configuration_of_a_part("typescript");
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn typescript_outside_the_configuration_by_the_server_on_node() {
    a_configuration_of_a_part("typescript-language-server");
}

/// TypeScript that imports JavaScript without `allowJs` is among its users, also when the import is new.
fn javascript_that_typescript_imports(kind: &str) {
    let mut repository = Repository::serve(
        &[
            ("tsconfig.json", r#"{"compilerOptions": {"paths": {"~/*": ["./src/*"]}}, "include": ["src"]}"#),
            ("src/a.ts", "import { inJs } from \"./j\";\ninJs();\n"),
            ("src/b.ts", "export function beside() {}\n"),
            ("src/c.ts", "import { beside } from \"~/b\";\nbeside();\n"),
            ("src/j.js", "export function inJs() {}\n"),
            ("tests/t.ts", "import { beside } from \"~/b\";\nbeside();\n"),
        ],
        kind,
    );
    assert_eq!(repository.users("src/j.js", "inJs"), ["src/a.ts"]);
    assert_eq!(repository.users("src/b.ts", "beside"), ["src/c.ts", "tests/t.ts"], "by the names of `paths`");
    repository.write("src/b.ts", "import { inJs } from \"./j.js\";\nexport function beside() { inJs(); }\n");
    assert_eq!(repository.users("src/j.js", "inJs"), ["src/a.ts", "src/b.ts"]);
    repository.yard.stop();
}

#[test]
fn typescript_imports_javascript() {
    javascript_that_typescript_imports("typescript");
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn typescript_imports_javascript_by_the_server_on_node() {
    javascript_that_typescript_imports("typescript-language-server");
}

#[test]
fn several_configurations_without_references() {
    let package = r#"{"compilerOptions": {"strict": true}, "include": ["src"]}"#;
    let mut repository = Repository::serve(
        &[
            ("package.json", r#"{"workspaces": ["packages/*"]}"#),
            ("packages/a/package.json", r#"{"name": "@x/a"}"#),
            ("packages/a/tsconfig.json", package),
            ("packages/a/src/index.ts", "export function shared() {}\n"),
            ("packages/b/package.json", r#"{"name": "@x/b"}"#),
            ("packages/b/tsconfig.json", package),
            ("packages/b/src/deep/use.ts", "import { shared } from \"../../../a/src\";\nshared();\n"),
            ("packages/b/vite.config.ts", "import { shared } from \"../a/src\";\nshared();\n"),
        ],
        "typescript",
    );
    let users = repository.users("packages/a/src/index.ts", "shared");
    assert_eq!(users, ["packages/b/src/deep/use.ts", "packages/b/vite.config.ts"]);
    repository.yard.stop();
}

#[test]
fn packages_without_a_configuration_import_each_other_by_name() {
    let mut repository = Repository::serve(
        &[
            ("package.json", r#"{"workspaces": ["packages/*"]}"#),
            ("packages/a/package.json", r#"{"name": "@x/a"}"#),
            ("packages/a/src/index.ts", "export function shared() {}\n"),
            ("packages/b/package.json", r#"{"name": "@x/b"}"#),
            ("packages/b/use.tsx", "import { shared } from \"@x/a\";\nshared();\n"),
            ("packages/b/more.mjs", "import { shared } from \"@x/a\";\nshared();\n"),
        ],
        "typescript",
    );
    let users = repository.users("packages/a/src/index.ts", "shared");
    assert_eq!(users, ["packages/b/more.mjs", "packages/b/use.tsx"]);
    repository.yard.stop();
}

/// Each package has a configuration, and no `node_modules` links them, as in a clone before the packages are installed.
fn configured_packages_without_links(kind: &str) {
    let mut repository = Repository::serve(
        &[
            ("package.json", r#"{"name": "root", "workspaces": ["packages/*"]}"#),
            ("tsconfig.json", r#"{"files": [], "references": [{"path": "packages/a"}, {"path": "packages/b"}]}"#),
            ("packages/a/package.json", r#"{"name": "@x/a", "main": "dist/index.js"}"#),
            ("packages/a/tsconfig.json", r#"{"include": ["src"], "compilerOptions": {"composite": true}}"#),
            ("packages/a/src/index.ts", "export function shared() {}\n"),
            ("packages/b/package.json", r#"{"name": "b", "dependencies": {"@x/a": "*"}}"#),
            ("packages/b/tsconfig.json", r#"{"include": ["src"], "references": [{"path": "../a"}]}"#),
            ("packages/b/src/use.ts", "import { shared } from \"@x/a\";\nshared();\n"),
            ("packages/b/src/pass.ts", "export { shared as other } from \"@x/a\";\n"),
            ("packages/b/src/more.ts", "import { other } from \"./pass\";\nother();\n"),
        ],
        kind,
    );
    let all = ["packages/b/src/more.ts", "packages/b/src/pass.ts", "packages/b/src/use.ts"];
    assert_eq!(repository.users("packages/a/src/index.ts", "shared"), all);
    let mut from_use = repository.users("packages/b/src/use.ts", "shared");
    from_use.retain(|file| file != "packages/a/src/index.ts");
    assert_eq!(from_use, all[..2], "from a use, too");
    repository.write("packages/b/src/new.ts", "import { shared } from \"@x/a\";\nshared();\n");
    assert_eq!(repository.users("packages/a/src/index.ts", "shared").len(), 4, "a new file");
    repository.yard.stop();
}

#[test]
fn packages_with_configurations_import_each_other_without_links() {
    configured_packages_without_links("typescript");
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn packages_with_configurations_import_each_other_without_links_by_the_server_on_node() {
    configured_packages_without_links("typescript-language-server");
}

fn inferred_typescript_follows_the_disk(kind: &str) {
    let use_of =
        |name: &str| format!("import {{ shared }} from \"./lib\";\nexport function {name}() {{ shared(); }}\n");
    let mut repository =
        Repository::serve(&[("lib.ts", "export function shared() {}\n"), ("a.ts", &use_of("first"))], kind);
    assert_eq!(repository.users("lib.ts", "shared"), ["a.ts"]);
    repository.write("b.ts", &use_of("second"));
    assert_eq!(repository.users("lib.ts", "shared"), ["a.ts", "b.ts"], "a new file");
    assert_eq!(repository.symbols("second"), ["b.ts"]);
    repository.write("a.ts", "export {};\n");
    assert_eq!(repository.users("lib.ts", "shared"), ["b.ts"], "an edit");
    repository.remove("b.ts");
    assert_eq!(repository.users("lib.ts", "shared"), Vec::<String>::new(), "a deletion");
    assert_eq!(repository.symbols("second"), Vec::<String>::new());
    repository.write("c/c.ts", "import { shared } from \"../lib\";\nshared();\n");
    assert_eq!(repository.users("lib.ts", "shared"), ["c/c.ts"], "a new folder");
    repository.yard.stop();
}

#[test]
fn an_inferred_project_of_typescript_follows_the_disk() {
    inferred_typescript_follows_the_disk("typescript");
}

#[test]
fn an_inferred_project_of_the_server_on_node_follows_the_disk() {
    inferred_typescript_follows_the_disk("typescript-language-server");
}

#[test]
fn a_configuration_that_appears_or_goes_changes_the_inferred_project() {
    let mut repository = Repository::serve(
        &[
            ("lib.ts", "export function shared() {}\n"),
            ("a.ts", "import { shared } from \"./lib\";\nshared();\n"),
            ("other/b.ts", "import { shared } from \"~/lib\";\nshared();\n"),
        ],
        "typescript",
    );
    assert_eq!(repository.users("lib.ts", "shared"), ["a.ts"]);
    repository
        .write("tsconfig.json", r#"{"compilerOptions": {"paths": {"~/*": ["./*"]}}, "include": ["other", "lib.ts"]}"#);
    assert_eq!(repository.users("lib.ts", "shared"), ["a.ts", "other/b.ts"], "a.ts is outside the configuration");
    repository.write("tsconfig.json", r#"{"include": ["a.ts", "lib.ts"]}"#);
    assert_eq!(repository.users("lib.ts", "shared"), ["a.ts"], "without `paths`");
    repository.remove("tsconfig.json");
    assert_eq!(repository.users("lib.ts", "shared"), ["a.ts"]);
    repository.yard.stop();
}

#[test]
fn python_scripts_and_packages_without_a_configuration() {
    let mut repository = Repository::serve(
        &[
            ("tools/helper.py", "def aid(x):\n    return x\n"),
            ("tools/run.py", "from helper import aid\n\naid(1)\n"),
            ("tools/deep/more.py", "import helper\n\nhelper.aid(2)\n"),
            ("packages/one/src/one/__init__.py", ""),
            ("packages/one/src/one/core.py", "def core(x):\n    return x\n"),
            ("packages/two/tests/test_two.py", "from one.core import core\n\ncore(1)\n"),
            ("src/top/__init__.py", "def top():\n    pass\n"),
            ("tests/test_top.py", "import top\n\ntop.top()\n"),
        ],
        "ty",
    );
    assert_eq!(repository.users("tools/helper.py", "aid"), ["tools/deep/more.py", "tools/run.py"]);
    assert_eq!(repository.users("packages/one/src/one/core.py", "core"), ["packages/two/tests/test_two.py"]);
    assert_eq!(repository.users("src/top/__init__.py", "top"), ["tests/test_top.py"]);
    repository.write("packages/three/lib/three/__init__.py", "def three():\n    pass\n");
    repository.write("tests/test_three.py", "import three\n\nthree.three()\n");
    let users = repository.users("packages/three/lib/three/__init__.py", "three");
    assert_eq!(users, ["tests/test_three.py"], "a new folder to import from");
    repository.write("tests/test_top.py", "import one.core\n\none.core.core(3)\n");
    let users = repository.users("packages/one/src/one/core.py", "core");
    assert_eq!(users, ["packages/two/tests/test_two.py", "tests/test_top.py"]);
    repository.yard.stop();
}

#[test]
fn a_python_project_in_a_folder_named_like_its_package_is_found_from_outside() {
    for tools in [
        "[tool.uv.workspace]\nmembers = [\"evalkit\", \"app\"]\n",
        "[tool.poetry.dependencies]\nevalkit = {path = \"evalkit\"}\n",
    ] {
        let mut repository = Repository::serve(
            &[
                ("pyproject.toml", tools),
                ("evalkit/pyproject.toml", "[project]\nname = \"evalkit\"\nversion = \"0\"\n"),
                ("evalkit/evalkit/__init__.py", "from .report import Report\n"),
                ("evalkit/evalkit/report.py", "class Report:\n    pass\n"),
                ("evalkit/tests/test_report.py", "from evalkit.report import Report\n\nReport()\n"),
                ("run/main.py", "from evalkit import Report\n\nReport()\n"),
            ],
            "ty",
        );
        let users = repository.users("evalkit/evalkit/report.py", "Report");
        assert_eq!(users, ["evalkit/tests/test_report.py", "run/main.py"], "{tools}");
        repository.yard.stop();
    }
}

#[test]
fn typescript_packages_that_a_script_links_are_found_by_their_published_names() {
    let configuration = r#"{"compilerOptions": {"module": "node16", "moduleResolution": "node16", "strict": true, "rootDir": "src", "outDir": "lib"}}"#;
    let core = r#"{"name": "core-protocol", "version": "3.18.2", "exports": {".": {"types": "./lib/common/api.d.ts", "default": "./lib/common/api.js"}}}"#;
    let mut repository = Repository::serve(
        &[
            ("package.json", r#"{"private": true, "scripts": {"symlink": "node link.js"}}"#),
            ("protocol/package.json", core),
            ("protocol/package-lock.json", "{}"),
            ("protocol/tsconfig.json", configuration),
            ("protocol/src/common/api.ts", "export { start } from './messages';\n"),
            ("protocol/src/common/messages.ts", "export function start() {}\n"),
            ("client/package.json", r#"{"name": "client", "dependencies": {"core-protocol": "3.18.2"}}"#),
            ("client/package-lock.json", "{}"),
            ("client/tsconfig.json", configuration),
            ("client/src/main.ts", "import { start } from 'core-protocol';\nstart();\n"),
        ],
        "typescript",
    );
    let users = repository.users("protocol/src/common/messages.ts", "start");
    assert_eq!(users, ["client/src/main.ts"]);
    repository.yard.stop();
}

/// The nearest file that no `tsconfig.json` lists is in the project of the `jsconfig.json` beside one.
#[test]
fn typescript_packages_are_found_where_a_jsconfig_is_beside_a_tsconfig() {
    let composite = r#"{"include": ["src"], "compilerOptions": {"composite": true}}"#;
    let mut repository = Repository::serve(
        &[
            ("package.json", r#"{"private": true, "scripts": {"symlink": "node link.js"}}"#),
            ("tsconfig.json", r#"{"files": [], "references": [{"path": "core"}, {"path": "client"}]}"#),
            ("jsconfig.json", r#"{"include": [".first.js"]}"#),
            (".first.js", "module.exports = {};\n"),
            ("link.js", "console.log(1);\n"),
            ("core/package.json", r#"{"name": "the-core", "version": "3.18.2", "types": "lib/index.d.ts"}"#),
            ("core/tsconfig.json", composite),
            ("core/src/index.ts", "export function start() {}\n"),
            ("client/package.json", r#"{"name": "client", "dependencies": {"the-core": "3.18.2"}}"#),
            ("client/tsconfig.json", composite),
            ("client/src/main.ts", "import { start } from 'the-core';\nstart();\n"),
            ("client/src/more.ts", "import { start } from 'the-core';\nstart();\n"),
        ],
        "typescript",
    );
    let more = repository.users("client/src/main.ts", "start");
    assert_eq!(more, ["client/src/more.ts"], "the first question, at a use");
    let users = repository.users("core/src/index.ts", "start");
    assert_eq!(users, ["client/src/main.ts", "client/src/more.ts"]);
    repository.yard.stop();
}

/// Its `paths` hold in files of the root's configuration alone; the example needs what its own configuration finds.
#[test]
fn typescript_examples_import_the_package_of_the_root_by_its_name() {
    let mut repository = Repository::serve(
        &[
            ("package.json", r#"{"name": "state", "version": "5.0.2"}"#),
            (
                "tsconfig.json",
                r#"{"compilerOptions": {"paths": {"state": ["./src/index.ts"]}}, "include": ["src", "tests"]}"#,
            ),
            ("src/index.ts", "export function create() {}\n"),
            ("tests/basic.ts", "import { create } from 'state';\ncreate();\n"),
            ("examples/starter/package.json", r#"{"dependencies": {"state": "^5.0.0"}}"#),
            ("examples/starter/tsconfig.json", r#"{"include": ["src"]}"#),
            ("examples/starter/src/main.ts", "import { create } from 'state';\ncreate();\n"),
        ],
        "typescript",
    );
    assert_eq!(repository.users("src/index.ts", "create"), ["examples/starter/src/main.ts", "tests/basic.ts"]);
    repository.yard.stop();
}

#[test]
fn typescript_extends_what_svelte_kit_would_generate() {
    let mut repository = Repository::serve(
        &[
            ("package.json", r#"{"name": "site"}"#),
            ("tsconfig.json", r#"{"extends": "./.svelte-kit/tsconfig.json", "compilerOptions": {"strict": true}}"#),
            ("src/lib/sum.ts", "export function sum() {}\n"),
            ("src/routes/page.ts", "import { sum } from '$lib/sum';\nsum();\n"),
        ],
        "typescript",
    );
    assert_eq!(repository.users("src/lib/sum.ts", "sum"), ["src/routes/page.ts"]);
    repository.write(".svelte-kit/tsconfig.json", r#"{"compilerOptions": {"paths": {"$other/*": ["../src/lib/*"]}}}"#);
    repository.write("src/routes/other.ts", "import { sum } from '$other/sum';\nsum();\n");
    assert_eq!(repository.users("src/lib/sum.ts", "sum"), ["src/routes/other.ts"], "the real file counts");
    repository.yard.stop();
}

#[test]
fn declarations_with_the_macro_of_a_generated_header_are_read_right() {
    let mut repository = Repository::serve(
        &[
            (
                "CMakeLists.txt",
                "project(kit CXX)\nadd_library(kit src/shape.cc src/use.cc)\ngenerate_export_header(kit EXPORT_FILE_NAME ${CMAKE_CURRENT_BINARY_DIR}/exports/kit/exports.h)\ntarget_include_directories(kit PUBLIC inc ${CMAKE_CURRENT_BINARY_DIR}/exports)\n",
            ),
            (
                "inc/kit/shape.h",
                "#pragma once\n#include <kit/exports.h>\nnamespace kit {\nclass KIT_EXPORT Shape {\n  public:\n    void start();\n};\nKIT_EXPORT int title(const Shape &shape);\n}\n",
            ),
            ("src/shape.cc", "#include <kit/shape.h>\nint kit::title(const kit::Shape &) { return 1; }\n"),
            (
                "src/use.cc",
                "#include <kit/shape.h>\nint twice(kit::Shape &shape) { shape.start(); return kit::title(shape); }\n",
            ),
        ],
        "clangd",
    );
    assert_eq!(repository.users("inc/kit/shape.h", "title"), ["src/use.cc"]);
    assert_eq!(repository.users("inc/kit/shape.h", "start"), ["src/use.cc"]);
    repository.yard.stop();
}
