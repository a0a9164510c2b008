//! The scenarios `references` and `snapshots`: the first and further pages of long lists, and the memory after their snapshots expired.

use std::time::Duration;

use serde_json::{Value, json};

use crate::args::Scenario;
use crate::bare_server::BareServer;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::compare::{AnswerComparer, Comparison};
use crate::corpus::Corpus;
use crate::pair::ServerPair;
use crate::process::CodeyardProcesses;
use crate::questions::{BenchQuestion, SourcePosition, places_of, words_near};
use crate::report::{Report, Target};
use crate::stats::{CallTimes, median, mib};
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Wanted numbers of hits, each with the accepted range.
const SIZES: [(usize, std::ops::Range<usize>); 2] = [(80, 55..130), (1_200, 700..2_500)];
/// Most symbols that are tried for each size.
const TRIES: usize = 25;
/// Questions for each size, each at another use of a symbol.
const QUESTIONS: usize = 40;
/// Most symbols for each size.
const SYMBOLS: usize = 4;
/// Questions about the generated repository.
const LARGE: usize = 15;
/// Files of the generated repository, and uses of the symbol in each, including the import.
const USERS: usize = 200;
const USES: usize = 98;
/// Number of the largest snapshots that are created and expire.
const SNAPSHOTS: usize = 100;
/// Lifetime of snapshots in this scenario, in seconds.
const TTL_S: u64 = 2;
/// Longest wait for them to expire.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// Durations of both sides, first pages and further pages.
#[derive(Default)]
struct ListTimes {
    bare: Vec<f64>,
    first: Vec<f64>,
    further: CallTimes,
    /// Number of hits as text.
    hits: String,
    compared: u64,
    wrong: Vec<String>,
    errors: Vec<String>,
}

impl ListTimes {
    fn add_figures(
        &self,
        corpus: &Corpus,
        scenario: Scenario,
        report: &mut Report,
        bound: impl Fn(f64) -> Option<Target>,
    ) {
        report.add_compared(self.compared, self.wrong.len() as u64, &self.wrong);
        if self.first.is_empty() {
            return report.left_out(format!("references with {} hits: {}", self.hits, self.errors.join("; ")));
        }
        let bare = median(self.bare.clone());
        let first = median(self.first.clone());
        let mut notes = format!("{} questions", self.first.len());
        if !self.errors.is_empty() {
            notes.push_str(&format!(", {} errors: {}", self.errors.len(), self.errors[0]));
        }
        let what = format!("references, {} hits, first page, p50 ms", self.hits);
        report.add(figure(&corpus.name, scenario, what, Some(bare), first, bound(bare), notes));
        if !self.further.is_empty() {
            let notes = format!("{} pages, p50 {:.3} ms", self.further.len(), self.further.ms(50.0));
            let what = format!("references, {} hits, further pages, p99 ms", self.hits);
            let target = Target::at_most(1.0, "≤ 1 ms each");
            report.add(figure(&corpus.name, scenario, what, None, self.further.ms(99.0), target, notes));
        }
    }

    /// Asks both sides one after the other, then fetches all further pages of codeyard.
    async fn ask(
        &mut self,
        bare: &BareServer,
        client: &mut McpHttpClient,
        comparer: &AnswerComparer,
        ask: &BenchQuestion,
        bare_first: bool,
    ) {
        let mut right = None;
        if bare_first {
            right = Some(timed(bare.ask(ask)).await);
        }
        let ours = timed(client.ask(ask)).await;
        let (right, bare_ms) = match right {
            Some(right) => right,
            None => timed(bare.ask(ask)).await,
        };
        let (Ok(right), Ok(body)) = (right, ours.0) else {
            return self.errors.push("no answer".to_owned());
        };
        match comparer.compare(ask, &right, &body) {
            Comparison::Failed(code) => return self.errors.push(code),
            Comparison::Different(how) => self.wrong.push(format!("{ask:?}: {how}")),
            Comparison::Same | Comparison::Incomparable => {}
        }
        self.compared += 1;
        self.bare.push(bare_ms);
        self.first.push(ours.1);
        let total = comparer.count(&right);
        match self.follow(client, ask, &body).await {
            Ok(found) if found != total => self.wrong.push(format!("{ask:?}: {found} of {total} over all pages")),
            Ok(_) => {}
            Err(why) => self.errors.push(why),
        }
    }

