//! The table of all keys in `docs/internals/reference/configuration.md`, generated from the JSON schema.
//!
//! Invariant: each key of the schema has one row; names, defaults and descriptions come from the code.

use serde_json::{Map, Value};

use crate::Config;
use crate::unknown_keys::resolve;

impl Config {
    /// A Markdown table of keys for each section: key, type, default, meaning.
    pub fn reference() -> String {
        let root = Self::json_schema();
        let mut text = String::new();
        section(&root, &root, "Top level", "", &mut text);
        for (key, heading) in sections(&root) {
            let schema = &root["properties"][key.as_str()];
            let inner = if heading.starts_with("[[") { &schema["items"] } else { schema };
            section(&root, inner, &format!("`{heading}`"), meaning(schema), &mut text);
        }
        text
    }
}

/// The keys of the top level that are tables with known keys, and their TOML headers.
fn sections(root: &Value) -> Vec<(String, String)> {
    let tables = properties(root, root).filter_map(|(key, schema)| match schema.get("items") {
        Some(_) => Some((key.clone(), format!("[[{key}]]"))),
        None => resolve(root, schema).get("properties").map(|_| (key.clone(), format!("[{key}]"))),
    });
    tables.collect()
}

fn section(root: &Value, schema: &Value, heading: &str, description: &str, text: &mut String) {
    text.push_str(&format!("### {heading}\n\n"));
    if !description.is_empty() {
        text.push_str(&format!("{description}\n\n"));
    }
    text.push_str("| key | type | default | meaning |\n|---|---|---|---|\n");
    rows(root, schema, "", text);
    text.push('\n');
}

/// A row for each key. The keys of a table without a section of its own follow that table's row.
fn rows(root: &Value, schema: &Value, path: &str, text: &mut String) {
    let required = resolve(root, schema)["required"].as_array();
    for (key, inner) in properties(root, schema) {
        let needed = required.is_some_and(|keys| keys.iter().any(|needed| needed == key));
        let default = if needed { "(required)".into() } else { default_of(inner) };
        let kind = type_of(root, inner).replace('|', "\\|");
        let meaning = meaning(inner).replace('\n', " ");
        text.push_str(&format!("| `{path}{key}` | {kind} | {default} | {meaning} |\n"));
        if !std::ptr::eq(root, schema) && !has_section(root, inner) {
            rows(root, inner, &format!("{path}{key}."), text);
        }
    }
}

/// Whether this table has a section of its own at the top level.
fn has_section(root: &Value, schema: &Value) -> bool {
    properties(root, root).any(|(_, top)| std::ptr::eq(resolve(root, top), resolve(root, schema)))
}

fn properties<'a>(root: &'a Value, schema: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let mut entries: Vec<_> = resolve(root, schema)["properties"].as_object().into_iter().flatten().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries.into_iter()
}

fn meaning(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

fn default_of(schema: &Value) -> String {
    match &schema["default"] {
        Value::Null => "(none)".into(),
        Value::Object(keys) if !keys.is_empty() => "(its keys')".into(),
        value => format!("`{value}`"),
    }
}

fn type_of(root: &Value, schema: &Value) -> String {
    let schema = resolve(root, schema);
    if let Some(names) = names_of(schema) {
        return names;
    }
    if let Some(options) = schema["anyOf"].as_array() {
        return options.iter().map(|option| type_of(root, option)).collect::<Vec<_>>().join(" or ");
    }
    let inner = |key: &str| plural(&type_of(root, &schema[key]));
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", inner("items")),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("table of {}", inner("additionalProperties"))
        }
        Some("object") => "table".into(),
        Some(plain) => plain.to_owned(),
        None => "any value".into(),
    }
}

fn plural(name: &str) -> String {
    match name.split_once(' ') {
        Some((head, tail)) => format!("{head}s {tail}"),
        None => format!("{name}s"),
    }
}

/// The permitted values of an enumeration; `None` for other schemas.
fn names_of(schema: &Value) -> Option<String> {
    let quoted = |value: &Value| format!("`{value}`");
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.iter().map(quoted).collect::<Vec<_>>().join(", "));
    }
    let options = schema["oneOf"].as_array()?;
    let named: Vec<String> = options
        .iter()
        .filter_map(Value::as_object)
        .filter_map(|option: &Map<String, Value>| option.get("const"))
        .map(quoted)
        .collect();
    (!named.is_empty()).then(|| named.join(", "))
}
