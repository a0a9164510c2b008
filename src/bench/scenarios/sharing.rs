//! The scenarios `sharing` and `repositories`: number of language servers and memory with several clients.

use std::time::Duration;

use crate::args::Scenario;
use crate::bare_server::BareServer;
use crate::codeyard_server::CodeyardServer;
use crate::compare::{AnswerComparer, Comparison};
use crate::corpus::Corpus;
use crate::pair::{CallSample, ask_served};
use crate::questions::{BenchQuestion, QuestionPool};
use crate::report::{Report, Target};
use crate::stats::{CallTimes, mib, precise};
use crate::{Bench, figure};
use codeyard_cli::Failure;

/// Numbers of clients.
const CLIENTS: [usize; 4] = [1, 2, 4, 16];
/// Questions of each client; all clients ask the same.
const QUESTIONS: usize = 60;
/// Allowed memory of codeyard without the language server, in MiB.
const OWN_MIB: f64 = 40.0;
/// Files of the generated second repository, and uses of the symbol in each.
const USERS: usize = 10;
const USES: usize = 10;

/// Usage of one codeyard server with some clients.
struct SharedUsage {
    servers: usize,
    own: u64,
    all: u64,
    errors: u64,
}

/// Measures the same questions with 1, 2, 4 and 16 clients.
pub(crate) async fn sharing(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let mut pool = QuestionPool::new(corpus, bench.args.seed.wrapping_add(2));
    let asks: Vec<BenchQuestion> = (0..QUESTIONS).map_while(|_| pool.definition()).collect();
    let cache = bench.scratch.folder("bare")?;
    let bare = BareServer::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
    for ask in &asks {
        bare.ask(ask).await.map_err(Failure::new)?;
    }
    bare.wait_until_idle().await;
    let alone = bare.memory();
    bare.stop().await;
    let mut one: Option<SharedUsage> = None;
    for clients in CLIENTS {
        let shared = shared(bench, corpus, &asks, clients).await?;
        let first = one.get_or_insert(SharedUsage { ..shared });
        let scenario = Scenario::Sharing;
        let what = format!("{clients} clients: language servers");
        let notes = format!("{} errors", shared.errors);
        let target = Target::at_most(1.0, "1");
        report.add(figure(&corpus.name, scenario, what, None, shared.servers as f64, target, notes));
        let target = Target::at_most(mib(first.all) * 1.05, "≤ 1.05 × that of one client").filter(|_| clients == 4);
        let what = format!("{clients} clients: memory of all processes, MiB");
        report.add(figure(&corpus.name, scenario, what, Some(mib(alone)), mib(shared.all), target, ""));
        let target = Target::at_most(OWN_MIB, "≤ 40");
        let what = format!("{clients} clients: memory of codeyard itself, MiB");
        report.add(figure(&corpus.name, scenario, what, None, mib(shared.own), target, ""));
    }
    Ok(())
}

async fn shared(
    bench: &Bench,
    corpus: &Corpus,
    asks: &[BenchQuestion],
    clients: usize,
) -> Result<SharedUsage, Failure> {
    let folder = bench.scratch.folder("served")?;
    let served = CodeyardServer::start(&[corpus], &bench.installer, &folder, "", &[]).await?;
    let mut connections = served.clients(corpus, clients).await?;
    if let (Some(client), Some(ask)) = (connections.first_mut(), asks.first()) {
        client.ask_with_retry(ask).await.map_err(Failure::new)?;
    }
    let mut times = CallTimes::default();
    let mut errors = 0;
    let all: Vec<BenchQuestion> = asks.iter().flat_map(|ask| std::iter::repeat_n(ask.clone(), clients)).collect();
    let samples = ask_served(&mut connections, &all, &mut Duration::default()).await;
    samples.iter().for_each(|sample: &CallSample| sample.add_to(&mut times, &mut errors));
    // Wait, so that temporary memory of indexing is freed.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let tree = served.tree()?;
    let own = tree.own_memory();
    let servers = tree.servers.len();
    let all = own + tree.server_memory();
    served.stop().await;
    Ok(SharedUsage { servers, own, all, errors })
}

/// Measures two repositories with two clients each.
pub(crate) async fn repositories(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let other = Corpus::generated(corpus.language, USERS, USES, &bench.scratch)?;
    let folder = bench.scratch.folder("served")?;
    let served = CodeyardServer::start(&[corpus, &other], &bench.installer, &folder, "", &[]).await?;
    let mut pool = QuestionPool::new(corpus, bench.args.seed.wrapping_add(3));
    let Some(first) = pool.definition() else {
        report.left_out("two repositories: the repository has no position to ask about".to_owned());
        return Ok(());
    };
    let mut right = 0u64;
    let mut asked = 0u64;
    for (corpus, ask) in [(corpus, first), (&other, BenchQuestion::Definition(other.use_at(0, 0)))] {
        let cache = bench.scratch.folder("bare")?;
        let bare = BareServer::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
        bare.ask(&ask).await.map_err(Failure::new)?;
        bare.wait_until_idle().await;
        let expected = bare.ask(&ask).await.map_err(Failure::new)?;
        bare.stop().await;
        let comparer = AnswerComparer::new(&corpus.root);
        for mut client in served.clients(corpus, 2).await? {
            let (actual, _) = client.ask_with_retry(&ask).await.map_err(Failure::new)?;
            asked += 1;
            right += u64::from(comparer.compare(&ask, &expected, &actual) == Comparison::Same);
        }
    }
    let servers = served.tree()?.servers.len();
    served.stop().await;
    report.add_compared(asked, asked - right, &[]);
    let scenario = Scenario::Repositories;
    let what = "two repositories, two clients each: language servers";
    report.add(figure(&corpus.name, scenario, what, None, servers as f64, Target::at_most(2.0, "2"), ""));
    let what = "two repositories, two clients each: right answers";
    report.add(figure(&corpus.name, scenario, what, None, precise(right), Target::at_least(4.0, "4"), ""));
    Ok(())
}
