//! References and callers through CommonJS: complete from the definition and from any use, in every form of `exports` and `require`, and
//! marked where the server knows too little. Expected answers are written by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::Mcp;
use crate::running_server::{Yard, listing};
use crate::servers::agent;

/// A served repository with a client of both catalogs.
pub(crate) struct Modules {
    root: PathBuf,
    client: Mcp,
    pub(crate) yard: Yard,
    _folder: tempfile::TempDir,
}

/// Places as `file:line:column`, from 0.
pub(crate) type Places = BTreeSet<String>;

impl Modules {
    pub(crate) fn serve(files: &[(&str, &str)], kind: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path").join("code");
        for (name, text) in files {
            put(&root, name, text);
        }
        let servers = format!("servers = {{ prefer = [{kind:?}] }}");
        let yard = Yard::serve(&format!("[[workspace]]\nname = \"m\"\nroots = [{root:?}]\n{servers}\n"));
        let client = agent::client(&yard, "m");
        Self { root, client, yard, _folder: folder }
    }

    /// The references at a place `file:line:column`, and the summary.
    pub(crate) fn references(&mut self, place: &str, include_declaration: bool) -> (Places, String) {
        let (path, line, character) = self.split(place);
        let arguments = json!({
            "uri": uri_of(&path), "position": {"line": line, "character": character}, "pageSize": 200,
            "includeDeclaration": include_declaration
        });
        let answer = self.client.ask("vscode.lsp.references", &arguments).expect("references");
        let items = answer["items"].as_array().expect("items");
        let places = items.iter().map(|item| self.place(&item["uri"], &item["range"]));
        (places.collect(), answer["summary"].as_str().expect("a summary").to_owned())
    }

    /// The names of the callers and the places of their calls.
    pub(crate) fn callers(&mut self, place: &str) -> (BTreeSet<String>, Places) {
        let (path, line, character) = self.split(place);
        let arguments = json!({
            "operation": "incomingCalls", "filePath": path, "line": line + 1, "character": character + 1
        });
        let answer = agent::ask(&mut self.client, &arguments).unwrap_or_else(|refusal| panic!("{place}: {refusal:?}"));
        let mut names = BTreeSet::new();
        let mut places = Places::new();
        for call in answer.result().as_array().expect("a list") {
            let name = call["from"]["name"].as_str().expect("a name");
            names.insert(Path::new(name).file_name().expect("a name").to_string_lossy().into_owned());
            for range in call["fromRanges"].as_array().expect("ranges") {
                places.insert(self.place(&call["from"]["uri"], range));
            }
        }
        (names, places)
    }

    fn split(&self, place: &str) -> (PathBuf, u64, u64) {
        let parts: Vec<&str> = place.split(':').collect();
        let number = |at: usize| parts[at].parse().expect("a number");
        (self.root.join(parts[0]), number(1), number(2))
    }

    fn place(&self, uri: &Value, range: &Value) -> String {
        let root = uri_of(&self.root) + "/";
        let file = uri.as_str().expect("a URI").strip_prefix(&root).expect("inside the root");
        format!("{file}:{}:{}", range["start"]["line"], range["start"]["character"])
    }

