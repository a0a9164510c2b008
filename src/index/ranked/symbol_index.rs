//! The symbol index on disk: opens it, writes to it, and returns the state that queries read.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tantivy::directory::MmapDirectory;
use tantivy::directory::error::OpenWriteError;
use tantivy::indexer::{LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::schema::document::TantivyDocument;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyError, Term};

use crate::limits::MAX_SYMBOLS_PER_CONTENT;
use crate::store::{StoreError, is_full};
use crate::{ContentNo, Facts, Language, Manifest};
use codeyard_base::clock::Deadline;

use super::index_view::SymbolIndexView;
use super::schema::{FORMAT, Fields};

/// Memory of the symbol index's writer, in bytes; beyond it a segment is written.
const SYMBOL_WRITER_BYTES: usize = 128 * 1024 * 1024;

/// The file with the format version, beside tantivy's files.
const FORMAT_FILE: &str = "format";
/// This many segments of similar sizes are merged.
const MIN_MERGED_SEGMENTS: usize = 6;
/// Segments with more symbols aren't merged.
const MAX_MERGED_SYMBOLS: usize = 4_000_000;
/// A segment with a larger share of deleted symbols is rewritten.
const MAX_DELETED_SHARE: f32 = 0.4;
/// How long a writer waits for the lock of an earlier one.
const WRITER_WAIT: Duration = Duration::from_millis(500);
/// Time between two checks whether a merge is done; grows from the first to the second.
const FIRST_MERGE_POLL: Duration = Duration::from_millis(1);
const MAX_MERGE_POLL: Duration = Duration::from_millis(50);

/// Why the symbol index can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SymbolIndexError {
    /// Another build wrote it.
    #[error("the symbol index has format {found}, this build reads {FORMAT}; run `codeyard index --force`")]
    OtherFormat {
        /// Its format version.
        found: String,
    },
    #[error("the symbol index is damaged ({0}); run `codeyard index --force`")]
    Damaged(String),
    /// Another process is writing to it.
    #[error("another process is writing the symbol index; try again when `codeyard index stats` shows no active job")]
    Busy,
    /// The disk or the operating system reported an error.
    #[error(
        "could not read or write the symbol index ({0}); check the disk of the state directory, then run `codeyard index`"
    )]
    Io(String),
    #[error(transparent)]
    Full(StoreError),
}

impl From<TantivyError> for SymbolIndexError {
    fn from(error: TantivyError) -> Self {
        if io_kind(&error).is_some_and(is_full) {
            return Self::Full(StoreError::Full);
        }
        match error {
            TantivyError::LockFailure(..) => Self::Busy,
            TantivyError::IoError(error) if error.kind() != std::io::ErrorKind::InvalidData => {
                Self::Io(error.kind().to_string())
            }
            // The writer's thread doesn't report why it failed. What was committed before is intact.
            TantivyError::OpenDirectoryError(_)
            | TantivyError::OpenWriteError(_)
            | TantivyError::SystemError(_)
            | TantivyError::ErrorInThread(_)
            | TantivyError::Poisoned => Self::Io(describe(&error)),
            other => Self::Damaged(describe(&other)),
        }
    }
}

impl From<std::io::Error> for SymbolIndexError {
    fn from(error: std::io::Error) -> Self {
        Self::from(TantivyError::from(error))
    }
}

/// The operating system's error, if there is one.
fn io_kind(error: &TantivyError) -> Option<std::io::ErrorKind> {
    match error {
        TantivyError::IoError(error) => Some(error.kind()),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => Some(io_error.kind()),
        _ => None,
    }
}