    /// Fetches all further pages. Returns the number of entries on all pages.
    async fn follow(&mut self, client: &mut McpHttpClient, ask: &BenchQuestion, first: &[u8]) -> Result<usize, String> {
        let (tool, arguments) = ask.to_tool();
        let mut arguments: Value = serde_json::from_str(&arguments).map_err(|error| error.to_string())?;
        let (mut found, mut cursor) = page(first)?;
        while let Some(next) = cursor {
            arguments["cursor"] = json!(next);
            let text = arguments.to_string();
            let asked = Instant::now();
            let body = client.call(tool, &text).await?;
            self.further.add(asked.elapsed());
            let (more, after) = page(&body)?;
            found += more;
            cursor = after;
        }
        Ok(found)
    }
}

/// Measures references of symbols with many uses in the repository.
pub(crate) async fn pages(bench: &Bench, pair: &mut ServerPair, report: &mut Report) -> Result<(), Failure> {
    let mut client = pair.served.client(&pair.corpus).await?;
    for (wanted, range) in SIZES {
        let found = find(bench, pair, &mut client, wanted, &range).await;
        let counts = || found.iter().map(|(_, hits)| *hits);
        let (Some(least), Some(most)) = (counts().min(), counts().max()) else {
            report.left_out(format!("references with about {wanted} hits: the repository has no such symbol"));
            continue;
        };
        let hits = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let mut lists = ListTimes { hits, ..ListTimes::default() };
        let mut began = Duration::ZERO;
        for (at, place) in found.iter().flat_map(|(at, _)| uses(pair, at)) {
            if lists.first.len() >= QUESTIONS || began > bench.time() * 6 {
                break;
            }
            let asked = Instant::now();
            if same_thing(pair, &mut client, at, &place).await {
                let bare_first = lists.first.len().is_multiple_of(2);
                lists.ask(&pair.bare, &mut client, &pair.comparer, &BenchQuestion::References(place), bare_first).await;
            }
            began += asked.elapsed();
        }
        lists.add_figures(&pair.corpus, Scenario::References, report, |bare| {
            Target::at_most(bare * 1.1, "≤ 1.1 × bare")
        });
    }
    Ok(())
}

/// Positions with the same word as at `at`, one in each file.
fn uses<'a>(pair: &ServerPair, at: &'a SourcePosition) -> Vec<(&'a SourcePosition, SourcePosition)> {
    let mut places = places_of(&pair.corpus.files, at);
    places.dedup_by(|a, b| a.path == b.path);
    places.into_iter().filter(|place| place != at).map(|place| (at, place)).collect()
}

/// The first symbols with a number of references in `range`, and that number. Both sides are asked, so that both servers cache the
/// same data.
async fn find(
    bench: &Bench,
    pair: &ServerPair,
    client: &mut McpHttpClient,
    wanted: usize,
    range: &std::ops::Range<usize>,
) -> Vec<(SourcePosition, usize)> {
    let began = Instant::now();
    let mut found = Vec::new();
    for at in words_near(&pair.corpus.files, wanted).into_iter().take(TRIES) {
        if began.elapsed() > bench.time() * 8 || found.len() >= SYMBOLS {
            break;
        }
        let ask = BenchQuestion::References(at.clone());
        let (Ok(answer), Ok(_)) = (pair.bare.ask(&ask).await, client.ask_with_retry(&ask).await) else { continue };
        let hits = pair.comparer.count(&answer);
        if range.contains(&hits) {
            found.push((at, hits));
        }
    }
    found
}

