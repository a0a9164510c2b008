//! Bounds how long requests wait at a language server that gets more of them than it answers.
//!
//! Requests go to a server at once, so its queue is the server's own. This counts what goes in and what comes out, and refuses new requests
//! while the queue would only make every answer late. It doesn't bound how many requests a workspace has in flight: admission of calls does.
//!
//! Invariants: nothing is refused before more than [`limits::SHORT_SERVER_QUEUE`] requests were waiting, so few clients never are; a request
//! that finds fewer than [`limits::MIN_SERVER_QUEUE`] others is never refused; a burst is never refused, only what
//! arrives after more than the server can do has arrived for [`limits::OVERLOAD_AFTER_BUCKETS`] buckets of time in a row; a server that
//! answers nothing refuses nothing, because no one knows when it would.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::limits;
use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;
use codeyard_model::limits::RETRY_AFTER_MS;

/// The weight of a new value in a mean of many.
const WEIGHT: f64 = 0.02;
/// Length of a bucket of time.
const BUCKET: Duration = Duration::from_millis(limits::OVERLOAD_BUCKET_MS);

/// The queue of one server. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerQueue(Arc<Mutex<Load>>);

/// The server gets more requests than it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overloaded {
    /// When to try again, in milliseconds.
    pub retry_after_ms: u64,
}

/// One admitted request. Dropped without [`QueuedRequest::answered`], it was cancelled.
#[derive(Debug)]
pub(crate) struct QueuedRequest {
    queue: ServerQueue,
    since: Instant,
    /// Whether there was no other request when it arrived.
    alone: bool,
}

#[derive(Debug, Default)]
struct Load {
    pending: usize,
    /// When the last request was answered, or when the first one arrived after a time without any.
    progress: Option<Instant>,
    /// Time between two answers while requests are waiting, in milliseconds.
    interval: Mean,
    /// Time to the answer of a request that arrived alone, in milliseconds.
    alone: Mean,
    /// When the present bucket began.
    bucket: Option<Instant>,
    /// Requests that arrived in it, refused ones included.
    offered: u32,
    /// Requests that were answered in it.
    answered: u32,
    /// Buckets in a row in which much more arrived than can be answered.
    excess: u32,
    /// Buckets in a row in which it did not.
    calm: u32,
    /// Buckets in a row at whose end a new request would have waited too long.
    late: u32,
    /// Whether only as much is admitted as keeps the server busy.
    overloaded: bool,
}

/// A mean in which later values count more.
#[derive(Debug, Default)]
struct Mean {
    value: f64,
    count: u32,
}

impl ServerQueue {
    /// Admits a request. One that `must_go` is counted and never refused: it belongs to work that has begun.
    ///
    /// # Errors
    /// Too many requests are waiting.
    pub(crate) fn admit(&self, must_go: bool) -> Result<QueuedRequest, Overloaded> {
        let now = Instant::now();
        let mut load = self.0.lock();
        load.advance(now);
        load.offered += 1;
        if !must_go && load.refuses(now) {
            return Err(Overloaded { retry_after_ms: load.retry_after_ms() });
        }
        let alone = load.pending == 0;
        if alone {
            load.progress = Some(now);
        }
        load.pending += 1;
        Ok(QueuedRequest { queue: self.clone(), since: now, alone })
    }
}

impl QueuedRequest {
    /// The server has answered it.
    pub(crate) fn answered(self) {
        let now = Instant::now();
        let mut load = self.queue.0.lock();
        load.advance(now);
        load.answered += 1;
        if let Some(progress) = load.progress.replace(now) {
            load.interval.add(milliseconds(progress, now));
        }
        if self.alone {
            load.alone.add(milliseconds(self.since, now));
        }
    }
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        self.queue.0.lock().pending -= 1;
    }
}

impl Load {
    /// Closes the buckets that have ended.
    fn advance(&mut self, now: Instant) {
        let began = *self.bucket.get_or_insert(now);
        let ended = (milliseconds(began, now) / milliseconds_of(BUCKET)) as u32;
        // Nothing arrived in all but the first. Some are enough to end every row.
        for _ in 0..ended.min(limits::OVERLOAD_CALM_BUCKETS + 1) {
            self.close_bucket();
        }
        self.bucket = Some(began + BUCKET * ended);
    }

