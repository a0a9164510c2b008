//! A bare server and a codeyard side by side on one repository, asked the same questions block by block in turn, so that
//! whatever else the machine does hits both.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;

use super::Bench;
use super::bare::Bare;
use super::canonical::{Judge, Verdict};
use super::corpus::Corpus;
use super::questions::{Ask, At, Deck};
use super::served::{Client, Served};
use super::stats::{Times, precise};
use super::steadiness::Dispute;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Examples of wrong answers kept of one figure.
const EXAMPLES: usize = 3;

/// Both sides.
pub(crate) struct Pair {
    /// The bare server.
    pub bare: Bare,
    /// The codeyard.
    pub served: Served,
    /// Compares their answers.
    pub judge: Judge,
    /// The repository.
    pub corpus: Corpus,
    /// The questions not yet asked.
    pub deck: Deck,
    /// Those that both were asked, in order.
    asked: RefCell<Vec<Ask>>,
}

/// One answered question.
pub(crate) struct Sample {
    took: Duration,
    body: Result<Vec<u8>, String>,
}

/// What both sides did with the same questions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// The bare server's times.
    pub bare: Times,
    /// Codeyard's.
    pub ours: Times,
    /// By whole blocks without errors, how many calls a second codeyard made for each of the bare server's.
    pub ratios: Vec<f64>,
    /// Answers that could be compared.
    pub compared: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Questions to which the bare server itself gives now this answer, now that.
    pub unsteady: u64,
    /// Questions that codeyard answered with an error, by its code.
    pub errors: std::collections::BTreeMap<String, u64>,
    /// Questions that codeyard answered from what it retained.
    pub retained: u64,
    /// What was wrong, the first few.
    pub examples: Vec<String>,
}

impl Outcome {
    /// Adds what was found of answers that weren't timed.
    pub(crate) fn judge(&mut self, other: Self) {
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.unsteady += other.unsteady;
        let room = EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
        for (code, count) in other.errors {
            *self.errors.entry(code).or_default() += count;
        }
    }

    /// Adds all of another run with as many clients.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.bare.join(&other.bare);
        self.ours.join(&other.ours);
        self.ratios.append(&mut other.ratios);
        self.retained += other.retained;
        self.judge(other);
    }

    /// Counts for the table.
    pub(crate) fn notes(&self) -> String {
        let mut notes = vec![format!("{} calls", self.ours.len())];
        if self.wrong > 0 {
            notes.push(format!("{} wrong", self.wrong));
        }
        if self.unsteady > 0 {
            notes.push(format!("{} where the bare server's own answers differ", self.unsteady));
        }
        notes.extend(self.errors.iter().map(|(code, count)| format!("{count} {code}")));
        if self.retained > 0 {
            let share = 100.0 * precise(self.retained) / precise(self.ours.len().max(1));
            notes.push(format!("{share:.0} % from retained results"));
        }
        notes.join(", ")
    }
}

impl Pair {
    /// Starts both, lets them read the project and the files of the deck that `seed` draws.
    pub(crate) async fn start(bench: &Bench, corpus: &Corpus, seed: u64) -> Result<Self, Failure> {
        let (cache, folder) = (bench.scratch.folder("bare")?, bench.scratch.folder("served")?);
        let deck = Deck::new(corpus, seed);
        if deck.warm.is_empty() {
            return Err(Failure::missing(format!("{}: no file is of a size to ask about", corpus.name)));
        }
        let bare = Bare::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
        let served = Served::start(&[corpus], &bench.installer, &folder, "", &[]).await?;
        let (judge, corpus, asked) = (Judge::new(&corpus.root), corpus.clone(), RefCell::default());
        let pair = Self { bare, served, judge, corpus, deck, asked };
        pair.warm().await?;
        Ok(pair)
    }

    /// Has both read the files that are asked about.
    async fn warm(&self) -> Result<(), Failure> {
        let mut client = self.served.client(&self.corpus).await?;
        let failed = |path: &Path, why: String| Failure::new(format!("{}: {why}", path.display()));
        for path in &self.deck.warm {
            let ask = first_place(path);
            self.bare.ask(&ask).await.map_err(|why| failed(path, why))?;
            client.ask_patiently(&ask).await.map_err(|why| failed(path, why))?;
            self.asked.borrow_mut().push(ask);
        }
        self.bare.settle().await;
        Ok(())
    }

    /// Asks both the same questions, in blocks and in turn, `clients` at a time, until the questions or the time are used up.
    pub(crate) async fn run(&self, bench: &Bench, clients: usize, asks: &[Ask]) -> Result<Outcome, Failure> {
        let block = (asks.len() / 40).clamp(clients * 4, 200.max(clients * 8));
        self.run_blocks(bench, clients, asks, (block, bench.time())).await
    }

