//! Adds an entry to a host's configuration file and keeps everything else: comments, order, indentation.
//!
//! Invariants: besides the entry, and prompts for its token, the values of the file stay the same, which is checked before anything is
//! written; a file that can't be understood is an error.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::hosts::Form;

/// The name of the entry.
pub(super) const ENTRY: &str = "codeyard";

/// The member of VS Code's file that lists what it asks its user for.
const PROMPTS: &str = "inputs";

/// Why an entry can't be added: a sentence.
pub(super) type MergeError = String;

/// `old`, the text of a file, with the entry of `template`. Without `old` it is the template.
pub(super) fn merged(form: Form, old: Option<&str>, template: &str) -> Result<String, MergeError> {
    let Some(old) = old.filter(|text| !text.trim().is_empty()) else { return Ok(template.to_owned()) };
    let new = match form {
        Form::Json(path) => json(old, template, path)?,
        Form::Toml(table) => toml(old, template, table)?,
        Form::Text => {
            return Err("files of this form are not merged; add the text by hand, or name a new file".to_owned());
        }
    };
    check(form, old, &new)?;
    Ok(new)
}

/// `template` without what gives the host a token.
pub(super) fn without_token(form: Form, template: &str) -> Result<String, MergeError> {
    match form {
        Form::Json(path) => {
            let root = CstRootNode::parse(template, &ParseOptions::default()).map_err(|error| error.to_string())?;
            let whole = root.object_value().ok_or("the template is not an object")?;
            let entry = path.iter().chain([&ENTRY]).try_fold(whole.clone(), |object, name| object.object_value(name));
            let entry = entry.ok_or("the template has no entry")?;
            for member in [entry.get("headers"), whole.get(PROMPTS)].into_iter().flatten() {
                member.remove();
            }
            Ok(root.to_string())
        }
        Form::Toml(table) => {
            let mut document = template.parse::<toml_edit::DocumentMut>().map_err(|error| error.to_string())?;
            let entry = document.get_mut(table).and_then(|servers| servers.get_mut(ENTRY));
            let entry = entry.and_then(toml_edit::Item::as_table_like_mut).ok_or("the template has no entry")?;
            entry.remove("bearer_token_env_var");
            Ok(document.to_string())
        }
        Form::Text => Ok(template.to_owned()),
    }
}

/// The entry in `text`, for comparison; `None` if there is none.
pub(super) fn entry(form: Form, text: &str) -> Option<Value> {
    let whole = values(form, text).ok()?;
    path_of(form).iter().chain([&ENTRY]).try_fold(&whole, |value, name| value.get(name)).cloned()
}

fn path_of(form: Form) -> Vec<&'static str> {
    match form {
        Form::Json(path) => path.to_vec(),
        Form::Toml(table) => vec![table],
        Form::Text => Vec::new(),
    }
}

/// The values of a file.
fn values(form: Form, text: &str) -> Result<Value, MergeError> {
    match form {
        Form::Json(_) => jsonc_parser::parse_to_serde_value(text, &ParseOptions::default())
            .map_err(|error| format!("it is not valid JSON: {error}")),
        _ => toml::from_str::<Value>(text).map_err(|error| format!("it is not valid TOML: {}", error.message())),
    }
}

/// Nothing but the entry, and prompts, differs.
fn check(form: Form, old: &str, new: &str) -> Result<(), MergeError> {
    let without_entry = |text: &str| -> Result<Value, MergeError> {
        let mut whole = values(form, text)?;
        remove(&mut whole, &path_of(form));
        if let Some(members) = whole.as_object_mut() {
            members.remove(PROMPTS);
        }
        Ok(whole)
    };
    if without_entry(old)? == without_entry(new)? {
        Ok(())
    } else {
        Err("the entry can't be added without a change of other values; add it by hand".to_owned())
    }
}

/// Removes the entry, and the objects on its path that have nothing else.
fn remove(value: &mut Value, path: &[&str]) {
    let Some(members) = value.as_object_mut() else { return };
    match path.split_first() {
        None => drop(members.remove(ENTRY)),
        Some((first, rest)) => {
            if let Some(inner) = members.get_mut(*first) {
                remove(inner, rest);
                if inner.as_object().is_some_and(serde_json::Map::is_empty) {
                    members.remove(*first);
                }
            }
        }
    }
}

