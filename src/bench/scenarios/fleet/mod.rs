//! The scenario `fleet`: many repositories, many language servers, many agents at once.
//!
//! It asks what one repository can't show: whether answers stay right and in time on a saturated machine, what idle servers cost, whether
//! operators see the truth, whether the memory budget holds, and how long a stop takes.

mod agents;
mod limits;
mod observer;
mod packages;

use std::path::Path;

use self::agents::{FleetPlan, StormOutcome, storm};
use self::limits::{
    AGENTS, BUDGET_MIB, DEADLINE_MS, FILES, IDLE, LATE_MS, REGISTERED, REPOSITORIES, SETTLES_WITHIN, USED, USES,
};
use self::observer::{Observed, observe, own_processor_s};

use crate::args::Scenario;
use crate::codeyard_server::CodeyardServer;
use crate::corpus::{self, Corpus, Language};
use crate::questions::BenchQuestion;
use crate::report::{Report, Target};
use crate::stats::{mib, precise};
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_lsp::registry::Registry;

/// Most failures of one storm in the report.
const SHOWN_FAILURES: usize = 5;

/// Agents that were done last in the report.
const SHOWN_AGENTS: usize = 3;

pub(crate) async fn fleet(bench: &Bench, report: &mut Report) -> Result<(), Failure> {
    let count = bench.args.fleet.clamp(1, packages::REPOSITORIES);
    let corpora = packages::fleet(count, bench.corpora_dir(), &bench.scratch).await?;
    for kind in ["ty", "typescript", "clangd"] {
        corpus::ensure_installed(&bench.installer, &Registry::builtin(), kind)?;
    }
    let agents = (AGENTS * count).div_ceil(REPOSITORIES);
    eprintln!("  bare servers answer the questions of {agents} agents");
    let plan = FleetPlan::draw(bench, &corpora, agents, bench.args.seed).await?;
    let run = FleetRun { bench, corpora, plan, name: format!("{count} repositories, {agents} agents") };
    let folder = bench.scratch.folder("served")?;
    run.whole_life(&folder, report).await?;
    run.idle_servers(report).await?;
    run.budget(&folder, report).await?;
    run.registered(report).await
}

struct FleetRun<'a> {
    bench: &'a Bench,
    corpora: Vec<Corpus>,
    plan: FleetPlan,
    /// Name in the tables.
    name: String,
}

