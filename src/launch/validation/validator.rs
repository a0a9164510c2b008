//! Runs the gates and makes their report.
//!
//! It repairs nothing. Invariants: the gates run in their order; one that fails, hangs or finds no end is an issue, never the end of a validation; equal
//! working copies have equal reports, if the servers of their links answer the same. Source:
//! `docs/internals/reference/contract-launch.md#gates-and-fixes`.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeyard_base::clock::Instant;
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::issue::{GateName, GateResult, Issue, Severity, ValidationReport};
use crate::artifacts::page_claims::PageClaims;
use crate::artifacts::page_plan::PagePlan;
use crate::artifacts::patch::DiffReport;
use crate::artifacts::site::SiteContext;
use crate::artifacts::snippets::SnippetCatalog;
use crate::limits::MAX_GATE_ISSUES;
use crate::request::run_config::{RunConfig, ValidationProfile};
use crate::site::linker;
use crate::validation::gates::external_links::Answers;
use crate::validation::gates::{self, Finding, Scene};
use crate::validation::link_checker::LinkChecker;

/// What gates look at.
pub struct GateInput<'g> {
    pub config: &'g RunConfig,
    pub site: &'g Path,
    /// The product at its pinned commit.
    pub repo: &'g Path,
    pub site_context: &'g SiteContext,
    pub plan: &'g PagePlan,
    /// What is known of the product.
    pub facts: &'g ProductFacts,
    pub evidence: &'g EvidenceMap,
    /// The code that can be shown.
    pub snippets: &'g SnippetCatalog,
    pub claims: &'g PageClaims,
    /// The artifacts as they are stored.
    pub artifacts: &'g dyn Fn(&str) -> Option<Vec<u8>>,
    pub tools: &'g ValidationTools,
}

/// What gates work with.
#[derive(Debug, Clone)]
pub struct ValidationTools {
    /// What asks the servers of links; `None` if they aren't asked.
    pub links: Option<LinkChecker>,
    /// What tells the run from others, for answers that it asks for more than once.
    pub run: String,
    /// The program Hugo; `None` if it is looked for.
    pub hugo: Option<PathBuf>,
    /// The time of a gate.
    pub gate_limit: Duration,
    /// The time of the gate `SiteBuild`.
    pub build_limit: Duration,
    /// A folder for files that nobody keeps.
    pub scratch: PathBuf,
}

/// What happens during a validation.
#[derive(Debug)]
pub enum GateEvent<'e> {
    Started(GateName),
    Finished(&'e GateResult),
}

/// The gates, in their order.
pub const GATES: [GateName; 11] = [
    GateName::Schema,
    GateName::MarkdownLint,
    GateName::Frontmatter,
    GateName::SiteConfig,
    GateName::SiteBuild,
    GateName::InternalLinks,
    GateName::ExternalLinks,
    GateName::Snippets,
    GateName::TruthLock,
    GateName::Consistency,
    GateName::TemplateTokens,
];

/// The code of the issue that stands for those that a report doesn't show.
pub(crate) const MORE_ISSUES: &str = "MORE_ISSUES";

/// One gate's part of a report.
#[derive(Default)]
struct GateRun {
    findings: Vec<Finding>,
    skipped: Option<String>,
    log: Option<String>,
}

