//! Many clients and few language servers: what runs, and what memory it takes.

use std::time::Duration;

use super::args::Scenario;
use super::bare::Bare;
use super::canonical::{Judge, Verdict};
use super::corpus::Corpus;
use super::pair::{Sample, ask_served};
use super::questions::{Ask, Deck};
use super::report::{Report, Target};
use super::served::Served;
use super::stats::{Times, mib, precise};
use super::{Bench, figure};
use codeyard_cli::Failure;

/// Numbers of clients.
const CLIENTS: [usize; 4] = [1, 2, 4, 16];
/// Questions of each client; all ask the same.
const QUESTIONS: usize = 60;
/// What codeyard itself may take beside the language server, in MiB.
const OWN_MIB: f64 = 40.0;
/// The tree that stands for a second repository.
const USERS: usize = 10;
const USES: usize = 10;

/// One codeyard with some clients.
struct Shared {
    servers: usize,
    own: u64,
    all: u64,
    errors: u64,
}

/// The same questions by 1, 2, 4 and 16 clients.
pub(crate) async fn sharing(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let mut deck = Deck::new(corpus, bench.args.seed.wrapping_add(2));
    let asks: Vec<Ask> = (0..QUESTIONS).map_while(|_| deck.definition()).collect();
    let cache = bench.scratch.folder("bare")?;
    let bare = Bare::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
    for ask in &asks {
        bare.ask(ask).await.map_err(Failure::new)?;
    }
    bare.settle().await;
    let alone = bare.memory();
    bare.stop().await;
    let mut one: Option<Shared> = None;
    for clients in CLIENTS {
        let shared = shared(bench, corpus, &asks, clients).await?;
        let first = one.get_or_insert(Shared { ..shared });
        let scenario = Scenario::Sharing;
        let what = format!("{clients} clients: language servers");
        let notes = format!("{} errors", shared.errors);
        let values = (None, shared.servers as f64);
        report.add(figure(corpus, scenario, what, values, Target::at_most(1.0, "1"), notes));
        let target = Target::at_most(mib(first.all) * 1.05, "≤ 1.05 × that of one client").filter(|_| clients == 4);
        let what = format!("{clients} clients: memory of all processes, MiB");
        report.add(figure(corpus, scenario, what, (Some(mib(alone)), mib(shared.all)), target, ""));
        let target = Target::at_most(OWN_MIB, "≤ 40");
        let what = format!("{clients} clients: memory of codeyard itself, MiB");
        report.add(figure(corpus, scenario, what, (None, mib(shared.own)), target, ""));
    }
    Ok(())
}

async fn shared(bench: &Bench, corpus: &Corpus, asks: &[Ask], clients: usize) -> Result<Shared, Failure> {
    let folder = bench.scratch.folder("served")?;
    let served = Served::start(&[corpus], &bench.installer, &folder, "", &[]).await?;
    let mut connections = served.clients(corpus, clients).await?;
    if let (Some(client), Some(ask)) = (connections.first_mut(), asks.first()) {
        client.ask_patiently(ask).await.map_err(Failure::new)?;
    }
    let (mut times, mut errors) = (Times::default(), 0);
    let all: Vec<Ask> = asks.iter().flat_map(|ask| std::iter::repeat_n(ask.clone(), clients)).collect();
    let samples = ask_served(&mut connections, &all, &mut Duration::default()).await;
    samples.iter().for_each(|sample: &Sample| sample.add_to(&mut times, &mut errors));
    // What indexing takes for a moment isn't what is kept.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let tree = served.tree()?;
    let (own, servers) = (tree.own_memory(), tree.servers.len());
    let all = own + tree.server_memory();
    served.stop().await;
    Ok(Shared { servers, own, all, errors })
}

/// Two repositories, each with two clients.
pub(crate) async fn repositories(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let other = Corpus::generated(corpus.language, USERS, USES, &bench.scratch)?;
    let folder = bench.scratch.folder("served")?;
    let served = Served::start(&[corpus, &other], &bench.installer, &folder, "", &[]).await?;
    let mut deck = Deck::new(corpus, bench.args.seed.wrapping_add(3));
    let Some(first) = deck.definition() else {
        report.left_out("two repositories: nothing to ask".to_owned());
        return Ok(());
    };
    let (mut right, mut asked) = (0u64, 0u64);
    for (corpus, ask) in [(corpus, first), (&other, Ask::Definition(other.use_at(0, 0)))] {
        let cache = bench.scratch.folder("bare")?;
        let bare = Bare::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
        bare.ask(&ask).await.map_err(Failure::new)?;
        bare.settle().await;
        let expected = bare.ask(&ask).await.map_err(Failure::new)?;
        bare.stop().await;
        let judge = Judge::new(&corpus.root);
        for mut client in served.clients(corpus, 2).await? {
            let (said, _) = client.ask_patiently(&ask).await.map_err(Failure::new)?;
            asked += 1;
            right += u64::from(judge.compare(&ask, &expected, &said) == Verdict::Same);
        }
    }
    let servers = served.tree()?.servers.len();
    served.stop().await;
    report.judged(asked, asked - right, &[]);
    let scenario = Scenario::Repositories;
    let what = "two repositories, two clients each: language servers";
    report.add(figure(corpus, scenario, what, (None, servers as f64), Target::at_most(2.0, "2"), ""));
    let what = "two repositories, two clients each: right answers";
    report.add(figure(corpus, scenario, what, (None, precise(right)), Target::at_least(4.0, "4"), ""));
    Ok(())
}
