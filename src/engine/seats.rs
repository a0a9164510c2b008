//! One seat for each language server of a workspace: whoever starts its process takes the seat first and keeps it until the
//! process has ended.
//!
//! A server that is being stopped, or whose workspace panicked, shares its caches with the one that comes in its place.
//! Invariant: at most one process at a time for a workspace, kind and project root. Bounded: a seat that nobody holds or waits
//! for is forgotten, so there are no more than starts and processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use crate::providers::ChildKey;
use codeyard_base::ids::WorkspaceName;

/// The seats that are held or waited for.
type Taken = BTreeMap<(WorkspaceName, ChildKey), Weak<Turn<()>>>;

/// All seats of a service.
#[derive(Debug, Clone, Default)]
pub struct Seats(Arc<Mutex<Taken>>);

/// A seat that is held; dropping it makes room for the next one.
#[derive(Debug)]
pub struct Seat(#[expect(dead_code, reason = "it is held, not read")] OwnedMutexGuard<()>);

impl Seats {
    /// Takes a seat, once whoever holds it has left; first come, first served.
    pub async fn take(&self, workspace: &WorkspaceName, key: &ChildKey) -> Seat {
        let turn = self.turn(workspace, key);
        Seat(turn.lock_owned().await)
    }

    fn turn(&self, workspace: &WorkspaceName, key: &ChildKey) -> Arc<Turn<()>> {
        let mut seats = self.0.lock();
        seats.retain(|_, turn| turn.strong_count() > 0);
        let of = (workspace.clone(), key.clone());
        if let Some(turn) = seats.get(&of).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(Turn::new(()));
        seats.insert(of, Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_seat_is_for_one_at_a_time_and_forgotten_when_free() {
        let seats = Seats::default();
        let name = WorkspaceName::new("w").unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|kind| ChildKey { kind: kind.into(), root: "/w".into() });
        let held = seats.take(&name, &a).now_or_never().unwrap();
        let mut waiting = Box::pin(seats.take(&name, &a));
        assert!(waiting.as_mut().now_or_never().is_none(), "the seat is taken");
        let other = seats.take(&name, &b).now_or_never().expect("another kind has another seat");
        drop(held);
        let held = waiting.now_or_never().expect("it is free now");
        drop((held, other));
        drop(seats.take(&name, &c).now_or_never());
        assert_eq!(seats.0.lock().len(), 1, "the free ones are forgotten");
    }
}
