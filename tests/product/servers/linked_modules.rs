//! References and callers between CommonJS, ES modules and TypeScript, whatever names the modules export and import by: complete from the
//! definition and from each use. Expected answers are written by hand.

use std::collections::BTreeSet;

use crate::servers::commonjs::Modules;

/// One symbol: places from which it is asked, and all references with declarations.
type Symbol = (&'static [&'static str], &'static [&'static str]);

/// Serves the files and asserts the references of each symbol from each place, and that no answer is marked.
fn assert_symbols(files: &[(&str, &str)], kind: &str, symbols: &[Symbol]) -> Modules {
    let mut modules = Modules::serve(files, kind);
    for (from, expected) in symbols {
        modules.assert_references(from, expected);
    }
    modules
}

/// Asserts the names of the callers and the places of the calls, from each place.
fn assert_callers(modules: &mut Modules, from: &[&str], names: &[&str], places: &[&str]) {
    for place in from {
        let (found, calls) = modules.callers(place);
        assert_eq!(
            calls.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            places.iter().copied().collect(),
            "{place}"
        );
        assert_eq!(
            found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            names.iter().copied().collect(),
            "{place}"
        );
    }
}

/// ES modules that export under other names, pass on what others export, and are required.
const RENAMED: [(&str, &str); 8] = [
    (
        "esm.mjs",
        "function one() {}\nexport { one as uno };\nexport default function main() { one(); }\n\
         export class Taken { uno() {} }\nexport function apart() {}\n",
    ),
    (
        "barrel.mjs",
        "export { uno as un } from './esm.mjs';\nexport { default } from './esm.mjs';\n\
         import { apart as other } from './esm.mjs';\nexport { other as third };\n",
    ),
    ("more.mjs", "import main, { uno } from './esm.mjs';\nuno(); main();\n"),
    (
        "use.cjs",
        "const { uno, default: mein } = require('./esm.mjs');\nfunction calls() { uno(); mein(); }\n\
         const all = require('./esm.mjs');\nnew all.Taken().uno();\nconst esm = require('./esm.mjs');\nesm.uno();\n",
    ),
    ("via.cjs", "const { un } = require('./barrel.mjs');\nun();\nrequire('./barrel.mjs').third();\n"),
    ("again.cjs", "module.exports.other = require('./esm.mjs').uno;\n"),
    ("last.cjs", "require('./again.cjs').other();\nexports.uno = 1;\n"),
    ("typed.mts", "import { uno } from './esm.mjs';\nuno();\n"),
];

fn renamed_exports(kind: &str) {
    let mut modules = assert_symbols(
        &RENAMED,
        kind,
        &[
            (
                &[
                    "esm.mjs:0:9", "esm.mjs:1:16", "use.cjs:1:19", "use.cjs:5:4", "via.cjs:1:0", "more.mjs:1:0",
                    "last.cjs:0:23",
                ],
                &[
                    "esm.mjs:0:9", "esm.mjs:1:9", "esm.mjs:1:16", "esm.mjs:2:33", "barrel.mjs:0:9", "barrel.mjs:0:16",
                    "more.mjs:0:15", "more.mjs:1:0", "use.cjs:0:8", "use.cjs:1:19", "use.cjs:5:4", "via.cjs:0:8",
                    "via.cjs:1:0", "again.cjs:0:15", "again.cjs:0:44", "last.cjs:0:23", "typed.mts:0:9",
                    "typed.mts:1:0",
                ],
            ),
            (
                &["esm.mjs:2:24", "use.cjs:1:26", "more.mjs:1:7"],
                &[
                    "esm.mjs:2:24", "barrel.mjs:1:9", "more.mjs:0:7", "more.mjs:1:7", "use.cjs:0:13", "use.cjs:0:22",
                    "use.cjs:1:26",
                ],
            ),
            (
                &["esm.mjs:4:16", "via.cjs:2:24"],
                &[
                    "esm.mjs:4:16", "barrel.mjs:2:9", "barrel.mjs:2:18", "barrel.mjs:3:9", "barrel.mjs:3:18",
                    "via.cjs:2:24",
                ],
            ),
            // A method of the name is another symbol.
            (&["last.cjs:1:8"], &["last.cjs:1:8"]),
        ],
    );
    assert_callers(
        &mut modules,
        &["esm.mjs:0:9", "use.cjs:1:19"],
        &["main", "more.mjs", "calls", "use.cjs", "via.cjs", "last.cjs", "typed.mts"],
        &[
            "esm.mjs:2:33", "more.mjs:1:0", "use.cjs:1:19", "use.cjs:5:4", "via.cjs:1:0", "last.cjs:0:23",
            "typed.mts:1:0",
        ],
    );
    modules.yard.stop();
}

