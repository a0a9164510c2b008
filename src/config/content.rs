//! Which copies of a result clients get: the text, the structured content, or both.
//!
//! Hosts that show a model both copies make it read everything twice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::quota::QuotaSection;
use codeyard_base::ids::PrincipalId;
use codeyard_base::words;

words! {
    /// Which copies of a result a client gets.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum ContentMode {
        /// `content` and `structuredContent`.
        #[default]
        Both => "both",
        /// `content` alone.
        Text => "text",
        /// `structuredContent` alone; `content` is empty.
        Structured => "structured",
    }
    /// The word in configurations and addresses.
    fn as_str;
    /// The mode of this word.
    fn parse;
}

/// `[tokens.NAME]`: what holds for the callers with the token of this name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenSection {
    /// Wins over the `content` of the workspace and of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentMode>,
    /// How much its callers may use, within the quota of their tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaSection>,
}

/// The modes in one workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentModes {
    /// For callers without one of their own.
    pub default: ContentMode,
    /// By the name of the token.
    pub tokens: BTreeMap<String, ContentMode>,
}

impl ContentModes {
    /// The mode for a caller.
    pub fn of(&self, principal: &PrincipalId) -> ContentMode {
        self.tokens.get(principal.as_str()).copied().unwrap_or(self.default)
    }
}
