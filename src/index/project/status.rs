//! How a project is: for `index_status`, `health_check` and the commands.

use super::{Project, broken};
use crate::job::{self, JobError, GcReport};
use crate::limits::MAX_RECENT_JOBS;
use crate::store::{FileState, StoredJob, LIVE, ListedFile, ManifestHead, StoreError};
use crate::{SCHEMA_VERSION, language};
use codeyard_base::clock::utc;
use codeyard_model::code::{
    Completeness, Freshness, IndexingStatus, InterruptedJob, JobRecord, JobStatus, AnswerMetadata, ProjectHealth, CodeRefusal, SchemaStatus,
    StartupCheck, IndexStatus,
};

/// What an index is made of, for `codeyard index stats`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStats {
    /// Every manifest: its place or reference, files, symbols.
    pub manifests: Vec<(String, u64, u64)>,
    /// Contents, and how many of them no segment covers.
    pub contents: (u64, u64),
    /// Segments, and their bytes.
    pub segments: (u64, u64),
    /// Bytes that the folder takes.
    pub bytes: u64,
}

/// A file that the last look at a working tree found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// Relative to the root.
    pub path: Box<str>,
    /// In bytes.
    pub size: u64,
    /// It is the first of its content, and was or is to be parsed.
    pub is_parsed: bool,
    /// Why it isn't searched, if it isn't.
    pub left_out: Option<&'static str>,
}

