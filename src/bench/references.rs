//! Long lists: the first page, the further ones, and the memory that their snapshots leave.

use std::time::Duration;

use serde_json::{Value, json};

use super::args::Scenario;
use super::bare::Bare;
use super::canonical::{Judge, Verdict};
use super::corpus::Corpus;
use super::pair::Pair;
use super::process::Tree;
use super::questions::{Ask, At, places_of, words_near};
use super::report::{Report, Target};
use super::served::{Client, Served};
use super::stats::{Times, median, mib};
use super::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Sizes of lists that are looked for, and which counts will do.
const SIZES: [(usize, std::ops::Range<usize>); 2] = [(80, 55..130), (1_200, 700..2_500)];
/// Symbols that are tried for each size.
const TRIES: usize = 25;
/// Questions for each size, each at another place where a symbol is used.
const QUESTIONS: usize = 40;
/// Symbols that they are about, the most.
const SYMBOLS: usize = 4;
/// Questions about the generated tree.
const LARGE: usize = 15;
/// The generated tree: so many files, so many uses in each, the import counted.
const USERS: usize = 200;
const USES: usize = 98;
/// Snapshots of the largest lists that are let expire.
const SNAPSHOTS: usize = 100;
/// Seconds that they live in this scenario.
const TTL_S: u64 = 2;
/// Longest wait until they are gone.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// Times of both sides and the pages.
#[derive(Default)]
struct Lists {
    bare: Vec<f64>,
    first: Vec<f64>,
    further: Times,
    /// How many hits, for a person.
    hits: String,
    compared: u64,
    wrong: Vec<String>,
    errors: Vec<String>,
}

impl Lists {
    fn tell(&self, corpus: &Corpus, scenario: Scenario, report: &mut Report, bound: impl Fn(f64) -> Option<Target>) {
        report.judged(self.compared, self.wrong.len() as u64, &self.wrong);
        if self.first.is_empty() {
            return report.left_out(format!("references with {} hits: {}", self.hits, self.errors.join("; ")));
        }
        let (bare, first) = (median(self.bare.clone()), median(self.first.clone()));
        let mut notes = format!("{} questions", self.first.len());
        if !self.errors.is_empty() {
            notes.push_str(&format!(", {} errors: {}", self.errors.len(), self.errors[0]));
        }
        let what = format!("references, {} hits, first page, p50 ms", self.hits);
        report.add(figure(corpus, scenario, what, (Some(bare), first), bound(bare), notes));
        if !self.further.is_empty() {
            let notes = format!("{} pages, p50 {:.3} ms", self.further.len(), self.further.ms(50.0));
            let what = format!("references, {} hits, further pages, p99 ms", self.hits);
            let values = (None, self.further.ms(99.0));
            report.add(figure(corpus, scenario, what, values, Target::at_most(1.0, "≤ 1 ms each"), notes));
        }
    }

    /// Asks both the same, one after the other, and follows codeyard's pages.
    async fn ask(&mut self, bare: &Bare, client: &mut Client, judge: &Judge, ask: &Ask, bare_first: bool) {
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
        match judge.compare(ask, &right, &body) {
            Verdict::Failed(code) => return self.errors.push(code),
            Verdict::Different(how) => self.wrong.push(format!("{ask:?}: {how}")),
            Verdict::Same | Verdict::Incomparable => {}
        }
        self.compared += 1;
        self.bare.push(bare_ms);
        self.first.push(ours.1);
        let total = judge.count(&right);
        match self.follow(client, ask, &body).await {
            Ok(found) if found != total => self.wrong.push(format!("{ask:?}: {found} of {total} over all pages")),
            Ok(_) => {}
            Err(why) => self.errors.push(why),
        }
    }

