//! The diagnostics that one server has reported: pushes, pulled reports, and the requests that wait for a push.
//!
//! A push applies to a document's current content if it carries the document's version or, from a server that sends no versions, if it
//! came after the last sync. A push that was computed before another file changed is outdated: the document is reopened to get a new one.
//! What is kept is bounded in bytes. Over the bound, lists are dropped in this order: those of files that aren't open, the one reported
//! longest ago first; those of open files that no request waits for, likewise; the new list. Invariants: an old or empty list is never
//! returned in place of one that has not arrived yet; a file whose list was dropped is known as such until it is reported again.

pub mod diagnostics_budget;
pub(in crate::server) mod pushed_diagnostics;

mod file;
mod unkept_files;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::oneshot;

use self::file::{
    DropRank, ENTRY_BYTES, FileDiagnostics, ListKind, Push, Report, SyncPoint, heap_bytes, within_file_limits,
};
use self::unkept_files::UnkeptFiles;
use crate::limits;
use crate::server::diagnostics::diagnostics_budget::{BudgetShare, DiagnosticsBudget, DropReason};
use codeyard_base::clock::Instant;
use codeyard_base::digest::sha256;
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};
use codeyard_model::uri::CanonicalUri;

pub(in crate::server) use self::file::PushedList;

/// The diagnostics of one incarnation of one server.
#[derive(Debug)]
pub(in crate::server) struct Diagnostics {
    files: BTreeMap<CanonicalUri, FileDiagnostics>,
    /// The files with a list, by [`DropRank`].
    order: BTreeMap<DropRank, CanonicalUri>,
    share: BudgetShare,
    event: u64,
    content: u64,
    versioned: bool,
    /// Files that were open once, and on which nothing is reported.
    silent: BTreeSet<CanonicalUri>,
    /// Files were reported that aren't even known by name.
    unkept: UnkeptFiles,
}

/// The state of the push that a request asks for.
pub(in crate::server) enum PushState {
    /// It has arrived.
    Current(PushedList),
    /// It will arrive on this channel.
    Awaited(oneshot::Receiver<Option<PushedList>>),
    /// It was computed before another file changed, or was dropped: reopen the document, then ask again.
    Outdated,
}

/// Everything that a server has reported.
#[derive(Debug, Default)]
pub(in crate::server) struct Reported {
    /// The lists that are kept.
    pub files: Vec<RawFileDiagnostics>,
    /// Files whose lists were dropped.
    pub dropped: Vec<Arc<str>>,
    /// There are more such files, whose names aren't known.
    pub has_unknown_files: bool,
}

impl Diagnostics {
    /// An empty set. `versioned`: the server's pushes for open documents carry a version.
    pub(in crate::server) fn of_server(versioned: bool, budget: Arc<DiagnosticsBudget>) -> Self {
        Self {
            files: BTreeMap::new(),
            order: BTreeMap::new(),
            share: BudgetShare::new(budget),
            event: 0,
            content: 0,
            versioned,
            silent: BTreeSet::new(),
            unkept: UnkeptFiles::default(),
        }
    }

    /// Something on disk or in another document changed: earlier pushes may be out of date.
    pub(in crate::server) fn surroundings_changed(&mut self) {
        self.content += 1;
    }

    /// A document was opened or changed at the server, as `version`.
    pub(in crate::server) fn synced(&mut self, uri: &CanonicalUri, version: i32, now: Instant) {
        self.event += 1;
        let content = self.content;
        let event = self.event;
        self.silent.remove(uri);
        let file = self.file(uri);
        file.synced = Some(SyncPoint { version, content, event, at: now });
        file.is_push_gone = false;
    }

    /// A document was closed at the server by us.
    pub(in crate::server) fn closed(&mut self, uri: &str) {
        if let Some(file) = self.files.get_mut(uri) {
            file.synced = None;
            file.push = None;
            file.just_closed = true;
        }
        if let Some((uri, file)) = self.files.get_key_value(uri)
            && file.reported.is_none()
        {
            self.silent.insert(uri.clone());
        }
    }

    /// A file is gone.
    pub(in crate::server) fn deleted(&mut self, uri: &str) {
        self.unkept.remove(uri);
        self.silent.remove(uri);
        if let Some((_, file)) = self.files.remove_entry(uri) {
            self.forget(file.reported);
        }
    }

    /// Events of the server were lost: no list that it pushed is known to be current.
    pub(in crate::server) fn events_lost(&mut self) {
        self.surroundings_changed();
        self.order.clear();
        let mut lists = 0;
        for (uri, file) in &mut self.files {
            file.push = None;
            file.is_push_gone = file.synced.is_some();
            if file.synced.is_none() {
                self.silent.insert(uri.clone());
            }
            if let Some(report) = file.reported.take() {
                lists += 1;
                self.share.release(report.bytes);
            }
        }
        self.share.budget().count(DropReason::EventsLost, lists);
    }

