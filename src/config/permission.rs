//! Permission rules: one for all principals of a workspace, and rules for single principals.
//!
//! The gateway, not this module, prompts a person and stores answers. Invariants: the first rule that exists applies, in this order: the
//! principal's in the workspace, the principal's in the service, the workspace's, the service's, `allow`; an unknown permission is denied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::locate;
use codeyard_base::ids::PrincipalId;

/// Principals of one `[permission]` section.
const MAX_PERMISSION_PRINCIPALS: usize = 1_024;

/// The permission for code intelligence: the operations that show what code says, through whichever catalog.
pub const LSP: &str = "lsp";
/// The permission to use the tools of launch runs.
pub const LAUNCH: &str = "launch";

/// The rule for a permission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionRule {
    /// Allowed.
    #[default]
    Allow,
    /// The client prompts a person, unless an earlier answer was "always".
    Ask,
    /// Denied.
    Deny,
}

/// `[permission]`: which principals may use which tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionSection {
    /// Code intelligence through any catalog: the tool `lsp`, all tools of `lsp-v1` and `lsp-v1-safe`, and `search_code`, `locate_symbol` and
    /// `get_file_outline`. `allow`, `ask` a person through the client (MCP elicitation), or `deny`. Default: `allow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lsp: Option<PermissionRule>,
    /// Using the tools of launch runs: `allow`, `ask` or `deny`. Default: `allow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<PermissionRule>,
    /// Rules for single principals, by the name of their token; `local` is a caller without one. They win.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub principals: BTreeMap<String, PrincipalPermission>,
}

/// The rules of one principal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrincipalPermission {
    /// Code intelligence through any catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lsp: Option<PermissionRule>,
    /// Using the tools of launch runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<PermissionRule>,
}

impl PermissionSection {
    /// This section, with the rules of `common` where it has none.
    pub fn over(&self, common: &Self) -> Self {
        let mut principals = common.principals.clone();
        for (name, own) in &self.principals {
            let both = principals.entry(name.clone()).or_default();
            both.lsp = own.lsp.or(both.lsp);
            both.launch = own.launch.or(both.launch);
        }
        let lsp = self.lsp.or(common.lsp).or(Some(PermissionRule::default()));
        let launch = self.launch.or(common.launch).or(Some(PermissionRule::default()));
        Self { lsp, launch, principals }
    }

    /// The rule for `principal` and the permission of this name.
    pub fn rule(&self, permission: &str, principal: &PrincipalId) -> PermissionRule {
        let own = self.principals.get(principal.as_str());
        let rule = match permission {
            LSP => own.and_then(|own| own.lsp).or(self.lsp),
            LAUNCH => own.and_then(|own| own.launch).or(self.launch),
            _ => Some(PermissionRule::Deny),
        };
        rule.unwrap_or_default()
    }

    /// Checks the names of the principals and their number. `key` is the section's path.
    pub(super) fn check(&self, key: &str) -> Result<(), ConfigError> {
        let key = locate::join(key, "principals");
        if self.principals.len() > MAX_PERMISSION_PRINCIPALS {
            let problem =
                format!("{} principals, but at most {MAX_PERMISSION_PRINCIPALS} are allowed", self.principals.len());
            return Err(ConfigError::at(key, problem, "remove some; the rules of [permission] apply to all others"));
        }
        match self.principals.keys().find(|name| !PrincipalId::is_well(name)) {
            Some(name) => {
                let problem = "not a principal's name, which has 1 to 64 printable ASCII characters and no space";
                let remedy = "correct the name; `codeyard token list` prints the names";
                Err(ConfigError::at(locate::join(&key, name), problem, remedy))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(lsp: Option<PermissionRule>, principals: &[(&str, PermissionRule)]) -> PermissionSection {
        let own = |rule: &PermissionRule| PrincipalPermission { lsp: Some(*rule), launch: None };
        let principals = principals.iter().map(|(name, rule)| ((*name).to_owned(), own(rule))).collect();
        PermissionSection { lsp, launch: None, principals }
    }

    #[test]
    fn a_principals_rule_wins_then_the_workspaces() {
        use PermissionRule::{Allow, Ask, Deny};
        let common = section(Some(Ask), &[("ci", Deny), ("bob", Allow)]);
        let own = section(Some(Deny), &[("bob", Ask)]);
        let rule = |section: &PermissionSection, name: &str| section.rule(LSP, &PrincipalId::new(name));
        let both = own.over(&common);
        assert_eq!(["ci", "bob", "ann"].map(|name| rule(&both, name)), [Deny, Ask, Deny]);
        let inherited = PermissionSection::default().over(&common);
        assert_eq!(["ci", "bob", "ann"].map(|name| rule(&inherited, name)), [Deny, Allow, Ask]);
        assert_eq!(rule(&PermissionSection::default(), "ann"), Allow);
        assert_eq!(
            PermissionSection::default().rule("other", &PrincipalId::new("ann")),
            Deny,
            "an unknown permission is denied"
        );
    }
}
