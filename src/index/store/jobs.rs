//! What jobs did. A job is written down before it begins, so that one that was cut short can be told of.

use rusqlite::{Row, params};

use super::{IndexStore, StoreError, StoreTransaction};
use crate::limits::MAX_REMEMBERED_JOBS;
use codeyard_model::code::{JobMode, JobStatus};

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredJob {
    /// Its name.
    pub id: String,
    /// The root it is of.
    pub place: String,
    /// What it indexes, as in the manifest's key.
    pub reference: String,
    /// See there.
    pub mode: JobMode,
    /// See there.
    pub status: JobStatus,
    /// Files that it had to read.
    pub changed: u64,
    /// In seconds since 1970.
    pub started_at: u64,
    /// The same, once it has ended.
    pub ended_at: Option<u64>,
    /// Why it failed.
    pub message: Option<String>,
    /// The process that does it.
    pub holder: String,
}

const COLUMNS: &str = "id, place, reference, mode, status, changed, started_at, ended_at, message, holder";

fn job(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
    let (mode, status, changed): (String, String, i64) = (row.get(3)?, row.get(4)?, row.get(5)?);
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
    /// The newest jobs of a root, the newest first.
    pub(crate) fn recent_jobs(&self, place: &str, most: usize) -> Result<Vec<StoredJob>, StoreError> {
        let ask = format!("SELECT {COLUMNS} FROM jobs WHERE place = ? ORDER BY started_at DESC, rowid DESC LIMIT ?");
        let mut statement = self.0.prepare_cached(&ask)?;
        Ok(statement.query_map(params![place, most as i64], job)?.collect::<Result<_, _>>()?)
    }

    /// Jobs that have not ended, of all roots.
    pub(crate) fn open_jobs(&self) -> Result<Vec<StoredJob>, StoreError> {
        let ask = format!("SELECT {COLUMNS} FROM jobs WHERE ended_at IS NULL ORDER BY started_at, rowid");
        let mut statement = self.0.prepare_cached(&ask)?;
        Ok(statement.query_map([], job)?.collect::<Result<_, _>>()?)
    }
}

impl StoreTransaction<'_> {
    /// Writes a job down, in the place of what was written of it before; the oldest ended ones are forgotten.
    pub(crate) fn put_job(&self, job: &StoredJob) -> Result<(), StoreError> {
        let put = format!(
            "INSERT INTO jobs ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET
             status = excluded.status, changed = excluded.changed, ended_at = excluded.ended_at, message = excluded.message"
        );
        self.0.prepare_cached(&put)?.execute(params![
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
        let forget = "DELETE FROM jobs WHERE place = ?1 AND ended_at IS NOT NULL AND rowid NOT IN
            (SELECT rowid FROM jobs WHERE place = ?1 ORDER BY rowid DESC LIMIT ?2)";
        self.0.prepare_cached(forget)?.execute(params![job.place, MAX_REMEMBERED_JOBS as i64])?;
        Ok(())
    }
}
