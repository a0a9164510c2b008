//! Imports of packages of the tree: without a link, without a build, without maps of the declarations, and as they should be.

use std::fs;
use std::os::unix::fs::symlink;

use codeyard_lsp::registry::ProjectInference::{self, TypescriptDocument, TypescriptExternal};
use codeyard_model::coverage::Hidden;
use serde_json::Value;

use super::tests::Tree;
use crate::info::UnresolvedNames;

const WEB: &str = "import { run } from '@x/core';\nimport { sum } from '@x/core/math';";
const BUILT: &str = r#"{"name": "@x/core", "main": "dist/index.js", "types": "dist/index.d.ts", "exports": {
    ".": {"types": "./dist/index.d.ts", "default": "./dist/index.js"},
    "./math": {"types": "./dist/math.d.ts", "default": "./dist/math.js"}}}"#;
const SOURCE: &str =
    r#"{"name": "@x/core", "types": "src/index.ts", "exports": {".": "./src/index.ts", "./math": "./src/math.ts"}}"#;

const CORE_CONFIGURATION: &str = r#"{"include": ["src"], "compilerOptions": {"outDir": "dist", "rootDir": "src"}}"#;

/// What a monorepo with two packages of TypeScript has besides them.
#[derive(Clone, Copy)]
struct Monorepo<'a> {
    core: &'a str,
    web_configuration: &'a str,
    is_linked: bool,
    /// Other files; they come behind those that all have, so they may replace them.
    others: &'a [(&'a str, &'a str)],
}

impl Default for Monorepo<'_> {
    fn default() -> Self {
        Self { core: SOURCE, web_configuration: r#"{"include": ["src"]}"#, is_linked: false, others: &[] }
    }
}

