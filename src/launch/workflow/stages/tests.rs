//! Whole runs on the sample: from the clone to the branch, repaired on the way, with equal bytes each time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use codeyard_runs::durable_run::RunStart;
use codeyard_runs::event::TraceContext;
use codeyard_runs::live_run::{CommandError, LiveRun};
use codeyard_runs::machine::Advance;
use codeyard_runs::observer::{PassedPart, RunObserver, RunStatus, WorkPart};
use codeyard_runs::run_id::RunId;
use codeyard_runs::work_item::WorkItemId;
use codeyard_runs::work_item::WorkItemState;
use codeyard_test_support::hugo::test_hugo;

use super::*;
use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::issue::GateName;
use crate::artifacts::page_plan::{PagePlan, PageTemplate, PlannedPage};
use crate::artifacts::snippets::SnippetCatalog;
use crate::publication::PublicationSettings;
use crate::repository::checkout::CheckoutSettings;
use crate::request::sites::Sites;
use crate::testing::TestRepository;
use crate::workflow::run_status;

/// Keeps the spans of a run.
#[derive(Default)]
struct Recorder(parking_lot::Mutex<Vec<RecordedSpan>>);

#[derive(Debug, Clone)]
struct RecordedSpan {
    name: String,
    trace: TraceContext,
    is_ended: bool,
}

impl Recorder {
    fn begin(&self, name: String, parent: &TraceContext, is_ended: bool) -> TraceContext {
        let mut spans = self.0.lock();
        let trace_id = parent.trace_id.clone();
        let span_id = format!("s{}", spans.len());
        let trace = TraceContext { trace_id, span_id, parent_span_id: Some(parent.span_id.clone()) };
        spans.push(RecordedSpan { name, trace: trace.clone(), is_ended });
        trace
    }
}

impl RunObserver for Recorder {
    fn changed(&self, _: &RunId, _: &RunStatus) {}

    fn item_began(&self, _: &RunId, _: &WorkItemId, spec: &WorkItemSpec, parent: &TraceContext) -> TraceContext {
        self.begin(format!("item {}", spec.worker), parent, false)
    }

    fn part_began(&self, _: &RunId, part: WorkPart<'_>, parent: &TraceContext) -> TraceContext {
        self.begin(format!("{part:?}"), parent, false)
    }

    fn part_passed(&self, _: &RunId, part: WorkPart<'_>, passed: &PassedPart, parent: &TraceContext) {
        assert!(passed.is_good && passed.took > Duration::ZERO, "{part:?} {passed:?}");
        self.begin(format!("{part:?}"), parent, true);
    }

    fn item_ended(&self, _: &RunId, span: &TraceContext, _: Option<&'static str>) {
        let mut spans = self.0.lock();
        spans.iter_mut().filter(|known| known.trace.span_id == span.span_id).for_each(|known| known.is_ended = true);
    }
}

