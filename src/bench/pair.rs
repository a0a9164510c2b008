//! A bare language server and a codeyard server on one repository. Both get the same questions in alternating blocks, so that other
//! load of the machine affects both.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;

use crate::Bench;
use crate::bare_server::BareServer;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::compare::{AnswerComparer, Comparison};
use crate::corpus::Corpus;
use crate::dispute::Dispute;
use crate::questions::{BenchQuestion, QuestionPool, SourcePosition};
use crate::stats::{CallTimes, precise};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Most examples of wrong answers for one figure.
const EXAMPLES: usize = 3;

/// Both sides of a comparison.
pub(crate) struct ServerPair {
    /// The bare language server.
    pub bare: BareServer,
    pub served: CodeyardServer,
    /// Compares the answers.
    pub comparer: AnswerComparer,
    pub corpus: Corpus,
    pub pool: QuestionPool,
    /// The questions that both sides were asked, in order.
    asked: RefCell<Vec<BenchQuestion>>,
}

/// One call: its duration and its response.
pub(crate) struct CallSample {
    took: Duration,
    body: Result<Vec<u8>, String>,
}

/// The results of both sides for the same questions.
#[derive(Debug, Clone, Default)]
pub(crate) struct PairOutcome {
    /// Durations of the bare server.
    pub bare: CallTimes,
    /// Durations of codeyard.
    pub ours: CallTimes,
    /// For each full block without errors: calls per second of codeyard divided by those of the bare server.
    pub ratios: Vec<f64>,
    pub compared: u64,
    pub wrong: u64,
    /// Number of questions for which the bare server is nondeterministic.
    pub nondeterministic: u64,
    /// Number of errors of codeyard, by code.
    pub errors: std::collections::BTreeMap<String, u64>,
    /// Number of answers of codeyard from retained results.
    pub retained: u64,
    /// The first few wrong answers.
    pub examples: Vec<String>,
}

impl PairOutcome {
    /// Adds the results of calls that are not timed.
    pub(crate) fn add_untimed(&mut self, other: Self) {
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.nondeterministic += other.nondeterministic;
        let room = EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
        for (code, count) in other.errors {
            *self.errors.entry(code).or_default() += count;
        }
    }

    /// Adds another run with the same number of clients.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.bare.join(&other.bare);
        self.ours.join(&other.ours);
        self.ratios.append(&mut other.ratios);
        self.retained += other.retained;
        self.add_untimed(other);
    }

    /// The counts as notes of a figure.
    pub(crate) fn notes(&self) -> String {
        let mut notes = vec![format!("{} calls", self.ours.len())];
        if self.wrong > 0 {
            notes.push(format!("{} wrong", self.wrong));
        }
        if self.nondeterministic > 0 {
            notes.push(format!("{} where the bare server's own answers differ", self.nondeterministic));
        }
        notes.extend(self.errors.iter().map(|(code, count)| format!("{count} {code}")));
        if self.retained > 0 {
            let share = 100.0 * precise(self.retained) / precise(self.ours.len().max(1));
            notes.push(format!("{share:.0} % from retained results"));
        }
        notes.join(", ")
    }
}

impl ServerPair {
    /// Starts both sides, and lets them read the project and the warm-up files that `seed` selects.
    pub(crate) async fn start(bench: &Bench, corpus: &Corpus, seed: u64) -> Result<Self, Failure> {
        let cache = bench.scratch.folder("bare")?;
        let folder = bench.scratch.folder("served")?;
        let pool = QuestionPool::new(corpus, seed);
        if pool.warm.is_empty() {
            return Err(Failure::missing(format!("{}: no file has a suitable size for questions", corpus.name)));
        }
        let bare = BareServer::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
        let served = CodeyardServer::start(&[corpus], &bench.installer, &folder, "", &[]).await?;
        let comparer = AnswerComparer::new(&corpus.root);
        let pair = Self { bare, served, comparer, corpus: corpus.clone(), pool, asked: RefCell::default() };
        pair.warm().await?;
        Ok(pair)
    }

    /// Lets both sides read the files of the questions.
    async fn warm(&self) -> Result<(), Failure> {
        let mut client = self.served.client(&self.corpus).await?;
        let failed = |path: &Path, why: String| Failure::new(format!("{}: {why}", path.display()));
        for path in &self.pool.warm {
            let ask = first_place(path);
            self.bare.ask(&ask).await.map_err(|why| failed(path, why))?;
            client.ask_with_retry(&ask).await.map_err(|why| failed(path, why))?;
            self.asked.borrow_mut().push(ask);
        }
        self.bare.wait_until_idle().await;
        Ok(())
    }

    /// Asks both sides the same questions in alternating blocks with `clients` concurrent clients, until the questions or the time run
    /// out.
    pub(crate) async fn run(
        &self,
        bench: &Bench,
        clients: usize,
        asks: &[BenchQuestion],
    ) -> Result<PairOutcome, Failure> {
        let block = (asks.len() / 40).clamp(clients * 4, 200.max(clients * 8));
        self.run_blocks(bench, clients, asks, block, bench.time()).await
    }