/// The kind of an error, without the paths that its text can contain.
fn describe(error: &TantivyError) -> String {
    let text = match error {
        TantivyError::OpenReadError(_) => "could not open a file",
        TantivyError::DataCorruption(_) => "a file has unexpected contents",
        TantivyError::IncompatibleIndex(_) => "written by another version of tantivy",
        TantivyError::OpenWriteError(_) => "could not create a file",
        TantivyError::OpenDirectoryError(_) => "could not open the folder",
        TantivyError::SystemError(_) => "could not start a thread",
        TantivyError::SchemaError(_) | TantivyError::FieldNotFound(_) => "unexpected fields",
        TantivyError::ErrorInThread(_) | TantivyError::Poisoned => "the writer failed",
        _ => "could not read it",
    };
    text.into()
}

/// The symbol index of one index folder. Cheap to share; reads never wait for writes.
pub struct SymbolIndex {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    directory: MmapDirectory,
}

impl SymbolIndex {
    /// Opens the index in this folder, or creates an empty one.
    ///
    /// # Errors
    /// Another build wrote it, it is damaged, or the disk fails.
    pub fn open(folder: &Path) -> Result<Self, SymbolIndexError> {
        fs::create_dir_all(folder)?;
        let (schema, fields) = Fields::schema();
        let format = folder.join(FORMAT_FILE);
        let directory = MmapDirectory::open(folder).map_err(TantivyError::from)?;
        let index = match fs::read_to_string(&format) {
            Ok(found) if found.trim() == FORMAT.to_string() => Index::open(directory.clone())?,
            Ok(found) => return Err(SymbolIndexError::OtherFormat { found: found.trim().chars().take(12).collect() }),
            // Without the format file, the index was never completed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let index = Index::open_or_create(directory.clone(), schema.clone())?;
                fs::write(&format, FORMAT.to_string())?;
                index
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(SymbolIndexError::Damaged("its format file is unreadable".into()));
            }
            Err(error) => return Err(error.into()),
        };
        if index.schema() != schema {
            return Err(SymbolIndexError::Damaged("unexpected fields".into()));
        }
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, fields, directory })
    }

    /// Opens the only writer.
    ///
    /// # Errors
    /// Another process has the writer, or the disk fails.
    pub fn writer(&self) -> Result<SymbolWriter, SymbolIndexError> {
        self.forget_unmapped_files();
        let until = Deadline::after(WRITER_WAIT);
        let writer: IndexWriter = loop {
            match self.index.writer_with_num_threads(1, SYMBOL_WRITER_BYTES) {
                // A process that another thread is starting keeps the lock of an earlier writer until it runs its program.
                Err(TantivyError::LockFailure(..)) if !until.passed() => std::thread::park_timeout(FIRST_MERGE_POLL),
                opened => break opened?,
            }
        };
        // Segments are merged after a job, not during it. Otherwise a large build would rewrite its segments several
        // times.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        // A process that was killed during a commit leaves files, and the next commit may give the same names to its own.
        writer.garbage_collect_files().wait()?;
        Ok(SymbolWriter { writer, fields: self.fields })
    }

    /// The documents of all symbols of a content. Any thread can make them; that takes about as long as adding them.
    pub fn documents(&self, content: ContentNo, language: Language, facts: &Facts) -> SymbolDocuments {
        let symbols = (0_u32..).zip(facts.symbols.iter().take(MAX_SYMBOLS_PER_CONTENT));
        SymbolDocuments(
            symbols.map(|(at, symbol)| self.fields.document(content, language, facts, at, symbol)).collect(),
        )
    }

    /// Merges segments of similar sizes if there are many, one group after the other. Readers keep the segments that
    /// they have open. `wait` is called with the time to wait for a merge; if it returns true, merging stops. Returns
    /// whether anything was merged.
    ///
    /// # Errors
    /// Another process is writing, or the disk fails.
    pub fn compact(&self, wait: &dyn Fn(Duration) -> bool) -> Result<bool, SymbolIndexError> {
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(MIN_MERGED_SEGMENTS);
        policy.set_max_docs_before_merge(MAX_MERGED_SYMBOLS);
        policy.set_del_docs_ratio_before_merge(MAX_DELETED_SHARE);
        let groups = policy.compute_merge_candidates(&self.index.searchable_segment_metas()?);
        if groups.is_empty() {
            return Ok(false);
        }
        let mut writer = self.writer()?.writer;
        let mut has_merged = false;
        for group in groups {
            let mut merging = pin!(writer.merge(&group.0));
            let mut pause = FIRST_MERGE_POLL;
            loop {
                match merging.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(merged) => break has_merged |= merged?.is_some(),
                    // Dropping the writer abandons the merge.
                    Poll::Pending if wait(pause) => return Ok(has_merged),
                    Poll::Pending => pause = (pause * 2).min(MAX_MERGE_POLL),
                }
            }
        }
        writer.wait_merging_threads()?;
        Ok(has_merged)
    }

    /// Loads the latest commit of any process.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn reload(&self) -> Result<(), SymbolIndexError> {
        self.reader.reload()?;
        self.forget_unmapped_files();
        Ok(())
    }

    /// Removes the names of files that are no longer mapped into memory. Tantivy keeps them, some 300 bytes for each commit, until
    /// someone asks which files are mapped.
    fn forget_unmapped_files(&self) {
        self.directory.get_cache_info();
    }

    /// The commit that [`Self::reload`] loaded, restricted to this manifest. Takes a few milliseconds per million
    /// symbols. Later writes don't change the view.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn view(&self, manifest: Arc<Manifest>) -> Result<SymbolIndexView, SymbolIndexError> {
        SymbolIndexView::new(self.reader.searcher(), self.fields, manifest)
    }

    /// The number of symbols of all contents, in a manifest or not.
    pub fn symbol_count(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Whether a query succeeds.
    pub fn is_healthy(&self) -> bool {
        let any = Term::from_field_u64(self.fields.content, 0);
        self.reader.reload().is_ok() && self.reader.searcher().doc_freq(&any).is_ok()
    }

    /// Reads all files and compares their checksums.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn verify(&self) -> Result<(), SymbolIndexError> {
        match self.index.validate_checksum()?.len() {
            0 => Ok(()),
            bad => Err(SymbolIndexError::Damaged(format!("{bad} files have wrong checksums"))),
        }
    }

    /// The number of symbols of each content in the latest commit of any process. Contents without symbols are left out.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn symbols_by_content(&self) -> Result<HashMap<ContentNo, u64>, SymbolIndexError> {
        self.reload()?;
        let mut counts = HashMap::new();
        for segment in self.reader.searcher().segment_readers() {
            let contents = segment.fast_fields().u64("content")?.first_or_default_col(u64::MAX);
            for doc in segment.doc_ids_alive() {
                *counts.entry(contents.get_val(doc) as ContentNo).or_insert(0) += 1;
            }
        }
        Ok(counts)
    }
}

/// The documents of one content, ready to be added.
pub struct SymbolDocuments(Vec<TantivyDocument>);

/// Adds and removes symbols. Nothing is visible before [`Self::commit`]; dropping the writer discards the rest.
pub struct SymbolWriter {
    writer: IndexWriter<TantivyDocument>,
    fields: Fields,
}

impl SymbolWriter {
    /// Adds symbols. May wait while memory is written out.
    ///
    /// # Errors
    /// The disk fails.
    pub fn add(&mut self, documents: SymbolDocuments) -> Result<(), SymbolIndexError> {
        for document in documents.0 {
            self.writer.add_document(document)?;
        }
        Ok(())
    }

    /// Removes all symbols of these contents that were added before.
    pub fn remove(&mut self, contents: &[ContentNo]) {
        for content in contents {
            self.writer.delete_term(Term::from_field_u64(self.fields.content, u64::from(*content)));
        }
    }

    /// Makes all changes durable and visible after the next reload.
    ///
    /// # Errors
    /// The disk fails.
    pub fn commit(&mut self) -> Result<(), SymbolIndexError> {
        self.writer.commit()?;
        Ok(())
    }
}
