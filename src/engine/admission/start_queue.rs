//! Admits the starts of language servers: at most a fixed number at once, so that each start has a processor.
//!
//! Starts that a call needs come before those that none needs. Among equals, the tenants take turns, and so do the workspaces of each; the starts
//! of one workspace keep the order in which calls needed them. A start counts until its ticket is dropped: the actor holds the ticket while its server loads. The queue also
//! measures how long starts of each kind take, and estimates from that when a waiting one is through. It starts nothing itself.
//! Invariants: no more than `max` tickets are admitted at once; a dropped ticket leaves the queue; the queue is as long as there are
//! waiting tickets.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use codeyard_base::clock::Instant;
use codeyard_base::ids::{ServerKind, TenantId, WorkspaceName};

/// Expected time of a start while none has been measured.
const UNMEASURED: Duration = Duration::from_millis(500);
/// The weight of the newest measurement is one part of this many.
const SMOOTHING: u32 = 4;

/// The queue of all starts of a service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StartQueue(Arc<Mutex<QueueState>>);

/// A start in the queue, then an admitted one. Dropping it frees its place for the next start.
#[derive(Debug)]
pub struct StartTicket {
    place: StartPlace,
    granted: Option<oneshot::Receiver<()>>,
}

/// The place of a start, for estimates. It doesn't hold the place.
#[derive(Debug, Clone)]
pub(crate) struct StartPlace {
    queue: StartQueue,
    id: u64,
    kind: ServerKind,
}

#[derive(Debug)]
struct QueueState {
    max: usize,
    next_id: u64,
    waiting: Vec<WaitingStart>,
    running: Vec<RunningStart>,
    turns: Turns,
    grants: u64,
    measured: BTreeMap<ServerKind, KindTimes>,
    /// The ids of the waiting starts in the order of their admission, until a start joins, leaves or overtakes. Every call that waits for a
    /// server reads it when its deadline passes, and hundreds may do so at once.
    order: Option<Arc<[(u64, ServerKind)]>>,
}

/// The numbers of the last grants; cleared when nothing waits or runs.
#[derive(Debug, Default, Clone)]
struct Turns {
    by_workspace: BTreeMap<WorkspaceName, u64>,
    by_tenant: BTreeMap<TenantId, u64>,
}

/// A workspace whose first start waits: the smallest turn comes first, then the one that was needed first.
type Head<'w> = (Reverse<(u64, Option<u64>, u64)>, &'w WorkspaceName);

impl Turns {
    fn record(&mut self, workspace: &WorkspaceName, grant: u64) {
        self.by_workspace.insert(workspace.clone(), grant);
        self.by_tenant.insert(workspace.tenant(), grant);
    }

    fn of_tenant(&self, tenant: &TenantId) -> u64 {
        self.by_tenant.get(tenant).copied().unwrap_or_default()
    }

    fn head<'w>(&self, workspace: &'w WorkspaceName, first: &WaitingStart) -> Head<'w> {
        let turn = self.by_workspace.get(workspace).copied().unwrap_or_default();
        (Reverse((turn, first.needed, first.id)), workspace)
    }
}

#[derive(Debug)]
struct WaitingStart {
    id: u64,
    workspace: WorkspaceName,
    kind: ServerKind,
    /// When a call needed it first: a number of the same sequence as the ids.
    needed: Option<u64>,
    grant: oneshot::Sender<()>,
}

#[derive(Debug)]
struct RunningStart {
    id: u64,
    kind: ServerKind,
    since: Instant,
}

/// Measured times of a kind, averaged with more weight on recent ones.
#[derive(Debug, Clone, Copy, Default)]
struct KindTimes {
    /// From the admission until the place is free again.
    held: Option<Duration>,
    /// From the admission until the server is ready.
    ready: Option<Duration>,
}

impl Default for StartQueue {
    fn default() -> Self {
        Self::new(0)
    }
}

