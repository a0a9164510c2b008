//! Reads what a tool writes, in a thread for each of its outputs, and keeps a bounded part.

use std::io::{self, PipeReader, Read};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use parking_lot::Mutex;

/// What the threads of a run report.
pub(crate) enum Event {
    Exited(io::Result<ExitStatus>),
    OutputEnded,
    OutputTooLong,
}

/// Which part of an output is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kept {
    /// At most so many bytes of its end.
    Tail(usize),
    /// All, if it isn't longer.
    Whole(usize),
}

/// The kept bytes of an output.
pub(crate) type Captured = Arc<Mutex<Vec<u8>>>;

/// Reads an output to its end in a thread and keeps a part of its bytes.
pub(crate) fn capture(mut reader: PipeReader, kept: Kept, events: &Sender<Event>) -> Captured {
    let captured = Captured::default();
    let bytes = Arc::clone(&captured);
    let events = events.clone();
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            let mut bytes = bytes.lock();
            match kept {
                Kept::Tail(max) => {
                    bytes.extend_from_slice(&buffer[..count]);
                    let overflow = bytes.len().saturating_sub(max);
                    bytes.drain(..overflow);
                }
                Kept::Whole(max) if bytes.len() + count > max => {
                    let _ = events.send(Event::OutputTooLong);
                    return;
                }
                Kept::Whole(_) => bytes.extend_from_slice(&buffer[..count]),
            }
        }
        // The receiver is gone if the time was over.
        let _ = events.send(Event::OutputEnded);
    });
    captured
}
