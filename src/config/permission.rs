//! Permission rules: one for all principals of a workspace, and rules for single principals.
//!
//! The gateway, not this module, prompts a person and stores answers. Invariants: the first rule that exists applies, in this order: the
//! principal's in the workspace, the principal's in the service, the workspace's, the service's, `allow`; an unknown permission is denied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::{in_tenant, locate};
use codeyard_base::ids::{PrincipalId, TenantId};

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
    /// Rules for single principals, by the name of their token; `local` is a caller without one. They win. The service's own section writes
    /// those of another tenant than `default` as `TENANT/NAME`.
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

    /// The section as it holds in a tenant: with the rules for principals of this tenant alone, by their names in it. A name without a tenant
    /// is of the tenant `of_name`.
    pub(crate) fn in_tenant(&self, tenant: &TenantId, of_name: &TenantId) -> Self {
        let own = self.principals.iter().filter_map(|(name, rules)| Some((in_tenant(tenant, of_name, name)?, rules)));
        let principals = own.map(|(name, rules)| (name.to_owned(), rules.clone())).collect();
        Self { principals, ..self.clone() }
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

    /// Refuses a rule of a workspace of `tenant` for a principal of another one, who never calls there. `key` is the section's path.
    pub(super) fn check_tenant(&self, key: &str, tenant: &TenantId) -> Result<(), ConfigError> {
        match self.principals.keys().find(|name| in_tenant(tenant, tenant, name).is_none()) {
            Some(name) => {
                let problem = format!(
                    "the workspace belongs to the tenant `{tenant}`, and the rule is for a principal of another one"
                );
                let key = locate::join(&locate::join(key, "principals"), name);
                Err(ConfigError::at(
                    key,
                    problem,
                    "write the name alone, or move the rule to a workspace of that tenant",
                ))
            }
            None => Ok(()),
        }
    }

    /// Checks the names of the principals and their number. `key` is the section's path.
    pub(super) fn check(&self, key: &str) -> Result<(), ConfigError> {
        let key = locate::join(key, "principals");
        if self.principals.len() > MAX_PERMISSION_PRINCIPALS {
            let problem =
                format!("{} principals, but at most {MAX_PERMISSION_PRINCIPALS} are allowed", self.principals.len());
            return Err(ConfigError::at(key, problem, "remove some; the rules of [permission] apply to all others"));
        }
        let is_well = |name: &str| match name.split_once('/') {
            Some((tenant, name)) if TenantId::new(tenant).is_some() => PrincipalId::is_well(name),
            _ => PrincipalId::is_well(name),
        };
        match self.principals.keys().find(|name| !is_well(name)) {
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
    fn rules_of_the_service_name_principals_by_their_tenant() {
        use PermissionRule::{Allow, Deny};
        let common = section(None, &[("default/ci", Deny), ("team-a/bob", Deny)]);
        let rules = |tenant: &str| {
            let section = PermissionSection::default()
                .over(&common.in_tenant(&TenantId::new(tenant).unwrap(), &TenantId::default_tenant()));
            ["ci", "bob", "team-a/bob"].map(|name| section.rule(LSP, &PrincipalId::new(name)))
        };
        assert_eq!(rules("default"), [Deny, Allow, Deny]);
        assert_eq!(rules("team-a"), [Allow, Deny, Allow]);
        assert_eq!(rules("team"), [Allow, Allow, Allow]);
    }

    #[test]
    fn a_workspace_has_rules_for_principals_of_its_tenant_only() {
        use PermissionRule::Deny;
        let team = TenantId::new("team-a").unwrap();
        let own = section(None, &[("ann", Deny), ("team-a/bob", Deny)]);
        assert!(own.check_tenant("permission", &team).is_ok());
        let rules = own.in_tenant(&team, &team);
        assert_eq!(["ann", "bob"].map(|name| rules.rule(LSP, &PrincipalId::new(name))), [Deny, Deny]);
        let foreign = section(None, &[("team-b/ann", Deny)]).check_tenant("permission", &team).unwrap_err();
        assert_eq!(foreign.key, "permission.principals.\"team-b/ann\"");
        let long = format!("{}/{}", "t".repeat(64), "p".repeat(64));
        assert!(section(None, &[(&long, Deny)]).check("permission").is_ok());
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
