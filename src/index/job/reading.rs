//! Reads changed files: each file's bytes become a content, and the text of new contents is indexed.
//!
//! Invariant: contents are numbered in the order of paths, so that the same tree read into an empty index always gets
//! the same numbers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{JobError, JobPhase, JobRun, out_of_descriptors};
use crate::classify::{ContentTraits, ExclusionReason, Provenance, classify};
use crate::language::Language;
use crate::limits::MAX_LOOSE_CONTENTS;
use crate::manifest::ContentNo;
use crate::store::{BlobFacts, ContentKey, FileOrigin, FileState, IndexStore, ListedFile, NewContent, ParsedContent};
use crate::text::{self, SegmentWriter};
use codeyard_base::digest::sha256;
use codeyard_files::gate::{ReadFailure, RootReader};
use codeyard_files::limits::FRESH_STAMP_MS;
use codeyard_git::{BlobRead, BlobReader, GitRepository};

/// Unreadable files that a job for other changed files tries again; if there are more, only jobs that look at all files do.
const MAX_RETRIED_FILES: usize = 256;

/// A file that the manifest will list.
#[derive(Debug, Clone)]
pub(super) struct PlannedFile {
    /// Relative to the root.
    pub path: Box<str>,
    /// The source of its bytes.
    pub origin: FileOrigin,
}

pub(super) struct ReadResult {
    /// The files of the new manifest, ordered by path.
    pub listing: Vec<ListedFile>,
    /// The number of files that were read.
    pub changed: u64,
}

struct ReadFile {
    size: u64,
    origin: FileOrigin,
    outcome: ReadOutcome,
    /// What is now known about the blob that was read.
    facts: Option<BlobFacts>,
}

enum ReadOutcome {
    /// A content that is already in the index, and how the file is listed.
    Known(ContentNo, ListedAs),
    New(ContentKey, ListedAs),
    Excluded(ExclusionReason),
    /// The file was deleted in the meantime.
    Deleted,
}