impl Project {
    /// The files of the working tree, in the order of their paths; none, if nothing is indexed.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn files(&self) -> Result<Vec<IndexedFile>, Box<CodeRefusal>> {
        let failed = |error: StoreError| Box::new(broken(&error));
        let Some((store, head)) = self.find(None, None).map_err(failed)? else { return Ok(Vec::new()) };
        let (most, mut seen) = (self.settings().sizes.parsed, std::collections::HashSet::new());
        let shown = |file: ListedFile| {
            let (is_parsed, left_out) = match file.held {
                FileState::Content(no, language) => (language.is_some() && file.size <= most && seen.insert(no), None),
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
        let here = match self.here(reference, Some(codeyard_model::code::FreshnessPolicy::BestEffort)) {
            Ok(here) => Some(here),
            Err(refused) if matches!(refused.metadata.schema, SchemaStatus::ReindexRequired | SchemaStatus::CorruptManifest) => {
                None
            }
            Err(refused) => return Err(refused),
        };
        let project = self.health(reference);
        let mut left_out: Vec<(&'static str, u64)> = Vec::new();
        if let Some(view) = here.as_ref().and_then(|here| here.view.as_ref()) {
            left_out.extend(view.left_out.iter().map(|(why, files)| (why.as_str(), *files)));
            let most = self.settings().sizes.parsed;
            let unparsed =
                view.manifest.entries().iter().filter(|entry| entry.language.is_some() && entry.size > most).count();
            if unparsed > 0 {
                left_out.push(("too_large_to_parse", unparsed as u64));
            }
            left_out.sort_unstable();
        }
        let place = self.root.to_string_lossy();
        let jobs = match self.repository.exists() {
            true => self
                .repository
                .reader()
                .and_then(|store| store.recent_jobs(&place, MAX_RECENT_JOBS))
                .unwrap_or_default(),
            false => Vec::new(),
        };
        let active_job = self.active_job();
        let (active, failure) = (active_job.as_ref().map(|job| job.job_id.clone()), self.failure());
        let told = |mut job: StoredJob| {
            let is_active = active.as_ref() == Some(&job.id);
            if job.ended_at.is_none() && job.holder == job::holder() && !is_active {
                // Its end couldn't be written down.
                job.status = JobStatus::Failed;
                job.message = failure.as_ref().map(ToString::to_string);
            }
            job
        };
        let recent_jobs = jobs.into_iter().map(told).map(|job| JobRecord {
            job_id: job.id,
            mode: job.mode,
            status: job.status,
            reference: job.reference,
            changed_files: job.changed,
            started_at: utc(job.started_at),
            ended_at: job.ended_at.map(utc),
            message: job.message,
        });
        let metadata = here.map_or_else(|| self.metadata_of(&project), |here| here.metadata);
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

    /// Metadata of an answer about the working tree, whatever state the index is in.
    pub fn metadata(&self) -> AnswerMetadata {
        use codeyard_model::code::FreshnessPolicy::BestEffort;
        self.here(None, Some(BestEffort)).map_or_else(|refused| refused.metadata.clone(), |here| here.metadata)
    }

    /// The project as `health_check` shows it.
    pub fn health(&self, reference: Option<&str>) -> ProjectHealth {
        let (schema, current) = self.schema();
        let head = self.find(reference, self.git().as_ref()).ok().flatten().map(|(_, head)| head);
        let metadata = self.here(reference, Some(codeyard_model::code::FreshnessPolicy::BestEffort));
        let metadata = metadata.map_or_else(|refused| refused.metadata.clone(), |here| here.metadata);
        let is_failed = self.failure.lock().is_some() && head.is_none();
        ProjectHealth {
            project_id: self.id.clone(),
            repo_root: self.root.to_string_lossy().into_owned(),
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

    /// Whether the index can be read, and what to do if it can't.
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

    /// Whether real queries of the symbols and of the database go well. What isn't there yet is well.
    pub fn checks(&self) -> (bool, bool) {
        if !self.repository.exists() {
            return (true, true);
        }
        let database = self.repository.reader().is_ok_and(|store| store.is_healthy());
        let symbols = self.repository.symbols().is_ok_and(|symbols| symbols.is_healthy());
        (symbols, database)
    }

    /// Jobs that the end of another process cut short, found at the start.
    pub fn interrupted(&self) -> Vec<InterruptedJob> {
        self.interrupted.lock().clone()
    }

    /// Why the last job of this process failed.
    pub fn failure(&self) -> Option<JobError> {
        self.failure.lock().clone()
    }

    /// The name of the folder that the index lies in, and the bytes that it takes.
    pub fn disk_usage(&self) -> (String, u64) {
        let name = self.repository.folder().file_name().unwrap_or_default();
        (name.to_string_lossy().into_owned(), self.repository.bytes_on_disk())
    }

    /// What the index is made of.
    ///
    /// # Errors
    /// It can't be read.
    pub fn stats(&self) -> Result<IndexStats, Box<CodeRefusal>> {
        let failed = |error: StoreError| Box::new(broken(&error));
        if !self.repository.exists() {
            return Ok(IndexStats::default());
        }
        let store = self.repository.reader().map_err(failed)?;
        let manifests = store.manifests().map_err(failed)?;
        let segments = store.segments().map_err(failed)?;
        let named = |head: ManifestHead| {
            let name = if head.key.reference == LIVE { head.key.place } else { head.key.reference };
            (name, head.files, head.symbols)
        };
        Ok(IndexStats {
            manifests: manifests.into_iter().map(named).collect(),
            contents: (store.all_contents().map_err(failed)?.len() as u64, store.loose().map_err(failed)?.len() as u64),
            segments: (segments.len() as u64, segments.iter().map(|row| row.bytes).sum()),
            bytes: self.repository.bytes_on_disk(),
        })
    }

    /// Reads the whole index and says what is wrong with it; nothing, if all is well.
    ///
    /// # Errors
    /// It can't be read at all.
    pub fn verify(&self) -> Result<Vec<String>, Box<CodeRefusal>> {
        let failed = |error: StoreError| Box::new(broken(&error));
        if !self.repository.exists() {
            return Ok(Vec::new());
        }
        let mut wrong = Vec::new();
        let store = self.repository.reader().map_err(failed)?;
        if store.check().is_err() {
            wrong.push("the database is damaged".to_owned());
        }
        let contents = store.all_contents().map_err(failed)?;
        for head in store.manifests().map_err(failed)? {
            let name = if head.key.reference == LIVE { head.key.place.clone() } else { head.key.reference.clone() };
            match store.listing(head.id) {
                Err(_) => wrong.push(format!("the manifest of {name} is damaged")),
                Ok(listing) => {
                    let manifest = crate::store::listing::manifest(&listing);
                    let is_lost = |no: &u32| contents.binary_search(no).is_err();
                    let lost = manifest.entries().iter().filter(|entry| is_lost(&entry.content)).count();
                    if lost > 0 {
                        wrong.push(format!("{lost} files of the manifest of {name} have no content"));
                    }
                }
            }
        }
        for no in contents {
            if store.facts(no).is_err() {
                wrong.push(format!("the facts of content {no} are damaged"));
            }
        }
        for row in store.segments().map_err(failed)? {
            let is_healthy = self.repository.segment(&row.file).is_ok_and(|segment| segment.verify().is_ok());
            if !is_healthy {
                wrong.push(format!("the text segment {} is damaged", row.file));
            }
        }
        if let Err(error) = self.repository.symbols().and_then(|symbols| symbols.verify()) {
            wrong.push(error.to_string());
        }
        Ok(wrong)
    }

    /// Forgets working trees and branches that are gone, and what nobody shows any more. `None`: somebody is writing.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn collect_garbage(&self) -> Result<Option<GcReport>, JobError> {
        if !self.repository.exists() {
            return Ok(Some(GcReport::default()));
        }
        let git = self.git();
        let is_unreachable = |head: &ManifestHead| job::is_unreachable(git.as_ref(), head);
        let swept = job::collect_garbage(&self.repository, &is_unreachable)?;
        self.views.lock().clear();
        Ok(swept)
    }
}

/// Which languages can be parsed.
pub fn grammars() -> codeyard_model::code::GrammarStatus {
    let (available, missing) = language::grammars();
    codeyard_model::code::GrammarStatus { available, missing }
}
