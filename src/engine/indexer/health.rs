//! The health of the indexes of a workspace: for `health_check`, and as it is published for operators. Reading it blocks.

use std::sync::Arc;

use crate::indexer::handle::IndexHandle;
use crate::indexer::indexes::Indexes;
use crate::limits::LARGE_SYNC_FILES;
use crate::status::index_status::{IndexHealth, IndexStatusSource};
use codeyard_index::Project;
use codeyard_index::project::grammars;
use codeyard_model::code::{
    ActiveJob, Freshness, HealthReport, HealthStatus, IndexingStatus, JobMode, PrewarmStatus, ProjectHealth,
    SchemaStatus, WarmsetStatus,
};
use codeyard_protocol::names::SERVER_VERSION;

/// The answer of `health_check`, for all projects or for the one at `only`.
pub fn health(indexed: &IndexHandle, indexes: &Indexes, only: Option<usize>) -> Option<HealthReport> {
    let asked: Vec<&Arc<Project>> = match only {
        Some(at) => indexed.projects.get(at).into_iter().collect(),
        None => indexed.projects.iter().collect(),
    };
    let checks = asked.iter().map(|project| project.checks());
    let (tantivy_ok, sqlite_ok) =
        checks.fold((true, true), |(symbols, database), (one, other)| (symbols && one, database && other));
    let startups: Vec<_> = asked.iter().map(|project| project.startup()).collect();
    let first_wrong = startups.iter().find(|check| check.status != SchemaStatus::Compatible);
    let startup = first_wrong.or(startups.first())?.clone();
    let active_job = asked.iter().find_map(|project| project.active_job());
    let projects: Vec<ProjectHealth> = asked.iter().map(|project| project.health(None)).collect();
    let roots: Vec<_> = indexed.projects.iter().map(|project| project.root().to_owned()).collect();
    let (enabled, capacity) = indexes.warmset.settings();
    let is_member = indexes.warmset.contains(&indexed.state.warm);
    let members = roots.iter().filter(|_| is_member).map(|root| root.to_string_lossy().into_owned()).collect();
    let prewarm = indexed.state.prewarm();
    Some(HealthReport {
        status: status(&projects, active_job.as_ref(), prewarm, tantivy_ok && sqlite_ok),
        version: SERVER_VERSION,
        uptime_seconds: indexes.uptime_s(),
        tantivy_ok,
        sqlite_ok,
        grammars: grammars(),
        active_job,
        interrupted: asked.iter().flat_map(|project| project.interrupted()).collect(),
        warmset: WarmsetStatus { enabled, capacity, members },
        prewarm,
        startup,
        projects,
        incomplete: Vec::new(),
    })
}

/// The first that applies of error, warming, indexing and ready.
fn status(projects: &[ProjectHealth], job: Option<&ActiveJob>, prewarm: PrewarmStatus, is_well: bool) -> HealthStatus {
    let is_lost = |project: &ProjectHealth| {
        project.index_status == IndexingStatus::Failed
            || matches!(project.schema_status, SchemaStatus::ReindexRequired | SchemaStatus::CorruptManifest)
    };
    let is_large = |job: &ActiveJob| job.mode == JobMode::Full || job.changed_files >= LARGE_SYNC_FILES;
    if !is_well || projects.iter().any(is_lost) {
        HealthStatus::Error
    } else if prewarm == PrewarmStatus::Warming {
        HealthStatus::Warming
    } else if job.is_some_and(is_large) || projects.iter().any(|project| project.index_status != IndexingStatus::Ready)
    {
        HealthStatus::Indexing
    } else {
        HealthStatus::Ready
    }
}

/// The indexes of a workspace as the source of their published health.
pub(super) struct PublishedProjects(pub Arc<[Arc<Project>]>);

impl IndexStatusSource for PublishedProjects {
    fn read(&self) -> Vec<IndexHealth> {
        self.0.iter().map(|project| for_operators(project)).collect()
    }

