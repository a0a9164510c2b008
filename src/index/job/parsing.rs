//! Parsing what wasn't parsed yet, content by content, in the order of their numbers.
//!
//! Workers read and parse; the thread of the job alone writes. What is written is committed in batches: a batch counts only once the
//! symbol index and the database both have it. Invariant: the order of writing doesn't hang on which worker was first.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::{JobError, JobPhase, JobRun};
use crate::extract::{EXTRACTOR_VERSION, extract};
use crate::facts::Facts;
use crate::language::Language;
use crate::manifest::ContentNo;
use crate::ranked::{Documents, SymbolWriter};
use crate::store::{FileState, ListedFile, FileOrigin, PackedFacts, IndexStore};
use crate::text;
use codeyard_base::digest::sha256;
use codeyard_files::gate::RootReader;
use codeyard_git::{BlobReader, GitRepository};

/// Contents that wait for being written, per worker.
const QUEUE: usize = 64;
/// Bytes of source after which a batch is committed.
const BATCH_BYTES: u64 = 96 * 1024 * 1024;

/// A content to parse.
pub(super) struct Open<'l> {
    no: ContentNo,
    language: Language,
    file: &'l ListedFile,
}

/// What came of it.
struct Parsed {
    nth: usize,
    /// `None`: its bytes aren't there any more; the next job sees what is there instead.
    made: Option<Made>,
    bytes: u64,
}

/// A content's symbols, as they are written.
struct Made {
    symbols: u32,
    documents: Documents,
    packed: PackedFacts,
}

/// How many symbols the files of a listing have.
pub(super) fn count(store: &IndexStore, listing: &[ListedFile]) -> Result<u64, JobError> {
    let counts = store.symbol_counts()?;
    let of = |file: &ListedFile| match file.held {
        FileState::Content(no, _) => counts.binary_search_by_key(&no, |(no, _)| *no).map_or(0, |at| u64::from(counts[at].1)),
        FileState::Excluded(_) => 0,
    };
    Ok(listing.iter().map(of).sum())
}

/// What the listing shows and nobody has parsed; all of it, if the job is forced.
pub(super) fn open<'l>(work: &JobRun<'_>, store: &IndexStore, listing: &'l [ListedFile]) -> Result<Vec<Open<'l>>, JobError> {
    let done = store.symbol_counts()?;
    let is_done = |no: ContentNo| !work.order.is_forced && done.binary_search_by_key(&no, |(no, _)| *no).is_ok();
    let mut open: BTreeMap<ContentNo, Open<'_>> = BTreeMap::new();
    for file in listing {
        if let FileState::Content(no, Some(language)) = file.held
            && !is_done(no)
        {
            open.entry(no).or_insert(Open { no, language, file });
        }
    }
    Ok(open.into_values().collect())
}

/// Parses these contents. What was known of one is known until its batch is committed; each batch is published, if that is wanted.
pub(super) fn parse(work: &JobRun<'_>, store: &mut IndexStore, open: &[Open<'_>], publishes: bool) -> Result<(), JobError> {
    if open.is_empty() {
        return Ok(());
    }
    work.progress.start(JobPhase::Parsing, open.len() as u64, open.iter().map(|content| content.file.size).sum());
    let mut writer = work.repository.symbol_writer()?;
    // They may be parsed anew, and a job that was cut short may have left symbols of others.
    let replaces = work.repository.symbols()?.symbol_count() > 0;
    let next = AtomicUsize::new(0);
    let workers = work.settings.threads.min(open.len());
    let (send, receive) = sync_channel(QUEUE * workers);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (next, send) = (&next, send.clone());
            scope.spawn(move || {
                codeyard_base::priority::give_way();
                some(work, open, next, &send)
            });
        }
        drop(send);
        let to = Writing { writer: &mut writer, replaces, publishes };
        let written = write(work, store, to, open, receive);
        if written.is_err() {
            // Workers find no more to do, and their channel is closed.
            next.store(open.len(), Ordering::Relaxed);
        }
        written
    })
}

/// How to write.
struct Writing<'w> {
    writer: &'w mut SymbolWriter,
    /// Symbols of the same contents may be there.
    replaces: bool,
    publishes: bool,
}

