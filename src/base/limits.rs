//! Every hard limit of the service on one page, and the configurable set that may only tighten them.
//!
//! Invariant: no value of [`Limits`] is ever weaker than its `*_MAX` constant (contract §5.1); larger values are
//! clamped, never refused, as the contract asks. A limit that is not about answers stands here too, so that each
//! queue, map, frame and retry loop has a name.

use serde::{Deserialize, Serialize};

/// Largest request body or stdio line, in bytes (contract §5.1).
pub const MAX_REQUEST_BYTES: usize = 1_048_576;
/// Largest response body, in bytes (contract §5.1).
pub const MAX_RESPONSE_BYTES: usize = 524_288;
/// Longest time one tool call may take, in milliseconds (contract §5.1).
pub const REQUEST_TIMEOUT_MS: u64 = 2_000;
/// Most entries in a list that is not paged (contract §5.1).
pub const MAX_ITEMS_NONPAGED: usize = 200;
/// Most entries on one page (contract §5.1).
pub const MAX_PAGE_SIZE: usize = 200;
/// Entries on a page when the call names no size.
pub const DEFAULT_PAGE_SIZE: usize = 100;
/// Most files with diagnostics in one workspace answer (contract §5.1, §7.7).
pub const MAX_WORKSPACE_DIAGNOSTICS_ITEMS_TOTAL: usize = 5_000;
/// Most workspace symbols in one answer before paging (contract §5.1).
pub const MAX_WORKSPACE_SYMBOLS_ITEMS_TOTAL: usize = 20_000;
/// Most references in one answer before paging (contract §5.1).
pub const MAX_REFERENCES_ITEMS_TOTAL: usize = 20_000;
/// Most raw symbols or locations looked at for a list that is not paged.
pub const MAX_RAW_ITEMS: usize = 20_000;
/// Most hover fragments (contract §7.3).
pub const MAX_HOVER_FRAGMENTS: usize = 8;
/// Longest hover fragment, in code points (contract §7.3).
pub const MAX_HOVER_FRAGMENT_CHARS: usize = 8_192;

/// Largest retained snapshot, in bytes.
pub const MAX_SNAPSHOT_BYTES: usize = 8 * 1024 * 1024;
/// All retained snapshots of one workspace and tenant, in bytes.
pub const MAX_SNAPSHOTS_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// A snapshot is dropped this many seconds after its last use.
pub const SNAPSHOT_TTL_S: u64 = 600;
/// Longest cursor text accepted, in bytes: far above what we mint.
pub const MAX_CURSOR_BYTES: usize = 1_024;

/// Largest frame from a language server, in bytes.
pub const MAX_FRAME_BYTES: usize = 32 * 1024 * 1024;
/// All frames being read from all language servers together, in bytes.
pub const MAX_FRAMES_IN_FLIGHT_BYTES: usize = 48 * 1024 * 1024;
/// Largest header block of a frame, in bytes.
pub const MAX_FRAME_HEADER_BYTES: usize = 8 * 1024;
/// Messages that may wait to be written to one language server.
pub const MAX_OUTGOING_QUEUE: usize = 1_024;
/// Requests that may be pending at one language server.
pub const MAX_PENDING_REQUESTS: usize = 256;
/// Kept tail of a language server's standard error, in bytes.
pub const STDERR_TAIL_BYTES: usize = 64 * 1024;
/// Largest document handed to a language server, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
/// Documents kept open at one language server.
pub const MAX_OPEN_DOCUMENTS: usize = 256;
/// Texts of documents kept by one workspace, in bytes.
pub const MAX_DOCUMENT_TEXTS_BYTES: usize = 64 * 1024 * 1024;
/// Progress tokens followed at one language server.
pub const MAX_PROGRESS_TOKENS: usize = 1_024;
/// Capabilities a language server may register late.
pub const MAX_REGISTRATIONS: usize = 1_024;
/// Files with diagnostics kept for one language server.
pub const MAX_DIAGNOSTIC_FILES: usize = 20_000;
/// Diagnostics of one file that are kept at all.
pub const MAX_DIAGNOSTICS_PER_FILE: usize = 10_000;

