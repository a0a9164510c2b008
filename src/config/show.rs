//! The configuration in effect, as TOML for people: defaults filled in, secrets taken out.
//!
//! Invariant: no value of an environment, and no value under a key that sounds like a secret, is in the text.

use toml::{Table, Value};

use crate::config::Config;

/// What stands in place of a hidden value.
pub(super) const HIDDEN: &str = "(hidden)";
/// A value is hidden if its key, in lower case and without `_` and `-`, ends in one of these.
const SECRET_ENDINGS: [&str; 9] =
    ["token", "secret", "password", "passphrase", "passwd", "credential", "credentials", "key", "authorization"];

impl Config {
    /// The configuration in effect as TOML, without secrets; values of environments are always hidden.
    pub fn show(&self) -> String {
        let mut shown = self.clone();
        shown.permission.lsp.get_or_insert_default();
        for workspace in &mut shown.workspaces {
            workspace.limits = Some(self.limits_of(workspace));
            workspace.diagnostics = Some(self.diagnostics_of(workspace));
            workspace.permission = Some(self.permission_of(workspace));
        }
        let mut table = match Table::try_from(&shown) {
            Ok(table) => table,
            // Only a null in `settings` has no form in TOML, and no TOML file can bring one in.
            Err(error) => return format!("# can't be shown as TOML: {error}\n"),
        };
        hide_in(&mut table);
        table.to_string()
    }
}

pub(super) fn hide_in(table: &mut Table) {
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
