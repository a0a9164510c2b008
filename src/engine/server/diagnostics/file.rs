//! What one server has reported on one file, and what of it is kept.

use std::mem::size_of;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::limits;
use crate::server::diagnostics::diagnostics_budget::DropReason;
use codeyard_base::clock::Instant;
use codeyard_model::diagnostic::RawDiagnostic;

/// After a document was closed and reopened, an empty push without a version may belong to the close. It counts only if no other push
/// follows within this time.
const CLOSE_QUIET: Duration = Duration::from_millis(300);
/// Most by which a slow server's time to settle grows. typescript-language-server pushes an empty list before the full one, and on a machine with
/// other work on each core the second came later after the first than its usual time to settle.
const MAX_SETTLE_GROWTH: u32 = 4;
/// What a file's entry costs besides its URI and its list.
pub(super) const ENTRY_BYTES: usize = 2 * size_of::<FileDiagnostics>() + 64;
/// What the allocator adds to each text.
const TEXT_BYTES: usize = 16;

/// The diagnostics of a push, or why they weren't kept.
pub(in crate::server) type PushedList = Result<Arc<Vec<RawDiagnostic>>, DropReason>;

/// A request that waits for the push after a sync. It gets `None` if the server is to be asked for the diagnostics instead.
pub(super) type Waiter = oneshot::Sender<Option<PushedList>>;

/// The last sync of an open document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SyncPoint {
    /// The version sent.
    pub(super) version: i32,
    /// The server's change counter at that time.
    pub(super) content: u64,
    /// The event counter at that time.
    pub(super) event: u64,
    /// When it was sent.
    pub(super) at: Instant,
}

#[derive(Debug)]
pub(super) struct Push {
    pub(super) diagnostics: PushedList,
    pub(super) version: Option<i32>,
    pub(super) event: u64,
    pub(super) at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct FileDiagnostics {
    pub(super) synced: Option<SyncPoint>,
    pub(super) push: Option<Push>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) reported: Option<Report>,
    /// The document was closed, and every push since may belong to the close.
    pub(super) just_closed: bool,
    /// The push for the current content was dropped: only a reopened document brings another one.
    pub(super) is_push_gone: bool,
}

/// What was reported last on a file.
#[derive(Debug)]
pub(super) struct Report {
    /// The list. A push of it is the same list, not a copy.
    pub(super) list: PushedList,
    /// Digest of the canonical list.
    pub(super) digest: [u8; 32],
    /// Its bytes in the budget.
    pub(super) bytes: usize,
    /// Its key in the order of drops.
    pub(super) rank: DropRank,
}

/// Which lists are dropped first, and how much is left of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListKind {
    /// The file has no diagnostics.
    Empty,
    /// The list is kept.
    Kept,
    /// The list was dropped.
    Dropped,
}

/// The order in which lists are dropped: by kind, then by when they were reported.
pub(super) type DropRank = (ListKind, u64);

impl FileDiagnostics {
    pub(super) fn current(&self, settle: std::time::Duration, now: Instant) -> Option<PushedList> {
        let synced = self.synced?;
        let push = self.push.as_ref()?;
        let of_present = match push.version {
            Some(version) => version >= synced.version,
            None => push.event > synced.event,
        };
        let quiet = self.quiet_at(settle).is_some_and(|at| at <= now);
        (of_present && quiet).then(|| push.diagnostics.clone())
    }

    /// When the last push counts as settled. A server that took long for it may take as long for the next one.
    pub(super) fn quiet_at(&self, settle: Duration) -> Option<Instant> {
        let push = self.push.as_ref()?;
        let taken = self.synced.map_or(Duration::ZERO, |synced| push.at.saturating_duration_since(synced.at));
        let wait = taken.clamp(settle, settle * MAX_SETTLE_GROWTH);
        Some(push.at + if self.just_closed { wait.max(CLOSE_QUIET) } else { wait })
    }
}

/// The list, without spare room, if one file may have it.
pub(super) fn within_file_limits(mut raw: Vec<RawDiagnostic>) -> Result<Vec<RawDiagnostic>, DropReason> {
    if raw.len() > limits::MAX_DIAGNOSTICS_PER_FILE || heap_bytes(&raw) > limits::MAX_FILE_DIAGNOSTICS_BYTES {
        return Err(DropReason::FileTooLarge);
    }
    raw.shrink_to_fit();
    Ok(raw)
}

/// The memory of a list.
pub(super) fn heap_bytes(raw: &[RawDiagnostic]) -> usize {
    let text = |text: Option<&String>| text.map_or(0, |text| text.len() + TEXT_BYTES);
    let texts = raw.iter().map(|one| text(Some(&one.message)) + text(one.code.as_ref()) + text(one.source.as_ref()));
    size_of_val(raw) + texts.sum::<usize>()
}
