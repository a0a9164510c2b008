//! Canonical JSON: object keys sorted by code point, no white space, whatever order a map keeps them in.
//!
//! Two values are equal if and only if their canonical texts are. The module sorts keys itself, so it doesn't depend on the order in
//! which serde_json keeps them.

use serde_json::Value;

/// The canonical text of `value`.
pub fn stringify(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            write_joined(text, '{', '}', keys.into_iter(), |key, text| {
                text.push_str(&scalar(&Value::String(key.clone())));
                text.push(':');
                write(&map[key], text);
            });
        }
        Value::Array(items) => write_joined(text, '[', ']', items.iter(), write),
        other => text.push_str(&scalar(other)),
    }
}

fn write_joined<T>(
    text: &mut String,
    open: char,
    close: char,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(T, &mut String),
) {
    text.push(open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.push(',');
        }
        each(item, text);
    }
    text.push(close);
}

fn scalar(value: &Value) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_level() {
        let value = json!({"b": [1, {"z": null, "a": "é\n"}], "a": true});
        assert_eq!(stringify(&value), "{\"a\":true,\"b\":[1,{\"a\":\"é\\n\",\"z\":null}]}");
    }
}
