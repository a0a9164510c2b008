//! The status of a project, for `index_status`, `health_check` and the commands.

use super::Project;
use super::refusals::refusal_of_store_error;
use crate::classify::Provenance;
use crate::job::{self, GcReport, JobError};
use crate::limits::MAX_SYMBOLS_PER_CONTENT;
use crate::manifest::ContentNo;
use crate::store::{FileState, IndexStore, ListedFile, ManifestHead, StoreError, StoredJob};
use crate::{SCHEMA_VERSION, extract};
use codeyard_base::clock::utc;
use codeyard_model::code::{
    AnswerMetadata, CodeRefusal, Completeness, Freshness, IndexStatus, IndexingStatus, InterruptedJob, JobRecord,
    JobStatus, ProjectHealth, SchemaStatus, StartupCheck,
};

/// Jobs that `index_status` shows.
const MAX_RECENT_JOBS: usize = 10;

/// The size of an index, for `codeyard index stats`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStats {
    /// Each manifest: its place or reference, its number of files and of symbols.
    pub manifests: Vec<(String, u64, u64)>,
    /// The number of contents, and how many of them no segment covers.
    pub contents: (u64, u64),
    /// The number of text segments, and their bytes.
    pub segments: (u64, u64),
    /// The size of the folder in bytes.
    pub bytes: u64,
}

/// The index of a working tree, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectOverview {
    pub status: IndexingStatus,
    /// Files that are searched.
    pub files: u64,
    pub symbols: u64,
    /// When the last job was published: UTC, RFC 3339.
    pub last_indexed_at: Option<String>,
}

/// A file of the working tree, as of the last job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// The path, relative to the root.
    pub path: Box<str>,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is the first file with its content, and that content is parsed.
    pub is_parsed: bool,
    /// Why it isn't searched; `None`: it is.
    pub left_out: Option<&'static str>,
}

