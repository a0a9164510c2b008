//! The top level, the schemas and the documents' links.

use std::collections::BTreeSet;

use crate::source::{files_below, project, relative};

const TOP_LEVEL: [&str; 20] = [
    ".ci",
    ".git",
    ".gitattributes",
    ".github",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "clippy.toml",
    "config",
    "docs",
    "examples",
    "rustfmt.toml",
    "schemas",
    "src",
    "tests",
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

#[test]
fn links_in_documents_lead_somewhere() {
    let mut documents = files_below(&project().join("docs"));
    documents.extend(files_below(&project().join("examples")));
    documents.push(project().join("README.md"));
    let mut broken = Vec::new();
    // The pages of the sample site link to addresses of that site.
    documents.retain(|path| !relative(path).starts_with("examples/launch/site/"));
    for document in documents.iter().filter(|path| path.extension().is_some_and(|e| e == "md") && path.exists()) {
        let text = std::fs::read_to_string(document).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            let foreign = file.is_empty() || file.contains("://") || file.contains(' ');
            if !foreign && !document.parent().unwrap().join(file).exists() {
                broken.push(format!("{}: {target}", relative(document)));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}