#[test]
fn renamed_exports_by_typescript_7() {
    renamed_exports("typescript");
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn renamed_exports_by_the_server_on_node() {
    renamed_exports("typescript-language-server");
}

/// TypeScript that requires: `require` has no type there, so no server knows where it leads.
const REQUIRING: [(&str, &str); 9] = [
    ("package.json", r#"{"workspaces": ["pk/*"]}"#),
    ("pk/w/package.json", r#"{"name": "@x/w", "main": "./lib/start.js"}"#),
    ("pk/w/lib/start.js", "exports.packed = function () {};\nexports.alone = function () {};\n"),
    ("lib/index.js", "exports.plain = function () {};\nfunction whole() {}\nexports.whole = whole;\n"),
    ("single.js", "module.exports = create;\nfunction create() {}\n"),
    (
        "typed.ts",
        "export function typed() {}\nfunction inside() {}\nexport { inside as outside };\nexport default inside;\n",
    ),
    (
        "a.ts",
        "const { plain } = require('./lib');\nplain();\nconst lib = require('./lib/index.js');\nlib.plain(); lib.whole();\n\
         const { typed, outside } = require('./typed');\nfunction calls() { typed(); outside(); }\n\
         const create = require('./single');\ncreate();\nrequire('./typed').default();\nrequire('@x/w').packed();\n",
    ),
    (
        "b.cts",
        "import lib = require('./lib');\nimport create = require('./single');\nlib.plain(); create();\n\
         const any: any = require('unknown-start');\nany.alone();\n",
    ),
    ("c.js", "const lib = require('./lib');\nlib.plain();\nconst { typed } = require('./typed');\ntyped();\n"),
];

fn typescript_requires(kind: &str) {
    let mut modules = assert_symbols(
        &REQUIRING,
        kind,
        &[
            (
                &["lib/index.js:0:8", "a.ts:0:8", "a.ts:1:0", "a.ts:3:4", "b.cts:2:4", "c.js:1:4"],
                &["lib/index.js:0:8", "a.ts:0:8", "a.ts:1:0", "a.ts:3:4", "b.cts:2:4", "c.js:1:4"],
            ),
            (
                &["lib/index.js:1:9", "a.ts:3:17"],
                &["lib/index.js:1:9", "lib/index.js:2:8", "lib/index.js:2:16", "a.ts:3:17"],
            ),
            (
                &["single.js:1:9", "a.ts:7:0", "b.cts:2:13"],
                &["single.js:0:17", "single.js:1:9", "a.ts:6:6", "a.ts:7:0", "b.cts:1:7", "b.cts:2:13"],
            ),
            (
                &["typed.ts:0:16", "a.ts:5:19", "c.js:3:0"],
                &["typed.ts:0:16", "a.ts:4:8", "a.ts:5:19", "c.js:2:8", "c.js:3:0"],
            ),
            (
                &["typed.ts:1:9", "typed.ts:2:19", "a.ts:5:28"],
                &[
                    "typed.ts:1:9", "typed.ts:2:9", "typed.ts:2:19", "typed.ts:3:15", "a.ts:4:15", "a.ts:5:28",
                    "a.ts:8:19",
                ],
            ),
            (&["pk/w/lib/start.js:0:8", "a.ts:9:16"], &["pk/w/lib/start.js:0:8", "a.ts:9:16"]),
        ],
    );
    assert_callers(&mut modules, &["typed.ts:0:16", "a.ts:5:19"], &["calls", "c.js"], &["a.ts:5:19", "c.js:3:0"]);
    // Nobody knows what the package is.
    let (found, summary) = modules.references("pk/w/lib/start.js:1:8", true);
    assert_eq!(found, ["pk/w/lib/start.js:1:8".to_owned()].into(), "{summary}");
    assert!(summary.contains(&format!("1 use of `alone` can't be decided by {kind}: ")), "{summary}");
    modules.yard.stop();
}

#[test]
fn typescript_requires_by_typescript_7() {
    typescript_requires("typescript");
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn typescript_requires_by_the_server_on_node() {
    typescript_requires("typescript-language-server");
}

/// TypeScript whose configuration leaves out the JavaScript that it imports: by every kind of name, and through other files.
const LEFT_OUT: [(&str, &str); 11] = [
    (
        "package.json",
        r##"{"imports": {"#jj": "./src/j.js", "#lib/*": {"node": "./lib/*.js"}}, "workspaces": ["pk/*"]}"##,
    ),
    (
        "tsconfig.json",
        r#"{"compilerOptions": {"strict": true, "paths": {"~/*": ["./src/*"], "exact": ["./src/j.js"]}},
            "include": ["src/**/*.ts", "src/**/*.mts"]}"#,
    ),
    ("pk/w/package.json", r#"{"name": "@x/w", "exports": {".": "./index.js", "./s": "./deep/sub.js"}}"#),
    ("pk/w/index.js", "export function packed() {}\n"),
    ("pk/w/deep/sub.js", "export function subbed() {}\n"),
    ("lib/h.js", "export function inLib() {}\n"),
    ("src/j.js", "export function inJs() {}\nimport { typed } from './a';\ntyped();\n"),
    (
        "src/a.ts",
        "import { inJs } from '~/j';\nimport { inJs as hashed } from '#jj';\nexport function typed() { inJs(); hashed(); }\n\
         import { inLib } from '#lib/h';\ninLib();\n",
    ),
    ("src/barrel.ts", "export { inJs as renamed } from 'exact';\n"),
    ("src/c.ts", "import { renamed } from './barrel';\nexport const gamma = () => { renamed(); };\n"),
    (
        "src/d.mts",
        "import { packed } from '@x/w';\npacked();\nimport { subbed } from '@x/w/s';\nsubbed();\n\
         import * as all from './j.js';\nall.inJs();\n",
    ),
];

fn typescript_without_javascript(kind: &str) {
    let mut modules = assert_symbols(
        &LEFT_OUT,
        kind,
        &[
            (&["lib/h.js:0:16", "src/a.ts:4:0"], &["lib/h.js:0:16", "src/a.ts:3:9", "src/a.ts:4:0"]),
            (&["pk/w/index.js:0:16", "src/d.mts:1:0"], &["pk/w/index.js:0:16", "src/d.mts:0:9", "src/d.mts:1:0"]),
            (&["pk/w/deep/sub.js:0:16", "src/d.mts:3:0"], &["pk/w/deep/sub.js:0:16", "src/d.mts:2:9", "src/d.mts:3:0"]),
            (&["src/a.ts:2:16", "src/j.js:2:0"], &["src/a.ts:2:16", "src/j.js:1:9", "src/j.js:2:0"]),
            (
                &["src/j.js:0:16"],
                &[
                    "src/j.js:0:16", "src/a.ts:0:9", "src/a.ts:1:9", "src/a.ts:1:17", "src/a.ts:2:26", "src/a.ts:2:34",
                    "src/barrel.ts:0:9", "src/barrel.ts:0:17", "src/c.ts:0:9", "src/c.ts:1:29", "src/d.mts:5:4",
                ],
            ),
        ],
    );
    let (found, _) = modules.references("src/a.ts:2:26", true);
    assert!(found.contains("src/j.js:0:16") && found.contains("src/d.mts:5:4"), "{found:?}");
    assert_callers(
        &mut modules,
        &["src/j.js:0:16", "src/a.ts:2:26"],
        &["typed", "gamma", "d.mts"],
        &["src/a.ts:2:26", "src/a.ts:2:34", "src/c.ts:1:29", "src/d.mts:5:4"],
    );
    modules.yard.stop();
}

#[test]
fn typescript_without_javascript_by_typescript_7() {
    typescript_without_javascript("typescript");
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn typescript_without_javascript_by_the_server_on_node() {
    typescript_without_javascript("typescript-language-server");
}