/// The sample as repositories, and settings that allow them.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bench = Self { dir };
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch");
        for (name, date) in [("library", "2026-01-19T10:00:00Z"), ("site", "2026-01-20T10:00:00Z")] {
            let repository = TestRepository::new(&bench.top().join(name));
            copy(&sample.join(name), repository.path());
            repository.commit(&[], date);
        }
        bench
    }

    fn top(&self) -> std::path::PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn settings(&self) -> Arc<LaunchSettings> {
        Arc::new(LaunchSettings {
            sites: Sites::builtin(),
            checkout: CheckoutSettings {
                rewrites: Vec::new(),
                sources: vec![self.top().to_str().unwrap().to_owned()],
                max_bytes: 1 << 30,
                limit: Duration::from_secs(60),
            },
            on_publication: Arc::new(|_, _, _| {}),
            publication: PublicationSettings { services: Vec::new(), request_limit: Duration::from_secs(10) },
            links: None,
            hugo: test_hugo().map(Path::to_owned),
            scratch: self.top(),
            roots: Arc::new(|_| Vec::new()),
        })
    }

    fn config(&self, change: impl FnOnce(&mut Value)) -> Value {
        let sections = ["products", "docs", "reference", "kb", "blog"];
        let allowed = sections.map(|name| format!("{name}/tabtidy/**"));
        let mut config = json!({
            "schema_version": "1.0", "product_slug": "tabtidy", "product_name": "tabtidy", "family": "cells",
            "target_platform": "python", "github_repo_url": self.top().join("library"), "github_ref": "main",
            "required_sections": sections,
            "allowed_paths": allowed,
            "site": {"repo_url": self.top().join("site"), "ref": "main", "kind": "markdown"},
        });
        change(&mut config);
        RunConfig::parse(&config).unwrap().to_value()
    }

    /// A run in the folder `runs`.
    fn start(&self, runs: &str, number: u32, config: Value) -> LiveRun {
        self.start_watched(runs, number, config, Arc::new(Recorder::default()))
    }

    fn start_watched(&self, runs: &str, number: u32, config: Value, observer: Arc<Recorder>) -> LiveRun {
        let start = RunStart { workspace: "w".into(), subject: "tabtidy".into(), advance: Advance::Auto, config };
        let id = RunId::new(0, number);
        let code = Arc::new(LaunchStages::new(self.settings()));
        LiveRun::create(code, &self.top().join(runs), &id, start, &trace(), observer).unwrap()
    }
}

fn trace() -> TraceContext {
    TraceContext::default()
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn carry_out(run: &LiveRun, command: Command) -> Result<(), CommandError> {
    let mut next = run.command(&trace(), command)?;
    while let Some(work) = next {
        next = run.execute(&trace(), work);
    }
    Ok(())
}

fn state(run: &LiveRun) -> &'static str {
    run.status().view.progress.state.name
}

fn report(run: &LiveRun) -> ValidationReport {
    let (_, content) = run.artifact(names::VALIDATION_REPORT).unwrap().unwrap();
    serde_json::from_slice(&content).unwrap()
}

fn shown(report: &ValidationReport) -> Vec<String> {
    let line = |issue: &crate::artifacts::issue::Issue| {
        let place = issue.location.as_ref().map(|place| format!("{}:{}", place.path, place.line)).unwrap_or_default();
        format!("{:?} {:?} {} {place} {}", issue.severity, issue.gate, issue.error_code, issue.message)
    };
    report.issues.iter().map(line).collect()
}

#[test]
fn the_sample_goes_from_its_repositories_to_a_branch() {
    let bench = Bench::new();
    let run = bench.start("runs", 1, bench.config(|_| ()));
    carry_out(&run, Command::Resume).unwrap();
    assert_eq!(
        state(&run),
        "READY_FOR_PR",
        "{:?} {:?}",
        run.status().view.failure,
        run.artifact(names::VALIDATION_REPORT).unwrap().map(|_| shown(&report(&run)))
    );
    assert_eq!(shown(&report(&run)), Vec::<String>::new());
    let site = run.folder().work().join("site");
    let product = fs::read_to_string(site.join("products/tabtidy/python/index.md"));
    let product =
        product.unwrap_or_else(|_| panic!("{:?}", fs::read_to_string(run.folder().artifacts().join("page_plan.json"))));
    for text in [
        "tabtidy reads small tables",
        "pip install tabtidy",
        "Sorts by several columns",
        "table.sort(\"price\", descending=True)",
        ">=3.9",
    ] {
        assert!(product.contains(text), "{text}\n{product}");
    }
    carry_out(&run, Command::Publish).unwrap();
    assert_eq!(state(&run), "DONE");
    let result = run_status::pull_request(&run.status().view).cloned().unwrap();
    let origin = bench.top().join("site");
    let git =
        codeyard_process::git::run_git(&origin, &["log", "-1", "--format=%H %s", result["branch"].as_str().unwrap()]);
    assert_eq!(git.unwrap(), format!("{} Add the pages of tabtidy 1.2.0", result["commit_sha"].as_str().unwrap()));
    assert!(run.status().view.items.values().all(|item| item.state == WorkItemState::Finished));
}