    /// The same with a given block size and time limit of the slower side.
    pub(crate) async fn run_blocks(
        &self,
        bench: &Bench,
        clients: usize,
        asks: &[BenchQuestion],
        block: usize,
        limit: Duration,
    ) -> Result<PairOutcome, Failure> {
        let mut outcome = PairOutcome::default();
        let mut connections = self.served.clients(&self.corpus, clients).await?;
        let hits = self.served.retained_hits().await;
        for (number, asks) in asks.chunks(block.max(1)).enumerate() {
            if outcome.bare.span.max(outcome.ours.span) > limit {
                break;
            }
            let mut bare_span = Duration::ZERO;
            let mut our_span = Duration::ZERO;
            let (bare, ours) = if number % 2 == 0 {
                let bare = self.ask_bare(asks, clients, &mut bare_span).await;
                (bare, ask_served(&mut connections, asks, &mut our_span).await)
            } else {
                let ours = ask_served(&mut connections, asks, &mut our_span).await;
                (self.ask_bare(asks, clients, &mut bare_span).await, ours)
            };
            outcome.bare.span += bare_span;
            outcome.ours.span += our_span;
            let errors = outcome.errors.values().sum::<u64>();
            self.asked.borrow_mut().extend_from_slice(asks);
            for ((ask, bare), ours) in asks.iter().zip(bare).zip(ours) {
                self.take(bench, &mut outcome, ask, bare, ours).await;
            }
            // A block with errors does not count: a call that fails early is not a fast call.
            if asks.len() == block && outcome.errors.values().sum::<u64>() == errors {
                outcome.ratios.push(bare_span.as_secs_f64() / our_span.as_secs_f64().max(f64::MIN_POSITIVE));
            }
        }
        outcome.retained = self.served.retained_hits().await.saturating_sub(hits);
        Ok(outcome)
    }

    async fn ask_bare(&self, asks: &[BenchQuestion], clients: usize, span: &mut Duration) -> Vec<CallSample> {
        let next = Cell::new(0);
        let began = Instant::now();
        let requests = (0..clients).map(|_| async {
            let mut samples = Vec::new();
            while let Some((at, ask)) = take_next(&next, asks) {
                let asked = Instant::now();
                let body = self.bare.ask(ask).await;
                samples.push((at, CallSample { took: asked.elapsed(), body }));
            }
            samples
        });
        let samples = futures::future::join_all(requests).await;
        *span += began.elapsed();
        in_order(samples)
    }

    async fn take(
        &self,
        bench: &Bench,
        outcome: &mut PairOutcome,
        ask: &BenchQuestion,
        bare: CallSample,
        ours: CallSample,
    ) {
        outcome.bare.add(bare.took);
        outcome.ours.add(ours.took);
        let verdict = match (&bare.body, &ours.body) {
            (_, Err(why)) => Comparison::Failed(why.clone()),
            (Err(_), _) => Comparison::Incomparable,
            (Ok(bare), Ok(ours)) => self.comparer.compare(ask, bare, ours),
        };
        match verdict {
            Comparison::Same => outcome.compared += 1,
            Comparison::Failed(code) => *outcome.errors.entry(code).or_default() += 1,
            Comparison::Incomparable => {}
            Comparison::Different(_) if self.is_nondeterministic(bench, ask, &bare, &ours).await => {
                outcome.nondeterministic += 1
            }
            Comparison::Different(how) => {
                outcome.compared += 1;
                outcome.wrong += 1;
                if outcome.examples.len() < EXAMPLES {
                    outcome.examples.push(format!("{}: {how}", ask.description()));
                }
            }
        }
    }

    async fn is_nondeterministic(
        &self,
        bench: &Bench,
        ask: &BenchQuestion,
        bare: &CallSample,
        ours: &CallSample,
    ) -> bool {
        let (Ok(bare), Ok(ours)) = (&bare.body, &ours.body) else { return false };
        let asked = self.asked.borrow().clone();
        let dispute = Dispute { comparer: &self.comparer, ask, bare, ours };
        dispute.is_nondeterministic(bench, &self.corpus, &self.bare, &asked).await
    }

    /// Stops both sides.
    pub(crate) async fn stop(self) {
        tokio::join!(self.bare.stop(), self.served.stop());
    }
}

/// Asks with all clients concurrently, one question at a time for each client.
pub(crate) async fn ask_served(
    clients: &mut [McpHttpClient],
    asks: &[BenchQuestion],
    span: &mut Duration,
) -> Vec<CallSample> {
    let next = Cell::new(0);
    let began = Instant::now();
    let requests = clients.iter_mut().map(|client| async {
        let mut samples = Vec::new();
        while let Some((at, ask)) = take_next(&next, asks) {
            let asked = Instant::now();
            let body = client.ask(ask).await;
            samples.push((at, CallSample { took: asked.elapsed(), body }));
        }
        samples
    });
    let samples = futures::future::join_all(requests).await;
    *span += began.elapsed();
    in_order(samples)
}

impl CallSample {
    /// Adds the duration, and counts an error response.
    pub(crate) fn add_to(&self, times: &mut CallTimes, errors: &mut u64) {
        times.add(self.took);
        let is_answer = |body: &Vec<u8>| !body.windows(8).take(200).any(|window| window == b"\"error\":");
        *errors += u64::from(!self.body.as_ref().is_ok_and(is_answer));
    }
}

/// A question about the first position of a file. No pool contains it.
pub(crate) fn first_place(path: &Path) -> BenchQuestion {
    BenchQuestion::Hover(SourcePosition { path: path.into(), line: 0, character: 0 })
}

fn take_next<'a>(next: &Cell<usize>, asks: &'a [BenchQuestion]) -> Option<(usize, &'a BenchQuestion)> {
    let at = next.get();
    next.set(at + 1);
    asks.get(at).map(|ask| (at, ask))
}

fn in_order(samples: Vec<Vec<(usize, CallSample)>>) -> Vec<CallSample> {
    let mut all: Vec<(usize, CallSample)> = samples.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, sample)| sample).collect()
}
