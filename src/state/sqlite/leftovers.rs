//! Files that an earlier database left beside the name of a new one.
//!
//! Invariant: nothing here runs while the database exists. A log without its database would be replayed onto the next database.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Names that are tried when a file is moved beside itself.
const MAX_BACKUP_NAMES: u32 = 1_000;

/// A draft of a database that is older than this belongs to a process that ended.
const DRAFT_AGE: Duration = Duration::from_secs(60);

/// Start and end of the name of a draft. SQLite adds `-wal` and `-shm`.
pub(super) const DRAFT_NAME: (&str, &str) = (".state-", ".new");

/// Renames the log of a database that is gone to `NAME.stale-N`.
pub(super) fn move_stale_logs(file: &Path) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    for suffix in ["-wal", "-shm"] {
        let name = format!("{}{suffix}", file.file_name().unwrap_or_default().to_string_lossy());
        let log = folder.join(&name);
        if fs::symlink_metadata(&log).is_err() {
            continue;
        }
        let mut names = (1..=MAX_BACKUP_NAMES).map(|number| folder.join(format!("{name}.stale-{number}")));
        let free = names.find(|name| fs::symlink_metadata(name).is_err());
        let free = free.ok_or_else(|| io::Error::other(format!("too many files {name}.stale-N exist")))?;
        fs::rename(&log, &free)?;
        tracing::warn!(path = %free.display(), "a database log without its database was renamed");
    }
    Ok(())
}

/// Removes drafts of databases that no process completes any more. A draft that stays does no harm.
pub(super) fn remove_drafts(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_draft = name.strip_prefix(DRAFT_NAME.0).is_some_and(|rest| {
            let rest = rest.trim_end_matches("-wal").trim_end_matches("-shm").trim_end_matches("-journal");
            rest.ends_with(DRAFT_NAME.1)
        });
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let is_old = modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > DRAFT_AGE));
        if is_draft && is_old {
            drop(fs::remove_file(entry.path()));
        }
    }
}
