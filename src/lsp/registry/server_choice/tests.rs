//! Who serves a file, from where, and why not the others.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::registry::{DiskFiles, FallbackMode};

/// Folders on disk: a root `w`, another root `v` in which lies a third `v/in`, and an extra root `x`.
struct Place {
    top: PathBuf,
    _folder: tempfile::TempDir,
}

impl Place {
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

    /// One word a kind in order, and the kinds whose programs were asked for. Without those that stand in.
    fn told(&self, file: &str, selection: &ServerSelection, missing: &[&str]) -> (Vec<String>, Vec<String>) {
        let mut registry = Registry::builtin();
        registry.servers.retain(|_, server| server.role != ServerRole::Fallback);
        self.told_of(&registry, file, selection, missing)
    }

    fn told_of(
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
        let asked = RefCell::new(Vec::new());
        let mut available = |kind: &str, _: &ServerSpec, root: &Path| {
            asked.borrow_mut().push(format!("{kind} {}", self.short(root)));
            if missing.contains(&kind) { Err("missing") } else { Ok(()) }
        };
        let all = chooser.consider(index.language_of(&file).unwrap(), &file, true, &mut available);
        let words = all.iter().map(|one| {
            let what = match &one.verdict {
                ServerVerdict::Serves { root, .. } => format!("serves {}", self.short(root)),
                ServerVerdict::Unavailable { root, why, .. } => format!("{why} {}", self.short(root)),
                ServerVerdict::Excluded { by } => format!("excluded by {}", self.short(by)),
                ServerVerdict::NoMarker => "no marker".into(),
                ServerVerdict::Later { first } => format!("after {first}"),
                ServerVerdict::Disabled => "disabled".into(),
                ServerVerdict::OffByDefault => "off".into(),
                ServerVerdict::NotChosen => "not chosen".into(),
            };
            format!("{}: {what}", one.kind)
        });
        (words.collect(), asked.take())
    }

    fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.top).unwrap().display().to_string()
    }

    fn serving(&self, file: &str) -> Vec<String> {
        let (words, _) = self.told(file, &ServerSelection::default(), &[]);
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
fn the_first_that_can_serves_and_the_others_are_told_why_not() {
    let place = Place::new(&["w/a/pyproject.toml", "w/a/x.py"]);
    let (words, asked) = place.told("w/a/x.py", &ServerSelection::default(), &["ty"]);
    let wanted = [
        "ty: missing w/a",
        "basedpyright: serves w/a",
        "pyright: after basedpyright",
        "pyrefly: after basedpyright",
        "ruff: serves w/a",
    ];
    assert_eq!(words, wanted);
    assert_eq!(asked, ["ty w", "basedpyright w", "ruff w"], "what comes later isn't looked for");
    let (words, _) = place.told("w/a/x.py", &selection(&["pyright"], &["ruff"]), &[]);
    let wanted =
        ["pyright: serves w/a", "ty: not chosen", "basedpyright: not chosen", "pyrefly: not chosen", "ruff: disabled"];
    assert_eq!(words, wanted);
    let (words, asked) =
        place.told("w/a/x.py", &ServerSelection::default(), &["ty", "basedpyright", "pyright", "pyrefly", "ruff"]);
    assert!(words.iter().all(|word| word.ends_with(": missing w/a")) && asked.len() == 5, "{words:?}");
}

#[test]
fn a_fallback_stands_in_where_no_alternative_is_there() {
    let place = Place::new(&["w/a/pyproject.toml", "w/a/x.py"]);
    let told = |fallback: FallbackMode, missing: &[&str]| {
        let selection = ServerSelection { fallback, ..ServerSelection::default() };
        let (mut words, asked) = place.told_of(&Registry::builtin(), "w/a/x.py", &selection, missing);
        words.retain(|word| word.starts_with("syntactic"));
        (words.join(""), asked.contains(&"syntactic w".to_owned()))
    };
    let all = ["ty", "basedpyright", "pyright", "pyrefly"];
    assert_eq!(told(FallbackMode::IfMissing, &all), ("syntactic: serves w".into(), true));
    assert_eq!(told(FallbackMode::IfMissing, &all[..3]), ("syntactic: after pyrefly".into(), false));
    assert_eq!(told(FallbackMode::UntilReady, &[]), ("syntactic: after ty".into(), false));
    assert_eq!(told(FallbackMode::Off, &all), ("syntactic: disabled".into(), false));
}

#[test]
fn excludes_strict_markers_and_what_is_off() {
    let place = Place::new(&["w/d/deno.json", "w/t/package.json", "w/eslint.config.js"]);
    let (words, _) = place.told("w/d/x.ts", &ServerSelection::default(), &["deno"]);
    assert_eq!(
        words[..3],
        [
            "deno: missing w/d",
            "typescript: excluded by w/d/deno.json",
            "typescript-language-server: excluded by w/d/deno.json"
        ]
    );
    assert!(words.contains(&"eslint: serves w".into()) && words.contains(&"biome: no marker".into()), "{words:?}");
    let (words, _) = place.told("w/t/x.ts", &ServerSelection::default(), &[]);
    assert_eq!(
        words[..3],
        ["deno: no marker", "typescript: serves w/t", "typescript-language-server: after typescript"]
    );
    let (words, asked) = place.told("w/t/x.vue", &ServerSelection::default(), &[]);
    assert!(words.contains(&"vue: off".into()) && !asked.iter().any(|kind| kind.starts_with("vue")), "{words:?}");
    assert!(place.told("w/t/x.vue", &selection(&["vue"], &[]), &[]).0.contains(&"vue: serves w/t".into()));
}

#[test]
fn two_roots_of_a_workspace_and_one_in_the_other() {
    let place = Place::new(&["w/pyproject.toml", "v/pyproject.toml", "v/in/k.py"]);
    assert_eq!(place.serving("w/a/x.py"), ["ty w", "ruff w"]);
    assert_eq!(place.serving("v/a/x.py"), ["ty v", "ruff v"]);
    assert_eq!(
        place.serving("v/in/a/x.py"),
        ["ty v/in", "ruff v/in"],
        "the marker of the root around it doesn't count"
    );
}

#[test]
fn two_projects_of_one_kind_are_two_roots() {
    let place = Place::new(&["w/a/tsconfig.json", "w/b/tsconfig.json"]);
    assert_eq!(place.serving("w/a/x.ts"), ["typescript w/a"]);
    assert_eq!(place.serving("w/b/x.ts"), ["typescript w/b"]);
    assert_eq!(place.serving("w/x.ts"), ["typescript w"]);
}

#[test]
fn a_file_in_an_extra_root_belongs_to_the_first_root() {
    let place = Place::new(&["x/pyproject.toml", "x/p/tsconfig.json", "x/p/deno.json", "x/p/biome.json"]);
    assert_eq!(place.serving("x/p/y.py"), ["ty w", "ruff w"], "markers there don't count");
    let (words, _) = place.told("x/p/y.ts", &ServerSelection::default(), &[]);
    assert_eq!(words[..2], ["deno: no marker", "typescript: serves w"]);
    assert!(words.contains(&"biome: no marker".into()), "{words:?}");
    fs::write(place.top.join("w/deno.json"), "").unwrap();
    assert_eq!(place.serving("x/p/y.ts"), ["deno w"]);
}

#[test]
fn a_linked_folder_is_what_it_leads_to() {
    let place = Place::new(&["w/real/pyproject.toml", "w/real/x.py", "w/a/pyproject.toml"]);
    symlink(place.top.join("w/real"), place.top.join("w/a/linked")).unwrap();
    // Files come here by their real paths: the gate resolves them, and so does the doctor.
    let real = place.top.join("w/a/linked/x.py").canonicalize().unwrap();
    assert_eq!(place.serving(&place.short(&real)), ["ty w/real", "ruff w/real"]);
}
