//! Adds an entry to the text of a JSON file, which may have comments.
//!
//! It isn't the check of the result, which [`super::merge`] makes. Invariant: no object on the way to the entry has a name twice.

use std::collections::HashSet;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::merge::{self, ENTRY, MergeError, PROMPTS};

/// `old` with the entry of `template`, which both have in the object at `path`.
pub(super) fn add(old: &str, template: &str, path: &[&str]) -> Result<String, MergeError> {
    let parse = |text: &str| CstRootNode::parse(text, &ParseOptions::default());
    let root = parse(old).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let wanted = parse(template).map_err(|error| error.to_string())?;
    let not_an_object = |name: &str| format!("`{name}` in it is not an object");
    let mut object = root.object_value_or_create().ok_or("it is not a JSON object")?;
    let mut source = wanted.object_value().ok_or("the template is not an object")?;
    unique(&object)?;
    add_prompts(&object, &source)?;
    for name in path {
        object = match object.get(name) {
            Some(member) => member.value().and_then(|value| value.as_object()).ok_or_else(|| not_an_object(name))?,
            None => object.object_value_or_set(name),
        };
        unique(&object)?;
        source = source.object_value(name).ok_or_else(|| not_an_object(name))?;
    }
    let wanted = source.object_value(ENTRY).ok_or("the template has no entry")?;
    match object.get(ENTRY) {
        Some(member) => update(&member.object_value().ok_or_else(|| not_an_object(ENTRY))?, &wanted)?,
        None => drop(object.append(ENTRY, input(&wanted.into()))),
    }
    Ok(root.to_string())
}

/// Gives the entry `old` the members of `wanted`. Its other members stay but for those of another transport.
fn update(old: &CstObject, wanted: &CstObject) -> Result<(), MergeError> {
    unique(old)?;
    let (Some(before), Some(template)) = (old.to_serde_value(), wanted.to_serde_value()) else {
        return Err("the entry in it can't be read".to_owned());
    };
    for member in wanted.properties() {
        let (Some(name), Some(value)) = (member.decoded_name(), member.value()) else { continue };
        if before.get(&name) == template.get(&name) || !merge::is_set(&before, &name, &template[&name]) {
            continue;
        }
        match old.get(&name) {
            Some(known) => known.set_value(input(&value)),
            None => drop(old.append(&name, input(&value))),
        }
    }
    for name in merge::removed(&template) {
        if let Some(member) = old.get(name) {
            member.remove();
        }
    }
    Ok(())
}

/// No name comes twice in `object`: hosts would not agree on its value.
fn unique(object: &CstObject) -> Result<(), MergeError> {
    let mut names = HashSet::new();
    match object.properties().iter().filter_map(|member| member.decoded_name()).find(|name| !names.insert(name.clone()))
    {
        Some(name) => Err(format!("it has the name `{name}` twice in one object")),
        None => Ok(()),
    }
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