#[test]
fn items_gates_and_processes_of_a_run_are_in_one_trace() {
    let bench = Bench::new();
    let has_hugo = test_hugo().is_some();
    let config = bench.config(|config| {
        if has_hugo {
            config["site"]["kind"] = json!("hugo");
            config["allowed_paths"] = json!(["content/**"]);
        }
    });
    let recorder = Arc::new(Recorder::default());
    let run = bench.start_watched("runs", 1, config, recorder.clone());
    let root = TraceContext { trace_id: "t".into(), span_id: "call".into(), parent_span_id: None };
    let mut next = run.command(&root, Command::Resume).unwrap();
    while let Some(work) = next {
        next = run.execute(&root, work);
    }
    assert_eq!(state(&run), "READY_FOR_PR");
    let spans = recorder.0.lock().clone();
    let above = |span: &RecordedSpan| {
        let id = span.trace.parent_span_id.as_deref().unwrap();
        spans.iter().find(|other| other.trace.span_id == id).map_or(id.to_owned(), |other| other.name.clone())
    };
    assert!(spans.iter().all(|span| span.is_ended && span.trace.trace_id == "t"), "{spans:?}");
    for span in &spans {
        match span.name.split(['(', ' ']).next().unwrap() {
            "item" => assert_eq!(above(span), "call"),
            "Gate" => assert_eq!(above(span), "item Validator"),
            _ => assert!(above(span) != "call", "{span:?}"),
        }
    }
    let named = |name: &str| spans.iter().filter(|span| span.name == name).map(above).collect::<BTreeSet<String>>();
    assert_eq!(spans.iter().filter(|span| span.name.starts_with("Gate")).count(), 11);
    assert!(named("Process(\"git\")").contains("item RepoScout"), "{spans:?}");
    let expected: &[&str] = if has_hugo { &["Gate(\"SiteBuild\")"] } else { &[] };
    assert!(named("Process(\"hugo\")").iter().eq(expected), "{spans:?}");
}

#[test]
fn equal_inputs_give_equal_bytes() {
    let bench = Bench::new();
    let mut all = Vec::new();
    for number in [1, 2] {
        let run = bench.start(&format!("runs{number}"), number, bench.config(|_| ()));
        carry_out(&run, Command::Resume).unwrap();
        let view = run.status().view;
        let artifacts: BTreeMap<String, String> =
            view.artifacts.values().map(|artifact| (artifact.name.clone(), artifact.sha256.clone())).collect();
        assert!(artifacts.len() > 8, "{artifacts:?}");
        all.push(artifacts);
    }
    assert_eq!(all[0], all[1]);
}

