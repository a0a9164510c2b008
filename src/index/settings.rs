//! The settings of a project.

use std::path::PathBuf;

use crate::classify::SizeLimits;
use codeyard_model::code::{ExplainLevel, FreshnessPolicy, Weights};
use codeyard_model::limits::MAX_TEXT_INDEX_PERCENT;

/// The settings of a project, from the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexSettings {
    /// The number of threads of a job, and of a search.
    pub threads: usize,
    /// The limits of file sizes.
    pub(crate) sizes: SizeLimits,
    /// The largest text index, in percent of the bytes of the files.
    pub text_percent: u64,
    /// The weights of the ranking formula.
    pub weights: Weights,
    /// The freshness policy of queries that don't name one.
    pub freshness: FreshnessPolicy,
    /// The explain level of queries that don't name one.
    pub explain: ExplainLevel,
    /// Directories outside of the roots in which git directories may lie. Real paths.
    pub git_dirs: Vec<PathBuf>,
}

impl IndexSettings {
    /// Settings with this many threads. Files of at most these sizes are searched and parsed.
    pub fn new(threads: usize, max_searched_bytes: u64, max_parsed_bytes: u64) -> Self {
        Self {
            threads: threads.max(1),
            sizes: SizeLimits { searched: max_searched_bytes, parsed: max_parsed_bytes.min(max_searched_bytes) },
            text_percent: MAX_TEXT_INDEX_PERCENT,
            weights: Weights::default(),
            freshness: FreshnessPolicy::default(),
            explain: ExplainLevel::default(),
            git_dirs: Vec::new(),
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