/// Takes what the workers made, in order.
fn write(
    work: &JobRun<'_>,
    store: &mut IndexStore,
    mut to: Writing<'_>,
    open: &[Open<'_>],
    receive: Receiver<Result<Parsed, JobError>>,
) -> Result<(), JobError> {
    let (mut waiting, mut nth, mut batch, mut bytes) = (BTreeMap::new(), 0, Batch::new(), 0);
    for parsed in receive {
        let parsed = parsed?;
        waiting.insert(parsed.nth, parsed);
        while let Some(parsed) = waiting.remove(&nth) {
            let content = &open[nth];
            if let Some(made) = parsed.made {
                if to.replaces {
                    to.writer.remove(&[content.no]);
                }
                to.writer.add(made.documents)?;
                work.progress.symbols(u64::from(made.symbols));
                batch.push((content.no, made.symbols, made.packed));
            }
            bytes += parsed.bytes;
            work.progress.step(content.file.size);
            nth += 1;
            if bytes >= BATCH_BYTES {
                commit(store, &mut to, &mut batch)?;
                bytes = 0;
            }
        }
    }
    if work.stop.is_set() && nth < open.len() {
        return Err(JobError::Stopped);
    }
    work.progress.phase(JobPhase::Publishing);
    commit(store, &mut to, &mut batch)
}

/// What waits for being committed: the number of symbols and the facts of each content.
type Batch = Vec<(ContentNo, u32, PackedFacts)>;

fn commit(store: &mut IndexStore, to: &mut Writing<'_>, batch: &mut Batch) -> Result<(), JobError> {
    to.writer.commit()?;
    let parsed: Vec<(ContentNo, u32)> = batch.iter().map(|(no, symbols, _)| (*no, *symbols)).collect();
    store.write(|transaction| {
        for (no, _, packed) in batch.iter() {
            transaction.put_facts(*no, packed)?;
        }
        transaction.set_features(EXTRACTOR_VERSION)?;
        transaction.parsed(&parsed)?;
        if to.publishes { transaction.publish() } else { Ok(()) }
    })?;
    batch.clear();
    Ok(())
}

/// What one worker does: whatever comes next.
fn some(work: &JobRun<'_>, open: &[Open<'_>], next: &AtomicUsize, send: &SyncSender<Result<Parsed, JobError>>) {
    let opened = work.repository.reader().map_err(JobError::from);
    let (store, symbols) = match opened.and_then(|store| Ok((store, work.repository.symbols()?))) {
        Ok(opened) => opened,
        Err(error) => return drop(send.send(Err(error))),
    };
    let beneath = RootReader::open(&work.order.root);
    let blobs = work.order.reference.as_ref().and_then(|_| GitRepository::containing(&work.order.root)).map(|git| git.reader());
    let mut bytes = Vec::new();
    loop {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        let Some(content) = open.get(nth) else { return };
        if work.stop.is_set() {
            return;
        }
        let parsed = one(work, content, &store, &beneath, blobs.as_ref(), &mut bytes).map(|facts| {
            let make = |facts: Facts| Made {
                symbols: facts.symbols.len() as u32,
                documents: symbols.documents(content.no, content.language, &facts),
                packed: PackedFacts::of(&facts),
            };
            Parsed { nth, bytes: facts.as_ref().map_or(0, |_| content.file.size), made: facts.map(make) }
        });
        if send.send(parsed).is_err() {
            return;
        }
    }
}

/// The facts of a content; `None`: its bytes aren't there any more.
fn one(
    work: &JobRun<'_>,
    content: &Open<'_>,
    store: &IndexStore,
    beneath: &RootReader,
    blobs: Option<&BlobReader>,
    bytes: &mut Vec<u8>,
) -> Result<Option<Facts>, JobError> {
    let sizes = work.settings.sizes;
    if content.file.size > sizes.parsed {
        return Ok(Some(Facts::default()));
    }
    let is_read = match &content.file.origin {
        FileOrigin::Disk(_) => beneath.read(Path::new(&*content.file.path), sizes.parsed, bytes).is_ok(),
        FileOrigin::Blob(oid) => blobs.is_some_and(|blobs| blobs.read(oid, bytes)),
    };
    // The file may have changed since it was numbered.
    if !is_read || store.hash_of(content.no)? != Some(sha256(&*bytes)) {
        return Ok(None);
    }
    let text = text::decode(bytes);
    Ok(Some(extract(content.language, &String::from_utf8_lossy(&text))))
}