#[test]
fn a_broken_draft_is_repaired_by_one_fix_after_the_other() {
    let bench = Bench::new();
    let run = bench.start("runs", 1, bench.config(|config| config["site"]["kind"] = json!("markdown")));
    carry_out(&run, Command::Resume).unwrap();
    let site = run.folder().work().join("site");
    let plan: PagePlan = read_artifact(&run, names::PAGE_PLAN);
    let path =
        |template: PageTemplate| site.join(&plan.pages.iter().find(|page| page.template == template).unwrap().path);
    let product = path(PageTemplate::Product);
    let text = fs::read_to_string(&product).unwrap();
    let broken = text
        .replacen("title:", "headline:", 1)
        .replacen("\n- ", "\n* ", 1)
        .replace("table.sort(\"price\", descending=True)", "table.sort(\"price\", descending=True")
        + "\nIt is 40 times faster than all others.\n\nThe {{ unknown_token }} is here.\n\n[Nowhere](/no/such/page/)\n";
    fs::write(&product, &broken).unwrap();
    let start = path(PageTemplate::GettingStarted);
    let text = fs::read_to_string(&start).unwrap().replace("pip install tabtidy", "pip install tabtidyy");
    fs::write(&start, text).unwrap();
    let release = path(PageTemplate::Release);
    let text = fs::read_to_string(&release).unwrap();
    fs::write(&release, text.replacen("## ", "#### ", 1).replacen("\n\n", "  \n\n\n\n", 1)).unwrap();

    carry_out(&run, Command::Validate).unwrap();
    assert_eq!(state(&run), "VALIDATING");
    let gates: std::collections::BTreeSet<GateName> = report(&run).issues.iter().map(|issue| issue.gate).collect();
    for gate in [
        GateName::MarkdownLint,
        GateName::Frontmatter,
        GateName::InternalLinks,
        GateName::Snippets,
        GateName::TruthLock,
        GateName::Consistency,
        GateName::TemplateTokens,
    ] {
        assert!(gates.contains(&gate), "{gate:?}: {:#?}", shown(&report(&run)));
    }
    let found = shown(&report(&run)).join("\n");
    for expected in [
        "Error Frontmatter KEY_MISSING products/tabtidy/python/index.md:1 the front matter has no key `title`",
        "Error Snippets SNIPPET_SYNTAX products/tabtidy/python/index.md:",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    let mut fixes = 0;
    while state(&run) == "VALIDATING" {
        let before = report(&run);
        let done = carry_out(&run, Command::FixNext);
        assert!(done.is_ok(), "{:?} after {fixes} fixes: {:#?}", done.err(), shown(&before));
        let result = run_status::last(&run.status().view, workers::FIXER).unwrap().result.clone();
        assert!(result["fixed_issue_id"].is_string(), "{result} {:#?}", shown(&before));
        fixes += 1;
        assert!(fixes < 40, "{:#?}", shown(&report(&run)));
    }
    assert!(fixes >= 6, "{fixes}");
    assert_eq!(state(&run), "READY_FOR_PR");
    let repaired = fs::read_to_string(&product).unwrap();
    assert!(repaired.contains("table.sort(\"price\", descending=True)\n"), "{repaired}");
    assert!(!repaired.contains("40 times") && !repaired.contains("unknown_token"), "{repaired}");
    let page = crate::markdown::front_matter::split(&repaired).unwrap();
    assert_eq!(page.keys["title"], "tabtidy", "{repaired}");
    assert!(fs::read_to_string(&start).unwrap().contains("pip install tabtidy\n"));
}

fn read_artifact<T: DeserializeOwned>(run: &LiveRun, name: &str) -> T {
    let (_, content) = run.artifact(name).unwrap().unwrap();
    serde_json::from_slice(&content).unwrap()
}

/// The pages of a run from one template, with their texts.
fn pages_of(run: &LiveRun, template: PageTemplate) -> Vec<(PlannedPage, String)> {
    let plan: PagePlan = read_artifact(run, names::PAGE_PLAN);
    let pages = plan.pages.into_iter().filter(|page| page.template == template);
    let site = run.folder().work().join("site");
    pages.map(|page| (page.clone(), fs::read_to_string(site.join(&page.path)).unwrap())).collect()
}

#[test]
fn each_kind_of_page_shows_what_it_is_for() {
    let bench = Bench::new();
    let run = bench.start("runs", 1, bench.config(|_| ()));
    carry_out(&run, Command::Resume).unwrap();
    assert_eq!(state(&run), "READY_FOR_PR");

    // The reference has each public definition, its doc comment in Markdown, and its place.
    let [(_, module)] = &pages_of(&run, PageTemplate::ApiModule)[..] else { panic!("not one module") };
    for (heading, signature, doc, place) in [
        (
            "## FormatError",
            "class FormatError(ValueError)",
            "A file that isn't a table, with the number of the line that is wrong.",
            "Source: `src/tabtidy/formats.py`, line 11",
        ),
        (
            "## detect\\_format",
            "def detect_format(text: str) -> str",
            "The format of a text: `\"tsv\"` if its first line has tabs, else `\"csv\"`.",
            "Source: `src/tabtidy/formats.py`, line 19",
        ),
        (
            "## read\\_table",
            "def read_table(path: str | Path, encoding: str = \"utf-8\") -> Table",
            "Reads the table in a file. Its first line has the names of the columns.\n\nRaises `FormatError` if a row has another number of \
             cells than the first line.",
            "Source: `src/tabtidy/formats.py`, line 25",
        ),
        (
            "### Row.get",
            "def get(self, column: str, default: str = \"\") -> str",
            "The cell of a column, or `default` if there is no such column.",
            "Source: `src/tabtidy/table.py`, line 21",
        ),
        (
            "## Table",
            "class Table",
            "A table of text: the names of its columns, and its rows.\n\nExample:\n\n```python\ntable = Table([\"name\", \"price\"], \
             [[\"tea\", \"3\"], [\"cake\", \"4\"]])\ntable.sort(\"price\")\n```",
            "Source: `src/tabtidy/table.py`, line 30",
        ),
    ] {
        let section = format!("\n{heading}\n\n```python\n{signature}\n```\n\n{doc}\n\n{place}\n");
        assert!(module.contains(&section), "{section}\n{module}");
    }
    assert!(!module.contains("sort_key") && !module.contains("_columns"), "only what is public is shown: {module}");
    let facts: ProductFacts = read_artifact(&run, names::PRODUCT_FACTS);
    assert!(facts.api.iter().all(|item| module.contains(&format!("```python\n{}\n```", item.signature))));
    let [(_, index)] = &pages_of(&run, PageTemplate::ApiIndex)[..] else { panic!("not one index") };
    assert!(index.contains("- [tabtidy](tabtidy.md)\n"), "{index}");

    // Who begins installs the package, then runs the README's code that parses.
    let [(_, start)] = &pages_of(&run, PageTemplate::GettingStarted)[..] else { panic!("not one start") };
    let install = start.find("```sh\npip install tabtidy\n```");
    let first = start.find("table.sort(\"price\", descending=True)");
    let second =
        start.find("cheap = table.where(lambda row: float(row[\"price\"]) < 5)\nprint(cheap.to_markdown())\n```");
    assert!(install.is_some() && install < first && first < second, "{start}");
    assert!(!start.contains("table.columns ->"), "what doesn't parse isn't shown: {start}");

    // One page for each example, with all of its code.
    let examples = bench.top().join("library/examples");
    let pages = pages_of(&run, PageTemplate::Example);
    let mut files: Vec<String> =
        fs::read_dir(&examples).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["build_table.py", "csv_to_markdown.py", "sort_prices.py"]);
    let subjects: Vec<&str> = pages.iter().map(|(page, _)| page.subject.as_str()).collect();
    assert_eq!(subjects, files.iter().map(|file| format!("examples/{file}")).collect::<Vec<_>>());
    let [(_, listed)] = &pages_of(&run, PageTemplate::ExampleIndex)[..] else { panic!("not one list") };
    for (file, (page, text)) in files.iter().zip(&pages) {
        let source = fs::read_to_string(examples.join(file)).unwrap();
        // The comment at the top is the text of the page.
        let mut parts = source.splitn(3, "\"\"\"").skip(1);
        let comment = parts.next().unwrap().trim();
        let code = parts.next().unwrap().trim();
        assert!(text.contains(&format!("```python\n{code}\n```")), "{file}: {text}");
        assert!(comment.lines().filter(|line| !line.is_empty()).all(|line| text.contains(line)), "{file}: {text}");
        assert!(text.contains(&format!("\nSource: `examples/{file}`\n")), "{file}: {text}");
        let name = page.path.rsplit('/').next().unwrap();
        assert!(listed.contains(&format!("]({name})")), "{name}: {listed}");
    }

    // The announcement names the version, in its address, its title and its text.
    let [(page, release)] = &pages_of(&run, PageTemplate::Release)[..] else { panic!("not one release") };
    assert!(page.path.ends_with("/release-1-2-0.md") && page.title == "tabtidy 1.2.0", "{page:?}");
    assert!(
        release.contains("\ntitle: \"tabtidy 1.2.0\"\n") && release.contains("\ntabtidy `1.2.0` is available.\n"),
        "{release}"
    );
}