impl FleetRun<'_> {
    /// First indexes, a cold storm, idle time, a warm storm, a stop, a restart, another storm.
    async fn whole_life(&self, folder: &Path, report: &mut Report) -> Result<(), Failure> {
        let server = self.start(&self.corpora.iter().collect::<Vec<_>>(), folder, "").await?;
        self.first_indexes(&server, report).await?;
        self.storm(&server, "cold", report).await?;
        let share = idle_share(&server).await?;
        let servers = server.tree()?.servers.len();
        let what = format!("idle: processor share of codeyard and its guards, {servers} language servers, %");
        self.add(report, what, None, share, Target::at_most(1.0, "≤ 1 %"), "");
        self.storm(&server, "warm", report).await?;
        let servers = server.tree()?.servers.len();
        let began = Instant::now();
        server.stop().await;
        let what = format!("SIGTERM with {servers} idle language servers to the exit, s");
        self.add(report, what, None, began.elapsed().as_secs_f64(), Target::at_most(3.0, "≤ 3"), "");
        let server = self.start(&self.corpora.iter().collect::<Vec<_>>(), folder, "").await?;
        self.storm(&server, "after a restart", report).await?;
        server.stop().await;
        Ok(())
    }

    /// Three idle language servers in each of many small workspaces.
    async fn idle_servers(&self, report: &mut Report) -> Result<(), Failure> {
        let mut mixed = Vec::new();
        for number in 0..self.corpora.len() {
            for mut corpus in Corpus::generated_mixed(FILES, USES, &self.bench.scratch)? {
                corpus.name = format!("mixed-{number}");
                mixed.push(corpus);
            }
        }
        let folder = self.bench.scratch.folder("served")?;
        let server = self.start(&mixed.iter().collect::<Vec<_>>(), &folder, "").await?;
        eprintln!("  starting {} language servers", mixed.len());
        let first_questions = futures::future::try_join_all(mixed.iter().map(async |corpus| {
            let mut client = server.client(corpus).await?;
            let asked = client.ask_with_retry(&BenchQuestion::Definition(corpus.use_at(0, 0))).await;
            asked.map_err(|why| Failure::new(format!("{}: {why}", corpus.name)))
        }));
        let (_, observed) = observe(&server, first_questions).await?;
        let servers = server.tree()?.servers.len();
        let what = format!("{} workspaces, {servers} language servers", self.corpora.len());
        let slowest = observed.listing_ms.iter().copied().fold(0.0, f64::max);
        let target = Target::at_most(1_000.0, "≤ 1 s");
        let listing = format!("{what}: while they start, the list of workspaces, the slowest, ms");
        self.add(report, listing, None, slowest, target, format!("{} lists", observed.listing_ms.len()));
        let share = idle_share(&server).await?;
        let target = Target::at_most(1.0, "≤ 1 %");
        self.add(
            report,
            format!("{what}: idle processor share of codeyard and its guards, %"),
            None,
            share,
            target,
            "",
        );
        let own = mib(server.tree()?.own_memory());
        self.add(report, format!("{what}: memory of codeyard and its guards, MiB"), None, own, None, "");
        let began = Instant::now();
        server.stop().await;
        let target = Target::at_most(3.0, "≤ 3");
        self.add(report, format!("{what}: SIGTERM to the exit, s"), None, began.elapsed().as_secs_f64(), target, "");
        Ok(())
    }

    /// A storm under a memory budget.
    async fn budget(&self, folder: &Path, report: &mut Report) -> Result<(), Failure> {
        let more = format!("[supervision]\nmemory_budget_mib = {BUDGET_MIB}\n");
        let server = self.start(&self.corpora.iter().collect::<Vec<_>>(), folder, &more).await?;
        let observed = self.storm(&server, "with a budget of 2 GiB", report).await?;
        let target = Target::at_most(BUDGET_MIB * 1.1, "≤ 1.1 × the budget");
        let what = "with a budget of 2 GiB: largest memory of the language servers, MiB";
        self.add(report, what, None, mib(observed.server_memory), target, "");
        server.stop().await;
        Ok(())
    }

    /// Many registered workspaces, few of them used.
    async fn registered(&self, report: &mut Report) -> Result<(), Failure> {
        let language = Language { kind: "ty", endings: &["py"], id: "python" };
        let mut others = Vec::new();
        for number in self.corpora.len()..REGISTERED {
            let mut other = Corpus::generated(language, FILES, USES, &self.bench.scratch)?;
            other.name = format!("registered-{number}");
            others.push(other);
        }
        let all: Vec<&Corpus> = self.corpora.iter().chain(&others).collect();
        let folder = self.bench.scratch.folder("served")?;
        let server = self.start(&all, &folder, "").await?;
        let used = self.corpora.len().min(USED);
        let agents = self.plan.agents.iter().filter(|agent| agent.corpus < used).cloned().collect();
        let plan = FleetPlan { agents, bare: self.plan.bare };
        let (outcome, _) = observe(&server, storm(&server, &self.corpora, &plan)).await?;
        let what = format!("{REGISTERED} registered workspaces, {used} used");
        self.right(report, &what, &outcome);
        let share = idle_share(&server).await?;
        let target = Target::at_most(1.0, "≤ 1 %");
        self.add(report, format!("{what}: idle processor share of codeyard, %"), None, share, target, "");
        let own = mib(server.tree()?.own_memory());
        self.add(report, format!("{what}: memory of codeyard and its guards, MiB"), None, own, None, "");
        server.stop().await;
        Ok(())
    }

    async fn start(&self, corpora: &[&Corpus], folder: &Path, more: &str) -> Result<CodeyardServer, Failure> {
        CodeyardServer::start(corpora, &self.bench.installer, folder, more, &[]).await
    }

    /// Indexes all repositories, one after another.
    async fn first_indexes(&self, server: &CodeyardServer, report: &mut Report) -> Result<(), Failure> {
        eprintln!("  first indexes");
        let began = Instant::now();
        for corpus in &self.corpora {
            let mut client = server.client_of(corpus, "code").await?;
            client.until_indexed().await.map_err(|why| Failure::new(format!("{}: {why}", corpus.name)))?;
        }
        let notes = format!("{:.0} s", began.elapsed().as_secs_f64());
        tokio::time::sleep(SETTLES_WITHIN).await;
        let what = format!("memory of codeyard itself after {} first indexes, MiB", self.corpora.len());
        let own = mib(server.tree()?.own_memory());
        self.add(report, what, None, own, Target::at_most(150.0, "≤ 150"), notes);
        Ok(())
    }

    /// Runs all agents, and adds the figures.
    async fn storm(&self, server: &CodeyardServer, when: &str, report: &mut Report) -> Result<Observed, Failure> {
        eprintln!("  storm: {when}");
        let (outcome, observed) = observe(server, storm(server, &self.corpora, &self.plan)).await?;
        self.right(report, when, &outcome);
        let what = format!("{when}: calls that reported a failed start");
        self.add(report, what, None, precise(outcome.failed_starts), Target::at_most(0.0, "0"), "");
        let target = Target::at_most(DEADLINE_MS + LATE_MS, "≤ the deadline + 100 ms");
        let what = format!("{when}: the longest call, ms");
        let (longest, asked) = &outcome.longest;
        let notes = format!("{asked}; {} of {} calls were later", outcome.late, outcome.calls.len());
        self.add(report, what, None, longest.as_secs_f64() * 1e3, target, notes);
        if !outcome.searches.is_empty() {
            let target = Target::at_most(300.0, "≤ 300 ms");
            self.add(report, format!("{when}: search_code, p99 ms"), None, outcome.searches.ms(99.0), target, "");
        }
        let bare = self.plan.bare.took.as_secs_f64();
        let target =
            Target::at_most(bare * 1.5, "≤ 1.5 × the bare servers one after another").filter(|_| when == "cold");
        let what = format!("{when}: all agents done, s");
        let partial = self.plan.bare.answered.as_secs_f64();
        let notes = format!("last: {}; bare servers without their index {partial:.1} s", outcome.last(SHOWN_AGENTS));
        self.add(report, what, Some(bare), outcome.took.as_secs_f64(), target, notes);
        let slowest = observed.listing_ms.iter().copied().fold(0.0, f64::max);
        let what = format!("{when}: the list of workspaces, the slowest, ms");
        let notes = format!("{} lists", observed.listing_ms.len());
        self.add(report, what, None, slowest, Target::at_most(1_000.0, "≤ 1 s"), notes);
        let what = format!("{when}: workspaces listed as not answering");
        let count = precise(observed.not_answering as u64);
        self.add(report, what, None, count, Target::at_most(0.0, "0"), "");
        let notes = format!("{} language servers at most", observed.servers);
        let what = format!("{when}: largest memory of the language servers, MiB");
        self.add(report, what, None, mib(observed.server_memory), None, notes);
        Ok(observed)
    }

    fn right(&self, report: &mut Report, when: &str, outcome: &StormOutcome) {
        let share = 100.0 * precise(outcome.right) / precise(outcome.asked.max(1));
        let notes = format!("{} questions, {} retries as advised", outcome.asked, outcome.retries);
        let what = format!("{when}: right answers after retries, %");
        self.add(report, what, None, share, Target::at_least(100.0, "100"), notes);
        for failure in outcome.failures.iter().take(SHOWN_FAILURES) {
            eprintln!("    {failure}");
        }
        let wrong = outcome.failures.iter().filter(|failure| failure.contains(": wrong: ")).count();
        let shown: Vec<String> = outcome.failures.iter().take(SHOWN_FAILURES).cloned().collect();
        report.add_compared(outcome.asked, wrong as u64, &shown);
    }

    fn add(
        &self,
        report: &mut Report,
        what: impl Into<String>,
        bare: Option<f64>,
        codeyard: f64,
        target: Option<Target>,
        notes: impl Into<String>,
    ) {
        report.add(figure(&self.name, Scenario::Fleet, what, bare, codeyard, target, notes));
    }
}

/// The processor share of an idle server without its language servers, in percent of one core.
async fn idle_share(server: &CodeyardServer) -> Result<f64, Failure> {
    tokio::time::sleep(SETTLES_WITHIN).await;
    let began = Instant::now();
    let before = own_processor_s(server)?;
    tokio::time::sleep(IDLE).await;
    Ok(100.0 * (own_processor_s(server)? - before) / began.elapsed().as_secs_f64())
}
