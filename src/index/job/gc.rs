//! Keeping the index small: few segments, and no contents that nobody shows.

use std::collections::BTreeSet;
use std::path::Path;

use super::{JobError, JobRun};
use crate::limits::{MAX_LOOSE_CONTENTS, MAX_SEGMENTS};
use crate::manifest::ContentNo;
use crate::index_dir::IndexDir;
use crate::store::{FileState, LIVE, ManifestHead, SegmentRow, IndexStore};
use crate::text;
use codeyard_git::GitRepository;

/// What was given back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Manifests of working trees that are gone, and of branches that are.
    pub manifests: usize,
    /// Contents that nobody shows any more.
    pub contents: usize,
    /// Bytes on disk.
    pub bytes: u64,
}

/// New contents, at least, after which those that nobody shows are looked for.
const FEWEST_NEW: u64 = 4_096;

/// Keeps the index small after a job: unused contents are forgotten from time to time, and segments merged when there are many.
pub(super) fn after_job(work: &JobRun<'_>, store: &mut IndexStore) -> Result<(), JobError> {
    let (given, swept) = store.given()?;
    let new = given.saturating_sub(swept);
    // How many there are is asked only where it may matter: this comes after every edit.
    if new > FEWEST_NEW && new > store.all_contents()?.len() as u64 / 4 {
        let git = GitRepository::containing(&work.order.root);
        forget(work.repository, store, &|head| is_unreachable(git.as_ref(), head))?;
    }
    compact(work, store)
}

/// Whether nobody can ask for a manifest any more: its working tree is gone, or its branch, tag or commit.
pub(crate) fn is_unreachable(git: Option<&GitRepository>, head: &ManifestHead) -> bool {
    match head.key.reference.as_str() {
        LIVE => !Path::new(&head.key.place).is_dir(),
        reference => git.is_none_or(|git| git.resolve(reference).is_none()),
    }
}

/// Merges segments when there are many, those of symbols and those of texts. Readers go on with those they have open.
fn compact(work: &JobRun<'_>, store: &mut IndexStore) -> Result<(), JobError> {
    if work.repository.symbols()?.compact(&|time| work.stop.wait(time))? {
        store.write(|transaction| transaction.publish())?;
    }
    let rows = store.segments()?;
    if rows.len() <= MAX_SEGMENTS {
        return Ok(());
    }
    // The smallest half, so that a large one isn't written again for each few edits.
    let mut by_size = rows;
    by_size.sort_unstable_by_key(|row| (row.bytes, row.id));
    by_size.truncate(MAX_SEGMENTS / 2 + 1);
    let known: BTreeSet<ContentNo> = store.all_contents()?.into_iter().collect();
    merge(work.repository, store, &by_size, &known)
}

fn merge(
    repository: &IndexDir,
    store: &mut IndexStore,
    rows: &[SegmentRow],
    keep: &BTreeSet<ContentNo>,
) -> Result<(), JobError> {
    let segments = rows.iter().map(|row| repository.segment(&row.file)).collect::<Result<Vec<_>, _>>()?;
    let file = format!("{}.seg", store.write(|transaction| transaction.reserve(1))?);
    let segments: Vec<&text::Segment> = segments.iter().map(|segment| &**segment).collect();
    let info = text::merge(&segments, &|no| keep.contains(&no), &repository.segment_path(&file))?;
    let mut covered: Vec<ContentNo> = segments.iter().flat_map(|segment| segment.contents().iter().copied()).collect();
    covered.retain(|no| keep.contains(no));
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    store.write(|transaction| {
        transaction.drop_segments(&ids)?;
        transaction.add_segment(&file, info.bytes, &covered)?;
        transaction.publish()
    })?;
    repository.remove_unused_segments(store)?;
    Ok(())
}

/// Forgets manifests that `is_unreachable` names, and contents that no manifest shows, and gives their space back. `None`: somebody else
/// is writing.
pub(crate) fn collect_garbage(
    repository: &IndexDir,
    is_unreachable: &dyn Fn(&ManifestHead) -> bool,
) -> Result<Option<GcReport>, JobError> {
    let Some(_lock) = repository.lock()? else { return Ok(None) };
    let mut store = repository.writer()?;
    let bytes_before = repository.bytes_on_disk();
    let mut swept = forget(repository, &mut store, is_unreachable)?;
    store.shrink()?;
    repository.remove_unused_segments(&store)?;
    swept.bytes = bytes_before.saturating_sub(repository.bytes_on_disk());
    Ok(Some(swept))
}

/// The same without giving space back to the file system: the index uses it again. Its user holds the lock.
fn forget(
    repository: &IndexDir,
    store: &mut IndexStore,
    is_unreachable: &dyn Fn(&ManifestHead) -> bool,
) -> Result<GcReport, JobError> {
    let (gone, kept): (Vec<_>, Vec<_>) = store.manifests()?.into_iter().partition(|head| is_unreachable(head));
    let mut shown = BTreeSet::new();
    for head in &kept {
        shown.extend(store.listing(head.id)?.iter().filter_map(|file| match file.held {
            FileState::Content(no, _) => Some(no),
            FileState::Excluded(_) => None,
        }));
    }
    let unused: Vec<ContentNo> = store.all_contents()?.into_iter().filter(|no| !shown.contains(no)).collect();
    let (given, _) = store.given()?;
    store.write(|transaction| {
        transaction.set_swept(given)?;
        gone.iter().try_for_each(|head| transaction.drop_manifest(head.id))
    })?;
    if !unused.is_empty() {
        let mut writer = repository.symbol_writer()?;
        writer.remove(&unused);
        writer.commit()?;
        drop(writer);
        let segments = store.segments()?;
        let loose = store.loose()?;
        store.write(|transaction| transaction.drop_contents(&unused))?;
        if !segments.is_empty() && unused.len() > MAX_LOOSE_CONTENTS.min(loose.len() + 1) {
            merge(repository, store, &segments, &shown)?;
        }
    }
    Ok(GcReport { manifests: gone.len(), contents: unused.len(), bytes: 0 })
}
