//! The index of one root, and all queries about it: search, symbols, outlines, status, jobs.
//!
//! All functions block, so call them on threads that may block. Invariants: a query sees one published manifest from
//! start to end; the freshness in its answer was true when it started; a query reads only the files of its own answer,
//! strictly below the root.

mod auto_search;
mod full_names;
pub mod import_match;
mod jobs;
mod line_search;
mod listing;
mod manifest_view;
pub mod navigator;
mod outline;
pub mod part_search;
mod path_filter;
mod phrases;
mod qualified_names;
mod refusals;
mod row_builder;
mod source_reader;
mod status;
mod symbol_search;
mod term_filter;
mod test_folding;
mod unindexed_changes;
mod unknown_names;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use self::manifest_view::ManifestView;
use self::refusals::{
    INDEX_FAILED, cannot_update, damaged, has_moved, no_working_tree, not_indexed, refusal_of_open_error, root_is_gone,
    written_by_other_version,
};
use self::unindexed_changes::UnindexedChanges;
use super::extract::EXTRACTOR_VERSION;
use super::index_dir::{IndexDir, PooledStore};
use super::job::{JobError, JobProgress};
use super::settings::IndexSettings;
use super::stop_signal::StopSignal;
use super::store::{LIVE, ManifestKey, StoreError};
use codeyard_base::digest::sha256hex;
use codeyard_git::{GitRepository, NoRepository, RepositoryHead};
use codeyard_model::code::{
    AnswerMetadata, CodeError, CodeRefusal, Completeness, Freshness, FreshnessPolicy, IndexingStatus, InterruptedJob,
    SchemaStatus,
};
use codeyard_model::limits::RETRY_AFTER_MS;

pub use jobs::JobTicket;
pub use status::{IndexStats, IndexedFile, ProjectOverview, grammars};
pub use unknown_names::{AbsentName, is_absent_phrase_warning, is_unknown_name_warning};

/// Manifests of one project that are kept in memory.
const MAX_CACHED_VIEWS: usize = 4;

/// Whether a query should end early.
pub type CancelCheck<'q> = &'q (dyn Fn() -> bool + Sync);

/// The index of one root. Shared by all users of the root.
pub struct Project {
    id: String,
    root: PathBuf,
    /// Whether the workspace has several roots, so that rows name theirs.
    names_root: bool,
    settings: Mutex<Arc<IndexSettings>>,
    index_dir: Arc<IndexDir>,
    unindexed_changes: UnindexedChanges,
    git: Mutex<Result<GitRepository, NoRepository>>,
    views: Mutex<LruCache<ManifestKey, Arc<ManifestView>>>,
    facts: row_builder::FactsCache,
    /// The running job of this process, or the last one.
    progress: Mutex<Option<Arc<JobProgress>>>,
    stop: StopSignal,
    /// Jobs that ended with another process, found at the start.
    interrupted: Mutex<Vec<InterruptedJob>>,
    /// Why the last job of this process failed.
    failure: Mutex<Option<JobError>>,
}

struct QueryContext {
    /// `None`: nothing is published yet.
    view: Option<Arc<ManifestView>>,
    /// `None`: nothing is published yet.
    store: Option<PooledStore>,
    /// The files that have changed since the published job or were changed before it; `None`: any file may have changed.
    changed: Option<BTreeSet<String>>,
    metadata: AnswerMetadata,
    /// Why the working tree can't be indexed now, if it isn't or if its index is behind.
    failure: Option<JobError>,
}

impl Project {
    /// The project of `root`, a canonical path, in the folder of all indexes. Reads nothing.
    ///
    /// # Errors
    /// The folder can't be created.
    pub fn new(indexes: &Path, root: &Path, names_root: bool, settings: IndexSettings) -> io::Result<Self> {
        let id = sha256hex(root.as_os_str().as_encoded_bytes())[..16].to_owned();
        let views = NonZeroUsize::new(MAX_CACHED_VIEWS).unwrap_or(NonZeroUsize::MIN);
        Ok(Self {
            id,
            root: root.to_owned(),
            names_root,
            index_dir: Arc::new(IndexDir::of(indexes, root, &settings.git_dirs)?),
            settings: Mutex::new(Arc::new(settings)),
            unindexed_changes: UnindexedChanges::default(),
            git: Mutex::new(Err(NoRepository::Missing)),
            views: Mutex::new(LruCache::new(views)),
            facts: row_builder::FactsCache::default(),
            progress: Mutex::default(),
            stop: StopSignal::default(),
            interrupted: Mutex::default(),
            failure: Mutex::default(),
        })
    }

    /// The id of the project: 16 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The root's path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Replaces the settings for later jobs and queries.
    pub fn set_settings(&self, settings: IndexSettings) {
        *self.settings.lock() = Arc::new(settings);
    }

