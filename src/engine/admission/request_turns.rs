//! Bounds how many language servers work on requests at the same time.
//!
//! The processors are shared between sessions, and each language server leads one. If a hundred requests reach sixty servers at once, codeyard
//! itself has one share in sixty-one, so searches and deadlines are late, and no request is answered sooner than in turn.
//!
//! A turn belongs to a server: more requests to a server that has one go to it at once. Invariants: a server keeps a turn no longer than its
//! requests of [`limits::REQUEST_TURN_MS`] last, and a request waits no longer than [`limits::MAX_REQUEST_TURN_WAIT_MS`], so that servers
//! that are slow or hang delay the others by no more than that.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::admission::overload::ServerQueue;
use crate::limits;

/// The turns of all language servers of a process. Clones share them.
#[derive(Debug, Clone)]
pub struct RequestTurns(Arc<Semaphore>);

impl RequestTurns {
    /// Turns for `most` servers at once.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Two for each processor, because a server also waits for the disk.
    pub fn by_processors() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new((processors * 2).max(limits::MIN_REQUEST_TURNS))
    }

    /// The turns of a new server.
    pub(crate) fn of_server(&self) -> ServerTurns {
        ServerTurns { all: self.0.clone(), current: Arc::default(), queue: ServerQueue::default() }
    }
}

/// The turns of one server. Clones share them.
#[derive(Debug, Clone)]
pub struct ServerTurns {
    all: Arc<Semaphore>,
    /// The present turn, while a request holds it.
    current: Arc<Mutex<Weak<OwnedSemaphorePermit>>>,
    /// What it has to do.
    pub(crate) queue: ServerQueue,
}

impl ServerTurns {
    /// Waits for a turn, and runs the request `work`.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let turn = timeout(Duration::from_millis(limits::MAX_REQUEST_TURN_WAIT_MS), self.take()).await.ok();
        let mut work = pin!(work);
        if let Some(turn) = turn {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = sleep(Duration::from_millis(limits::REQUEST_TURN_MS)) => drop(turn),
            }
        }
        work.await
    }

    /// The server's present turn, or its next one. `None` if there are no turns any more.
    async fn take(&self) -> Option<Arc<OwnedSemaphorePermit>> {
        let mut current = self.current.lock().await;
        if let Some(turn) = current.upgrade() {
            return Some(turn);
        }
        let turn = Arc::new(self.all.clone().acquire_owned().await.ok()?);
        *current = Arc::downgrade(&turn);
        Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join_all;
    use tokio::time::Instant;

    use super::*;

    /// Runs a request to a server at once, which takes `ms`; returns when it began.
    async fn began(turns: &ServerTurns, ms: u64) -> u128 {
        let start = Instant::now();
        turns.run(async { (start.elapsed().as_millis(), sleep(Duration::from_millis(ms)).await).0 }).await
    }

    #[tokio::test(start_paused = true)]
    async fn servers_take_turns_in_order_and_one_server_needs_one() {
        let all = RequestTurns::new(1);
        let a = all.of_server();
        let b = all.of_server();
        let c = all.of_server();
        let requests = [began(&a, 10), began(&b, 10), began(&a, 5), began(&c, 10), began(&b, 10)];
        assert_eq!(join_all(requests).await, [0, 10, 0, 20, 10]);
        assert_eq!(all.0.available_permits(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_server_loses_its_turn() {
        let all = RequestTurns::new(1);
        let slow = all.of_server();
        let other = all.of_server();
        let times = join_all([began(&slow, 5_000), began(&other, 1)]).await;
        assert_eq!(times, [0, u128::from(limits::REQUEST_TURN_MS)]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_waits_long() {
        let all = RequestTurns::new(1);
        let servers: Vec<ServerTurns> = (0..20).map(|_| all.of_server()).collect();
        let longest = join_all(servers.iter().map(|slow| began(slow, 5_000))).await.into_iter().max();
        assert_eq!(longest, Some(u128::from(limits::MAX_REQUEST_TURN_WAIT_MS)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_request_returns_its_turn() {
        let all = RequestTurns::new(1);
        let gone = all.of_server();
        let other = all.of_server();
        let mut request = Box::pin(began(&gone, 50));
        assert!(request.as_mut().now_or_never().is_none());
        let mut waiting = Box::pin(began(&other, 1));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop((request, waiting));
        assert_eq!(began(&other, 1).await, 0);
        assert_eq!(all.0.available_permits(), 1);
    }
}
