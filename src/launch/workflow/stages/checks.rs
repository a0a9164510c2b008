//! The stages that judge: validation, fixes, publication.
//!
//! Invariants: a report describes the working copy as it is on disk; what is published is what was validated; a failed attempt leaves the working copy
//! as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use codeyard_base::digest::sha256hex;
use codeyard_process::tool_log;
use codeyard_runs::event::{EventType, TraceContext};
use codeyard_runs::event_log::NewEvent;
use codeyard_runs::observer::WorkPart;
use codeyard_runs::stage::{ItemOutput, StageError, StageHost};
use serde_json::{Value, json};

use super::{Work, last_report, unexpected, written};
use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::issue::{Issue, IssueStatus, NextFix, ValidationReport};
use crate::artifacts::page_claims::PageClaims;
use crate::artifacts::page_plan::PagePlan;
use crate::artifacts::patch::{DiffReport, PatchBundle};
use crate::artifacts::site::SiteContext;
use crate::artifacts::snippets::SnippetCatalog;
use crate::artifacts::{SCHEMA_VERSION, names, to_bytes};
use crate::limits::{BUILD_LIMIT_S, GATE_LIMIT_S};
use crate::publication::{self, PublishRequest};
use crate::request::run_config::RunConfig;
use crate::site::linker;
use crate::validation::fixer::{self, FixProposal, Verdict};
use crate::validation::validator::{self, GateEvent, GateInput, ValidationTools};
use crate::workflow::run_status::workers;

/// What all gates read.
struct Inputs {
    context: SiteContext,
    plan: PagePlan,
    facts: ProductFacts,
    evidence: EvidenceMap,
    snippets: SnippetCatalog,
    tools: ValidationTools,
    site: PathBuf,
    repo: PathBuf,
}

/// Whether there is an issue to fix.
///
/// # Errors
/// `FIX_EXHAUSTED` if no issue has a fix, or the next one has had all its attempts.
pub(super) fn check_fix(config: &RunConfig, run: &dyn StageHost) -> Result<(), StageError> {
    let Some(report) = last_report(run)? else { return Ok(()) };
    next_fix(&report, config, run).map(|_| ())
}

fn next_fix<'r>(
    report: &'r ValidationReport,
    config: &RunConfig,
    run: &dyn StageHost,
) -> Result<&'r Issue, StageError> {
    let exhausted = |message: String| StageError::new("FIX_EXHAUSTED", message);
    match report.next_fix(&failed_attempts(run), config.max_fix_attempts) {
        NextFix::Issue(issue) => Ok(issue),
        NextFix::Exhausted(issue) => {
            let message = format!(
                "{} attempts to fix the issue {} have failed ({}); repair it in the working copy and call launch_validate",
                config.max_fix_attempts, issue.issue_id, issue.title
            );
            Err(exhausted(message)
                .with("reason", "max_fix_attempts")
                .with("issue_id", issue.issue_id.clone())
                .with("max_fix_attempts", config.max_fix_attempts))
        }
        NextFix::NoneFixable => {
            let open = report.issues.iter().filter(|issue| issue.is_serious()).count();
            let message = format!(
                "none of the open issues can be fixed automatically ({open} of them keep the report from being ok); repair them in the \
                 working copy and call launch_validate"
            );
            Err(exhausted(message).with("reason", "no_fixable_issue").with("open_issues", open))
        }
    }
}

/// How many attempts have failed, by issue.
fn failed_attempts(run: &dyn StageHost) -> BTreeMap<String, u32> {
    let mut failed = BTreeMap::new();
    for result in run.results(workers::FIXER) {
        if let Some(issue) = result["failed_attempt"]["issue_id"].as_str() {
            *failed.entry(issue.to_owned()).or_default() += 1;
        }
    }
    failed
}

