//! Parses contents that have no facts yet, in the order of their numbers.
//!
//! Workers read and parse; only the job's thread writes. It commits in batches: a batch counts once both the symbol
//! index and the database have it. Invariant: the order of writes doesn't depend on the order in which workers finish.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::result_window::ResultWindow;
use super::{JobError, JobPhase, JobRun, out_of_descriptors};
use crate::classify::Provenance;
use crate::extract::{EXTRACTOR_VERSION, extract};
use crate::facts::Facts;
use crate::language::Language;
use crate::manifest::ContentNo;
use crate::ranked::{SymbolDocuments, SymbolWriter};
use crate::store::{FileOrigin, FileState, IndexStore, ListedFile, PackedFacts, ParsedContent};
use crate::text;
use codeyard_base::digest::sha256;
use codeyard_files::gate::{ReadFailure, RootReader};
use codeyard_git::{BlobRead, BlobReader, GitRepository};

/// ParseResult contents that may wait for the writer, per worker.
const QUEUE_PER_WORKER: usize = 64;
/// Bytes of source after which a batch is committed.
const BATCH_BYTES: u64 = 96 * 1024 * 1024;

/// A content that has to be parsed.
pub(super) struct UnparsedContent<'l> {
    no: ContentNo,
    language: Language,
    file: &'l ListedFile,
}

struct ParseResult {
    nth: usize,
    /// `None`: the bytes have changed or are gone; the next job indexes the new ones.
    symbols: Option<EncodedSymbols>,
    bytes: u64,
    /// Roughly the size of `symbols` in bytes.
    waiting: usize,
}

/// A content's symbols in the form in which they are written.
struct EncodedSymbols {
    count: u32,
    is_too_complex: bool,
    documents: SymbolDocuments,
    packed: PackedFacts,
}

/// The number of symbols in the files of a listing.
pub(super) fn count_symbols(store: &IndexStore, listing: &[ListedFile]) -> Result<u64, JobError> {
    let counts = store.symbol_counts()?;
    let of = |file: &ListedFile| match file.state {
        FileState::Content(no, ..) => {
            counts.binary_search_by_key(&no, |(no, _)| *no).map_or(0, |at| u64::from(counts[at].1))
        }
        FileState::Excluded(_) => 0,
    };
    Ok(listing.iter().map(of).sum())
}

/// The contents of the listing that have no facts; all of them, if the job is forced.
pub(super) fn unparsed<'l>(
    run: &JobRun<'_>,
    store: &IndexStore,
    listing: &'l [ListedFile],
) -> Result<Vec<UnparsedContent<'l>>, JobError> {
    let done = store.symbol_counts()?;
    let is_done = |no: ContentNo| !run.spec.is_forced && done.binary_search_by_key(&no, |(no, _)| *no).is_ok();
    let mut open: BTreeMap<ContentNo, UnparsedContent<'_>> = BTreeMap::new();
    for file in listing {
        if let FileState::Content(no, Some(language), Provenance::Written | Provenance::Generated) = file.state
            && !is_done(no)
        {
            open.entry(no).or_insert(UnparsedContent { no, language, file });
        }
    }
    Ok(open.into_values().collect())
}

/// Parses these contents. The previous facts of a content stay until its batch is committed. With `publishes`, each
/// batch is published.
pub(super) fn parse(
    run: &JobRun<'_>,
    store: &mut IndexStore,
    open: &[UnparsedContent<'_>],
    publishes: bool,
) -> Result<(), JobError> {
    if open.is_empty() {
        return Ok(());
    }
    run.progress.start(JobPhase::Parsing, open.len() as u64, open.iter().map(|content| content.file.size).sum());
    let mut writer = run.index_dir.symbol_writer()?;
    // A content may be parsed again, and an interrupted job, of this process or another one, may have left symbols.
    let symbols = run.index_dir.symbols()?;
    symbols.reload()?;
    let replaces = symbols.symbol_count() > 0;
    let next = AtomicUsize::new(0);
    let workers = run.settings.threads.min(open.len());
    let (send, receive) = sync_channel(QUEUE_PER_WORKER * workers);
    let window = ResultWindow::new();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let next = &next;
            let send = send.clone();
            let window = &window;
            scope.spawn(move || {
                codeyard_base::priority::give_way();
                run_worker(run, open, next, &send, window);
            });
        }
        drop(send);
        let to = ResultWriter { writer: &mut writer, window: &window, replaces, publishes };
        let written = write(run, store, to, open, receive);
        if written.is_err() {
            // Makes the workers stop: no content is left for them.
            next.store(open.len(), Ordering::Relaxed);
            window.close();
        }
        written
    })
}

/// Where results are written.
struct ResultWriter<'w> {
    writer: &'w mut SymbolWriter,
    window: &'w ResultWindow,
    /// The symbol index may hold symbols of the same contents.
    replaces: bool,
    publishes: bool,
}