    fn close_bucket(&mut self) {
        let usual = milliseconds_of(BUCKET) / self.interval.value.max(f64::MIN_POSITIVE);
        let answers = usual.max(f64::from(self.answered)).max(2.0);
        let too_many = f64::from(self.offered) >= limits::OVERLOAD_FACTOR * answers;
        // While requests are refused the queue is short: what counts then is how many arrive.
        let is_long = self.pending > limits::SHORT_SERVER_QUEUE;
        if too_many && (self.overloaded || self.pending > self.most()) {
            (self.excess, self.calm) = (self.excess + 1, 0);
        } else {
            (self.excess, self.calm) = (0, self.calm.saturating_add(1));
        }
        let is_late = is_long && self.wait_ms() > limits::MAX_SERVER_QUEUE_AGE_MS as f64;
        self.late = if is_late { self.late + 1 } else { 0 };
        self.overloaded |= is_long && self.excess >= limits::OVERLOAD_AFTER_BUCKETS;
        self.overloaded &= self.calm < limits::OVERLOAD_CALM_BUCKETS;
        (self.offered, self.answered) = (0, 0);
    }

    fn refuses(&self, now: Instant) -> bool {
        if seeded_faults::is_on("overload_unnoticed") {
            return false;
        }
        if self.interval.count == 0 || self.alone.count == 0 || self.pending < self.most() {
            return false;
        }
        // Such a server hangs, or works on something long. What waits may be answered at any moment.
        let is_stuck = self.progress.is_none_or(|progress| {
            milliseconds(progress, now) > limits::STUCK_SERVER_MS as f64 + 5.0 * self.interval.value
        });
        let is_late =
            self.late >= limits::OVERLOAD_AFTER_BUCKETS && self.wait_ms() > limits::MAX_SERVER_QUEUE_AGE_MS as f64;
        !is_stuck && (self.overloaded || is_late)
    }

    /// The longest queue that is needed to keep the server busy: the requests that it works on at a time, and half as many that wait.
    fn most(&self) -> usize {
        // A float that is too large becomes the largest number.
        let at_a_time = (self.alone.value / self.interval.value.max(f64::MIN_POSITIVE)).round() as usize;
        at_a_time.saturating_add((at_a_time / 2).max(1)).max(limits::MIN_SERVER_QUEUE)
    }

    /// How long a new request would wait, in milliseconds.
    fn wait_ms(&self) -> f64 {
        self.pending as f64 * self.interval.value
    }

    /// When the present queue will be answered.
    fn retry_after_ms(&self) -> u64 {
        (self.wait_ms() as u64).clamp(RETRY_AFTER_MS, limits::MAX_SERVER_QUEUE_AGE_MS)
    }
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count = self.count.saturating_add(1);
        self.value += (value - self.value) * f64::from(self.count).recip().max(WEIGHT);
    }
}

fn milliseconds(from: Instant, to: Instant) -> f64 {
    milliseconds_of(to.saturating_duration_since(from))
}