impl Monorepo<'_> {
    fn tree(&self) -> Tree {
        let mut files = vec![
            ("package.json", r#"{"name": "root", "workspaces": ["packages/*"]}"#),
            ("packages/core/package.json", self.core),
            ("packages/core/tsconfig.json", CORE_CONFIGURATION),
            ("packages/core/src/index.ts", "export function run() {}"),
            ("packages/core/src/math.ts", "export function sum() {}"),
            ("packages/web/package.json", r#"{"name": "@x/web", "dependencies": {"@x/core": "*"}}"#),
            ("packages/web/tsconfig.json", self.web_configuration),
            ("packages/web/src/app.ts", WEB),
        ];
        files.retain(|(name, _)| self.others.iter().all(|(other, _)| other != name));
        files.extend(self.others);
        let mut tree = Tree::new(&files);
        // Git ignores what a build writes.
        tree.files.retain(|file| !file.components().any(|part| part.as_os_str() == "dist"));
        if self.is_linked {
            link(&tree, "node_modules/@x", "core", "../../packages/core");
        }
        tree
    }

    fn unresolved(&self) -> Vec<UnresolvedNames> {
        unresolved(&self.tree(), TypescriptDocument)
    }

    /// What each cause says, with its count, its command and whether it hides uses.
    fn causes(&self) -> Vec<(String, usize, Option<String>, bool)> {
        causes(&self.unresolved())
    }
}

fn link(tree: &Tree, folder: &str, name: &str, target: &str) {
    let folder = tree.root().join(folder);
    fs::create_dir_all(&folder).unwrap();
    symlink(target, folder.join(name)).unwrap();
}

fn unresolved(tree: &Tree, inference: ProjectInference) -> Vec<UnresolvedNames> {
    tree.prepare(inference).info.unresolved
}

fn causes(unresolved: &[UnresolvedNames]) -> Vec<(String, usize, Option<String>, bool)> {
    unresolved
        .iter()
        .map(|cause| (cause.what.clone(), cause.count, cause.remedy.clone(), cause.hides >= Hidden::Uses))
        .collect()
}

fn cause(what: &str, count: usize, command: Option<&str>, hides_uses: bool) -> (String, usize, Option<String>, bool) {
    (what.to_owned(), count, command.map(str::to_owned), hides_uses)
}

const UNLINKED: &str = "`node_modules` doesn't link packages of the workspace";

fn unlinked(count: usize, command: &str) -> (String, usize, Option<String>, bool) {
    cause(UNLINKED, count, Some(command), false)
}

fn unbuilt(count: usize, command: Option<&str>) -> (String, usize, Option<String>, bool) {
    cause("`packages/core` isn't built", count, command, true)
}

fn unmapped(count: usize) -> (String, usize, Option<String>, bool) {
    cause("`packages/core` is built without `declarationMap`", count, None, true)
}

#[test]
fn packages_that_nothing_links_are_counted_and_hide_no_uses() {
    let plain = Monorepo::default();
    assert_eq!(plain.causes(), [unlinked(2, "npm install")]);
    assert_eq!(plain.unresolved()[0].examples, ["@x/core", "@x/core/math"]);
    let with = |others: &[(&str, &str)]| Monorepo { others, ..Monorepo::default() }.causes();
    assert_eq!(with(&[("package-lock.json", "{}")]), [unlinked(2, "npm ci")]);
    let pnpm = [("package.json", r#"{"name": "root"}"#), ("pnpm-workspace.yaml", "packages:\n  - packages/*\n")];
    assert_eq!(with(&pnpm), [unlinked(2, "pnpm install")]);
    let installer = [("package.json", r#"{"workspaces": ["packages/*"], "packageManager": "yarn@4.1.0"}"#)];
    assert_eq!(with(&installer), [unlinked(2, "yarn install")]);
    // A package finds itself by its name without a link, and `paths` lead to others.
    assert_eq!(with(&[("packages/web/src/app.ts", ""), ("packages/core/src/own.ts", WEB)]), []);
    let paths = r#"{"compilerOptions": {"paths": {"@x/core": ["../core/src"], "@x/core/*": ["../core/src/*"]}}}"#;
    assert_eq!(with(&[("packages/web/tsconfig.json", paths)]), []);
    let base = r#"{"compilerOptions": {"baseUrl": "..", "paths": {"@x/*": ["./*/src"]}}}"#;
    assert_eq!(with(&[("packages/web/tsconfig.json", base)]), []);
}

#[test]
fn only_imports_that_lead_to_modules_of_an_expected_package_count() {
    let with = |others: &[(&str, &str)]| Monorepo { others, ..Monorepo::default() }.causes();
    assert_eq!(with(&[("packages/web/src/app.ts", "import '@x/core/style.css';")]), []);
    // Members of a workspace are linked, whoever declares them; other packages only where a version is their folder.
    assert_eq!(with(&[("packages/web/package.json", r#"{"name": "@x/web"}"#)]), [unlinked(2, "npm install")]);
    let root = ("package.json", r#"{"name": "root"}"#);
    assert_eq!(with(&[root]), [], "the registry may have a package of the name");
    let version =
        ("packages/web/package.json", r#"{"name": "@x/web", "devDependencies": {"@x/core": "file:../core"}}"#);
    assert_eq!(with(&[root, version]), [unlinked(2, "npm install")]);
    // A package that a test reads has the name of one from the registry.
    let read = r#"{"name": "typescript", "main": "dist/index.js"}"#;
    let fixture = [
        ("packages/web/test/fixtures/ts/package.json", read),
        ("packages/web/test/fixtures/ts/index.ts", ""),
        ("packages/web/src/app.ts", "import ts from 'typescript';"),
        ("tool.ts", "import ts from 'typescript';"),
    ];
    assert_eq!(with(&fixture), []);
    // It doesn't stand for a member of its name either.
    let copy = [("packages/a/fixtures/core/package.json", BUILT), ("packages/a/fixtures/core/a.ts", "")];
    assert_eq!(with(&copy), [unlinked(2, "npm install")]);
    let tree = Monorepo { is_linked: true, others: &copy, ..Monorepo::default() }.tree();
    assert_eq!(unresolved(&tree, TypescriptDocument), []);
    assert_eq!(unresolved(&tree, TypescriptExternal), []);
}

#[test]
fn packages_that_a_script_links_are_found_by_their_published_names() {
    let core = r#"{"name": "core", "version": "3.18.2", "exports": {
        ".": {"types": "./lib/common/api.d.ts", "default": "./lib/common/api.js"},
        "./node": {"types": "./lib/node/main.d.ts", "node": "./lib/node/main.js"}}}"#;
    let files = |version: &'static str| {
        [
            ("package.json", r#"{"private": true, "name": "root", "scripts": {"symlink": "node link.js"}}"#),
            ("packages/core/package.json", core),
            ("packages/core/src/common/api.ts", "export function run() {}"),
            ("packages/core/src/node/main.ts", "export function start() {}"),
            ("packages/web/package.json", version),
            ("packages/web/src/app.ts", "import { run } from 'core';\nimport { start } from 'core/node';"),
            ("packages/web/src/other.ts", "import './app';"),
        ]
    };
    let meant = files(r#"{"name": "web", "dependencies": {"core": "^3.18.0"}}"#);
    let tree = Monorepo { others: &meant, ..Monorepo::default() }.tree();
    let prepared = tree.prepare(TypescriptDocument);
    assert_eq!(causes(&prepared.info.unresolved), [cause(UNLINKED, 2, Some("npm run symlink"), false)]);
    let configuration: Value = serde_json::from_str(&prepared.documents[0].text).unwrap();
    let listed = configuration["files"].to_string();
    assert!(listed.contains("web/src/app.ts") && listed.contains("web/src/other.ts"), "{listed}");
    let other = files(r#"{"name": "web", "dependencies": {"core": "^2.0.0"}}"#);
    assert_eq!(Monorepo { others: &other, ..Monorepo::default() }.causes(), [], "another version from the registry");
}

#[test]
fn aliases_of_another_configuration_lead_to_no_package() {
    let files = [
        ("package.json", r#"{"name": "state", "version": "5.0.2"}"#),
        ("tsconfig.json", r#"{"include": ["src"], "compilerOptions": {"paths": {"state": ["./src/index.ts"]}}}"#),
        ("src/index.ts", "export function create() {}"),
        ("src/own.ts", "import { create } from 'state';"),
        ("examples/a/package.json", r#"{"dependencies": {"state": "^5.0.0"}}"#),
        ("examples/a/tsconfig.json", "{}"),
        ("examples/a/main.ts", "import { create } from 'state';"),
    ];
    let tree = Tree::new(&files);
    let prepared = tree.prepare(TypescriptDocument);
    assert_eq!(causes(&prepared.info.unresolved), [cause(UNLINKED, 1, None, false)]);
    let configuration: Value = serde_json::from_str(&prepared.documents[0].text).unwrap();
    let listed = configuration["files"].to_string();
    assert!(listed.contains("examples/a/main.ts") && !listed.contains("src/own.ts"), "{listed}");
}

#[test]
fn packages_that_are_not_installed_hide_uses_of_members() {
    let hides = |files: &[(&str, &str)]| {
        let unresolved = unresolved(&Tree::new(files), TypescriptDocument);
        unresolved.into_iter().map(|cause| cause.hides).collect::<Vec<_>>()
    };
    let needs = ("package.json", r#"{"devDependencies": {"left": "1"}}"#);
    assert_eq!(hides(&[needs, ("a.ts", "")]), [Hidden::Members]);
    assert_eq!(hides(&[needs, ("a.ts", ""), ("node_modules/right/index.js", "")]), [Hidden::Nothing]);
    assert_eq!(hides(&[needs, ("a.ts", ""), ("node_modules/left/index.js", "")]), []);
    assert_eq!(hides(&[("package.json", r#"{"name": "x"}"#), ("a.ts", "")]), []);
}

#[test]
fn the_inferred_project_finds_packages_without_a_link() {
    let alone = [("packages/web/tsconfig.json", r#"{"include": ["none"]}"#)];
    assert_eq!(Monorepo { others: &alone, ..Monorepo::default() }.causes(), []);
    // The server on Node has all files in that project.
    assert_eq!(unresolved(&Monorepo::default().tree(), TypescriptExternal), []);
    let tool = [("tool.js", WEB)];
    let unbuilt = Monorepo { core: BUILT, is_linked: true, others: &tool, ..Monorepo::default() }.tree();
    assert_eq!(unresolved(&unbuilt, TypescriptExternal), []);
    // What isn't built is looked for in the sources, below the package's name too.
    let tree = Monorepo { core: BUILT, ..Monorepo::default() }.tree();
    assert_eq!(causes(&unresolved(&tree, TypescriptDocument)), [unlinked(2, "npm install")]);
    let prepared = tree.prepare(TypescriptDocument);
    let configuration: Value = serde_json::from_str(&prepared.documents[0].text).unwrap();
    let places = configuration["compilerOptions"]["paths"]["@x/core/math"].as_array().unwrap().clone();
    let source = tree.root().join("packages/core/src/math");
    assert_eq!(places.last().and_then(Value::as_str), source.to_str(), "{places:?}");
    assert!(places.len() > 2, "{places:?}");
}

#[test]
fn a_package_without_its_build_hides_uses() {
    let plain = Monorepo { core: BUILT, is_linked: true, ..Monorepo::default() };
    assert_eq!(plain.causes(), [unbuilt(2, None)]);
    // The members that lead to the types, and to a module that has none beside it.
    for core in [
        r#"{"name": "@x/core", "types": "dist/index.d.ts"}"#,
        r#"{"name": "@x/core", "typings": "./dist/index.d.ts", "main": "src/index.ts"}"#,
        r#"{"name": "@x/core", "main": "dist/index.js"}"#,
        r#"{"name": "@x/core", "main": "dist"}"#,
        r#"{"name": "@x/core", "exports": "./dist/index.js"}"#,
        r#"{"name": "@x/core", "exports": {"require": "./dist/index.cjs", "import": {"types": "./dist/index.d.mts"}}}"#,
        r#"{"name": "@x/core", "exports": {".": {"production": "./src/index.ts", "node": ["./dist/index.mjs"]}}}"#,
    ] {
        assert_eq!(Monorepo { core, ..plain }.causes(), [unbuilt(1, None)], "{core}");
    }
    let pattern =
        r#"{"name": "@x/core", "exports": {".": "./src/index.ts", "./*": "./src/*.ts", "./m*": "./dist/m*.js"}}"#;
    assert_eq!(Monorepo { core: pattern, ..plain }.causes(), [unbuilt(1, None)]);
    // Links in the package's own `node_modules`, as pnpm makes them.
    let tree = Monorepo { is_linked: false, ..plain }.tree();
    link(&tree, "packages/web/node_modules/@x", "core", "../../../core");
    assert_eq!(causes(&unresolved(&tree, TypescriptDocument)), [unbuilt(2, None)]);
}

#[test]
fn the_remedy_is_the_build_command_of_the_workspace() {
    let script = BUILT.replace("\"name\"", "\"scripts\": {\"build\": \"tsc\"}, \"name\"");
    let command = |others: &[(&str, &str)], core: &str| {
        let causes = Monorepo { core, is_linked: true, others, ..Monorepo::default() }.causes();
        assert_eq!(causes.len(), 1, "{causes:?}");
        causes[0].2.clone().unwrap_or_default()
    };
    assert_eq!(command(&[], &script), "npm run build --workspaces --if-present");
    let root = r#"{"workspaces": ["packages/*"], "scripts": {"build": "turbo build"}}"#;
    assert_eq!(command(&[("package.json", root)], BUILT), "npm run build");
    assert_eq!(command(&[("package.json", root), ("yarn.lock", "")], &script), "yarn run build");
    assert_eq!(command(&[("yarn.lock", "")], &script), "yarn workspace @x/core run build");
    assert_eq!(command(&[("pnpm-lock.yaml", "")], &script), "pnpm -r build");
    assert_eq!(command(&[("bun.lock", "")], &script), "bun run --filter '*' build");
    assert_eq!(command(&[("package.json", "{}")], &script), "", "there is no workspace to run it in");
}

#[test]
fn a_build_without_maps_of_its_declarations_hides_uses() {
    let built = [("packages/core/dist/index.d.ts", "export {};"), ("packages/core/dist/math.d.ts", "export {};")];
    let plain = Monorepo { core: BUILT, is_linked: true, others: &built, ..Monorepo::default() };
    assert_eq!(plain.causes(), [unmapped(2)]);
    // The inferred project takes the sources, built or not.
    assert_eq!(Monorepo { is_linked: false, ..plain }.causes(), [unlinked(2, "npm install")]);
    let tool = [built.as_slice(), &[("tool.js", WEB)]].concat();
    let external = |others| causes(&unresolved(&Monorepo { others, ..plain }.tree(), TypescriptExternal));
    assert_eq!(external(&tool), []);
    assert_eq!(external(&built), [unmapped(2)], "without files of its own there is no inferred project");
    // Unless they aren't where the entries lead to.
    let elsewhere = r#"{"name": "@x/core", "main": "dist/core.js"}"#;
    let built_elsewhere = [("packages/core/dist/core.d.ts", "export {};")];
    let moved = Monorepo { core: elsewhere, is_linked: false, others: &built_elsewhere, ..plain };
    assert_eq!(moved.causes(), [unlinked(2, "npm install"), unmapped(1)]);
    let mapped = [
        ("packages/core/dist/index.d.ts", "export {};\n//# sourceMappingURL=data:application/json;base64,e30="),
        ("packages/core/dist/math.d.ts", "export {};\n//# sourceMappingURL=math.d.ts.map"),
        ("packages/core/dist/math.d.ts.map", "{}"),
    ];
    assert_eq!(Monorepo { others: &mapped, ..plain }.causes(), []);
    let beside = [built[0], ("packages/core/dist/index.d.ts.map", "{}"), mapped[1], mapped[2]];
    assert_eq!(Monorepo { others: &beside, ..plain }.causes(), [], "the declarations needn't name it");
    let lost = [("packages/core/dist/index.d.ts", "//# sourceMappingURL=index.d.ts.map"), built[1]];
    assert_eq!(Monorepo { others: &lost, ..plain }.causes(), [unmapped(2)], "the map itself is missing");
    // Beside a module of JavaScript.
    let main = r#"{"name": "@x/core", "main": "dist/index.js"}"#;
    let beside = [built.as_slice(), &[("packages/core/dist/index.js", "")]].concat();
    assert_eq!(Monorepo { core: main, others: &beside, ..plain }.causes(), [unmapped(1)]);
}

#[test]
fn declarations_that_no_configuration_writes_hide_uses() {
    let misplaced = (
        "`packages/core` is built to where `outDir` and `rootDir` of no tsconfig.json lead to".to_owned(),
        1,
        None,
        true,
    );
    let main = r#"{"name": "@x/core", "types": "dist/index.d.ts"}"#;
    let deep = r#"{"name": "@x/core", "types": "dist/src/index.d.ts"}"#;
    let is_marked = |core, declarations: &str, options: &str, inference| {
        let configuration = format!(r#"{{"include": ["src"], "compilerOptions": {options}}}"#);
        let map = format!("{declarations}.map");
        let others = [
            ("packages/core/tsconfig.json", &*configuration),
            (declarations, "export {};\n//# sourceMappingURL=index.d.ts.map"),
            (&*map, "{}"),
        ];
        let tree = Monorepo { core, is_linked: true, others: &others, ..Monorepo::default() }.tree();
        let found = causes(&unresolved(&tree, inference));
        assert!(found.is_empty() || found == [misplaced.clone()], "{options}: {found:?}");
        !found.is_empty()
    };
    let flat = "packages/core/dist/index.d.ts";
    let nested = "packages/core/dist/src/index.d.ts";
    // As measured with TypeScript 7 and TypeScript 5.
    for (core, declarations, options, expected) in [
        (main, flat, r#"{"outDir": "dist", "rootDir": "src"}"#, [false, false]),
        (main, flat, r#"{"declarationDir": "dist", "outDir": "js", "rootDir": "./src/"}"#, [false, false]),
        (main, flat, r#"{"rootDir": "src"}"#, [true, true]),
        (main, flat, r#"{"outDir": "dist"}"#, [true, false]),
        (main, flat, r#"{"outDir": "dist", "composite": true}"#, [true, true]),
        (deep, nested, r#"{"outDir": "dist"}"#, [false, true]),
        (main, flat, "{}", [true, true]),
    ] {
        let marked =
            [TypescriptDocument, TypescriptExternal].map(|which| is_marked(core, declarations, options, which));
        assert_eq!(marked, expected, "{options}");
    }
    // Declarations aren't sources that the folder of all must hold.
    let beside = [
        ("packages/core/tsconfig.json", r#"{"include": ["src", "*.d.ts"], "compilerOptions": {"outDir": "dist"}}"#),
        ("packages/core/env.d.ts", "declare const ENV: string;"),
        (flat, "export {};"),
        ("packages/core/dist/index.d.ts.map", "{}"),
    ];
    let tree = Monorepo { core: main, is_linked: true, others: &beside, ..Monorepo::default() }.tree();
    assert_eq!(causes(&unresolved(&tree, TypescriptExternal)), []);
    // The options are inherited.
    let base = [
        (
            "tsconfig.base.json",
            r#"{"compilerOptions": {"outDir": "${configDir}/dist", "rootDir": "${configDir}/src"}}"#,
        ),
        ("packages/core/tsconfig.json", r#"{"extends": "../../tsconfig.base.json", "include": ["src"]}"#),
        ("packages/core/dist/index.d.ts", "export {};"),
        ("packages/core/dist/index.d.ts.map", "{}"),
    ];
    assert_eq!(Monorepo { core: main, is_linked: true, others: &base, ..Monorepo::default() }.causes(), []);
}

#[test]
fn only_what_a_build_writes_is_looked_for_in_the_sources() {
    let core = r#"{"name": "@x/core", "main": "lib/index.js", "exports": {
        "./testing": "./testing/index.js", "./client": "./dist/client/index.js", "./deep": "./dist/esm/deep.js"}}"#;
    let others = [
        ("packages/core/lib/index.js", "export function run() {}"),
        ("packages/core/testing/index.js", "export function sum() {}"),
        ("tool.ts", WEB),
    ];
    let tree = Monorepo { core, others: &others, ..Monorepo::default() }.tree();
    let configuration: Value = serde_json::from_str(&tree.prepare(TypescriptDocument).documents[0].text).unwrap();
    let first = |name: &str| {
        let place = configuration["compilerOptions"]["paths"][name][0].as_str().unwrap();
        std::path::Path::new(place).strip_prefix(tree.root().join("packages/core")).unwrap().display().to_string()
    };
    assert_eq!(first("@x/core"), "", "the folder, whose `main` is a file of the tree, not `src/index`");
    assert_eq!(first("@x/core/testing"), "testing/index.js");
    assert_eq!(first("@x/core/client"), "src/client/index", "and no shorter guess");
    assert_eq!(first("@x/core/deep"), "src/esm/deep");
    let exported = r#"{"name": "@x/core", "exports": {".": "./dist/core.js"}}"#;
    let tree = Monorepo { core: exported, others: &[("tool.ts", WEB)], ..Monorepo::default() }.tree();
    let configuration: Value = serde_json::from_str(&tree.prepare(TypescriptDocument).documents[0].text).unwrap();
    let first = configuration["compilerOptions"]["paths"]["@x/core"][0].as_str().unwrap();
    assert!(first.ends_with("packages/core/src/core"), "{first}");
}

#[test]
fn declarations_in_the_tree_count_only_if_they_are_built() {
    let built = [("packages/core/dist/index.d.ts", "export {};"), ("packages/core/dist/math.d.ts", "export {};")];
    let mut tree = Monorepo { core: BUILT, is_linked: true, others: &built, ..Monorepo::default() }.tree();
    tree.files.extend(built.map(|(name, _)| tree.root().join(name)));
    tree.files.sort();
    assert_eq!(causes(&unresolved(&tree, TypescriptDocument)), [unmapped(2)], "git holds the build too");
    let mut tree = Monorepo { core: BUILT, is_linked: true, others: &built, ..Monorepo::default() }.tree();
    let core = tree.root().join("packages/core");
    tree.files.retain(|file| !file.starts_with(&core));
    tree.files.push(core.join("global.d.ts"));
    assert_eq!(unresolved(&tree, TypescriptDocument), [], "the tree has no source of it");
    // Declarations that people write have no other source.
    let written = [("packages/core/types/main.d.ts", "export {};"), ("packages/core/lib/main.js", "")];
    let core = r#"{"name": "@x/core", "main": "lib/main.js", "types": "types/main.d.ts"}"#;
    let causes = Monorepo { core, is_linked: true, others: &written, ..Monorepo::default() }.causes();
    assert!(causes.iter().all(|cause| !cause.3), "{causes:?}");
}

#[test]
fn references_to_the_configuration_of_a_package_replace_its_build() {
    let web_configuration = r#"{"include": ["src"], "references": [{"path": "../core"}]}"#;
    let plain = Monorepo { core: BUILT, is_linked: true, web_configuration, ..Monorepo::default() };
    assert_eq!(plain.causes(), []);
    let built = [("packages/core/dist/index.d.ts", "export {};"), ("packages/core/dist/math.d.ts", "export {};")];
    assert_eq!(Monorepo { others: &built, ..plain }.causes(), []);
    // A reference finds no package without a link.
    assert_eq!(Monorepo { is_linked: false, ..plain }.causes(), [unlinked(2, "npm install")]);
    // The inferred project has no references, and takes the sources.
    let tool = [built.as_slice(), &[("tool.ts", WEB)]].concat();
    assert_eq!(Monorepo { others: &tool, ..plain }.causes(), []);
    let other = [("packages/web/tsconfig.json", r#"{"references": [{"path": "./tsconfig.node.json"}]}"#)];
    assert_eq!(Monorepo { others: &other, ..plain }.causes(), [unbuilt(2, None)]);
}

#[test]
fn packages_as_they_should_be_are_not_marked() {
    let plain = Monorepo { is_linked: true, ..Monorepo::default() };
    assert_eq!(plain.causes(), []);
    // JavaScript of the tree is a source too.
    let script = [("packages/core/index.js", "")];
    let core = r#"{"name": "@x/core", "main": "index.js"}"#;
    let causes = Monorepo { core, others: &script, ..plain }.causes();
    assert!(causes.iter().all(|cause| !cause.3), "{causes:?}");
    for core in [
        r#"{"name": "@x/core", "exports": {".": {"source": "./src/index.ts", "default": "./src/index.js"}}}"#,
        r#"{"name": "@x/core", "exports": {"require": "./src/index.js", "import": "./dist/index.js"}}"#,
        r#"{"name": "@x/core", "exports": {"./none": "./dist/none.js"}}"#,
        r#"{"name": "@x/core", "exports": null, "main": "src"}"#,
        r#"{"name": "@x/core", "main": "dist/index.js", "typesVersions": {"*": {"*": ["src/*"]}}}"#,
        r#"{"name": "@x/core", "main": "data.json"}"#,
        r#"{"name": "@x/core"}"#,
    ] {
        assert_eq!(Monorepo { core, ..plain }.causes(), [], "{core}");
    }
    // A condition that the importing configuration sets.
    let core =
        r#"{"name": "@x/core", "exports": {".": {"@x/source": "./src/index.ts", "default": "./dist/index.js"}}}"#;
    let web_configuration = r#"{"compilerOptions": {"customConditions": ["@x/source"]}, "include": ["src"]}"#;
    assert_eq!(Monorepo { core, web_configuration, ..plain }.causes(), []);
    assert_eq!(Monorepo { core, ..plain }.causes(), [unbuilt(1, None)]);
    // Nobody imports the package.
    let own = "import { run } from '../../core/src/index';\nconst name = '@x/core';";
    let nobody = [("packages/web/src/app.ts", own)];
    for is_linked in [true, false] {
        assert_eq!(Monorepo { core: BUILT, is_linked, others: &nobody, ..plain }.causes(), []);
    }
    // A copy from the registry isn't the package of the tree.
    let copy = [("node_modules/@x/core/package.json", "{}")];
    assert_eq!(Monorepo { core: BUILT, is_linked: false, others: &copy, ..plain }.causes(), []);
}

#[test]
fn several_packages_are_one_cause() {
    let mut others: Vec<(String, String)> = vec![];
    for name in ["a", "b", "c"] {
        let manifest = format!(r#"{{"name": "@x/{name}", "types": "dist/index.d.ts", "scripts": {{"build": "tsc"}}}}"#);
        others.push((format!("packages/{name}/package.json"), manifest));
        others.push((format!("packages/{name}/index_of.ts"), String::new()));
        others.push((format!("packages/{name}/tsconfig.json"), "{}".into()));
    }
    others.push(("yarn.lock".into(), String::new()));
    others.push(("packages/web/src/app.ts".into(), "import '@x/a'; import '@x/b'; import '@x/c';".into()));
    let others: Vec<(&str, &str)> = others.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let tree = Monorepo { others: &others, is_linked: true, ..Monorepo::default() }.tree();
    for name in ["a", "b", "c"] {
        link(&tree, "node_modules/@x", name, &format!("../../packages/{name}"));
    }
    let what = "`packages/a` and 2 other packages aren't built";
    assert_eq!(causes(&unresolved(&tree, TypescriptDocument)), [cause(what, 3, None, true)]);
}
