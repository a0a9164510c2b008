//! The schema of an answer as `tools/list` has it: shorter than the file, because the list occupies a model's context.
//!
//! The file says the whole contract. Invariants: what the file accepts, the list accepts too; both refuse an answer without a member that it or an
//! object directly in it must have.

use serde_json::{Map, Value, json};

use codeyard_base::stable_json;

/// The listed form of a schema file. It lacks enumerations, says of the required members of inner objects only the names, and closes no object.
pub(super) fn listed(file: &str) -> String {
    // The files are a part of the program, and the tests read them all.
    let schema = serde_json::from_str(file).unwrap_or_default();
    stable_json::stringify(&shortened(&schema, true))
}

fn shortened(schema: &Value, is_answer: bool) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    if members.contains_key("enum") {
        return json!({"type": "string"});
    }
    let mut short = Map::new();
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("additionalProperties", _) => {}
            ("items", items) => {
                short.insert(keyword.clone(), shortened(items, false));
            }
            ("properties", Value::Object(properties)) => {
                let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
                let kept =
                    properties.iter().filter(|(name, _)| is_answer || !required.iter().any(|other| other == *name));
                let kept: Map<String, Value> =
                    kept.map(|(name, value)| (name.clone(), shortened(value, false))).collect();
                if !kept.is_empty() {
                    short.insert(keyword.clone(), kept.into());
                }
            }
            _ => {
                short.insert(keyword.clone(), value.clone());
            }
        }
    }
    short.into()
}
