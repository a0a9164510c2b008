//! Adds an entry to a host's configuration file and keeps everything else: comments, order, indentation, line ends, a byte order mark.
//!
//! Invariants: besides the entry, and prompts for its token, the values of the file stay the same, and the entry is that of the template
//! with the members that only the file has, which is checked before anything is written; a file that can't be understood is an error.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Map, Value};

use super::hosts::Form;
use super::{merge_json, merge_toml};

/// The name of the entry.
pub(super) const ENTRY: &str = "codeyard";

/// The member of VS Code's file that lists what it asks its user for.
pub(super) const PROMPTS: &str = "inputs";

/// The members that say how a host connects. Those of an old entry don't stay.
const TRANSPORT: [&str; 8] =
    ["command", "args", "url", "httpUrl", "serverUrl", "headers", "type", "bearer_token_env_var"];

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why an entry can't be added: a sentence.
pub(super) type MergeError = String;

/// `old`, the text of a file, with the entry of `template`. Without `old` it is the template.
pub(super) fn merged(form: Form, old: Option<&str>, template: &str) -> Result<String, MergeError> {
    let whole = old.unwrap_or_default();
    let old = whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(whole);
    let mark = if old.len() < whole.len() { BYTE_ORDER_MARK.to_string() } else { String::new() };
    if old.trim().is_empty() || (form == Form::Text && old == template) {
        check(form, "", template, template)?;
        return Ok(mark + template);
    }
    let new = match form {
        Form::Json(path) => merge_json::add(old, template, path)?,
        Form::Toml(table) => merge_toml::add(old, template, table)?,
        Form::Text => {
            return Err("files of this form are not merged; add the text by hand, or name a new file".to_owned());
        }
    };
    check(form, old, &new, template)?;
    Ok(mark + &new)
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

/// The entry in `text`; `None` if there is none.
pub(super) fn entry(form: Form, text: &str) -> Option<Value> {
    entry_of(form, &values(form, text).ok()?).cloned()
}

fn entry_of(form: Form, whole: &Value) -> Option<&Value> {
    path_of(form).iter().chain([&ENTRY]).try_fold(whole, |value, name| value.get(name))
}

/// The members of `wanted`, of a template, that an old entry gets: all but empty objects in the place of an object.
pub(super) fn is_set(old: &Value, name: &str, wanted: &Value) -> bool {
    let is_empty = wanted.as_object().is_some_and(Map::is_empty);
    TRANSPORT.contains(&name) || !(is_empty && old.get(name).is_some_and(Value::is_object))
}

/// The members of an old entry that don't stay beside those of the template.
pub(super) fn removed(template: &Value) -> impl Iterator<Item = &'static str> {
    TRANSPORT.into_iter().filter(move |name| template.get(name).is_none())
}

/// The entry after the template's entry was added to `old`.
fn expected(old: Option<&Value>, template: &Value) -> Value {
    let (Some(old), Some(wanted)) = (old, template.as_object()) else { return template.clone() };
    let mut members = old.as_object().cloned().unwrap_or_default();
    for name in removed(template) {
        members.remove(name);
    }
    for (name, value) in wanted.iter().filter(|(name, value)| is_set(old, name, value)) {
        members.insert(name.clone(), value.clone());
    }
    Value::Object(members)
}

fn path_of(form: Form) -> Vec<&'static str> {
    match form {
        Form::Json(path) => path.to_vec(),
        Form::Toml(table) => vec![table],
        Form::Text => Vec::new(),
    }
}

/// The values of a file. A mark before them has no meaning; a file with nothing but comments has none.
fn values(form: Form, text: &str) -> Result<Value, MergeError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let invalid = |error: &dyn std::fmt::Display| format!("it is not valid JSON: {error}");
    match form {
        Form::Json(_) => {
            let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| invalid(&error))?;
            if root.value().is_none() {
                return Ok(Value::Object(Map::new()));
            }
            jsonc_parser::parse_to_serde_value(text, &ParseOptions::default()).map_err(|error| invalid(&error))
        }
        _ => toml::from_str::<Value>(text).map_err(|error| format!("it is not valid TOML: {}", error.message())),
    }
}

