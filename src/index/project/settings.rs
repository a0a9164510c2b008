//! What a project is told by the configuration.

use crate::classify::Sizes;
use codeyard_model::code::{ExplainLevel, FreshnessPolicy, Weights};

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexSettings {
    /// Threads of a job and of a search.
    pub threads: usize,
    /// How large files may be.
    pub(crate) sizes: Sizes,
    /// How results are ordered.
    pub weights: Weights,
    /// Where a question doesn't say.
    pub freshness: FreshnessPolicy,
    /// Where a question doesn't say.
    pub explain: ExplainLevel,
}

impl IndexSettings {
    /// With this many threads, and files of up to so many bytes searched and parsed.
    pub fn new(threads: usize, max_searched_bytes: u64, max_parsed_bytes: u64) -> Self {
        Self {
            threads: threads.max(1),
            sizes: Sizes { searched: max_searched_bytes, parsed: max_parsed_bytes.min(max_searched_bytes) },
            weights: Weights::default(),
            freshness: FreshnessPolicy::default(),
            explain: ExplainLevel::default(),
        }
    }
}

impl Default for IndexSettings {
    fn default() -> Self {
        use codeyard_model::limits::{MAX_PARSED_FILE_BYTES, MAX_SEARCHED_FILE_BYTES};
        let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
        Self::new(threads, MAX_SEARCHED_FILE_BYTES, MAX_PARSED_FILE_BYTES)
    }
}
