//! Limits that several crates share, and the set that a configuration may tighten.
//!
//! Invariant: no value of [`Limits`] exceeds its default. Larger values are clamped, never refused.

use serde::{Deserialize, Serialize};

/// Largest request body or stdio line, in bytes.
pub const MAX_REQUEST_BYTES: usize = 1_048_576;

/// Largest response body, in bytes.
pub const MAX_RESPONSE_BYTES: usize = 524_288;

/// Longest time one tool call may take, in milliseconds.
pub const REQUEST_TIMEOUT_MS: u64 = 2_000;

/// Most entries in a list that is not paged.
pub const MAX_ITEMS_NONPAGED: usize = 200;

/// Most entries on one page.
pub const MAX_PAGE_SIZE: usize = 200;

/// Entries on a page when the call names no size.
pub const DEFAULT_PAGE_SIZE: usize = 100;

/// Most files with diagnostics in one workspace answer.
pub const MAX_WORKSPACE_DIAGNOSTICS_ITEMS_TOTAL: usize = 5_000;

/// Most workspace symbols in one answer before paging.
pub const MAX_WORKSPACE_SYMBOLS_ITEMS_TOTAL: usize = 20_000;

/// Most references in one answer before paging.
pub const MAX_REFERENCES_ITEMS_TOTAL: usize = 20_000;

/// Most raw symbols or locations accepted for a list that is not paged.
pub const MAX_RAW_ITEMS: usize = 20_000;

/// Most distinct raw entries accepted for a paged list, before the gate removes those outside the roots.
pub const MAX_RAW_ITEMS_PAGED: usize = 200_000;

/// The longest text of a page of the tool `lsp` that a call or a configuration can set, in code points.
pub const MAX_PAGE_CHARS: usize = 40_000;

/// The shortest such limit.
pub const MIN_PAGE_CHARS: usize = 2_000;

/// The limit where neither sets one: most hosts cut longer texts, or write them to a file.
pub const DEFAULT_PAGE_CHARS: usize = 8_000;

/// Longest source line in a result of the tool `lsp`, in code points.
pub const MAX_PREVIEW_CHARS: usize = 160;

/// Largest retained snapshot, in bytes.
pub const MAX_SNAPSHOT_BYTES: usize = 8 * 1024 * 1024;

/// All retained snapshots of one workspace and tenant, in bytes.
pub const MAX_SNAPSHOTS_TOTAL_BYTES: usize = 64 * 1024 * 1024;

/// A snapshot is dropped this many seconds after its last use.
pub const SNAPSHOT_TTL_S: u64 = 600;

/// Providers, or projects that a server knows in part, that a summary names. The others are counted.
pub const MAX_PROVIDERS_NAMED: usize = 4;

/// Roots and extra roots of one workspace.
pub const MAX_ROOTS: usize = 64;

/// Retry hint, in milliseconds, in an error after which the caller should retry.
pub const RETRY_AFTER_MS: u64 = 500;

/// Default size limit of searched files, in bytes. Larger files aren't searched.
pub const MAX_SEARCHED_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Default limit of the text index, in percent of the bytes of the files.
pub const MAX_TEXT_INDEX_PERCENT: u64 = 100;

/// Default size limit of parsed files, in bytes. Larger files are searched as text only.
pub const MAX_PARSED_FILE_BYTES: u64 = 2 * 1024 * 1024;

/// Rows of an answer of the catalog `code` when the call names no number.
pub const DEFAULT_CODE_ROWS: usize = 10;

/// Terms of a query of the query language.
pub const MAX_QUERY_TERMS: usize = 64;

/// Largest `structuredContent` of the catalog `code`, in bytes. Rows that don't fit are left out, and the answer says so.
pub const MAX_CODE_PAYLOAD_BYTES: usize = 64 * 1024;

/// Workspaces in the warm set: their indexes are read into memory at the start.
pub const MAX_WARMSET: usize = 64;

/// The configurable limits of answers. Defaults are the maxima.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Largest request in bytes, at most 1048576.
    pub max_request_bytes: usize,
    /// Largest response in bytes, at most 524288.
    pub max_response_bytes: usize,
    /// Deadline of a call in milliseconds, at most 2000.
    pub request_timeout_ms: u64,
    /// Entries in an unpaged list, at most 200.
    pub max_items_nonpaged: usize,
    /// Entries on a page, at most 200.
    pub max_page_size: usize,
    /// Files in a workspace's diagnostics, at most 5000.
    pub max_workspace_diagnostics_items_total: usize,
    /// Workspace symbols in total, at most 20000.
    pub max_workspace_symbols_items_total: usize,
    /// References in total, at most 20000.
    pub max_references_items_total: usize,
    /// One retained snapshot in bytes, at most 8388608.
    pub max_snapshot_bytes: usize,
    /// All retained snapshots of a workspace in bytes, at most 67108864.
    pub max_snapshots_total_bytes: usize,
    /// Life of an unused snapshot in seconds, at most 600.
    pub snapshot_ttl_s: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_request_bytes: MAX_REQUEST_BYTES,
            max_response_bytes: MAX_RESPONSE_BYTES,
            request_timeout_ms: REQUEST_TIMEOUT_MS,
            max_items_nonpaged: MAX_ITEMS_NONPAGED,
            max_page_size: MAX_PAGE_SIZE,
            max_workspace_diagnostics_items_total: MAX_WORKSPACE_DIAGNOSTICS_ITEMS_TOTAL,
            max_workspace_symbols_items_total: MAX_WORKSPACE_SYMBOLS_ITEMS_TOTAL,
            max_references_items_total: MAX_REFERENCES_ITEMS_TOTAL,
            max_snapshot_bytes: MAX_SNAPSHOT_BYTES,
            max_snapshots_total_bytes: MAX_SNAPSHOTS_TOTAL_BYTES,
            snapshot_ttl_s: SNAPSHOT_TTL_S,
        }
    }
}

impl Limits {
    /// The same limits, each lowered to its maximum.
    pub fn clamped(self) -> Self {
        let mut limits = self.tightest(&Self::default());
        limits.max_page_size = limits.max_page_size.max(1);
        limits
    }

    /// The smaller of both values for each limit.
    pub fn tightest(mut self, other: &Self) -> Self {
        macro_rules! smaller {
            ($($field:ident),*) => { $(self.$field = self.$field.min(other.$field);)* };
        }
        smaller!(max_request_bytes, max_response_bytes, request_timeout_ms, max_items_nonpaged, max_page_size);
        smaller!(max_workspace_diagnostics_items_total, max_workspace_symbols_items_total, max_references_items_total);
        smaller!(max_snapshot_bytes, max_snapshots_total_bytes, snapshot_ttl_s);
        self
    }
}

#[cfg(test)]
mod tests;
