//! The audit log of a process, and the lines that commands of codeyard write.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::Failure;
use codeyard_audit::{AuditEvent, AuditLog};
use codeyard_base::blocking;
use codeyard_config::Config;
use codeyard_state::StateDir;

/// The folder in the state directory.
const FOLDER: &str = "audit";
/// How often lines are written through to the disk, in milliseconds: what a crash of the machine may lose.
const SYNC_MS: u64 = 1_000;

/// The folder of a state directory's audit log.
pub(crate) fn folder(state: &StateDir) -> PathBuf {
    state.path().join(FOLDER)
}

/// The audit log of a process with this configuration. A process that has none, and shares the state directory of a service that has one,
/// writes into that.
pub(crate) fn of_process(state: &StateDir, config: &Config) -> Result<Option<Arc<AuditLog>>, Failure> {
    let log = match config.audit.enabled {
        true => AuditLog::start(&folder(state), &config.audit).map(Some),
        false => AuditLog::of_service(&folder(state)),
    };
    let log = log.map_err(|error| Failure::new(error.to_string()))?.map(Arc::new);
    if let Some(log) = &log {
        tokio::spawn(sync(Arc::downgrade(log)));
    }
    Ok(log)
}

/// Makes the log that a service is configured to have, or ends the one that it had before. From now on [`record`] writes there.
pub(crate) fn configure(state: &StateDir, config: &Config) -> Result<(), Failure> {
    let configured = match config.audit.enabled {
        true => AuditLog::configure(&folder(state), &config.audit).map(drop),
        false => AuditLog::end(&folder(state)),
    };
    configured.map_err(|error| Failure::new(error.to_string()))
}

/// Writes the line of a change that a command has made.
pub(crate) fn record(state: &StateDir, event: AuditEvent<'_>) -> Result<(), Failure> {
    let failed =
        |error: codeyard_audit::AuditError| Failure::new(format!("the change has no line in the audit log: {error}"));
    let Some(log) = AuditLog::of_service(&folder(state)).map_err(failed)? else { return Ok(()) };
    let user = format!("uid:{}", rustix::process::getuid().as_raw());
    let event = AuditEvent { principal: Some(&user), from: Some("command".into()), ..event };
    log.append(&event).map_err(failed)?;
    log.tick().map_err(|error| Failure::new(format!("the audit line of the change may not be on the disk: {error}")))
}

async fn sync(log: Weak<AuditLog>) {
    loop {
        tokio::time::sleep(Duration::from_millis(SYNC_MS)).await;
        let Some(log) = log.upgrade() else { return };
        if let Ok(Err(error)) = blocking::spawn(move || log.tick()).await {
            tracing::error!(error = %error, "cannot write the audit log through to the disk");
        }
    }
}
