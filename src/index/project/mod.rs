//! One root and all questions about it: search, location, outlines, state, jobs.
//!
//! Everything here blocks, so it is called on threads that may. Invariants: a question sees one published manifest from beginning to
//! end; what it says of its own freshness was true when it began; one question reads the files of its own answer only, strictly beneath
//! the root.

mod pending_changes;
mod path_filter;
pub(super) mod handles;
mod jobs;
mod line_search;
pub mod navigator;
mod outline;
mod row_builder;
pub mod settings;
mod source_reader;
mod status;
mod symbol_search;
mod manifest_view;

#[cfg(test)]
mod tests;

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use self::pending_changes::PendingChanges;
use self::settings::IndexSettings;
use self::manifest_view::ManifestView;
use super::extract::EXTRACTOR_VERSION;
use super::job::{JobError, JobProgress, StopSignal};
use super::ranked::SymbolIndexError;
use super::index_dir::{IndexOpenError, Reader, IndexDir};
use super::store::{LIVE, ManifestHead, ManifestKey, StoreError};
use crate::limits::MAX_CACHED_VIEWS;
use codeyard_base::digest::sha256hex;
use codeyard_git::{GitRepository, GitHead};
use codeyard_model::code::{
    CodeError, Completeness, Freshness, FreshnessPolicy, IndexingStatus, InterruptedJob, AnswerMetadata, CodeRefusal, SchemaStatus,
};

pub use jobs::JobTicket;
pub use status::{IndexedFile, IndexStats, grammars};

/// Says whether a question is to end early.
pub type CancelCheck<'q> = &'q (dyn Fn() -> bool + Sync);

/// See the module. Shared by all who ask about the root.
pub struct Project {
    id: String,
    root: PathBuf,
    /// Whether the root has company, so that rows say which root they are of.
    names_root: bool,
    settings: Mutex<Arc<IndexSettings>>,
    repository: Arc<IndexDir>,
    dirty: PendingChanges,
    git: Mutex<Option<GitRepository>>,
    views: Mutex<LruCache<ManifestKey, Arc<ManifestView>>>,
    facts: row_builder::FactsCache,
    /// The job that runs in this process, or ran last.
    progress: Mutex<Option<Arc<JobProgress>>>,
    stop: StopSignal,
    /// Jobs that the end of another process cut short, found at the start.
    interrupted: Mutex<Vec<InterruptedJob>>,
    /// Why the last job of this process failed.
    failure: Mutex<Option<JobError>>,
}

/// What a question is answered from.
struct QueryContext<'p> {
    /// `None`: nothing was published yet.
    view: Option<Arc<ManifestView>>,
    /// `None`, likewise.
    store: Option<Reader<'p>>,
    metadata: AnswerMetadata,
}

