//! Adds an entry to the text of a TOML file.
//!
//! It isn't the check of the result, which [`super::merge`] makes. Invariant: the line ends of the file stay.

use serde_json::Value;
use toml_edit::{DocumentMut, Item, TableLike};

use super::hosts::Form;
use super::merge::{self, ENTRY, MergeError};

/// `old` with the entry of `template`, which both have in this table.
pub(super) fn add(old: &str, template: &str, table: &'static str) -> Result<String, MergeError> {
    let ends = old.matches('\n').count();
    let carriage_ends = old.matches("\r\n").count();
    if carriage_ends > 0 && carriage_ends < ends {
        return Err("its lines end in two ways".to_owned());
    }
    let parse = |text: &str| text.parse::<DocumentMut>();
    let mut document = parse(old).map_err(|error| format!("it is not valid TOML: {}", error.message()))?;
    let wanted = parse(template).map_err(|error| error.to_string())?;
    let item = wanted.get(table).and_then(|servers| servers.get(ENTRY)).ok_or("the template has no entry")?;
    let servers = document.entry(table).or_insert_with(|| {
        let mut servers = toml_edit::Table::new();
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| format!("`{table}` in it is not a table"))?;
    match servers.get_mut(ENTRY) {
        Some(known) => {
            let known = known.as_table_like_mut().ok_or_else(|| format!("`{ENTRY}` in it is not a table"))?;
            let source = item.as_table_like().ok_or("the template has no entry")?;
            let entry = |text: &str| merge::entry(Form::Toml(table), text).unwrap_or_default();
            update(known, source, &entry(old), &entry(template));
        }
        None => drop(servers.insert(ENTRY, item.clone())),
    }
    let new = document.to_string();
    // The editor writes all line ends as one character.
    Ok(if carriage_ends > 0 { new.replace("\r\n", "\n").replace('\n', "\r\n") } else { new })
}

/// Gives the entry `known` the members of `source`. Its other members stay but for those of another transport.
fn update(known: &mut dyn TableLike, source: &dyn TableLike, before: &Value, template: &Value) {
    for name in merge::removed(template) {
        known.remove(name);
    }
    for (name, item) in source.iter() {
        if before.get(name) == template.get(name) || !merge::is_set(before, name, &template[name]) {
            continue;
        }
        let mut item = item.clone();
        match known.get_mut(name) {
            Some(old) => {
                // A comment behind the old value stays.
                if let (Some(from), Some(to)) = (old.as_value(), item.as_value_mut()) {
                    *to.decor_mut() = from.decor().clone();
                }
                *old = item;
            }
            None => drop(known.insert(name, item)),
        }
    }
}
