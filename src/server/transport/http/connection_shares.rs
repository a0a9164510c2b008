//! The shares of the HTTP connections: those that have authenticated, those that haven't yet, and those of probes.
//!
//! A connection begins without authentication and moves once, with its first valid request. Invariants: connections without
//! authentication never take a place of the others; while their share is full, a new one takes the place of the oldest idle one, first of
//! the same client; a connection that has authenticated is never closed for another one.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::options::ConnectionLimits;

/// The open connections of one listener.
#[derive(Debug)]
pub(super) struct ConnectionShares {
    limits: ConnectionLimits,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// Counts the connections, so that a smaller number is an older connection.
    opened: u64,
    unauthenticated: BTreeMap<u64, Unauthenticated>,
    authenticated: usize,
    probes: usize,
}

/// A connection without authentication.
#[derive(Debug)]
struct Unauthenticated {
    client: IpAddr,
    requests: usize,
    close: CancellationToken,
}

/// The share that a connection is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    Unauthenticated,
    Authenticated,
    Probes,
}

/// The place of one connection. Dropping it frees the place.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    shares: Arc<ConnectionShares>,
    number: u64,
    share: Mutex<Share>,
    close: CancellationToken,
}

/// A request that is being answered. Dropping it makes the connection idle.
#[derive(Debug)]
pub(super) struct RequestInProgress(Arc<ConnectionPlace>);

impl ConnectionShares {
    /// No connections yet.
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    /// A place for a new connection from `peer`, and whether an older one is closed for it.
    pub(super) fn open(self: &Arc<Self>, peer: IpAddr) -> (Arc<ConnectionPlace>, bool) {
        let (client, close) = (client(peer), CancellationToken::new());
        let mut open = self.open.lock();
        let of_client = open.unauthenticated.values().filter(|other| other.client == client).count();
        let closed = if of_client >= self.limits.unauthenticated_per_client.max(1) {
            open.close_oldest(|other| other.client == client)
        } else if open.unauthenticated.len() >= self.limits.unauthenticated.max(1) {
            open.close_oldest(|_| true)
        } else {
            false
        };
        open.opened += 1;
        let number = open.opened;
        open.unauthenticated.insert(number, Unauthenticated { client, requests: 0, close: close.clone() });
        let share = Mutex::new(Share::Unauthenticated);
        (Arc::new(ConnectionPlace { shares: self.clone(), number, share, close }), closed)
    }
}

impl OpenConnections {
    /// Closes the oldest idle connection without authentication that `is_meant`, or the oldest one if none is idle.
    fn close_oldest(&mut self, is_meant: impl Fn(&Unauthenticated) -> bool) -> bool {
        let meant = || self.unauthenticated.iter().filter(|(_, other)| is_meant(other));
        let idle = meant().find(|(_, other)| other.requests == 0).or_else(|| meant().next()).map(|(number, _)| *number);
        let closed = idle.and_then(|number| self.unauthenticated.remove(&number));
        if let Some(closed) = &closed {
            closed.close.cancel();
        }
        closed.is_some()
    }

    fn count(&mut self, share: Share) -> Option<&mut usize> {
        match share {
            Share::Unauthenticated => None,
            Share::Authenticated => Some(&mut self.authenticated),
            Share::Probes => Some(&mut self.probes),
        }
    }
}

impl ConnectionPlace {
    /// A request has arrived.
    pub(super) fn begin_request(self: &Arc<Self>) -> RequestInProgress {
        if let Some(own) = self.shares.open.lock().unauthenticated.get_mut(&self.number) {
            own.requests += 1;
        }
        RequestInProgress(self.clone())
    }

    /// The request has authenticated. `false` if too many connections have.
    pub(super) fn authenticate(&self) -> bool {
        self.move_to(Share::Authenticated, self.shares.limits.connections)
    }

    /// The request is a permitted probe. If too many connections are of probes, it is answered all the same.
    pub(super) fn keep_for_probes(&self) {
        self.move_to(Share::Probes, self.shares.limits.probes);
    }

    fn move_to(&self, wanted: Share, most: usize) -> bool {
        let mut share = self.share.lock();
        if *share == wanted || *share == Share::Authenticated {
            return true;
        }
        let mut open = self.shares.open.lock();
        match open.count(wanted) {
            Some(count) if *count < most => *count += 1,
            _ => return false,
        }
        open.unauthenticated.remove(&self.number);
        if let Some(count) = open.count(*share) {
            *count -= 1;
        }
        *share = wanted;
        true
    }

