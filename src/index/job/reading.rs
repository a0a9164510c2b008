//! Reads changed files: each file's bytes become a content, and the text of new contents is indexed.
//!
//! Invariant: contents are numbered in the order of paths, so that the same tree read into an empty index always gets
//! the same numbers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{JobError, JobPhase, JobRun, out_of_descriptors};
use crate::classify;
use crate::language::Language;
use crate::limits::{MAX_LOOSE_CONTENTS, MAX_RETRIED_FILES};
use crate::manifest::ContentNo;
use crate::store::{
    ContentKey, ExclusionReason, FileOrigin, FileState, IndexStore, KnownBlob, ListedFile, NewContent, ParsedContent,
};
use crate::text::{self, SegmentWriter};
use codeyard_base::digest::sha256;
use codeyard_files::gate::{ReadFailure, RootReader};
use codeyard_files::limits::FRESH_STAMP_MS;
use codeyard_git::{BlobRead, BlobReader, GitRepository};

/// A file that the manifest will list.
#[derive(Debug, Clone)]
pub(super) struct PlannedFile {
    /// Relative to the root.
    pub path: Box<str>,
    /// The source of its bytes.
    pub origin: FileOrigin,
}

/// The result of reading.
pub(super) struct ReadResult {
    /// The files of the new manifest, ordered by path.
    pub listing: Vec<ListedFile>,
    /// The number of files that were read.
    pub changed: u64,
}

/// One file that was read.
struct ReadFile {
    size: u64,
    origin: FileOrigin,
    outcome: ReadOutcome,
}

enum ReadOutcome {
    /// A content that is already in the index.
    Known(ContentNo, Option<Language>),
    /// A new content.
    New(ContentKey),
    Excluded(ExclusionReason),
    /// The file was deleted in the meantime.
    Deleted,
}

/// Reads the files that have changed since the last manifest.
pub(super) fn read(
    run: &JobRun<'_>,
    store: &mut IndexStore,
    before: &[ListedFile],
    planned: Vec<PlannedFile>,
) -> Result<ReadResult, JobError> {
    let trusted_until =
        store.manifest(&run.key)?.map_or(i128::MIN, |head| i128::from(head.published_at) * 1_000_000_000);
    let unreadable = before.iter().filter(|listed| is_unreadable(listed)).count();
    let retries = run.spec.only.is_none() || unreadable <= MAX_RETRIED_FILES;
    let mut listing: Vec<Option<ListedFile>> = Vec::with_capacity(planned.len());
    let mut changed_at = Vec::new();
    for (at, file) in planned.iter().enumerate() {
        let known = before.binary_search_by(|listed| listed.path.cmp(&file.path)).ok().map(|at| &before[at]);
        let same = known.filter(|listed| {
            // What prevented reading may be over, though the file is the same.
            let is_retried = retries && is_unreadable(listed);
            !run.spec.is_forced && !is_retried && is_same(listed.origin, file.origin, trusted_until)
        });
        if same.is_none() {
            changed_at.push(at);
        }
        listing.push(same.cloned());
    }
    let read = FileReader { run, planned: &planned, changed_at: &changed_at }.run(store)?;
    let (mut changed, mut numbers) = (0, HashMap::new());
    let first = read.first;
    for (nth, (at, read)) in changed_at.iter().zip(read.files).enumerate() {
        // A file that still can't be read hasn't changed.
        changed += u64::from(!matches!(read.outcome, ReadOutcome::Excluded(ExclusionReason::Unreadable)));
        let state = match read.outcome {
            ReadOutcome::Deleted => continue,
            ReadOutcome::Excluded(why) => FileState::Excluded(why),
            ReadOutcome::Known(no, language) => FileState::Content(no, language),
            ReadOutcome::New(key) => {
                let no = first + nth as ContentNo;
                let (no, _) = *numbers.entry(key).or_insert((no, read.size));
                FileState::Content(no, key.language)
            }
        };
        listing[*at] =
            Some(ListedFile { path: planned[*at].path.clone(), state, size: read.size, origin: read.origin });
    }
    let listing: Vec<ListedFile> = listing.into_iter().flatten().collect();
    let mut new: Vec<NewContent> = numbers.into_iter().map(|(key, (no, size))| NewContent { no, key, size }).collect();
    new.sort_unstable_by_key(|content| content.no);
    run.progress.phase(JobPhase::Publishing);
    store.write(|transaction| {
        transaction.add_contents(&new)?;
        if let Some((file, info)) = &read.segment {
            let covered: Vec<ContentNo> = new.iter().map(|content| content.no).collect();
            transaction.add_segment(file, info.bytes, &covered)?;
        }
        for file in &listing {
            if let FileOrigin::Blob(oid) = &file.origin {
                let blob = match file.state {
                    FileState::Content(no, _) => KnownBlob::Content(no, file.size),
                    FileState::Excluded(ExclusionReason::Unreadable) => continue,
                    FileState::Excluded(why) => KnownBlob::Excluded(why, file.size),
                };
                transaction.put_blob(oid, language_of(&file.path, file.state), blob)?;
            }
        }
        // A content without a language has no symbols and isn't parsed.
        let plain = new.iter().filter(|content| content.key.language.is_none());
        let plain: Vec<ParsedContent> =
            plain.map(|content| ParsedContent { no: content.no, symbols: 0, is_too_complex: false }).collect();
        transaction.mark_parsed(&plain)
    })?;
    Ok(ReadResult { listing, changed })
}

