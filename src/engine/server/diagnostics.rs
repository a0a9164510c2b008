//! The diagnostics that one server has reported: pushes, pulled reports, and the requests that wait for a push.
//!
//! A push applies to a document's current content if it carries the document's version or, from a server that sends no versions, if it
//! came after the last sync. A push that was computed before another file changed is outdated: the document is reopened to get a new one.
//! Invariant: an old or empty list is never returned in place of one that has not arrived yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::limits;
use codeyard_base::clock::Instant;
use codeyard_model::diagnostic::{Diagnostic, RawDiagnostic, RawFileDiagnostics};
use codeyard_model::uri::CanonicalUri;

/// After a document was closed and reopened, an empty push without a version may belong to the close. It counts only if no other push
/// follows within this time.
const CLOSE_QUIET: Duration = Duration::from_millis(300);

/// A request that waits for the push after a sync.
type Waiter = oneshot::Sender<Arc<Vec<RawDiagnostic>>>;

/// The last sync of an open document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SyncPoint {
    /// The version sent.
    version: i32,
    /// The server's change counter at that time.
    content: u64,
    /// The event counter at that time.
    event: u64,
}

#[derive(Debug)]
struct Push {
    diagnostics: Arc<Vec<RawDiagnostic>>,
    version: Option<i32>,
    event: u64,
    at: Instant,
}

#[derive(Debug, Default)]
struct FileDiagnostics {
    synced: Option<SyncPoint>,
    push: Option<Push>,
    waiters: Vec<Waiter>,
    reported: Option<ReportedDiagnostics>,
    /// The document was closed, and every push since may belong to the close.
    just_closed: bool,
}

#[derive(Debug)]
struct ReportedDiagnostics {
    raw: Arc<Vec<RawDiagnostic>>,
    canonical: Vec<Diagnostic>,
}

/// The diagnostics of one incarnation of one server.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    files: BTreeMap<CanonicalUri, FileDiagnostics>,
    event: u64,
    content: u64,
    versioned: bool,
}

/// The state of the push that a request asks for.
pub(super) enum PushState {
    /// It has arrived.
    Current(Arc<Vec<RawDiagnostic>>),
    /// It will arrive on this channel.
    Awaited(oneshot::Receiver<Arc<Vec<RawDiagnostic>>>),
    /// It was computed before another file changed: reopen the document, then ask again.
    Outdated,
}

impl Diagnostics {
    /// An empty set. `versioned`: the server's pushes for open documents carry a version.
    pub(super) fn of_server(versioned: bool) -> Self {
        Self { versioned, ..Self::default() }
    }

    /// Something on disk or in another document changed: earlier pushes may be out of date.
    pub(super) fn surroundings_changed(&mut self) {
        self.content += 1;
    }

    /// A document was opened or changed at the server, as `version`.
    pub(super) fn synced(&mut self, uri: &CanonicalUri, version: i32) {
        self.event += 1;
        let (content, event) = (self.content, self.event);
        self.file(uri).synced = Some(SyncPoint { version, content, event });
    }

    /// A document was closed at the server by us.
    pub(super) fn closed(&mut self, uri: &str) {
        if let Some(file) = self.files.get_mut(uri) {
            file.synced = None;
            file.push = None;
            file.just_closed = true;
        }
    }

    /// A file is gone.
    pub(super) fn deleted(&mut self, uri: &str) {
        self.files.remove(uri);
    }

    /// Records a push. Returns whether the file's canonical diagnostics changed.
    pub(super) fn pushed(
        &mut self,
        uri: &CanonicalUri,
        version: Option<i32>,
        raw: Vec<RawDiagnostic>,
        now: Instant,
    ) -> bool {
        if !self.files.contains_key(uri) && self.files.len() >= limits::MAX_DIAGNOSTIC_FILES {
            return false;
        }
        self.event += 1;
        let event = self.event;
        let diagnostics = Arc::new(raw);
        let versioned = self.versioned;
        let file = self.file(uri);
        if let Some(synced) = file.synced
            && (version.is_some_and(|version| version < synced.version)
                || versioned && version.is_none() && diagnostics.is_empty())
        {
            // It belongs to an older text or to the close; the current push is still to come.
            return false;
        }
        file.just_closed &= version.is_none() && diagnostics.is_empty();
        if file.synced.is_none() && diagnostics.is_empty() && file.reported.is_some() {
            // The server clears a closed document; its report stays valid until the file changes.
            return false;
        }
        file.push = Some(Push { diagnostics: diagnostics.clone(), version, event, at: now });
        self.report(uri, diagnostics)
    }