    /// Asserts the references from each of `from`, in any order, and that none is marked.
    pub(crate) fn assert_references(&mut self, from: &[&str], expected: &[&str]) {
        let expected: Places = expected.iter().map(|place| (*place).to_owned()).collect();
        for place in from {
            let (found, summary) = self.references(place, true);
            assert_eq!(found, expected, "from {place}: {summary}");
            assert!(!summary.contains("decided"), "from {place}: {summary}");
        }
    }
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

const FORMS: [(&str, &str); 11] = [
    (
        "lib/utils.js",
        "exports.etag = function (val) { return val; };\n\
         function plain() { return 1; }\n\
         exports.plain = plain;\n\
         exports.renamed = plain;\n\
         class Named { method() {} }\n\
         module.exports.Named = Named;\n\
         function local() { exports.etag(1); }\n",
    ),
    ("lib/object.js", "function one() {}\nmodule.exports = {\n  one,\n  two: function () {},\n  five: one,\n};\n"),
    ("lib/whole.js", "module.exports = create;\nfunction create() {}\n"),
    ("lib/again.js", "module.exports = require('./object');\n"),
    ("lib/index.js", "exports.make = require('./whole');\nexports.tag = require('./utils').etag;\n"),
    (
        "lib/chain.js",
        "exports = module.exports = createApplication;\nfunction createApplication() {}\nexports.support = support;\nfunction support() {}\n",
    ),
    ("lib/app.js", "var app = exports = module.exports = {};\napp.init = function init() {};\n"),
    (
        "use.js",
        "var etag = require('./lib/utils').etag;\n\
         const { plain: other, Named } = require('./lib/utils');\n\
         const utils = require('./lib/utils');\n\
         function first() { etag(1); other(); new Named().method(); }\n\
         const second = () => { utils.etag(2); utils.plain(); new utils.Named(); };\n\
         require('./lib/utils').renamed();\n",
    ),
    (
        "more.cjs",
        "const object = require('./lib/object');\n\
         object.one(); object.two();\n\
         const { one } = require('./lib/object.js');\n\
         one();\n\
         require('./lib/again').one();\n\
         object.five();\n",
    ),
    (
        "whole.js",
        "const make = require('./lib/whole');\nmake();\nrequire('./lib').make();\nrequire('./lib').tag();\n\
         const chain = require('./lib/chain');\nchain.support();\nconst app = require('./lib/app');\napp.init();\n",
    ),
    (
        "esm.mjs",
        "import { etag, plain } from './lib/utils.js';\netag(3); plain();\nimport { one } from './lib/object.js';\none();\n",
    ),
];

/// What is used where: places of the symbol from which it is asked, and all references with declarations.
const USES: [(&[&str], &[&str]); 7] = [
    (
        &["lib/utils.js:0:8", "use.js:0:4", "use.js:3:19", "use.js:4:29", "esm.mjs:1:0", "lib/utils.js:6:27"],
        &[
            "lib/utils.js:0:8", "lib/utils.js:6:27", "use.js:0:4", "use.js:0:34", "use.js:3:19", "use.js:4:29",
            "esm.mjs:0:9", "esm.mjs:1:0", "lib/index.js:1:8", "lib/index.js:1:33", "whole.js:3:17",
        ],
    ),
    (
        &["lib/utils.js:1:9", "lib/utils.js:2:8", "use.js:1:8", "use.js:3:28", "use.js:4:44", "use.js:5:23"],
        &[
            "lib/utils.js:1:9", "lib/utils.js:2:8", "lib/utils.js:2:16", "lib/utils.js:3:8", "lib/utils.js:3:18",
            "use.js:1:8", "use.js:1:15", "use.js:3:28", "use.js:4:44", "use.js:5:23", "esm.mjs:0:15", "esm.mjs:1:9",
        ],
    ),
    (
        &["lib/utils.js:4:6", "use.js:1:22", "use.js:3:41", "use.js:4:63"],
        &["lib/utils.js:4:6", "lib/utils.js:5:15", "lib/utils.js:5:23", "use.js:1:22", "use.js:3:41", "use.js:4:63"],
    ),
    (
        &["lib/object.js:0:9", "more.cjs:3:0", "more.cjs:1:7", "more.cjs:5:7"],
        &[
            "lib/object.js:0:9", "lib/object.js:2:2", "lib/object.js:4:2", "lib/object.js:4:8", "more.cjs:1:7",
            "more.cjs:2:8", "more.cjs:3:0", "more.cjs:4:23", "more.cjs:5:7", "esm.mjs:2:9", "esm.mjs:3:0",
        ],
    ),
    (
        &["lib/whole.js:1:9", "whole.js:1:0", "whole.js:2:17"],
        &[
            "lib/whole.js:0:17", "lib/whole.js:1:9", "lib/index.js:0:8", "lib/index.js:0:24", "whole.js:0:6",
            "whole.js:1:0", "whole.js:2:17",
        ],
    ),
    (
        &["lib/chain.js:2:8", "lib/chain.js:3:9", "whole.js:5:6"],
        &["lib/chain.js:2:8", "lib/chain.js:2:18", "lib/chain.js:3:9", "whole.js:5:6"],
    ),
    (&["lib/app.js:1:4", "lib/app.js:1:20", "whole.js:7:4"], &["lib/app.js:1:4", "lib/app.js:1:20", "whole.js:7:4"]),
];

/// Places of a function, the names of its callers, and the calls.
const CALLS: [(&[&str], &[&str], &[&str]); 3] = [
    (
        &["lib/utils.js:0:8", "use.js:3:19"],
        &["first", "second", "local", "whole.js", "esm.mjs"],
        &["lib/utils.js:6:27", "use.js:3:19", "use.js:4:29", "whole.js:3:17", "esm.mjs:1:0"],
    ),
    (
        &["lib/utils.js:1:9", "use.js:5:23"],
        &["first", "second", "use.js", "esm.mjs"],
        &["use.js:3:28", "use.js:4:44", "use.js:5:23", "esm.mjs:1:9"],
    ),
    (&["lib/whole.js:1:9", "whole.js:1:0"], &["whole.js"], &["whole.js:1:0", "whole.js:2:17"]),
];

fn every_form(kind: &str) {
    let mut modules = Modules::serve(&FORMS, kind);
    let before = listing(&modules.root);
    for (from, expected) in USES {
        modules.assert_references(from, expected);
        // Without declarations the answer doesn't depend on the place either, and has nothing else.
        let uses = modules.references(from[0], false).0;
        for place in from {
            assert_eq!(modules.references(place, false).0, uses, "from {place}");
        }
        assert!(uses.iter().all(|place| expected.contains(&place.as_str())), "{uses:?}");
    }
    for (from, names, places) in CALLS {
        for place in from {
            let (found, calls) = modules.callers(place);
            assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), names.iter().copied().collect());
            assert_eq!(calls.iter().map(String::as_str).collect::<BTreeSet<_>>(), places.iter().copied().collect());
        }
    }
    // A variable that holds a module is a name of its file.
    let variable = ["use.js:2:6", "use.js:4:23", "use.js:4:38", "use.js:4:57"];
    modules.assert_references(&["use.js:2:6"], &variable);
    assert_eq!(listing(&modules.root), before, "something was written into the root");
    modules.yard.stop();
}

