//! The scenario `runs`: launch runs of the sample, alone, fifty at once beside questions on another workspace, and with a thousand finished ones
//! in the store.
//!
//! The bare side is the same server without runs. It needs no repository.

mod client;
mod sample;
mod tool_times;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;

use self::client::RunClient;
use self::sample::LaunchSample;
use self::tool_times::ToolTimes;

use crate::args::Scenario;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::corpus::{self, Corpus, LANGUAGES};
use crate::process;
use crate::questions::{BenchQuestion, SeededRandom};
use crate::report::{Report, Target};
use crate::stats::{CallTimes, mib};
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_base::priority;
use codeyard_cli::Failure;
use codeyard_lsp::registry::Registry;
use codeyard_process::proc_tree;

/// Files of the workspace that questions are asked about, and uses of the symbol in each.
const FILES: usize = 200;
const USES: usize = 100;
/// Pause of the person between two questions.
const PAUSE: Duration = Duration::from_millis(5);
/// Pause between two measurements of memory.
const MEMORY_INTERVAL: Duration = Duration::from_millis(50);
/// Runs that are measured one after another.
const ALONE: u32 = 10;
/// Runs at once.
const TOGETHER: usize = 50;
/// Clients that make finished runs.
const WORKERS: usize = 4;
/// Lists that are read.
const LISTS: usize = 200;
/// Crashes.
const KILLS: usize = 5;
/// Events of a run after which the server is killed.
const KILLED_AFTER: usize = 40;
/// Longest wait for an event.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Measures launch runs.
pub(crate) async fn runs(bench: &Bench, report: &mut Report) -> Result<(), Failure> {
    corpus::ensure_installed(&bench.installer, &Registry::builtin(), "ty")?;
    let sample = LaunchSample::new(&bench.scratch).await?;
    if !sample.has_hugo {
        report.left_out("the build of the sample by Hugo, because there is no hugo on the PATH".to_owned());
    }
    let [language, ..] = LANGUAGES;
    let questions = Corpus::generated(language, FILES, USES, &bench.scratch)?;
    let files = corpus::sources(&corpus::files_below(&sample.library()), &language);
    let library = Corpus { name: "launch".to_owned(), root: sample.library(), language, files };
    let scene = Scene { bench, sample, questions, library };
    scene.alone(report).await?;
    scene.together(report).await?;
    scene.many(report).await
}

/// What all parts share.
struct Scene<'b> {
    bench: &'b Bench,
    sample: LaunchSample,
    questions: Corpus,
    library: Corpus,
}