impl Work<'_, '_> {
    fn inputs(&self) -> Result<Inputs, StageError> {
        Ok(Inputs {
            context: self.artifact(names::SITE_CONTEXT)?,
            plan: self.artifact(names::PAGE_PLAN)?,
            facts: self.artifact(names::PRODUCT_FACTS)?,
            evidence: self.artifact(names::EVIDENCE_MAP)?,
            snippets: self.artifact(names::SNIPPET_CATALOG)?,
            tools: ValidationTools {
                links: self.settings.links.clone(),
                run: self.folder().work().to_string_lossy().into_owned(),
                hugo: self.settings.hugo.clone(),
                gate_limit: Duration::from_secs(GATE_LIMIT_S),
                build_limit: Duration::from_secs(BUILD_LIMIT_S),
                scratch: self.folder().work().join("scratch"),
            },
            site: self.site(),
            repo: self.repo(),
        })
    }

    /// Runs the gates. Those that begin and end are events if `is_recorded`.
    fn report(&self, inputs: &Inputs, claims: &PageClaims, is_recorded: bool) -> Result<ValidationReport, StageError> {
        let artifacts = |name: &str| self.stage.host.artifact(name).ok().flatten();
        let input = self.gate_input(inputs, claims, &artifacts);
        let stage = self.stage;
        let host = self.stage.host;
        let mut failed = None;
        let mut open: Option<TraceContext> = None;
        let mut on_gate = |event: GateEvent<'_>| {
            let mut emit = |trace: &TraceContext, event_type: EventType, payload: Value| {
                if is_recorded && failed.is_none() {
                    failed = host.emit(trace, vec![NewEvent { event_type, payload }]).err();
                }
            };
            match event {
                GateEvent::Started(gate) => {
                    self.progress(&format!("gate {gate:?}"));
                    super::processes(stage, tool_log::take(), &stage.trace);
                    let span = host.part_began(WorkPart::Gate(&format!("{gate:?}")), &stage.trace);
                    emit(&span, EventType::GateRunStarted, json!({"gate": gate}));
                    open = Some(span);
                }
                GateEvent::Finished(result) => {
                    let span = open.take().unwrap_or_else(|| stage.trace.clone());
                    let payload = json!({"gate": result.name, "ok": result.ok, "skipped": result.skipped});
                    emit(&span, EventType::GateRunFinished, payload);
                    super::processes(stage, tool_log::take(), &span);
                    host.part_ended(&span, None);
                }
            }
        };
        let report = validator::validate(&input, &mut on_gate, self.stage.stop);
        if let Some(span) = open {
            super::processes(stage, tool_log::take(), &span);
            host.part_ended(&span, report.as_ref().err().map(|error| error.code));
        }
        failed.map_or(report, Err)
    }

    fn gate_input<'i>(
        &'i self,
        inputs: &'i Inputs,
        claims: &'i PageClaims,
        artifacts: &'i dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> GateInput<'i> {
        GateInput {
            config: &self.config,
            site: &inputs.site,
            repo: &inputs.repo,
            site_context: &inputs.context,
            plan: &inputs.plan,
            facts: &inputs.facts,
            evidence: &inputs.evidence,
            snippets: &inputs.snippets,
            claims,
            artifacts,
            tools: &inputs.tools,
        }
    }

    /// What the working copy changes now.
    fn diff(&self) -> Result<DiffReport, StageError> {
        linker::diff_report(&self.site(), &self.cloned(1)?.commit, self.stage.stop)
    }

    pub(super) fn validate(&self) -> Result<ItemOutput, StageError> {
        // What a fix has left that was never recorded isn't judged.
        self.undo_fix()?;
        let inputs = self.inputs()?;
        let claims: PageClaims = self.artifact(names::PAGE_CLAIMS)?;
        let diff = self.diff()?;
        let report = self.report(&inputs, &claims, true)?;
        self.keep_logs(&report);
        let events = self.issue_events(&inputs.plan, &report)?;
        let result = json!({"ok": report.ok, "diff_sha256": sha256hex(to_bytes(&diff))});
        let artifacts = vec![written(names::DIFF_REPORT, &diff), written(names::VALIDATION_REPORT, &report)];
        Ok(ItemOutput { artifacts, events, result })
    }

    /// Writes what the programs of failed gates have printed to the folder of logs. The report has it too, so a failure loses nothing.
    fn keep_logs(&self, report: &ValidationReport) {
        for gate in &report.gates {
            let file = self.folder().logs().join(format!("{:?}.log", gate.name));
            drop(match &gate.log {
                Some(log) => std::fs::write(&file, log),
                None => std::fs::remove_file(&file),
            });
        }
    }

    /// The issues that are new and those that are gone since the last report.
    fn issue_events(&self, plan: &PagePlan, report: &ValidationReport) -> Result<Vec<NewEvent>, StageError> {
        let open = |report: &ValidationReport| -> BTreeSet<String> {
            let open = report.issues.iter().filter(|issue| issue.status != IssueStatus::Resolved);
            open.map(|issue| issue.issue_id.clone()).collect()
        };
        let before = last_report(self.stage.host)?.as_ref().map(open).unwrap_or_default();
        let now = open(report);
        let gone = before
            .difference(&now)
            .map(|id| NewEvent { event_type: EventType::IssueResolved, payload: json!({"issue_id": id}) });
        let mut events: Vec<NewEvent> = gone.collect();
        for issue in
            report.issues.iter().filter(|issue| now.contains(&issue.issue_id) && !before.contains(&issue.issue_id))
        {
            let path = issue.location.as_ref().map(|location| location.path.as_str());
            let page = plan.pages.iter().find(|page| path == Some(page.path.as_str()));
            let mut payload = json!(issue);
            if let Some(page) = page {
                payload["section"] = page.section.clone().into();
            }
            events.push(NewEvent { event_type: EventType::IssueOpened, payload });
        }
        Ok(events)
    }

    /// Where the working copy's state before a fix is kept until the fix is recorded.
    fn journal(&self) -> PathBuf {
        self.folder().work().join("fix_journal.json")
    }

    /// Undoes what a fix has left that was never recorded.
    fn undo_fix(&self) -> Result<(), StageError> {
        fixer::roll_back(&self.site(), &self.allowed, &self.journal())
    }

    /// The last fix is recorded: it isn't undone any more.
    pub(super) fn keep_fix(&self) -> Result<(), StageError> {
        // Otherwise the next validation would undo a fix that is recorded, so the stage has to end here.
        fixer::commit(&self.journal()).map_err(|error| StageError::of_disk("storage", error.message))
    }

    pub(super) fn fix(&self) -> Result<ItemOutput, StageError> {
        self.undo_fix()?;
        let report =
            last_report(self.stage.host)?.ok_or_else(|| unexpected("there is no report to fix an issue of"))?;
        let issue = next_fix(&report, &self.config, self.stage.host)?;
        self.progress(&format!("fixing {}: {}", issue.issue_id, issue.title));
        let inputs = self.inputs()?;
        let claims: PageClaims = self.artifact(names::PAGE_CLAIMS)?;
        match self.attempt(issue, &report, &inputs, &claims) {
            Ok(Ok(proposal)) => self.fixed(issue, proposal),
            Ok(Err(why)) => {
                self.undo_fix()?;
                let attempts = failed_attempts(self.stage.host).get(&issue.issue_id).copied().unwrap_or_default() + 1;
                let failed = json!({
                    "issue_id": issue.issue_id,
                    "reason": why.code,
                    "message": why.message,
                    "attempts": attempts,
                    "max_fix_attempts": self.config.max_fix_attempts,
                });
                let result = json!({"fixed_issue_id": null, "applied_patch_ids": [], "failed_attempt": failed});
                Ok(ItemOutput { result, ..ItemOutput::default() })
            }
            Err(error) => {
                self.undo_fix()?;
                Err(error)
            }
        }
    }

    /// Tries a fix. The inner error is that of a failed attempt.
    fn attempt(
        &self,
        issue: &Issue,
        report: &ValidationReport,
        inputs: &Inputs,
        claims: &PageClaims,
    ) -> Result<Result<FixProposal, StageError>, StageError> {
        let artifacts = |name: &str| self.stage.host.artifact(name).ok().flatten();
        let input = self.gate_input(inputs, claims, &artifacts);
        let proposal = match fixer::fix(issue, &input, self.stage.stop) {
            Ok(proposal) => proposal,
            Err(error) if is_outside(&error) => return Err(error),
            Err(error) => return Ok(Err(error)),
        };
        if proposal.files.is_empty() && proposal.claims.is_none() {
            return Ok(Err(StageError::new("NO_CHANGE", "the fix would change nothing")));
        }
        match fixer::apply(&inputs.site, &self.allowed, &proposal, &self.journal()) {
            Ok(()) => {}
            Err(error) if error.code == "ALLOWED_PATHS_VIOLATION" => return Ok(Err(error)),
            Err(error) => return Err(error),
        }
        let after = self.report(inputs, proposal.claims.as_ref().unwrap_or(claims), false)?;
        Ok(match fixer::judge(report, &after, &issue.issue_id) {
            Verdict::Fixed => Ok(proposal),
            Verdict::Failed { reason, message } => Err(StageError::new(reason, message)),
        })
    }

    fn fixed(&self, issue: &Issue, proposal: FixProposal) -> Result<ItemOutput, StageError> {
        let fixes = self.stage.host.results(workers::FIXER);
        let fixes = fixes.iter().filter(|result| result["fixed_issue_id"].is_string()).count();
        // The first patch is that of all pages.
        let patch_id = format!("patch_{:03}", fixes + 2);
        let patch = PatchBundle {
            schema_version: SCHEMA_VERSION.into(),
            patch_id: patch_id.clone(),
            base_commit: self.cloned(1)?.commit,
            files: proposal.files,
        };
        let mut artifacts =
            vec![written(&format!("{patch_id}.json"), &patch), written(names::DIFF_REPORT, &self.diff()?)];
        artifacts.extend(proposal.claims.map(|claims| written(names::PAGE_CLAIMS, &claims)));
        let result = json!({
            "fixed_issue_id": issue.issue_id, "applied_patch_ids": [patch_id], "summary": proposal.summary,
        });
        Ok(ItemOutput { artifacts, events: Vec::new(), result })
    }

    pub(super) fn publish(&self) -> Result<ItemOutput, StageError> {
        self.progress("publishing the pages");
        let validated = self.stage.host.results(workers::VALIDATOR);
        let validated = validated.last().map(|result| result["diff_sha256"].clone()).unwrap_or_default();
        if validated != Value::String(sha256hex(to_bytes(&self.diff()?))) {
            let message = "the working copy has changed since its last validation; call launch_validate, then launch_open_pr again";
            let error = StageError::new("ILLEGAL_STATE", message);
            return Err(error
                .with("state", "READY_FOR_PR")
                .with("allowed", vec!["READY_FOR_PR"])
                .with("reason", "changed_since_validation"));
        }
        let inputs = self.inputs()?;
        let claims: PageClaims = self.artifact(names::PAGE_CLAIMS)?;
        let report = last_report(self.stage.host)?.ok_or_else(|| unexpected("there is no report"))?;
        let request = PublishRequest {
            config: &self.config,
            run: self.stage.run,
            site: &inputs.site,
            checkout: &self.cloned(1)?,
            product_checkout: &self.cloned(0)?,
            allowed: &self.allowed,
            checkout_settings: &self.settings.checkout_of(self.stage.workspace),
            settings: &self.settings.publication,
            plan: &inputs.plan,
            report: &report,
            evidence: &inputs.evidence,
            claims: &claims,
            facts: &inputs.facts,
        };
        let published = publication::publish(&request, self.stage.stop);
        (self.settings.on_publication)(self.stage.workspace, self.stage.run, published.as_ref());
        let published = published?;
        let result =
            json!({"pr_url": published.pr_url, "branch": published.branch, "commit_sha": published.commit_sha});
        let events = vec![NewEvent { event_type: EventType::PrOpened, payload: result.clone() }];
        Ok(ItemOutput { artifacts: vec![written(names::PULL_REQUEST, &published)], events, result })
    }
}

/// Whether an error has nothing to do with the fix.
fn is_outside(error: &StageError) -> bool {
    matches!(error.code, "CANCELLED" | "TOOLCHAIN_MISSING") || error.retryable
}
