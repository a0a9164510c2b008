//! Finds unknown keys, and the most similar known key of the same table.
//!
//! The known keys come from the JSON schema, so that there is no second list. Tables with free keys (settings, environment, registry
//! entries) are not checked.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use crate::locate::join;
use codeyard_base::similar::nearest;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownKey {
    pub path: String,
    /// The key's span in the text, in bytes.
    pub span: Range<usize>,
    /// A similar known key of the same table.
    pub nearest: Option<String>,
    /// All keys of that table, sorted.
    pub known: Vec<String>,
}

/// The first unknown key of `table`, in the order of the table.
pub(crate) fn unknown_key(table: &DeTable<'_>, schema: &Value) -> Option<UnknownKey> {
    in_table(table, schema, schema, "")
}

fn in_table(table: &DeTable<'_>, root: &Value, schema: &Value, path: &str) -> Option<UnknownKey> {
    let properties = resolve(root, schema).get("properties").and_then(Value::as_object)?;
    table.iter().find_map(|(key, value)| {
        let name: &str = key.get_ref();
        let here = join(path, name);
        match properties.get(name) {
            Some(inner) => in_value(value.get_ref(), root, inner, &here),
            None => Some(UnknownKey {
                path: here,
                span: key.span(),
                nearest: nearest(name, properties.keys().map(String::as_str)).map(str::to_owned),
                known: sorted_keys(properties),
            }),
        }
    })
}

fn in_value(value: &DeValue<'_>, root: &Value, schema: &Value, path: &str) -> Option<UnknownKey> {
    match value {
        DeValue::Table(table) => in_table(table, root, schema, path),
        DeValue::Array(items) => {
            let inner = resolve(root, schema).get("items")?;
            let mut numbered = items.iter().enumerate();
            numbered.find_map(|(index, item)| in_value(item.get_ref(), root, inner, &format!("{path}[{index}]")))
        }
        _ => None,
    }
}

/// Resolves references. For an optional value it returns the schema of the value.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/")) {
        return root.get("$defs").and_then(|defs| defs.get(name)).unwrap_or(schema);
    }
    let options = schema.get("anyOf").and_then(Value::as_array);
    match options.and_then(|options| options.iter().find(|option| option.get("$ref").is_some())) {
        Some(option) => resolve(root, option),
        None => schema,
    }
}

fn sorted_keys(properties: &Map<String, Value>) -> Vec<String> {
    let mut keys: Vec<String> = properties.keys().cloned().collect();
    keys.sort_unstable();
    keys
}