impl Scene<'_> {
    async fn start(&self, folder: &Path, env: &[(&str, String)]) -> Result<CodeyardServer, Failure> {
        let corpora = [&self.questions, &self.library];
        CodeyardServer::start(&corpora, &self.bench.installer, folder, &self.sample.allowed(), env).await
    }

    async fn client(&self, server: &CodeyardServer) -> Result<RunClient, Failure> {
        Ok(RunClient(server.client_of(&self.library, "launch").await?))
    }

    /// One run after another: the parts of their time, and the times of starts.
    async fn alone(&self, report: &mut Report) -> Result<(), Failure> {
        let times = ToolTimes::new(self.bench.scratch.folder("tools")?, &["git", "hugo"])?;
        let folder = self.bench.scratch.folder("served")?;
        let server = self.start(&folder, &[("PATH", times.path())]).await?;
        let mut client = self.client(&server).await?;
        client.finish_one(&self.sample).await?;
        let git = times.of("git");
        let hugo = times.of("hugo");
        let mut all = CallTimes::default();
        let mut starts = CallTimes::default();
        for _ in 0..ALONE {
            let began = Instant::now();
            let run = client.start(&self.sample).await?;
            starts.add(began.elapsed());
            client.settle(&run).await?;
            all.add(began.elapsed());
        }
        let whole = all.ms(50.0);
        add(report, "one run: start to READY_FOR_PR, p50 ms", None, whole, None, format!("{ALONE} runs"));
        let mut rest = whole;
        for (name, before) in [("git", git), ("hugo", hugo)] {
            let after = times.of(name);
            let each = (after.ms - before.ms) / f64::from(ALONE);
            let notes = format!("{} starts a run", (after.starts - before.starts) / ALONE);
            rest -= each;
            add(report, format!("one run: of these in {name}, ms"), None, each, None, notes);
        }
        add(report, "one run: of these in codeyard, ms", None, rest, None, "the rest");
        let target = Target::at_most(20.0, "≤ 20");
        add(
            report,
            "one run: start acknowledged, the longest, ms",
            None,
            starts.ms(100.0),
            target,
            "after its event is durable",
        );
        server.stop().await;
        Ok(())
    }

    /// Runs at once, and questions about another workspace meanwhile.
    async fn together(&self, report: &mut Report) -> Result<(), Failure> {
        let folder = self.bench.scratch.folder("served")?;
        let server = self.start(&folder, &[]).await?;
        let mut hovers = Hovers::new(&self.questions, server.client(&self.questions).await?, self.bench.args.seed);
        hovers.warm_up().await?;
        let without = hovers.ask_until(|began| began.elapsed() >= self.bench.time()).await?;
        let idle = memory(server.process_id())?;
        let mut clients = Vec::new();
        let count = TOGETHER.min(self.bench.args.runs.max(2));
        for _ in 0..count {
            clients.push(self.client(&server).await?);
        }
        let begun = RefCell::new(CallTimes::default());
        let starts = RefCell::new(CallTimes::default());
        let done = Cell::new(false);
        let watch = MemoryWatch::start(server.process_id())?;
        let began = Instant::now();
        let log_of = |run: &str| folder.join("s/runs").join(run).join("events.ndjson");
        let work = async {
            let each = clients.iter_mut().map(async |client| {
                let began = Instant::now();
                let run = client.start(&self.sample).await?;
                starts.borrow_mut().add(began.elapsed());
                begun.borrow_mut().add(age(&log_of(&run)));
                client.settle(&run).await
            });
            let settled = futures::future::try_join_all(each).await;
            done.set(true);
            settled
        };
        let asked = hovers.ask_until(|_| done.get());
        let (settled, with) = tokio::join!(work, asked);
        let took = began.elapsed().as_secs_f64();
        let largest = watch.stop()?.max(idle);
        let settled = settled?.len();
        let with = with?;
        let name = format!("{count} runs at once");
        add(
            report,
            format!("{name}: all READY_FOR_PR, s"),
            None,
            took,
            None,
            format!("{settled} of {count}, no open issue"),
        );
        let target = Target::at_most(20.0, "≤ 20");
        let notes = "from the creation of its log with the first event, which is synchronised meanwhile";
        add(report, format!("{name}: start acknowledged, p50 ms"), None, begun.borrow().ms(50.0), target, notes);
        let whole = starts.borrow().ms(50.0);
        add(
            report,
            format!("{name}: the same from the request, p50 ms"),
            None,
            whole,
            None,
            "all started at the same time",
        );
        let target = Target::at_most(300.0, "≤ 300");
        let more = mib(largest.saturating_sub(idle));
        add(report, format!("{name}: memory over idle, MiB"), None, more, target, "with git and Hugo");
        for percentile in [50.0, 99.0] {
            let bare = without.ms(percentile);
            let here = with.ms(percentile);
            let target = Target::at_most(2.0 * bare, "≤ 2 × without runs").filter(|_| percentile > 90.0);
            let notes = format!("{} and {} calls", without.len(), with.len());
            add(
                report,
                format!("{name}: hover on another workspace, p{percentile} ms"),
                Some(bare),
                here,
                target,
                notes,
            );
        }
        server.stop().await;
        Ok(())
    }

    /// Lists and crashes with many finished runs in the store.
    async fn many(&self, report: &mut Report) -> Result<(), Failure> {
        let count = self.bench.args.runs;
        let folder = self.bench.scratch.folder("served")?;
        let mut server = self.start(&folder, &[]).await?;
        eprintln!("  making {count} finished runs");
        let left = Cell::new(count);
        let mut clients = Vec::new();
        for _ in 0..WORKERS.min(count) {
            clients.push(self.client(&server).await?);
        }
        let work = clients.iter_mut().map(async |client| {
            while left.get() > 0 {
                left.set(left.get() - 1);
                client.finish_one(&self.sample).await?;
            }
            Ok::<(), Failure>(())
        });
        futures::future::try_join_all(work).await?;
        drop(clients);
        let mut client = self.client(&server).await?;
        let mut times = CallTimes::default();
        for _ in 0..LISTS {
            let began = Instant::now();
            client.call("launch_list_runs", &json!({}).to_string()).await?;
            times.add(began.elapsed());
        }
        let target = Target::at_most(10.0, "≤ 10");
        let notes = format!("{LISTS} calls, the first page");
        add(report, format!("{count} finished runs: list, p50 ms"), None, times.ms(50.0), None, notes);
        add(report, format!("{count} finished runs: list, p99 ms"), None, times.ms(99.0), target, "");
        let mut longest: f64 = 0.0;
        for _ in 0..KILLS {
            let run = self.client(&server).await?.start(&self.sample).await?;
            let log = folder.join("s/runs").join(&run).join("events.ndjson");
            lines_after(&log, KILLED_AFTER).await?;
            let serve = server.tree()?.serve;
            process::kill(serve);
            process::wait_until_gone(proc_tree::identity(serve).into_iter().collect()).await;
            server.stop().await;
            let before = lines(&log);
            let began = Instant::now();
            server = self.start(&folder, &[]).await?;
            lines_after(&log, before).await?;
            longest = longest.max(began.elapsed().as_secs_f64());
            self.client(&server).await?.settle(&run).await?;
        }
        let target = Target::at_most(1.0, "≤ 1");
        let notes = format!("{KILLS} times; from the start of the process to the run's next event");
        add(
            report,
            format!("{count} finished runs: resumed after kill -9, the longest, s"),
            None,
            longest,
            target,
            notes,
        );
        server.stop().await;
        Ok(())
    }
}

