//! The log of a run, `events.ndjson`: one event a line, only ever appended.
//!
//! It doesn't interpret events. Invariants: an event that [`EventLog::append`] has returned survives a power failure; the chain of
//! hashes is checked before anything is read from a log; a write that failed leaves no part of an event. An event that was cut short
//! by a crash was never acknowledged, so it is removed when the log is opened.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::event::{ChainBreak, Event, EventType, TraceContext};
use crate::limits::MAX_EVENT_BYTES;
use crate::run_folder::shown;
use crate::run_id::RunId;

/// An open log. One process writes a log at a time: the lock of the state directory ensures that.
#[derive(Debug)]
pub struct EventLog {
    file: File,
    path: PathBuf,
    run_id: RunId,
    last: Option<Event>,
    /// The length of all complete events, in bytes.
    length: u64,
    /// Whether a failed write could not be undone.
    is_torn: bool,
}

/// An event before it has its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub event_type: EventType,
    /// Details, an object.
    pub payload: Value,
}

/// Why a log can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum EventLogError {
    /// An event is not what was written.
    #[error(
        "line {line} of {} is damaged: {reason}; restore the folder of the run from a backup, or start another run",
        shown(file)
    )]
    Damaged {
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        reason: String,
    },
    #[error("an event of {bytes} bytes is larger than {MAX_EVENT_BYTES} bytes")]
    TooLarge { bytes: usize },
    #[error(
        "{} can't be read or written: {source}; free space and check its permissions, then resume the run",
        shown(file)
    )]
    Io { file: PathBuf, source: io::Error },
}

impl EventLog {
    /// A new log. Its folder must exist.
    ///
    /// # Errors
    /// If there is one, or it can't be created.
    pub fn create(path: &Path, run_id: &RunId) -> Result<Self, EventLogError> {
        let failed = |source| EventLogError::Io { file: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all()).map_err(failed)?;
        Ok(Self { file, path: path.to_owned(), run_id: run_id.clone(), last: None, length: 0, is_torn: false })
    }

    /// Whether there is a log with a whole first line. Without one the run was never acknowledged.
    pub(crate) fn has_events(path: &Path) -> bool {
        let mut line = Vec::new();
        let read = File::open(path)
            .and_then(|file| BufReader::new(file).take(MAX_EVENT_BYTES as u64 + 1).read_until(b'\n', &mut line));
        read.is_ok() && line.ends_with(b"\n")
    }

