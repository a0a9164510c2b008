//! The memory budget of all language servers together: whether a start fits into it, and which servers make room.
//!
//! It starts and stops nothing: a start waits in [`MemoryGate::admit`], and the supervisor measures, calls [`MemoryGate::evictions`] and
//! stops those servers. What a server needs is expected from its own last size, then from the servers of its kind; an unknown size is
//! never zero. Invariants: starts are admitted in the order in which they began to wait; a start is admitted if no other server runs,
//! however large it is, so no start waits for ever; the last running server is chosen only when it is idle.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::limits::{
    BUDGET_TOLERANCE_PERCENT, EVICTABLE_AFTER_USE_MS, EVICTABLE_UNSERVED_MS, EXPECTED_SERVER_BYTES,
    MAX_REMEMBERED_SERVER_SIZES,
};
use crate::status::registry::{ServerPhase, StatusRegistry};
use crate::status::server_status::LanguageServerStatus;
use codeyard_base::clock::Instant;
use codeyard_base::ids::{ServerKind, TenantId, WorkspaceName};
use codeyard_process::launch::{FleetFigures, Launcher, Process};

/// Bytes of a mebibyte, the unit in which limits of memory are configured and logged.
pub(crate) const MIB: u64 = 1024 * 1024;

/// Admits starts within the memory budget of a [`StatusRegistry`].
pub struct MemoryGate {
    registry: Arc<StatusRegistry>,
    state: Mutex<GateState>,
    /// Room may have become free.
    changed: Notify,
    on_shortage: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct GateState {
    waiting: VecDeque<Waiting>,
    next_ticket: u64,
    /// The last size of servers.
    by_server: BTreeMap<(WorkspaceName, String), u64>,
    /// The mean size of the ready servers of a kind, in the last pass that had any.
    by_kind: BTreeMap<ServerKind, u64>,
    /// What the kernel counts for all child processes, if it does.
    group_bytes: Option<u64>,
}

struct Waiting {
    ticket: u64,
    server: Arc<LanguageServerStatus>,
}

/// A server with its figures at one moment.
struct Measured {
    status: Arc<LanguageServerStatus>,
    /// What it needs now: measured, or expected if it wasn't measured yet.
    bytes: u64,
    /// What it is expected to need: at least `bytes`.
    committed: u64,
    pending: usize,
}

/// A place in the queue; dropping it leaves the queue.
struct Ticket<'g>(&'g MemoryGate, u64);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.state.lock().waiting.retain(|waiting| waiting.ticket != self.1);
        self.0.changed.notify_waiters();
    }
}

impl MemoryGate {
    /// A gate for the budget and the servers of `registry`.
    pub fn new(registry: Arc<StatusRegistry>) -> Self {
        Self { registry, state: Mutex::default(), changed: Notify::new(), on_shortage: OnceLock::new() }
    }

    /// Calls `on_shortage` whenever a start begins to wait for room. It must only send a message and return.
    pub fn on_shortage(&self, on_shortage: impl Fn() + Send + Sync + 'static) {
        // The supervisor sets it once.
        drop(self.on_shortage.set(Box::new(on_shortage)));
    }

