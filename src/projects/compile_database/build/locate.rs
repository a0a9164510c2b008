//! Finds the compile database or the ninja file that a build of the project has left behind.

use std::path::{Path, PathBuf};

use crate::compile_database::build_files::build_hints::read_script;

/// Folders in which builds usually run, relative to the project root. `*` stands for one folder of any name.
const BUILD_FOLDERS: [&str; 14] = [
    "", "build", "builddir", "_build", "out", "obj", ".build", "debug", "Debug", "release", "cmake-build-*", "build-*",
    "build/*", "out/*",
];
/// Folders below `out/build`, where Visual Studio's presets build.
const PRESETS: &str = "out/build/*";

/// The build folders that exist, in order of preference.
pub(super) fn build_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for pattern in BUILD_FOLDERS.iter().chain([&PRESETS]) {
        match pattern.strip_suffix('*') {
            None => found.push(root.join(pattern)),
            Some(prefix) => {
                let (folder, start) = prefix.rsplit_once('/').map_or(("", prefix), |(folder, start)| (folder, start));
                let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
                let mut matching: Vec<PathBuf> = entries
                    .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
                    .map(|entry| entry.path())
                    .collect();
                matching.sort();
                found.extend(matching);
            }
        }
    }
    found.retain(|folder| folder.is_dir());
    found
}

/// The compile database of the project: one that `.clangd` names, or the first in a build folder.
pub(crate) fn database(root: &Path) -> Option<PathBuf> {
    named_by_clangd(root)
        .into_iter()
        .chain(build_folders(root))
        .map(|folder| folder.join("compile_commands.json"))
        .find(|path| path.is_file())
}

/// The first `build.ninja` in a build folder.
pub(crate) fn ninja_file(root: &Path) -> Option<PathBuf> {
    build_folders(root).into_iter().map(|folder| folder.join("build.ninja")).find(|path| path.is_file())
}

/// The folder that `CompilationDatabase` in the root's `.clangd` names.
fn named_by_clangd(root: &Path) -> Option<PathBuf> {
    let text = read_script(root, &root.join(".clangd"))?;
    let value = text.lines().find_map(|line| line.trim().strip_prefix("CompilationDatabase:"))?;
    let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    (!value.is_empty() && !["Ancestors", "None"].contains(&value)).then(|| root.join(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_first_database_in_a_usual_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let create = |name: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "[]").unwrap();
        };
        let found = || database(root).map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        assert_eq!(found(), None);
        for name in ["out/build/x64/", "out/Debug/", "cmake-build-release/", "cmake-build-debug/", "build/", ""] {
            create(&format!("{name}compile_commands.json"));
            assert_eq!(found(), Some(format!("{name}compile_commands.json")));
        }
        create("mine/compile_commands.json");
        fs::write(root.join(".clangd"), "CompileFlags:\n  CompilationDatabase: \"mine\" # here\n").unwrap();
        assert_eq!(found().as_deref(), Some("mine/compile_commands.json"));
        fs::write(root.join(".clangd"), "CompileFlags:\n  CompilationDatabase: Ancestors\n").unwrap();
        assert_eq!(found().as_deref(), Some("compile_commands.json"));
        create("build/build.ninja");
        assert_eq!(ninja_file(root), Some(root.join("build/build.ninja")));
    }
}
