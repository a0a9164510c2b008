//! The actor of one call: it runs the work of the call until an answer, the deadline or the client's departure, and sends progress.
//!
//! Stopping the actor drops the work, and that cancels all work below it. What a departure means is declared by the
//! tool's [`CallPolicy`]. Invariant: at most one reply is sent.

use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

use actix::prelude::*;
use actix_rt::ArbiterHandle;
use tokio::sync::oneshot;

use super::admission::CallSlot;
use super::launch::{self, LaunchCall};
use super::service::{Progress, ProgressSink};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_base::seeded_faults;
use codeyard_catalog::{CallPolicy, OnDeparture};
use codeyard_engine::answer::wait_status::WaitStatus;
use codeyard_engine::answer::{self, EngineQuery};
use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_telemetry::CallTrace;

/// Most time by which a call is ended before its deadline.
const MAX_TIMER_LAG: Duration = Duration::from_millis(400);
/// A timer that is this late is in time.
const USUAL_TIMER_LAG: Duration = Duration::from_millis(10);
/// Time between two progress values.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

thread_local! {
    static TIMER_LAG: TimerLag = TimerLag::default();
}

/// How late the timers of deadlines fire on this thread. On a saturated machine a thread gets the processor late, so later calls are ended
/// that much before their deadlines, and their errors are still in time.
#[derive(Default)]
struct TimerLag(Cell<Duration>);

impl TimerLag {
    /// The instant at which the timer of `deadline` is set.
    fn due(&self, deadline: Deadline) -> Instant {
        deadline.earlier(self.0.get()).instant()
    }

    /// Records when the timer of `due` fired. A smaller lag than before counts by degrees.
    fn fired(&self, due: Instant) {
        let late = Instant::now().saturating_duration_since(due).min(MAX_TIMER_LAG);
        // A timer may be up to this late on a thread with nothing else to do.
        let late = if late <= USUAL_TIMER_LAG { Duration::ZERO } else { late };
        self.0.set(late.max(self.0.get() * 3 / 4).min(MAX_TIMER_LAG));
    }
}

/// The outcome of a call before it is encoded.
pub(crate) type CallResult = Result<Answer, ToolError>;

/// The work of a call.
pub(crate) enum CallWork {
    /// A query that the engine answers.
    Engine(EngineQuery),
    /// A call about runs.
    Launch(LaunchCall),
}

impl CallWork {
    /// The thread that the call runs on: that of its workspace.
    fn arbiter(&self) -> Option<ArbiterHandle> {
        match self {
            Self::Engine(query) => query.arbiter(),
            Self::Launch(launch) => Some(launch.workspace.arbiter.clone()),
        }
    }

    /// Does the work. Dropping the future cancels it.
    async fn answer(self, deadline: Deadline, status: &WaitStatus, call: &CallTrace) -> CallResult {
        match self {
            Self::Engine(query) => answer::answer(query, deadline, status, call).await,
            Self::Launch(asked) => Ok(Answer::Launch(launch::answer(&asked, status, call).await)),
        }
    }
}

/// An admitted call, ready to run.
pub(crate) struct CallJob {
    /// What is asked, and whom.
    pub work: CallWork,
    /// The policy of the tool.
    pub policy: CallPolicy,
    /// When the answer is due.
    pub deadline: Deadline,
    /// The call's admission slot.
    pub slot: CallSlot,
    /// Receives progress, if the client asked for it.
    pub progress: Option<ProgressSink>,
    /// The call's record and spans.
    pub call: CallTrace,
    /// Sends the answer. A dropped receiver means that the client has left.
    pub reply: oneshot::Sender<CallResult>,
}

/// The actor of one call.
pub(crate) struct RequestActor {
    job: Option<CallJob>,
    status: WaitStatus,
}

impl RequestActor {
    /// Starts an actor for `job` on the thread of its workspace. If there is no such thread or it has stopped, the reply's sender is
    /// dropped. `status` says what it waits for.
    pub(crate) fn start_for(job: CallJob, status: WaitStatus) {
        let Some(arbiter) = job.work.arbiter() else { return };
        let request = Self { job: Some(job), status };
        arbiter.spawn_fn(move || drop(request.start()));
    }
}

impl Actor for RequestActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let Some(job) = self.job.take() else { return ctx.stop() };
        let CallJob { work, policy, deadline, slot, progress, call, reply } = job;
        let status = self.status.clone();
        let work = async move {
            let answer = work.answer(deadline, &status, &call);
            run(answer, &policy, deadline, &status, slot, reply).await;
        };
        ctx.spawn(work.into_actor(self).map(|(), _, ctx| ctx.stop()));
        if let Some(sink) = progress {
            let mut sent = 0.0;
            ctx.run_interval(PROGRESS_INTERVAL, move |request, _| {
                sent += 1.0;
                let (phase, progress) = request.status.read();
                let message = progress.unwrap_or_else(|| phase.as_str().to_owned());
                sink.send(Progress { progress: sent, total: None, message: Some(message) });
            });
        }
    }
}