/// Measures the largest possible lists and the memory after they expired.
pub(crate) async fn snapshots(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let tree = Corpus::generated(corpus.language, USERS, USES, &bench.scratch)?;
    let cache = bench.scratch.folder("bare")?;
    let folder = bench.scratch.folder("served")?;
    let limits = format!("[limits]\nsnapshot_ttl_s = {TTL_S}\n");
    let bare = BareServer::start(tree.language, &tree.root, &bench.installer, &cache).await?;
    let served = CodeyardServer::start(&[&tree], &bench.installer, &folder, &limits, &[]).await?;
    let comparer = AnswerComparer::new(&tree.root);
    let mut client = served.client(&tree).await?;
    let first = BenchQuestion::References(tree.declaration());
    bare.ask(&first).await.map_err(Failure::new)?;
    bare.wait_until_idle().await;
    let warm = bare.ask(&first).await.map_err(Failure::new)?;
    let (answer, _) = client.ask_with_retry(&first).await.map_err(Failure::new)?;
    let mut lists = ListTimes { hits: comparer.count(&warm).to_string(), ..ListTimes::default() };
    if let Comparison::Failed(code) = comparer.compare(&first, &warm, &answer) {
        lists.errors.push(code);
    }
    let began = Instant::now();
    for number in 0..LARGE.min(bench.args.calls) {
        if began.elapsed() > bench.time() * 6 {
            break;
        }
        let ask = BenchQuestion::References(tree.use_at(number, 0));
        lists.ask(&bare, &mut client, &comparer, &ask, number % 2 == 0).await;
    }
    let words = "≤ bare + 60 ms";
    let mut named = tree.clone();
    named.name.clone_from(&corpus.name);
    lists.add_figures(&named, Scenario::Snapshots, report, |bare| Target::at_most(bare + 60.0, words));
    bare.stop().await;
    expire(bench, &named, &served, &mut client, report).await?;
    served.stop().await;
    Ok(())
}

/// Creates many of the largest snapshots, waits until they have expired, and measures the remaining memory.
async fn expire(
    bench: &Bench,
    tree: &Corpus,
    served: &CodeyardServer,
    client: &mut McpHttpClient,
    report: &mut Report,
) -> Result<(), Failure> {
    let before = lowest(served, u64::MAX).await?;
    let mut peak = 0;
    let mut made = 0;
    let began = Instant::now();
    for number in 0..SNAPSHOTS.min(bench.args.calls) {
        if began.elapsed() > bench.time() * 10 {
            break;
        }
        let ask = BenchQuestion::References(tree.use_at(number % USERS, 1 + number / USERS));
        let actual = client.ask(&ask).await.map_err(Failure::new)?;
        made += usize::from(page(&actual).is_ok());
        peak = peak.max(memory(served)?);
    }
    let allowed = before + before / 10;
    let after = lowest(served, allowed).await?;
    let notes = format!("{:.1} MiB before, at most {:.1} MiB", mib(before), mib(peak));
    let target = Target::at_most(mib(allowed), "≤ 1.1 × before");
    let what = format!("memory after {made} of the largest snapshots, MiB");
    report.add(figure(&tree.name, Scenario::Snapshots, what, None, mib(after), target, notes));
    Ok(())
}

/// Memory of codeyard without language servers: once it is at most `enough`, else the lowest value until the timeout.
async fn lowest(served: &CodeyardServer, enough: u64) -> Result<u64, Failure> {
    let began = Instant::now();
    let mut least = u64::MAX;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        least = least.min(memory(served)?);
        let expired = began.elapsed() > Duration::from_secs(2 * TTL_S);
        if expired && least <= enough || began.elapsed() > GONE_WITHIN {
            return Ok(least);
        }
    }
}

fn memory(served: &CodeyardServer) -> Result<u64, Failure> {
    served.tree().map(|tree: CodeyardProcesses| tree.own_memory())
}

/// Whether both positions have the same definition. Both sides are asked, so that both have read the file.
async fn same_thing(
    pair: &ServerPair,
    client: &mut McpHttpClient,
    one: &SourcePosition,
    other: &SourcePosition,
) -> bool {
    let one = BenchQuestion::Definition(one.clone());
    let other = BenchQuestion::Definition(other.clone());
    let (Ok(first), Ok(second)) = (pair.bare.ask(&one).await, pair.bare.ask(&other).await) else { return false };
    let read = client.ask_with_retry(&other).await.is_ok();
    read && pair.comparer.places(&first) == pair.comparer.places(&second)
}

/// Number of entries of a page, and its cursor.
fn page(body: &[u8]) -> Result<(usize, Option<String>), String> {
    let actual: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let content = &actual["result"]["structuredContent"];
    let items = content["items"].as_array().ok_or_else(|| actual["error"]["message"].to_string())?;
    Ok((items.len(), content["nextCursor"].as_str().map(str::to_owned)))
}

async fn timed<T>(doing: impl Future<Output = T>) -> (T, f64) {
    let began = Instant::now();
    let done = doing.await;
    (done, began.elapsed().as_secs_f64() * 1e3)
}
