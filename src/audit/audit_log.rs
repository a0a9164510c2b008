//! The audit log of a process: what it writes, and what becomes of calls if it can't.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use crate::arguments;
use crate::chain_file::{AuditError, ChainFile, ChainPoint};
use crate::event::{AuditEvent, EventKind};
use crate::syslog::Syslog;
use codeyard_base::atomic_file::{self, Durability};
use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;
use codeyard_config::{AuditFailure, AuditSection};
use codeyard_telemetry::names::instruments;
use codeyard_telemetry::{AuditedCall, CallAudit, CallRecord, Observers, TransportKind};

/// The file that tells commands of codeyard what the service writes.
const SETTINGS_FILE: &str = "settings.json";
/// How often a failure is logged, in milliseconds.
const WARN_MS: u64 = 10_000;
/// Lines of one kind about what one caller asks for in vain between two ticks, and about that of all without a token. Whoever sends more writes
/// no more lines, but a count.
const MAX_BOUNDED_LINES: u64 = 20;
/// Reasons for which a call is refused before it is worth a line of its own: whoever repeats it would fill the disk of all.
const BOUNDED_REASONS: [&str; 4] = ["quota_exceeded", "overloaded", "unknown_tool", "malformed"];
/// How often old files are looked for, in milliseconds.
const RETENTION_MS: u64 = 3_600_000;
const MIB: u64 = 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The audit log of a process.
#[derive(Debug)]
pub struct AuditLog {
    settings: AuditSection,
    writer: Mutex<Writer>,
    bounded: Mutex<BTreeMap<(&'static str, Option<String>), BoundedCount>>,
    old_looked_for: Mutex<Option<Instant>>,
    written: Arc<AtomicU64>,
    lost: Arc<AtomicU64>,
    uncopied: Arc<AtomicU64>,
    /// Lines that are missing since the last one that was written. Read without the writer's lock, which may be held for the disk.
    missing: AtomicU64,
}

#[derive(Debug)]
struct Writer {
    file: ChainFile,
    syslog: Option<Syslog>,
    warned: Option<Instant>,
}

/// What one caller, or all without a token, asked for in vain since the last tick.
#[derive(Debug, Default)]
struct BoundedCount {
    lines: u64,
    /// Those without a line.
    others: u64,
}

impl AuditLog {
    /// Makes the log of a service with these settings, in `folder`: commands of codeyard write there from now on.
    ///
    /// # Errors
    /// The folder can't be used.
    pub fn configure(folder: &Path, settings: &AuditSection) -> Result<Self, AuditError> {
        let log = Self::new(folder, settings.clone())?;
        let text = serde_json::to_vec(settings).map_err(|error| failed(folder, io::Error::other(error)))?;
        let path = folder.join(SETTINGS_FILE);
        // A service is configured before its first token is made, and again when it is assembled.
        if fs::read(&path).ok().as_ref() != Some(&text) {
            let written = atomic_file::replace_with(&path, Durability::Power, &text);
            match written.map_err(|error| failed(&path, error)) {
                Err(error) if settings.on_failure == AuditFailure::Continue => {
                    tracing::error!(%error, "commands of codeyard don't know of the audit log and write no lines");
                }
                written => written?,
            }
        }
        Ok(log)
    }

    /// The same, with a first line.
    ///
    /// # Errors
    /// The folder can't be used, or the line can't be written.
    pub fn start(folder: &Path, settings: &AuditSection) -> Result<Self, AuditError> {
        let log = Self::configure(folder, settings)?;
        log.needed(&AuditEvent { operation: Some("start"), ..AuditEvent::new(EventKind::Service, "ok") })?;
        Ok(log)
    }

