//! The symbol index on disk: opening it, writing to it, and the state of it that readers see.

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tantivy::directory::error::OpenWriteError;
use tantivy::indexer::{LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::schema::document::TantivyDocument;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyError, Term};

use crate::limits::{MAX_SYMBOLS_PER_CONTENT, SYMBOL_WRITER_BYTES};
use crate::store::{StoreError, is_full};
use crate::{ContentNo, Facts, Language, Manifest};

use super::schema::{FORMAT, Fields};
use super::index_view::SymbolIndexView;

/// The file beside tantivy's that says how documents were made.
const FORMAT_FILE: &str = "format";
/// So many segments of similar sizes are made one.
const MIN_MERGED_SEGMENTS: usize = 6;
/// A segment of more symbols stays as it is.
const MAX_MERGED_SYMBOLS: usize = 4_000_000;
/// A segment more of whose symbols were removed is written anew.
const MOST_REMOVED: f32 = 0.4;
/// Between two looks whether a merge is done.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Why the symbol index can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SymbolIndexError {
    /// Another build made it.
    #[error("the symbol index has format {found}, this build reads {FORMAT}; run `codeyard index --force`")]
    Foreign {
        /// FeatureKind it says of itself.
        found: String,
    },
    /// What is on disk isn't what was written.
    #[error("the symbol index is damaged ({0}); run `codeyard index --force`")]
    Damaged(String),
    /// Another process writes to it.
    #[error("another process writes to the symbol index; try again when `codeyard index stats` shows no active job")]
    Busy,
    /// The disk or the system fails.
    #[error(
        "the symbol index can't be read or written ({0}); look at the disk of the state directory, then run `codeyard index`"
    )]
    Io(String),
    /// The disk is full.
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
            // A writer's thread tells nobody why it failed; what was committed before is whole.
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

/// FeatureKind the system said, where it did.
fn io_kind(error: &TantivyError) -> Option<std::io::ErrorKind> {
    match error {
        TantivyError::IoError(error) => Some(error.kind()),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => Some(io_error.kind()),
        _ => None,
    }
}

/// The kind of a failure, without the paths that its text may hold.
fn describe(error: &TantivyError) -> String {
    let text = match error {
        TantivyError::OpenReadError(_) => "a file of it can't be opened",
        TantivyError::DataCorruption(_) => "a file of it doesn't hold what it should",
        TantivyError::IncompatibleIndex(_) => "another version of tantivy wrote it",
        TantivyError::OpenWriteError(_) => "a file of it can't be written",
        TantivyError::OpenDirectoryError(_) => "its folder can't be opened",
        TantivyError::SystemError(_) => "a thread can't be started",
        TantivyError::SchemaError(_) | TantivyError::FieldNotFound(_) => "its fields are others",
        TantivyError::ErrorInThread(_) | TantivyError::Poisoned => "its writer has failed",
        _ => "it can't be read",
    };
    text.into()
}

/// The symbol index of one index directory. Cheap to share; reading never waits for writing.
pub struct SymbolIndex {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    folder: PathBuf,
}

