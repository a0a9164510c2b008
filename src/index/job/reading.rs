//! Reading what differs: each file's bytes become a content, new ones are made searchable as text.
//!
//! Invariant: numbers are given in the order of paths, so that the same tree read from nothing always has the same numbers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{JobError, JobPhase, JobRun};
use crate::classify;
use crate::language::Language;
use crate::limits::MAX_LOOSE_CONTENTS;
use crate::manifest::ContentNo;
use crate::store::{KnownBlob, ContentKey, FileState, ExclusionReason, ListedFile, NewContent, FileOrigin, IndexStore};
use crate::text::{self, SegmentWriter};
use codeyard_base::digest::sha256;
use codeyard_files::gate::{RootReader, ReadFailure};
use codeyard_files::limits::FRESH_STAMP_MS;
use codeyard_git::{BlobReader, GitRepository};

/// A file that is to be in the manifest.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// Relative to the root.
    pub path: Box<str>,
    /// Where its bytes are.
    pub origin: FileOrigin,
}

/// What reading came to.
pub(super) struct Read {
    /// The new manifest's files, ordered by path.
    pub listing: Vec<ListedFile>,
    /// Files that were read.
    pub changed: u64,
}

/// One file that was read.
struct Seen {
    size: u64,
    origin: FileOrigin,
    what: What,
}

enum What {
    /// A content that is known already.
    Known(ContentNo, Option<Language>),
    /// A new one.
    New(ContentKey),
    Left(ExclusionReason),
    /// It went away meanwhile.
    Gone,
}

/// Reads those of the wanted files that aren't as they were.
pub(super) fn read(
    work: &JobRun<'_>,
    store: &mut IndexStore,
    before: &[ListedFile],
    wanted: Vec<Wanted>,
) -> Result<Read, JobError> {
    let trusted_until =
        store.manifest(&work.key)?.map_or(i128::MIN, |head| i128::from(head.published_at) * 1_000_000_000);
    let mut listing: Vec<Option<ListedFile>> = Vec::with_capacity(wanted.len());
    let mut open = Vec::new();
    for (at, file) in wanted.iter().enumerate() {
        let known = before.binary_search_by(|listed| listed.path.cmp(&file.path)).ok().map(|at| &before[at]);
        let same = known.filter(|listed| !work.order.is_forced && is_same(listed.origin, file.origin, trusted_until));
        if same.is_none() {
            open.push(at);
        }
        listing.push(same.cloned());
    }
    let seen = Reader { work, wanted: &wanted, open: &open }.run(store)?;
    let changed = open.len() as u64;
    let mut numbers = HashMap::new();
    let first = seen.first;
    for (nth, (at, seen)) in open.iter().zip(seen.files).enumerate() {
        let held = match seen.what {
            What::Gone => continue,
            What::Left(why) => FileState::Excluded(why),
            What::Known(no, language) => FileState::Content(no, language),
            What::New(key) => {
                let no = first + nth as ContentNo;
                let (no, _) = *numbers.entry(key).or_insert((no, seen.size));
                FileState::Content(no, key.language)
            }
        };
        listing[*at] = Some(ListedFile { path: wanted[*at].path.clone(), held, size: seen.size, origin: seen.origin });
    }
    let listing: Vec<ListedFile> = listing.into_iter().flatten().collect();
    let mut new: Vec<NewContent> = numbers.into_iter().map(|(key, (no, size))| NewContent { no, key, size }).collect();
    new.sort_unstable_by_key(|content| content.no);
    work.progress.phase(JobPhase::Publishing);
    store.write(|transaction| {
        transaction.add_contents(&new)?;
        if let Some((file, info)) = &seen.segment {
            let covered: Vec<ContentNo> = new.iter().map(|content| content.no).collect();
            transaction.add_segment(file, info.bytes, &covered)?;
        }
        for file in &listing {
            if let FileOrigin::Blob(oid) = &file.origin {
                let blob = match file.held {
                    FileState::Content(no, _) => KnownBlob::Content(no, file.size),
                    FileState::Excluded(why) => KnownBlob::Excluded(why, file.size),
                };
                transaction.put_blob(oid, language_of(&file.path, file.held), blob)?;
            }
        }
        // What has no language has no symbols, and needs no parsing.
        let plain: Vec<(ContentNo, u32)> =
            new.iter().filter(|content| content.key.language.is_none()).map(|content| (content.no, 0)).collect();
        transaction.parsed(&plain)
    })?;
    Ok(Read { listing, changed })
}

fn language_of(path: &str, held: FileState) -> Option<Language> {
    match held {
        FileState::Content(_, language) => language,
        FileState::Excluded(_) => Language::of_file(path, b""),
    }
}

/// A stamp that was young when the tree was last looked at may hide another change.
fn is_same(before: FileOrigin, now: FileOrigin, trusted_until: i128) -> bool {
    match now {
        FileOrigin::Blob(_) => before == now,
        FileOrigin::Disk(stamp) => {
            let settled = stamp.mtime_ns.max(stamp.ctime_ns) + i128::from(FRESH_STAMP_MS) * 1_000_000 < trusted_until;
            before == now && settled
        }
    }
}

struct Reader<'r> {
    work: &'r JobRun<'r>,
    wanted: &'r [Wanted],
    open: &'r [usize],
}

