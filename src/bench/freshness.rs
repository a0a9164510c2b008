//! Changes on disk, and when answers show them. It works on a tree made for it: nothing else may be written.

use std::time::Duration;

use serde_json::Value;

use super::args::Scenario;
use super::corpus::{self, Corpus};
use super::questions::Ask;
use super::report::{Report, Target};
use super::served::{Client, Served};
use super::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// The tree.
const USERS: usize = 20;
const USES: usize = 5;
/// Changes of each sort.
const CHANGES: usize = 10;
/// A change must show by then.
const SHOWN_WITHIN_MS: f64 = 1_000.0;
/// Longest wait for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a change took to show, and in which call.
#[derive(Default)]
struct Seen {
    longest_ms: f64,
    next_call: usize,
    changes: usize,
}

/// Edits, new files, deleted files.
pub(crate) async fn freshness(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let tree = Corpus::generated(corpus.language, USERS, USES, &bench.scratch)?;
    let folder = bench.scratch.folder("served")?;
    let served = Served::start(&[&tree], &bench.installer, &folder, "", &[]).await?;
    let mut client = served.client(&tree).await?;
    let hub = Ask::References(tree.hub());
    let mut hits = until(&mut client, &hub, |count| count >= USERS * USES).await?.1;
    let (mut edits, mut added) = (Seen::default(), Seen::default());
    for number in 0..CHANGES {
        let (file, text) = tree.user(&format!("use_{number:03}"), USES + 1);
        hits += 1;
        edits.change(&mut client, &hub, hits, || corpus::write(&file, &text)).await?;
        let (file, text) = tree.user(&format!("new_{number:03}"), USES);
        // An import of the name counts where the server says so.
        let one = (hits - number) / USERS;
        added.change(&mut client, &hub, hits + USES.min(one), || corpus::write(&file, &text)).await?;
        hits = until(&mut client, &hub, |_| true).await?.1;
    }
    served.stop().await;
    for (what, seen) in [("an edit", edits), ("a new file", added)] {
        let notes = format!("{} of {} in the next call", seen.next_call, seen.changes);
        let what = format!("{what} shows in references, the longest, ms");
        let target = Target::at_most(SHOWN_WITHIN_MS, "the next call, or ≤ 1 s");
        report.add(figure(corpus, Scenario::Freshness, what, (None, seen.longest_ms), target, notes));
    }
    Ok(())
}

impl Seen {
    /// Makes a change and asks until there are at least so many hits.
    async fn change(
        &mut self,
        client: &mut Client,
        ask: &Ask,
        hits: usize,
        change: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        change()?;
        let began = Instant::now();
        let (calls, _) = until(client, ask, |count| count >= hits).await?;
        self.changes += 1;
        self.next_call += usize::from(calls == 1);
        self.longest_ms = self.longest_ms.max(began.elapsed().as_secs_f64() * 1e3);
        Ok(())
    }
}

/// Asks until the number of hits will do: how many calls that took, and the number.
async fn until(client: &mut Client, ask: &Ask, will_do: impl Fn(usize) -> bool) -> Result<(usize, usize), Failure> {
    let began = Instant::now();
    for calls in 1.. {
        let (body, _) = client.ask_patiently(ask).await.map_err(Failure::new)?;
        let count = total(&body);
        if will_do(count) {
            return Ok((calls, count));
        }
        if began.elapsed() > PATIENCE {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Err(Failure::new(format!("a change on disk didn't show in {} s", PATIENCE.as_secs())))
}

/// How many hits there are over all pages: the summary tells, or the page is all.
fn total(body: &[u8]) -> usize {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let content = &said["result"]["structuredContent"];
    let summary = content["summary"].as_str().unwrap_or_default();
    let told = summary
        .split(". ")
        .find_map(|sentence| sentence.strip_suffix(" in total.").or(sentence.strip_suffix(" in total")));
    let page = content["items"].as_array().map_or(0, Vec::len);
    told.and_then(|number| number.parse().ok()).unwrap_or(page)
}