    fn update(&self, published: &mut [IndexHealth]) {
        for (project, health) in self.0.iter().zip(published) {
            let job = project.running_job();
            health.freshness = match (health.status == IndexingStatus::Ready.as_str() && !project.is_stale(), &job) {
                (true, _) => Freshness::Fresh.as_str(),
                (false, Some(_)) => Freshness::Syncing.as_str(),
                (false, None) => Freshness::Stale.as_str(),
            };
            if job.is_some() && health.status != IndexingStatus::Ready.as_str() {
                health.status = IndexingStatus::Indexing.as_str();
            }
            if let Some(job) = job {
                health.job = Some(job_text(&job));
            }
        }
    }
}

/// The health of one index, for operators, without what is read from memory when they ask. Blocks.
pub(super) fn for_operators(project: &Project) -> IndexHealth {
    let overview = project.overview();
    // A job of this process is read from memory.
    let job = if project.running_job().is_some() { None } else { project.active_job() };
    IndexHealth {
        root: project.root().to_string_lossy().into_owned(),
        status: overview.status.as_str(),
        freshness: Freshness::Stale.as_str(),
        files: overview.files,
        symbols: overview.symbols,
        last_indexed_at: overview.last_indexed_at,
        job: job.map(|job| job_text(&job)),
        problem: project.failure().map(|error| error.to_string()).or_else(|| project.startup().message),
    }
}

fn job_text(job: &ActiveJob) -> String {
    format!("{} {}", job.mode.as_str(), job.phase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::code::JobStatus;

    fn project(index_status: IndexingStatus, schema_status: SchemaStatus) -> ProjectHealth {
        ProjectHealth {
            project_id: String::new(),
            repo_root: String::new(),
            workspace: None,
            index_status,
            schema_status,
            current_schema_version: None,
            required_schema_version: 1,
            freshness: Freshness::Fresh,
            last_indexed_at: None,
            reference: String::new(),
            file_count: 0,
            symbol_count: 0,
        }
    }

    fn job(mode: JobMode, changed_files: u64) -> ActiveJob {
        ActiveJob {
            job_id: String::new(),
            project_id: String::new(),
            mode,
            status: JobStatus::Running,
            changed_files,
            started_at: String::new(),
            phase: "",
            done_files: 0,
            done_bytes: 0,
        }
    }

    #[test]
    fn the_status_is_the_worst_that_applies() {
        use HealthStatus::{Error, Indexing as Busy, Ready, Warming};
        let ready = || vec![project(IndexingStatus::Ready, SchemaStatus::Compatible)];
        let full = job(JobMode::Full, 0);
        let small = job(JobMode::Incremental, 3);
        let large = job(JobMode::Incremental, LARGE_SYNC_FILES);
        for (projects, job, prewarm, is_well, expected) in [
            (ready(), None, PrewarmStatus::Complete, true, Ready),
            (ready(), Some(&small), PrewarmStatus::Skipped, true, Ready),
            (ready(), Some(&large), PrewarmStatus::Skipped, true, Busy),
            (ready(), Some(&full), PrewarmStatus::Pending, true, Busy),
            (ready(), Some(&full), PrewarmStatus::Warming, true, Warming),
            (ready(), Some(&full), PrewarmStatus::Warming, false, Error),
            (
                vec![project(IndexingStatus::NotIndexed, SchemaStatus::NotIndexed)],
                None,
                PrewarmStatus::Skipped,
                true,
                Busy,
            ),
            (
                vec![project(IndexingStatus::Failed, SchemaStatus::Compatible)],
                None,
                PrewarmStatus::Warming,
                true,
                Error,
            ),
            (
                vec![project(IndexingStatus::Ready, SchemaStatus::CorruptManifest)],
                None,
                PrewarmStatus::Complete,
                true,
                Error,
            ),
        ] {
            assert_eq!(status(&projects, job, prewarm, is_well), expected);
        }
    }
}
