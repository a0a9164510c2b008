//! The examples match their README: every client configuration parses and names the right catalog, and the sample
//! workspaces have the documented line endings and compile database. The project's README has what the host lab found.

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

/// The texts of a YAML file of one `key: value` on each line, with lists in brackets.
fn yaml_texts(text: &str) -> Value {
    let values = text.lines().filter_map(|line| Some(line.split_once(": ")?.1.trim()));
    let items = values.flat_map(|value| match value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
        Some(list) => list.split(", ").map(String::from).collect(),
        None => vec![value.to_owned()],
    });
    items.map(Value::String).collect()
}

/// The client configurations: file name and content.
fn configurations() -> Vec<(String, Value)> {
    let files = names("clients").into_iter().filter(|name| !name.ends_with(".py"));
    let parsed = files.map(|name| {
        let text = read(Path::new("clients").join(&name));
        let value = match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("json") => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")),
            Some("toml") => toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")),
            Some("yaml") => yaml_texts(&text),
            _ => panic!("{name} is neither JSON, TOML nor YAML"),
        };
        (name, value)
    });
    parsed.collect()
}

#[test]
fn every_client_configuration_parses_and_names_the_endpoint() {
    let configurations = configurations();
    assert!(configurations.len() >= 25, "{}", configurations.len());
    for (name, value) in configurations {
        let mut found = Vec::new();
        strings(&value, &mut found);
        if name.contains(".http.") {
            let url = found.iter().find(|text| text.starts_with("http://127.0.0.1:3939/mcp/"));
            let url = url.unwrap_or_else(|| panic!("{name} has no endpoint"));
            assert!(url.ends_with("/my-repository/agent"), "{name}: {url}");
            let bearer = found.iter().any(|text| text.starts_with("Bearer ") || text == "CODEYARD_TOKEN");
            assert!(bearer, "{name} has no token");
        } else {
            assert!(name.contains(".stdio."), "{name}");
            assert!(found.iter().any(|text| text == "stdio"), "{name}");
            assert!(found.windows(2).any(|pair| pair[0] == "--root" && !pair[1].is_empty()), "{name}");
            assert!(found.windows(2).any(|pair| pair[0] == "--catalog" && pair[1] == "agent"), "{name}");
        }
    }
}

/// The agents in Python read the address from the same variables, with the address of the other files as the default.
#[test]
fn every_agent_in_python_names_the_endpoint() {
    let agents: Vec<String> =
        names("clients").into_iter().filter(|name| name.ends_with(".py") && name != "ask.py").collect();
    assert!(agents.len() >= 3, "{agents:?}");
    for name in agents {
        let text = read(Path::new("clients").join(&name));
        assert!(text.contains("\"http://127.0.0.1:3939/mcp/my-repository/agent\""), "{name}");
        let variables = ["CODEYARD_URL", "CODEYARD_TOKEN", "CODEYARD_ROOT"];
        assert!(variables.iter().all(|variable| text.contains(variable)), "{name}");
        assert!(text.contains(r#"["stdio", "--root", root, "--catalog", "agent"]"#), "{name}");
    }
}

/// The host lab starts each host with the files of this folder, so that what works there works as it is written here.
#[test]
fn the_host_lab_uses_the_examples() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/world/hosts/hosts.toml");
    let hosts: toml::Table = toml::from_str(&fs::read_to_string(lab).expect("a file")).expect("TOML");
    for (host, entry) in hosts {
        match entry.get("example") {
            Some(example) => {
                for transport in ["http", "stdio"] {
                    let name = example[transport].as_str().expect("a file's name");
                    assert!(names("clients").iter().any(|file| file == name), "{host}: {name}");
                }
            }
            None => {
                let command: Vec<String> = entry["command"].clone().try_into().expect("texts");
                let script = command.iter().find_map(|word| word.strip_prefix("@EXAMPLES@/"));
                let script = script.unwrap_or_else(|| panic!("{host} uses no example"));
                assert!(names("clients").iter().any(|file| file == script), "{host}: {script}");
            }
        }
    }
}

#[test]
fn the_table_of_hosts_is_what_the_lab_found() {
    crate::hosts_table::check();
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
