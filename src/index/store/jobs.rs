//! The records of jobs. A job is stored before it starts, so that an interrupted one is known afterwards.

use rusqlite::{Row, params};

use super::{IndexStore, StoreError, StoreTransaction};
use codeyard_model::code::{JobMode, JobStatus};

/// Jobs of one root that are kept in the history.
const MAX_REMEMBERED_JOBS: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredJob {
    pub id: String,
    /// The root that it indexes.
    pub place: String,
    /// The indexed reference, as in the manifest's key.
    pub reference: String,
    /// Full or incremental.
    pub mode: JobMode,
    pub status: JobStatus,
    /// The number of files that it read.
    pub changed: u64,
    /// The start, in seconds since 1970.
    pub started_at: u64,
    /// The end, in seconds since 1970; `None`: it hasn't ended.
    pub ended_at: Option<u64>,
    pub message: Option<String>,
    /// The id of the process that runs it.
    pub holder: String,
}

const COLUMNS: &str = "id, place, reference, mode, status, changed, started_at, ended_at, message, holder";

fn job(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
    let mode: String = row.get(3)?;
    let status: String = row.get(4)?;
    let changed: i64 = row.get(5)?;
    Ok(StoredJob {
        id: row.get(0)?,
        place: row.get(1)?,
        reference: row.get(2)?,
        mode: JobMode::parse(&mode).unwrap_or_default(),
        status: JobStatus::parse(&status).unwrap_or(JobStatus::Failed),
        changed: changed.cast_unsigned(),
        started_at: row.get::<_, i64>(6)?.cast_unsigned(),
        ended_at: row.get::<_, Option<i64>>(7)?.map(i64::cast_unsigned),
        message: row.get(8)?,
        holder: row.get(9)?,
    })
}

impl IndexStore {
    /// The latest jobs of a root, latest first.
    pub(crate) fn recent_jobs(&self, place: &str, limit: usize) -> Result<Vec<StoredJob>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM jobs WHERE place = ? ORDER BY started_at DESC, rowid DESC LIMIT ?");
        let mut statement = self.0.prepare_cached(&sql)?;
        Ok(statement.query_map(params![place, limit as i64], job)?.collect::<Result<_, _>>()?)
    }

    /// Jobs that have not ended, of all roots.
    pub(crate) fn unfinished_jobs(&self) -> Result<Vec<StoredJob>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM jobs WHERE ended_at IS NULL ORDER BY started_at, rowid");
        let mut statement = self.0.prepare_cached(&sql)?;
        Ok(statement.query_map([], job)?.collect::<Result<_, _>>()?)
    }
}

impl StoreTransaction<'_> {
    /// Marks a job as failed, unless its end was stored meanwhile.
    pub(crate) fn fail_job(&self, id: &str, ended_at: u64, message: &str) -> Result<(), StoreError> {
        let update = "UPDATE jobs SET status = ?2, ended_at = ?3, message = ?4 WHERE id = ?1 AND ended_at IS NULL";
        let failed = params![id, JobStatus::Failed.as_str(), ended_at.cast_signed(), message];
        self.0.prepare_cached(update)?.execute(failed)?;
        Ok(())
    }

    /// Stores a job, replacing its previous record. Deletes the oldest ended jobs beyond the limit.
    pub(crate) fn put_job(&self, job: &StoredJob) -> Result<(), StoreError> {
        let upsert = format!(
            "INSERT INTO jobs ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET
             status = excluded.status, changed = excluded.changed, ended_at = excluded.ended_at, message = excluded.message"
        );
        self.0.prepare_cached(&upsert)?.execute(params![
            job.id,
            job.place,
            job.reference,
            job.mode.as_str(),
            job.status.as_str(),
            job.changed.cast_signed(),
            job.started_at.cast_signed(),
            job.ended_at.map(u64::cast_signed),
            job.message,
            job.holder,
        ])?;
        let prune = "DELETE FROM jobs WHERE place = ?1 AND ended_at IS NOT NULL AND rowid NOT IN
            (SELECT rowid FROM jobs WHERE place = ?1 ORDER BY rowid DESC LIMIT ?2)";
        self.0.prepare_cached(prune)?.execute(params![job.place, MAX_REMEMBERED_JOBS as i64])?;
        Ok(())
    }
}