impl StartQueue {
    /// A queue that admits `max` starts at once; 0 means as many as there are processors.
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Mutex::new(QueueState {
            max: at_least_one(max),
            next_id: 0,
            waiting: Vec::new(),
            running: Vec::new(),
            turns: Turns::default(),
            grants: 0,
            measured: BTreeMap::new(),
            order: None,
        })))
    }

    /// Changes the number of starts at once; 0 means as many as there are processors.
    pub fn set_max(&self, max: usize) {
        let mut state = self.0.lock();
        state.max = at_least_one(max);
        state.grant();
    }

    /// The number of starts that wait, and of those that are admitted.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.0.lock();
        (state.waiting.len(), state.running.len())
    }

    /// Adds a start at the end of the queue. `is_needed`: a call needs the server.
    pub(crate) fn join(&self, workspace: &WorkspaceName, kind: &ServerKind, is_needed: bool) -> StartTicket {
        let (grant, granted) = oneshot::channel();
        let mut state = self.0.lock();
        state.next_id += 1;
        let id = state.next_id;
        let workspace = workspace.clone();
        let kind = kind.clone();
        let needed = is_needed.then_some(id);
        state.waiting.push(WaitingStart { id, workspace, kind: kind.clone(), needed, grant });
        state.order = None;
        state.grant();
        StartTicket { place: StartPlace { queue: self.clone(), id, kind }, granted: Some(granted) }
    }
}

impl StartTicket {
    /// Resolves when the start may run.
    pub(crate) async fn admitted(&mut self) {
        if let Some(granted) = self.granted.take() {
            // The sender is dropped only together with this ticket.
            granted.await.ok();
        }
    }

    /// Its place, for estimates.
    pub(crate) fn place(&self) -> StartPlace {
        self.place.clone()
    }

    /// Records how long the place was held, and frees it. Dropping a ticket records nothing.
    pub(crate) fn release(self) {
        let mut state = self.place.queue.0.lock();
        let start = state.running.iter().find(|start| start.id == self.place.id);
        let held = start.map(|start| start.since.elapsed());
        if let Some(held) = held {
            average(&mut state.measured.entry(self.place.kind.clone()).or_default().held, held);
        }
        // Dropping the ticket takes the lock.
        drop(state);
    }
}

impl Drop for StartTicket {
    fn drop(&mut self) {
        let mut state = self.place.queue.0.lock();
        let id = self.place.id;
        state.waiting.retain(|start| start.id != id);
        state.running.retain(|start| start.id != id);
        state.order = None;
        state.grant();
    }
}

impl StartPlace {
    /// Lets the start overtake those that no call needs.
    pub(crate) fn need(&self) {
        let mut state = self.queue.0.lock();
        let number = state.next_id + 1;
        let start = state.waiting.iter_mut().find(|start| start.id == self.id);
        if let Some(start) = start.filter(|start| start.needed.is_none()) {
            start.needed = Some(number);
            state.next_id = number;
            state.order = None;
        }
    }

    /// The number of starts before this one; `None` if it doesn't wait.
    pub(crate) fn ahead(&self) -> Option<usize> {
        self.queue.0.lock().order().iter().position(|(id, _)| *id == self.id)
    }

    /// How long a start of its kind takes from its admission until the server is ready.
    pub(crate) fn expected_ready(&self) -> Duration {
        self.queue.0.lock().expected(&self.kind).1
    }

    /// The time until it is admitted, estimated from the starts before it; `None` if it doesn't wait.
    pub(crate) fn expected_wait(&self, now: Instant) -> Option<Duration> {
        let mut state = self.queue.0.lock();
        let order = state.order();
        let before = order.iter().position(|(id, _)| *id == self.id)?;
        // When each place is free again.
        let mut free: Vec<Duration> = state.running.iter().map(|start| state.left(start, now)).collect();
        free.resize(free.len().max(state.max), Duration::ZERO);
        // Where the limit was lowered, the first places that get free aren't given away.
        free.sort_unstable();
        let mut free: BinaryHeap<Reverse<Duration>> =
            free.split_off(free.len() - state.max).into_iter().map(Reverse).collect();
        for (_, kind) in order.iter().take(before) {
            let Reverse(place) = free.pop()?;
            free.push(Reverse(place + state.expected(kind).0));
        }
        free.pop().map(|Reverse(place)| place)
    }