    /// Ends when the connection must close: its place is taken by another one, or it hasn't authenticated in time.
    pub(super) async fn must_close(&self) {
        let time_is_up = async {
            sleep(self.shares.limits.unauthenticated_life).await;
            if *self.share.lock() != Share::Unauthenticated {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = self.close.cancelled() => {}
            () = time_is_up => {}
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut open = self.shares.open.lock();
        open.unauthenticated.remove(&self.number);
        if let Some(count) = open.count(*self.share.get_mut()) {
            *count -= 1;
        }
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        if let Some(own) = self.0.shares.open.lock().unauthenticated.get_mut(&self.0.number) {
            own.requests = own.requests.saturating_sub(1);
        }
    }
}

/// The address by which a client counts: a whole network of IPv6, because one machine has all its addresses.
fn client(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shares(unauthenticated: usize, per_client: usize, connections: usize) -> Arc<ConnectionShares> {
        let limits = ConnectionLimits {
            unauthenticated,
            unauthenticated_per_client: per_client,
            connections,
            probes: 1,
            unauthenticated_life: Duration::from_secs(10),
            ..ConnectionLimits::default()
        };
        ConnectionShares::new(limits)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn is_closed(place: &ConnectionPlace) -> bool {
        place.close.is_cancelled()
    }

    #[test]
    fn the_oldest_idle_connection_without_authentication_makes_room() {
        let shares = shares(3, 2, 9);
        let places: Vec<_> = (0..3).map(|at| shares.open(address(at)).0).collect();
        let _busy = places[0].begin_request();
        assert!(places[1].authenticate());
        let (fourth, closed) = shares.open(address(3));
        assert!(!closed, "the authenticated one takes no place of the others");
        let (_fifth, closed) = shares.open(address(4));
        assert!(closed && is_closed(&places[2]) && !is_closed(&places[0]), "the oldest idle one");
        let (_sixth, _) = shares.open(address(5));
        assert!(is_closed(&fourth) && !is_closed(&places[1]));
    }

    #[test]
    fn a_client_with_too_many_connections_closes_its_own() {
        let shares = shares(100, 2, 9);
        let (other, _) = shares.open(address(1));
        let flood: Vec<_> = (0..5).map(|_| shares.open(address(2)).0).collect();
        assert_eq!(flood.iter().filter(|place| is_closed(place)).count(), 3);
        assert!(!is_closed(&other) && !is_closed(&flood[4]));
        let v6 = |text: &str| shares.open(text.parse().unwrap()).0;
        let network = [v6("2001:db8::1"), v6("2001:db8::2"), v6("2001:db8::3"), v6("2001:db8:0:1::1")];
        assert_eq!(network.each_ref().map(|place| is_closed(place)), [true, false, false, false]);
        assert!(is_closed(&flood[3]) == is_closed(&v6("::ffff:192.0.2.2")), "a mapped address is the address");
    }

    #[test]
    fn places_are_freed_and_shares_are_bounded() {
        let shares = shares(9, 9, 1);
        let [first, second, probe, late] = [1, 2, 3, 4].map(|at| shares.open(address(at)).0);
        assert!(first.authenticate() && first.authenticate() && !second.authenticate());
        probe.keep_for_probes();
        late.keep_for_probes();
        assert_eq!((*probe.share.lock(), *late.share.lock()), (Share::Probes, Share::Unauthenticated));
        drop(first);
        assert!(second.authenticate());
        second.keep_for_probes();
        assert_eq!(*second.share.lock(), Share::Authenticated);
        drop((second, probe, late));
        let open = shares.open.lock();
        assert_eq!((open.unauthenticated.len(), open.authenticated, open.probes), (0, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_does_not_authenticate_in_time_is_closed() {
        let shares = shares(9, 9, 9);
        let [silent, authenticated] = [1, 2].map(|at| shares.open(address(at)).0);
        assert!(authenticated.authenticate());
        let both = Duration::from_secs(60);
        let began = tokio::time::Instant::now();
        assert!(tokio::time::timeout(both, silent.must_close()).await.is_ok());
        assert_eq!(began.elapsed(), Duration::from_secs(10));
        assert!(tokio::time::timeout(both, authenticated.must_close()).await.is_err());
    }
}