impl SymbolIndex {
    /// Opens the index in this folder, or makes an empty one there.
    ///
    /// # Errors
    /// Another build made it, it is damaged, or the disk fails.
    pub fn open(folder: &Path) -> Result<Self, SymbolIndexError> {
        fs::create_dir_all(folder)?;
        let (schema, fields) = Fields::schema();
        let format = folder.join(FORMAT_FILE);
        let index = match fs::read_to_string(&format) {
            Ok(found) if found.trim() == FORMAT.to_string() => Index::open_in_dir(folder)?,
            Ok(found) => return Err(SymbolIndexError::Foreign { found: found.trim().chars().take(12).collect() }),
            // FeatureKind stands there without its format was never finished.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let index = match Index::create_in_dir(folder, schema.clone()) {
                    Err(TantivyError::IndexAlreadyExists) => Index::open_in_dir(folder)?,
                    made => made?,
                };
                fs::write(&format, FORMAT.to_string())?;
                index
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(SymbolIndexError::Damaged("its format can't be read".into()));
            }
            Err(error) => return Err(error.into()),
        };
        if index.schema() != schema {
            return Err(SymbolIndexError::Damaged("its fields are others".into()));
        }
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, fields, folder: folder.into() })
    }

    /// The one writer.
    ///
    /// # Errors
    /// Another process has it, or the disk fails.
    pub fn writer(&self) -> Result<SymbolWriter, SymbolIndexError> {
        let writer: IndexWriter = self.index.writer_with_num_threads(1, SYMBOL_WRITER_BYTES)?;
        // Segments are merged when a job is done, not each time a few more are there: a large build would write itself anew
        // several times.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        Ok(SymbolWriter { writer, fields: self.fields })
    }

    /// All symbols of a content, as a writer adds them. Making them takes about as long as adding them, and can be done on any
    /// thread.
    pub fn documents(&self, content: ContentNo, language: Language, facts: &Facts) -> Documents {
        let symbols = (0_u32..).zip(facts.symbols.iter().take(MAX_SYMBOLS_PER_CONTENT));
        Documents(symbols.map(|(at, symbol)| self.fields.document(content, language, facts, at, symbol)).collect())
    }

    /// Makes one segment of those of similar sizes where there are many, one group after the other. Readers go on with those they
    /// have open. Meanwhile `rest` is called with times to wait for; it ends the wait, and all of this, by saying so. Says whether
    /// anything was merged.
    ///
    /// # Errors
    /// Another process writes, or the disk fails.
    pub fn compact(&self, rest: &dyn Fn(Duration) -> bool) -> Result<bool, SymbolIndexError> {
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(MIN_MERGED_SEGMENTS);
        policy.set_max_docs_before_merge(MAX_MERGED_SYMBOLS);
        policy.set_del_docs_ratio_before_merge(MOST_REMOVED);
        let groups = policy.compute_merge_candidates(&self.index.searchable_segment_metas()?);
        if groups.is_empty() {
            return Ok(false);
        }
        let mut writer = self.writer()?.writer;
        let mut has_merged = false;
        for group in groups {
            let mut merging = pin!(writer.merge(&group.0));
            let mut pause = FIRST_PAUSE;
            loop {
                match merging.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(merged) => break has_merged |= merged?.is_some(),
                    // Dropping the writer forgets the merge.
                    Poll::Pending if rest(pause) => return Ok(has_merged),
                    Poll::Pending => pause = (pause * 2).min(LONGEST_PAUSE),
                }
            }
        }
        writer.wait_merging_threads()?;
        Ok(has_merged)
    }

    /// Looks at what was committed last, by whichever process.
    ///
    /// # Errors
    /// It is damaged.
    pub fn reload(&self) -> Result<(), SymbolIndexError> {
        Ok(self.reader.reload()?)
    }

    /// FeatureKind was committed when [`Self::reload`] was last called, as this manifest shows it. Takes a few milliseconds for each
    /// million symbols; the view stays as it is, whatever is written later.
    ///
    /// # Errors
    /// It is damaged.
    pub fn view(&self, manifest: Arc<Manifest>) -> Result<SymbolIndexView, SymbolIndexError> {
        SymbolIndexView::new(self.reader.searcher(), self.fields, manifest)
    }

    /// Symbols of all contents, whether or not a manifest shows them.
    pub fn symbol_count(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Whether a question is answered at all.
    pub fn is_healthy(&self) -> bool {
        let any = Term::from_field_u64(self.fields.content, 0);
        self.reader.reload().is_ok() && self.reader.searcher().doc_freq(&any).is_ok()
    }

    /// Reads every byte of it and compares checksums.
    ///
    /// # Errors
    /// It is damaged.
    pub fn verify(&self) -> Result<(), SymbolIndexError> {
        match self.index.validate_checksum()?.len() {
            0 => Ok(()),
            bad => Err(SymbolIndexError::Damaged(format!("{bad} files of it have another checksum"))),
        }
    }

    /// Its size on disk, in bytes.
    pub fn size(&self) -> u64 {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum()
    }
}

/// Symbols of one content, ready to be added.
pub struct Documents(Vec<TantivyDocument>);

/// Adds and removes symbols. FeatureKind was written is seen by nobody before [`Self::commit`]; dropping it forgets the rest.
pub struct SymbolWriter {
    writer: IndexWriter<TantivyDocument>,
    fields: Fields,
}

impl SymbolWriter {
    /// Adds symbols. May wait while memory is written out.
    ///
    /// # Errors
    /// The disk fails.
    pub fn add(&mut self, documents: Documents) -> Result<(), SymbolIndexError> {
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

    /// Makes everything durable and visible to who reloads after it.
    ///
    /// # Errors
    /// The disk fails.
    pub fn commit(&mut self) -> Result<(), SymbolIndexError> {
        self.writer.commit()?;
        Ok(())
    }
}