    /// Waits until the budget has room for `server`, then reserves what it is expected to need. Returns at once without a budget.
    /// Dropping the future leaves the queue.
    pub async fn admit(&self, server: &Arc<LanguageServerStatus>) {
        let ticket = {
            let mut state = self.state.lock();
            state.next_ticket += 1;
            let ticket = state.next_ticket;
            state.waiting.push_back(Waiting { ticket, server: server.clone() });
            Ticket(self, ticket)
        };
        let mut has_warned = false;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.try_admit(ticket.1, server) {
                return;
            }
            if !std::mem::replace(&mut has_warned, true) {
                let identity = server.identity();
                tracing::info!(
                    workspace = %identity.workspace, server = %identity.kind,
                    "language server waits for room in the memory budget"
                );
                if let Some(on_shortage) = self.on_shortage.get() {
                    on_shortage();
                }
            }
            changed.await;
        }
    }

    /// Whether a start waits for room.
    pub fn is_waited_for(&self) -> bool {
        self.registry.memory_budget() > 0 && !self.state.lock().waiting.is_empty()
    }

    /// The number of starts that wait for room.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Room may have become free: a server has ended, or the budget has changed.
    pub fn check_again(&self) {
        self.changed.notify_waiters();
    }

    /// Measures all running servers in one pass. Blocks for some milliseconds; does nothing if no server runs.
    pub fn measure(&self, launcher: &dyn Launcher) {
        let running = self.processes();
        let processes: Vec<Arc<dyn Process>> = running.iter().map(|(_, process)| process.clone()).collect();
        let figures = if processes.is_empty() { FleetFigures::default() } else { launcher.measure(&processes) };
        self.record(&running, &figures);
    }

    /// Bytes that all language servers use now. Those that weren't measured yet count with what they are expected to need.
    pub fn used(&self) -> u64 {
        let state = self.state.lock();
        let measured = self.running(&state).iter().map(|server| server.bytes).sum();
        state.group_bytes.unwrap_or(measured)
    }

    /// Whether a running server was not measured yet.
    pub fn has_unmeasured(&self) -> bool {
        self.processes().iter().any(|(status, _)| status.memory().measured.is_none())
    }

    /// The running servers and their processes.
    pub fn processes(&self) -> Vec<(Arc<LanguageServerStatus>, Arc<dyn Process>)> {
        self.registry
            .all_servers()
            .into_iter()
            .filter_map(|status| Some((status.process()?, status)))
            .map(|(process, status)| (status, process))
            .collect()
    }

    /// The servers that use more memory than the limit of their kind.
    pub fn over_limit(&self) -> Vec<Arc<LanguageServerStatus>> {
        let mut servers = self.registry.all_servers();
        servers.retain(|status| !status.is_retired() && status.is_over_limit());
        servers
    }

    /// Whether a server with a memory limit runs.
    pub fn has_limited(&self) -> bool {
        self.registry.all_servers().iter().any(|status| status.identity().memory_limit.is_some())
    }

    fn record(&self, measured: &[(Arc<LanguageServerStatus>, Arc<dyn Process>)], figures: &FleetFigures) {
        let mut state = self.state.lock();
        let mut kinds: BTreeMap<ServerKind, (u64, u64)> = BTreeMap::new();
        for ((status, process), figures) in measured.iter().zip(&figures.servers) {
            status.set_figures(process, *figures);
            let Some(bytes) = figures.memory_bytes.filter(|_| status.phase() == ServerPhase::Ready) else { continue };
            let identity = status.identity();
            let (sum, count) = kinds.entry(identity.kind.clone()).or_default();
            (*sum, *count) = (*sum + bytes, *count + 1);
            if state.by_server.len() >= MAX_REMEMBERED_SERVER_SIZES {
                state.by_server.clear();
            }
            state.by_server.insert((identity.workspace.clone(), identity.id.clone()), bytes);
        }
        state.by_kind.extend(kinds.into_iter().map(|(kind, (sum, count))| (kind, sum / count)));
        state.group_bytes = figures.group_bytes;
        drop(state);
        self.check_again();
    }

    /// The servers that must be stopped now, so that the budget holds and the first waiting start gets its room: those of tenants over their
    /// share first, and of each part the longest unused first. A server with a request in flight is chosen only if the budget is exceeded by more than the tolerance.
    pub fn evictions(&self) -> Vec<Arc<LanguageServerStatus>> {
        let budget = self.registry.memory_budget();
        if budget == 0 {
            return Vec::new();
        }
        let state = self.state.lock();
        let running = self.running(&state);
        let (leaving, mut staying): (Vec<Measured>, Vec<Measured>) =
            running.into_iter().partition(|server| server.status.is_retired());
        let leaving: u64 = leaving.iter().map(|server| server.bytes).sum();
        let measured: u64 = staying.iter().map(|server| server.bytes).sum();
        let used = state.group_bytes.map_or(measured, |group| group.saturating_sub(leaving));
        let first = state.waiting.front().map(|waiting| waiting.server.identity().workspace.tenant());
        let wanted = state.waiting.front().map_or(0, |waiting| expected(&state, &waiting.server));
        let committed: u64 = staying.iter().map(|server| server.committed).sum();
        drop(state);
        let over = Shortage {
            used: used.saturating_sub(budget),
            committed: if wanted == 0 { 0 } else { (committed + wanted).saturating_sub(budget) },
            tolerated: budget / 100 * BUDGET_TOLERANCE_PERCENT,
        };
        staying.sort_by_key(|server| last_use(&server.status));
        choose(over_share_first(staying, first.map(|tenant| (tenant, wanted)), budget), over)
    }

    fn try_admit(&self, ticket: u64, server: &Arc<LanguageServerStatus>) -> bool {
        let budget = self.registry.memory_budget();
        let state = self.state.lock();
        if budget == 0 {
            return true;
        }
        if state.waiting.front().is_some_and(|first| first.ticket != ticket) {
            return false;
        }
        let others = self.running(&state).into_iter().filter(|other| !Arc::ptr_eq(&other.status, server));
        let committed: u64 = others.map(|other| other.committed).sum();
        let wanted = expected(&state, server);
        let has_room = committed == 0 || committed + wanted <= budget;
        if has_room {
            server.reserve(wanted);
        }
        has_room
    }

    /// The servers that run or were admitted, with their figures.
    fn running(&self, state: &GateState) -> Vec<Measured> {
        let figures = |status: Arc<LanguageServerStatus>| {
            let memory = status.memory();
            let runs = status.process().is_some();
            if !runs && memory.reserved == 0 {
                return None;
            }
            let bytes = match memory.measured {
                Some(bytes) => bytes,
                None if runs => expected(state, &status),
                None => 0,
            };
            let grows = !matches!(status.phase(), ServerPhase::Ready);
            let committed = if grows || memory.measured.is_none() { bytes.max(memory.reserved) } else { bytes };
            Some(Measured { pending: status.pending(), bytes, committed, status })
        };
        self.registry.all_servers().into_iter().filter_map(figures).collect()
    }
}