    /// Records a pulled report. Returns whether it differs from the previous one.
    pub(super) fn pulled(&mut self, uri: &CanonicalUri, raw: Vec<RawDiagnostic>) -> bool {
        if !self.files.contains_key(uri) && self.files.len() >= limits::MAX_DIAGNOSTIC_FILES {
            return false;
        }
        self.report(uri, Arc::new(raw))
    }

    /// The push for a document's current content, once no other push came for `settle`.
    pub(super) fn push_of(&mut self, uri: &CanonicalUri, settle: std::time::Duration, now: Instant) -> PushState {
        let content = self.content;
        let file = self.file(uri);
        if file.synced.is_none_or(|synced| synced.content != content) {
            return PushState::Outdated;
        }
        if let Some(current) = file.current(settle, now) {
            return PushState::Current(current);
        }
        let (sender, receiver) = oneshot::channel();
        file.waiters.retain(|waiter| !waiter.is_closed());
        file.waiters.push(sender);
        PushState::Awaited(receiver)
    }

    /// Answers the requests whose push has settled. Returns when to check again, if any request still waits.
    pub(super) fn settle(&mut self, settle: std::time::Duration, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for file in self.files.values_mut().filter(|file| !file.waiters.is_empty()) {
            if let Some(current) = file.current(settle, now) {
                for waiter in file.waiters.drain(..) {
                    drop(waiter.send(current.clone()));
                }
            } else if let Some(at) = file.quiet_at(settle).filter(|at| *at > now) {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        next
    }

    /// All reported diagnostics.
    pub(super) fn reported(&self) -> Vec<RawFileDiagnostics> {
        let reported = self.files.iter().filter_map(|(uri, file)| Some((uri, file.reported.as_ref()?)));
        reported
            .map(|(uri, report)| RawFileDiagnostics { uri: uri.text(), diagnostics: report.raw.as_ref().clone() })
            .collect()
    }

    fn file(&mut self, uri: &CanonicalUri) -> &mut FileDiagnostics {
        self.files.entry(uri.clone()).or_default()
    }

    fn report(&mut self, uri: &CanonicalUri, raw: Arc<Vec<RawDiagnostic>>) -> bool {
        let kept: Vec<RawDiagnostic> = raw.iter().take(limits::MAX_DIAGNOSTICS_PER_FILE).cloned().collect();
        let canonical = codeyard_canon::diagnostics(uri, kept).into_items();
        let file = self.file(uri);
        let before = file.reported.as_ref().map(|report| &report.canonical);
        let differs = before.map_or(!canonical.is_empty(), |before| *before != canonical);
        file.reported = Some(ReportedDiagnostics { raw, canonical });
        differs
    }
}

impl FileDiagnostics {
    fn current(&self, settle: std::time::Duration, now: Instant) -> Option<Arc<Vec<RawDiagnostic>>> {
        let (synced, push) = (self.synced?, self.push.as_ref()?);
        let of_present = match push.version {
            Some(version) => version >= synced.version,
            None => push.event > synced.event,
        };
        let quiet = self.quiet_at(settle).is_some_and(|at| at <= now);
        (of_present && quiet).then(|| push.diagnostics.clone())
    }

    /// When the last push counts as settled.
    fn quiet_at(&self, settle: Duration) -> Option<Instant> {
        let wait = if self.just_closed { settle.max(CLOSE_QUIET) } else { settle };
        self.push.as_ref().map(|push| push.at + wait)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use codeyard_model::position::Range;

    fn uri() -> CanonicalUri {
        CanonicalUri::of_gated_path(Path::new("/w/a.c"))
    }

    fn finding(message: &str) -> RawDiagnostic {
        RawDiagnostic {
            range: Range::new(0, 0, 0, 1),
            severity: Some(1),
            code: None,
            source: None,
            message: message.into(),
        }
    }

    #[test]
    fn an_older_versions_push_is_not_taken() {
        let mut known = Diagnostics::default();
        let now = Instant::now();
        known.synced(&uri(), 2);
        assert!(!known.pushed(&uri(), Some(1), vec![finding("old")], now), "late word is no news");
        let PushState::Awaited(mut waits) = known.push_of(&uri(), Duration::ZERO, now) else { panic!("must wait") };
        assert!(known.pushed(&uri(), Some(2), vec![finding("new")], now));
        assert_eq!(known.settle(Duration::ZERO, now), None);
        assert_eq!(waits.try_recv().unwrap()[0].message, "new");
    }

    #[test]
    fn unversioned_pushes_must_follow_the_sync_and_be_quiet() {
        let mut known = Diagnostics::default();
        let (now, settle) = (Instant::now(), Duration::from_millis(100));
        known.pushed(&uri(), None, vec![finding("before")], now);
        known.synced(&uri(), 1);
        let PushState::Awaited(mut waits) = known.push_of(&uri(), settle, now) else { panic!("must wait") };
        known.pushed(&uri(), None, vec![finding("after")], now);
        assert_eq!(known.settle(settle, now), Some(now + settle));
        assert!(waits.try_recv().is_err());
        assert_eq!(known.settle(settle, now + settle), None);
        assert_eq!(waits.try_recv().unwrap()[0].message, "after");
    }

    #[test]
    fn tidying_up_after_our_close_is_not_taken_for_an_empty_result() {
        let now = Instant::now();
        for (versioned, held_ms) in [(false, Some(300)), (true, None)] {
            let mut known = Diagnostics::of_server(versioned);
            known.synced(&uri(), 1);
            known.pushed(&uri(), Some(1), vec![finding("a")], now);
            known.closed(uri().as_str());
            known.synced(&uri(), 2);
            let PushState::Awaited(mut waits) = known.push_of(&uri(), Duration::ZERO, now) else { panic!("must wait") };
            known.pushed(&uri(), None, vec![], now);
            let held = known.settle(Duration::ZERO, now);
            assert_eq!(held, held_ms.map(|ms| now + Duration::from_millis(ms)), "versioned: {versioned}");
            assert!(waits.try_recv().is_err());
            known.pushed(&uri(), None, vec![finding("b")], now);
            assert_eq!(known.settle(Duration::ZERO, now), None);
            assert_eq!(waits.try_recv().unwrap()[0].message, "b");
        }
    }

    #[test]
    fn changed_surroundings_outdate_a_push() {
        let mut known = Diagnostics::default();
        let now = Instant::now();
        known.synced(&uri(), 1);
        known.pushed(&uri(), Some(1), vec![], now);
        assert!(matches!(known.push_of(&uri(), Duration::ZERO, now), PushState::Current(_)));
        known.surroundings_changed();
        assert!(matches!(known.push_of(&uri(), Duration::ZERO, now), PushState::Outdated));
    }

    #[test]
    fn only_a_different_canonical_list_is_news() {
        let mut known = Diagnostics::default();
        let now = Instant::now();
        known.synced(&uri(), 1);
        assert!(!known.pushed(&uri(), None, vec![], now), "nothing before, nothing now");
        assert!(known.pushed(&uri(), None, vec![finding("a"), finding("b")], now));
        assert!(!known.pushed(&uri(), None, vec![finding("b"), finding("a"), finding("a")], now));
        assert!(known.pushed(&uri(), None, vec![finding("b")], now));
        known.closed(uri().as_str());
        assert!(!known.pushed(&uri(), None, vec![], now), "clearing after our own close is not news");
        assert_eq!(known.reported().len(), 1);
        known.deleted(uri().as_str());
        assert!(known.reported().is_empty());
    }
}
