//! The queue of log lines, and the thread that writes them.
//!
//! Invariants: logging never waits for the log's reader; the queue is bounded in lines and bytes, further lines are dropped and counted,
//! and the count is logged as soon as a line can be written; lines never mix; no line has a secret of a known shape, nor a
//! character that a terminal obeys.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::Level;

use super::CallLog;
use super::call_line::{self, CALL_TARGET, LineFormat};
use super::call_trace::CallTrace;
use codeyard_base::json_secrets::redact_json;
use codeyard_base::secrets::redact;
use codeyard_base::visible::{visible_json, visible_log};

/// Lines in the log queue. Further ones are dropped and counted.
const MAX_LOG_QUEUE: usize = 8_192;
/// Bytes of the lines in the log queue. Further lines are dropped and counted.
const MAX_LOG_QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// A log line waits this long for others that are written with it, in milliseconds.
const LOG_GATHER_MS: u64 = 5;
/// Time to write the rest of the log queue when the process ends, in milliseconds.
const LOG_FLUSH_MS: u64 = 500;

/// A bounded queue of lines.
pub struct LogQueue {
    format: LineFormat,
    queued: Mutex<QueuedLines>,
    filled: Condvar,
    emptied: Condvar,
    dropped: AtomicU64,
}

#[derive(Default)]
struct QueuedLines {
    lines: VecDeque<LogLine>,
    bytes: usize,
    writing: bool,
}

enum LogLine {
    /// A formatted line.
    Text(Box<[u8]>),
    /// A call. The thread formats its line, so that the call doesn't have to.
    Call(CallTrace),
}

impl LogQueue {
    /// A queue whose thread writes to `out`.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub fn start(format: LineFormat, out: impl Write + Send + 'static) -> std::io::Result<Arc<Self>> {
        let queue = Arc::new(Self {
            format,
            queued: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            dropped: AtomicU64::new(0),
        });
        let writer = queue.clone();
        std::thread::Builder::new().name("codeyard-log".to_owned()).spawn(move || writer.write(out))?;
        Ok(queue)
    }

    /// Adds a line with its line break.
    pub fn line(&self, text: &[u8]) {
        self.push(LogLine::Text(text.into()), text.len());
    }

    /// Lines dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Waits until everything is written, for at most [`LOG_FLUSH_MS`].
    pub fn flush(&self) {
        let mut queued = self.queued.lock();
        let unwritten = |queued: &mut QueuedLines| queued.writing || !queued.lines.is_empty();
        self.emptied.wait_while_for(&mut queued, unwritten, Duration::from_millis(LOG_FLUSH_MS));
    }

    fn push(&self, line: LogLine, bytes: usize) {
        let bytes = size_of::<LogLine>() + bytes;
        let mut queued = self.queued.lock();
        if queued.lines.len() >= MAX_LOG_QUEUE || queued.bytes + bytes > MAX_LOG_QUEUE_BYTES {
            self.dropped.fetch_add(1, Relaxed);
            return;
        }
        let was_empty = queued.lines.is_empty();
        queued.bytes += bytes;
        queued.lines.push_back(line);
        drop(queued);
        if was_empty {
            self.filled.notify_one();
        }
    }

    /// The thread. It runs until the process ends.
    fn write(&self, mut out: impl Write) {
        let mut reported = 0;
        let mut buffer = Vec::new();
        loop {
            let lines = self.take();
            for line in lines {
                let start = buffer.len();
                match line {
                    LogLine::Text(text) => buffer.extend_from_slice(&text),
                    LogLine::Call(call) => call.read(|finished| {
                        let ended = call.started() + finished.record.total;
                        call_line::write(finished.record, call.wall(ended), self.format, &mut buffer);
                    }),
                }
                self.clean(start, &mut buffer);
            }
            let dropped = self.dropped();
            if dropped > reported {
                self.report_dropped(dropped - reported, &mut buffer);
                reported = dropped;
            }
            // A closed log accepts nothing, and there is no other place for the error.
            _ = out.write_all(&buffer).and_then(|()| out.flush());
            buffer.clear();
            buffer.shrink_to(MAX_LOG_QUEUE_BYTES / 16);
            let mut queued = self.queued.lock();
            queued.writing = false;
            self.emptied.notify_all();
        }
    }

    /// Takes the secrets out of the line that begins at `start`, and what a terminal would obey.
    fn clean(&self, start: usize, buffer: &mut Vec<u8>) {
        let line = String::from_utf8_lossy(&buffer[start..]);
        let redacted = match self.format {
            LineFormat::Json => redact_json(&line),
            LineFormat::Text => redact(&line),
        };
        let shown = match self.format {
            LineFormat::Json => visible_json(&redacted),
            LineFormat::Text => visible_log(&redacted),
        };
        if shown.as_bytes() != &buffer[start..] {
            let clean = shown.into_owned();
            buffer.truncate(start);
            buffer.extend_from_slice(clean.as_bytes());
        }
    }

    /// Takes the queued lines as soon as there is one, with those that follow within `LOG_GATHER_MS`.
    fn take(&self) -> VecDeque<LogLine> {
        let mut queued = self.queued.lock();
        while queued.lines.is_empty() {
            self.filled.wait(&mut queued);
        }
        queued.writing = true;
        // Only the first line notifies, so this waits for the whole time.
        self.filled.wait_for(&mut queued, Duration::from_millis(LOG_GATHER_MS));
        queued.bytes = 0;
        std::mem::take(&mut queued.lines)
    }

    fn report_dropped(&self, lines: u64, buffer: &mut Vec<u8>) {
        let target = "codeyard::log";
        // Writing into memory doesn't fail.
        _ = match self.format {
            LineFormat::Json => writeln!(
                buffer,
                "{{\"level\":\"WARN\",\"target\":\"{target}\",\"message\":\"log lines were dropped\",\"lines\":{lines}}}"
            ),
            LineFormat::Text => writeln!(buffer, " WARN {target}: log lines were dropped lines={lines}"),
        };
    }
}

