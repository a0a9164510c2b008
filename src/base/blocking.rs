//! Blocking work: on the runtime's blocking pool, or in a simulation on the calling thread.
//!
//! The threads of a pool finish in an order that can't be repeated. With [`on_this_thread`] the work runs as a task of the present runtime
//! instead, after a delay that the simulation chooses.
//!
//! A thread that serves actors or calls is marked by [`forbid_here`]. Code that touches a file calls [`assert_may_block`]. Invariants: for the
//! caller the pool and the simulation differ only in the order in which work ends; in debug builds no marked thread touches a file.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;

/// The delay of a piece of work.
type Pace = Rc<dyn Fn() -> Duration>;

thread_local! {
    static PACE: RefCell<Option<Pace>> = const { RefCell::new(None) };
    static MAY_BLOCK: Cell<bool> = const { Cell::new(true) };
}

/// Marks this thread as one that must never wait for a file.
pub fn forbid_here() {
    MAY_BLOCK.set(false);
}

/// Called where a file is touched. Panics in debug builds on a thread that was marked by [`forbid_here`], unless a simulation keeps blocking
/// work there.
#[track_caller]
pub fn assert_may_block() {
    debug_assert!(
        MAY_BLOCK.get() || PACE.with(|pace| pace.borrow().is_some()),
        "a file is touched on a thread that serves actors"
    );
}

/// Keeps blocking work on the thread that created this guard, until it is dropped there.
#[must_use = "dropping it sends blocking work to the pool again"]
pub struct OnThisThread(Option<Pace>);

impl Drop for OnThisThread {
    fn drop(&mut self) {
        let before = self.0.take();
        PACE.with(|pace| *pace.borrow_mut() = before);
    }
}

/// Runs the blocking work of this thread on this thread, each piece after the delay that `pace` returns, until the guard is dropped.
pub fn on_this_thread(pace: impl Fn() -> Duration + 'static) -> OnThisThread {
    OnThisThread(PACE.with(|current| current.borrow_mut().replace(Rc::new(pace))))
}

/// Starts blocking work at once, whether or not the handle is awaited. A panic of the work is the handle's error.
pub fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let Some(pace) = PACE.with(|pace| pace.borrow().clone()) else { return tokio::task::spawn_blocking(work) };
    let wait = pace();
    tokio::spawn(async move {
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(test);
    }

    #[test]
    fn work_runs_on_the_calling_thread_while_the_guard_lives() {
        run(async {
            let here = std::thread::current().id();
            let of = || std::thread::current().id();
            let guard = on_this_thread(|| Duration::from_millis(7));
            let began = tokio::time::Instant::now();
            assert_eq!(spawn(of).await.unwrap(), here);
            assert_eq!(began.elapsed(), Duration::from_millis(7));
            assert!(spawn(|| panic!("meant to panic")).await.is_err());
            drop(guard);
            assert_ne!(spawn(of).await.unwrap(), here);
        });
    }

    #[test]
    fn a_marked_thread_touches_files_only_by_work_elsewhere_or_in_a_simulation() {
        run(async {
            assert_may_block();
            forbid_here();
            assert!(!cfg!(debug_assertions) || std::panic::catch_unwind(assert_may_block).is_err());
            spawn(assert_may_block).await.unwrap();
            let guard = on_this_thread(|| Duration::ZERO);
            spawn(assert_may_block).await.unwrap();
            drop(guard);
        });
    }
}
