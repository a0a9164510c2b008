//! One workspace as JSON, as the admin API reads and writes it: the same keys and rules as `[[workspace]]`.
//!
//! It uses the parser of the file, so that both accept the same input. Invariants: the output contains no secret; the output is valid
//! input, in which a redacted value stands for the stored one.

use serde_json::Value;

use super::show::{REDACTED, redact_document};
use crate::error::ConfigError;
use crate::{Config, Source, WorkspaceConfig};
use codeyard_base::ids::WorkspaceName;

/// The path of the workspace in the file's parser.
const KEY_PREFIX: &str = "workspace[0].";

impl WorkspaceConfig {
    /// Reads the workspace `name`. `before` is the present one, for values that are redacted in the input.
    ///
    /// # Errors
    /// The errors of a file, with keys relative to the workspace. A relative path and a name other than `name` are errors too.
    pub fn from_json(name: &WorkspaceName, body: Value, before: Option<&Self>) -> Result<Self, ConfigError> {
        let Value::Object(mut keys) = body else {
            return Err(ConfigError::at(
                "",
                "the body is not a JSON object",
                "send an object such as {\"roots\": [\"/home/me/src/shop\"]}",
            ));
        };
        keys.retain(|_, value| !value.is_null());
        match keys.insert("name".to_owned(), name.as_str().into()) {
            Some(other) if other != name.as_str() => {
                let problem = format!("{other} differs from the name in the path, \"{name}\"");
                return Err(ConfigError::at("name", problem, "remove the key `name`"));
            }
            _ => {}
        }
        for key in ["roots", "extra_roots"] {
            check_absolute(key, keys.get(key))?;
        }
        let mut value = Value::Object(keys);
        let known = before.and_then(|before| serde_json::to_value(before).ok()).unwrap_or_default();
        restore_redacted(&mut value, &known, "")?;
        parse(value)
    }

    /// The workspace as JSON without secrets. All values of `env` are redacted.
    pub fn shown(&self) -> Value {
        // A value that was parsed from TOML can be written as TOML.
        let mut table = toml::Table::try_from(self).unwrap_or_default();
        redact_document(&mut table);
        serde_json::to_value(table).unwrap_or_default()
    }

    /// The JSON schema of the input of [`Self::from_json`].
    pub fn body_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = <Self as schemars::JsonSchema>::json_schema(generator);
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|key| key != "name");
        }
        schema
    }
}

fn parse(value: Value) -> Result<WorkspaceConfig, ConfigError> {
    let table = toml::Value::try_from(value).map_err(|_| {
        let problem = "the body contains a value that TOML cannot represent: null, or an integer above 2^63 - 1";
        ConfigError::at("", problem, "remove the value")
    })?;
    let mut file = toml::Table::new();
    file.insert("workspace".to_owned(), toml::Value::Array(vec![table]));
    let source = Source { file: "", base_dir: std::path::Path::new("/"), home: None };
    let parsed = crate::parse_source(&file.to_string(), source).map_err(|error| {
        let missing = error.problem.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let key = missing.unwrap_or_else(|| error.key.strip_prefix(KEY_PREFIX).unwrap_or_default()).to_owned();
        ConfigError { key, position: None, file: String::new(), ..error }
    })?;
    let Config { workspaces, .. } = parsed;
    workspaces.into_iter().next().ok_or_else(|| ConfigError::at("", "the body contains no workspace", "send one"))
}

fn check_absolute(key: &str, paths: Option<&Value>) -> Result<(), ConfigError> {
    let paths = paths.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    match paths.enumerate().find(|(_, path)| !path.starts_with('/')) {
        Some((index, path)) => Err(ConfigError::at(
            format!("{key}[{index}]"),
            format!("`{path}` is not an absolute path; a request has no folder that a relative path could start at"),
            "write the path from `/`",
        )),
        None => Ok(()),
    }
}

/// Replaces redacted values by the stored ones.
fn restore_redacted(value: &mut Value, known: &Value, key: &str) -> Result<(), ConfigError> {
    match value {
        Value::String(text) if text == REDACTED => match known {
            Value::Null => {
                Err(ConfigError::at(key, "the value is redacted, but no value is stored", "send the value itself"))
            }
            known => {
                *value = known.clone();
                Ok(())
            }
        },
        Value::Object(keys) => keys
            .iter_mut()
            .try_for_each(|(name, inner)| restore_redacted(inner, &known[name], &super::locate::join(key, name))),
        Value::Array(items) => items
            .iter_mut()
            .enumerate()
            .try_for_each(|(index, inner)| restore_redacted(inner, &known[index], &format!("{key}[{index}]"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value, before: Option<&WorkspaceConfig>) -> Result<WorkspaceConfig, ConfigError> {
        WorkspaceConfig::from_json(&WorkspaceName::new("shop").unwrap(), body, before)
    }

    #[test]
    fn json_has_the_keys_and_rules_of_the_file() {
        let body = json!({"roots": ["/srv/shop"], "servers": {"prefer": ["ty"]}, "limits": null, "prewarm": ["ty"]});
        let shop = read(body, None).unwrap();
        assert_eq!((shop.name.as_str(), shop.roots[0].to_str()), ("shop", Some("/srv/shop")));
        for (body, key, word) in [
            (json!([]), "", "object"),
            (json!({}), "roots", "roots"),
            (json!({"roots": []}), "roots", "at least one root"),
            (json!({"roots": ["src"]}), "roots[0]", "absolute"),
            (json!({"roots": ["/a"], "root": 1}), "root", "roots"),
            (json!({"roots": ["/a"], "name": "other"}), "name", "differs"),
            (
                json!({"roots": ["/a"], "servers": {"prefer": ["x"], "disable": ["x"]}}),
                "servers.prefer",
                "servers.disable",
            ),
            (json!({"roots": ["/a"], "settings": {"ty": {"a": null}}}), "", "null"),
            (json!({"roots": ["/a"], "tenant": "else"}), "tenant", "tenant"),
            (json!({"roots": ["/a"], "env": {"A": "(hidden)"}}), "env.A", "redacted"),
        ] {
            let error = read(body.clone(), None).unwrap_err();
            assert!(error.key == key && error.to_string().contains(word), "{body}: {error:?}");
        }
    }

    #[test]
    fn redacted_json_has_no_secret_and_is_valid_input() {
        let settings = json!({"ty": {"apiKey": "s3cret", "list": [{"password": "s3cret"}], "plain": 1}});
        let shop = read(json!({"roots": ["/a"], "env": {"A": "s3cret"}, "settings": settings}), None).unwrap();
        let shown = shop.shown();
        assert!(!shown.to_string().contains("s3cret") && shown["settings"]["ty"]["plain"] == 1, "{shown}");
        assert_eq!(read(shown, Some(&shop)).unwrap(), shop);
    }
}
