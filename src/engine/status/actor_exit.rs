//! Reports whether an actor stopped or panicked.
//!
//! The actor holds an [`ExitGuard`] as a field; its `Drop` runs in both cases. Invariant: the callback runs exactly once.

/// Calls back when its actor is dropped, with the kind of exit.
pub(crate) struct ExitGuard {
    on_exit: Option<Box<dyn FnOnce(ExitKind) + Send>>,
}

/// How an actor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    Stopped,
    /// A handler or future of it panicked.
    Panicked,
}

impl ExitGuard {
    /// A guard that calls `on_exit` once.
    pub(crate) fn new(on_exit: impl FnOnce(ExitKind) + Send + 'static) -> Self {
        Self { on_exit: Some(Box::new(on_exit)) }
    }
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        let kind = if std::thread::panicking() { ExitKind::Panicked } else { ExitKind::Stopped };
        if let Some(on_exit) = self.on_exit.take() {
            on_exit(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_panic_is_not_a_stop() {
        let (tx, rx) = channel();
        let other = tx.clone();
        drop(ExitGuard::new(move |kind| tx.send(kind).unwrap()));
        assert_eq!(rx.recv().unwrap(), ExitKind::Stopped);
        let thread = std::thread::spawn(move || {
            let _guard = ExitGuard::new(move |kind| other.send(kind).unwrap());
            panic!("meant");
        });
        assert!(thread.join().is_err());
        assert_eq!(rx.recv().unwrap(), ExitKind::Panicked);
    }
}