fn json(old: &str, template: &str, path: &[&str]) -> Result<String, MergeError> {
    let parse = |text: &str| CstRootNode::parse(text, &ParseOptions::default());
    let root = parse(old).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let wanted = parse(template).map_err(|error| error.to_string())?;
    let not_an_object = |name: &str| format!("`{name}` in it is not an object");
    let mut object = root.object_value_or_create().ok_or("it is not a JSON object")?;
    let mut source = wanted.object_value().ok_or("the template is not an object")?;
    add_prompts(&object, &source)?;
    for name in path {
        object = match object.get(name) {
            Some(member) => member.value().and_then(|value| value.as_object()).ok_or_else(|| not_an_object(name))?,
            None => object.object_value_or_set(name),
        };
        source = source.object_value(name).ok_or_else(|| not_an_object(name))?;
    }
    let value = source.get(ENTRY).and_then(|member| member.value()).ok_or("the template has no entry")?;
    match object.get(ENTRY) {
        Some(member) => member.set_value(input(&value)),
        None => drop(object.append(ENTRY, input(&value))),
    }
    Ok(root.to_string())
}

/// Adds the prompts of the template (VS Code's `inputs`) whose ids the file doesn't have.
fn add_prompts(object: &CstObject, source: &CstObject) -> Result<(), MergeError> {
    let Some(wanted) = source.array_value(PROMPTS) else { return Ok(()) };
    let present = match object.get(PROMPTS) {
        Some(_) => object.array_value(PROMPTS).ok_or("`inputs` in it is not an array")?,
        None => object.array_value_or_set(PROMPTS),
    };
    let id = |node: &CstNode| node.to_serde_value().and_then(|value| value.get("id").cloned());
    let known: Vec<_> = present.elements().iter().map(id).collect();
    for prompt in wanted.elements() {
        if !known.contains(&id(&prompt)) {
            present.append(input(&prompt));
        }
    }
    Ok(())
}

/// A node of one file as the value of another, its members in their order.
fn input(node: &CstNode) -> CstInputValue {
    if let Some(object) = node.as_object() {
        let members = object
            .properties()
            .into_iter()
            .filter_map(|member| Some((member.name()?.decoded_value().ok()?, input(&member.value()?))));
        return CstInputValue::Object(members.collect());
    }
    if let Some(array) = node.as_array() {
        return CstInputValue::Array(array.elements().iter().map(input).collect());
    }
    match node.to_serde_value() {
        Some(Value::Bool(value)) => CstInputValue::Bool(value),
        Some(Value::Number(number)) => CstInputValue::Number(number.to_string()),
        Some(Value::String(text)) => CstInputValue::String(text),
        _ => CstInputValue::Null,
    }
}

