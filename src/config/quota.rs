//! Quotas: how much of the service a tenant, or the holders of a token, may use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use codeyard_base::ids::TenantId;

/// How much a tenant may use, or the callers of one token. What isn't set has no quota.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuotaSection {
    /// Calls a second, in the long run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_second: Option<u32>,
    /// Calls at once after a pause. Default: the calls of ten seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Calls at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_in_flight: Option<u32>,
    /// MiB of answers a minute. An answer that exceeds it is given, and the next call waits for its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_mib_per_minute: Option<u32>,
}

/// `[tenants.NAME]`: what holds for a tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TenantSection {
    /// How much all its callers together may use. A value here replaces that of `[quota]`.
    pub quota: QuotaSection,
}

/// All quotas of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Of each tenant without a table of its own.
    default: QuotaSection,
    tenants: BTreeMap<String, QuotaSection>,
    /// By the name of the token, `TENANT/NAME` in another tenant than `default`.
    tokens: BTreeMap<String, QuotaSection>,
}

impl QuotaSection {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// The quota with the values of `default` for what isn't set.
    #[must_use]
    pub fn or(&self, default: &Self) -> Self {
        Self {
            calls_per_second: self.calls_per_second.or(default.calls_per_second),
            burst: self.burst.or(default.burst),
            calls_in_flight: self.calls_in_flight.or(default.calls_in_flight),
            answer_mib_per_minute: self.answer_mib_per_minute.or(default.answer_mib_per_minute),
        }
    }

    /// A quota of 0 would refuse all calls, which is the work of permissions and tokens.
    pub(crate) fn check(&self, section: &str) -> Result<(), ConfigError> {
        let values = [
            ("calls_per_second", self.calls_per_second),
            ("burst", self.burst),
            ("calls_in_flight", self.calls_in_flight),
            ("answer_mib_per_minute", self.answer_mib_per_minute),
        ];
        match values.iter().find(|(_, value)| *value == Some(0)) {
            Some((key, _)) => {
                let remedy =
                    "write 1 or more, or leave it out for no quota; `permission` and tokens decide who may call at all";
                Err(ConfigError::at(format!("{section}.{key}"), "a quota of 0 allows no call", remedy))
            }
            None => Ok(()),
        }
    }

    /// Whether the calls at once have no rate that they could be a multiple of.
    pub(crate) fn check_burst(&self, section: &str) -> Result<(), ConfigError> {
        if self.burst.is_none() || self.calls_per_second.is_some() {
            return Ok(());
        }
        let problem = "without `calls_per_second` there is no quota that it is a part of";
        Err(ConfigError::at(format!("{section}.burst"), problem, "write `calls_per_second` too"))
    }
}

impl Quotas {
    pub(crate) fn new(
        default: &QuotaSection,
        tenants: &BTreeMap<String, TenantSection>,
        tokens: BTreeMap<String, QuotaSection>,
    ) -> Self {
        let tenants = tenants.iter().map(|(name, section)| (name.clone(), section.quota.or(default))).collect();
        Self { default: default.clone(), tenants, tokens }
    }

    /// Whether nobody has a quota.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The quota of a tenant.
    pub fn of_tenant(&self, tenant: &TenantId) -> &QuotaSection {
        self.tenants.get(tenant.as_str()).unwrap_or(&self.default)
    }

    /// The quota of the callers with the tokens of a name, `TENANT/NAME` in another tenant than `default`; `None` if they have none.
    pub fn of_token(&self, name: &str) -> Option<&QuotaSection> {
        self.tokens.get(name)
    }

    /// Whether a token has a quota of its own.
    pub fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }
}
