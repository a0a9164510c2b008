//! Blocking work: on the runtime's blocking pool, or in a simulation on the calling thread.
//!
//! The threads of a pool finish in an order that can't be repeated. With [`on_this_thread`] the work runs as a task of the present runtime
//! instead, after a delay that the simulation chooses.
//!
//! A thread that serves actors or calls is marked by [`forbid_here`]. Code that touches a file calls [`assert_may_block`]. Invariants: for the
//! caller the pool and the simulation differ only in the order in which work ends; in debug builds no marked thread touches a file.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};

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

/// Work that [`spawn`] started: a future of what it returns. Dropped, it leaves the work alone.
#[must_use = "the work goes on; drop it to say that nobody waits"]
pub struct Started<T> {
    task: JoinHandle<()>,
    value: oneshot::Receiver<T>,
}

impl<T> Future for Started<T> {
    /// An error: the work panicked, or the runtime ends.
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(Pin::new(&mut self.task).poll(context))?;
        Poll::Ready(Ok(self.value.try_recv().expect("work that ended has sent its value")))
    }
}

/// Starts blocking work at once, whether or not what it returns is awaited.
pub fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Started<T> {
    let (sender, value) = oneshot::channel();
    let task = spawn_erased(Box::new(move || drop(sender.send(work()))));
    Started { task, value }
}

/// The part of [`spawn`] that no type of work repeats: the runtime compiles all of a task's code for each type that it runs.
fn spawn_erased(work: Box<dyn FnOnce() + Send>) -> JoinHandle<()> {
    let Some(pace) = PACE.with(|pace| pace.borrow().clone()) else { return tokio::task::spawn_blocking(work) };
    let wait = pace();
    tokio::spawn(async move {
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        work();
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
