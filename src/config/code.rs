//! The sections about the code index and the catalog `code`, with their defaults.
//!
//! `validate` checks the values. Invariant: each key's default is written once, here or in the model.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use codeyard_model::code::{ExplainLevel, FreshnessPolicy};
use codeyard_model::limits::{
    MAX_CODE_PAYLOAD_BYTES, MAX_PARSED_FILE_BYTES, MAX_SEARCHED_FILE_BYTES, MAX_TEXT_INDEX_PERCENT,
};

/// `[index]`: the code index. It is stored in the folder `index` of the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IndexSection {
    /// Index a workspace at its first call of a tool of the catalog `code`. If false, only `index_repo` and `codeyard index` start indexing.
    pub auto: bool,
    /// Largest file that is indexed, in bytes. `index_status` counts the larger ones.
    pub max_file_bytes: u64,
    /// Largest file that is parsed for symbols, in bytes. Larger files are searched as text only.
    pub max_parsed_file_bytes: u64,
    /// Largest text index, in percent of the bytes of the files. Parts of files that would exceed it, such as recorded bytes in text form, are read by
    /// every search instead.
    pub max_text_index_percent: u64,
    /// Threads of a job, and of a search. 0 means one per processor, at most 8.
    pub threads: u64,
    /// Folders outside of the roots in which git directories may lie. A `.git` that leads anywhere else doesn't count, unless git itself
    /// noted there that the working tree is its own, as for linked worktrees and submodules.
    pub git_dirs: Vec<PathBuf>,
}

impl Default for IndexSection {
    fn default() -> Self {
        Self {
            auto: true,
            max_file_bytes: MAX_SEARCHED_FILE_BYTES,
            max_parsed_file_bytes: MAX_PARSED_FILE_BYTES,
            max_text_index_percent: MAX_TEXT_INDEX_PERCENT,
            threads: 0,
            git_dirs: Vec::new(),
        }
    }
}

/// What happens when the index is behind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// The call is refused.
    Strict,
    /// The call is answered, and the index is updated in the background.
    #[default]
    Balanced,
    /// The call is answered.
    BestEffort,
}

/// How much of the ranking is explained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Explain {
    /// Nothing.
    #[default]
    Off,
    /// The factors that an agent can act on.
    Basic,
    /// All factors.
    Full,
}

/// `[query]`: defaults for calls of the catalog `code`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuerySection {
    /// What happens when the index is behind: `strict` refuses the call, `balanced` answers and updates the index in the
    /// background, `best_effort` only answers.
    pub freshness_policy: Freshness,
    /// How much of the ranking is explained: `off`, `basic` or `full`. Default: the value of `debug.ranking_reasons`, else `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Explain")]
    pub ranking_explain_level: Option<Explain>,
    /// Largest payload of an answer, in bytes. Rows that don't fit are dropped, and the answer says so. Larger values are lowered to the
    /// default.
    pub payload_bytes: usize,
}

impl Default for QuerySection {
    fn default() -> Self {
        Self {
            freshness_policy: Freshness::default(),
            ranking_explain_level: None,
            payload_bytes: MAX_CODE_PAYLOAD_BYTES,
        }
    }
}

/// `[debug]`: keys of older configurations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DebugSection {
    /// `true` means `query.ranking_explain_level = "full"`, `false` means `"off"`. If both keys are set, `query.ranking_explain_level` wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub ranking_reasons: Option<bool>,
}

/// `[warmset]`: the workspaces whose index is read into memory when the service starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WarmsetSection {
    /// Read the indexes of the most recently used workspaces when the service starts. `--no-prewarm` turns this off for one start.
    pub enabled: bool,
    /// Number of workspaces, at most 64.
    pub capacity: usize,
}

impl Default for WarmsetSection {
    fn default() -> Self {
        Self { enabled: true, capacity: 3 }
    }
}

impl Freshness {
    /// The policy of a call that names none.
    pub fn policy(self) -> FreshnessPolicy {
        match self {
            Self::Strict => FreshnessPolicy::Strict,
            Self::Balanced => FreshnessPolicy::Balanced,
            Self::BestEffort => FreshnessPolicy::BestEffort,
        }
    }
}

/// The level of a call that names none. `ranking_explain_level` wins over the older key.
pub(super) fn explain_level(query: &QuerySection, debug: &DebugSection) -> ExplainLevel {
    match (query.ranking_explain_level, debug.ranking_reasons) {
        (Some(Explain::Full), _) | (None, Some(true)) => ExplainLevel::Full,
        (Some(Explain::Basic), _) => ExplainLevel::Basic,
        (Some(Explain::Off), _) | (None, _) => ExplainLevel::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explain_level_wins_over_the_legacy_key() {
        for (level, legacy, expected) in [
            (None, None, ExplainLevel::Off),
            (None, Some(true), ExplainLevel::Full),
            (None, Some(false), ExplainLevel::Off),
            (Some(Explain::Off), Some(true), ExplainLevel::Off),
            (Some(Explain::Basic), Some(true), ExplainLevel::Basic),
            (Some(Explain::Full), Some(false), ExplainLevel::Full),
        ] {
            let query = QuerySection { ranking_explain_level: level, ..QuerySection::default() };
            assert_eq!(explain_level(&query, &DebugSection { ranking_reasons: legacy }), expected);
        }
    }
}