#[test]
fn every_form_by_typescript_7() {
    every_form("typescript");
}

#[test]
fn every_form_by_the_server_on_node() {
    every_form("typescript-language-server");
}

#[test]
fn uses_of_unknown_objects_are_counted() {
    let mut modules = Modules::serve(
        &[
            ("lib/get.js", "exports.get = function () {};\nexports.other = function () {};\n"),
            (
                "use.js",
                "const { get } = require('./lib/get');\nfunction f(unknown) { get(); unknown.get(); }\nnew Map().get(1);\n",
            ),
            ("apart.js", "function g(unknown) { unknown.get(); }\n"),
        ],
        "typescript",
    );
    let mark = "1 use of `get` can't be decided by typescript: the types of their objects are unknown; search the name as text.";
    let (found, summary) = modules.references("lib/get.js:0:8", true);
    let expected = ["lib/get.js:0:8", "use.js:0:8", "use.js:1:22"].map(str::to_owned);
    assert_eq!((found, summary.ends_with(mark)), (expected.into(), true), "{summary}");
    let arguments = json!({"operation": "incomingCalls", "filePath": "lib/get.js", "line": 1, "character": 9});
    let answer = agent::ask(&mut modules.client, &arguments).expect("an answer");
    assert!(answer.output.ends_with(mark) && answer.metadata["hint"] == mark, "{answer:?}");
    assert_eq!(answer.metadata["partial"][0]["undecidedPlaces"], 1, "{answer:?}");
    modules.assert_references(&["lib/get.js:1:8"], &["lib/get.js:1:8"]);
    modules.yard.stop();
}

#[test]
fn the_disk_is_followed() {
    let mut modules = Modules::serve(
        &[("lib.js", "exports.a = function () {};\n"), ("use.js", "require('./lib').a();\n")],
        "typescript",
    );
    modules.assert_references(&["lib.js:0:8"], &["lib.js:0:8", "use.js:0:17"]);
    put(&modules.root, "more/new.js", "const { a } = require('../lib');\na();\n");
    modules.assert_references(&["lib.js:0:8"], &["lib.js:0:8", "use.js:0:17", "more/new.js:0:8", "more/new.js:1:0"]);
    put(&modules.root, "use.js", "const a = 1;\nmodule.exports = a;\n");
    modules.assert_references(&["lib.js:0:8"], &["lib.js:0:8", "more/new.js:0:8", "more/new.js:1:0"]);
    fs::remove_file(modules.root.join("more/new.js")).expect("a file");
    modules.assert_references(&["lib.js:0:8"], &["lib.js:0:8"]);
    modules.yard.stop();
}

