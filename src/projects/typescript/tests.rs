//! The files of trees with and without configurations, and what the server is sent for them.

use std::fs;
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::{ProjectInference, ServerSpec};
use codeyard_model::coverage::Hidden;
use serde_json::Value;

use crate::info::ProjectSource;
use crate::limits::MAX_INFERRED_FILES;
use crate::memory::ProjectMemory;
use crate::prepare::{PreparedProject, ProjectRequest, RunBuild};

/// A tree of files with their texts.
pub(super) struct Tree {
    folder: tempfile::TempDir,
    /// The files that are listed as sources.
    pub files: Vec<PathBuf>,
}

impl Tree {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("r");
        let mut sources = Vec::new();
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            if ![".json", ".yaml", ".map"].iter().any(|end| name.ends_with(end)) && !name.contains("node_modules") {
                sources.push(path);
            }
        }
        sources.sort();
        Self { folder, files: sources }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("r")
    }

    pub(super) fn prepare(&self, inference: ProjectInference) -> PreparedProject {
        let root = self.root();
        let request = ProjectRequest {
            server: &ServerSpec::default(),
            root: &root,
            top: &root,
            files: &self.files,
            scripts: &[],
            scripts_max: 0,
            cache: Path::new("/nowhere"),
            generated: Path::new("/nowhere"),
            build: RunBuild::Never,
            memory: &ProjectMemory::default(),
        };
        super::prepare(&request, inference)
    }

    /// The files of the inferred project and the files to open, relative to the root, and where the configuration is.
    fn document(&self) -> (Vec<String>, Vec<String>, Option<PathBuf>) {
        let prepared = self.prepare(ProjectInference::TypescriptDocument);
        let opened = prepared.open.iter().map(|path| self.relative(path)).collect();
        let Some(document) = prepared.documents.first() else { return (vec![], opened, None) };
        (self.listed(&serde_json::from_str(&document.text).unwrap()), opened, Some(document.path.clone()))
    }

    fn listed(&self, configuration: &Value) -> Vec<String> {
        let files = configuration["files"].as_array().unwrap();
        files.iter().map(|file| self.relative(Path::new(file.as_str().unwrap()))).collect()
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.root()).unwrap().display().to_string()
    }
}

#[test]
fn without_a_configuration_all_files_are_one_project_in_the_root() {
    let tree = Tree::new(&[("a.js", ""), ("lib/b.cjs", ""), ("lib/c.tsx", "")]);
    let (files, opened, path) = tree.document();
    assert_eq!(files, ["a.js", "lib/b.cjs", "lib/c.tsx"]);
    assert_eq!(opened, ["a.js"]);
    assert_eq!(path, Some(tree.root().join("tsconfig.json")));
    assert!(!tree.root().join("tsconfig.json").exists(), "nothing is written");
    let info = tree.prepare(ProjectInference::TypescriptDocument).info;
    assert_eq!((info.files_total, info.files_known), (3, Some(3)));
    assert_eq!(info.source, ProjectSource::Inferred { from: "all 3 files, without a tsconfig.json".into() });
    assert_eq!(tree.prepare(ProjectInference::TypescriptDocument), tree.prepare(ProjectInference::TypescriptDocument));
}