fn language_of(path: &str, state: FileState) -> Option<Language> {
    match state {
        FileState::Content(_, language) => language,
        FileState::Excluded(_) => Language::of_file(path, b""),
    }
}

fn is_unreadable(file: &ListedFile) -> bool {
    file.state == FileState::Excluded(ExclusionReason::Unreadable)
}

/// A stamp that was recent at the last scan may hide a later change, so it isn't trusted.
fn is_same(before: FileOrigin, now: FileOrigin, trusted_until: i128) -> bool {
    match now {
        FileOrigin::Blob(_) => before == now,
        FileOrigin::Disk(stamp) => {
            let settled = stamp.mtime_ns.max(stamp.ctime_ns) + i128::from(FRESH_STAMP_MS) * 1_000_000 < trusted_until;
            before == now && settled
        }
    }
}

struct FileReader<'r> {
    run: &'r JobRun<'r>,
    planned: &'r [PlannedFile],
    changed_at: &'r [usize],
}

struct ReadBatch {
    files: Vec<ReadFile>,
    /// The number of the first file's content, if that is new.
    first: ContentNo,
    segment: Option<(String, text::SegmentInfo)>,
}

impl FileReader<'_> {
    fn run(&self, store: &mut IndexStore) -> Result<ReadBatch, JobError> {
        let run = self.run;
        if self.changed_at.is_empty() {
            return Ok(ReadBatch { files: Vec::new(), first: 0, segment: None });
        }
        let count = u32::try_from(self.changed_at.len()).map_err(|_| JobError::Index("too many files".to_owned()))?;
        let first = store.write(|transaction| transaction.reserve(count))?;
        let loose = store.unsegmented()?.len();
        let is_many = loose + self.changed_at.len() > MAX_LOOSE_CONTENTS;
        let file = format!("{first}.seg");
        let writer = is_many
            .then(|| SegmentWriter::create(&run.index_dir.segment_path(&file), run.settings.threads))
            .transpose()?;
        let sizes = self.changed_at.iter().map(|at| match self.planned[*at].origin {
            FileOrigin::Disk(stamp) => stamp.size,
            FileOrigin::Blob(_) => 0,
        });
        run.progress.start(JobPhase::Reading, u64::from(count), sizes.sum());
        let next = AtomicUsize::new(0);
        let files: Mutex<Vec<(usize, ReadFile)>> = Mutex::new(Vec::with_capacity(self.changed_at.len()));
        let failed = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..run.settings.threads.min(self.changed_at.len()) {
                scope.spawn(|| {
                    codeyard_base::priority::give_way();
                    match self.run_worker(first, &next, writer.as_ref()) {
                        Ok(mut read) => files.lock().append(&mut read),
                        Err(error) => {
                            next.store(self.changed_at.len(), Ordering::Relaxed);
                            failed.lock().get_or_insert(error);
                        }
                    }
                });
            }
        });
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        let mut files = files.into_inner();
        files.sort_unstable_by_key(|(nth, _)| *nth);
        let files = files.into_iter().map(|(_, read)| read).collect();
        let segment = writer.map(|writer| writer.finish().map(|info| (file, info))).transpose()?;
        Ok(ReadBatch { files, first, segment })
    }

    /// One thread: reads files until none is left.
    fn run_worker(
        &self,
        first: ContentNo,
        next: &AtomicUsize,
        writer: Option<&SegmentWriter>,
    ) -> Result<Vec<(usize, ReadFile)>, JobError> {
        let run = self.run;
        let store = run.index_dir.reader()?;
        let root_reader = RootReader::open(&run.spec.root);
        let blobs = run.git.as_ref().ok().map(GitRepository::reader);
        let (mut read, mut bytes) = (Vec::new(), Vec::new());
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(at) = self.changed_at.get(nth) else { return Ok(read) };
            if run.stop.is_set() {
                return Err(JobError::Stopped);
            }
            let one = self.read_file(&self.planned[*at], &store, &root_reader, blobs.as_ref(), &mut bytes)?;
            if let (ReadOutcome::New(_), Some(writer)) = (&one.outcome, writer) {
                writer.add(first + nth as ContentNo, &bytes)?;
            }
            run.progress.step(one.size);
            read.push((nth, one));
        }
    }

    fn read_file(
        &self,
        planned: &PlannedFile,
        store: &IndexStore,
        root_reader: &RootReader,
        blobs: Option<&BlobReader>,
        bytes: &mut Vec<u8>,
    ) -> Result<ReadFile, JobError> {
        let most = self.run.settings.sizes.searched;
        let excluded = |why, size, origin| ReadFile { size, origin, outcome: ReadOutcome::Excluded(why) };
        let (size, origin) = match planned.origin {
            FileOrigin::Disk(_) => match root_reader.read(Path::new(&*planned.path), most, bytes) {
                Ok(stamp) => (bytes.len() as u64, FileOrigin::Disk(stamp)),
                Err(ReadFailure::TooLarge(stamp)) => {
                    return Ok(excluded(ExclusionReason::TooLarge, stamp.size, FileOrigin::Disk(stamp)));
                }
                Err(ReadFailure::Missing) => {
                    return Ok(ReadFile { size: 0, origin: planned.origin, outcome: ReadOutcome::Deleted });
                }
                Err(ReadFailure::Busy) => return Err(out_of_descriptors("file")),
                Err(ReadFailure::Failed) => return Ok(excluded(ExclusionReason::Unreadable, 0, planned.origin)),
            },
            FileOrigin::Blob(oid) => {
                let blobs = blobs.ok_or(JobError::NoGit)?;
                let language = Language::of_file(&planned.path, b"");
                let known = if self.run.spec.is_forced { None } else { store.blob(&oid, language)? };
                match known {
                    Some(KnownBlob::Content(no, size)) => {
                        return Ok(ReadFile {
                            size,
                            origin: planned.origin,
                            outcome: ReadOutcome::Known(no, language),
                        });
                    }
                    Some(KnownBlob::Excluded(why, size)) => return Ok(excluded(why, size, planned.origin)),
                    None => {}
                }
                match blobs.read(&oid, most, bytes) {
                    BlobRead::Done => (bytes.len() as u64, planned.origin),
                    BlobRead::TooLarge => {
                        let size = blobs.size(&oid).unwrap_or(0);
                        return Ok(excluded(ExclusionReason::TooLarge, size, planned.origin));
                    }
                    BlobRead::Failed => return Ok(excluded(ExclusionReason::Unreadable, 0, planned.origin)),
                    BlobRead::ReaderEnded(how) => return Err(self.run.reader_ended(how)),
                }
            }
        };
        let outcome = match classify::exclusion_reason(&planned.path, bytes) {
            Some(why) => ReadOutcome::Excluded(why),
            None => {
                let key =
                    ContentKey { hash: sha256(&*bytes), language: Language::of_file(&planned.path, first_line(bytes)) };
                store.content(&key)?.map_or(ReadOutcome::New(key), |no| ReadOutcome::Known(no, key.language))
            }
        };
        Ok(ReadFile { size, origin, outcome })
    }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let head = &bytes[..bytes.len().min(256)];
    head.split(|byte| *byte == b'\n').next().unwrap_or(head)
}
