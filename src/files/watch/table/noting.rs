//! What is told of a file that isn't as it was, and to whom.
//!
//! Invariants: language servers hear of what they follow alone; what they don't follow any more, though it is there, isn't called gone.

use std::ffi::OsString;
use std::path::Path;

use super::{Seen, TOO_MANY_FILES, TOO_MANY_INDEXED_FILES, Table};
use crate::watch::changes::Pending;
use crate::watch::ground::Ground;
use crate::watch::routes::Role;
use crate::watch::stamp::Known;

/// Of these files those that language servers hear of, and those that the code index alone does.
pub(super) fn counts<'f>(files: impl IntoIterator<Item = (&'f OsString, &'f Known)>) -> (usize, usize) {
    files.into_iter().fold((0, 0), |(told, aside), (_, known)| match known.is_told() {
        true => (told + 1, aside),
        false => (told, aside + 1),
    })
}

/// Notes the difference between what was known of a file and what is there now. `is_written`: it was, though its stamp is the same.
pub(super) fn note(
    pending: &mut Pending,
    dir: &Path,
    name: &OsString,
    before: Option<&Known>,
    now: Option<&Known>,
    is_written: bool,
) {
    let told = |known: Option<&Known>| known.is_some_and(Known::is_told);
    let is_other = is_written || before.map(|before| before.stamp) != now.map(|now| now.stamp);
    let is_gone = now.is_none() && told(before);
    if is_gone || told(now) && (is_other || !told(before)) {
        pending.note(dir.join(name), told(before), told(now));
    }
    let is_aside = |known: Option<&Known>| known.is_some_and(|known| !known.is_told());
    if is_other && (is_aside(before) || is_aside(now)) {
        pending.note_aside(dir.join(name));
    }
}

impl Table {
    /// Puts what there is now in the place of what was known of a file, and notes the difference.
    pub(super) fn look_at_file(
        &mut self,
        dir: &Path,
        name: OsString,
        now: Option<Known>,
        seen: Seen,
        ground: &Ground<'_>,
        pending: &mut Pending,
    ) {
        let Some(parent) = self.dirs.get_mut(dir) else { return };
        let before = parent.files.get(&name).copied();
        // A second write within the clock's grain leaves the same stamp.
        let hidden = before.is_some_and(|before| before.may_hide(seen.written));
        if before.is_none() && now.is_none() {
            // It came and went. A language server may have read it in between, and must hear that it's gone.
            let is_read = parent.way.role != Role::Indexed && (ground.is_source)(&dir.join(&name));
            if seen.replaced && is_read {
                pending.note(dir.join(&name), true, false);
            }
            return;
        }
        if before.map(|before| before.stamp) == now.map(|now| now.stamp) && !hidden {
            return;
        }
        let (told, aside) = counts(now.iter().map(|known| (&name, known)));
        if before.is_none() && told > 0 && self.file_count >= self.files_max {
            self.degraded = Some(TOO_MANY_FILES);
            return pending.note_bulk();
        }
        if before.is_none() && aside > 0 && self.aside_count >= self.files_max {
            self.aside_degraded = Some(TOO_MANY_INDEXED_FILES);
            return pending.note_aside_bulk();
        }
        self.sources_changed |= before.map(|before| before.is_listed()) != now.map(|now| now.is_listed());
        let (told_before, aside_before) = counts(before.iter().map(|known| (&name, known)));
        self.file_count = self.file_count + told - told_before;
        self.aside_count = self.aside_count + aside - aside_before;
        note(pending, dir, &name, before.as_ref(), now.as_ref(), hidden);
        match now {
            Some(known) => drop(parent.files.insert(name, known)),
            None => drop(parent.files.remove(&name)),
        }
    }
}