    /// The current settings.
    pub fn settings(&self) -> Arc<IndexSettings> {
        self.settings.lock().clone()
    }

    /// Changes in the working tree will be reported from now on.
    pub fn watch(&self) {
        self.unindexed_changes.watch();
    }

    /// Changes in the working tree are no longer reported.
    pub fn unwatch(&self) {
        self.unindexed_changes.unwatch();
    }

    /// Reports that these files of the working tree have changed. Paths are relative to the root.
    pub fn mark_changed(&self, paths: impl IntoIterator<Item = String>) {
        self.unindexed_changes.paths(paths);
    }

    /// Reports that any file of the working tree may have changed.
    pub fn mark_all_changed(&self) {
        self.unindexed_changes.everything();
    }

    /// Whether the working tree may have changed since the last job.
    pub fn is_stale(&self) -> bool {
        !self.unindexed_changes.is_clean()
    }

    /// Whether a branch, tag or commit is indexed, and names another commit now.
    pub fn is_behind(&self, reference: &str) -> bool {
        let context = self.context(Some(reference), Some(FreshnessPolicy::BestEffort), false);
        context.is_ok_and(|context| context.metadata.freshness != Freshness::Fresh)
    }

    /// Whether it is known which files have changed since the working tree was indexed.
    pub fn is_current(&self) -> bool {
        self.is_indexed() && self.unindexed_changes.changed().is_some()
    }

    /// Whether there is an index of this repository.
    pub fn is_indexed(&self) -> bool {
        self.index_dir.exists()
    }

    /// Whether this build can read the index, and the index's schema version.
    pub fn schema(&self) -> (SchemaStatus, Option<u32>) {
        if !self.index_dir.exists() {
            return (SchemaStatus::NotIndexed, None);
        }
        match self.index_dir.reader().and_then(|store| store.features()) {
            Ok(None | Some(EXTRACTOR_VERSION)) => (SchemaStatus::Compatible, Some(super::SCHEMA_VERSION)),
            Ok(Some(found)) => {
                (SchemaStatus::ReindexRequired, Some(super::schema_version(super::store::FORMAT, found)))
            }
            Err(StoreError::OtherFormat { found }) => {
                (SchemaStatus::ReindexRequired, Some(super::schema_version(found, 0)))
            }
            Err(StoreError::Damaged) => (SchemaStatus::CorruptManifest, None),
            // A query reports the error.
            Err(_) => (SchemaStatus::Compatible, None),
        }
    }

    fn git_head(&self) -> (Result<GitRepository, NoRepository>, RepositoryHead) {
        let git = self.git();
        let head = git.as_ref().map(GitRepository::head).unwrap_or_default();
        (git, head)
    }

    /// The git repository, opened once.
    fn git(&self) -> Result<GitRepository, NoRepository> {
        let mut kept = self.git.lock();
        if !kept.as_ref().is_ok_and(|git| git.is_still_at(&self.root)) {
            *kept = GitRepository::containing(&self.root, &self.settings().git_dirs);
        }
        kept.clone()
    }

    /// The inputs of a query about `reference`, if its freshness policy allows an answer.
    fn query_context(
        &self,
        reference: Option<&str>,
        policy: Option<FreshnessPolicy>,
    ) -> Result<QueryContext, Box<CodeRefusal>> {
        self.context(reference, policy, true)
    }

    /// The metadata that an answer about `reference` would have. Loads no manifest into memory.
    fn state(&self, reference: Option<&str>) -> AnswerMetadata {
        let context = self.context(reference, Some(FreshnessPolicy::BestEffort), false);
        context.map_or_else(|refused| refused.metadata.clone(), |context| context.metadata)
    }