    /// The log that the service of a state directory keeps in `folder`; `None` if it keeps none.
    ///
    /// # Errors
    /// There is one, and it can't be used.
    pub fn of_service(folder: &Path) -> Result<Option<Self>, AuditError> {
        let path = folder.join(SETTINGS_FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, error)),
        };
        let settings = serde_json::from_slice(&text);
        let settings = settings.map_err(|error| AuditError::Settings { path, problem: error.to_string() })?;
        Self::new(folder, settings).map(Some)
    }

    /// Ends the log that a service kept in `folder` before, if there is one: a last line says so, and commands write none any more.
    ///
    /// # Errors
    /// There is one, and it can't be used.
    pub fn end(folder: &Path) -> Result<(), AuditError> {
        let Some(log) = Self::of_service(folder)? else { return Ok(()) };
        // A log that can't be written is ended all the same: that is what the configuration says.
        let _ = log.append(&AuditEvent { operation: Some("audit_off"), ..AuditEvent::new(EventKind::Service, "ok") });
        let path = folder.join(SETTINGS_FILE);
        fs::remove_file(&path).map_err(|error| failed(&path, error))
    }

    /// Writes a line that the service needs, unless it goes on without lines.
    fn needed(&self, event: &AuditEvent<'_>) -> Result<(), AuditError> {
        let written = self.append(event).map(drop);
        if self.settings.on_failure == AuditFailure::Continue { Ok(()) } else { written }
    }

    fn new(folder: &Path, settings: AuditSection) -> Result<Self, AuditError> {
        let keep = (settings.keep_days > 0).then(|| DAY * settings.keep_days);
        let file = ChainFile::open(folder, settings.max_file_mib.saturating_mul(MIB), keep)?;
        let syslog = settings.syslog_socket.as_deref().map(|path| Syslog::at(Path::new(path)));
        Ok(Self {
            settings,
            writer: Mutex::new(Writer { file, syslog, warned: None }),
            bounded: Mutex::default(),
            old_looked_for: Mutex::default(),
            written: Arc::default(),
            lost: Arc::default(),
            uncopied: Arc::default(),
            missing: AtomicU64::new(0),
        })
    }

    /// Writes a line. Whether what it is about may go on: a line that couldn't be written stops it, if the configuration says so.
    pub fn write(&self, event: &AuditEvent<'_>) -> bool {
        self.append(event).is_ok() || self.settings.on_failure == AuditFailure::Continue
    }

    /// Writes a line.
    ///
    /// # Errors
    /// It isn't in the log. It is counted, and the next line is preceded by one that says how many are missing.
    pub fn append(&self, event: &AuditEvent<'_>) -> Result<ChainPoint, AuditError> {
        let mut writer = self.writer.lock();
        let written = self.append_all(&mut writer, event);
        if let Err(error) = &written {
            let missing = self.missing.fetch_add(1, Relaxed) + 1;
            self.lost.fetch_add(1, Relaxed);
            let now = Instant::now();
            let window = Duration::from_millis(WARN_MS);
            if writer.warned.is_none_or(|warned| now.saturating_duration_since(warned) >= window) {
                writer.warned = Some(now);
                tracing::error!(error = %error, missing, "audit line not written");
            }
        }
        written
    }

    fn append_all(&self, writer: &mut Writer, event: &AuditEvent<'_>) -> Result<ChainPoint, AuditError> {
        let missing = self.missing.load(Relaxed);
        if missing > 0 {
            self.append_one(writer, &AuditEvent { count: Some(missing), ..AuditEvent::new(EventKind::Lost, "ok") })?;
            tracing::warn!(missing, "audit lines can be written again");
            // Only who holds the writer adds to it.
            self.missing.store(0, Relaxed);
            writer.warned = None;
        }
        self.append_one(writer, event)
    }

    fn append_one(&self, writer: &mut Writer, event: &AuditEvent<'_>) -> Result<ChainPoint, AuditError> {
        if seeded_faults::is_on("audit_dropped") {
            return Ok(ChainPoint::default());
        }
        let (point, line) = writer.file.append(event)?;
        self.written.fetch_add(1, Relaxed);
        if let Some(syslog) = &mut writer.syslog
            && syslog.send(&line).is_err()
        {
            self.uncopied.fetch_add(1, Relaxed);
        }
        Ok(point)
    }

    /// What was asked about, as the log has it.
    pub fn texts(&self, value: serde_json::Value) -> serde_json::Value {
        arguments::with_texts(value, self.settings.arguments)
    }

    /// A path of HTTP that was asked for, as the log has it.
    pub fn path(&self, path: &str) -> String {
        arguments::path(path, self.settings.arguments)
    }

    /// Writes a line about what a caller can repeat without end, such as a request that was refused. Of many in a short time of one caller, or of
    /// all without a token, only the first have lines; one more counts the others. Whether what it is about may go on.
    pub fn write_bounded(&self, event: &AuditEvent<'_>) -> bool {
        let caller = event.principal.map(|principal| format!("{} {principal}", event.tenant.unwrap_or_default()));
        {
            let mut bounded = self.bounded.lock();
            let count = bounded.entry((event.event.as_str(), caller)).or_default();
            if count.lines >= MAX_BOUNDED_LINES {
                count.others += 1;
                return true;
            }
            count.lines += 1;
        }
        self.write(event)
    }

    /// Writes the lines that count what had none since the last tick.
    fn count_others(&self) {
        let counts = std::mem::take(&mut *self.bounded.lock());
        for ((kind, caller), BoundedCount { others, .. }) in counts.into_iter().filter(|(_, count)| count.others > 0) {
            let (tenant, principal) = caller.as_deref().and_then(|caller| caller.split_once(' ')).unzip();
            let event = AuditEvent::new(EventKind::parse(kind).unwrap_or_default(), "more");
            self.write(&AuditEvent { tenant, principal, count: Some(others), ..event });
        }
    }

    /// Does what is to be done each second: writes lines through to the disk, and counts what had none. Removes old files, too. Blocks.
    ///
    /// # Errors
    /// Lines couldn't be written through. The next call tries again.
    pub fn tick(&self) -> io::Result<()> {
        self.count_others();
        self.remove_old();
        let Some(file) = self.writer.lock().file.take_unsynced() else { return Ok(()) };
        file.sync_data().inspect_err(|_| self.writer.lock().file.sync_failed())
    }

    fn remove_old(&self) {
        let now = Instant::now();
        {
            let mut looked_for = self.old_looked_for.lock();
            let pause = Duration::from_millis(RETENTION_MS);
            if looked_for.is_some_and(|at| now.saturating_duration_since(at) < pause) {
                return;
            }
            *looked_for = Some(now);
        }
        let removed = self.writer.lock().file.remove_old();
        for path in removed {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let arguments = Some(json!({ "file": name }));
            let event = AuditEvent::new(EventKind::Service, "ok");
            self.write(&AuditEvent { operation: Some("remove_file"), arguments, ..event });
        }
    }

    /// Writes the last lines of a service.
    pub fn stop(&self) {
        self.count_others();
        self.write(&AuditEvent { operation: Some("stop"), ..AuditEvent::new(EventKind::Service, "ok") });
        if let Err(error) = self.tick() {
            tracing::error!(error = %error, "cannot write the audit log through to the disk");
        }
    }

    /// Registers the numbers of lines that were written, are missing, and weren't copied.
    pub fn register_with(&self, observers: &Observers<'_>) {
        for (instrument, count) in [
            (&instruments::AUDIT_LINES, &self.written),
            (&instruments::AUDIT_LOST, &self.lost),
            (&instruments::AUDIT_UNCOPIED, &self.uncopied),
        ] {
            let count = count.clone();
            observers.observe(instrument, move |sink| sink.record(count.load(Relaxed), &[]));
        }
    }
}

