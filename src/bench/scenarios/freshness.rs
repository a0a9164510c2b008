//! The scenario `freshness`: time until answers show changes on disk. Uses a generated repository, because it writes files.

use std::time::Duration;

use serde_json::Value;

use crate::args::Scenario;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::corpus::{self, Corpus};
use crate::questions::BenchQuestion;
use crate::report::{Report, Target};
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Files of the generated repository, and uses of the symbol in each.
const USERS: usize = 20;
const USES: usize = 5;
/// Changes of each kind.
const CHANGES: usize = 10;
/// Longest time until a change shows, in milliseconds.
const SHOWN_WITHIN_MS: f64 = 1_000.0;
/// Longest wait for a change to show.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How long changes took to show, and how many showed in the first call.
#[derive(Default)]
struct ChangeTimes {
    longest_ms: f64,
    next_call: usize,
    changes: usize,
}

/// Measures edits and new files.
pub(crate) async fn freshness(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let tree = Corpus::generated(corpus.language, USERS, USES, &bench.scratch)?;
    let folder = bench.scratch.folder("served")?;
    let served = CodeyardServer::start(&[&tree], &bench.installer, &folder, "", &[]).await?;
    let mut client = served.client(&tree).await?;
    let declaration = BenchQuestion::References(tree.declaration());
    let mut hits = until(&mut client, &declaration, |count| count >= USERS * USES).await?.1;
    let mut edits = ChangeTimes::default();
    let mut added = ChangeTimes::default();
    for number in 0..CHANGES {
        let (file, text) = tree.user(&format!("use_{number:03}"), USES + 1);
        hits += 1;
        edits.change(&mut client, &declaration, hits, || corpus::write(&file, &text)).await?;
        let (file, text) = tree.user(&format!("new_{number:03}"), USES);
        // Some servers also count an import of the name.
        let one = (hits - number) / USERS;
        added.change(&mut client, &declaration, hits + USES.min(one), || corpus::write(&file, &text)).await?;
        hits = until(&mut client, &declaration, |_| true).await?.1;
    }
    served.stop().await;
    for (what, times) in [("an edit", edits), ("a new file", added)] {
        let notes = format!("{} of {} in the next call", times.next_call, times.changes);
        let what = format!("{what} shows in references, the longest, ms");
        let target = Target::at_most(SHOWN_WITHIN_MS, "the next call, or ≤ 1 s");
        report.add(figure(&corpus.name, Scenario::Freshness, what, None, times.longest_ms, target, notes));
    }
    Ok(())
}

impl ChangeTimes {
    /// Makes a change and asks until there are at least `hits` hits.
    async fn change(
        &mut self,
        client: &mut McpHttpClient,
        ask: &BenchQuestion,
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

/// Asks until the number of hits is accepted. Returns the number of calls and of hits.
async fn until(
    client: &mut McpHttpClient,
    ask: &BenchQuestion,
    will_do: impl Fn(usize) -> bool,
) -> Result<(usize, usize), Failure> {
    let began = Instant::now();
    for calls in 1.. {
        let (body, _) = client.ask_with_retry(ask).await.map_err(Failure::new)?;
        let count = total(&body);
        if will_do(count) {
            return Ok((calls, count));
        }
        if began.elapsed() > TIMEOUT {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Err(Failure::new(format!("a change on disk did not show within {} s", TIMEOUT.as_secs())))
}

/// Number of hits on all pages: from the summary, else the size of the only page.
fn total(body: &[u8]) -> usize {
    let actual: Value = serde_json::from_slice(body).unwrap_or_default();
    let content = &actual["result"]["structuredContent"];
    let summary = content["summary"].as_str().unwrap_or_default();
    let description = summary
        .split(". ")
        .find_map(|sentence| sentence.strip_suffix(" in total.").or(sentence.strip_suffix(" in total")));
    let page = content["items"].as_array().map_or(0, Vec::len);
    description.and_then(|number| number.parse().ok()).unwrap_or(page)
}
