//! Work that blocks: on the runtime's blocking pool, or, where a simulation asks for it, on the thread that asked.
//!
//! A pool's threads finish in an order that nobody can repeat. With [`on_this_thread`] everything that would have gone to the
//! pool runs as a task of the present runtime, after a time that the simulation chooses. Invariant: who hands work over
//! can't tell the two apart, except by the order in which work finishes.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;

/// How long a piece of work takes to come to its turn.
type Pace = Rc<dyn Fn() -> Duration>;

thread_local! {
    static PACE: RefCell<Option<Pace>> = const { RefCell::new(None) };
}

/// Keeps blocking work on the thread that made it, until it is dropped there.
#[must_use = "dropping it sends blocking work to the pool again"]
pub struct OnThisThread(Option<Pace>);

impl Drop for OnThisThread {
    fn drop(&mut self) {
        let before = self.0.take();
        PACE.with(|pace| *pace.borrow_mut() = before);
    }
}

/// From now on blocking work that this thread hands over runs on this thread, each piece after what `pace` says.
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
    fn work_runs_here_while_asked_and_elsewhere_otherwise() {
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
}
