//! What is told of a file that isn't as it was, and to whom.
//!
//! Invariants: language servers hear of what they follow alone; what they don't follow any more, though it is there, isn't called gone.

use std::ffi::OsString;
use std::path::Path;

use crate::watch::changes::Pending;
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