/// Folders with their own configurations, packages, endings, and a configuration that can't be read whole.
#[test]
fn projects_of_all_kinds_require_each_other() {
    let mut modules = Modules::serve(
        &[
            ("tsconfig.json", r#"{"files": [], "references": [{"path": "ts"}]}"#),
            (
                "ts/tsconfig.json",
                r#"{"compilerOptions": {"composite": true}, "include": ["src"], "extends": "@missing/base"}"#,
            ),
            ("ts/src/a.ts", "import { tool } from '../../js/tool';\nexport const b = tool(1);\n"),
            ("js/package.json", r#"{"name": "@x/js", "main": "tool.js"}"#),
            ("js/tool.js", "exports.tool = tool;\nfunction tool(x) { return x; }\n"),
            ("js/user.cjs", "const { tool } = require('./tool.js');\ntool(2);\n"),
            ("app/package.json", r#"{"name": "app", "type": "module"}"#),
            ("app/main.js", "import { tool } from '../js/tool.js';\ntool(3);\n"),
            ("app/old.cjs", "require('@x/js').tool(4);\n"),
            ("old/jsconfig.json", "{}"),
            ("old/own.js", "const js = require('../js');\njs.tool(5);\n"),
        ],
        "typescript",
    );
    modules.assert_references(
        &["js/tool.js:1:9", "js/tool.js:0:8", "js/user.cjs:1:0", "app/old.cjs:0:17", "old/own.js:1:3"],
        &[
            "js/tool.js:0:8", "js/tool.js:0:15", "js/tool.js:1:9", "js/user.cjs:0:8", "js/user.cjs:1:0",
            "app/main.js:0:9", "app/main.js:1:0", "app/old.cjs:0:17", "old/own.js:1:3", "ts/src/a.ts:0:9",
            "ts/src/a.ts:1:17",
        ],
    );
    modules.yard.stop();
}

const TO_ES: [(&str, &str); 8] = [
    ("esm.mjs", "export function taken() { const inner = 1; return inner; }\nexport function lost() {}\n"),
    ("typed.ts", "export function typed(): number { return 1; }\n"),
    ("typed-user.ts", "import { typed } from './typed';\ntyped();\n"),
    ("barrel.mjs", "export * from './esm.mjs';\n"),
    ("names.cjs", "const { taken: mine } = require('./esm.mjs');\nmine();\n"),
    ("whole.cjs", "const all = require('./barrel.mjs');\nfunction calling() { all.taken(); }\n"),
    ("member.cjs", "require('./typed').typed();\nexports.taken = function () {};\n"),
    (
        "apart.cjs",
        "const { taken } = require('./member.cjs');\ntaken();\nconst { lost } = require(process.argv[2]);\nlost();\n",
    ),
];

fn es_modules_are_required(kind: &str) {
    let mut modules = Modules::serve(&TO_ES, kind);
    modules.assert_references(
        &["esm.mjs:0:16", "names.cjs:1:0", "whole.cjs:1:25"],
        &["esm.mjs:0:16", "names.cjs:0:8", "names.cjs:0:15", "names.cjs:1:0", "whole.cjs:1:25"],
    );
    modules.assert_references(
        &["typed.ts:0:16", "typed-user.ts:1:0", "member.cjs:0:19"],
        &["typed.ts:0:16", "typed-user.ts:0:9", "typed-user.ts:1:0", "member.cjs:0:19"],
    );
    modules.assert_references(&["esm.mjs:0:32"], &["esm.mjs:0:32", "esm.mjs:0:50"]);
    let (names, places) = modules.callers("esm.mjs:0:16");
    assert_eq!(names, ["names.cjs", "calling"].map(str::to_owned).into());
    assert_eq!(places, ["names.cjs:1:0", "whole.cjs:1:25"].map(str::to_owned).into());
    // Nobody knows which module a computed specifier names.
    let (found, summary) = modules.references("esm.mjs:1:16", true);
    assert_eq!(found, ["esm.mjs:1:16".to_owned()].into(), "{summary}");
    assert!(summary.contains(&format!("1 use of `lost` can't be decided by {kind}: ")), "{summary}");
    modules.yard.stop();
}

#[test]
fn es_modules_are_required_by_typescript_7() {
    es_modules_are_required("typescript");
}

#[test]
fn es_modules_are_required_by_the_server_on_node() {
    es_modules_are_required("typescript-language-server");
}
