//! Configurations that a tool generates and that another one extends: while they are missing, so are the names of modules that they define.
//!
//! What SvelteKit generates without settings of its own is known, so a server that reads open documents in place of files gets it. Invariants:
//! a file that exists is never replaced; what a project configures by itself isn't guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::MarkerFiles;
use codeyard_model::coverage::Hidden;
use serde_json::json;

use super::javascript_imports::read_specifiers;
use crate::info::UnresolvedNames;
use crate::limits::MAX_EXAMPLES;
use crate::memory::ProjectMemory;
use crate::prepare::ProjectDocument;
use crate::unwatched_folder::UnwatchedFolder;

/// By folder of a generated configuration, the command that generates it.
const TOOLS: [(&str, &str); 5] = [
    (SVELTE_KIT, "npx svelte-kit sync"),
    (".nuxt", "npx nuxi prepare"),
    (".wxt", "npx wxt prepare"),
    (".quasar", "npx quasar prepare"),
    (".astro", "npx astro sync"),
];
const SVELTE_KIT: &str = ".svelte-kit";
/// Beginnings of names that such tools define.
const DEFINED: [&str; 5] = ["$", "~", "#", "@/", "@@/"];
/// Files that hold the settings of SvelteKit, and the word that names modules in them.
const SVELTE_SETTINGS: [&str; 2] = ["svelte.config.js", "svelte.config.ts"];
const SVELTE_ALIAS: &str = "alias";

/// The view of the disk with what is known of missing configurations.
pub(super) struct WithGenerated<'d> {
    disk: &'d dyn MarkerFiles,
    texts: BTreeMap<PathBuf, String>,
}

impl<'d> WithGenerated<'d> {
    /// Finds the missing configurations whose text is known, among those that `configurations` extend.
    pub(super) fn new(disk: &'d dyn MarkerFiles, missing: &BTreeMap<PathBuf, PathBuf>, top: &Path) -> Self {
        let texts = missing.keys().filter_map(|path| Some((path.clone(), svelte_kit(path, top, disk)?)));
        Self { disk, texts: texts.collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The known configurations as documents that exist only at the server.
    pub(super) fn documents(&self) -> impl Iterator<Item = ProjectDocument> {
        self.texts.iter().map(|(path, text)| ProjectDocument {
            path: path.clone(),
            language: "jsonc".into(),
            text: text.clone(),
        })
    }
}

impl MarkerFiles for WithGenerated<'_> {
    fn exists(&self, path: &Path) -> bool {
        self.texts.contains_key(path) || self.disk.exists(path)
    }

    fn entries(&self, folder: &Path) -> std::rc::Rc<[String]> {
        self.disk.entries(folder)
    }

    fn read_text(&self, file: &Path, top: &Path) -> String {
        self.texts.get(file).cloned().unwrap_or_else(|| self.disk.read_text(file, top))
    }
}

/// What `svelte-kit sync` writes to a configuration; `None` for another file, and for a project that names modules by itself.
fn svelte_kit(path: &Path, top: &Path, disk: &dyn MarkerFiles) -> Option<String> {
    let folder = path.parent().filter(|folder| folder.ends_with(SVELTE_KIT) && path.ends_with("tsconfig.json"))?;
    let root = folder.parent()?;
    let settings = SVELTE_SETTINGS.map(|name| root.join(name));
    if settings.iter().any(|file| disk.exists(file) && disk.read_text(file, top).contains(SVELTE_ALIAS)) {
        return None;
    }
    let everywhere = |folder: &str| ["js", "ts", "svelte"].map(|ending| format!("../{folder}/**/*.{ending}"));
    let include: Vec<String> = ["src", "test", "tests"].into_iter().flat_map(everywhere).collect();
    let options = json!({
        "paths": {"$lib": ["../src/lib"], "$lib/*": ["../src/lib/*"]},
        "rootDirs": ["..", "./types"],
        "verbatimModuleSyntax": true,
        "isolatedModules": true,
        "lib": ["esnext", "DOM", "DOM.Iterable"],
        "moduleResolution": "bundler",
        "module": "esnext",
        "noEmit": true,
        "target": "esnext",
    });
    let include: Vec<String> =
        include.into_iter().chain(["../vite.config.js", "../vite.config.ts"].map(str::to_owned)).collect();
    Some(json!({"compilerOptions": options, "include": include, "exclude": ["../node_modules/**"]}).to_string())
}

/// What is missing because configurations are: each with the one that extends it, and `files` that may import what it defines.
pub(super) fn unresolved(
    missing: &BTreeMap<PathBuf, PathBuf>,
    known: &WithGenerated<'_>,
    files: &mut dyn Iterator<Item = &Path>,
    top: &Path,
    memory: &ProjectMemory,
) -> Vec<UnresolvedNames> {
    let unknown: Vec<_> = missing.iter().filter(|(path, _)| !known.texts.contains_key(*path)).collect();
    let Some((first, extending)) = unknown.first() else { return vec![] };
    let shown = |path: &Path| path.strip_prefix(top).unwrap_or(path).display().to_string();
    let mut names: BTreeSet<String> = BTreeSet::new();
    memory.with_imports(|imports| {
        for file in files {
            let specifiers = imports.entry(file.to_path_buf()).or_insert_with(|| read_specifiers(file, top));
            let defined = specifiers.iter().filter(|name| DEFINED.iter().any(|start| name.starts_with(start)));
            names.extend(defined.cloned());
        }
    });
    let more = unknown.len() - 1;
    let others = if more > 0 { format!(" and {more} more such files are") } else { " is".to_owned() };
    let tool = TOOLS.iter().find(|(folder, _)| first.components().any(|part| part.as_os_str() == *folder));
    vec![UnresolvedNames {
        what: format!("`{}`, which `{}` needs,{others} missing", shown(first), shown(extending)),
        count: names.len().max(1),
        examples: names.into_iter().take(MAX_EXAMPLES).collect(),
        remedy: tool.map(|(_, command)| (*command).to_owned()),
        hides: Hidden::Uses,
    }]
}

/// The folders of missing configurations, to look at for what a tool generates.
pub(super) fn folders(missing: &BTreeMap<PathBuf, PathBuf>) -> Vec<UnwatchedFolder> {
    let folders: BTreeSet<PathBuf> = missing.keys().filter_map(|path| path.parent()).map(Path::to_path_buf).collect();
    folders.into_iter().map(UnwatchedFolder::look).collect()
}
