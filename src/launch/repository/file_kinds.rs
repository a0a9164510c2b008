//! What a file of a repository is for, by the conventions of the platforms about names.
//!
//! It reads no file. Invariant: the kind depends on the path alone; what tools write or others have made is never source.

use codeyard_ecosystems::metadata;

use crate::artifacts::repository::FileKind;

/// Folders that tools fill, or that hold the code of others.
const FOREIGN_FOLDERS: [&str; 24] = [
    "node_modules", "bower_components", "vendor", "vendored", "third_party", "third-party", "thirdparty", "3rdparty",
    "external", "externals", "dist", "build", "out", "target", "obj", "__pycache__", "venv", "site-packages", "pods",
    "carthage", "generated", "_build", "deps", "submodules",
];
/// Folders of tests.
const TEST_FOLDERS: [&str; 18] = [
    "test", "tests", "__tests__", "spec", "specs", "testdata", "test-data", "test_data", "fixtures", "__mocks__",
    "__snapshots__", "bench", "benches", "benchmark", "benchmarks", "e2e", "androidtest", "fuzz",
];
/// Folders of examples.
const EXAMPLE_FOLDERS: [&str; 12] = [
    "example", "examples", "sample", "samples", "demo", "demos", "tutorial", "tutorials", "quickstart", "quickstarts",
    "snippets", "playground",
];
/// Folders at the top that hold prose.
const DOC_FOLDERS: [&str; 6] = ["doc", "docs", "documentation", "website", "site", "wiki"];
/// Folders at the top with programs for the project's own work.
const WORK_FOLDERS: [&str; 6] = ["scripts", "script", "ci", "hack", "build-scripts", "contrib"];
/// Endings of prose.
const PROSE: [&str; 9] = ["md", "markdown", "mdx", "rst", "adoc", "asciidoc", "txt", "org", "textile"];
/// Programs that build, test or configure the project.
const BUILD_FILES: [&str; 10] = [
    "build.rs", "conftest.py", "noxfile.py", "tasks.py", "fabfile.py", "gulpfile.js", "gruntfile.js", "rakefile",
    "gemfile", "dangerfile",
];
/// Parts of the names of generated files.
const GENERATED: [&str; 10] = [
    ".min.", ".bundle.", ".generated.", ".g.cs", ".designer.cs", ".pb.go", ".pb.cc", ".pb.h", "_pb2.py", "_pb2_grpc.py",
];

/// Where a file lies: the first folder on its path that says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Foreign,
    Test,
    Example,
    Doc,
    Work,
    Product,
}

/// What the file at `path` is for. `is_code`: whether its language is a programming language. The README and the licence texts at the top are
/// prose here.
pub(crate) fn kind_of(path: &str, is_code: bool) -> FileKind {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let lower = name.to_ascii_lowercase();
    let extension = lower.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_prose = PROSE.contains(&extension) && !is_code_list(&lower);
    let is_generated = GENERATED.iter().any(|part| lower.contains(part));
    match place(folder) {
        Place::Foreign => FileKind::Other,
        Place::Test if is_code => FileKind::Test,
        Place::Test => FileKind::Other,
        Place::Example if is_prose => FileKind::Doc,
        Place::Example if is_code && !is_generated && !is_configuration(&lower) => FileKind::Example,
        Place::Example => FileKind::Other,
        Place::Doc if is_prose => FileKind::Doc,
        Place::Doc | Place::Work => FileKind::Other,
        Place::Product if metadata::kind_of(name).is_some() => FileKind::Manifest,
        Place::Product if is_prose => FileKind::Doc,
        Place::Product if !is_code || is_generated || is_configuration(&lower) => FileKind::Other,
        Place::Product if lower.starts_with("example_") && lower.ends_with("_test.go") => FileKind::Example,
        Place::Product if is_test_name(name) => FileKind::Test,
        Place::Product => FileKind::Source,
    }
}

/// How much of an inventory that is too long a kind is worth; less is better.
pub(crate) fn rank(kind: FileKind) -> u8 {
    match kind {
        FileKind::Readme | FileKind::License | FileKind::Manifest => 0,
        FileKind::Source => 1,
        FileKind::Example => 2,
        FileKind::Doc => 3,
        FileKind::Test => 4,
        FileKind::Other => 5,
    }
}

/// `CMakeLists.txt`, `requirements.txt`: text that isn't prose.
fn is_code_list(lower: &str) -> bool {
    lower == "cmakelists.txt" || lower.starts_with("requirements") || lower == "robots.txt" || lower == "conanfile.txt"
}

fn is_configuration(lower: &str) -> bool {
    lower.starts_with('.')
        || BUILD_FILES.contains(&lower)
        || [".config.js", ".config.ts", ".config.mjs", ".config.cjs", ".conf.js"].iter().any(|end| lower.ends_with(end))
}

fn place(folder: &str) -> Place {
    // In `src/main/java/com/example/Model.java` the folders after `java` are a package.
    let meaningful = ["src/main/java/", "src/main/kotlin/"].iter().find_map(|middle| {
        let at = folder.find(middle).filter(|at| *at == 0 || folder.as_bytes()[at - 1] == b'/')?;
        Some(&folder[..at])
    });
    let folder = meaningful.unwrap_or(folder);
    let mut found = Place::Product;
    for (depth, part) in folder.split('/').filter(|part| !part.is_empty()).enumerate() {
        let lower = part.to_ascii_lowercase();
        let has = |list: &[&str]| list.contains(&lower.as_str());
        let this = if has(&FOREIGN_FOLDERS) {
            Place::Foreign
        } else if has(&TEST_FOLDERS) || is_test_folder(part) {
            Place::Test
        } else if has(&EXAMPLE_FOLDERS) || is_example_folder(part) {
            Place::Example
        } else if depth == 0 && has(&DOC_FOLDERS) {
            Place::Doc
        } else if depth == 0 && (has(&WORK_FOLDERS) || part.starts_with('.')) {
            Place::Work
        } else {
            Place::Product
        };
        match (found, this) {
            (_, Place::Foreign) => return Place::Foreign,
            // Examples may lie among the documents; otherwise the outermost folder decides.
            (Place::Product, other) | (Place::Doc, other @ Place::Example) => found = other,
            _ => {}
        }
    }
    found
}