/// Runs `work` until it ends or `deadline` passes, and sends the outcome through `reply`. If the receiver is dropped before,
/// `policy` decides whether `work` is dropped, too. `slot` is released before the outcome is sent.
async fn run<S>(
    work: impl Future<Output = CallResult>,
    policy: &CallPolicy,
    deadline: Deadline,
    status: &WaitStatus,
    slot: S,
    mut reply: oneshot::Sender<CallResult>,
) {
    if policy.on_departure == OnDeparture::Cancel && reply.is_closed() {
        return;
    }
    let client_left = async {
        match policy.on_departure {
            OnDeparture::Cancel => reply.closed().await,
            OnDeparture::Continue => std::future::pending().await,
        }
    };
    let mut due = TIMER_LAG.with(|lag| lag.due(deadline));
    if seeded_faults::is_on("deadline_ignored") {
        due += Duration::from_secs(3_600);
    }
    let result = {
        let mut work = pin!(work);
        tokio::select! {
            biased;
            result = &mut work => result,
            () = client_left => return,
            () = tokio::time::sleep_until(due) => {
                TIMER_LAG.with(|lag| lag.fired(due));
                // It lets an execution go on that the work waits for, so the work is dropped only then.
                Err(status.timeout(policy.outcomes.timeout.code))
            }
        }
    };
    drop(slot);
    // A failed send means that the client has left.
    drop(reply.send(result));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use codeyard_catalog::CatalogId;
    use codeyard_model::error::ErrorCode;

    const STEP: Duration = Duration::from_millis(100);

    fn policy(on_departure: OnDeparture) -> CallPolicy {
        CallPolicy { on_departure, ..CatalogId::LspV1.catalog().policy("vscode.lsp.hover") }
    }

    /// Runs work of five steps under a deadline of `deadline` steps, and drops the receiver after `leaves_after` steps. Returns
    /// the number of steps that were done, whether the slot was released, and the outcome if the receiver was still there.
    async fn steps_done(
        on_departure: OnDeparture,
        deadline: u32,
        leaves_after: Option<u32>,
    ) -> (usize, bool, Option<CallResult>) {
        let steps = Arc::new(AtomicUsize::new(0));
        let slot = Arc::new(());
        let (reply, receiver) = oneshot::channel();
        let counted = steps.clone();
        let held = slot.clone();
        let running = tokio::spawn(async move {
            let work = async {
                for _ in 0..5 {
                    tokio::time::sleep(STEP).await;
                    counted.fetch_add(1, Relaxed);
                }
                Err(ToolError::internal())
            };
            let deadline = Deadline::after(STEP * deadline + STEP / 2);
            run(work, &policy(on_departure), deadline, &WaitStatus::default(), held, reply).await;
        });
        let outcome = match leaves_after {
            Some(steps) => {
                tokio::time::sleep(STEP * steps + STEP / 2).await;
                drop(receiver);
                None
            }
            None => receiver.await.ok(),
        };
        running.await.unwrap();
        (steps.load(Relaxed), Arc::strong_count(&slot) == 1, outcome)
    }

    #[tokio::test(start_paused = true)]
    async fn a_departure_cancels_or_continues_the_work_as_the_policy_says() {
        assert_eq!(steps_done(OnDeparture::Cancel, 10, Some(2)).await, (2, true, None));
        assert_eq!(steps_done(OnDeparture::Continue, 10, Some(2)).await, (5, true, None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_receiver_that_is_already_dropped_counts_as_a_departure() {
        for (on_departure, expected) in [(OnDeparture::Cancel, 0), (OnDeparture::Continue, 1)] {
            let (reply, receiver) = oneshot::channel();
            drop(receiver);
            let runs = AtomicUsize::new(0);
            let work = async {
                runs.fetch_add(1, Relaxed);
                Err(ToolError::internal())
            };
            let deadline = Deadline::after(STEP);
            run(work, &policy(on_departure), deadline, &WaitStatus::default(), (), reply).await;
            assert_eq!(runs.load(Relaxed), expected, "{on_departure:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_end_earlier_on_a_thread_whose_timers_are_late() {
        let lag = TimerLag::default();
        let deadline = Deadline::after(STEP);
        assert_eq!(lag.due(deadline), deadline.instant());
        let ms = Duration::from_millis;
        let late = |by: u64| Instant::now() - ms(by);
        lag.fired(late(5));
        assert_eq!(lag.due(deadline), deadline.instant(), "as late as timers are");
        lag.fired(late(80));
        assert_eq!(lag.due(deadline), deadline.instant() - ms(80));
        lag.fired(late(0));
        assert_eq!(lag.due(deadline), deadline.instant() - ms(60), "by degrees");
        lag.fired(late(9_000));
        assert_eq!(lag.due(deadline), deadline.instant() - MAX_TIMER_LAG);
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_ends_the_work_with_or_without_a_client() {
        assert_eq!(steps_done(OnDeparture::Continue, 3, Some(1)).await, (3, true, None));
        let (steps, released, outcome) = steps_done(OnDeparture::Cancel, 3, None).await;
        let error = outcome.unwrap().unwrap_err();
        assert_eq!((steps, released, error.code), (3, true, ErrorCode::CapExceeded));
        assert_eq!(error.details["reason"], "timeout");
    }
}