    /// Records how long it took from the admission until the server was ready.
    pub(crate) fn record_ready(&self, took: Duration) {
        let mut state = self.queue.0.lock();
        average(&mut state.measured.entry(self.kind.clone()).or_default().ready, took);
    }
}

impl QueueState {
    /// Admits starts while there are free places.
    fn grant(&mut self) {
        while self.running.len() < self.max
            && let Some((first, _)) = self.order().first().cloned()
            && let Some(at) = self.waiting.iter().position(|start| start.id == first)
        {
            let start = self.waiting.remove(at);
            self.order = None;
            self.grants += 1;
            self.turns.record(&start.workspace, self.grants);
            self.running.push(RunningStart { id: start.id, kind: start.kind, since: Instant::now() });
            // A ticket that was dropped meanwhile leaves at once.
            start.grant.send(()).ok();
        }
        if self.waiting.is_empty() && self.running.is_empty() {
            self.turns = Turns::default();
        }
    }

    /// The waiting starts in the order in which they will be admitted.
    fn order(&mut self) -> Arc<[(u64, ServerKind)]> {
        if let Some(order) = &self.order {
            return order.clone();
        }
        let mut order = Vec::with_capacity(self.waiting.len());
        let mut turns = self.turns.clone();
        let mut grants = self.grants;
        // Those that a call needs, then the others; each workspace has its own in their order, the workspaces of a tenant take turns, and the
        // tenants do.
        for is_needed in [true, false] {
            let mut sorted: Vec<&WaitingStart> =
                self.waiting.iter().filter(|start| start.needed.is_some() == is_needed).collect();
            sorted.sort_unstable_by_key(|start| (start.needed, start.id));
            let mut own: HashMap<&WorkspaceName, VecDeque<&WaitingStart>> = HashMap::new();
            for start in sorted {
                own.entry(&start.workspace).or_default().push_back(start);
            }
            let mut tenants: HashMap<TenantId, BinaryHeap<Head<'_>>> = HashMap::new();
            for (workspace, starts) in &own {
                let head = starts.front().map(|first| turns.head(workspace, first));
                tenants.entry(workspace.tenant()).or_default().extend(head);
            }
            let of_tenant = |turns: &Turns, tenant: &TenantId, heads: &BinaryHeap<Head<'_>>| {
                let Reverse((_, needed, id)) = heads.peek()?.0;
                Some((Reverse((turns.of_tenant(tenant), needed, id)), tenant.clone()))
            };
            let mut first: BinaryHeap<_> =
                tenants.iter().filter_map(|(tenant, heads)| of_tenant(&turns, tenant, heads)).collect();
            while let Some((_, tenant)) = first.pop() {
                let Some(heads) = tenants.get_mut(&tenant) else { continue };
                let Some((_, workspace)) = heads.pop() else { continue };
                let Some(starts) = own.get_mut(workspace) else { continue };
                let Some(start) = starts.pop_front() else { continue };
                grants += 1;
                turns.record(workspace, grants);
                order.push((start.id, start.kind.clone()));
                heads.extend(starts.front().map(|next| turns.head(workspace, next)));
                first.extend(of_tenant(&turns, &tenant, heads));
            }
        }
        let order: Arc<[(u64, ServerKind)]> = order.into();
        self.order = Some(order.clone());
        order
    }

    /// The expected times of a kind: until its place is free, and until the server is ready. A kind without a measurement gets the
    /// average of the others.
    fn expected(&self, kind: &ServerKind) -> (Duration, Duration) {
        let own = self.measured.get(kind).copied().unwrap_or_default();
        let average = |of: fn(&KindTimes) -> Option<Duration>| {
            let known: Vec<Duration> = self.measured.values().filter_map(of).collect();
            let count = u32::try_from(known.len()).unwrap_or(u32::MAX).max(1);
            if known.is_empty() { UNMEASURED } else { known.iter().sum::<Duration>() / count }
        };
        let held = own.held.unwrap_or_else(|| average(|times| times.held));
        (held, own.ready.unwrap_or_else(|| average(|times| times.ready)))
    }

    /// How long an admitted start will still hold its place. One that takes longer than usual is expected to end soon.
    fn left(&self, start: &RunningStart, now: Instant) -> Duration {
        let elapsed = now.saturating_duration_since(start.since);
        self.expected(&start.kind).0.checked_sub(elapsed).unwrap_or(elapsed / SMOOTHING)
    }
}