impl CallLog for LogQueue {
    fn dropped(&self) -> u64 {
        Self::dropped(self)
    }

    fn call(&self, call: &CallTrace) {
        let wanted = if call.read(|finished| call_line::is_warning(finished.record)) {
            tracing::enabled!(target: CALL_TARGET, Level::WARN)
        } else {
            tracing::enabled!(target: CALL_TARGET, Level::INFO)
        };
        if wanted {
            self.push(LogLine::Call(call.clone()), call.held_bytes());
        }
    }
}

/// Adds each write to the queue as one line.
#[derive(Clone)]
pub struct LineWriter(pub Arc<LogQueue>);

impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::call_trace::samples::call_of;

    /// A reader that accepts nothing until a signal arrives.
    struct BlockedReader(mpsc::Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for BlockedReader {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // Never blocks again once the sender is dropped.
            self.0.recv().ok();
            self.1.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_line_has_a_secret_or_a_character_that_a_terminal_obeys() {
        for format in [LineFormat::Json, LineFormat::Text] {
            let signal = mpsc::channel().1;
            let written = Arc::<Mutex<Vec<u8>>>::default();
            let queue = LogQueue::start(format, BlockedReader(signal, written.clone())).unwrap();
            let line =
                serde_json::json!({"message": "Authorization: Bearer abc \u{202e}\u{9b}31m cyd_0123456789abcdef0123"});
            queue.line(format!("{line}\n").as_bytes());
            queue.line(b"{\"url\":\"https://u:pass@h/\"}\n");
            queue.flush();
            let text = String::from_utf8(written.lock().clone()).unwrap();
            for secret in ["abc", "0123456789", "pass", "\u{202e}", "\u{9b}"] {
                assert!(!text.contains(secret), "{text}");
            }
            assert_eq!(text.lines().count(), 2);
            let parses = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
            assert!(matches!(format, LineFormat::Text) || text.lines().all(parses), "{text}");
        }
    }

    #[test]
    fn logging_does_not_wait_for_a_blocked_reader_and_drops_are_logged() {
        let (open, gate) = mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let queue = LogQueue::start(LineFormat::Text, BlockedReader(gate, written.clone())).unwrap();
        for _ in 0..3 * MAX_LOG_QUEUE {
            queue.line(b"line\n");
        }
        assert!(queue.dropped() > 0, "the queue is bounded");
        drop(open);
        while queue.queued.lock().writing || !queue.queued.lock().lines.is_empty() {
            queue.flush();
        }
        let text = String::from_utf8(written.lock().clone()).unwrap();
        let lines = text.lines().filter(|line| *line == "line").count() as u64;
        assert_eq!(lines + queue.dropped(), 3 * MAX_LOG_QUEUE as u64);
        let reported: u64 =
            text.lines().filter_map(|line| line.split_once("dropped lines=")?.1.parse::<u64>().ok()).sum();
        assert_eq!(reported, queue.dropped());
    }

    #[test]
    fn queued_calls_count_with_the_bytes_they_hold() {
        let (open, gate) = mpsc::channel();
        let queue = LogQueue::start(LineFormat::Text, BlockedReader(gate, Arc::default())).unwrap();
        let call = call_of(64 * 1024);
        let fit = MAX_LOG_QUEUE_BYTES / (64 * 1024);
        // The thread may empty the queue once before the reader blocks it.
        for _ in 0..3 * fit {
            queue.push(LogLine::Call(call.clone()), call.held_bytes());
            assert!(queue.queued.lock().bytes <= MAX_LOG_QUEUE_BYTES);
        }
        assert!(queue.dropped() >= fit as u64, "{}", queue.dropped());
        drop(open);
    }

    #[test]
    fn a_huge_line_is_dropped_and_small_ones_are_not() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let (open, gate) = mpsc::channel();
        drop(open);
        let queue = LogQueue::start(LineFormat::Json, BlockedReader(gate, written.clone())).unwrap();
        queue.line(&vec![b'x'; MAX_LOG_QUEUE_BYTES + 1]);
        queue.line(b"{}\n");
        while written.lock().is_empty() {
            queue.flush();
        }
        assert_eq!(queue.dropped(), 1);
        assert!(String::from_utf8(written.lock().clone()).unwrap().starts_with("{}\n"));
    }
}