    /// The same in blocks of a given size, for a given time of the slower side.
    pub(crate) async fn run_blocks(
        &self,
        bench: &Bench,
        clients: usize,
        asks: &[Ask],
        (block, limit): (usize, Duration),
    ) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::default();
        let mut connections = self.served.clients(&self.corpus, clients).await?;
        let hits = self.served.retained_hits().await;
        for (number, asks) in asks.chunks(block.max(1)).enumerate() {
            if outcome.bare.span.max(outcome.ours.span) > limit {
                break;
            }
            let (mut bare_span, mut our_span) = (Duration::ZERO, Duration::ZERO);
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
                self.take(bench, &mut outcome, (ask, bare, ours)).await;
            }
            // A call that is given up early isn't a fast one.
            if asks.len() == block && outcome.errors.values().sum::<u64>() == errors {
                outcome.ratios.push(bare_span.as_secs_f64() / our_span.as_secs_f64().max(f64::MIN_POSITIVE));
            }
        }
        outcome.retained = self.served.retained_hits().await.saturating_sub(hits);
        Ok(outcome)
    }

    async fn ask_bare(&self, asks: &[Ask], clients: usize, span: &mut Duration) -> Vec<Sample> {
        let next = Cell::new(0);
        let began = Instant::now();
        let asking = (0..clients).map(|_| async {
            let mut samples = Vec::new();
            while let Some((at, ask)) = take_next(&next, asks) {
                let asked = Instant::now();
                let body = self.bare.ask(ask).await;
                samples.push((at, Sample { took: asked.elapsed(), body }));
            }
            samples
        });
        let samples = futures::future::join_all(asking).await;
        *span += began.elapsed();
        in_order(samples)
    }

    async fn take(&self, bench: &Bench, outcome: &mut Outcome, (ask, bare, ours): (&Ask, Sample, Sample)) {
        outcome.bare.add(bare.took);
        outcome.ours.add(ours.took);
        let verdict = match (&bare.body, &ours.body) {
            (_, Err(why)) => Verdict::Failed(why.clone()),
            (Err(_), _) => Verdict::Incomparable,
            (Ok(bare), Ok(ours)) => self.judge.compare(ask, bare, ours),
        };
        match verdict {
            Verdict::Same => outcome.compared += 1,
            Verdict::Failed(code) => *outcome.errors.entry(code).or_default() += 1,
            Verdict::Incomparable => {}
            Verdict::Different(_) if self.is_unsteady(bench, ask, (&bare, &ours)).await => outcome.unsteady += 1,
            Verdict::Different(how) => {
                outcome.compared += 1;
                outcome.wrong += 1;
                if outcome.examples.len() < EXAMPLES {
                    outcome.examples.push(format!("{}: {how}", ask.told()));
                }
            }
        }
    }

    async fn is_unsteady(&self, bench: &Bench, ask: &Ask, (bare, ours): (&Sample, &Sample)) -> bool {
        let (Ok(bare), Ok(ours)) = (&bare.body, &ours.body) else { return false };
        let asked = self.asked.borrow().clone();
        let dispute = Dispute { judge: &self.judge, ask, bare, ours };
        dispute.is_unsteady(bench, &self.corpus, &self.bare, &asked).await
    }

    /// Ends both.
    pub(crate) async fn stop(self) {
        tokio::join!(self.bare.stop(), self.served.stop());
    }
}

/// Asks with all connections at once, each one question at a time.
pub(crate) async fn ask_served(clients: &mut [Client], asks: &[Ask], span: &mut Duration) -> Vec<Sample> {
    let next = Cell::new(0);
    let began = Instant::now();
    let asking = clients.iter_mut().map(|client| async {
        let mut samples = Vec::new();
        while let Some((at, ask)) = take_next(&next, asks) {
            let asked = Instant::now();
            let body = client.ask(ask).await;
            samples.push((at, Sample { took: asked.elapsed(), body }));
        }
        samples
    });
    let samples = futures::future::join_all(asking).await;
    *span += began.elapsed();
    in_order(samples)
}

impl Sample {
    /// Adds its time, if it is an answer; else its error counts.
    pub(crate) fn add_to(&self, times: &mut Times, errors: &mut u64) {
        times.add(self.took);
        let is_answer = |body: &Vec<u8>| !body.windows(8).take(200).any(|window| window == b"\"error\":");
        *errors += u64::from(!self.body.as_ref().is_ok_and(is_answer));
    }
}

/// A question about the first place of a file; no deck holds it.
pub(crate) fn first_place(path: &Path) -> Ask {
    Ask::Hover(At { path: path.into(), line: 0, character: 0 })
}

fn take_next<'a>(next: &Cell<usize>, asks: &'a [Ask]) -> Option<(usize, &'a Ask)> {
    let at = next.get();
    next.set(at + 1);
    asks.get(at).map(|ask| (at, ask))
}

fn in_order(samples: Vec<Vec<(usize, Sample)>>) -> Vec<Sample> {
    let mut all: Vec<(usize, Sample)> = samples.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, sample)| sample).collect()
}