/// By how much the budget is exceeded.
struct Shortage {
    /// By what is used now.
    used: u64,
    /// By what the running servers and the next start are expected to need.
    committed: u64,
    /// How much of `used` is tolerated while servers answer requests.
    tolerated: u64,
}

/// Puts those first by which a tenant uses more than its equal share of the budget, among the tenants that have servers. `next` is the tenant of
/// the start that waits for room, and what it needs. Both parts keep their order.
fn over_share_first(servers: Vec<Measured>, next: Option<(TenantId, u64)>, budget: u64) -> Vec<Measured> {
    let mut left: BTreeMap<TenantId, u64> = next.into_iter().collect();
    for server in &servers {
        *left.entry(server.status.identity().workspace.tenant()).or_default() += server.bytes;
    }
    let share = budget / u64::try_from(left.len()).unwrap_or(1).max(1);
    let (mut over, within): (Vec<Measured>, Vec<Measured>) = servers.into_iter().partition(|server| {
        let of_tenant = left.entry(server.status.identity().workspace.tenant()).or_default();
        let is_over = *of_tenant > share;
        if is_over {
            *of_tenant -= server.bytes.min(*of_tenant);
        }
        is_over
    });
    over.extend(within);
    over
}

/// Chooses servers, given those first that are to go first.
fn choose(mut servers: Vec<Measured>, mut over: Shortage) -> Vec<Arc<LanguageServerStatus>> {
    let now = Instant::now();
    let mut chosen = Vec::new();
    let is_idle = |server: &Measured| server.pending == 0 && !is_needed_soon(&server.status, now);
    take(&mut servers, &mut over, &mut chosen, |server, over, _| {
        (over.used > 0 || over.committed > 0) && is_idle(server)
    });
    take(&mut servers, &mut over, &mut chosen, |server, over, others| {
        over.used > 0 && server.pending == 0 && others > 0
    });
    take(&mut servers, &mut over, &mut chosen, |_, over, others| over.used > over.tolerated && others > 0);
    chosen
}

fn take(
    servers: &mut Vec<Measured>,
    over: &mut Shortage,
    chosen: &mut Vec<Arc<LanguageServerStatus>>,
    is_chosen: impl Fn(&Measured, &Shortage, usize) -> bool,
) {
    let mut at = 0;
    while at < servers.len() {
        if is_chosen(&servers[at], over, servers.len() - 1) {
            let server = servers.remove(at);
            over.used = over.used.saturating_sub(server.bytes);
            over.committed = over.committed.saturating_sub(server.committed);
            chosen.push(server.status);
        } else {
            at += 1;
        }
    }
}

/// What a server is expected to need: as much as the last time, or as those of its kind.
fn expected(state: &GateState, status: &LanguageServerStatus) -> u64 {
    let identity = status.identity();
    let own = state.by_server.get(&(identity.workspace.clone(), identity.id.clone()));
    own.or_else(|| state.by_kind.get(&identity.kind)).copied().unwrap_or(EXPECTED_SERVER_BYTES)
}

fn last_use(status: &LanguageServerStatus) -> Instant {
    let usage = status.usage();
    usage.last_wanted.map_or(usage.last_request, |wanted| wanted.max(usage.last_request))
}

/// Whether a caller probably needs the server soon: it was used just now, or a query still waits for it.
fn is_needed_soon(status: &LanguageServerStatus, now: Instant) -> bool {
    let usage = status.usage();
    let since = |at: Instant| now.saturating_duration_since(at);
    let is_unserved = !usage.is_served
        && usage.last_wanted.is_some_and(|at| since(at) < Duration::from_millis(EVICTABLE_UNSERVED_MS));
    let was_wanted = usage.last_wanted.is_some();
    is_unserved || (was_wanted && since(last_use(status)) < Duration::from_millis(EVICTABLE_AFTER_USE_MS))
}
