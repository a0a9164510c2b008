//! The state of a language server, published to everybody who waits for it.
//!
//! Like tokio's watch channel, with one promise more: those who wait are woken in the order in which they came, so that the
//! first to ask is the first to be served, and a simulation repeats itself. One value is kept, the newest.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use parking_lot::RwLock;
use tokio::sync::Notify;

use crate::server_state::ServerState;

struct Shared {
    value: RwLock<(ServerState, u64)>,
    changed: Notify,
    closed: AtomicBool,
}

/// The end that publishes. Dropping it ends all waiting.
pub struct Sender(Arc<Shared>);

/// The end that waits. A clone has seen what the original has.
#[derive(Clone)]
pub struct Receiver {
    shared: Arc<Shared>,
    seen: u64,
}

/// The publisher is gone, and nothing was published that hadn't been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// Both ends, with a first state that counts as seen.
pub fn channel(first: ServerState) -> (Sender, Receiver) {
    let shared =
        Arc::new(Shared { value: RwLock::new((first, 0)), changed: Notify::new(), closed: AtomicBool::new(false) });
    (Sender(shared.clone()), Receiver { shared, seen: 0 })
}

impl Sender {
    /// The present state. Not to be held while another one is published.
    pub fn borrow(&self) -> impl Deref<Target = ServerState> {
        parking_lot::RwLockReadGuard::map(self.0.value.read(), |(state, _)| state)
    }

    /// Publishes another state.
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
    /// The present state. Not to be held across an await.
    pub fn borrow(&self) -> impl Deref<Target = ServerState> {
        parking_lot::RwLockReadGuard::map(self.shared.value.read(), |(state, _)| state)
    }

    /// The present state, which counts as seen from now on.
    pub fn borrow_and_update(&mut self) -> impl Deref<Target = ServerState> {
        let value = self.shared.value.read();
        self.seen = value.1;
        parking_lot::RwLockReadGuard::map(value, |(state, _)| state)
    }

    /// Waits for a state that hasn't been seen, which then counts as seen.
    pub async fn changed(&mut self) -> Result<(), Gone> {
        let seen = self.seen;
        self.seen = wait(&self.shared, |_, number| number != seen).await?;
        Ok(())
    }

    /// Waits for a state that `wanted` accepts; the present one will do.
    pub async fn wait_for(&mut self, wanted: impl Fn(&ServerState) -> bool) -> Result<(), Gone> {
        self.seen = wait(&self.shared, |state, _| wanted(state)).await?;
        Ok(())
    }
}

/// The number of the first state that `wanted` accepts.
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
    fn who_waits_first_is_woken_first() {
        run(async {
            let (sender, receiver) = channel(ServerState::Starting);
            let order = Arc::new(Mutex::new(Vec::new()));
            let waits: Vec<_> = (0..40)
                .map(|number| {
                    let (mut receiver, order) = (receiver.clone(), order.clone());
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
