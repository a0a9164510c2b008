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

use super::*;
use crate::checkout::CheckoutSettings;
use crate::issue::GateName;
use crate::publication::PublicationSettings;
use crate::run_status;
use crate::sites::Sites;
use crate::test_hugo::test_hugo;
use crate::testing::TestRepository;

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
        let (trace_id, span_id) = (parent.trace_id.clone(), format!("s{}", spans.len()));
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
        let (id, code) = (RunId::new(0, number), Arc::new(LaunchStages::new(self.settings())));
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
    let line = |issue: &crate::issue::Issue| {
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
    let plan: crate::artifacts::page_plan::PagePlan =
        serde_json::from_slice(&run.artifact(names::PAGE_PLAN).unwrap().unwrap().1).unwrap();
    let path = |template: crate::artifacts::page_plan::PageTemplate| {
        site.join(&plan.pages.iter().find(|page| page.template == template).unwrap().path)
    };
    use crate::artifacts::page_plan::PageTemplate::{GettingStarted, Product, Release};
    let product = path(Product);
    let text = fs::read_to_string(&product).unwrap();
    let broken = text
        .replacen("title:", "headline:", 1)
        .replacen("\n- ", "\n* ", 1)
        .replace("table.sort(\"price\", descending=True)", "table.sort(\"price\", descending=True")
        + "\nIt is 40 times faster than all others.\n\nThe {{ unknown_token }} is here.\n\n[Nowhere](/no/such/page/)\n";
    fs::write(&product, &broken).unwrap();
    let start = path(GettingStarted);
    let text = fs::read_to_string(&start).unwrap().replace("pip install tabtidy", "pip install tabtidyy");
    fs::write(&start, text).unwrap();
    let release = path(Release);
    let text = fs::read_to_string(&release).unwrap();
    fs::write(&release, text.replacen("## ", "#### ", 1).replacen("\n\n", "  \n\n\n\n", 1)).unwrap();

    carry_out(&run, Command::Validate).unwrap();
    assert_eq!(state(&run), "VALIDATING");
    let gates: std::collections::BTreeSet<GateName> = report(&run).issues.iter().map(|issue| issue.gate).collect();
    for gate in [
        GateName::MarkdownLint,
        GateName::InternalLinks,
        GateName::Snippets,
        GateName::TruthLock,
        GateName::Consistency,
        GateName::TemplateTokens,
    ] {
        assert!(gates.contains(&gate), "{gate:?}: {:#?}", shown(&report(&run)));
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
    assert!(fs::read_to_string(&start).unwrap().contains("pip install tabtidy\n"));
}