/// What the manifest says about a file that is searched.
type ListedAs = (Option<Language>, Provenance);

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
    let mut changed = 0;
    let mut numbers = HashMap::new();
    let mut blobs = Vec::new();
    let first = read.first;
    for (nth, (at, read)) in changed_at.iter().zip(read.files).enumerate() {
        // A file that still can't be read hasn't changed.
        changed += u64::from(!matches!(read.outcome, ReadOutcome::Excluded(ExclusionReason::Unreadable)));
        let state = match read.outcome {
            ReadOutcome::Deleted => continue,
            ReadOutcome::Excluded(why) => FileState::Excluded(why),
            ReadOutcome::Known(no, (language, provenance)) => FileState::Content(no, language, provenance),
            ReadOutcome::New(key, (language, provenance)) => {
                let no = first + nth as ContentNo;
                let (no, _) = *numbers.entry(key).or_insert((no, read.size));
                FileState::Content(no, language, provenance)
            }
        };
        if let (FileOrigin::Blob(oid), Some(facts)) = (read.origin, read.facts) {
            blobs.push((oid, facts));
        }
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
        for (oid, facts) in &blobs {
            transaction.put_blob(oid, facts)?;
        }
        // A content without a language has no symbols and isn't parsed.
        let plain = new.iter().filter(|content| content.key.language.is_none());
        let plain: Vec<ParsedContent> =
            plain.map(|content| ParsedContent { no: content.no, symbols: 0, is_too_complex: false }).collect();
        transaction.mark_parsed(&plain)
    })?;
    Ok(ReadResult { listing, changed })
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
            .then(|| {
                let path = run.index_dir.segment_path(&file);
                SegmentWriter::create(&path, run.settings.threads, run.settings.text_percent)
            })
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
        let mut read = Vec::new();
        let mut bytes = Vec::new();
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(at) = self.changed_at.get(nth) else { return Ok(read) };
            if run.stop.is_set() {
                return Err(JobError::Stopped);
            }
            let one = self.read_file(&self.planned[*at], &store, &root_reader, blobs.as_ref(), &mut bytes)?;
            if let (ReadOutcome::New(..), Some(writer)) = (&one.outcome, writer) {
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
        let excluded =
            |why, size, origin| Ok(ReadFile { size, origin, outcome: ReadOutcome::Excluded(why), facts: None });
        if let FileOrigin::Blob(oid) = planned.origin {
            return self.read_blob(planned, oid, store, blobs.ok_or(JobError::NoGit)?, bytes);
        }
        match root_reader.read(Path::new(&*planned.path), self.run.settings.sizes.searched, bytes) {
            Ok(stamp) => {
                let traits = ContentTraits::of(bytes);
                let outcome = outcome(&planned.path, traits, first_line(bytes), || sha256(&*bytes), store)?;
                Ok(ReadFile { size: bytes.len() as u64, origin: FileOrigin::Disk(stamp), outcome, facts: None })
            }
            Err(ReadFailure::TooLarge(stamp)) => {
                excluded(ExclusionReason::TooLarge, stamp.size, FileOrigin::Disk(stamp))
            }
            Err(ReadFailure::Missing) => {
                Ok(ReadFile { size: 0, origin: planned.origin, outcome: ReadOutcome::Deleted, facts: None })
            }
            Err(ReadFailure::Busy) => Err(out_of_descriptors("file")),
            Err(ReadFailure::Failed) => excluded(ExclusionReason::Unreadable, 0, planned.origin),
        }
    }

    /// Reads a blob, unless what is known about it suffices for this path.
    fn read_blob(
        &self,
        planned: &PlannedFile,
        oid: [u8; 20],
        store: &IndexStore,
        blobs: &BlobReader,
        bytes: &mut Vec<u8>,
    ) -> Result<ReadFile, JobError> {
        let most = self.run.settings.sizes.searched;
        let read = |size, outcome, facts| Ok(ReadFile { size, origin: planned.origin, outcome, facts });
        let known = if self.run.spec.is_forced { None } else { store.blob(&oid)? };
        if let Some(known) = known {
            if known.size > most {
                return read(known.size, ReadOutcome::Excluded(ExclusionReason::TooLarge), None);
            }
            let outcome = outcome(&planned.path, known.traits, &known.first_line, || known.hash, store)?;
            // Bytes that were indexed as another language only are read as this one.
            if !matches!(outcome, ReadOutcome::New(..)) {
                return read(known.size, outcome, None);
            }
        }
        match self.run.read_blob(blobs, &oid, most, bytes)? {
            BlobRead::Done => {
                let facts = facts_of(bytes);
                let outcome = outcome(&planned.path, facts.traits, first_line(bytes), || facts.hash, store)?;
                read(facts.size, outcome, Some(facts))
            }
            BlobRead::TooLarge(size) => read(size, ReadOutcome::Excluded(ExclusionReason::TooLarge), None),
            BlobRead::Failed | BlobRead::ReaderEnded(_) => {
                read(0, ReadOutcome::Excluded(ExclusionReason::Unreadable), None)
            }
        }
    }
}

/// What becomes of bytes with these traits, this first line and this hash at this path.
fn outcome(
    path: &str,
    traits: ContentTraits,
    first_line: &[u8],
    hash: impl FnOnce() -> [u8; 32],
    store: &IndexStore,
) -> Result<ReadOutcome, JobError> {
    let provenance = match classify(path, traits) {
        Ok(provenance) => provenance,
        Err(why) => return Ok(ReadOutcome::Excluded(why)),
    };
    let language = Language::of_file(path, first_line);
    let listed = (language, provenance);
    // A content without a language isn't parsed.
    let parsed_as = language.filter(|_| provenance != Provenance::Minified);
    let key = ContentKey { hash: hash(), language: parsed_as };
    Ok(store.content(&key)?.map_or(ReadOutcome::New(key, listed), |no| ReadOutcome::Known(no, listed)))
}

fn facts_of(bytes: &[u8]) -> BlobFacts {
    let line = first_line(bytes);
    let first_line = if Language::may_depend_on(line) { line } else { b"" };
    let traits = ContentTraits::of(bytes);
    BlobFacts { hash: sha256(bytes), size: bytes.len() as u64, traits, first_line: first_line.into() }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let head = &bytes[..bytes.len().min(256)];
    head.split(|byte| *byte == b'\n').next().unwrap_or(head)
}
