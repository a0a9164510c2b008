//! The configuration in effect as TOML, with defaults and without secrets.
//!
//! Invariant: the text contains no value of an environment, and no value under a key whose name suggests a secret.

use toml::{Table, Value};

use crate::Config;

/// The text in place of a redacted value.
pub(super) const HIDDEN: &str = "(hidden)";
/// The key of the sections about permissions.
const PERMISSION: &str = "permission";
/// A value is redacted if its key, in lower case and without `_` and `-`, ends in one of these.
const SECRET_ENDINGS: [&str; 9] =
    ["token", "secret", "password", "passphrase", "passwd", "credential", "credentials", "key", "authorization"];

impl Config {
    /// The configuration in effect as TOML, without secrets; values of environments are always redacted.
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
            // Only a null in `settings` has no form in TOML, and no TOML file can bring one in.
            Err(error) => return format!("# can't be shown as TOML: {error}\n"),
        };
        let own = take_permission(&mut table);
        let each: Vec<Option<Value>> = workspaces(&mut table).map(take_permission).collect();
        hide_in(&mut table);
        workspaces(&mut table).zip(each).for_each(|(workspace, kept)| put_back(workspace, kept));
        put_back(&mut table, own);
        table.to_string()
    }
}

/// Redacts the secrets of one workspace.
pub(super) fn hide_in_workspace(workspace: &mut Table) {
    let kept = take_permission(workspace);
    hide_in(workspace);
    put_back(workspace, kept);
}

/// Rules for principals are no secrets, whatever a principal's name suggests. Their position is kept.
fn take_permission(table: &mut Table) -> Option<Value> {
    table.get_mut(PERMISSION).map(|value| std::mem::replace(value, Value::Boolean(true)))
}

fn put_back(table: &mut Table, kept: Option<Value>) {
    if let (Some(value), Some(kept)) = (table.get_mut(PERMISSION), kept) {
        *value = kept;
    }
}

fn workspaces(table: &mut Table) -> impl Iterator<Item = &mut Table> {
    let all = table.get_mut("workspace").and_then(Value::as_array_mut);
    all.into_iter().flatten().filter_map(Value::as_table_mut)
}

fn hide_in(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::Table(variables) if key == "env" => {
                variables.iter_mut().for_each(|(_, value)| *value = Value::String(HIDDEN.into()));
            }
            value if sounds_secret(key) => *value = Value::String(HIDDEN.into()),
            value => hide_below(value),
        }
    }
}

fn hide_below(value: &mut Value) {
    match value {
        Value::Table(table) => hide_in(table),
        Value::Array(items) => items.iter_mut().for_each(hide_below),
        _ => {}
    }
}

fn sounds_secret(key: &str) -> bool {
    let plain = key.to_lowercase().replace(['_', '-'], "");
    SECRET_ENDINGS.iter().any(|ending| plain.ends_with(ending))
}