    fn context(
        &self,
        reference: Option<&str>,
        policy: Option<FreshnessPolicy>,
        needs_view: bool,
    ) -> Result<QueryContext, Box<CodeRefusal>> {
        let (git, head) = self.git_head();
        let (schema, _) = self.schema();
        let shown_reference = match reference {
            Some(reference) if reference != LIVE => reference.to_owned(),
            Some(_) => LIVE.to_owned(),
            None => head.branch.clone().or_else(|| head.commit.clone()).unwrap_or_else(|| LIVE.to_owned()),
        };
        // Replaced below.
        let mut metadata = AnswerMetadata {
            schema,
            reference: shown_reference,
            indexing: IndexingStatus::Failed,
            completeness: Completeness::Partial,
            freshness: Freshness::Stale,
            ..AnswerMetadata::default()
        };
        match schema {
            SchemaStatus::ReindexRequired => return Err(Box::new(written_by_other_version().with_metadata(metadata))),
            SchemaStatus::CorruptManifest => return Err(Box::new(damaged().with_metadata(metadata))),
            SchemaStatus::Compatible | SchemaStatus::NotIndexed => {}
        }
        let is_busy = self.active_job().is_some();
        let is_live = reference.is_none_or(|reference| reference == LIVE);
        if is_live && git.as_ref().is_ok_and(GitRepository::is_bare) {
            return Err(Box::new(no_working_tree().with_metadata(metadata)));
        }
        // Before the view: a job that publishes in between forgets the changes that only its own view has.
        let changed = self.unindexed_changes.changed();
        let found = self
            .find_view(reference, git.as_ref().ok(), needs_view)
            .map_err(|error| Box::new(refusal_of_open_error(&error).with_metadata(metadata.clone())))?;
        // The commit that the reference names now. A deleted branch names none, even if the index has it.
        let requested = reference.filter(|_| !is_live);
        let current = match requested {
            Some(requested) => git.as_ref().ok().and_then(|git| git.resolve(requested).ok()),
            None => head.commit.clone(),
        };
        let failure = self.failure().filter(|_| is_live).filter(JobError::is_lasting);
        let Some((store, manifest, view)) = found.filter(|_| is_live || current.is_some()) else {
            metadata.completeness = Completeness::Partial;
            metadata.freshness = if is_busy { Freshness::Syncing } else { Freshness::Stale };
            metadata.indexing = if is_busy { IndexingStatus::Indexing } else { IndexingStatus::NotIndexed };
            metadata.retry_after_ms = (is_busy && failure.is_none()).then_some(RETRY_AFTER_MS);
            if !is_live {
                return Err(Box::new(
                    not_indexed(&metadata.reference.clone(), git.as_ref().map_err(|why| *why)).with_metadata(metadata),
                ));
            }
            let context = QueryContext { view: None, store: None, changed, metadata, failure };
            return self.check_freshness(context, None, current, policy, requested);
        };
        metadata.indexing = if manifest.is_whole { IndexingStatus::Ready } else { IndexingStatus::Indexing };
        metadata.completeness = if manifest.is_whole { Completeness::Complete } else { Completeness::Partial };
        metadata.retry_after_ms = (is_busy && !manifest.is_whole).then_some(RETRY_AFTER_MS);
        let is_clean = changed.as_ref().is_some_and(BTreeSet::is_empty);
        let is_fresh = if is_live { is_clean } else { manifest.commit == current };
        metadata.freshness = match (is_fresh, is_busy) {
            (true, _) => Freshness::Fresh,
            (false, true) => Freshness::Syncing,
            (false, false) => Freshness::Stale,
        };
        if is_live && self.root.read_dir().is_err() {
            (metadata.completeness, metadata.freshness) = (Completeness::Partial, Freshness::Stale);
            metadata.warnings.push(root_is_gone(&self.root));
        } else if let Some(requested) = requested.filter(|_| !is_fresh) {
            metadata.warnings.push(has_moved(requested));
        } else if let Some(failure) = failure.as_ref().filter(|_| !is_fresh) {
            metadata.warnings.push(cannot_update(failure));
        }
        let context = QueryContext { view, store: Some(store), changed, metadata, failure };
        self.check_freshness(context, manifest.commit, current, policy, requested)
    }

    /// Refuses a stale answer if the policy is `strict` (`docs/internals/reference/contract-code.md#when-the-index-is-behind`). `indexed` and
    /// `current` are the indexed commit and the present one.
    fn check_freshness(
        &self,
        context: QueryContext,
        indexed: Option<String>,
        current: Option<String>,
        policy: Option<FreshnessPolicy>,
        requested: Option<&str>,
    ) -> Result<QueryContext, Box<CodeRefusal>> {
        let policy = policy.unwrap_or(self.settings().freshness);
        if policy != FreshnessPolicy::Strict || context.metadata.freshness == Freshness::Fresh {
            return Ok(context);
        }
        if let Some(failure) = &context.failure {
            let refusal = CodeRefusal::new(CodeError::IndexStale, cannot_update(failure)).with("reason", INDEX_FAILED);
            return Err(Box::new(refusal.with_metadata(context.metadata)));
        }
        let (why, sync) = match requested {
            None => ("files of the working tree have changed since the last job".to_owned(), "sync_repo".to_owned()),
            Some(requested) => {
                (format!("'{requested}' has moved since the last job"), format!("sync_repo with ref '{requested}'"))
            }
        };
        let message = format!(
            "The index is stale: {why}. Call {sync}, wait until index_status shows no active job, and repeat the call."
        );
        let mut refusal = CodeRefusal::new(CodeError::IndexStale, message)
            .with("suggestion", "Call sync_repo to update the index, then repeat the call.");
        if let Some(commit) = indexed {
            refusal = refusal.with("last_indexed_commit", commit);
        }
        if let Some(commit) = current {
            refusal = refusal.with("current_head", commit);
        }
        Err(Box::new(refusal.with_metadata(context.metadata)))
    }
}
