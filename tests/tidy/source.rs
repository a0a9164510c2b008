//! The source files, and which of their lines are not tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One file below `src`.
pub(crate) struct Source {
    /// Relative to the project, `src/files/gate/path_gate.rs`.
    pub path: String,
    pub text: String,
    /// Whether it is compiled for tests only.
    pub is_test: bool,
}

pub(crate) fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below `src`.
pub(crate) fn sources() -> Vec<Source> {
    let files: Vec<(String, String)> = files_below(&project().join("src"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| (relative(&path), std::fs::read_to_string(&path).unwrap()))
        .collect();
    let tests: BTreeSet<String> = files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let is_test = |path: &str| {
        path.contains("/tests/")
            || tests.iter().any(|test| path == format!("{test}.rs") || path.starts_with(&format!("{test}/")))
    };
    let sources = files.into_iter().map(|(path, text)| Source { is_test: is_test(&path), path, text });
    let sources: Vec<Source> = sources.collect();
    assert!(sources.len() > 50, "the source wasn't found");
    sources
}

/// The projects of the breadth test: material, as others write it.
const MATERIAL: [&str; 2] = ["tests/product/breadth/cases", "tests/product/breadth/shared"];

/// All files below `dir`, sorted, without what is built or ignored, and without the projects of the breadth test.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in dir.read_dir().unwrap().map(Result::unwrap) {
            let name = entry.file_name();
            let skipped =
                ["target", ".git", "node_modules", ".codeyard", "__pycache__"].iter().any(|skip| name == *skip);
            match entry.file_type().unwrap() {
                _ if skipped || MATERIAL.iter().any(|material| entry.path().ends_with(material)) => {}
                kind if kind.is_dir() => todo.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

/// `path` relative to the project.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(project()).unwrap().to_str().unwrap().to_owned()
}

impl Source {
    /// The folder of its crate; `main` for the program itself.
    pub(crate) fn crate_name(&self) -> &str {
        let rest = self.path.strip_prefix("src/").unwrap();
        rest.split('/').next().unwrap().trim_end_matches(".rs")
    }

    /// Whether Cargo runs it to build its crate; it isn't part of the program.
    pub(crate) fn is_build_script(&self) -> bool {
        self.path.ends_with("/build.rs")
    }

    /// The lines before the unit tests; none of a test file.
    pub(crate) fn code(&self) -> Vec<&str> {
        if self.is_test {
            return Vec::new();
        }
        let lines: Vec<&str> = self.text.lines().collect();
        let tests = lines.iter().position(|line| *line == "mod tests {");
        // Attributes stand above it, `cfg` among them.
        let attributes = |at: &usize| lines[..*at].iter().rev().take_while(|line| line.starts_with("#[")).count();
        let end = tests.map_or(lines.len(), |at| at - attributes(&at));
        lines[..end].to_vec()
    }

    /// The same lines without comments.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &str> {
        self.code().into_iter().map(str::trim).filter(|line| !line.starts_with("//"))
    }
}

/// The modules that `text` declares for tests only, as paths without an ending.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let folder = match path.strip_suffix("/mod.rs") {
        Some(folder) => folder.to_owned(),
        None if path.ends_with("/lib.rs") => path.trim_end_matches("/lib.rs").to_owned(),
        None => path.trim_end_matches(".rs").to_owned(),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]" && pair[1].ends_with(';'));
    let names = declared.filter_map(|pair| pair[1].split_once("mod ").map(|(_, name)| name.trim_end_matches(';')));
    names.map(|name| format!("{folder}/{name}")).collect()
}