fn toml(old: &str, template: &str, table: &str) -> Result<String, MergeError> {
    let parse = |text: &str| text.parse::<toml_edit::DocumentMut>();
    let mut document = parse(old).map_err(|error| format!("it is not valid TOML: {}", error.message()))?;
    let wanted = parse(template).map_err(|error| error.to_string())?;
    let value = wanted.get(table).and_then(|servers| servers.get(ENTRY)).ok_or("the template has no entry")?;
    let servers = document.entry(table).or_insert_with(|| {
        let mut servers = toml_edit::Table::new();
        servers.set_implicit(true);
        toml_edit::Item::Table(servers)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| format!("`{table}` in it is not a table"))?;
    servers.insert(ENTRY, value.clone());
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::hosts::HOSTS;
    use super::*;

    const SERVERS: Form = Form::Json(&["mcpServers"]);
    const TEMPLATE: &str = "{\n  \"mcpServers\": {\n    \"codeyard\": {\n      \"command\": \"x\"\n    }\n  }\n}\n";

    #[test]
    fn comments_order_and_other_servers_stay() {
        let old = "{\n  // mine\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": { \"command\": \"y\" }, // keep\n  },\n  \"a\": 1,\n}\n";
        let new = merged(SERVERS, Some(old), TEMPLATE).unwrap();
        for kept in ["// mine", "// keep", "\"theme\": \"dark\"", "\"other\": { \"command\": \"y\" }", "\"a\": 1"] {
            assert!(new.contains(kept), "{kept}: {new}");
        }
        assert_eq!(entry(SERVERS, &new), Some(serde_json::json!({"command": "x"})));
        assert_eq!(merged(SERVERS, Some(&new), TEMPLATE).unwrap(), new, "a second time changes nothing");
        let changed = TEMPLATE.replace("\"x\"", "\"z\"");
        assert_eq!(entry(SERVERS, &merged(SERVERS, Some(&new), &changed).unwrap()).unwrap()["command"], "z");
    }

    #[test]
    fn a_missing_or_empty_file_becomes_the_template() {
        for old in [None, Some(""), Some(" \n")] {
            assert_eq!(merged(SERVERS, old, TEMPLATE).unwrap(), TEMPLATE);
        }
        for old in ["{}", "{\"mcpServers\": {}}", "{\"x\": []}", "{ // nothing\n}"] {
            let new = merged(SERVERS, Some(old), TEMPLATE).unwrap();
            assert_eq!(entry(SERVERS, &new).unwrap()["command"], "x", "{old}: {new}");
        }
    }

    #[test]
    fn a_file_that_is_not_understood_is_an_error() {
        for bad in ["[]", "7", "{", "{\"mcpServers\": []}", "{\"mcpServers\": null}", "mcpServers:\n  x: y\n"] {
            assert!(merged(SERVERS, Some(bad), TEMPLATE).is_err(), "{bad}");
        }
        for bad in ["mcp_servers = 7", "x = ", "[[mcp_servers]]\n"] {
            let template = "[mcp_servers.codeyard]\ncommand = \"x\"\n";
            assert!(merged(Form::Toml("mcp_servers"), Some(bad), template).is_err(), "{bad}");
        }
        assert!(merged(Form::Text, Some("x"), "y").is_err());
    }

    #[test]
    fn toml_keeps_comments_and_tables() {
        let form = Form::Toml("mcp_servers");
        let template = "[mcp_servers.codeyard]\ncommand = \"x\"\nargs = [\"a\"]\n";
        for old in [
            "# mine\nmodel = \"m\"\n\n[mcp_servers.other] # keep\ncommand = \"y\"\n",
            "model = 1 # keep\n",
            "mcp_servers = { other = { command = \"y\" } } # keep\n",
        ] {
            let new = merged(form, Some(old), template).unwrap();
            assert!(new.contains("# keep"), "{new}");
            assert_eq!(entry(form, &new), Some(serde_json::json!({"command": "x", "args": ["a"]})));
            assert_eq!(merged(form, Some(&new), template).unwrap(), new);
        }
    }

    #[test]
    fn without_a_token_the_template_keeps_the_rest() {
        for host in HOSTS.iter().filter(|host| host.form != Form::Text) {
            let Some(template) = host.http else { continue };
            let text = without_token(host.form, template).unwrap();
            let (entry, whole) = (entry(host.form, &text).unwrap(), entry(host.form, template).unwrap());
            assert!(!text.contains("Bearer") && !text.contains("bearer_token"), "{}: {text}", host.name);
            assert_eq!(entry.as_object().unwrap().len(), whole.as_object().unwrap().len() - 1, "{}: {text}", host.name);
        }
    }

    #[test]
    fn every_template_can_be_merged_into_a_file_of_its_own_form() {
        for host in HOSTS.iter().filter(|host| host.form != Form::Text) {
            for template in [Some(host.stdio), host.http].into_iter().flatten() {
                let old = match host.form {
                    Form::Toml(_) => "other = 1\n",
                    _ => "{\"other\": 1, \"inputs\": [{\"id\": \"mine\"}]}",
                };
                let new =
                    merged(host.form, Some(old), template).unwrap_or_else(|error| panic!("{}: {error}", host.name));
                assert_eq!(entry(host.form, &new), entry(host.form, template), "{}: {new}", host.name);
                assert!(entry(host.form, template).is_some() && new.contains("other"), "{}", host.name);
                assert!(host.form == Form::Toml("mcp_servers") || new.contains("mine"), "{new}");
            }
        }
    }
}
