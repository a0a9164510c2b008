//! No file is forgotten: each Rust file below `src` and `tests` is a module of a target that Cargo builds.

use std::path::{Path, PathBuf};

use crate::source::{files_below, project, relative};

/// Projects that tests work on; their files are no part of this one.
const MATERIAL: [&str; 1] = ["tests/product/servers/sources/"];

/// The files that may declare `file` as their module.
fn parents(file: &Path) -> Vec<PathBuf> {
    let folder = file.parent().unwrap();
    let stem = file.file_stem().unwrap();
    let of_folder = |folder: &Path| {
        let beside = folder.with_extension("rs");
        ["mod.rs", "main.rs", "lib.rs"].map(|name| folder.join(name)).into_iter().chain([beside]).collect()
    };
    if stem == "mod" { of_folder(folder.parent().unwrap()) } else { of_folder(folder) }
}

/// Whether one of the file's parents declares it, by its name or by its path.
fn is_declared(file: &Path) -> bool {
    let named = if file.ends_with("mod.rs") { file.parent().unwrap() } else { file };
    let name = named.file_stem().unwrap().to_str().unwrap();
    let by_path = format!("{}\"]", file.file_name().unwrap().to_str().unwrap());
    parents(file).iter().filter_map(|parent| std::fs::read_to_string(parent).ok()).any(|text| {
        let line = |line: &str| {
            let line = line.trim();
            line.ends_with(&format!("mod {name};")) || line.starts_with("#[path = ") && line.ends_with(&by_path)
        };
        text.lines().any(line)
    })
}

/// Whether Cargo takes the file by itself, or a manifest beside or above it names it.
fn is_root(file: &Path) -> bool {
    let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(project()));
    folders.map(|folder| folder.join("Cargo.toml")).filter(|manifest| manifest.exists()).take(1).any(|manifest| {
        let text = std::fs::read_to_string(&manifest).unwrap();
        let path = file.strip_prefix(manifest.parent().unwrap()).unwrap().to_str().unwrap();
        let found_by_cargo = ["src/main.rs", "src/lib.rs", "build.rs"].contains(&path)
            || path.strip_prefix("tests/").is_some_and(|rest| !rest.contains('/') || rest.ends_with("/main.rs"));
        found_by_cargo || text.contains(&format!("path = \"{path}\""))
    })
}

#[test]
fn every_file_is_a_module_of_a_target() {
    let files: Vec<PathBuf> = ["src", "tests"].iter().flat_map(|top| files_below(&project().join(top))).collect();
    let rust = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let own = rust.filter(|path| !MATERIAL.iter().any(|folder| relative(path).starts_with(folder)));
    let forgotten: Vec<String> =
        own.filter(|path| !is_root(path) && !is_declared(path)).map(|path| relative(&path)).collect();
    assert_eq!(forgotten, Vec::<String>::new());
}