/// Bytes read of a file that may mark a project root (`Cargo.toml` with `[workspace]`).
pub const MAX_MARKER_BYTES: u64 = 1024 * 1024;
/// Names read of a folder in which a marker is looked for by glob.
pub const MAX_MARKER_ENTRIES: usize = 10_000;
/// Largest compile database that is copied to a cache folder, in bytes.
pub const MAX_COPIED_BYTES: u64 = 256 * 1024 * 1024;
/// Longest time a program may take to say its version, in milliseconds.
pub const PROBE_TIMEOUT_MS: u64 = 10_000;
/// Programs whose version is remembered.
pub const MAX_PROBES: usize = 1_024;
/// Longest time the installation of one language server may take, in milliseconds: a build from source takes half an hour.
pub const INSTALL_TIMEOUT_MS: u64 = 3_600_000;
/// Kept tail of an installing tool's output, in bytes.
pub const INSTALL_TAIL_BYTES: usize = 16 * 1024;

/// Calls in flight in the whole process.
pub const MAX_CALLS_IN_FLIGHT: usize = 1_024;
/// Calls in flight in one workspace.
pub const MAX_CALLS_PER_WORKSPACE: usize = 256;
/// MCP sessions remembered; the oldest is forgotten first.
pub const MAX_SESSIONS: usize = 4_096;
/// Requests of one stdio connection in flight.
pub const MAX_STDIO_IN_FLIGHT: usize = 256;
/// Connections to the local attach socket.
pub const MAX_ATTACHED: usize = 256;
/// Workspaces in one configuration.
pub const MAX_WORKSPACES: usize = 10_000;
/// Roots (with extra roots) of one workspace.
pub const MAX_ROOTS: usize = 64;
/// Files one workspace's watcher follows.
pub const MAX_WATCHED_FILES: usize = 500_000;
/// Changes kept between two looks at the watcher; beyond it they count as one bulk change.
pub const MAX_PENDING_CHANGES: usize = 8_192;
/// Retry hint, in milliseconds, on an answer that asks to come back.
pub const RETRY_AFTER_MS: u64 = 500;

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
    /// The same limits, each lowered to its maximum where it was above (contract §5.1, last note).
    pub fn clamped(mut self) -> Self {
        let max = Self::default();
        self.max_request_bytes = self.max_request_bytes.min(max.max_request_bytes);
        self.max_response_bytes = self.max_response_bytes.min(max.max_response_bytes);
        self.request_timeout_ms = self.request_timeout_ms.min(max.request_timeout_ms);
        self.max_items_nonpaged = self.max_items_nonpaged.min(max.max_items_nonpaged);
        self.max_page_size = self.max_page_size.clamp(1, max.max_page_size);
        self.max_workspace_diagnostics_items_total =
            self.max_workspace_diagnostics_items_total.min(max.max_workspace_diagnostics_items_total);
        self.max_workspace_symbols_items_total =
            self.max_workspace_symbols_items_total.min(max.max_workspace_symbols_items_total);
        self.max_references_items_total = self.max_references_items_total.min(max.max_references_items_total);
        self.max_snapshot_bytes = self.max_snapshot_bytes.min(max.max_snapshot_bytes);
        self.max_snapshots_total_bytes = self.max_snapshots_total_bytes.min(max.max_snapshots_total_bytes);
        self.snapshot_ttl_s = self.snapshot_ttl_s.min(max.snapshot_ttl_s);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_values_are_clamped_and_smaller_ones_stay() {
        let wide = Limits { max_page_size: 9_999, request_timeout_ms: 60_000, ..Limits::default() };
        assert_eq!(wide.clamped(), Limits::default());
        let tight = Limits { max_page_size: 7, request_timeout_ms: 100, ..Limits::default() };
        assert_eq!(tight.clone().clamped(), tight);
        assert_eq!(Limits { max_page_size: 0, ..Limits::default() }.clamped().max_page_size, 1);
    }
}
