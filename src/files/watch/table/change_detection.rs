//! Compares the stored and the current state of a file, and records the change for its consumers.
//!
//! Invariants: language servers get changes only of files followed for them; a file that isn't followed any more but still
//! exists is not reported as deleted.

use std::ffi::OsString;
use std::path::Path;

use super::{EventFlags, TOO_MANY_FILES, TOO_MANY_INDEXED_FILES, Table};
use crate::stamp::KnownFile;
use crate::watch::changes::PendingChanges;
use crate::watch::context::WatchContext;
use crate::watch::routes::WatchRole;

/// The number of files reported to language servers, and the number of files reported to the code index only.
pub(super) fn counts<'f>(files: impl IntoIterator<Item = (&'f OsString, &'f KnownFile)>) -> (usize, usize) {
    files.into_iter().fold((0, 0), |(reported, index_only), (_, known)| match known.is_reported() {
        true => (reported + 1, index_only),
        false => (reported, index_only + 1),
    })
}

/// Whether both states of a file are the same.
fn are_equal(before: Option<&KnownFile>, now: Option<&KnownFile>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => now.equals(before),
        (before, now) => before.is_none() && now.is_none(),
    }
}

/// Records the difference between a file's states `before` and `now`. `is_written`: it was written without a new stamp.
pub(super) fn record(
    pending: &mut PendingChanges,
    dir: &Path,
    name: &OsString,
    before: Option<&KnownFile>,
    now: Option<&KnownFile>,
    is_written: bool,
) {
    let reported = |known: Option<&KnownFile>| known.is_some_and(KnownFile::is_reported);
    let has_changed = is_written || !are_equal(before, now);
    let is_deleted = now.is_none() && reported(before);
    if is_deleted || reported(now) && (has_changed || !reported(before)) {
        let gets_content =
            before.is_some_and(|before| before.content.is_none()) && now.is_some_and(|now| now.content.is_some());
        pending.record(dir.join(name), reported(before) && !gets_content, reported(now));
    }
    if now.is_some_and(|now| before.is_some_and(|before| before.content.is_some() && before.content != now.content)) {
        pending.record_incomplete();
    }
    if has_changed && [before, now].into_iter().flatten().any(KnownFile::is_link) {
        pending.record_link(dir.join(name));
    }
    let is_index_only = |known: Option<&KnownFile>| known.is_some_and(|known| !known.is_reported());
    if has_changed && (is_index_only(before) || is_index_only(now)) {
        pending.record_index_only(dir.join(name));
    }
}

impl Table {
    /// Replaces the stored state of a file by `now` and records the difference.
    pub(super) fn compare_file(
        &mut self,
        dir: &Path,
        name: OsString,
        now: Option<KnownFile>,
        flags: EventFlags,
        context: &WatchContext<'_>,
        pending: &mut PendingChanges,
    ) {
        let Some(parent) = self.dirs.get_mut(dir) else { return };
        let before = parent.files.get(&name).copied();
        let now = now.map(|now| now.looked_at(before.as_ref(), || (context.look)(&dir.join(&name))));
        // A second write within one tick of the clock leaves the same stamp.
        let hidden = before.is_some_and(|before| before.may_hide(flags.written));
        if before.is_none() && now.is_none() {
            // It was created and deleted. A language server may have read it in between and must get the deletion.
            let is_read = parent.mode.role != WatchRole::Indexed && (context.is_source)(&dir.join(&name));
            if flags.replaced && is_read {
                pending.record(dir.join(&name), true, false);
            }
            return;
        }
        if are_equal(before.as_ref(), now.as_ref()) && !hidden {
            return;
        }
        let (reported, index_only) = counts(now.iter().map(|known| (&name, known)));
        if before.is_none() && reported > 0 && self.file_count >= self.files_max {
            self.degraded = Some(TOO_MANY_FILES);
            return pending.record_bulk();
        }
        if before.is_none() && index_only > 0 && self.index_only_count >= self.files_max {
            self.index_only_degraded = Some(TOO_MANY_INDEXED_FILES);
            return pending.record_index_only_rescan();
        }
        self.sources_changed |= match (&before, &now) {
            (Some(before), Some(now)) => before.lists_otherwise(now),
            _ => true,
        };
        let (reported_before, index_only_before) = counts(before.iter().map(|known| (&name, known)));
        self.file_count = self.file_count + reported - reported_before;
        self.index_only_count = self.index_only_count + index_only - index_only_before;
        record(pending, dir, &name, before.as_ref(), now.as_ref(), hidden);
        match now {
            Some(known) => drop(parent.files.insert(name, known)),
            None => drop(parent.files.remove(&name)),
        }
    }
}