/// A person who asks about the other workspace.
struct Hovers {
    client: McpHttpClient,
    questions: Vec<BenchQuestion>,
    asked: usize,
}

impl Hovers {
    fn new(corpus: &Corpus, client: McpHttpClient, seed: u64) -> Self {
        let all = (0..FILES).flat_map(|file| (0..USES).map(move |nth| (file, nth)));
        let mut questions: Vec<BenchQuestion> =
            all.map(|(file, nth)| BenchQuestion::Hover(corpus.use_at(file, nth))).collect();
        SeededRandom::new(seed).shuffle(&mut questions);
        Self { client, questions, asked: 0 }
    }

    /// Asks until the language server is ready.
    async fn warm_up(&mut self) -> Result<(), Failure> {
        let question = self.next()?;
        self.client.ask_with_retry(&question).await.map(drop).map_err(Failure::new)
    }

    fn next(&mut self) -> Result<BenchQuestion, Failure> {
        let question = self.questions.get(self.asked).cloned();
        self.asked += 1;
        question.ok_or_else(|| Failure::new("there are no further questions; choose fewer --seconds"))
    }

    /// Asks new questions until it is enough.
    async fn ask_until(&mut self, is_enough: impl Fn(Instant) -> bool) -> Result<CallTimes, Failure> {
        let mut times = CallTimes::default();
        let began = Instant::now();
        while !is_enough(began) {
            let question = self.next()?;
            let asked = Instant::now();
            let body = self.client.ask(&question).await.map_err(Failure::new)?;
            times.add(asked.elapsed());
            if !body.windows(8).any(|part| part == b"contents") {
                let why = format!("a wrong answer to {}: {}", question.description(), String::from_utf8_lossy(&body));
                return Err(Failure::new(why));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(times)
    }
}

/// Measures memory again and again on a thread of its own. On the thread of the person who asks, the calls that wait meanwhile would look slow.
struct MemoryWatch {
    /// Set to end it.
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, Failure>>,
}

impl MemoryWatch {
    fn start(process: Option<u32>) -> Result<Self, Failure> {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let watching = move || {
            priority::give_way_to_background();
            let mut largest = 0;
            while !ends.load(Ordering::Relaxed) {
                largest = largest.max(memory(process)?);
                #[expect(clippy::disallowed_methods, reason = "a measurement is repeated at an interval")]
                std::thread::sleep(MEMORY_INTERVAL);
            }
            Ok(largest)
        };
        let started = std::thread::Builder::new().name("memory".to_owned()).spawn(watching);
        let thread = started.map_err(|error| Failure::new(format!("no thread can be started: {error}")))?;
        Ok(Self { is_over, thread })
    }

    /// The most that was measured, in bytes.
    fn stop(self) -> Result<u64, Failure> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Err(Failure::new("the measurement of memory panicked")))
    }
}

/// Memory of codeyard, whose guard is `process`, and of all processes below it, in bytes.
fn memory(process: Option<u32>) -> Result<u64, Failure> {
    let bytes = process.and_then(proc_tree::memory_bytes);
    bytes.ok_or_else(|| Failure::new("the processes of codeyard can't be read"))
}

/// The time since a log was created, which happens with its first event.
fn age(log: &Path) -> Duration {
    let created = std::fs::metadata(log).and_then(|log| log.created()).ok();
    created.and_then(|created| created.elapsed().ok()).unwrap_or_default()
}

fn lines(log: &Path) -> usize {
    std::fs::read(log).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

/// Waits until a log has more lines.
async fn lines_after(log: &Path, count: usize) -> Result<(), Failure> {
    let began = Instant::now();
    while lines(log) <= count {
        if began.elapsed() > TIMEOUT {
            return Err(Failure::new(format!("a run doesn't go on after {count} events: {}", log.display())));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

fn add(
    report: &mut Report,
    what: impl Into<String>,
    bare: Option<f64>,
    codeyard: f64,
    target: Option<Target>,
    notes: impl Into<String>,
) {
    report.add(figure("launch runs", Scenario::Runs, what, bare, codeyard, target, notes));
}