/// The result of the last fix.
fn last_fix(run: &LiveRun) -> Value {
    run_status::last(&run.status().view, workers::FIXER).unwrap().result.clone()
}

fn refused(run: &LiveRun, command: Command) -> StageError {
    match carry_out(run, command) {
        Err(CommandError::Stage(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn failed_attempts_are_undone_and_counted_for_their_issue_until_there_are_too_many() {
    let bench = Bench::new();
    let run = bench.start("runs", 1, bench.config(|config| config["max_fix_attempts"] = json!(2)));
    carry_out(&run, Command::Resume).unwrap();
    let site = run.folder().work().join("site");
    let file = |template| site.join(&pages_of(&run, template)[0].0.path);
    let release = file(PageTemplate::Release);
    let product = file(PageTemplate::Product);
    let [sound, sound_product] = [&release, &product].map(|file| fs::read_to_string(file).unwrap());
    let broken = sound.replacen("## Features", "#### Features", 1);
    fs::write(&release, &broken).unwrap();
    fs::write(&product, sound_product.replacen("\n- Has", "\n* Has", 1)).unwrap();
    carry_out(&run, Command::Validate).unwrap();
    let before = report(&run);
    let codes: Vec<&str> = before.issues.iter().map(|issue| issue.error_code.as_str()).collect();
    assert_eq!((state(&run), &codes[..]), ("VALIDATING", &["HEADING_LEVEL", "LIST_STYLE"][..]));
    let wrong_heading = before.issues[0].issue_id.clone();

    // With a text that came after the report, the fix would leave a blocker.
    let worse = format!("{broken}\nIt is 40 times faster.\n");
    fs::write(&release, &worse).unwrap();
    carry_out(&run, Command::FixNext).unwrap();
    let attempt = |reason: &str, attempts: u32| {
        let result = last_fix(&run);
        assert_eq!((&result["fixed_issue_id"], &result["applied_patch_ids"]), (&Value::Null, &json!([])), "{result}");
        let failed = &result["failed_attempt"];
        assert_eq!((&failed["issue_id"], &failed["reason"]), (&json!(wrong_heading), &json!(reason)), "{result}");
        assert_eq!((&failed["attempts"], &failed["max_fix_attempts"]), (&json!(attempts), &json!(2)), "{result}");
        assert!(!run.folder().work().join("fix_journal.json").exists());
        assert_eq!((state(&run), report(&run)), ("VALIDATING", before.clone()), "the report stays");
    };
    attempt("NEW_BLOCKER", 1);
    assert_eq!(fs::read_to_string(&release).unwrap(), worse, "the fix is undone");
    // A person was faster.
    fs::write(&release, &sound).unwrap();
    carry_out(&run, Command::FixNext).unwrap();
    attempt("NOT_FOUND", 2);
    assert_eq!(fs::read_to_string(&release).unwrap(), sound);

    // That was all, also after the next validation finds the same again.
    fs::write(&release, &broken).unwrap();
    for _ in 0..2 {
        let exhausted = refused(&run, Command::FixNext);
        assert_eq!((exhausted.code, &exhausted.details["reason"]), ("FIX_EXHAUSTED", &json!("max_fix_attempts")));
        assert_eq!(exhausted.details["issue_id"], json!(wrong_heading));
        assert_eq!(exhausted.details["max_fix_attempts"], json!(2));
        assert_eq!((state(&run), fs::read_to_string(&release).unwrap()), ("VALIDATING", broken.clone()));
        carry_out(&run, Command::Validate).unwrap();
    }
    // A person repairs it, and the other issue still has its attempts.
    fs::write(&release, &sound).unwrap();
    carry_out(&run, Command::Validate).unwrap();
    carry_out(&run, Command::FixNext).unwrap();
    assert!(last_fix(&run)["fixed_issue_id"].is_string(), "{}", last_fix(&run));
    assert_eq!((state(&run), fs::read_to_string(&product).unwrap()), ("READY_FOR_PR", sound_product));
}

#[test]
fn a_fix_that_succeeds_is_no_attempt() {
    let bench = Bench::new();
    let run = bench.start("runs", 1, bench.config(|config| config["max_fix_attempts"] = json!(1)));
    carry_out(&run, Command::Resume).unwrap();
    let product = run.folder().work().join("site").join(&pages_of(&run, PageTemplate::Product)[0].0.path);
    let sound = fs::read_to_string(&product).unwrap();
    let mut fixed = BTreeSet::new();
    for _ in 0..3 {
        fs::write(&product, sound.replacen("\n- Has", "\n* Has", 1)).unwrap();
        carry_out(&run, Command::Validate).unwrap();
        carry_out(&run, Command::FixNext).unwrap();
        assert_eq!((state(&run), fs::read_to_string(&product).unwrap()), ("READY_FOR_PR", sound.clone()));
        fixed.insert(last_fix(&run)["fixed_issue_id"].as_str().unwrap().to_owned());
    }
    assert_eq!(fixed.len(), 1, "it was the same issue each time");
    fs::write(&product, sound.replacen("\n- ", "\n* ", 3)).unwrap();
    carry_out(&run, Command::Validate).unwrap();
    let count = report(&run).issues.len();
    assert_eq!(count, 3);
    for left in (1..count).rev() {
        carry_out(&run, Command::FixNext).unwrap();
        assert!(last_fix(&run)["fixed_issue_id"].is_string(), "{}", last_fix(&run));
        assert_eq!((state(&run), report(&run).issues.len()), ("VALIDATING", left));
    }
    // The one failed attempt at the last issue is the first and the last.
    fs::write(&product, &sound).unwrap();
    carry_out(&run, Command::FixNext).unwrap();
    assert_eq!(last_fix(&run)["failed_attempt"]["attempts"], 1);
    let exhausted = refused(&run, Command::FixNext);
    assert_eq!((exhausted.code, &exhausted.details["reason"]), ("FIX_EXHAUSTED", &json!("max_fix_attempts")));
    // What nobody can repair is another reason.
    fs::write(product.with_file_name("notes.md"), "").unwrap();
    fs::write(&product, [0xff]).unwrap();
    carry_out(&run, Command::Validate).unwrap();
    let exhausted = refused(&run, Command::FixNext);
    assert_eq!((exhausted.code, &exhausted.details["reason"]), ("FIX_EXHAUSTED", &json!("no_fixable_issue")));
    assert_eq!((&exhausted.details["open_issues"], state(&run)), (&json!(1), "VALIDATING"));
}

#[test]
fn a_fix_that_a_crash_left_unrecorded_is_undone_before_anything_else() {
    let bench = Bench::new();
    let run = bench.start("runs", 1, bench.config(|_| ()));
    carry_out(&run, Command::Resume).unwrap();
    let (page, sound) = pages_of(&run, PageTemplate::Product).remove(0);
    let product = run.folder().work().join("site").join(&page.path);
    let journal = run.folder().work().join("fix_journal.json");
    let broken = sound.replacen("\n- Has", "\n* Has", 1);
    let crash = || {
        fs::write(&journal, json!([{"path": page.path, "content": broken}]).to_string()).unwrap();
        fs::write(&product, "half of a fix").unwrap();
    };
    crash();
    carry_out(&run, Command::Validate).unwrap();
    assert_eq!((fs::read_to_string(&product).unwrap(), journal.exists()), (broken.clone(), false));
    let codes: Vec<String> = report(&run).issues.into_iter().map(|issue| issue.error_code).collect();
    assert_eq!((state(&run), &codes[..]), ("VALIDATING", &["LIST_STYLE".to_owned()][..]));
    crash();
    carry_out(&run, Command::FixNext).unwrap();
    assert!(last_fix(&run)["fixed_issue_id"].is_string(), "{}", last_fix(&run));
    assert_eq!((fs::read_to_string(&product).unwrap(), journal.exists(), state(&run)), (sound, false, "READY_FOR_PR"));
}

#[test]
fn a_readme_of_50_mb_is_read_as_far_as_its_limit() {
    let bench = Bench::new();
    let library = bench.top().join("library");
    let mut readme = fs::read_to_string(library.join("README.md")).unwrap();
    let mut part = 0;
    let limit = crate::limits::MAX_README_BYTES;
    while readme.len() < 50_000_000 {
        part += 1;
        readme.push_str(&format!(
            "\n## Part {part}\n\nA price list has one line for each of its {part} things, and the first line names the columns. Lines\nwith the \
             same price stay in their order, and empty cells are the last ones.\n\n- Keeps **{part} columns** apart, as `table.columns` says.\n  \
             - Also those of [part {part}](#part-{part}).\n- Prints {part} rows.\n\n| name | price |\n|---|---|\n| tea | {part} |\n"
        ));
        // There are fewer snippets up to the limit of a README than a catalog may have, so that this limit counts.
        if readme.len() > limit * 9 / 10 {
            readme.push_str(&format!(
                "\n```python\nfrom tabtidy import Table\n\ntable = Table([\"name\", \"price\"])\ntable.add(\"tea\", \"{part}\")\n```\n"
            ));
        }
    }
    fs::write(library.join("README.md"), &readme).unwrap();
    TestRepository::new(&library).commit(&[], "2026-01-19T11:00:00Z");
    let run = bench.start("runs", 1, bench.config(|_| ()));
    carry_out(&run, Command::Resume).unwrap();
    assert_eq!(state(&run), "READY_FOR_PR", "{:?}", run.status().view.failure);

    let last_line = u32::try_from(readme[..limit].lines().count()).unwrap();
    // One part is not longer than this.
    let up_to_limit = last_line - 25..=last_line;
    let evidence: EvidenceMap = read_artifact(&run, names::EVIDENCE_MAP);
    let lines = evidence.claims.values().flat_map(|claim| &claim.evidence).filter(|place| place.path == "README.md");
    let lines: Vec<u32> = lines.map(|place| place.line_end).collect();
    assert!(lines.iter().max().is_some_and(|last| up_to_limit.contains(last)), "{:?} {last_line}", lines.iter().max());
    let snippets: SnippetCatalog = read_artifact(&run, names::SNIPPET_CATALOG);
    let of_readme = snippets.snippets.iter().filter(|snippet| snippet.path == "README.md");
    let of_readme: Vec<u32> = of_readme.map(|snippet| snippet.line_end).collect();
    let last = of_readme.iter().max().unwrap();
    assert!((100..crate::limits::MAX_SNIPPETS).contains(&of_readme.len()), "{}", of_readme.len());
    assert!(up_to_limit.contains(last), "{last} {last_line}");
    let facts: ProductFacts = read_artifact(&run, names::PRODUCT_FACTS);
    assert!(facts.features.len() <= crate::limits::MAX_FEATURES, "{}", facts.features.len());
    // The pages are those of the small README, and no longer than their budget.
    let [(_, product)] = &pages_of(&run, PageTemplate::Product)[..] else { panic!("not one product") };
    assert!(
        product.contains("tabtidy reads small tables") && product.contains("table.sort(\"price\", descending=True)")
    );
    let plan: PagePlan = read_artifact(&run, names::PAGE_PLAN);
    let site = run.folder().work().join("site");
    assert!(plan.pages.iter().all(|page| fs::read_to_string(site.join(&page.path)).unwrap().lines().count() <= 500));
}

#[test]
fn a_run_has_the_time_of_its_budget() {
    let bench = Bench::new();
    let stages = LaunchStages::new(bench.settings());
    for (budgets, seconds) in [
        (json!({}), 3_600),
        (json!({"max_runtime_s": 1}), 1),
        (json!({"max_runtime_s": 90, "max_files_changed": 5}), 90),
        (json!({"max_runtime_s": 86_400}), 86_400),
    ] {
        let config = bench.config(|config| config["budgets"] = budgets.clone());
        assert_eq!(stages.time_limit(&config), Some(Duration::from_secs(seconds)), "{budgets}");
    }
    assert_eq!(stages.time_limit(&json!({"budgets": {"max_runtime_s": 1}})), None, "no configuration");
}
