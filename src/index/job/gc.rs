//! Garbage collection: merges segments, and deletes manifests and contents that nothing refers to.

use std::collections::BTreeSet;
use std::path::Path;

use super::{JobError, JobRun};
use crate::index_dir::IndexDir;
use crate::limits::MAX_LOOSE_CONTENTS;
use crate::manifest::ContentNo;
use crate::store::{FileOrigin, FileState, IndexStore, ManifestHead, SegmentRow};
use crate::text;
use codeyard_git::{GitError, GitRepository};

/// Text segments; beyond this number they are merged.
const MAX_SEGMENTS: usize = 12;

/// What a garbage collection removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Manifests of working trees, branches, tags and commits that no longer exist.
    pub manifests: usize,
    /// Contents that no manifest refers to.
    pub contents: usize,
    /// Bytes freed on disk.
    pub bytes: u64,
}

/// New contents after which a job looks for unreferenced contents.
const MIN_NEW_CONTENTS: u64 = 4_096;

/// Runs after each job: deletes unreferenced contents now and then, and merges segments if there are many.
pub(super) fn after_job(run: &JobRun<'_>, store: &mut IndexStore) -> Result<(), JobError> {
    let (given, collected_at) = store.reserved_numbers()?;
    let new = given.saturating_sub(collected_at);
    // Runs after every edit, so it counts all contents only if the number can matter.
    if new > MIN_NEW_CONTENTS && new > store.all_contents()?.len() as u64 / 4 {
        delete_unreferenced(run.index_dir, store, &|head| is_unreachable(run.git.as_ref().ok(), head))?;
    }
    compact(run, store)
}

/// Whether a manifest can no longer be requested: its working tree, repository, branch, tag or commit no longer exists.
pub(crate) fn is_unreachable(git: Option<&GitRepository>, head: &ManifestHead) -> bool {
    let Some(git_dir) = head.key.git_dir() else { return !Path::new(&head.key.place).is_dir() };
    // What can't be read now may be read again later. Another repository says nothing about this one's references.
    match git.filter(|git| git.common_dir().to_string_lossy() == git_dir) {
        Some(git) => git.resolve(&head.key.reference) == Err(GitError::Missing),
        None => !Path::new(git_dir).is_dir(),
    }
}

/// Merges segments of the symbol index and of the text index if there are many. Readers keep the segments that they
/// have open.
fn compact(run: &JobRun<'_>, store: &mut IndexStore) -> Result<(), JobError> {
    if run.index_dir.symbols()?.compact(&|time| run.stop.wait(time))? {
        store.write(|transaction| transaction.publish())?;
    }
    let rows = store.segments()?;
    if rows.len() <= MAX_SEGMENTS {
        return Ok(());
    }
    // Merges the smaller half only, so that a large segment isn't rewritten after a few edits.
    let mut by_size = rows;
    by_size.sort_unstable_by_key(|row| (row.bytes, row.id));
    by_size.truncate(MAX_SEGMENTS / 2 + 1);
    let known: BTreeSet<ContentNo> = store.all_contents()?.into_iter().collect();
    merge(run.index_dir, store, &by_size, &known)
}

fn merge(
    index_dir: &IndexDir,
    store: &mut IndexStore,
    rows: &[SegmentRow],
    keep: &BTreeSet<ContentNo>,
) -> Result<(), JobError> {
    let segments = rows.iter().map(|row| index_dir.segment(&row.file)).collect::<Result<Vec<_>, _>>()?;
    let file = format!("{}.seg", store.write(|transaction| transaction.reserve(1))?);
    let segments: Vec<&text::Segment> = segments.iter().map(|segment| &**segment).collect();
    let info = text::merge(&segments, &|no| keep.contains(&no), &index_dir.segment_path(&file))?;
    let mut covered: Vec<ContentNo> = segments.iter().flat_map(|segment| segment.contents().iter().copied()).collect();
    covered.retain(|no| keep.contains(no));
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    store.write(|transaction| {
        transaction.drop_segments(&ids)?;
        transaction.add_segment(&file, info.bytes, &covered)?;
        transaction.publish()
    })?;
    index_dir.remove_unused_segments(store)?;
    Ok(())
}

/// Deletes unreachable manifests and unreferenced contents, and returns the space to the file system. `None`: another
/// process is writing.
pub(crate) fn collect_garbage(
    index_dir: &IndexDir,
    is_unreachable: &dyn Fn(&ManifestHead) -> bool,
) -> Result<Option<GcReport>, JobError> {
    let Some(_lock) = index_dir.lock()? else { return Ok(None) };
    let mut store = index_dir.writer()?;
    let bytes_before = index_dir.bytes_on_disk().0;
    let mut report = delete_unreferenced(index_dir, &mut store, is_unreachable)?;
    store.vacuum()?;
    index_dir.remove_unused_segments(&store)?;
    report.bytes = bytes_before.saturating_sub(index_dir.bytes_on_disk().0);
    Ok(Some(report))
}

/// Deletes the same without returning space to the file system: the index reuses it. The caller holds the lock.
///
/// The process may end between any two steps. So the contents count as unparsed before their symbols are removed: a job that meets one of
/// them again parses it again.
fn delete_unreferenced(
    index_dir: &IndexDir,
    store: &mut IndexStore,
    is_unreachable: &dyn Fn(&ManifestHead) -> bool,
) -> Result<GcReport, JobError> {
    let (unreachable, kept): (Vec<_>, Vec<_>) = store.manifests()?.into_iter().partition(|head| is_unreachable(head));
    let mut referenced = BTreeSet::new();
    let mut blobs = BTreeSet::new();
    for head in &kept {
        for file in store.listing(head.id)? {
            if let FileState::Content(no, ..) = file.state {
                referenced.insert(no);
            }
            if let FileOrigin::Blob(oid) = file.origin {
                blobs.insert(oid);
            }
        }
    }
    let unused: Vec<ContentNo> = store.all_contents()?.into_iter().filter(|no| !referenced.contains(no)).collect();
    let (reserved, _) = store.reserved_numbers()?;
    store.write(|transaction| {
        transaction.set_collected_at(reserved)?;
        transaction.mark_unparsed(&unused)?;
        transaction.keep_blobs(&blobs)?;
        unreachable.iter().try_for_each(|head| transaction.drop_manifest(head.id))
    })?;
    if !unused.is_empty() {
        let mut writer = index_dir.symbol_writer()?;
        writer.remove(&unused);
        writer.commit()?;
        drop(writer);
        let segments = store.segments()?;
        let loose = store.unsegmented()?;
        store.write(|transaction| transaction.drop_contents(&unused))?;
        if !segments.is_empty() && unused.len() > MAX_LOOSE_CONTENTS.min(loose.len() + 1) {
            merge(index_dir, store, &segments, &referenced)?;
        }
    }
    Ok(GcReport { manifests: unreachable.len(), contents: unused.len(), bytes: 0 })
}
