//! Lines on their way to the log, and the thread that writes them.
//!
//! Invariants: who logs never waits for who reads the log; what waits is bounded in number and bytes, what comes beyond is
//! dropped and counted, and the count is written as soon as something can be; lines are never mixed.

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
use crate::limits;

/// See the module.
pub struct LogQueue {
    format: LineFormat,
    waiting: Mutex<Waiting>,
    filled: Condvar,
    emptied: Condvar,
    dropped: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Line>,
    bytes: usize,
    writing: bool,
}

enum Line {
    /// Written already.
    Text(Box<[u8]>),
    /// Yet to be written: that's the thread's work, not the call's.
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
            waiting: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            dropped: AtomicU64::new(0),
        });
        let writer = queue.clone();
        std::thread::Builder::new().name("codeyard-log".to_owned()).spawn(move || writer.write(out))?;
        Ok(queue)
    }

    /// Adds a line, with its line break.
    pub fn line(&self, text: &[u8]) {
        self.push(Line::Text(text.into()), text.len());
    }

    /// Lines dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Waits until everything is written, for at most [`limits::LOG_FLUSH_MS`].
    pub fn flush(&self) {
        let mut waiting = self.waiting.lock();
        let unwritten = |waiting: &mut Waiting| waiting.writing || !waiting.lines.is_empty();
        self.emptied.wait_while_for(&mut waiting, unwritten, Duration::from_millis(limits::LOG_FLUSH_MS));
    }

    fn push(&self, line: Line, bytes: usize) {
        let bytes = size_of::<Line>() + bytes;
        let mut waiting = self.waiting.lock();
        if waiting.lines.len() >= limits::MAX_LOG_QUEUE || waiting.bytes + bytes > limits::MAX_LOG_QUEUE_BYTES {
            self.dropped.fetch_add(1, Relaxed);
            return;
        }
        let was_empty = waiting.lines.is_empty();
        waiting.bytes += bytes;
        waiting.lines.push_back(line);
        drop(waiting);
        if was_empty {
            self.filled.notify_one();
        }
    }

    /// The thread: until the process ends, or nobody can take lines any more.
    fn write(&self, mut out: impl Write) {
        let (mut told, mut buffer) = (0, Vec::new());
        loop {
            let lines = self.take();
            for line in lines {
                match line {
                    Line::Text(text) => buffer.extend_from_slice(&text),
                    Line::Call(call) => call.read(|finished| {
                        let ended = call.started() + finished.record.total;
                        call_line::write(finished.record, call.wall(ended), self.format, &mut buffer);
                    }),
                }
            }
            let dropped = self.dropped();
            if dropped > told {
                self.tell_dropped(dropped - told, &mut buffer);
                told = dropped;
            }
            // A log that is closed takes nothing, and nobody else is to be told.
            _ = out.write_all(&buffer).and_then(|()| out.flush());
            buffer.clear();
            buffer.shrink_to(limits::MAX_LOG_QUEUE_BYTES / 16);
            let mut waiting = self.waiting.lock();
            waiting.writing = false;
            self.emptied.notify_all();
        }
    }

    /// What waits, as soon as something does. Lines that come soon after are taken along.
    fn take(&self) -> VecDeque<Line> {
        let mut waiting = self.waiting.lock();
        while waiting.lines.is_empty() {
            self.filled.wait(&mut waiting);
        }
        waiting.writing = true;
        // Only the first line rings, so this lets the time pass.
        self.filled.wait_for(&mut waiting, Duration::from_millis(limits::LOG_GATHER_MS));
        waiting.bytes = 0;
        std::mem::take(&mut waiting.lines)
    }

    fn tell_dropped(&self, lines: u64, buffer: &mut Vec<u8>) {
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
            self.push(Line::Call(call.clone()), call.held_bytes());
        }
    }
}

/// A line is written to it as a whole.
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

    /// Takes nothing until it is told to.
    struct Gate(mpsc::Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // Open for good once the sender is gone.
            self.0.recv().ok();
            self.1.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_logs_doesnt_wait_for_a_blocked_reader_and_is_told_what_was_dropped() {
        let (open, gate) = mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let queue = LogQueue::start(LineFormat::Text, Gate(gate, written.clone())).unwrap();
        for _ in 0..3 * limits::MAX_LOG_QUEUE {
            queue.line(b"line\n");
        }
        assert!(queue.dropped() > 0, "the queue is bounded");
        drop(open);
        while queue.waiting.lock().writing || !queue.waiting.lock().lines.is_empty() {
            queue.flush();
        }
        let text = String::from_utf8(written.lock().clone()).unwrap();
        let lines = text.lines().filter(|line| *line == "line").count() as u64;
        assert_eq!(lines + queue.dropped(), 3 * limits::MAX_LOG_QUEUE as u64);
        let told: u64 = text.lines().filter_map(|line| line.split_once("dropped lines=")?.1.parse::<u64>().ok()).sum();
        assert_eq!(told, queue.dropped());
    }

    #[test]
    fn calls_that_wait_count_with_what_they_hold() {
        let (open, gate) = mpsc::channel();
        let queue = LogQueue::start(LineFormat::Text, Gate(gate, Arc::default())).unwrap();
        let call = call_of(64 * 1024);
        let fit = limits::MAX_LOG_QUEUE_BYTES / (64 * 1024);
        // The thread may take what waits once, before it finds that nobody reads.
        for _ in 0..3 * fit {
            queue.push(Line::Call(call.clone()), call.held_bytes());
            assert!(queue.waiting.lock().bytes <= limits::MAX_LOG_QUEUE_BYTES);
        }
        assert!(queue.dropped() >= fit as u64, "{}", queue.dropped());
        drop(open);
    }

    #[test]
    fn a_huge_line_is_dropped_and_small_ones_are_not() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let (open, gate) = mpsc::channel();
        drop(open);
        let queue = LogQueue::start(LineFormat::Json, Gate(gate, written.clone())).unwrap();
        queue.line(&vec![b'x'; limits::MAX_LOG_QUEUE_BYTES + 1]);
        queue.line(b"{}\n");
        while written.lock().is_empty() {
            queue.flush();
        }
        assert_eq!(queue.dropped(), 1);
        assert!(String::from_utf8(written.lock().clone()).unwrap().starts_with("{}\n"));
    }
}
