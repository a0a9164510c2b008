//! Blocking work that gives way to calls: index jobs, and what a start of a language server reads.
//!
//! Invariant: no thread of the blocking pool keeps a low priority.

use codeyard_base::{blocking, priority};

/// Runs `work` on a low-priority thread of its own; `None` if it panicked or the thread can't be started. A thread of the pool is not used
/// for it, because it would keep the low priority; it only waits.
pub(crate) async fn run<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    run_after(name, priority::give_way, work).await
}

/// The same with a lower priority than that and on half of the processors, for work that takes long: indexes and starts of language servers come first.
pub(crate) async fn run_long<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    run_after(name, priority::give_way_to_background, work).await
}

async fn run_after<T: Send + 'static>(name: &str, lower: fn(), work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let name = name.to_owned();
    let waiting = blocking::spawn(move || {
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            lower();
            work()
        });
        thread.ok()?.join().ok()
    });
    waiting.await.ok().flatten()
}