#[test]
fn files_belong_to_the_jsconfig_beside_a_tsconfig_that_leaves_them_out() {
    let tree = Tree::new(&[
        ("tsconfig.json", r#"{"files": [], "references": [{"path": "core"}]}"#),
        ("jsconfig.json", r#"{"include": [".first.js", "core"]}"#),
        ("core/tsconfig.json", "{}"),
        ("core/a.ts", ""),
        (".first.js", ""),
        ("tool.js", ""),
    ]);
    let (files, opened, _) = tree.document();
    assert_eq!(files, ["tool.js"]);
    assert_eq!(opened, [".first.js", "core/a.ts", "tool.js"]);
}

#[test]
fn what_extends_a_configuration_that_a_tool_generates_is_marked_until_it_is_there() {
    let causes = |files: &[(&str, &str)], inference| {
        let tree = Tree::new(files);
        let unresolved = tree.prepare(inference).info.unresolved;
        let hiding = unresolved.into_iter().filter(|cause| cause.hides >= Hidden::Uses);
        hiding.map(|cause| (cause.what, cause.count, cause.remedy.unwrap_or_default())).collect::<Vec<_>>()
    };
    let nuxt = [
        (
            "tsconfig.json",
            r#"{"files": [], "references": [{"path": "./.nuxt/tsconfig.app.json"}, {"path": "./.nuxt/tsconfig.node.json"}]}"#,
        ),
        ("app/a.ts", "import { b } from '~/lib/b';\nimport x from '#imports';\nimport c from './c';"),
    ];
    for inference in [ProjectInference::TypescriptDocument, ProjectInference::TypescriptExternal] {
        let what = "`.nuxt/tsconfig.app.json`, which `tsconfig.json` needs, and 1 more such files are missing";
        assert_eq!(causes(&nuxt, inference), [(what.to_owned(), 2, "npx nuxi prepare".to_owned())]);
    }
    let other = [
        ("web/tsconfig.json", r#"{"extends": ["../base", "./gen/types.json"]}"#),
        ("base.json", "{}"),
        ("web/a.ts", ""),
    ];
    let what = "`web/gen/types.json`, which `web/tsconfig.json` needs, is missing";
    assert_eq!(causes(&other, ProjectInference::TypescriptDocument), [(what.to_owned(), 1, String::new())]);
    let there = [&other[..], &[("web/gen/types.json", "{}")]].concat();
    assert_eq!(causes(&there, ProjectInference::TypescriptDocument), []);
    let package = [("tsconfig.json", r#"{"extends": "@tsconfig/strictest"}"#), ("a.ts", "")];
    assert_eq!(causes(&package, ProjectInference::TypescriptDocument), [], "an installation brings it");
}

#[test]
fn imports_of_modules_with_a_file_for_each_platform_are_followed_to_one_and_marked() {
    let files = [
        ("ui/Nav.web.tsx", "export const Nav = () => 1;"),
        ("ui/Nav.native.tsx", "export const Nav = () => 2;"),
        ("ui/One.ios.ts", ""),
        ("vite.config.web.ts", ""),
        ("app/w.tsx", "import { Nav } from '../ui/Nav';\nimport '../ui/One';"),
    ];
    let prepared = |files: &[(&str, &str)]| Tree::new(files).prepare(ProjectInference::TypescriptDocument);
    let plain = prepared(&files);
    let configuration: Value = serde_json::from_str(&plain.documents[0].text).unwrap();
    assert_eq!(configuration["compilerOptions"]["moduleSuffixes"][0], ".native");
    let hiding = |prepared: &PreparedProject| {
        let unresolved = prepared.info.unresolved.iter().filter(|cause| cause.hides >= Hidden::Uses);
        unresolved.flat_map(|cause| cause.examples.clone()).collect::<Vec<_>>()
    };
    assert_eq!(hiding(&plain), ["ui/Nav"]);
    let configured = [&files[..], &[("tsconfig.json", "{}")]].concat();
    assert_eq!(hiding(&prepared(&configured)), ["ui/Nav", "ui/One"], "a configuration follows none of them");
    assert_eq!(hiding(&prepared(&[("a.ts", "import './b.web'"), ("b.web.ts", "")])), [""; 0]);
    let beside = [("a.ts", "import './b'"), ("b.ts", ""), ("b.web.ts", "")];
    assert_eq!(hiding(&prepared(&beside)), ["b"]);
}

#[test]
fn the_configuration_that_svelte_kit_generates_is_known() {
    let files = [
        ("tsconfig.json", r#"{"extends": "./.svelte-kit/tsconfig.json", "compilerOptions": {"strict": true}}"#),
        ("src/lib/a.ts", "export const a = 1;"),
        ("src/routes/b.ts", "import { a } from '$lib/a';"),
        ("tool.ts", ""),
    ];
    let tree = Tree::new(&files);
    let prepared = tree.prepare(ProjectInference::TypescriptDocument);
    let path = tree.root().join(".svelte-kit/tsconfig.json");
    let document = prepared.documents.iter().find(|document| document.path == path).unwrap();
    assert!(document.text.contains("\"$lib/*\":[\"../src/lib/*\"]"), "{}", document.text);
    assert!(!path.exists() && prepared.unwatched.len() == 1);
    let hiding = |prepared: &PreparedProject| prepared.info.unresolved.iter().any(|cause| cause.hides >= Hidden::Uses);
    assert!(!hiding(&prepared));
    assert_eq!(prepared.configurations, [tree.root().join("tsconfig.json")]);
    // `tool.ts` isn't in its list.
    assert_eq!(prepared.info.source.to_string(), "inferred from 1 of 3 files, which no tsconfig.json lists");
    assert!(hiding(&tree.prepare(ProjectInference::TypescriptExternal)), "that server reads only files");
    let own = [&files[..], &[("svelte.config.js", "export default { kit: { alias: { $x: 'x' } } };")]].concat();
    assert!(hiding(&Tree::new(&own).prepare(ProjectInference::TypescriptDocument)));
}

/// What the server of these components says about the tree.
fn components(files: &[(&str, &str)]) -> crate::ProjectInfo {
    let tree = Tree::new(files);
    let root = tree.root();
    let memory = ProjectMemory::default();
    let is_component = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "vue" || ending == "svelte");
    let files: Vec<PathBuf> = tree.files.iter().filter(is_component).cloned().collect();
    super::components::prepare(&ProjectRequest::for_test("vue", &root, &files, &memory)).info
}

#[test]
fn components_that_nothing_lists_or_imports_are_not_known() {
    let configuration = r#"{"include": ["src/**/*.ts"], "compilerOptions": {"paths": {"@/*": ["./src/*"]}}}"#;
    let files = [
        ("tsconfig.json", configuration),
        ("src/main.ts", "import App from './App.vue';\nexport const views = import.meta.glob('./views/*.vue');"),
        ("src/App.vue", "<script setup>\nimport B from '@/parts/B.vue';\n</script>"),
        ("src/parts/B.vue", ""),
        ("src/views/A.vue", "<script setup>\nimport { a } from '../a';\n</script>"),
        ("src/a.ts", "export const a = 1;"),
    ];
    let info = components(&files);
    assert_eq!((info.files_total, info.files_known, info.unknown_files.len()), (3, Some(2), 1));
    assert!(info.unknown_files[0].ends_with("src/views/A.vue"));
    assert_eq!(info.remedy.as_deref(), Some("add `**/*.vue` to `include` of the tsconfig.json"));
    let listed = [&files[1..], &[("tsconfig.json", r#"{"include": ["src/**/*.ts", "src/**/*.vue"]}"#)]].concat();
    assert!(!components(&listed).is_partial());
    assert!(!components(&[&files[1..], &[("tsconfig.json", "{}")]].concat()).is_partial(), "all files by default");
    let without = components(&files[1..]);
    assert_eq!(without.source, ProjectSource::Missing, "as before");
}

#[test]
fn components_whose_configuration_extends_a_missing_one_are_marked() {
    let files = [
        ("tsconfig.json", r#"{"extends": "./.svelte-kit/tsconfig.json"}"#),
        ("src/A.svelte", "<script>\nimport { a } from '$lib/a';\n</script>"),
    ];
    let cause = &components(&files).unresolved[0];
    assert_eq!(
        (cause.count, cause.hides >= Hidden::Uses, cause.remedy.as_deref()),
        (1, true, Some("npx svelte-kit sync"))
    );
}

/// The modules whose uses in other projects the answers lack, and why.
fn used_elsewhere(files: &[(&str, &str)]) -> Option<(Vec<String>, String)> {
    let cause = components(files).unresolved.into_iter().find(|cause| cause.hides == Hidden::UsesElsewhere)?;
    assert_eq!((cause.count, cause.hides >= Hidden::Uses), (cause.examples.len(), true));
    Some((cause.examples, cause.what))
}

#[test]
fn modules_that_components_of_another_configuration_import_are_marked() {
    let alone = |by: &str| format!("{by} and the server answers for each tsconfig.json alone");
    let use_in = "<script setup>\nimport { format } from '../shared/format';\n</script>";
    let side_by_side = [
        ("a/tsconfig.json", "{}"),
        ("a/A.vue", use_in),
        ("b/tsconfig.json", r#"{"references": [{"path": "../shared"}]}"#),
        ("b/B.vue", use_in),
        ("shared/tsconfig.json", "{}"),
        ("shared/format.ts", "export const format = 1;"),
    ];
    let both = Some((vec!["shared/format.ts".to_owned()], alone("a/tsconfig.json, b/tsconfig.json import them,")));
    assert_eq!(used_elsewhere(&side_by_side), both);
    assert!(!components(&side_by_side).is_partial(), "all components have a configuration");
    assert_eq!(used_elsewhere(&side_by_side[..2]), None, "one project");
    let unlisted: Vec<_> = side_by_side.into_iter().filter(|(name, _)| *name != "shared/tsconfig.json").collect();
    assert_eq!(used_elsewhere(&unlisted), both, "the module is in both projects");
    let one_above = [&unlisted[..], &[("tsconfig.json", "{}")]].concat();
    assert_eq!(used_elsewhere(&one_above), both, "a question in a component is answered by the nearest one");
    assert_eq!(
        used_elsewhere(&[unlisted[1], unlisted[3], unlisted[4], ("tsconfig.json", "{}")]),
        None,
        "only one above"
    );
    let generated = [&side_by_side[..2], &side_by_side[4..], &[(".gitignore", "a\n")]].concat();
    assert_eq!(used_elsewhere(&generated), None, "files that git ignores import nothing");
}

#[test]
fn a_configuration_above_others_has_their_files() {
    let use_in = "import { format } from '../shared/format';\nimport B from '../B.vue';";
    let files = [
        ("tsconfig.json", "{}"),
        ("B.vue", ""),
        ("a/tsconfig.json", r#"{"include": ["*.ts"]}"#),
        ("a/main.ts", use_in),
        ("shared/format.ts", "export const format = 1;"),
    ];
    assert_eq!(used_elsewhere(&files), None);
}

#[test]
fn modules_that_scripts_of_another_configuration_import_are_marked_if_a_component_has_them() {
    let spec = "import { format } from '../src/format';\nimport A from '../src/A.vue';";
    let with_tests = [
        (
            "tsconfig.json",
            r#"{"files": [], "references": [{"path": "tsconfig.app.json"}, {"path": "tsconfig.test.json"}]}"#,
        ),
        ("tsconfig.app.json", r#"{"include": ["src"]}"#),
        ("tsconfig.test.json", r#"{"include": ["tests"]}"#),
        ("src/format.ts", "export const format = 1;"),
        ("src/A.vue", "<script setup>\nimport { format } from './format';\n</script>"),
        ("tests/a.spec.ts", spec),
    ];
    let what = "tsconfig.test.json imports them, and the server answers for each tsconfig.json alone";
    let examples = vec!["src/A.vue".to_owned(), "src/format.ts".to_owned()];
    assert_eq!(used_elsewhere(&with_tests), Some((examples.clone(), what.to_owned())));
    let unlisted = [&with_tests[..2], &with_tests[3..]].concat();
    let what = "tests/a.spec.ts imports them, and the server answers for each tsconfig.json alone";
    assert_eq!(used_elsewhere(&unlisted), Some((examples, what.to_owned())), "no configuration lists it");
    let unrelated = [
        ("app/tsconfig.json", "{}"),
        ("app/A.vue", ""),
        ("core/tsconfig.json", "{}"),
        ("core/format.ts", "export const format = 1;"),
        ("tool/tsconfig.json", "{}"),
        ("tool/main.ts", "import { format } from '../core/format';"),
    ];
    assert_eq!(used_elsewhere(&unrelated), None, "no question about them is asked at this server");
}

#[test]
fn projects_with_processes_of_their_own_are_marked_with_those_that_import_from_them() {
    let tree = Tree::new(&[
        ("a/tsconfig.json", "{}"),
        ("a/x.ts", "export const x = 1;"),
        ("b/tsconfig.json", "{}"),
        ("b/y.ts", "import { x } from '../a/x';\nimport { z } from './z';"),
        ("b/z.ts", "import { c } from 'core';"),
        ("c/package.json", r#"{"name": "core"}"#),
        ("c/index.ts", "export const c = 1;"),
    ]);
    let root = tree.root();
    let marks = || {
        let projects = ["a", "b", "c"].map(|name| {
            let files: Vec<PathBuf> =
                tree.files.iter().filter(|file| file.starts_with(root.join(name))).cloned().collect();
            let memory = ProjectMemory::default();
            let own = root.join(name);
            let request = ProjectRequest::for_test("typescript-language-server", &own, &files, &memory);
            let request = ProjectRequest { top: &root, ..request };
            (own.clone(), super::prepare(&request, ProjectInference::TypescriptExternal))
        });
        let mut projects = std::collections::BTreeMap::from(projects);
        let others = std::collections::BTreeMap::new();
        crate::mark_uses_in_other_projects(&mut projects, &others, &root, ProjectInference::TypescriptExternal);
        let marking = projects.into_values().map(|project| {
            let causes = project.info.unresolved.into_iter().filter(|cause| cause.hides == Hidden::UsesElsewhere);
            causes.map(|cause| format!("{}: {}", cause.examples.join(" "), cause.what)).collect::<Vec<_>>().join("; ")
        });
        marking.collect::<Vec<_>>()
    };
    let what = "b imports them, and the server answers for each project alone";
    assert_eq!(marks(), [format!("a/x: {what}"), String::new(), format!("core: {what}")]);
    fs::create_dir_all(root.join("node_modules/core")).unwrap();
    assert_eq!(marks()[2], "", "a copy from the registry");
}

#[test]
fn the_remedy_makes_a_configuration_that_lists_the_files() {
    let remedy = |files: &[(&str, &str)]| {
        let info = Tree::new(files).prepare(ProjectInference::TypescriptDocument).info;
        (info.remedy.unwrap_or_default(), info.source)
    };
    // `npx tsc` runs another package than TypeScript.
    assert_eq!(remedy(&[("a.ts", ""), ("b.tsx", "")]).0, "run `npx -p typescript tsc --init`");
    assert_eq!(remedy(&[("a.ts", ""), ("b.mjs", "")]).0, "run `npx -p typescript tsc --init --allowJs`");
    assert_eq!(remedy(&[("a.js", ""), ("b.cjs", "")]).0, "run `echo '{}' > jsconfig.json`");
    assert_eq!(remedy(&[("a.js", ""), ("jsconfig.json", "{}")]).0, "");
    let from = ProjectSource::Inferred { from: "1 of 1 files, which no tsconfig.json lists".into() };
    let (existing, source) = remedy(&[("a.js", ""), ("tsconfig.json", "{}")]);
    assert!(existing.contains("`allowJs`"), "{existing}");
    assert_eq!(source, from);
}

#[test]
fn a_file_beside_a_folder_of_its_name_is_known() {
    // The files are sorted by their bytes, which is another order than that of paths.
    let mut tree = Tree::new(&[("lib/a.js", ""), ("lib/a/b.js", ""), ("lib.js", "")]);
    tree.files.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    let info = tree.prepare(ProjectInference::TypescriptDocument).info;
    assert_eq!((info.files_total, info.files_known), (3, Some(3)));
}

#[test]
fn typescript_that_imports_javascript_is_in_both_projects() {
    let tree = Tree::new(&[
        ("tsconfig.json", r#"{"compilerOptions": {"paths": {"~/*": ["./src/*"]}}, "include": ["src"]}"#),
        ("src/a.ts", "import { j } from './j';"),
        ("src/b.ts", "export const b = './none';"),
        ("src/c.ts", "import * as i from \"../lib\";"),
        ("src/j.js", ""),
        ("lib/index.cjs", ""),
    ]);
    assert_eq!(tree.document().0, ["lib/index.cjs", "src/a.ts", "src/c.ts", "src/j.js"]);
    let prepared = tree.prepare(ProjectInference::TypescriptDocument);
    let options: Value = serde_json::from_str(&prepared.documents[0].text).unwrap();
    assert_eq!(options["compilerOptions"]["paths"]["~/*"][0], tree.root().join("src/*").to_str().unwrap());
    let unknown = &prepared.info.unresolved[0];
    assert_eq!((unknown.count, unknown.examples.join(" ").as_str()), (2, "lib/index.cjs src/j.js"));
    assert_eq!((prepared.info.files_total, prepared.info.files_known), (5, Some(5)));
}

#[test]
fn names_with_several_meanings_are_counted_for_the_server_on_node() {
    let paths = |folder: &str| format!(r#"{{"compilerOptions": {{"paths": {{"~/*": ["./{folder}/*"]}}}}}}"#);
    let a = paths("src");
    let b = paths("lib");
    let tree = Tree::new(&[
        ("a/tsconfig.json", a.as_str()),
        ("a/x.ts", ""),
        ("b/tsconfig.json", b.as_str()),
        ("b/y.ts", ""),
        ("c.js", ""),
    ]);
    let info = tree.prepare(ProjectInference::TypescriptExternal).info;
    assert_eq!((info.unresolved.len(), info.unresolved[0].examples.join(" ").as_str()), (1, "~/*"));
    assert!(tree.prepare(ProjectInference::TypescriptDocument).info.unresolved.is_empty());
}

#[test]
fn files_outside_the_configuration_of_the_root_are_a_project_above_it() {
    let tree = Tree::new(&[
        ("tsconfig.json", r#"{"include": ["src"]}"#),
        ("build.ts", ""),
        ("src/a.ts", ""),
        ("src/b.js", ""),
        ("test/c.ts", ""),
    ]);
    let (files, opened, path) = tree.document();
    assert_eq!(files, ["build.ts", "src/b.js", "test/c.ts"]);
    assert_eq!(opened, ["build.ts", "src/a.ts"], "each project has an open document");
    assert_eq!(path, Some(tree.root().parent().unwrap().join("tsconfig.json")));
}

#[test]
fn whole_projects_are_left_alone() {
    let tree = Tree::new(&[
        ("tsconfig.json", r#"{"files": [], "references": [{"path": "a"}, {"path": "b/tsconfig.lib.json"}]}"#),
        ("a/tsconfig.json", "{}"),
        ("a/x.ts", ""),
        ("b/tsconfig.lib.json", r#"{"extends": "../base.json", "include": ["**/*"]}"#),
        ("base.json", r#"{"compilerOptions": {"allowJs": true}}"#),
        ("b/y.js", ""),
        ("c/jsconfig.json", "{}"),
        ("c/z.jsx", ""),
    ]);
    let (files, opened, path) = tree.document();
    assert_eq!((files.len(), path), (0, None));
    assert_eq!(opened, ["a/x.ts", "b/y.js", "c/z.jsx"]);
    let info = tree.prepare(ProjectInference::TypescriptDocument).info;
    assert_eq!((info.source, info.remedy), (ProjectSource::Found { path: "a/tsconfig.json".into() }, None));
}

#[test]
fn configurations_are_read_as_typescript_reads_them() {
    let tree = Tree::new(&[
        ("tsconfig.json", "// note\n{\"extends\": [\"./base\", \"pkg\"], \"exclude\": [\"${configDir}/gen\"],}"),
        ("base.json", r#"{"compilerOptions": {"checkJs": true, "outDir": "out"}, "include": ["nowhere"]}"#),
        ("node_modules/pkg/tsconfig.json", r#"{"include": ["../../src"]}"#),
        ("src/a.ts", ""),
        ("src/b.js", ""),
        ("src/.hidden/c.ts", ""),
        ("gen/d.ts", ""),
        ("out/e.js", ""),
    ]);
    assert_eq!(tree.document().0, ["gen/d.ts", "out/e.js", "src/.hidden/c.ts"]);
}

#[test]
fn broken_and_endless_configurations_end_the_search_nowhere() {
    let tree = Tree::new(&[
        ("tsconfig.json", r#"{"extends": "./tsconfig.json", "references": [{"path": "."}], "include": ["src"]}"#),
        ("src/a.ts", ""),
        ("b/tsconfig.json", "{ not json"),
        ("b/b.ts", ""),
        ("c.ts", ""),
    ]);
    assert_eq!(tree.document().0, ["c.ts"], "a configuration that can't be read lists everything");
}

#[test]
fn the_server_on_node_gets_the_same_files_as_a_request() {
    let tree = Tree::new(&[("a.js", ""), ("b.ts", "")]);
    let prepared = tree.prepare(ProjectInference::TypescriptExternal);
    assert!(prepared.documents.is_empty());
    let project = &prepared.commands[0].params["arguments"][1];
    let files: Vec<&str> =
        project["rootFiles"].as_array().unwrap().iter().map(|file| file["fileName"].as_str().unwrap()).collect();
    let wanted: Vec<String> = ["a.js", "b.ts"].map(|name| tree.root().join(name).display().to_string()).into();
    assert_eq!(files, wanted);
}

#[test]
fn packages_of_the_tree_are_found_by_name_and_missing_ones_are_counted() {
    let manifest = r#"{"name": "@x/a", "dependencies": {"left": "1", "right": "1", "@x/b": "*"}}"#;
    let tree = Tree::new(&[
        ("a/package.json", manifest),
        ("a/a.js", ""),
        ("b/package.json", r#"{"name": "@x/b"}"#),
        ("b/src/index.js", ""),
        ("package-lock.json", "{}"),
        ("node_modules/left/package.json", "{}"),
        ("node_modules/@types/node/index.d.ts", ""),
    ]);
    let prepared = tree.prepare(ProjectInference::TypescriptDocument);
    let options: Value = serde_json::from_str(&prepared.documents[0].text).unwrap();
    let options = &options["compilerOptions"];
    assert_eq!(options["paths"]["@x/b"][1], tree.root().join("b/src").to_str().unwrap());
    assert_eq!(options["typeRoots"][0], tree.root().join("node_modules/@types").to_str().unwrap());
    let missing = &prepared.info.unresolved[0];
    assert_eq!((missing.count, missing.examples[0].as_str(), missing.remedy.as_deref()), (1, "right", Some("npm ci")));
}

#[test]
fn files_that_import_a_package_of_the_tree_without_a_link_are_in_both_projects() {
    let mut files = vec![
        ("package.json", r#"{"name": "root", "workspaces": ["packages/*"]}"#),
        ("packages/core/package.json", r#"{"name": "@x/core"}"#),
        ("packages/core/tsconfig.json", "{}"),
        ("packages/core/src/index.ts", "export function run() {}"),
        ("packages/app/package.json", r#"{"name": "app", "dependencies": {"@x/core": "*"}}"#),
        ("packages/app/tsconfig.json", "{}"),
        ("packages/app/a.ts", "import { run } from '@x/core';\nexport { run };"),
        ("packages/app/b.ts", "import { run } from './a';"),
        ("packages/app/c.ts", "import { run } from 'other';"),
    ];
    let (listed, _, path) = Tree::new(&files).document();
    // No file is in this project alone, so it needs a document of its own.
    assert_eq!(listed, ["packages/app/a.ts", "packages/app/b.ts", "tsconfig.placeholder.ts"]);
    assert!(path.is_some_and(|path| path.ends_with("r/tsconfig.json")));
    let prepared = Tree::new(&files).prepare(ProjectInference::TypescriptDocument);
    let paths: Vec<&PathBuf> = prepared.documents.iter().map(|document| &document.path).collect();
    assert!(paths.len() == 2 && paths[0] < paths[1], "the configuration is opened first: {paths:?}");
    assert!(!prepared.info.is_partial());
    let external = Tree::new(&files).prepare(ProjectInference::TypescriptExternal);
    assert_eq!(external.commands.len(), 1, "the other server gets all files");
    files.push(("packages/app/alone.js", ""));
    assert_eq!(Tree::new(&files).document().0, ["packages/app/a.ts", "packages/app/alone.js", "packages/app/b.ts"]);
    // Here the configuration itself finds the package.
    let linked = [&files[..], &[("node_modules/@x/core/package.json", "{}")]].concat();
    assert_eq!(Tree::new(&linked).document().0, ["packages/app/alone.js"]);
    files[5].1 = r#"{"compilerOptions": {"paths": {"@x/*": ["../*/src"]}}}"#;
    assert_eq!(Tree::new(&files).document().0, ["packages/app/alone.js"]);
}

#[test]
fn too_many_files_are_counted_as_unknown() {
    let mut tree = Tree::new(&[("a.js", "")]);
    let root = tree.root();
    tree.files = (0..=MAX_INFERRED_FILES).map(|number| root.join(format!("{number:08}.js"))).collect();
    let info = tree.prepare(ProjectInference::TypescriptDocument).info;
    assert_eq!(info.files_known, Some(MAX_INFERRED_FILES));
    assert_eq!(info.unknown_files.len(), 1);
    assert!(info.is_partial() && !info.problems.is_empty());
}