impl CallAudit for AuditLog {
    fn accepts_calls(&self) -> bool {
        self.settings.on_failure == AuditFailure::Continue || self.missing.load(Relaxed) == 0
    }

    fn call(&self, record: &CallRecord, call: &AuditedCall) -> bool {
        let peer = call.peer.map(|peer| peer.to_canonical().to_string());
        let from = match record.transport {
            TransportKind::Tcp => peer,
            TransportKind::Pipe => Some("local".to_owned()),
        };
        let arguments = call.arguments.as_deref();
        let event = AuditEvent {
            from: from.map(Into::into),
            workspace: record.workspace_name(),
            catalog: Some(record.catalog).filter(|catalog| !catalog.is_empty()),
            tool: Some(&*call.tool).filter(|tool| !tool.is_empty()),
            operation: record.operation,
            arguments: arguments.map(|json| arguments::audited(json, self.settings.arguments)),
            permission: record.permission.map(|outcome| outcome.as_str()),
            reason: record.reason,
            ms: Some(record.total.as_micros() as f64 / 1_000.0),
            bytes: Some(record.bytes),
            request: Some(record.request_id.as_str()),
            trace: record.trace_id.map(|trace| trace.to_string()),
            ..AuditEvent::new(EventKind::Call, record.outcome.as_str())
        };
        let event = event.by(&call.principal);
        let is_bounded = record.reason.is_some_and(|reason| BOUNDED_REASONS.contains(&reason));
        if is_bounded { self.write_bounded(&event) } else { self.write(&event) }
    }
}

fn failed(path: &Path, error: io::Error) -> AuditError {
    AuditError::Io { path: PathBuf::from(path), error }
}