    /// All further pages; how many entries there were on all.
    async fn follow(&mut self, client: &mut Client, ask: &Ask, first: &[u8]) -> Result<usize, String> {
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

/// Symbols of the repository with many uses.
pub(crate) async fn pages(bench: &Bench, pair: &mut Pair, report: &mut Report) -> Result<(), Failure> {
    let mut client = pair.served.client(&pair.corpus).await?;
    for (wanted, range) in SIZES {
        let found = find(bench, pair, &mut client, wanted, &range).await;
        let counts = || found.iter().map(|(_, hits)| *hits);
        let (Some(least), Some(most)) = (counts().min(), counts().max()) else {
            report.left_out(format!("references with about {wanted} hits: the repository has no such symbol"));
            continue;
        };
        let hits = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let mut lists = Lists { hits, ..Lists::default() };
        let mut began = Duration::ZERO;
        for (at, place) in found.iter().flat_map(|(at, _)| uses(pair, at)) {
            if lists.first.len() >= QUESTIONS || began > bench.time() * 6 {
                break;
            }
            let asked = Instant::now();
            if same_thing(pair, &mut client, at, &place).await {
                let bare_first = lists.first.len().is_multiple_of(2);
                lists.ask(&pair.bare, &mut client, &pair.judge, &Ask::References(place), bare_first).await;
            }
            began += asked.elapsed();
        }
        lists.tell(&pair.corpus, Scenario::References, report, |bare| Target::at_most(bare * 1.1, "≤ 1.1 × bare"));
    }
    Ok(())
}

/// Places where what stands at `at` seems to be used, one in each file.
fn uses<'a>(pair: &Pair, at: &'a At) -> Vec<(&'a At, At)> {
    let mut places = places_of(&pair.corpus.files, at);
    places.dedup_by(|a, b| a.path == b.path);
    places.into_iter().filter(|place| place != at).map(|place| (at, place)).collect()
}

/// The first symbols whose references are so many, and their number. Both sides are asked: what a server learns from it, both
/// have learnt.
async fn find(
    bench: &Bench,
    pair: &Pair,
    client: &mut Client,
    wanted: usize,
    range: &std::ops::Range<usize>,
) -> Vec<(At, usize)> {
    let (began, mut found) = (Instant::now(), Vec::new());
    for at in words_near(&pair.corpus.files, wanted).into_iter().take(TRIES) {
        if began.elapsed() > bench.time() * 8 || found.len() >= SYMBOLS {
            break;
        }
        let ask = Ask::References(at.clone());
        let (Ok(answer), Ok(_)) = (pair.bare.ask(&ask).await, client.ask_patiently(&ask).await) else { continue };
        let hits = pair.judge.count(&answer);
        if range.contains(&hits) {
            found.push((at, hits));
        }
    }
    found
}

/// The largest lists there may be, and what they leave.
pub(crate) async fn snapshots(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let tree = Corpus::generated(corpus.language, USERS, USES, &bench.scratch)?;
    let (cache, folder) = (bench.scratch.folder("bare")?, bench.scratch.folder("served")?);
    let limits = format!("[limits]\nsnapshot_ttl_s = {TTL_S}\n");
    let bare = Bare::start(tree.language, &tree.root, &bench.installer, &cache).await?;
    let served = Served::start(&[&tree], &bench.installer, &folder, &limits, &[]).await?;
    let judge = Judge::new(&tree.root);
    let mut client = served.client(&tree).await?;
    let first = Ask::References(tree.hub());
    bare.ask(&first).await.map_err(Failure::new)?;
    bare.settle().await;
    let warm = bare.ask(&first).await.map_err(Failure::new)?;
    let (answer, _) = client.ask_patiently(&first).await.map_err(Failure::new)?;
    let mut lists = Lists { hits: judge.count(&warm).to_string(), ..Lists::default() };
    if let Verdict::Failed(code) = judge.compare(&first, &warm, &answer) {
        lists.errors.push(code);
    }
    let began = Instant::now();
    for number in 0..LARGE.min(bench.args.calls) {
        if began.elapsed() > bench.time() * 6 {
            break;
        }
        let ask = Ask::References(tree.use_at(number, 0));
        lists.ask(&bare, &mut client, &judge, &ask, number % 2 == 0).await;
    }
    let words = "≤ bare + 60 ms";
    let mut named = tree.clone();
    named.name.clone_from(&corpus.name);
    lists.tell(&named, Scenario::Snapshots, report, |bare| Target::at_most(bare + 60.0, words));
    bare.stop().await;
    expire(bench, &named, &served, &mut client, report).await?;
    served.stop().await;
    Ok(())
}

/// Has many of the largest snapshots made, waits until they have expired, and looks at what is left.
async fn expire(
    bench: &Bench,
    tree: &Corpus,
    served: &Served,
    client: &mut Client,
    report: &mut Report,
) -> Result<(), Failure> {
    let before = lowest(served, u64::MAX).await?;
    let (mut peak, mut made, began) = (0, 0, Instant::now());
    for number in 0..SNAPSHOTS.min(bench.args.calls) {
        if began.elapsed() > bench.time() * 10 {
            break;
        }
        let ask = Ask::References(tree.use_at(number % USERS, 1 + number / USERS));
        let said = client.ask(&ask).await.map_err(Failure::new)?;
        made += usize::from(page(&said).is_ok());
        peak = peak.max(memory(served)?);
    }
    let allowed = before + before / 10;
    let after = lowest(served, allowed).await?;
    let notes = format!("{:.1} MiB before, at most {:.1} MiB", mib(before), mib(peak));
    let target = Target::at_most(mib(allowed), "≤ 1.1 × before");
    let what = format!("memory after {made} of the largest snapshots, MiB");
    report.add(figure(tree, Scenario::Snapshots, what, (None, mib(after)), target, notes));
    Ok(())
}

/// Codeyard's own memory once it is no more than `enough`, or the least seen until the snapshots must have gone.
async fn lowest(served: &Served, enough: u64) -> Result<u64, Failure> {
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

fn memory(served: &Served) -> Result<u64, Failure> {
    served.tree().map(|tree: Tree| tree.own_memory())
}

/// Whether both places name the same thing. Both sides are asked, so that both have read the file.
async fn same_thing(pair: &Pair, client: &mut Client, one: &At, other: &At) -> bool {
    let (one, other) = (Ask::Definition(one.clone()), Ask::Definition(other.clone()));
    let (Ok(first), Ok(second)) = (pair.bare.ask(&one).await, pair.bare.ask(&other).await) else { return false };
    let read = client.ask_patiently(&other).await.is_ok();
    read && pair.judge.places(&first) == pair.judge.places(&second)
}

/// How many entries a page has, and its cursor.
fn page(body: &[u8]) -> Result<(usize, Option<String>), String> {
    let said: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let content = &said["result"]["structuredContent"];
    let items = content["items"].as_array().ok_or_else(|| said["error"]["message"].to_string())?;
    Ok((items.len(), content["nextCursor"].as_str().map(str::to_owned)))
}

async fn timed<T>(doing: impl Future<Output = T>) -> (T, f64) {
    let began = Instant::now();
    let done = doing.await;
    (done, began.elapsed().as_secs_f64() * 1e3)
}
