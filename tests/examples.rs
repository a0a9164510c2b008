//! The examples match their README: every client configuration parses and names the right catalog, and the sample
//! workspaces have the documented line endings and compile database.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = examples().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of the files directly in a folder, sorted.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(examples().join(folder)).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// All strings in a JSON value.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(map) => map.values().for_each(|item| strings(item, found)),
        _ => {}
    }
}

/// The client configurations: file name and content.
fn configurations() -> Vec<(String, Value)> {
    let files = names("clients").into_iter().filter(|name| !name.ends_with(".py"));
    let parsed = files.map(|name| {
        let text = read(Path::new("clients").join(&name));
        let value = match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("json") => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")),
            Some("toml") => toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")),
            _ => panic!("{name} is neither JSON nor TOML"),
        };
        (name, value)
    });
    parsed.collect()
}

#[test]
fn every_client_configuration_parses_and_names_the_endpoint() {
    let configurations = configurations();
    assert!(configurations.len() >= 16, "{}", configurations.len());
    for (name, value) in configurations {
        let mut found = Vec::new();
        strings(&value, &mut found);
        if name.contains(".http.") {
            let url = found.iter().find(|text| text.starts_with("http://127.0.0.1:3939/mcp/"));
            let url = url.unwrap_or_else(|| panic!("{name} has no endpoint"));
            assert_eq!(url.ends_with("/lsp-v1-safe"), !name.starts_with("gemini-cli"), "{name}: {url}");
            let bearer = found.iter().any(|text| text.starts_with("Bearer ") || text == "CODEYARD_TOKEN");
            assert!(bearer, "{name} has no token");
        } else {
            assert!(name.contains(".stdio."), "{name}");
            assert!(found.iter().any(|text| text == "stdio"), "{name}");
            assert!(found.windows(2).any(|pair| pair[0] == "--root" && !pair[1].is_empty()), "{name}");
            let safe = found.windows(2).any(|pair| pair[0] == "--catalog" && pair[1] == "lsp-v1-safe");
            assert_eq!(safe, !name.starts_with("gemini-cli"), "{name}");
        }
    }
}

#[test]
fn the_readme_names_every_host() {
    let readme = read("README.md");
    for name in names("clients") {
        let (host, _) = name.split_once('.').expect("a file name with an ending");
        assert!(readme.contains(&format!("`{host}.")) || readme.contains(&format!("clients/{host}.py")), "{name}");
    }
}

#[test]
fn line_endings_are_preserved() {
    for path in ["python/larder/labels.py", "typescript/src/builtins.ts", "c/src/policy.c"] {
        let text = read(Path::new("workspaces").join(path));
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{path} lost its Windows line ends");
        assert!(text.contains("\r\n") && text.chars().any(|letter| letter > '\u{ffff}'), "{path}");
        assert!(read("workspaces/.gitattributes").contains(&format!("{path} -text")), "{path}");
    }
    assert!(read("workspaces/typescript/src/tokens.ts").contains("\n\t"));
}

#[test]
fn the_compile_database_lists_every_source() {
    let database: Vec<Value> = serde_json::from_str(&read("workspaces/c/compile_commands.json")).expect("JSON");
    let listed: BTreeSet<String> =
        database.iter().map(|entry| entry["file"].as_str().expect("a file").to_owned()).collect();
    let there = names("workspaces/c/src").into_iter().filter(|name| name.ends_with(".c"));
    assert_eq!(listed, there.map(|name| format!("src/{name}")).collect());
    assert!(database.iter().all(|entry| entry["directory"] == "."));
}
