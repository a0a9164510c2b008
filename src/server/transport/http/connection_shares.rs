//! The shares of the HTTP connections: those that have authenticated, those that haven't yet, and those of probes.
//!
//! A connection begins without authentication and moves once, with its first valid request. Invariants: connections without
//! authentication never take a place of the others; while their share is full, a new one takes the place of the oldest idle one, first of
//! the same client; a connection that has authenticated is never closed for another one. Many clients that connect in one instant lose
//! nothing: none is closed before it had time to send its request, and those beyond the share wait meanwhile.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::options::ConnectionLimits;
use codeyard_base::clock::Instant;

/// A connection without a valid token isn't closed for a new one before it had this time to send one, in milliseconds.
const UNAUTHENTICATED_GRACE_MS: u64 = 250;
/// New HTTP connections that wait until others had that time. For a further one, the oldest idle one is closed at once.
const MAX_WAITING_CONNECTIONS: usize = 256;

/// A younger connection isn't closed for another one.
const GRACE: Duration = Duration::from_millis(UNAUTHENTICATED_GRACE_MS);

/// The open connections of one listener.
#[derive(Debug)]
pub(super) struct ConnectionShares {
    limits: ConnectionLimits,
    open: Mutex<OpenConnections>,
    /// A place without authentication was freed.
    freed: Notify,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// Counts the connections, so that a smaller number is an older connection.
    opened: u64,
    unauthenticated: BTreeMap<u64, Unauthenticated>,
    authenticated: usize,
    probes: usize,
    /// Connections that wait for a place.
    waiting: usize,
}

/// A connection waits for a place. Dropping it ends that.
struct WaitingConnection<'a>(&'a ConnectionShares);

impl Drop for WaitingConnection<'_> {
    fn drop(&mut self) {
        self.0.open.lock().waiting -= 1;
    }
}

/// A connection without authentication.
#[derive(Debug)]
struct Unauthenticated {
    client: IpAddr,
    since: Instant,
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
    opened: Instant,
    share: Mutex<Share>,
    close: CancellationToken,
}

/// A request that is being answered. Dropping it makes the connection idle.
#[derive(Debug)]
pub(super) struct RequestInProgress(Arc<ConnectionPlace>);

impl ConnectionShares {
    /// No connections yet.
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default(), freed: Notify::new() })
    }

    /// A place for a new connection from `peer`, and whether an older one is closed for it. Waits while its share is full of connections
    /// that have only just been opened.
    pub(super) async fn open(self: &Arc<Self>, peer: IpAddr) -> (Arc<ConnectionPlace>, bool) {
        let mut waiting = None;
        loop {
            let freed = self.freed.notified();
            let wait = match self.open_now(peer, false) {
                Ok(opened) => return opened,
                Err(wait) => wait,
            };
            if waiting.is_none() {
                let mut open = self.open.lock();
                if open.waiting < MAX_WAITING_CONNECTIONS {
                    open.waiting += 1;
                    waiting = Some(WaitingConnection(self));
                }
            }
            if waiting.is_none()
                && let Ok(opened) = self.open_now(peer, true)
            {
                return opened;
            }
            // What counts is whether there is room, which is looked at again.
            timeout(wait, freed).await.ok();
        }
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// How long the oldest connection has still time to send its request; not if `is_urgent`.
    fn open_now(self: &Arc<Self>, peer: IpAddr, is_urgent: bool) -> Result<(Arc<ConnectionPlace>, bool), Duration> {
        let client = client(peer);
        let close = CancellationToken::new();
        let grace = if is_urgent { Duration::ZERO } else { GRACE };
        let mut open = self.open.lock();
        let of_client = open.unauthenticated.values().filter(|other| other.client == client).count();
        let closed = if of_client >= self.limits.unauthenticated_per_client.max(1) {
            open.close_oldest(grace, |other| other.client == client)?
        } else if open.unauthenticated.len() >= self.limits.unauthenticated.max(1) {
            open.close_oldest(grace, |_| true)?
        } else {
            false
        };
        open.opened += 1;
        let number = open.opened;
        let since = Instant::now();
        open.unauthenticated.insert(number, Unauthenticated { client, since, requests: 0, close: close.clone() });
        let share = Mutex::new(Share::Unauthenticated);
        Ok((Arc::new(ConnectionPlace { shares: self.clone(), number, opened: since, share, close }), closed))
    }
}

impl OpenConnections {
    /// Closes the oldest idle connection without authentication that `is_meant`, or the oldest one if none is idle.
    ///
    /// # Errors
    /// It was opened less than `grace` ago: how long that still holds.
    fn close_oldest(&mut self, grace: Duration, is_meant: impl Fn(&Unauthenticated) -> bool) -> Result<bool, Duration> {
        let meant = || self.unauthenticated.iter().filter(|(_, other)| is_meant(other));
        let Some((number, oldest)) = meant().find(|(_, other)| other.requests == 0).or_else(|| meant().next()) else {
            return Ok(false);
        };
        let rest = grace.saturating_sub(oldest.since.elapsed());
        if !rest.is_zero() {
            return Err(rest);
        }
        oldest.close.cancel();
        let number = *number;
        Ok(self.unauthenticated.remove(&number).is_some())
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
        self.shares.freed.notify_waiters();
        true
    }

