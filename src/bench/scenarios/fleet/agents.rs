//! The agents of the fleet: what each asks, the right answers, and one run of all of them at once.
//!
//! Each agent has one connection and one call at a time, retries as the errors advise, and goes on with its next question. Invariant: a
//! call counts as right only if its answer equals that of a bare language server that has read the project.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::limits::{DEADLINE_MS, GIVES_UP_AFTER, LATE_MS, QUESTIONS, SEARCHES};
use crate::Bench;
use crate::bare_server::{self, BareServer};
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::compare::{AnswerComparer, Comparison};
use crate::corpus::Corpus;
use crate::questions::{BenchQuestion, QuestionPool, identifiers};
use crate::stats::CallTimes;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_model::limits::RETRY_AFTER_MS;

/// What one agent asks of one repository.
pub(super) struct AgentPlan {
    /// Index of the repository.
    pub corpus: usize,
    searches: Vec<String>,
    questions: Vec<(BenchQuestion, Vec<u8>)>,
}

/// The plans of all agents, and the time that bare servers needed for the same questions, one repository after another.
pub(super) struct FleetPlan {
    pub agents: Vec<Rc<AgentPlan>>,
    pub bare: BareTimes,
}

/// The outcome of one run of all agents.
#[derive(Default)]
pub(super) struct StormOutcome {
    pub asked: u64,
    pub right: u64,
    pub retries: u64,
    /// Calls that reported a failed start.
    pub failed_starts: u64,
    /// Errors that an agent could not do anything about, and wrong answers.
    pub failures: Vec<String>,
    pub searches: CallTimes,
    pub calls: CallTimes,
    /// The longest call, and what it asked.
    pub longest: (Duration, String),
    /// Calls that took longer than the deadline and the allowed delay.
    pub late: u64,
    /// From the first call to the end of the last agent.
    pub took: Duration,
    /// When each agent was done, with its repository.
    pub ends: Vec<(Duration, String)>,
}

impl FleetPlan {
    /// Draws the questions of `agents` agents over the repositories, and collects the right answers from bare servers.
    pub(super) async fn draw(bench: &Bench, corpora: &[Corpus], agents: usize, seed: u64) -> Result<Self, Failure> {
        let mut plan = Self { agents: Vec::new(), bare: BareTimes::default() };
        for (index, corpus) in corpora.iter().enumerate() {
            let count = (index..agents).step_by(corpora.len()).count();
            let mut drawn = Draw::new(corpus, seed.wrapping_add(index as u64));
            let asked: Vec<Vec<BenchQuestion>> = (0..count).map(|_| drawn.questions()).collect();
            let all: Vec<BenchQuestion> = asked.iter().flatten().cloned().collect();
            let (answers, took) = bare_answers(bench, corpus, &all).await?;
            plan.bare.took += took.took;
            plan.bare.answered += took.answered;
            let mut answers = all.into_iter().zip(answers);
            for questions in asked {
                let questions = answers.by_ref().take(questions.len()).collect();
                plan.agents.push(Rc::new(AgentPlan { corpus: index, searches: drawn.searches(), questions }));
            }
        }
        Ok(plan)
    }
}

/// Draws questions and searches about one repository.
struct Draw {
    pool: QuestionPool,
    words: Vec<String>,
    by_references: bool,
}

impl Draw {
    fn new(corpus: &Corpus, seed: u64) -> Self {
        let pool = QuestionPool::new(corpus, seed);
        let words = pool.warm.iter().flat_map(|path| identifiers(path)).map(|(_, word)| word);
        let mut words: Vec<String> = words.filter(|word| word.len() > 5).collect();
        words.sort_unstable();
        words.dedup();
        Self { pool, words, by_references: corpus.language.kind == "ty" }
    }

    /// A definition, document symbols, and references where the server finds them without a compile; else another definition.
    fn questions(&mut self) -> Vec<BenchQuestion> {
        let last = if self.by_references { self.pool.references() } else { self.pool.definition() };
        [self.pool.definition(), self.pool.symbols(), last].into_iter().flatten().take(QUESTIONS).collect()
    }