struct AllSeen {
    files: Vec<Seen>,
    /// The number that the first of them gets, if it is new.
    first: ContentNo,
    segment: Option<(String, text::SegmentInfo)>,
}

impl Reader<'_> {
    fn run(&self, store: &mut IndexStore) -> Result<AllSeen, JobError> {
        let work = self.work;
        if self.open.is_empty() {
            return Ok(AllSeen { files: Vec::new(), first: 0, segment: None });
        }
        let count = u32::try_from(self.open.len()).map_err(|_| JobError::Index("too many files".to_owned()))?;
        let first = store.write(|transaction| transaction.reserve(count))?;
        let loose = store.loose()?.len();
        let is_many = loose + self.open.len() > MAX_LOOSE_CONTENTS;
        let file = format!("{first}.seg");
        let writer = is_many
            .then(|| SegmentWriter::create(&work.repository.segment_path(&file), work.settings.threads))
            .transpose()?;
        let sizes = self.open.iter().map(|at| match self.wanted[*at].origin {
            FileOrigin::Disk(stamp) => stamp.size,
            FileOrigin::Blob(_) => 0,
        });
        work.progress.start(JobPhase::Reading, u64::from(count), sizes.sum());
        let next = AtomicUsize::new(0);
        let files: Mutex<Vec<(usize, Seen)>> = Mutex::new(Vec::with_capacity(self.open.len()));
        let failed = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..work.settings.threads.min(self.open.len()) {
                scope.spawn(|| {
                    codeyard_base::priority::give_way();
                    match self.some(first, &next, writer.as_ref()) {
                        Ok(mut seen) => files.lock().append(&mut seen),
                        Err(error) => {
                            next.store(self.open.len(), Ordering::Relaxed);
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
        let files = files.into_iter().map(|(_, seen)| seen).collect();
        let segment = writer.map(|writer| writer.finish().map(|info| (file, info))).transpose()?;
        Ok(AllSeen { files, first, segment })
    }

    /// What one thread reads: whatever comes next.
    fn some(
        &self,
        first: ContentNo,
        next: &AtomicUsize,
        writer: Option<&SegmentWriter>,
    ) -> Result<Vec<(usize, Seen)>, JobError> {
        let work = self.work;
        let store = work.repository.reader()?;
        let beneath = RootReader::open(&work.order.root);
        let blobs = work.order.reference.as_ref().and_then(|_| GitRepository::containing(&work.order.root)).map(|git| git.reader());
        let (mut seen, mut bytes) = (Vec::new(), Vec::new());
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(at) = self.open.get(nth) else { return Ok(seen) };
            if work.stop.is_set() {
                return Err(JobError::Stopped);
            }
            let one = self.one(&self.wanted[*at], &store, &beneath, blobs.as_ref(), &mut bytes)?;
            if let (What::New(_), Some(writer)) = (&one.what, writer) {
                writer.add(first + nth as ContentNo, &bytes)?;
            }
            work.progress.step(one.size);
            seen.push((nth, one));
        }
    }

    fn one(
        &self,
        wanted: &Wanted,
        store: &IndexStore,
        beneath: &RootReader,
        blobs: Option<&BlobReader>,
        bytes: &mut Vec<u8>,
    ) -> Result<Seen, JobError> {
        let most = self.work.settings.sizes.searched;
        let left = |why, size, origin| Seen { size, origin, what: What::Left(why) };
        let (size, origin) = match wanted.origin {
            FileOrigin::Disk(_) => match beneath.read(Path::new(&*wanted.path), most, bytes) {
                Ok(stamp) => (bytes.len() as u64, FileOrigin::Disk(stamp)),
                Err(ReadFailure::TooLarge(stamp)) => return Ok(left(ExclusionReason::TooLarge, stamp.size, FileOrigin::Disk(stamp))),
                Err(ReadFailure::Missing) => return Ok(Seen { size: 0, origin: wanted.origin, what: What::Gone }),
                Err(ReadFailure::Failed) => return Ok(left(ExclusionReason::Unreadable, 0, wanted.origin)),
            },
            FileOrigin::Blob(oid) => {
                let blobs = blobs.ok_or(JobError::NoGit)?;
                let language = Language::of_file(&wanted.path, b"");
                match store.blob(&oid, language)? {
                    Some(KnownBlob::Content(no, size)) => {
                        return Ok(Seen { size, origin: wanted.origin, what: What::Known(no, language) });
                    }
                    Some(KnownBlob::Excluded(why, size)) => return Ok(left(why, size, wanted.origin)),
                    None => {}
                }
                let size = blobs.size(&oid).unwrap_or(0);
                if size > most {
                    return Ok(left(ExclusionReason::TooLarge, size, wanted.origin));
                }
                if !blobs.read(&oid, bytes) {
                    return Ok(left(ExclusionReason::Unreadable, size, wanted.origin));
                }
                (size, wanted.origin)
            }
        };
        let what = match classify::left_out(&wanted.path, bytes) {
            Some(why) => What::Left(why),
            None => {
                let key =
                    ContentKey { hash: sha256(&*bytes), language: Language::of_file(&wanted.path, first_line(bytes)) };
                store.content(&key)?.map_or(What::New(key), |no| What::Known(no, key.language))
            }
        };
        Ok(Seen { size, origin, what })
    }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let head = &bytes[..bytes.len().min(256)];
    head.split(|byte| *byte == b'\n').next().unwrap_or(head)
}