impl Project {
    /// The project of `root`, a real path, in the folder of all indexes. Nothing is read yet.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn new(indexes: &Path, root: &Path, names_root: bool, settings: IndexSettings) -> io::Result<Self> {
        let id = sha256hex(root.as_os_str().as_encoded_bytes())[..16].to_owned();
        let views = NonZeroUsize::new(MAX_CACHED_VIEWS).unwrap_or(NonZeroUsize::MIN);
        Ok(Self {
            id,
            root: root.to_owned(),
            names_root,
            settings: Mutex::new(Arc::new(settings)),
            repository: Arc::new(IndexDir::of(indexes, root)?),
            dirty: PendingChanges::default(),
            git: Mutex::default(),
            views: Mutex::new(LruCache::new(views)),
            facts: row_builder::FactsCache::default(),
            progress: Mutex::default(),
            stop: StopSignal::default(),
            interrupted: Mutex::default(),
            failure: Mutex::default(),
        })
    }

    /// 16 hexadecimal digits that name the root.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// From now on with these settings.
    pub fn set_settings(&self, settings: IndexSettings) {
        *self.settings.lock() = Arc::new(settings);
    }

    /// The settings.
    pub fn settings(&self) -> Arc<IndexSettings> {
        self.settings.lock().clone()
    }

    /// Somebody tells from now on what changes in the working tree.
    pub fn watch(&self) {
        self.dirty.watch();
    }

    /// Nobody tells any more.
    pub fn unwatch(&self) {
        self.dirty.unwatch();
    }

    /// These files of the working tree have changed, each by its path below the root.
    pub fn mark_changed(&self, paths: impl IntoIterator<Item = String>) {
        self.dirty.paths(paths);
    }

    /// Anything in the working tree may have changed.
    pub fn mark_all_changed(&self) {
        self.dirty.everything();
    }

    /// Whether the working tree's index is known to be behind, or isn't known not to be.
    pub fn is_stale(&self) -> bool {
        !self.dirty.is_clean()
    }

    /// Whether anything was ever indexed of this repository.
    pub fn is_indexed(&self) -> bool {
        self.repository.exists()
    }

    /// Whether this build can read the index, and what layout the index has.
    pub fn schema(&self) -> (SchemaStatus, Option<u32>) {
        if !self.repository.exists() {
            return (SchemaStatus::NotIndexed, None);
        }
        match self.repository.reader().and_then(|store| store.features()) {
            Ok(None | Some(EXTRACTOR_VERSION)) => (SchemaStatus::Compatible, Some(super::SCHEMA_VERSION)),
            Ok(Some(found)) => (SchemaStatus::ReindexRequired, Some(super::schema_version(super::store::FORMAT, found))),
            Err(StoreError::OtherFormat { found }) => (SchemaStatus::ReindexRequired, Some(super::schema_version(found, 0))),
            Err(StoreError::Damaged) => (SchemaStatus::CorruptManifest, None),
            // Whoever asks is told why it can't be reached.
            Err(_) => (SchemaStatus::Compatible, None),
        }
    }

    fn key(&self, reference: Option<&str>) -> ManifestKey {
        ManifestKey::of(&self.root, reference)
    }

    fn git_head(&self) -> (Option<GitRepository>, GitHead) {
        let git = self.git();
        let head = git.as_ref().map(GitRepository::head).unwrap_or_default();
        (git, head)
    }

    /// The repository, opened once.
    fn git(&self) -> Option<GitRepository> {
        let mut kept = self.git.lock();
        if !kept.as_ref().is_some_and(|git| git.is_still_at(&self.root)) {
            *kept = GitRepository::containing(&self.root);
        }
        kept.clone()
    }

    /// What a question about `reference` is answered from, if its policy lets it be.
    fn here(&self, reference: Option<&str>, policy: Option<FreshnessPolicy>) -> Result<QueryContext<'_>, Box<CodeRefusal>> {
        let (git, head) = self.git_head();
        let (schema, _) = self.schema();
        let shown = match reference {
            Some(reference) if reference != LIVE => reference.to_owned(),
            Some(_) => LIVE.to_owned(),
            None => head.branch.clone().or_else(|| head.commit.clone()).unwrap_or_else(|| LIVE.to_owned()),
        };
        // Until more is known.
        let (indexing, completeness, freshness) = (IndexingStatus::Failed, Completeness::Partial, Freshness::Stale);
        let mut metadata =
            AnswerMetadata { schema, reference: shown, indexing, completeness, freshness, ..AnswerMetadata::default() };
        if matches!(schema, SchemaStatus::ReindexRequired | SchemaStatus::CorruptManifest) {
            return Err(Box::new(incompatible(schema).beside(metadata)));
        }
        let is_busy = self.active_job().is_some();
        let is_live = self.key(reference).reference == LIVE;
        let found = self
            .found(reference, git.as_ref())
            .map_err(|error| Box::new(unreadable(&error).beside(metadata.clone())))?;
        // What it means now; a branch that is gone means nothing, whatever the index holds of it.
        let asked = reference.filter(|_| !is_live);
        let current = match asked {
            Some(asked) => git.as_ref().and_then(|git| git.resolve(asked)),
            None => head.commit.clone(),
        };
        let Some((store, manifest, view)) = found.filter(|_| is_live || current.is_some()) else {
            metadata.completeness = Completeness::Partial;
            metadata.freshness = if is_busy { Freshness::Syncing } else { Freshness::Stale };
            metadata.indexing = if is_busy { IndexingStatus::Indexing } else { IndexingStatus::NotIndexed };
            if !is_live {
                return Err(Box::new(not_indexed(&metadata.reference.clone(), git.as_ref()).beside(metadata)));
            }
            let here = QueryContext { view: None, store: None, metadata };
            return self.allowed(here, (None, current), policy, asked);
        };
        metadata.indexing = if manifest.is_whole { IndexingStatus::Ready } else { IndexingStatus::Indexing };
        metadata.completeness = if manifest.is_whole { Completeness::Complete } else { Completeness::Partial };
        let is_fresh = if is_live { self.dirty.is_clean() } else { manifest.commit == current };
        metadata.freshness = match (is_fresh, is_busy) {
            (true, _) => Freshness::Fresh,
            (false, true) => Freshness::Syncing,
            (false, false) => Freshness::Stale,
        };
        let here = QueryContext { view: Some(view), store: Some(store), metadata };
        self.allowed(here, (manifest.commit, current), policy, asked)
    }

    /// Refuses what must be fresh and isn't (contract, "Freshness Policy Behavior"). `commits`: the indexed one and the present one.
    fn allowed<'p>(
        &self,
        here: QueryContext<'p>,
        commits: (Option<String>, Option<String>),
        policy: Option<FreshnessPolicy>,
        asked: Option<&str>,
    ) -> Result<QueryContext<'p>, Box<CodeRefusal>> {
        let policy = policy.unwrap_or(self.settings().freshness);
        if policy != FreshnessPolicy::Strict || here.metadata.freshness == Freshness::Fresh {
            return Ok(here);
        }
        let (why, sync) = match asked {
            None => ("files of the working tree have changed since it was made".to_owned(), "sync_repo".to_owned()),
            Some(asked) => (format!("'{asked}' has moved since it was made"), format!("sync_repo with ref '{asked}'")),
        };
        let message = format!(
            "The index is stale: {why}. Call {sync}, wait until index_status shows no active job, and ask again."
        );
        let mut refusal = CodeRefusal::new(CodeError::IndexStale, message)
            .with("suggestion", "Call sync_repo to bring the index up to date before asking.");
        let (indexed, current) = commits;
        if let Some(commit) = indexed {
            refusal = refusal.with("last_indexed_commit", commit);
        }
        if let Some(commit) = current {
            refusal = refusal.with("current_head", commit);
        }
        Err(Box::new(refusal.beside(here.metadata)))
    }

    /// The published manifest of a reference.
    fn find(
        &self,
        reference: Option<&str>,
        git: Option<&GitRepository>,
    ) -> Result<Option<(Reader<'_>, ManifestHead)>, StoreError> {
        if !self.repository.exists() {
            return Ok(None);
        }
        let store = self.repository.reader()?;
        // What a job forgets meanwhile is still there for this question.
        store.hold()?;
        let key = self.key(reference);
        let mut found = store.manifest(&key)?;
        if found.is_none() && key.reference != LIVE {
            let commit = git.and_then(|git| git.resolve(&key.reference));
            found = commit.map(|commit| store.manifest_of_commit(&commit)).transpose()?.flatten();
        }
        Ok(found.map(|head| (store, head)))
    }

    /// What [`Self::find`] finds, with its view.
    fn found(
        &self,
        reference: Option<&str>,
        git: Option<&GitRepository>,
    ) -> Result<Option<(Reader<'_>, ManifestHead, Arc<ManifestView>)>, IndexOpenError> {
        let mut before = None;
        loop {
            let Some((store, head)) = self.find(reference, git)? else { return Ok(None) };
            let stamp = store.stamp()?;
            match self.view(&store, head.clone()) {
                Ok(view) => return Ok(Some((store, head, view))),
                // Another process may have put other files in the place of those while they were opened.
                Err(_) if before.replace(stamp) != Some(stamp) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn view(&self, store: &Reader<'_>, head: ManifestHead) -> Result<Arc<ManifestView>, IndexOpenError> {
        let stamp = store.stamp()?;
        let key = head.key.clone();
        if let Some(view) = self.views.lock().get(&key)
            && view.stamp == stamp
        {
            return Ok(view.clone());
        }
        // Several may load it at once; they come to the same.
        let view = Arc::new(ManifestView::load(&self.repository, store, head, stamp)?);
        self.views.lock().put(key, view.clone());
        Ok(view)
    }

    /// Reads what questions need into memory.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn prewarm(&self) -> Result<(), String> {
        self.found(None, None).map(drop).map_err(|error| error.to_string())
    }

    /// The root's path, where rows are to say it.
    fn shown_root(&self) -> Option<String> {
        self.names_root.then(|| self.root.to_string_lossy().into_owned())
    }
}

fn incompatible(schema: SchemaStatus) -> CodeRefusal {
    let why = match schema {
        SchemaStatus::ReindexRequired => "Another version of codeyard wrote the index",
        _ => "The index is damaged",
    };
    CodeRefusal::new(
        CodeError::IndexIncompatible,
        format!("{why}. Run `codeyard index --force`, or call index_repo with force."),
    )
    .with("schema_status", schema.as_str())
    .with("remediation", "codeyard index --force")
}

fn broken(error: &StoreError) -> CodeRefusal {
    match error {
        StoreError::OtherFormat { .. } => incompatible(SchemaStatus::ReindexRequired),
        StoreError::Damaged => incompatible(SchemaStatus::CorruptManifest),
        other => out_of_reach(other),
    }
}

/// The refusal where the index is there and can't be reached: nothing is known to be wrong with it.
fn out_of_reach(error: &impl std::fmt::Display) -> CodeRefusal {
    CodeRefusal::new(CodeError::IndexNotReady, format!("The index can't be reached: {error}."))
}

fn unreadable(error: &IndexOpenError) -> CodeRefusal {
    match error {
        IndexOpenError::Store(error) => broken(error),
        IndexOpenError::Symbols(SymbolIndexError::Foreign { .. } | SymbolIndexError::Damaged(_)) | IndexOpenError::Segment => {
            incompatible(SchemaStatus::CorruptManifest)
        }
        IndexOpenError::Symbols(error) => out_of_reach(error),
    }
}

fn not_indexed(reference: &str, git: Option<&GitRepository>) -> CodeRefusal {
    let message = match git {
        None => format!(
            "'{reference}' isn't indexed, and this root lies in no git repository. Leave ref out to ask about the working tree."
        ),
        Some(git) if git.resolve(reference).is_none() => {
            format!(
                "'{reference}' is no branch, tag or commit of this repository, or isn't any more. `git branch --all` lists the branches."
            )
        }
        Some(_) => format!(
            "'{reference}' isn't indexed. Call index_repo with this ref, or run `codeyard index --ref {reference}`."
        ),
    };
    CodeRefusal::new(CodeError::RefNotIndexed, message).with("ref", reference)
}
