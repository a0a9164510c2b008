//! How an actor ended: stopped or panicked. A guard field tells, because its `Drop` runs in both cases.
//!
//! Invariant: whoever is told by a guard is told exactly once.

/// Calls back when its actor is dropped, and says whether that was by a panic.
pub(crate) struct ExitGuard {
    tell: Option<Box<dyn FnOnce(ExitKind) + Send>>,
}

/// How an actor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// It was stopped.
    Stopped,
    /// A handler or future of it panicked.
    Panicked,
}

impl ExitGuard {
    /// A guard that calls `tell` once.
    pub(crate) fn new(tell: impl FnOnce(ExitKind) + Send + 'static) -> Self {
        Self { tell: Some(Box::new(tell)) }
    }
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        let kind = if std::thread::panicking() { ExitKind::Panicked } else { ExitKind::Stopped };
        if let Some(tell) = self.tell.take() {
            tell(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn tells_a_panic_from_a_stop() {
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