impl Project {
    /// The files of the working tree, ordered by path; none, if nothing is indexed.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn files(&self) -> Result<Vec<IndexedFile>, Box<CodeRefusal>> {
        let failed = |error: StoreError| Box::new(refusal_of_store_error(&error));
        let Some((store, head)) = self.find_manifest(None, None).map_err(failed)? else { return Ok(Vec::new()) };
        let most = self.settings().sizes.parsed;
        let mut seen = std::collections::HashSet::new();
        let complex = store.too_complex_contents().map_err(failed)?;
        let shown = |file: ListedFile| {
            let (is_parsed, left_out) = match file.state {
                FileState::Content(no, language, provenance) => {
                    let is_source = language.is_some() && provenance != Provenance::Minified;
                    let is_parsed = is_source && file.size <= most && complex.binary_search(&no).is_err();
                    (is_parsed && seen.insert(no), None)
                }
                FileState::Excluded(why) => (false, Some(why.as_str())),
            };
            IndexedFile { path: file.path, size: file.size, is_parsed, left_out }
        };
        Ok(store.listing(head.id).map_err(failed)?.into_iter().map(shown).collect())
    }

    /// `index_status`.
    ///
    /// # Errors
    /// The reference isn't indexed.
    pub fn status(&self, reference: Option<&str>) -> Result<IndexStatus, Box<CodeRefusal>> {
        let context = match self.query_context(reference, Some(codeyard_model::code::FreshnessPolicy::BestEffort)) {
            Ok(context) => Some(context),
            Err(refused)
                if matches!(refused.metadata.schema, SchemaStatus::ReindexRequired | SchemaStatus::CorruptManifest) =>
            {
                None
            }
            Err(refused) => return Err(refused),
        };
        let project = self.health(reference);
        let mut left_out: Vec<(&'static str, u64)> = Vec::new();
        if let Some(view) = context.as_ref().and_then(|context| context.view.as_ref()) {
            left_out.extend(view.left_out.iter().map(|(why, files)| (why.as_str(), *files)));
            let most = self.settings().sizes.parsed;
            let mut minified = 0_u64;
            let mut large = 0_u64;
            for entry in view.manifest.entries().iter().filter(|entry| entry.language.is_some()) {
                match entry.class.provenance {
                    Provenance::Minified => minified += 1,
                    _ => large += u64::from(entry.size > most),
                }
            }
            let is_complex = |content: &ContentNo| view.too_complex.binary_search(content).is_ok();
            let complex = view.manifest.entries().iter().filter(|entry| is_complex(&entry.content)).count() as u64;
            let unparsed = IndexStatus::UNPARSED.into_iter().zip([minified, large, complex]);
            left_out.extend(unparsed.filter(|(_, files)| *files > 0));
            left_out.sort_unstable();
        }
        let place = self.root.to_string_lossy();
        // Asked before the jobs are read: this one may end meanwhile.
        let running = self.running_job().map(|job| job.job_id);
        let jobs = match self.index_dir.exists() {
            true => {
                self.index_dir.reader().and_then(|store| store.recent_jobs(&place, MAX_RECENT_JOBS)).unwrap_or_default()
            }
            false => Vec::new(),
        };
        let active_job = self.active_job();
        let active = active_job.as_ref().map(|job| job.job_id.clone());
        let failure = self.failure();
        let ended = self.progress.lock().as_ref().and_then(|progress| progress.ended());
        let repaired = |mut job: StoredJob| {
            let is_active = [&running, &active].into_iter().flatten().any(|id| *id == job.id);
            if job.ended_at.is_none() && job.holder == job::process_id() && !is_active {
                // The job's end isn't stored yet, or could not be stored.
                let known = ended.as_ref().filter(|ended| ended.id == job.id);
                job.status = known.map_or(JobStatus::Failed, |ended| ended.status);
                job.ended_at = known.and_then(|ended| ended.ended_at);
                job.message = failure.as_ref().filter(|_| job.status == JobStatus::Failed).map(ToString::to_string);
            }
            job
        };
        let recent_jobs = jobs.into_iter().map(repaired).map(|job| JobRecord {
            job_id: job.id,
            mode: job.mode,
            status: job.status,
            reference: job.reference,
            changed_files: job.changed,
            started_at: utc(job.started_at),
            ended_at: job.ended_at.map(utc),
            message: job.message,
        });
        let metadata = context.map_or_else(|| self.metadata_of(&project), |context| context.metadata);
        Ok(IndexStatus {
            active_job,
            recent_jobs: recent_jobs.collect(),
            startup: self.startup(),
            left_out,
            metadata,
            project,
        })
    }

    fn metadata_of(&self, project: &ProjectHealth) -> AnswerMetadata {
        AnswerMetadata {
            freshness: project.freshness,
            indexing: project.index_status,
            completeness: Completeness::Partial,
            schema: project.schema_status,
            reference: project.reference.clone(),
            ..AnswerMetadata::default()
        }
    }

    /// The metadata of an answer about the working tree, in any state of the index.
    pub fn metadata(&self) -> AnswerMetadata {
        self.state(None)
    }

    /// The working tree's index for operators. Reads its head only, and loads nothing into memory.
    pub fn overview(&self) -> ProjectOverview {
        let (schema, _) = self.schema();
        let head = self.find_manifest(None, None).ok().flatten().map(|(_, head)| head);
        let status = match (schema, &head) {
            (SchemaStatus::ReindexRequired | SchemaStatus::CorruptManifest, _) => IndexingStatus::Failed,
            (_, Some(head)) if head.is_whole => IndexingStatus::Ready,
            (_, Some(_)) => IndexingStatus::Indexing,
            (_, None) if self.failure.lock().is_some() => IndexingStatus::Failed,
            (_, None) => IndexingStatus::NotIndexed,
        };
        ProjectOverview {
            status,
            files: head.as_ref().map_or(0, |head| head.files),
            symbols: head.as_ref().map_or(0, |head| head.symbols),
            last_indexed_at: head.as_ref().map(|head| utc(head.published_at)),
        }
    }

    /// The project as `health_check` shows it. Loads no manifest into memory.
    pub fn health(&self, reference: Option<&str>) -> ProjectHealth {
        let (schema, current) = self.schema();
        let head = self.find_manifest(reference, self.git().as_ref().ok()).ok().flatten().map(|(_, head)| head);
        let metadata = self.state(reference);
        let is_failed = self.failure.lock().is_some() && head.is_none();
        ProjectHealth {
            project_id: self.id.clone(),
            repo_root: self.root.to_string_lossy().into_owned(),
            workspace: None,
            index_status: if is_failed { IndexingStatus::Failed } else { metadata.indexing },
            schema_status: schema,
            current_schema_version: current,
            required_schema_version: SCHEMA_VERSION,
            freshness: if schema == SchemaStatus::Compatible { metadata.freshness } else { Freshness::Stale },
            last_indexed_at: head.as_ref().map(|head| utc(head.published_at)),
            reference: metadata.reference,
            file_count: head.as_ref().map_or(0, |head| head.files),
            symbol_count: head.as_ref().map_or(0, |head| head.symbols),
        }
    }

    /// Whether the index can be read, and what to do if not.
    pub fn startup(&self) -> StartupCheck {
        let (status, current_schema_version) = self.schema();
        let message = match status {
            SchemaStatus::Compatible => None,
            SchemaStatus::NotIndexed => Some("Nothing is indexed yet. Run `codeyard index`, or call index_repo."),
            SchemaStatus::ReindexRequired => {
                Some("Another version of codeyard wrote the index. Run `codeyard index --force`.")
            }
            SchemaStatus::CorruptManifest => Some("The index is damaged. Run `codeyard index --force`."),
        };
        StartupCheck {
            status,
            current_schema_version,
            required_schema_version: SCHEMA_VERSION,
            message: message.map(str::to_owned),
        }
    }

    /// Whether a query of the symbol index and one of the database succeed. True for an index that doesn't exist.
    pub fn checks(&self) -> (bool, bool) {
        if !self.index_dir.exists() {
            return (true, true);
        }
        let database = self.index_dir.reader().is_ok_and(|store| store.is_healthy());
        let symbols = self.index_dir.symbols().is_ok_and(|symbols| symbols.is_healthy());
        (symbols, database)
    }

    /// Jobs that ended with another process, found at the start.
    pub fn interrupted(&self) -> Vec<InterruptedJob> {
        self.interrupted.lock().clone()
    }

    /// Why the last job of this process failed.
    pub fn failure(&self) -> Option<JobError> {
        self.failure.lock().clone()
    }

    /// The name of the index's folder, its size in bytes, and that of its text index.
    pub fn disk_usage(&self) -> (String, u64, u64) {
        let name = self.index_dir.folder().file_name().unwrap_or_default();
        let (bytes, text_bytes) = self.index_dir.bytes_on_disk();
        (name.to_string_lossy().into_owned(), bytes, text_bytes)
    }

    /// The size of the index.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn stats(&self) -> Result<IndexStats, Box<CodeRefusal>> {
        let failed = |error: StoreError| Box::new(refusal_of_store_error(&error));
        if !self.index_dir.exists() {
            return Ok(IndexStats::default());
        }
        let store = self.index_dir.reader().map_err(failed)?;
        let manifests = store.manifests().map_err(failed)?;
        let segments = store.segments().map_err(failed)?;
        let named = |head: ManifestHead| (head.key.name(), head.files, head.symbols);
        Ok(IndexStats {
            manifests: manifests.into_iter().map(named).collect(),
            contents: (
                store.all_contents().map_err(failed)?.len() as u64,
                store.unsegmented().map_err(failed)?.len() as u64,
            ),
            segments: (segments.len() as u64, segments.iter().map(|row| row.bytes).sum()),
            bytes: self.index_dir.bytes_on_disk().0,
        })
    }

    /// Reads the whole index. Returns what is damaged; nothing, if it is intact.
    ///
    /// # Errors
    /// The index can't be read at all.
    pub fn verify(&self) -> Result<Vec<String>, Box<CodeRefusal>> {
        let failed = |error: StoreError| Box::new(refusal_of_store_error(&error));
        if !self.index_dir.exists() {
            return Ok(Vec::new());
        }
        let mut problems = Vec::new();
        let store = self.index_dir.reader().map_err(failed)?;
        if store.check().is_err() {
            problems.push("the database is damaged".to_owned());
        }
        let contents = store.all_contents().map_err(failed)?;
        for head in store.manifests().map_err(failed)? {
            let name = head.key.name();
            match store.listing(head.id) {
                Err(_) => problems.push(format!("the manifest of {name} is damaged")),
                Ok(listing) => {
                    let manifest = crate::store::listing::manifest(&listing);
                    let is_missing = |no: &u32| contents.binary_search(no).is_err();
                    let missing = manifest.entries().iter().filter(|entry| is_missing(&entry.content)).count();
                    if missing > 0 {
                        problems.push(format!("{missing} files of the manifest of {name} have no content"));
                    }
                }
            }
        }
        for no in contents {
            if store.facts(no).is_err() {
                problems.push(format!("the facts of content {no} are damaged"));
            }
        }
        for row in store.segments().map_err(failed)? {
            let is_healthy = self.index_dir.segment(&row.file).is_ok_and(|segment| segment.verify().is_ok());
            if !is_healthy {
                problems.push(format!("the text segment {} is damaged", row.file));
            }
        }
        match self.index_dir.symbols().and_then(|symbols| symbols.verify()) {
            Err(error) => problems.push(error.to_string()),
            Ok(()) => problems.extend(self.missing_symbols(&store).map_err(failed)?),
        }
        Ok(problems)
    }

    /// Compares the symbols that the database counts with those in the symbol index. While a job runs, they may differ.
    fn missing_symbols(&self, store: &IndexStore) -> Result<Option<String>, StoreError> {
        let Some(_lock) = self.index_dir.lock()? else { return Ok(None) };
        let found = match self.index_dir.symbols().and_then(|symbols| symbols.symbols_by_content()) {
            Ok(found) => found,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let has_all = |(no, symbols): &(ContentNo, u32)| {
            found.get(no).copied().unwrap_or(0) >= u64::from(*symbols).min(MAX_SYMBOLS_PER_CONTENT as u64)
        };
        let incomplete = store.symbol_counts()?.iter().filter(|content| !has_all(content)).count();
        Ok((incomplete > 0).then(|| format!("the symbol index lacks symbols of {incomplete} contents")))
    }

    /// Deletes unreachable manifests and unreferenced contents. `None`: another process is writing.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn collect_garbage(&self) -> Result<Option<GcReport>, JobError> {
        if !self.index_dir.exists() {
            return Ok(Some(GcReport::default()));
        }
        let git = self.git();
        let is_unreachable = |head: &ManifestHead| job::is_unreachable(git.as_ref().ok(), head);
        let swept = job::collect_garbage(&self.index_dir, &is_unreachable)?;
        self.forget_views();
        Ok(swept)
    }
}

/// The languages that can be parsed.
pub fn grammars() -> codeyard_model::code::GrammarStatus {
    let (available, missing) = extract::grammars();
    codeyard_model::code::GrammarStatus { available, missing }
}