/// Runs all gates on the working copy.
///
/// # Errors
/// `TOOLCHAIN_MISSING` if a program is missing, `CANCELLED` if it was stopped, `INTERNAL` if the working copy can't be read.
pub fn validate(
    input: &GateInput<'_>,
    on_gate: &mut dyn FnMut(GateEvent<'_>),
    stop: &StopFlag,
) -> Result<ValidationReport, StageError> {
    let diff = linker::diff_report(input.site, &input.site_context.commit, stop)?;
    let mut scene = Scene::load(input, &diff, stop.clone());
    let mut results = Vec::new();
    let mut issues = Vec::new();
    let mut built = None;
    for name in GATES {
        if stop.is_set() {
            return Err(StageError::cancelled());
        }
        on_gate(GateEvent::Started(name));
        let began = Instant::now();
        let limit = limit(name, input.tools);
        scene.stop = stop.within(limit);
        let run = run_gate(name, &scene, &mut built, stop)?;
        let mut found: Vec<Issue> = run.findings.into_iter().map(|finding| finding.issue).collect();
        // Hugo is ended at its limit, and the gate says so itself.
        if name != GateName::SiteBuild && began.elapsed() >= limit {
            found.push(timeout(name, limit));
        }
        cut(name, &mut found);
        let ok = !found.iter().any(Issue::is_serious);
        let result = GateResult { name, ok, skipped: run.skipped, log: run.log };
        on_gate(GateEvent::Finished(&result));
        results.push(result);
        issues.append(&mut found);
    }
    if stop.is_set() {
        return Err(StageError::cancelled());
    }
    Ok(ValidationReport::new(input.config.validation_profile, results, issues))
}

/// How long a gate may take.
fn limit(name: GateName, tools: &ValidationTools) -> Duration {
    if name == GateName::SiteBuild { tools.build_limit } else { tools.gate_limit }
}

/// What one gate finds in the working copy now, with its repairs. The site isn't built, and no server is asked: each link counts as one that leads
/// nowhere, so that its repair is found.
pub(crate) fn findings(name: GateName, input: &GateInput<'_>, diff: &DiffReport, stop: &StopFlag) -> Vec<Finding> {
    let scene = Scene::load(input, diff, stop.within(limit(name, input.tools)));
    catch(name, || plain_gate(name, &scene, None))
}

fn run_gate(
    name: GateName,
    scene: &Scene<'_>,
    built: &mut Option<BTreeSet<String>>,
    stop: &StopFlag,
) -> Result<GateRun, StageError> {
    let skipped = |why: &str| Ok(GateRun { skipped: Some(why.to_owned()), ..GateRun::default() });
    match name {
        GateName::SiteBuild if scene.input.site_context.kind != "hugo" => skipped("the site isn't built by a program"),
        GateName::SiteBuild => {
            let outcome = gates::site_build::run(scene, stop)?;
            *built = outcome.files;
            Ok(GateRun { findings: outcome.findings, skipped: None, log: outcome.log })
        }
        GateName::ExternalLinks if scene.input.config.validation_profile == ValidationProfile::Local => {
            skipped("the validation profile is local")
        }
        GateName::ExternalLinks => {
            let asked = gates::external_links::ask(scene, stop);
            let findings = catch(name, || gates::external_links::run(scene, &Answers::Given(&asked)));
            let log = scene.input.tools.links.is_none().then(|| "no server was asked: check_links is off".to_owned());
            Ok(GateRun { findings, skipped: None, log })
        }
        name => {
            let findings = catch(name, || plain_gate(name, scene, built.as_ref()));
            Ok(GateRun { findings, ..GateRun::default() })
        }
    }
}

fn plain_gate(name: GateName, scene: &Scene<'_>, built: Option<&BTreeSet<String>>) -> Vec<Finding> {
    match name {
        GateName::Schema => gates::schema::run(scene),
        GateName::MarkdownLint => gates::markdown_lint::run(scene),
        GateName::Frontmatter => gates::front_matter_keys::run(scene),
        GateName::SiteConfig => gates::site_config::run(scene),
        GateName::SiteBuild => Vec::new(),
        GateName::InternalLinks => gates::internal_links::run(scene, built),
        GateName::ExternalLinks => gates::external_links::run(scene, &Answers::AllGone),
        GateName::Snippets => gates::snippets::run(scene),
        GateName::TruthLock => gates::truth_lock::run(scene),
        GateName::Consistency => gates::consistency::run(scene),
        GateName::TemplateTokens => gates::template_tokens::run(scene),
    }
}

/// A gate that panics has a defect: that is a blocker, so nothing unvalidated is published.
fn catch(name: GateName, run: impl FnOnce() -> Vec<Finding>) -> Vec<Finding> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let issue = Issue::new(name, Severity::Blocker, "GATE_FAILED", None, "panic");
        let message = "the gate failed because of an error in codeyard; see the server's log";
        vec![Finding::of(issue.with_text("A gate failed", message))]
    })
}

fn timeout(name: GateName, limit: Duration) -> Issue {
    let message = format!("the gate took longer than {} s; make the run's pages fewer or shorter", limit.as_secs());
    Issue::new(name, Severity::Blocker, "GATE_TIMEOUT", None, "").with_text("A gate took too long", message)
}

/// Keeps the issues of a gate that are fixed first, if it has found very many: those behind them keep their identifiers until then.
fn cut(name: GateName, found: &mut Vec<Issue>) {
    if found.len() <= MAX_GATE_ISSUES {
        return;
    }
    found.sort_by(|one, other| other.severity.cmp(&one.severity).then_with(|| one.place().cmp(&other.place())));
    let left = found.split_off(MAX_GATE_ISSUES);
    let issue = Issue::new(name, Severity::Info, MORE_ISSUES, None, "");
    let message = format!("the gate has found {} more issues; they are shown when these are gone", left.len());
    found.push(issue.with_text("More issues were found", message));
}