/// Writes the workers' results in order.
fn write(
    run: &JobRun<'_>,
    store: &mut IndexStore,
    mut to: ResultWriter<'_>,
    open: &[UnparsedContent<'_>],
    receive: Receiver<Result<ParseResult, JobError>>,
) -> Result<(), JobError> {
    let mut waiting = BTreeMap::new();
    let mut nth = 0;
    let mut batch = ParsedBatch::new();
    let mut bytes = 0;
    for parsed in receive {
        let parsed = parsed?;
        waiting.insert(parsed.nth, parsed);
        while let Some(parsed) = waiting.remove(&nth) {
            let content = &open[nth];
            if let Some(symbols) = parsed.symbols {
                if to.replaces {
                    to.writer.remove(&[content.no]);
                }
                to.writer.add(symbols.documents)?;
                run.progress.symbols(u64::from(symbols.count));
                bytes += symbols.packed.size() as u64;
                let is_too_complex = symbols.is_too_complex;
                batch.push((ParsedContent { no: content.no, symbols: symbols.count, is_too_complex }, symbols.packed));
            }
            to.window.written(nth, parsed.waiting);
            bytes += parsed.bytes;
            run.progress.step(content.file.size);
            nth += 1;
            if bytes >= BATCH_BYTES {
                commit(store, &mut to, &mut batch)?;
                bytes = 0;
            }
        }
    }
    if run.stop.is_set() && nth < open.len() {
        return Err(JobError::Stopped);
    }
    run.progress.phase(JobPhase::Publishing);
    commit(store, &mut to, &mut batch)
}

/// Contents that wait for a commit, each with its facts.
type ParsedBatch = Vec<(ParsedContent, PackedFacts)>;

fn commit(store: &mut IndexStore, to: &mut ResultWriter<'_>, batch: &mut ParsedBatch) -> Result<(), JobError> {
    to.writer.commit()?;
    let parsed: Vec<ParsedContent> = batch.iter().map(|(content, _)| *content).collect();
    store.write(|transaction| {
        for (content, packed) in batch.iter() {
            transaction.put_facts(content.no, packed)?;
        }
        transaction.set_features(EXTRACTOR_VERSION)?;
        transaction.mark_parsed(&parsed)?;
        if to.publishes { transaction.publish() } else { Ok(()) }
    })?;
    batch.clear();
    Ok(())
}

/// One worker: parses contents until none is left.
fn run_worker(
    run: &JobRun<'_>,
    open: &[UnparsedContent<'_>],
    next: &AtomicUsize,
    send: &SyncSender<Result<ParseResult, JobError>>,
    window: &ResultWindow,
) {
    let mut window = window.worker();
    let opened = run.index_dir.reader().map_err(JobError::from);
    let (store, symbols) = match opened.and_then(|store| Ok((store, run.index_dir.symbols()?))) {
        Ok(opened) => opened,
        Err(error) => return drop(send.send(Err(error))),
    };
    let root_reader = RootReader::open(&run.spec.root);
    let blobs = run.git.as_ref().ok().map(GitRepository::reader);
    let mut bytes = Vec::new();
    loop {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        let Some(content) = open.get(nth) else {
            window.is_finished = true;
            return;
        };
        window.wait(nth);
        if run.stop.is_set() {
            return;
        }
        let parsed = parse_content(run, content, &store, &root_reader, blobs.as_ref(), &mut bytes).map(|facts| {
            let waiting = facts.as_ref().map_or(0, Facts::approximate_bytes);
            window.add(waiting);
            let encode = |facts: Facts| EncodedSymbols {
                count: facts.symbols.len() as u32,
                is_too_complex: facts.is_too_complex,
                documents: symbols.documents(content.no, content.language, &facts),
                packed: PackedFacts::of(&facts),
            };
            let bytes = facts.as_ref().map_or(0, |_| content.file.size);
            ParseResult { nth, bytes, waiting, symbols: facts.map(encode) }
        });
        if send.send(parsed).is_err() {
            return;
        }
    }
}

/// The facts of a content; `None`: its bytes are no longer there.
fn parse_content(
    run: &JobRun<'_>,
    content: &UnparsedContent<'_>,
    store: &IndexStore,
    root_reader: &RootReader,
    blobs: Option<&BlobReader>,
    bytes: &mut Vec<u8>,
) -> Result<Option<Facts>, JobError> {
    let sizes = run.settings.sizes;
    if content.file.size > sizes.parsed {
        return Ok(Some(Facts::default()));
    }
    let is_read = match &content.file.origin {
        FileOrigin::Disk(_) => match root_reader.read(Path::new(&*content.file.path), sizes.parsed, bytes) {
            Err(ReadFailure::Busy) => return Err(out_of_descriptors("file")),
            read => read.is_ok(),
        },
        FileOrigin::Blob(oid) => match blobs {
            Some(blobs) => run.read_blob(blobs, oid, sizes.parsed, bytes)? == BlobRead::Done,
            None => false,
        },
    };
    // The file may have changed since its content got its number.
    if !is_read || store.hash_of(content.no)? != Some(sha256(&*bytes)) {
        return Ok(None);
    }
    let text = text::decode(bytes);
    Ok(Some(extract(content.language, &String::from_utf8_lossy(&text))))
}