/// `Library.Tests`, `LibraryUnitTests`, `library-tests`.
fn is_test_folder(part: &str) -> bool {
    let lower = part.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(['-', '_']).collect();
    let is_of_tests = |word: &&str| ["test", "tests", "bench", "benches", "benchmark", "benchmarks"].contains(word);
    // `test-shrinker`, `cells_bench`: a package of tests.
    if words.len() > 1 && (words.first().is_some_and(is_of_tests) || words.last().is_some_and(is_of_tests)) {
        return true;
    }
    ends_with_word(part, "Tests")
        || ends_with_word(part, "Test")
        || ends_with_word(part, "Specs")
        || part.ends_with(".Benchmarks")
}

/// `Library.Examples`, `LibraryDemo`.
fn is_example_folder(part: &str) -> bool {
    ["Examples", "Example", "Samples", "Sample", "Demo", "Demos"].iter().any(|word| ends_with_word(part, word))
}

/// Whether `text` ends with `word` as a part of a name in capitals: `LibraryTests` and `Library.Tests`, not `Latest`.
fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|rest| !rest.is_empty())
}

fn is_test_name(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let lower = stem.to_ascii_lowercase();
    match extension {
        "py" => lower.starts_with("test_") || lower.ends_with("_test") || lower == "tests",
        "go" | "dart" | "cc" | "cpp" | "cxx" | "c" => lower.ends_with("_test") || lower.ends_with("_unittest"),
        "rs" => lower == "tests" || lower == "test" || lower.ends_with("_test") || lower.ends_with("_tests"),
        "rb" => lower.ends_with("_test") || lower.ends_with("_spec") || lower.starts_with("test_"),
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" => {
            [".test", ".spec", ".bench", ".e2e", ".stories", "-test", ".test-d"].iter().any(|end| lower.ends_with(end))
        }
        "java" | "kt" | "cs" | "php" | "swift" | "scala" => {
            ["Test", "Tests", "TestCase", "Spec", "IT"].iter().any(|word| ends_with_word(stem, word))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conventions_of_all_platforms_are_known() {
        let cases: &[(FileKind, &[&str])] = &[
            (
                FileKind::Source,
                &[
                    "src/lib.rs",
                    "cells/__init__.py",
                    "src/main/java/com/example/Workbook.java",
                    "src/main/java/com/x/test/Check.java",
                    "lib/cells.rb",
                    "src/Cells/Workbook.cs",
                    "include/cells/workbook.hpp",
                    "workbook.go",
                    "internal/x.go",
                    "src/index.ts",
                    "Sources/Cells/Workbook.swift",
                    "src/Workbook.php",
                    "src/main/kotlin/Workbook.kt",
                    "packages/core/src/a.ts",
                    "src/latest.py",
                    "src/contest.rs",
                    "src/Latest/A.cs",
                    "src/testing.rs",
                    "lib/attest.rb",
                    "bin/cli.js",
                ],
            ),
            (
                FileKind::Test,
                &[
                    "tests/a.py",
                    "cells/tests/test_a.py",
                    "test_a.py",
                    "src/a_test.go",
                    "src/a.test.ts",
                    "src/A.spec.tsx",
                    "spec/a_spec.rb",
                    "src/test/java/A.java",
                    "WorkbookTest.java",
                    "Cells.Tests/A.cs",
                    "src/CellsUnitTests/A.cs",
                    "Tests/CellsTests/A.swift",
                    "benches/a.rs",
                    "src/tests.rs",
                    "src/__tests__/a.js",
                    "src/a_unittest.cc",
                    "test-shrinker/src/main/java/A.java",
                    "cells_bench/src/lib.rs",
                    "tests/examples/a.py",
                ],
            ),
            (
                FileKind::Example,
                &[
                    "examples/a.py",
                    "example/main.go",
                    "example_basic_test.go",
                    "samples/Cells.Demo/Program.cs",
                    "docs/examples/a.ts",
                    "packages/core/examples/a.ts",
                    "examples/test_files.py",
                ],
            ),
            (
                FileKind::Manifest,
                &[
                    "Cargo.toml", "crates/a/Cargo.toml", "pyproject.toml", "package.json", "pom.xml", "src/A.csproj",
                    "a.gemspec",
                ],
            ),
            (FileKind::Doc, &["docs/guide.md", "CHANGELOG.md", "src/notes.rst", "examples/README.md", "docs/x/y.adoc"]),
            (
                FileKind::Other,
                &[
                    "node_modules/x/index.js", "vendor/x/x.go", "third_party/x.cc", "dist/a.js", "src/a.min.js",
                    "src/a_pb2.py", "docs/conf.py", "scripts/release.py", ".github/x.py", "build.rs", "vite.config.ts",
                    "requirements.txt", "tests/data.csv", "examples/package.json", "node_modules/x/package.json",
                    "src/Designer/A.Designer.cs", ".eslintrc.js", "examples/node_modules/a.js", "tests/README.md",
                ],
            ),
        ];
        for (kind, paths) in cases {
            for path in *paths {
                let is_code =
                    codeyard_index::Language::of_file(path, b"").is_some_and(codeyard_index::Language::is_code);
                assert_eq!(kind_of(path, is_code), *kind, "{path}");
            }
        }
    }
}