fn milliseconds_of(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// A server that works on some requests at a time, each for the same time.
    struct Server {
        queue: ServerQueue,
        at_a_time: usize,
        takes_ms: u64,
        waiting: VecDeque<(Instant, QueuedRequest)>,
        /// Requests that it works on, with the time at which each ends.
        working: Vec<(Instant, Instant, QueuedRequest)>,
        answered: usize,
        refused: usize,
        times: Vec<u64>,
    }

    impl Server {
        fn new(at_a_time: usize, takes_ms: u64) -> Self {
            let queue = ServerQueue::default();
            let waiting = VecDeque::new();
            Self { queue, at_a_time, takes_ms, waiting, working: Vec::new(), answered: 0, refused: 0, times: vec![] }
        }

        fn offer(&mut self, count: usize) {
            for _ in 0..count {
                match self.queue.admit(false) {
                    Ok(request) => self.waiting.push_back((Instant::now(), request)),
                    Err(Overloaded { retry_after_ms }) => {
                        assert!((RETRY_AFTER_MS..=limits::MAX_SERVER_QUEUE_AGE_MS).contains(&retry_after_ms));
                        self.refused += 1;
                    }
                }
            }
            self.work();
        }

        fn work(&mut self) {
            let now = Instant::now();
            let (done, working) = std::mem::take(&mut self.working).into_iter().partition(|(_, ends, _)| *ends <= now);
            self.working = working;
            for (since, _, request) in done {
                request.answered();
                self.answered += 1;
                self.times.push((now - since).as_millis() as u64);
            }
            while self.working.len() < self.at_a_time
                && let Some((since, request)) = self.waiting.pop_front()
            {
                self.working.push((since, now + Duration::from_millis(self.takes_ms), request));
            }
        }

        /// Offers `count` requests each `every_ms`, for a time.
        async fn run(&mut self, count: usize, every_ms: u64, for_ms: u64) {
            for ms in 0..for_ms {
                if ms % every_ms == 0 {
                    self.offer(count);
                }
                tokio::time::advance(Duration::from_millis(1)).await;
                self.work();
            }
        }

        fn percentile(&mut self, percent: usize) -> u64 {
            self.times.sort_unstable();
            self.times[self.times.len() * percent / 100]
        }
    }

    #[tokio::test(start_paused = true)]
    async fn ten_times_the_capacity_leaves_goodput_and_latency() {
        for (at_a_time, takes_ms) in [(1, 5), (1, 10), (1, 20), (1, 50), (4, 20), (16, 40)] {
            let mut server = Server::new(at_a_time, takes_ms);
            // Half of the capacity first, as a server usually has it.
            let every = (2 * takes_ms).div_ceil(at_a_time as u64);
            server.run(1, every, 5_000).await;
            assert_eq!(server.refused, 0);
            let normal = server.percentile(99);
            (server.answered, server.times) = (0, vec![]);
            let per_ms = 10 * at_a_time / takes_ms as usize;
            server.run(per_ms.max(1), if per_ms == 0 { takes_ms / 10 } else { 1 }, 120_000).await;
            let capacity = 120_000 / takes_ms as usize * at_a_time;
            let share = server.answered as f64 / capacity as f64;
            let late = server.percentile(99);
            println!("{at_a_time} at a time, {takes_ms} ms: goodput {share:.3}, p99 {normal} -> {late} ms");
            assert!(share >= 0.9 && late <= 2 * normal + 1, "{at_a_time} {takes_ms}: {share} {normal} {late}");
            // It recovers within a second.
            server.run(1, every, 1_000).await;
            (server.refused, server.times) = (0, vec![]);
            server.run(1, every, 5_000).await;
            assert_eq!((server.refused, server.percentile(99)), (0, normal));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_not_refused() {
        for takes_ms in [1, 10, 100] {
            let mut server = Server::new(1, takes_ms);
            server.run(1, 200, 2_000).await;
            for _ in 0..3 {
                server.run(100, 15_000, 15_000).await;
            }
            assert_eq!((server.refused, server.answered), (0, 310));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_wait_for_their_answers_are_not_refused() {
        let mut server = Server::new(1, 10);
        server.run(1, 200, 2_000).await;
        server.offer(60);
        for _ in 0..60_000 {
            tokio::time::advance(Duration::from_millis(1)).await;
            let before = server.answered;
            server.work();
            server.offer(server.answered - before);
        }
        assert_eq!(server.refused, 0);
    }

    /// On a busy machine a server doesn't run for a while and then answers much at once, and the time for an answer changes all the time.
    #[tokio::test(start_paused = true)]
    async fn few_clients_are_not_refused_whatever_the_server_does() {
        let mut random = 1_u64;
        let mut server = Server::new(2, 1);
        server.run(1, 50, 2_000).await;
        server.offer(limits::SHORT_SERVER_QUEUE);
        for ms in 0..120_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if random >> 55 == 0 {
                server.takes_ms = [1, 5, 30, 120, 400][(random >> 40) as usize % 5];
            }
            tokio::time::advance(Duration::from_millis(1)).await;
            // Nothing is seen of it for up to a quarter of a second.
            if ms % 1_000 < 750 || ms % 250 == 0 {
                let before = server.answered;
                server.work();
                server.offer(server.answered - before);
            }
        }
        assert_eq!(server.refused, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn twice_the_capacity_waits_no_longer_than_the_limit() {
        let mut server = Server::new(1, 10);
        server.run(1, 200, 2_000).await;
        server.run(3, 20, 60_000).await;
        assert!(server.refused > 0);
        let late = server.percentile(100 - 1);
        assert!(late <= limits::MAX_SERVER_QUEUE_AGE_MS + 200, "{late}");
        assert!(server.answered > 5_700, "{}", server.answered);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_hangs_refuses_nothing() {
        let mut server = Server::new(1, 10);
        server.run(1, 200, 2_000).await;
        server.takes_ms = 1_000_000;
        server.run(1, 10, 2_500).await;
        let refused = server.refused;
        assert!(refused < 30, "{refused}");
        server.run(1, 10, 2_500).await;
        assert_eq!(server.refused, refused, "not after the moment in which it looked slow");
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_has_begun_goes_on() {
        let mut server = Server::new(1, 10);
        server.run(1, 200, 2_000).await;
        server.run(1, 1, 5_000).await;
        server.offer(3);
        assert!(server.queue.admit(false).is_err());
        let begun = server.queue.admit(true).unwrap();
        drop(begun);
        assert_eq!(server.queue.0.lock().pending, server.waiting.len() + server.working.len());
    }
}
