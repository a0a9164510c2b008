//! The entry files of a package of npm: what its manifest names, and the source behind what a build makes.
//!
//! It reads a manifest and a list of paths, no file. Invariant: an entry's files are in the order in which they are tried; the package's own entry
//! comes first.

use std::collections::BTreeSet;

use codeyard_ecosystems::npm::PackageJson;

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
pub(super) fn entries(manifest: &PackageJson, folder: &str, paths: &BTreeSet<&str>) -> Vec<PackageEntry> {
    let name = manifest.name().unwrap_or_default();
    let mut entries = vec![main_entry(manifest, name, folder, paths)];
    for (key, targets) in manifest.ranked_exports().take(MAX_ENTRIES) {
        let Some(rest) = key.strip_prefix("./") else { continue };
        let is_internal = rest.split('/').any(|part| matches!(part, "unsafe" | "internal" | "private" | "dist"));
        let is_code = !is_internal && !rest.contains('*') && !rest.ends_with(".json") && !rest.ends_with(".css");
        if rest.is_empty() || !is_code {
            continue;
        }
        let files: Vec<String> = targets.iter().flat_map(|target| files_behind(target, folder, paths)).collect();
        if !files.is_empty() {
            entries.push(PackageEntry { module: format!("{name}/{rest}"), files });
        }
    }
    entries.retain(|entry| !entry.files.is_empty());
    entries
}

fn main_entry(manifest: &PackageJson, name: &str, folder: &str, paths: &BTreeSet<&str>) -> PackageEntry {
    let mut targets = manifest.ranked_targets();
    targets.extend(["index", "main", "mod", name.rsplit('/').next().unwrap_or(name)]);
    let files = targets.iter().flat_map(|target| files_behind(target, folder, paths)).collect();
    PackageEntry { module: name.to_owned(), files }
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
    use serde_json::{Value, json};

    #[test]
    fn entries_are_the_sources_of_what_is_built() {
        let paths: BTreeSet<&str> =
            ["src/index.ts", "src/part.ts", "packages/a/index.js", "packages/a/index.d.ts"].into();
        let read = |manifest: Value| PackageJson::parse(&manifest.to_string()).unwrap_or_default();
        let manifest = read(json!({"name": "n", "main": "./dist/index.js", "exports": {
            ".": {"import": {"types": "./dist/esm/index.d.ts", "default": "./dist/esm/index.js"}, "require": "./dist/index.cjs"},
            "./part": "./dist/part.js", "./package.json": "./package.json", "./x/*": "./dist/x/*.js", "./none": "./none.js",
        }}));
        let found = entries(&manifest, "", &paths);
        let of = |at: usize| (found[at].module.as_str(), found[at].files[0].as_str());
        assert_eq!((of(0), of(1), found.len()), (("n", "src/index.ts"), ("n/part", "src/part.ts"), 2));
        let found = entries(&read(json!({"name": "@s/a"})), "packages/a", &paths);
        assert_eq!(found[0].files, ["packages/a/index.d.ts", "packages/a/index.js"]);
        assert_eq!(entries(&read(json!({"name": "n", "main": "../../etc/x"})), "p", &paths), []);
        assert_eq!(entries(&read(json!([1])), "", &BTreeSet::new()), []);
    }
}
