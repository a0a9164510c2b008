//! The open subscriptions of all clients over HTTP.
//!
//! Invariants: their number is bounded, and a principal can use up its own share only; dropping a place gives it back.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::limits::MAX_SUBSCRIPTIONS_PER_PRINCIPAL;
use codeyard_gateway::service::Principal;

/// Subscriptions (`subscriptions/listen`) over HTTP that are open at a time.
const MAX_SUBSCRIPTIONS: usize = 256;

/// The number of open subscriptions of each principal.
#[derive(Debug, Default)]
pub(super) struct Subscriptions(Mutex<HashMap<Principal, usize>>);

#[derive(Debug)]
pub(super) struct SubscriptionPlace {
    all: Arc<Subscriptions>,
    principal: Principal,
}

impl Subscriptions {
    /// A place for a subscription of `principal`; `None` if there is none.
    pub(super) fn open(self: &Arc<Self>, principal: &Principal) -> Option<SubscriptionPlace> {
        let mut open = self.0.lock();
        let own = open.get(principal).copied().unwrap_or(0);
        if own >= MAX_SUBSCRIPTIONS_PER_PRINCIPAL || open.values().sum::<usize>() >= MAX_SUBSCRIPTIONS {
            return None;
        }
        open.insert(principal.clone(), own + 1);
        Some(SubscriptionPlace { all: Arc::clone(self), principal: principal.clone() })
    }
}

impl Drop for SubscriptionPlace {
    fn drop(&mut self) {
        let mut open = self.all.0.lock();
        match open.get_mut(&self.principal) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(open.remove(&self.principal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_base::ids::PrincipalId;

    #[test]
    fn a_principal_uses_up_its_own_share_only() {
        let all = Arc::new(Subscriptions::default());
        let principal = |name: &str| Principal::named(PrincipalId::new(name));
        let ann = principal("ann");
        let bob = principal("bob");
        let mut of_ann: Vec<_> = std::iter::from_fn(|| all.open(&ann)).collect();
        assert_eq!(of_ann.len(), MAX_SUBSCRIPTIONS_PER_PRINCIPAL);
        let of_bob = all.open(&bob);
        assert!(of_bob.is_some());
        drop(of_ann.pop());
        assert!(all.open(&ann).is_some());
        drop((of_ann, of_bob));
        assert!(all.0.lock().is_empty());
    }
}