    /// Words of the repository, as arguments of `search_code`.
    fn searches(&mut self) -> Vec<String> {
        let step = (self.words.len() / 7).max(1);
        let chosen: Vec<String> = self.words.iter().step_by(step).take(SEARCHES).cloned().collect();
        let moved = self.words.len().min(1);
        self.words.rotate_left(moved);
        chosen.into_iter().map(|word| json!({ "query": word }).to_string()).collect()
    }
}

/// How long bare servers needed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BareTimes {
    /// Until the answers were right and the project was indexed.
    pub took: Duration,
    /// Until all questions had an answer, right or not.
    pub answered: Duration,
}

/// The right answers, and the time that a new bare server needed for them.
async fn bare_answers(
    bench: &Bench,
    corpus: &Corpus,
    asked: &[BenchQuestion],
) -> Result<(Vec<Vec<u8>>, BareTimes), Failure> {
    let failed = |why: String| Failure::new(format!("{}: {why}", corpus.name));
    let cache = bench.scratch.folder("bare")?;
    let began = Instant::now();
    let bare = BareServer::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
    let mut first = Vec::new();
    for ask in asked {
        first.push(bare.ask(ask).await.map_err(failed)?);
    }
    let answered = began.elapsed();
    bare.wait_until_idle().await;
    let idle = began.elapsed().saturating_sub(bare_server::QUIET);
    let mut right = Vec::new();
    for ask in asked {
        right.push(bare.ask(ask).await.map_err(failed)?);
    }
    bare.stop().await;
    let comparer = AnswerComparer::new(&corpus.root);
    let same = asked.iter().zip(first.iter().zip(&right)).all(|(ask, (one, other))| comparer.agree(ask, one, other));
    // clangd answers before it has indexed the project, with a part of it. codeyard's answers wait for the index, so it is part of the same
    // work.
    let took = if same && !corpus.language.indexes() { answered } else { idle.max(answered) };
    Ok((right, BareTimes { took, answered }))
}

/// Runs all agents at once.
pub(super) async fn storm(
    server: &CodeyardServer,
    corpora: &[Corpus],
    plan: &FleetPlan,
) -> Result<StormOutcome, Failure> {
    let mut clients = Vec::new();
    for agent in &plan.agents {
        clients.push(server.client_of(&corpora[agent.corpus], "lsp-v1+code").await?);
    }
    let began = Instant::now();
    let runs = plan.agents.iter().zip(clients).map(|(agent, client)| {
        let run = AgentRun {
            client,
            began,
            comparer: AnswerComparer::new(&corpora[agent.corpus].root),
            name: corpora[agent.corpus].name.clone(),
            answers: Vec::new(),
            outcome: StormOutcome::default(),
        };
        run.run(agent.clone())
    });
    let mut all = StormOutcome::default();
    let runs = futures::future::join_all(runs).await;
    all.took = began.elapsed();
    for run in runs {
        all.join(run.compared());
    }
    Ok(all)
}

/// The answer to the `nth` question of an agent.
struct GivenAnswer {
    plan: Rc<AgentPlan>,
    nth: usize,
    answer: Result<Vec<u8>, String>,
}

struct AgentRun {
    client: McpHttpClient,
    began: Instant,
    comparer: AnswerComparer,
    name: String,
    answers: Vec<GivenAnswer>,
    outcome: StormOutcome,
}

impl AgentRun {
    async fn run(mut self, plan: Rc<AgentPlan>) -> Self {
        let mut searches = plan.searches.iter();
        for (nth, (ask, _)) in plan.questions.iter().enumerate() {
            if let Some(search) = searches.next() {
                self.search(search).await;
            }
            let (tool, arguments) = ask.to_tool();
            let answer = self.call(tool, &arguments, false).await;
            self.answers.push(GivenAnswer { plan: plan.clone(), nth, answer });
        }
        self.outcome.ends.push((self.began.elapsed(), self.name.clone()));
        self
    }

