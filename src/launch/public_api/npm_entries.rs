//! The entry files of a package of npm: what its `package.json` names, and the source behind what a build makes.
//!
//! It reads JSON and a list of paths, no file. Invariant: an entry's files are in the order in which they are tried; the package's own entry
//! comes first.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::repository::product_sources::{join, resolve};

/// One way to import a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackageEntry {
    /// What users import: `name`, `name/part`.
    pub(super) module: String,
    /// The files that can be it, the best first.
    pub(super) files: Vec<String>,
}

/// Entries of one package.
const MAX_ENTRIES: usize = 64;
/// Folders that builds write and their sources have no equal of.
const BUILT: [&str; 14] = [
    "dist", "lib", "build", "out", "es", "esm", "cjs", "umd", "types", "typings", "dist-types", "node", "browser",
    "module",
];
/// Folders with sources.
const SOURCES: [&str; 4] = ["src", "source", "lib", ""];
/// Extensions of sources, the best first.
const EXTENSIONS: [&str; 10] = ["ts", "tsx", "mts", "cts", "d.ts", "d.mts", "d.cts", "js", "mjs", "cjs"];

/// The entries of the package whose manifest is in `folder`.
pub(super) fn entries(manifest: &Value, folder: &str, paths: &BTreeSet<&str>) -> Vec<PackageEntry> {
    let name = manifest["name"].as_str().unwrap_or_default();
    let mut entries = vec![main_entry(manifest, name, folder, paths)];
    let subpaths = manifest["exports"].as_object().into_iter().flatten();
    for (key, target) in subpaths.take(MAX_ENTRIES) {
        let Some(rest) = key.strip_prefix("./") else { continue };
        let is_internal = rest.split('/').any(|part| matches!(part, "unsafe" | "internal" | "private" | "dist"));
        let is_code = !is_internal && !rest.contains('*') && !rest.ends_with(".json") && !rest.ends_with(".css");
        if rest.is_empty() || !is_code {
            continue;
        }
        let mut targets = Vec::new();
        add_targets(target, &mut targets, 0);
        let files: Vec<String> = targets.iter().flat_map(|target| files_behind(target, folder, paths)).collect();
        if !files.is_empty() {
            entries.push(PackageEntry { module: format!("{name}/{rest}"), files });
        }
    }
    entries.retain(|entry| !entry.files.is_empty());
    entries
}

fn main_entry(manifest: &Value, name: &str, folder: &str, paths: &BTreeSet<&str>) -> PackageEntry {
    let mut targets: Vec<String> = Vec::new();
    let mut add = |value: &Value| targets.extend(value.as_str().map(str::to_owned));
    for key in ["types", "typings"] {
        add(&manifest[key]);
    }
    let exports = &manifest["exports"];
    let own = if exports.get(".").is_some() { &exports["."] } else { exports };
    let has_subpaths = exports.as_object().is_some_and(|map| map.keys().any(|key| key.starts_with("./")));
    if exports.get(".").is_some() || !has_subpaths {
        add_targets(own, &mut targets, 0);
    }
    for key in ["source", "module", "main"] {
        targets.extend(manifest[key].as_str().map(str::to_owned));
    }
    targets.push("index".to_owned());
    let short = name.rsplit('/').next().unwrap_or(name);
    targets.extend(["main", "mod", short].map(str::to_owned));
    let files = targets.iter().flat_map(|target| files_behind(target, folder, paths)).collect();
    PackageEntry { module: name.to_owned(), files }
}

/// The texts of a target, those with types first.
fn add_targets(target: &Value, targets: &mut Vec<String>, depth: usize) {
    match target {
        Value::String(text) => targets.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|target| add_targets(target, targets, depth + 1)),
        Value::Object(map) if depth < 6 => {
            for key in ["types", "source", "import", "module", "default", "require", "node", "browser"] {
                if let Some(inner) = map.get(key) {
                    add_targets(inner, targets, depth + 1);
                }
            }
        }
        _ => {}
    }
}

/// The files of the repository that a target can mean: itself, or the source that it is built from.
fn files_behind(target: &str, folder: &str, paths: &BTreeSet<&str>) -> Vec<String> {
    let Some(plain) = resolve("", target) else { return Vec::new() };
    let mut tried: Vec<String> = source_candidates(&join(folder, &plain));
    let mut rest: &str = &plain;
    loop {
        for source in SOURCES {
            tried.extend(source_candidates(&join(folder, &join(source, rest))));
        }
        // `dist/esm/index.js` is built from `src/index.ts`.
        match rest.split_once('/') {
            Some((first, inner)) if BUILT.contains(&first) => rest = inner,
            _ => break,
        }
    }
    let mut seen = BTreeSet::new();
    tried.into_iter().filter(|path| paths.contains(path.as_str()) && seen.insert(path.clone())).collect()
}

/// The files that an import of `path` can mean.
pub(super) fn source_candidates(path: &str) -> Vec<String> {
    let mut candidates = Vec::new();
    let known = [".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];
    if let Some(end) = known.iter().find(|end| path.ends_with(**end)) {
        let stem = &path[..path.len() - end.len()];
        // Types beside the code say more; `./x.js` in TypeScript means `./x.ts`.
        if end.contains("js") {
            candidates.extend(EXTENSIONS.iter().map(|extension| format!("{stem}.{extension}")));
        }
        candidates.push(path.to_owned());
        candidates.extend(EXTENSIONS.iter().map(|extension| format!("{stem}.{extension}")));
        candidates.push(format!("{stem}.jsx"));
    } else {
        candidates.extend(EXTENSIONS.iter().map(|extension| format!("{path}.{extension}")));
        candidates.push(format!("{path}.jsx"));
        candidates.extend(EXTENSIONS.iter().map(|extension| join(path, &format!("index.{extension}"))));
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn entries_are_the_sources_of_what_is_built() {
        let paths: BTreeSet<&str> =
            ["src/index.ts", "src/part.ts", "packages/a/index.js", "packages/a/index.d.ts"].into();
        let manifest = json!({"name": "n", "main": "./dist/index.js", "exports": {
            ".": {"import": {"types": "./dist/esm/index.d.ts", "default": "./dist/esm/index.js"}, "require": "./dist/index.cjs"},
            "./part": "./dist/part.js", "./package.json": "./package.json", "./x/*": "./dist/x/*.js", "./none": "./none.js",
        }});
        let found = entries(&manifest, "", &paths);
        let of = |at: usize| (found[at].module.as_str(), found[at].files[0].as_str());
        assert_eq!((of(0), of(1), found.len()), (("n", "src/index.ts"), ("n/part", "src/part.ts"), 2));
        let found = entries(&json!({"name": "@s/a"}), "packages/a", &paths);
        assert_eq!(found[0].files, ["packages/a/index.d.ts", "packages/a/index.js"]);
        assert_eq!(entries(&json!({"name": "n", "main": "../../etc/x"}), "p", &paths), []);
        assert_eq!(entries(&json!([1]), "", &BTreeSet::new()), []);
    }
}
