//! How the code index of a workspace is built and queried.

use codeyard_config::Config;
use codeyard_index::settings::IndexSettings;

/// The policy of the code index of a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexPolicy {
    /// Whether it is built on the first query.
    pub auto: bool,
    /// The settings of its projects.
    pub settings: IndexSettings,
    /// The largest payload of an answer, in bytes.
    pub payload_bytes: usize,
}

impl IndexPolicy {
    /// The policy of a configuration.
    pub fn of(config: &Config) -> Self {
        let index = &config.index;
        let query = &config.query;
        let threads = match usize::try_from(index.threads) {
            Ok(0) | Err(_) => IndexSettings::default().threads,
            Ok(threads) => threads,
        };
        let mut settings = IndexSettings::new(threads, index.max_file_bytes, index.max_parsed_file_bytes);
        settings.text_percent = index.max_text_index_percent;
        settings.git_dirs.clone_from(&index.git_dirs);
        settings.weights = config.ranking;
        settings.freshness = query.freshness_policy.policy();
        settings.explain = config.explain_level();
        Self { auto: index.auto, settings, payload_bytes: query.payload_bytes }
    }
}