    /// Compares the answers. This comes after the storm: a comparison would delay the other agents of this thread, and their calls would
    /// look slow.
    fn compared(mut self) -> StormOutcome {
        for GivenAnswer { plan, nth, answer } in std::mem::take(&mut self.answers) {
            let (ask, right) = &plan.questions[nth];
            let compared = answer.map(|answer| self.comparer.compare(ask, right, &answer));
            let failure = match compared {
                Ok(Comparison::Same | Comparison::Incomparable) => None,
                Ok(Comparison::Different(difference)) => Some(format!("wrong: {difference}")),
                Ok(Comparison::Failed(why)) | Err(why) => Some(why),
            };
            self.count(failure, || ask.description());
        }
        self.outcome
    }

    async fn search(&mut self, arguments: &str) {
        let answer = self.call("search_code", arguments, true).await;
        let failure = answer.and_then(|answer| {
            let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
            let content = &answer["result"]["structuredContent"];
            match content["results"].as_array().map(Vec::len) {
                Some(1..) => Ok(()),
                Some(0) => Err("wrong: no result for a word of the repository".to_owned()),
                None => Err(content["error"]["code"].as_str().unwrap_or("no answer").to_owned()),
            }
        });
        self.count(failure.err(), || format!("search {arguments}"));
    }

    fn count(&mut self, failure: Option<String>, what: impl Fn() -> String) {
        self.outcome.asked += 1;
        match failure {
            None => self.outcome.right += 1,
            Some(why) => self.outcome.failures.push(format!("{}: {}: {why}", self.name, what())),
        }
    }

    /// Calls until there is an answer, or an error that advises no retry.
    async fn call(&mut self, tool: &str, arguments: &str, is_search: bool) -> Result<Vec<u8>, String> {
        loop {
            let began = Instant::now();
            let body = self.client.call(tool, arguments).await?;
            let took = began.elapsed();
            self.outcome.calls.add(took);
            if took > self.outcome.longest.0 {
                let since = self.began.elapsed().as_secs_f64();
                self.outcome.longest = (took, format!("{tool} of {}, {since:.1} s after the begin", self.name));
            }
            self.outcome.late += u64::from(took.as_secs_f64() * 1e3 > DEADLINE_MS + LATE_MS);
            if is_search {
                self.outcome.searches.add(took);
            }
            // Only errors and empty lists are short, and only they are parsed while other agents wait.
            let error = (body.len() < 4_096).then(|| error_of(&body)).flatten();
            let Some(error) = error else { return Ok(body) };
            self.outcome.failed_starts += u64::from(error["reason"] == "start_failed");
            match error["retryAfterMs"].as_u64() {
                Some(wait) if self.began.elapsed() < GIVES_UP_AFTER => {
                    self.outcome.retries += 1;
                    tokio::time::sleep(Duration::from_millis(wait)).await;
                }
                _ => return Ok(body),
            }
        }
    }
}

/// The details of an error of any of the catalogs. A search that found nothing in a part of the files is asked again, too.
fn error_of(body: &[u8]) -> Option<Value> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let content = &answer["result"]["structuredContent"];
    let is_empty = content["results"].as_array().is_some_and(Vec::is_empty);
    if is_empty && content["metadata"]["result_completeness"] == "partial" {
        return Some(json!({ "retryAfterMs": RETRY_AFTER_MS }));
    }
    let data = &answer["error"]["data"];
    let code = &answer["result"]["structuredContent"]["error"]["data"];
    [&data["details"], data, code].into_iter().find(|details| details.is_object()).cloned()
}

impl StormOutcome {
    /// The agents that were done last: when, and whose repository.
    pub(super) fn last(&self, count: usize) -> String {
        let mut ends = self.ends.clone();
        ends.sort_unstable_by(|one, other| other.cmp(one));
        let last = ends.iter().take(count).map(|(end, name)| format!("{name} {:.0} s", end.as_secs_f64()));
        last.collect::<Vec<_>>().join(", ")
    }

    fn join(&mut self, other: Self) {
        self.asked += other.asked;
        self.right += other.right;
        self.retries += other.retries;
        self.failed_starts += other.failed_starts;
        self.failures.extend(other.failures);
        self.searches.join(&other.searches);
        self.calls.join(&other.calls);
        self.longest = self.longest.clone().max(other.longest);
        self.late += other.late;
        self.ends.extend(other.ends);
    }
}