    /// An existing log, and all its events.
    ///
    /// # Errors
    /// If it can't be read, or the chain is broken: the error names the line.
    pub fn open(path: &Path, run_id: &RunId) -> Result<(Self, Vec<Event>), EventLogError> {
        let failed = |source| EventLogError::Io { file: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let (events, length) = read_events(&file, path, run_id)?;
        if length < file.metadata().map_err(failed)?.len() {
            file.set_len(length).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        let last = events.last().cloned();
        Ok((Self { file, path: path.to_owned(), run_id: run_id.clone(), last, length, is_torn: false }, events))
    }

    /// Appends events, all or none, and returns when they are durable. Blocks for one `fsync`.
    ///
    /// # Errors
    /// If they can't be written. Then the log is as before.
    pub fn append(&mut self, ts: &str, trace: &TraceContext, new: Vec<NewEvent>) -> Result<Vec<Event>, EventLogError> {
        if self.is_torn {
            self.undo()?;
        }
        let mut events: Vec<Event> = Vec::with_capacity(new.len());
        let mut lines = Vec::new();
        for NewEvent { event_type, payload } in new {
            let previous = events.last().or(self.last.as_ref());
            let event = Event::following(previous, self.run_id.as_str(), ts.to_owned(), event_type, payload, trace);
            let line = serde_json::to_vec(&event).map_err(|error| self.failed(error.into()))?;
            if line.len() > MAX_EVENT_BYTES {
                return Err(EventLogError::TooLarge { bytes: line.len() });
            }
            lines.extend_from_slice(&line);
            lines.push(b'\n');
            events.push(event);
        }
        if let Err(error) = self.file.write_all_at(&lines, self.length).and_then(|()| self.file.sync_data()) {
            self.is_torn = true;
            // If this fails too, the next call tries it again before it writes.
            let _ = self.undo();
            return Err(self.failed(error));
        }
        self.length += lines.len() as u64;
        if let Some(last) = events.last() {
            self.last = Some(last.clone());
        }
        Ok(events)
    }

    /// Removes what a failed write has left.
    fn undo(&mut self) -> Result<(), EventLogError> {
        self.file.set_len(self.length).map_err(|error| self.failed(error))?;
        self.is_torn = false;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> EventLogError {
        EventLogError::Io { file: self.path.clone(), source }
    }
}

/// The complete events, and their length in bytes.
fn read_events(mut file: &File, path: &Path, run_id: &RunId) -> Result<(Vec<Event>, u64), EventLogError> {
    let failed = |source| EventLogError::Io { file: path.to_owned(), source };
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let mut reader = BufReader::new(file);
    let mut events = Vec::<Event>::new();
    let mut length = 0u64;
    let mut line = Vec::new();
    loop {
        line.clear();
        let number = events.len() as u64 + 1;
        let damaged = |reason: String| EventLogError::Damaged { file: path.to_owned(), line: number, reason };
        let most = MAX_EVENT_BYTES as u64 + 1;
        let read = reader.by_ref().take(most).read_until(b'\n', &mut line).map_err(failed)?;
        if line.last() != Some(&b'\n') {
            if read as u64 == most {
                return Err(damaged(format!("it is longer than {MAX_EVENT_BYTES} bytes")));
            }
            return Ok((events, length));
        }
        let event: Event =
            serde_json::from_slice(&line).map_err(|error| damaged(format!("it is no event ({error})")))?;
        event.check(events.last(), run_id.as_str()).map_err(|broken: ChainBreak| damaged(broken.to_string()))?;
        length += read as u64;
        events.push(event);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TS: &str = "2026-01-21T10:00:00Z";

    fn id() -> RunId {
        RunId::new(0, 1)
    }

    fn new(name: &str) -> NewEvent {
        NewEvent { event_type: EventType::RunStateChanged, payload: json!({"to": name}) }
    }

    /// A log with three events in two batches.
    fn sample(path: &Path) -> Vec<Event> {
        let mut log = EventLog::create(path, &id()).unwrap();
        let mut events = log.append(TS, &TraceContext::default(), vec![new("A")]).unwrap();
        events.extend(log.append(TS, &TraceContext::default(), vec![new("B"), new("C")]).unwrap());
        events
    }

    #[test]
    fn appended_events_are_read_again_and_continued() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.ndjson");
        let written = sample(&path);
        let (mut log, read) = EventLog::open(&path, &id()).unwrap();
        assert_eq!(read, written);
        log.append(TS, &TraceContext::default(), vec![new("D")]).unwrap();
        assert_eq!(EventLog::open(&path, &id()).unwrap().1.len(), 4);
        assert!(EventLog::create(&path, &id()).is_err(), "a log is never replaced");
    }

    #[test]
    fn a_log_that_is_cut_anywhere_keeps_its_complete_events() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.ndjson");
        let written = sample(&path);
        let whole = std::fs::read(&path).unwrap();
        let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').map(|at| at + 1).collect();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let complete = ends.iter().filter(|end| **end <= cut).count();
            let (mut log, read) = EventLog::open(&path, &id()).unwrap();
            assert_eq!(read, written[..complete], "cut at {cut}");
            log.append(TS, &TraceContext::default(), vec![new("D")]).unwrap();
            assert_eq!(EventLog::open(&path, &id()).unwrap().1.len(), complete + 1, "cut at {cut}");
        }
    }

    #[test]
    fn damage_is_refused_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.ndjson");
        sample(&path);
        let whole = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let cases = [
            (whole.replacen("\"to\":\"B\"", "\"to\":\"X\"", 1), 2, "its content doesn't match its hash"),
            (format!("{}\n{}\n", lines[0], lines[2]), 2, "it doesn't follow the event before it"),
            (format!("{}\n{}\n{}\n", lines[0], lines[0], lines[1]), 2, "it doesn't follow the event before it"),
            (format!("{}\n\n", lines[0]), 2, "it is no event"),
            (format!("{}\n{}\n", lines[0], &lines[1][..40]), 2, "it is no event"),
            (format!("{}\0\n", whole), 4, "it is no event"),
            ("x".repeat(MAX_EVENT_BYTES + 2), 1, "it is longer than"),
        ];
        for (text, line, reason) in cases {
            std::fs::write(&path, &text).unwrap();
            let error = EventLog::open(&path, &id()).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line} of ")) && error.contains(reason), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "a damaged log isn't changed");
        }
        assert!(EventLog::open(&path, &RunId::new(0, 2)).is_err());
    }

    #[test]
    fn an_event_that_is_too_large_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.ndjson");
        let mut log = EventLog::create(&path, &id()).unwrap();
        let large = vec![new("A"), new(&"x".repeat(MAX_EVENT_BYTES))];
        assert!(matches!(log.append(TS, &TraceContext::default(), large), Err(EventLogError::TooLarge { .. })));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "all or none");
    }
}
