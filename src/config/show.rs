//! The configuration in effect as TOML, with defaults and without secrets.
//!
//! Invariants: the text contains no value of `env`, and no value of a key whose name ends like one of a secret; a name that a user chose for
//! a section is not such a key, so the text is read as the same configuration again.

use toml::{Table, Value};

use crate::Config;

/// The text in place of a redacted value.
pub(super) const REDACTED: &str = "(hidden)";
/// The key of the sections about permissions.
const PERMISSION: &str = "permission";
/// The keys of the lists of workspaces.
const WORKSPACES: [&str; 2] = ["workspace", "workspaces_from"];
/// The tables whose keys are names of groups, language servers and languages.
const NAMED: [&str; 4] = ["groups", "servers", "languages", "settings"];
/// A value is redacted if its key, in lower case and without `_` and `-`, ends in one of these.
const SECRET_ENDINGS: [&str; 9] =
    ["token", "secret", "password", "passphrase", "passwd", "credential", "credentials", "key", "authorization"];

impl Config {
    /// The configuration in effect as TOML without secrets. All values of `env` are redacted.
    pub fn show(&self) -> String {
        let mut shown = self.clone();
        shown.permission.lsp.get_or_insert_default();
        for workspace in &mut shown.workspaces {
            workspace.limits = Some(self.limits_of(workspace));
            workspace.diagnostics = Some(self.diagnostics_of(workspace));
            workspace.syntactic = Some(self.syntactic_of(workspace));
            workspace.permission = Some(self.permission_of(workspace));
        }
        let mut table = match Table::try_from(&shown) {
            Ok(table) => table,
            // TOML cannot represent null. Only `settings` can contain null, and only if it doesn't come from a TOML file.
            Err(error) => return format!("# cannot be shown as TOML: {error}\n"),
        };
        redact_document(&mut table);
        table.to_string()
    }
}

impl Config {
    /// What the configuration changes in the registry of language servers: its tables `servers` and `languages`, without secrets. All
    /// values of `env` are redacted.
    pub fn registry_entries(&self) -> Table {
        let tables = [("servers", &self.servers), ("languages", &self.languages)];
        let mut entries: Table =
            tables.map(|(key, table)| (key.to_owned(), Value::Table(table.clone()))).into_iter().collect();
        redact_document(&mut entries);
        entries
    }
}

/// Redacts the secrets of a configuration, of one workspace, or of entries of the registry. Their sections have names that users chose, such
/// as `api-key` for a principal: no secrets. Below a section every key counts.
pub(super) fn redact_document(document: &mut Table) {
    for (key, value) in document.iter_mut() {
        match (key.as_str(), value) {
            (PERMISSION, Value::Table(_)) => {}
            (key, Value::Table(sections)) if NAMED.contains(&key) => {
                sections.iter_mut().for_each(|(name, section)| match section {
                    Value::Table(section) => redact_table(section),
                    other => redact_entry(name, other),
                });
            }
            (key, Value::Array(workspaces)) if WORKSPACES.contains(&key) => {
                workspaces.iter_mut().filter_map(Value::as_table_mut).for_each(redact_document);
            }
            (key, value) => redact_entry(key, value),
        }
    }
}

fn redact_table(table: &mut Table) {
    table.iter_mut().for_each(|(key, value)| redact_entry(key, value));
}

fn redact_entry(key: &str, value: &mut Value) {
    match value {
        Value::Table(variables) if key == "env" => {
            variables.iter_mut().for_each(|(_, value)| *value = Value::String(REDACTED.into()));
        }
        value if is_secret_key(key) => *value = Value::String(REDACTED.into()),
        value => redact_value(value),
    }
}

fn redact_value(value: &mut Value) {
    match value {
        Value::Table(table) => redact_table(table),
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        _ => {}
    }
}

fn is_secret_key(key: &str) -> bool {
    let plain = key.to_lowercase().replace(['_', '-'], "");
    SECRET_ENDINGS.iter().any(|ending| plain.ends_with(ending))
}
