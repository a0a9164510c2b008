//! A watch channel for the state of a language server.
//!
//! It differs from tokio's watch channel in one point: waiters are woken in the order in which they began to wait, so that the first
//! request is served first and a simulation is repeatable. Only the newest value is kept. It also carries the [`StartStatus`], by which
//! calls show that they need the server and learn when to ask again.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use parking_lot::RwLock;
use tokio::sync::Notify;

use crate::status::server_state::ServerState;
use crate::status::start_status::StartStatus;

struct Shared {
    value: RwLock<(ServerState, u64)>,
    changed: Notify,
    closed: AtomicBool,
    start: StartStatus,
}

/// The sending half. Dropping it ends all waits.
pub struct Sender(Arc<Shared>);

/// The receiving half. A clone has seen the same values as the original.
#[derive(Clone)]
pub struct Receiver {
    shared: Arc<Shared>,
    seen: u64,
}

/// The sender is gone, and there is no unseen value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// Both halves, with an initial state that counts as seen.
pub fn channel(first: ServerState) -> (Sender, Receiver) {
    let shared = Arc::new(Shared {
        value: RwLock::new((first, 0)),
        changed: Notify::new(),
        closed: AtomicBool::new(false),
        start: StartStatus::default(),
    });
    (Sender(shared.clone()), Receiver { shared, seen: 0 })
}

impl Sender {
    /// The current state. Must not be held while a state is sent.
    pub fn borrow(&self) -> impl Deref<Target = ServerState> {
        parking_lot::RwLockReadGuard::map(self.0.value.read(), |(state, _)| state)
    }

    /// The status of the server's start.
    pub fn start(&self) -> &StartStatus {
        &self.0.start
    }

    /// Replaces the state and wakes the waiters.
    pub fn send_replace(&self, next: ServerState) {
        {
            let mut value = self.0.value.write();
            *value = (next, value.1 + 1);
        }
        self.0.changed.notify_waiters();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.closed.store(true, SeqCst);
        self.0.changed.notify_waiters();
    }
}

impl Receiver {
    /// The current state. Must not be held across an await.
    pub fn borrow(&self) -> impl Deref<Target = ServerState> {
        parking_lot::RwLockReadGuard::map(self.shared.value.read(), |(state, _)| state)
    }

    /// The status of the server's start.
    pub fn start(&self) -> &StartStatus {
        &self.shared.start
    }

    /// The current state, which counts as seen from now on.
    pub fn borrow_and_update(&mut self) -> impl Deref<Target = ServerState> {
        let value = self.shared.value.read();
        self.seen = value.1;
        parking_lot::RwLockReadGuard::map(value, |(state, _)| state)
    }

    /// Waits for an unseen state, which then counts as seen.
    pub async fn changed(&mut self) -> Result<(), Gone> {
        let seen = self.seen;
        self.seen = wait(&self.shared, |_, number| number != seen).await?;
        Ok(())
    }

    /// Waits until the current or a later state satisfies `wanted`.
    pub async fn wait_for(&mut self, wanted: impl Fn(&ServerState) -> bool) -> Result<(), Gone> {
        self.seen = wait(&self.shared, |state, _| wanted(state)).await?;
        Ok(())
    }
}

/// The sequence number of the first state that satisfies `wanted`.
async fn wait(shared: &Shared, wanted: impl Fn(&ServerState, u64) -> bool) -> Result<u64, Gone> {
    loop {
        let mut changed = std::pin::pin!(shared.changed.notified());
        changed.as_mut().enable();
        {
            let value = shared.value.read();
            if wanted(&value.0, value.1) {
                return Ok(value.1);
            }
        }
        if shared.closed.load(SeqCst) {
            return Err(Gone);
        }
        changed.await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use parking_lot::Mutex;

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test);
    }

    #[test]
    fn waiters_are_woken_in_order() {
        run(async {
            let (sender, receiver) = channel(ServerState::Starting);
            let order = Arc::new(Mutex::new(Vec::new()));
            let waits: Vec<_> = (0..40)
                .map(|number| {
                    let mut receiver = receiver.clone();
                    let order = order.clone();
                    tokio::spawn(async move {
                        receiver.wait_for(|state| *state == ServerState::Ready).await.unwrap();
                        order.lock().push(number);
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            sender.send_replace(ServerState::Ready);
            for wait in waits {
                wait.await.unwrap();
            }
            assert_eq!(*order.lock(), (0..40).collect::<Vec<_>>());
        });
    }

    #[test]
    fn what_was_seen_is_not_news_and_the_end_is() {
        run(async {
            let (sender, mut receiver) = channel(ServerState::Starting);
            assert_eq!(receiver.changed().now_or_never(), None);
            sender.send_replace(ServerState::Ready);
            assert_eq!(*receiver.clone().borrow_and_update(), ServerState::Ready);
            assert_eq!(receiver.changed().now_or_never(), Some(Ok(())), "a clone's look isn't the original's");
            assert_eq!(receiver.changed().now_or_never(), None);
            drop(sender);
            assert_eq!(receiver.changed().await, Err(Gone));
            assert_eq!(receiver.wait_for(|state| *state == ServerState::Ready).await, Ok(()), "the last state stays");
        });
    }
}