    /// Records a push. Returns whether the file's canonical diagnostics changed.
    pub(in crate::server) fn pushed(
        &mut self,
        uri: &CanonicalUri,
        version: Option<i32>,
        pushed: Result<Vec<RawDiagnostic>, DropReason>,
        now: Instant,
    ) -> bool {
        let is_empty = pushed.as_ref().is_ok_and(Vec::is_empty);
        if !self.admits(uri) {
            return self.drop_unknown(uri, is_empty);
        }
        self.event += 1;
        let event = self.event;
        let versioned = self.versioned;
        let file = self.file(uri);
        if let Some(synced) = file.synced
            && (version.is_some_and(|version| version < synced.version) || versioned && version.is_none() && is_empty)
        {
            // It belongs to an older text or to the close; the current push is still to come.
            return false;
        }
        file.just_closed &= version.is_none() && is_empty;
        if file.synced.is_none() && is_empty && file.reported.is_some() {
            // The server clears a closed document; its report stays valid until the file changes.
            return false;
        }
        let (differs, diagnostics) = self.report(uri, pushed);
        if let Some(file) = self.files.get_mut(uri.as_str()) {
            file.push = Some(Push { diagnostics, version, event, at: now });
            file.is_push_gone = false;
        }
        differs
    }

    /// Records a pulled report. Returns whether it differs from the previous one.
    pub(in crate::server) fn pulled(&mut self, uri: &CanonicalUri, raw: Vec<RawDiagnostic>) -> bool {
        if !self.admits(uri) {
            return self.drop_unknown(uri, raw.is_empty());
        }
        self.event += 1;
        let file = self.file(uri);
        // The list would be kept twice. A server that is pulled from isn't asked for pushes.
        file.is_push_gone = file.push.take().is_some() || file.is_push_gone;
        self.report(uri, Ok(raw)).0
    }