fn average(mean: &mut Option<Duration>, newest: Duration) {
    *mean = Some(mean.map_or(newest, |mean| (mean * (SMOOTHING - 1) + newest) / SMOOTHING));
}

fn at_least_one(max: usize) -> usize {
    if max > 0 { max } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn paused(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(test);
    }

    struct Starts {
        queue: StartQueue,
        tickets: BTreeMap<&'static str, StartTicket>,
    }

    impl Starts {
        fn new(max: usize) -> Self {
            Self { queue: StartQueue::new(max), tickets: BTreeMap::new() }
        }

        /// A start whose name begins with its workspace's letter.
        fn join(&mut self, name: &'static str, is_needed: bool) {
            // `team-a/x` is a workspace of a tenant.
            let workspace = WorkspaceName::new(&name[..name.len() - 1]).unwrap();
            self.tickets.insert(name, self.queue.join(&workspace, &ServerKind::new("ty"), is_needed));
        }

        /// The names of the starts that were admitted since the last call.
        fn admitted(&mut self) -> Vec<&'static str> {
            let mut admitted = Vec::new();
            for (name, ticket) in &mut self.tickets {
                if ticket.granted.as_mut().is_some_and(|granted| granted.now_or_never().is_some()) {
                    ticket.granted = None;
                    admitted.push(*name);
                }
            }
            admitted
        }

        /// Frees admitted places one after the other, and returns the order of admission.
        fn run_all(&mut self) -> Vec<&'static str> {
            let mut order = Vec::new();
            loop {
                let admitted = self.admitted();
                if admitted.is_empty() {
                    return order;
                }
                for name in admitted {
                    self.tickets.remove(name);
                    order.push(name);
                }
            }
        }
    }

    #[test]
    fn needed_starts_come_first_and_workspaces_take_turns() {
        paused(async {
            let mut starts = Starts::new(1);
            for (name, is_needed) in
                [("a0", false), ("a1", false), ("a2", true), ("a3", true), ("a4", true), ("b1", true), ("c1", false)]
            {
                starts.join(name, is_needed);
            }
            starts.tickets["c1"].place().need();
            assert_eq!(starts.queue.counts(), (6, 1));
            assert_eq!(starts.run_all(), ["a0", "b1", "c1", "a2", "a3", "a4", "a1"]);
            assert_eq!(starts.queue.counts(), (0, 0));
        });
    }

    #[test]
    fn a_tenant_with_many_workspaces_gets_no_more_turns_than_one_with_few() {
        paused(async {
            let mut starts = Starts::new(1);
            let first = ["team-a/v1", "team-a/w1", "team-a/x1", "team-a/x2", "team-a/y1"];
            for name in [&first[..], &["team-b/w1", "team-b/w2", "c1"]].concat() {
                starts.join(name, true);
            }
            starts.join("team-b/z1", false);
            assert_eq!(
                starts.run_all(),
                [
                    "team-a/v1", "team-b/w1", "c1", "team-a/w1", "team-b/w2", "team-a/x1", "team-a/y1", "team-a/x2",
                    "team-b/z1"
                ]
            );
        });
    }

    #[test]
    fn no_more_than_the_maximum_run_and_dropped_tickets_free_their_place() {
        paused(async {
            let mut starts = Starts::new(2);
            for name in ["a1", "b1", "c1", "d1", "e1"] {
                starts.join(name, true);
            }
            assert_eq!(starts.admitted(), ["a1", "b1"]);
            drop(starts.tickets.remove("d1"));
            drop(starts.tickets.remove("a1"));
            assert_eq!((starts.admitted(), starts.queue.counts()), (vec!["c1"], (1, 2)));
            starts.queue.set_max(3);
            assert_eq!(starts.admitted(), ["e1"]);
        });
    }

    #[test]
    fn waits_are_estimated_from_the_place_and_measured_times() {
        paused(async {
            let mut starts = Starts::new(2);
            for name in ["a1", "b1", "c1", "d1", "e1", "f1"] {
                starts.join(name, true);
            }
            let wait = |starts: &Starts, name: &str| starts.tickets[name].place().expected_wait(Instant::now());
            assert_eq!(wait(&starts, "a1"), None, "it doesn't wait");
            assert_eq!([wait(&starts, "c1"), wait(&starts, "e1")], [Some(UNMEASURED), Some(UNMEASURED * 2)]);
            tokio::time::sleep(Duration::from_secs(6)).await;
            let first = starts.tickets.remove("a1").unwrap();
            first.place().record_ready(Duration::from_secs(7));
            first.release();
            assert_eq!(starts.admitted(), ["b1", "c1"]);
            let place = starts.tickets["d1"].place();
            assert_eq!(place.expected_ready(), Duration::from_secs(7));
            assert_eq!(place.ahead(), Some(0));
            assert_eq!(wait(&starts, "d1"), Some(Duration::ZERO), "`b` has taken as long as the first one");
            assert_eq!(wait(&starts, "e1"), Some(Duration::from_secs(6)));
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(wait(&starts, "d1"), Some(Duration::from_secs(2)), "`b` is late, and is expected to end soon");
            assert_eq!(wait(&starts, "f1"), Some(Duration::from_secs(8)));
            assert_eq!(starts.tickets["f1"].place().ahead(), Some(2));
        });
    }

    #[test]
    fn the_predicted_order_is_the_order_of_admission() {
        let names =
            ["a0", "a1", "a2", "a3", "t/b0", "t/b1", "t/b2", "t/c0", "t/c1", "t/d0", "u/e0", "u/e1", "u/f2", "e3"];
        for seed in 0..200_usize {
            paused(async {
                let mut starts = Starts::new(1);
                let mut left: Vec<&'static str> = names.to_vec();
                let mut number = seed;
                while !left.is_empty() {
                    number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let name = left.remove((number >> 33) % left.len());
                    starts.join(name, (number >> 20).is_multiple_of(3));
                    if (number >> 24).is_multiple_of(5) {
                        starts.tickets[name].place().need();
                    }
                    if (number >> 28).is_multiple_of(6) {
                        // The one that runs ends.
                        let running = starts.admitted();
                        running.iter().for_each(|name| drop(starts.tickets.remove(name)));
                    }
                }
                let ids: BTreeMap<u64, &'static str> =
                    starts.tickets.iter().map(|(name, ticket)| (ticket.place.id, *name)).collect();
                let order = starts.queue.0.lock().order();
                let predicted: Vec<&str> = order.iter().map(|(id, _)| ids[id]).collect();
                let running = starts.queue.0.lock().running.iter().map(|start| ids[&start.id]).collect::<Vec<_>>();
                assert_eq!(starts.run_all(), [running, predicted].concat(), "seed {seed}");
            });
        }
    }
}
