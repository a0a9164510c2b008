//! Bounds the bytes of parsed contents that wait for the writer.
//!
//! Results are written in the order of their contents, so while one content takes long, the results of later ones wait for it. Invariant:
//! the worker of the next content to be written never waits here, so the window can't block all workers.

use parking_lot::{Condvar, Mutex};

/// Symbols and facts of parsed contents that wait for the index's writer, in bytes. Beyond it, only the next content is parsed.
const MAX_WAITING_RESULT_BYTES: usize = 96 * 1024 * 1024;

pub(super) struct ResultWindow {
    state: Mutex<WindowState>,
    changed: Condvar,
}

#[derive(Default)]
struct WindowState {
    /// The content that is written next.
    next: usize,
    bytes: usize,
    is_closed: bool,
}

/// A worker's use of the window. Closes it when the worker ends without having finished, so that no other worker waits for its result.
pub(super) struct WindowUse<'w> {
    window: &'w ResultWindow,
    /// Whether the worker found no further content.
    pub(super) is_finished: bool,
}

impl ResultWindow {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(WindowState::default()), changed: Condvar::new() }
    }

    /// The use of the window by a worker.
    pub(super) fn worker(&self) -> WindowUse<'_> {
        WindowUse { window: self, is_finished: false }
    }

    /// Records that the `nth` result of this size was written.
    pub(super) fn written(&self, nth: usize, bytes: usize) {
        let mut state = self.state.lock();
        (state.next, state.bytes) = (nth + 1, state.bytes.saturating_sub(bytes));
        drop(state);
        self.changed.notify_all();
    }

    /// Lets every worker go on: no further result is written.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl WindowUse<'_> {
    /// Waits until there is room for a result, unless the `nth` one is written next.
    pub(super) fn wait(&self, nth: usize) {
        let mut state = self.window.state.lock();
        while state.bytes > MAX_WAITING_RESULT_BYTES && state.next != nth && !state.is_closed {
            self.window.changed.wait(&mut state);
        }
    }

    /// Adds a result of this size.
    pub(super) fn add(&self, bytes: usize) {
        self.window.state.lock().bytes += bytes;
    }
}

impl Drop for WindowUse<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.window.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn only_the_next_result_is_made_while_too_much_waits() {
        let window = ResultWindow::new();
        let (passed, passes) = channel();
        std::thread::scope(|scope| {
            let worker = window.worker();
            worker.wait(1);
            worker.add(MAX_WAITING_RESULT_BYTES + 1);
            // The next one doesn't wait.
            worker.wait(0);
            worker.add(1);
            let window = &window;
            scope.spawn(move || {
                let mut other = window.worker();
                other.wait(2);
                passed.send(2).unwrap();
                other.is_finished = true;
            });
            window.written(0, 1);
            assert!(passes.try_recv().is_err());
            window.written(1, MAX_WAITING_RESULT_BYTES + 1);
            assert_eq!(passes.recv(), Ok(2));
            drop(worker);
        });
        assert!(window.state.lock().is_closed);
    }

    #[test]
    fn a_worker_that_ends_early_lets_the_others_go_on() {
        let window = ResultWindow::new();
        window.worker().add(MAX_WAITING_RESULT_BYTES + 1);
        window.worker().wait(5);
    }
}