    /// The push for a document's current content, once no other push came for `settle`, or longer from a slow server.
    pub(in crate::server) fn push_of(
        &mut self,
        uri: &CanonicalUri,
        settle: std::time::Duration,
        now: Instant,
    ) -> PushState {
        let content = self.content;
        let file = self.file(uri);
        if file.is_push_gone || file.synced.is_none_or(|synced| synced.content != content) {
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
    pub(in crate::server) fn settle(&mut self, settle: std::time::Duration, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for file in self.files.values_mut().filter(|file| !file.waiters.is_empty()) {
            if let Some(current) = file.current(settle, now) {
                for waiter in file.waiters.drain(..) {
                    drop(waiter.send(Some(current.clone())));
                }
            } else if let Some(at) = file.quiet_at(settle).filter(|at| *at > now) {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        next
    }

    /// The server is asked for diagnostics from now on: no request waits for a push any longer.
    pub(in crate::server) fn end_waits(&mut self) {
        for waiter in self.files.values_mut().flat_map(|file| file.waiters.drain(..)) {
            drop(waiter.send(None));
        }
    }

    /// All reported diagnostics.
    pub(in crate::server) fn reported(&self) -> Reported {
        let mut all = Reported { has_unknown_files: !self.unkept.is_empty(), ..Reported::default() };
        for (uri, file) in &self.files {
            match file.reported.as_ref().map(|report| &report.list) {
                Some(Ok(list)) => {
                    all.files.push(RawFileDiagnostics { uri: uri.text(), diagnostics: list.as_ref().clone() });
                }
                Some(Err(_)) => all.dropped.push(uri.text()),
                None => {}
            }
        }
        all
    }

    fn file(&mut self, uri: &CanonicalUri) -> &mut FileDiagnostics {
        self.files.entry(uri.clone()).or_default()
    }

    /// Whether a report on this file has a place. A file that isn't open makes place if its report is empty or there is none.
    fn admits(&mut self, uri: &CanonicalUri) -> bool {
        if self.files.contains_key(uri) || self.files.len() < limits::MAX_DIAGNOSTIC_FILES {
            return true;
        }
        let empty =
            self.order.range(..(ListKind::Kept, 0)).find(|(_, uri)| !self.is_open(uri)).map(|(_, uri)| uri.clone());
        let unneeded = empty.or_else(|| self.silent.first().cloned());
        unneeded.inspect(|uri| self.deleted(uri.as_str())).is_some()
    }

    fn is_open(&self, uri: &CanonicalUri) -> bool {
        self.files.get(uri.as_str()).is_some_and(|file| file.synced.is_some())
    }

    /// Records a report on a file without a place. Returns whether the file's canonical diagnostics changed.
    fn drop_unknown(&mut self, uri: &CanonicalUri, is_empty: bool) -> bool {
        if is_empty {
            // The same as no report at all.
            let had_unkept = !self.unkept.is_empty();
            self.unkept.remove(uri.as_str());
            return had_unkept && self.unkept.is_empty();
        }
        self.unkept.insert(uri.as_str());
        self.warn(DropReason::TooManyFiles, 1);
        false
    }

    fn warn(&self, reason: DropReason, lists: usize) {
        if self.share.budget().count(reason, lists) {
            tracing::warn!(
                reason = reason.as_str(),
                files = self.files.len(),
                "diagnostics of a language server are not kept: it reports more than the budget; queries for them fail"
            );
        }
    }

    /// Replaces the report on a file. Returns whether it differs, and the list as far as it is kept.
    fn report(&mut self, uri: &CanonicalUri, raw: Result<Vec<RawDiagnostic>, DropReason>) -> (bool, PushedList) {
        let before = self.files.get_mut(uri.as_str()).and_then(|file| {
            file.push = None;
            file.reported.take()
        });
        let digest_before = before.as_ref().map(|report| report.digest);
        self.forget(before);
        let list = raw.and_then(within_file_limits);
        let digest = list.as_ref().map_or([0; 32], |raw| digest_of(uri, raw));
        let is_empty = list.as_ref().is_ok_and(Vec::is_empty);
        let entry = uri.as_str().len() + ENTRY_BYTES;
        let mut taken =
            list.and_then(|raw| self.take(uri, entry + heap_bytes(&raw)).map(|bytes| (Ok(Arc::new(raw)), bytes)));
        if let Err(reason) = taken {
            self.warn(reason, 1);
            taken = self.share.take(entry).map(|()| (Err(reason), entry));
        }
        let Ok((list, bytes)) = taken else {
            // There is no room even for the name.
            self.unkept.insert(uri.as_str());
            return (digest_before.is_some(), taken.map(|_| Arc::default()));
        };
        self.unkept.remove(uri.as_str());
        self.silent.remove(uri);
        let kind = match &list {
            Ok(_) if is_empty => ListKind::Empty,
            Ok(_) => ListKind::Kept,
            Err(_) => ListKind::Dropped,
        };
        let rank = (kind, self.event);
        self.order.insert(rank, uri.clone());
        let differs = digest_before.map_or(!is_empty, |before| before != digest);
        self.file(uri).reported = Some(Report { list: list.clone(), digest, bytes, rank });
        (differs, list)
    }

    /// Takes `bytes` for the list of `uri`; drops lists of other files in the defined order if that is necessary.
    fn take(&mut self, uri: &CanonicalUri, bytes: usize) -> Result<usize, DropReason> {
        let Err(mut reason) = self.share.take(bytes) else { return Ok(bytes) };
        for keeps_open in [true, false] {
            let mut after = (ListKind::Kept, 0);
            while let Some((rank, dropped)) = self.next_list(after) {
                after = (ListKind::Kept, rank.1 + 1);
                let Some(file) = self.files.get(dropped.as_str()) else { continue };
                let is_needed = dropped == *uri || !file.waiters.is_empty() || keeps_open && file.synced.is_some();
                if is_needed {
                    continue;
                }
                self.drop_list(&dropped, reason);
                match self.share.take(bytes) {
                    Ok(()) => return Ok(bytes),
                    Err(still) => reason = still,
                }
            }
        }
        Err(reason)
    }

    fn next_list(&self, after: DropRank) -> Option<(DropRank, CanonicalUri)> {
        self.order.range(after..(ListKind::Dropped, 0)).next().map(|(rank, uri)| (*rank, uri.clone()))
    }

    /// Drops the list of a file, and remembers that it was there.
    fn drop_list(&mut self, uri: &CanonicalUri, reason: DropReason) {
        let Some(file) = self.files.get_mut(uri.as_str()) else { return };
        file.push = None;
        file.is_push_gone = file.synced.is_some();
        let Some(report) = &mut file.reported else { return };
        let entry = (uri.as_str().len() + ENTRY_BYTES).min(report.bytes);
        report.list = Err(reason);
        report.digest = [0; 32];
        self.order.remove(&report.rank);
        report.rank.0 = ListKind::Dropped;
        self.order.insert(report.rank, uri.clone());
        let freed = report.bytes - entry;
        report.bytes = entry;
        self.share.release(freed);
        self.warn(reason, 1);
    }

    fn forget(&mut self, report: Option<Report>) {
        if let Some(report) = report {
            self.order.remove(&report.rank);
            self.share.release(report.bytes);
        }
    }
}

/// Digest of the canonical list: the id of a diagnostic depends on all of its fields.
fn digest_of(uri: &CanonicalUri, raw: &[RawDiagnostic]) -> [u8; 32] {
    let canonical = codeyard_canon::diagnostics(uri, raw.to_vec()).into_items();
    sha256(canonical.iter().map(|diagnostic| diagnostic.id.as_str()).collect::<String>())
}

#[cfg(test)]
mod tests;