    /// Runs `work` until it ends, or until the connection must close; then it is dropped.
    pub(super) async fn while_open(&self, work: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = work => {}
            () = self.must_close() => {}
        }
    }

    /// Ends when the connection must close: its place is taken by another one, or it hasn't authenticated in time.
    pub(super) async fn must_close(&self) {
        let time_is_up = async {
            sleep_until(self.opened + self.shares.limits.unauthenticated_life).await;
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
        self.shares.freed.notify_waiters();
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

    use tokio::time::sleep;

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

    /// Opens one at once.
    fn open(shares: &Arc<ConnectionShares>, peer: IpAddr) -> (Arc<ConnectionPlace>, bool) {
        shares.open_now(peer, true).unwrap()
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
        let places: Vec<_> = (0..3).map(|at| open(&shares, address(at)).0).collect();
        let _busy = places[0].begin_request();
        assert!(places[1].authenticate());
        let (fourth, closed) = open(&shares, address(3));
        assert!(!closed, "the authenticated one takes no place of the others");
        let (_fifth, closed) = open(&shares, address(4));
        assert!(closed && is_closed(&places[2]) && !is_closed(&places[0]), "the oldest idle one");
        let (_sixth, _) = open(&shares, address(5));
        assert!(is_closed(&fourth) && !is_closed(&places[1]));
    }

    #[test]
    fn a_client_with_too_many_connections_closes_its_own() {
        let shares = shares(100, 2, 9);
        let (other, _) = open(&shares, address(1));
        let flood: Vec<_> = (0..5).map(|_| open(&shares, address(2)).0).collect();
        assert_eq!(flood.iter().filter(|place| is_closed(place)).count(), 3);
        assert!(!is_closed(&other) && !is_closed(&flood[4]));
        let v6 = |text: &str| open(&shares, text.parse().unwrap()).0;
        let network = [v6("2001:db8::1"), v6("2001:db8::2"), v6("2001:db8::3"), v6("2001:db8:0:1::1")];
        assert_eq!(network.each_ref().map(|place| is_closed(place)), [true, false, false, false]);
        assert!(is_closed(&flood[3]) == is_closed(&v6("::ffff:192.0.2.2")), "a mapped address is the address");
    }

    #[test]
    fn places_are_freed_and_shares_are_bounded() {
        let shares = shares(9, 9, 1);
        let [first, second, probe, late] = [1, 2, 3, 4].map(|at| open(&shares, address(at)).0);
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
        let [silent, authenticated] = [1, 2].map(|at| open(&shares, address(at)).0);
        assert!(authenticated.authenticate());
        let both = Duration::from_secs(60);
        let began = tokio::time::Instant::now();
        // Also if it is served in two steps, it has its time once.
        let step = Duration::from_secs(7);
        assert!(tokio::time::timeout(step, silent.must_close()).await.is_err());
        assert!(tokio::time::timeout(both, silent.must_close()).await.is_ok());
        assert_eq!(began.elapsed(), Duration::from_secs(10));
        assert!(tokio::time::timeout(both, authenticated.must_close()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn many_that_connect_in_one_instant_wait_for_each_other() {
        let shares = shares(100, 2, 9);
        let first = [0, 1].map(|_| shares.open_now(address(1), false).unwrap().0);
        let began = tokio::time::Instant::now();
        // It waits until one of them has authenticated.
        let (third, ()) = tokio::join!(shares.open(address(1)), async {
            sleep(GRACE / 2).await;
            assert!(first[1].authenticate());
        });
        assert_eq!((third.1, began.elapsed(), is_closed(&first[0])), (false, GRACE / 2, false));
        // Nobody does: the oldest had its time.
        let (_fourth, closed) = shares.open(address(1)).await;
        assert_eq!((closed, began.elapsed(), is_closed(&first[0]), is_closed(&third.0)), (true, GRACE, true, false));
        // Another client doesn't wait.
        shares.open(address(2)).await;
        assert_eq!((began.elapsed(), shares.open.lock().waiting), (GRACE, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_those_that_wait_is_bounded() {
        let shares = shares(100, 1, 9);
        let (first, _) = shares.open_now(address(1), false).unwrap();
        let all = (0..=MAX_WAITING_CONNECTIONS).map(|_| shares.open(address(1)));
        let mut all: Vec<_> = all.map(Box::pin).collect();
        let last = all.pop().unwrap();
        for open in &mut all {
            assert!(futures::poll!(open).is_pending());
        }
        let (_last, closed) = last.await;
        assert!(closed && is_closed(&first), "one more closes the oldest at once");
        drop(all);
        assert_eq!(shares.open.lock().waiting, 0);
    }
}