/// Nothing but the entry, and prompts, differs, and the entry is the expected one.
fn check(form: Form, old: &str, new: &str, template: &str) -> Result<(), MergeError> {
    if form == Form::Text {
        return Ok(());
    }
    let without_entry = |mut whole: Value| {
        remove(&mut whole, &path_of(form));
        if let Some(members) = whole.as_object_mut() {
            members.remove(PROMPTS);
        }
        whole
    };
    let before = values(form, old)?;
    let after = values(form, new)?;
    let template = values(form, template)?;
    let wanted = entry_of(form, &template).ok_or("the template has no entry")?;
    if entry_of(form, &after) != Some(&expected(entry_of(form, &before), wanted)) {
        return Err("the entry would not be read as it is written; does the file have a name twice?".to_owned());
    }
    // A new file has what else the template has.
    if !old.is_empty() && without_entry(before) != without_entry(after) {
        return Err("the entry can't be added without a change of other values; add it by hand".to_owned());
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        assert_eq!(entry(SERVERS, &new), Some(json!({"command": "x"})));
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
            assert_eq!(entry(form, &new), Some(json!({"command": "x", "args": ["a"]})));
            assert_eq!(merged(form, Some(&new), template).unwrap(), new);
        }
    }

    #[test]
    fn without_a_token_the_template_keeps_the_rest() {
        for host in HOSTS.iter().filter(|host| host.form != Form::Text) {
            let Some(template) = host.http else { continue };
            let text = without_token(host.form, template).unwrap();
            let whole = entry(host.form, template).unwrap();
            let entry = entry(host.form, &text).unwrap();
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

    #[test]
    fn members_of_the_file_stay_and_the_other_transport_goes() {
        let old = "{\"mcpServers\": {\"codeyard\": {\n  \"url\": \"u\", // old\n  \"headers\": {\"A\": \"b\"},\n  \"disabled\": false, // mine\n  \
                   \"env\": {\"X\": \"1\"}\n}}}";
        let template = TEMPLATE.replace("\"x\"", "\"x\", \"env\": {}");
        let new = merged(SERVERS, Some(old), &template).unwrap();
        let expected = json!({"command": "x", "disabled": false, "env": {"X": "1"}});
        assert_eq!(entry(SERVERS, &new), Some(expected), "{new}");
        assert!(new.contains("// mine"), "{new}");
        assert_eq!(merged(SERVERS, Some(&new), &template).unwrap(), new);
        let form = Form::Toml("mcp_servers");
        let old = "[mcp_servers.codeyard]\nurl = \"u\"\nenabled = false # mine\ncommand = \"y\" # program\n\n[mcp_servers.codeyard.env]\nX = \"1\"\n";
        let template = "[mcp_servers.codeyard]\ncommand = \"x\"\nargs = [\"a\"]\n";
        let new = merged(form, Some(old), template).unwrap();
        let expected = json!({"command": "x", "args": ["a"], "enabled": false, "env": {"X": "1"}});
        assert_eq!(entry(form, &new), Some(expected), "{new}");
        assert!(new.contains("# mine") && new.contains("command = \"x\" # program"), "{new}");
        assert_eq!(merged(form, Some(&new), template).unwrap(), new);
    }

    #[test]
    fn a_name_that_comes_twice_is_an_error() {
        let one = "\"codeyard\": {\"command\": \"y\"}";
        for bad in [
            format!("{{\"mcpServers\": {{{one}, {one}}}}}"),
            format!("{{\"mcpServers\": {{{one}}}, \"mcpServers\": {{}}}}"),
            "{\"mcpServers\": {\"codeyard\": {\"command\": \"y\", \"command\": \"z\"}}}".to_owned(),
            "{\"mcpServers\": {\"codeyard\": 7}}".to_owned(),
        ] {
            assert!(merged(SERVERS, Some(&bad), TEMPLATE).is_err(), "{bad}");
        }
        let twice = "{\"mcpServers\": {\"codeyard\": {\"command\": \"x\"";
        assert!(merged(SERVERS, None, twice).is_err(), "a new file is read too");
    }

    #[test]
    fn line_ends_and_byte_order_marks_stay() {
        let form = Form::Toml("mcp_servers");
        let template = "[mcp_servers.codeyard]\ncommand = \"x\"\n";
        let new = merged(form, Some("\u{feff}model = \"m\" # keep\r\n\r\n[other]\r\na = 1\r\n"), template).unwrap();
        assert!(new.starts_with("\u{feff}model = \"m\" # keep\r\n"), "{new:?}");
        assert_eq!(new.matches('\n').count(), new.matches("\r\n").count(), "{new:?}");
        assert_eq!(merged(form, Some(&new), template).unwrap(), new);
        assert!(merged(form, Some("a = 1\r\nb = 2\n"), template).is_err(), "line ends of two kinds");
        let new = merged(SERVERS, Some("\u{feff}{\r\n  \"a\": 1\r\n}\r\n"), TEMPLATE).unwrap();
        assert!(new.starts_with("\u{feff}{\r\n  \"a\": 1"), "{new:?}");
        assert_eq!(new.matches('\n').count(), new.matches("\r\n").count(), "{new:?}");
        assert_eq!(entry(SERVERS, &new), Some(json!({"command": "x"})));
        for old in ["// mine\n", "// mine", "/* mine */\n\n"] {
            let new = merged(SERVERS, Some(old), TEMPLATE).unwrap();
            assert!(new.starts_with(old.trim_end()), "{new:?}");
            assert_eq!(entry(SERVERS, &new), Some(json!({"command": "x"})), "{new:?}");
        }
        assert!(merged(SERVERS, Some("null"), TEMPLATE).is_err());
    }
}
