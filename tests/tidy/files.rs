//! The top level, the schemas and the documents' links.

use std::collections::BTreeSet;

use crate::citations::anchors;
use crate::source::{files_below, project, relative};

const TOP_LEVEL: [&str; 21] = [
    ".ci", ".git", ".gitattributes", ".github", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "Cargo.lock",
    "Cargo.toml", "LICENSE", "README.md", "SECURITY.md", "clippy.toml", "config", "docs", "examples", "findings",
    "rustfmt.toml", "schemas", "src", "tests",
];
/// Not committed.
const BUILT: [&str; 2] = ["target", ".codeyard"];

#[test]
fn the_top_level_holds_what_it_should() {
    let entries = project().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let strangers: Vec<String> =
        entries.filter(|name| !TOP_LEVEL.contains(&name.as_str()) && !BUILT.contains(&name.as_str())).collect();
    assert_eq!(strangers, Vec::<String>::new());
}

#[test]
fn every_tool_has_both_schemas() {
    let files = files_below(&project().join("schemas/tools"));
    let names: BTreeSet<String> = files.iter().map(|path| relative(path)).collect();
    assert!(!names.is_empty());
    for (path, name) in files.iter().zip(&names) {
        let twin = match name.strip_suffix(".output.json") {
            Some(stem) => format!("{stem}.json"),
            None => format!("{}.output.json", name.strip_suffix(".json").expect("only JSON lies here")),
        };
        assert!(names.contains(&twin), "{name} lacks {twin}");
        let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(schema["type"], "object", "{name}");
    }
}

/// Pages that are compared with generated ones, and pages of other trees: their links are those of another folder.
const ELSEWHERE: [&str; 3] = ["examples/launch/site/", "src/", "tests/"];

#[test]
fn links_in_documents_lead_somewhere() {
    let is_page = |path: &std::path::PathBuf| {
        let name = relative(path);
        name.ends_with(".md") && !ELSEWHERE.iter().any(|folder| name.starts_with(folder))
    };
    let documents: Vec<_> = files_below(&project()).into_iter().filter(is_page).collect();
    assert!(documents.len() > 80, "the documents weren't found");
    let mut broken = Vec::new();
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            if file.contains("://") || file.contains(' ') {
                continue;
            }
            let cited = if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            let has_heading = || {
                let text = std::fs::read_to_string(&cited).unwrap_or_default();
                heading.is_empty() || !file.ends_with(".md") && !file.is_empty() || anchors(&text).contains(heading)
            };
            if !cited.exists() || !has_heading() {
                broken.push(format!("{}: {target}", relative(&document)));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// The words of the pages below a folder.
fn words(folder: &str) -> usize {
    let pages = files_below(&project().join(folder));
    pages.iter().map(|page| std::fs::read_to_string(page).unwrap_or_default().split_whitespace().count()).sum()
}

#[test]
fn a_user_and_an_operator_have_little_to_read() {
    let used = words("docs/use");
    let operated = words("docs/operate");
    assert!(used > 1_000 && operated > 1_000, "the pages weren't found");
    assert!(used <= 9_000, "docs/use has {used} words; the reference is in docs/internals/reference");
    assert!(used + operated <= 15_000, "docs/use and docs/operate have {} words", used + operated);
}
