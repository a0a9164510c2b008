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
        let own = take_permission(&mut table);
        let each: Vec<Option<Value>> = workspaces(&mut table).map(take_permission).collect();
        redact_table(&mut table);
        workspaces(&mut table).zip(each).for_each(|(workspace, kept)| restore_permission(workspace, kept));
        restore_permission(&mut table, own);
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
        redact_table(&mut entries);
        entries
    }
}

/// Redacts the secrets of one workspace.
pub(super) fn redact_workspace(workspace: &mut Table) {
    let kept = take_permission(workspace);
    redact_table(workspace);
    restore_permission(workspace, kept);
}

/// Takes the permission section out, so that it isn't redacted: a principal's name such as `api-key` is not a secret. A placeholder keeps
/// its position in the table.
fn take_permission(table: &mut Table) -> Option<Value> {
    table.get_mut(PERMISSION).map(|value| std::mem::replace(value, Value::Boolean(true)))
}

fn restore_permission(table: &mut Table, kept: Option<Value>) {
    if let (Some(value), Some(kept)) = (table.get_mut(PERMISSION), kept) {
        *value = kept;
    }
}

fn workspaces(table: &mut Table) -> impl Iterator<Item = &mut Table> {
    let lists = table.iter_mut().filter(|(key, _)| matches!(key.as_str(), "workspace" | "workspaces_from"));
    lists.filter_map(|(_, value)| value.as_array_mut()).flatten().filter_map(Value::as_table_mut)
}

fn redact_table(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::Table(sections) if NAMED.contains(&key.as_str()) => redact_sections(sections),
            Value::Table(variables) if key == "env" => {
                variables.iter_mut().for_each(|(_, value)| *value = Value::String(REDACTED.into()));
            }
            value if is_secret_key(key) => *value = Value::String(REDACTED.into()),
            value => redact_value(value),
        }
    }
}

/// Redacts each section by its own keys, whatever its name.
fn redact_sections(sections: &mut Table) {
    for (name, value) in sections.iter_mut() {
        match value {
            Value::Table(section) => redact_table(section),
            value if is_secret_key(name) => *value = Value::String(REDACTED.into()),
            value => redact_value(value),
        }
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
