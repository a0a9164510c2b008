//! What a validation finds: issues, the report of all gates, and which issue is fixed next.
//!
//! It doesn't find or fix anything. Invariants: an issue has the same identifier in every report in which it occurs; which one is next depends on
//! the report and the failed attempts alone; a report is good if no blocker and no error is open. Source:
//! `docs/internals/reference/contract-launch.md#gates-and-fixes`.

use std::collections::BTreeMap;

use codeyard_base::digest::sha256hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::run_config::ValidationProfile;

/// The gates, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GateName {
    /// Artifacts have the form of their schemas.
    Schema,
    /// Pages are well-formed Markdown in the site's style.
    MarkdownLint,
    /// Front matter has the keys and types that the site needs.
    Frontmatter,
    /// The site's configuration knows the pages' sections and languages.
    SiteConfig,
    /// The site builds.
    SiteBuild,
    /// Links inside the site resolve.
    InternalLinks,
    /// Links out of the site resolve.
    ExternalLinks,
    /// Code samples parse.
    Snippets,
    /// Every claim has its evidence.
    TruthLock,
    /// Names, versions and commands agree between pages.
    Consistency,
    /// No token of a template is left.
    TemplateTokens,
}

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A remark.
    Info,
    /// A weakness.
    Warn,
    /// A fault.
    Error,
    /// A fault that makes the result useless.
    Blocker,
}

/// Where an issue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IssueStatus {
    /// It waits for a fix.
    Open,
    /// It is being fixed.
    InProgress,
    /// It is gone.
    Resolved,
}

/// A place in a file of the site.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct IssueLocation {
    /// The path, relative to the top of the site.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
}

/// One finding of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    /// `iss_` and 12 hexadecimal digits.
    pub issue_id: String,
    /// The gate that found it.
    pub gate: GateName,
    /// How bad it is.
    pub severity: Severity,
    /// What it is, in a few words.
    pub title: String,
    /// What is wrong, with the value, and what to do.
    pub message: String,
    /// What kind of fault it is, in capital letters.
    pub error_code: String,
    /// Where it stands.
    pub status: IssueStatus,
    /// Where it is; `None` if it concerns the whole site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<IssueLocation>,
    /// What a fix would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
    /// Whether there is a fix.
    pub fixable: bool,
}

/// How a gate ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// The gate.
    pub name: GateName,
    /// Whether it has found no blocker and no error.
    pub ok: bool,
    /// Why it didn't run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The last lines of the program that it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// The report of one validation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationReport {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// Whether no blocker and no error is open.
    pub ok: bool,
    /// Which gates ran.
    pub profile: ValidationProfile,
    /// The gates, in their order.
    pub gates: Vec<GateResult>,
    /// The issues: by gate, path, line and identifier.
    pub issues: Vec<Issue>,
}

/// Which issue is fixed next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextFix<'r> {
    /// This one.
    Issue(&'r Issue),
    /// The next one has had all its attempts.
    Exhausted(&'r Issue),
    /// No open issue can be fixed.
    NoneFixable,
}

impl Issue {
    /// An open issue. Its identifier depends on the gate, the code, the path and `subject`, which tells equal faults of one file apart: not on the
    /// line, which other fixes move.
    pub fn new(gate: GateName, severity: Severity, error_code: &str, path: Option<&str>, subject: &str) -> Self {
        let identity = format!("{gate:?}\n{error_code}\n{}\n{subject}", path.unwrap_or_default());
        Self {
            issue_id: format!("iss_{}", &sha256hex(identity)[..12]),
            gate,
            severity,
            title: String::new(),
            message: String::new(),
            error_code: error_code.to_owned(),
            status: IssueStatus::Open,
            location: path.map(|path| IssueLocation { path: path.to_owned(), line: 1 }),
            suggested_fix: None,
            fixable: false,
        }
    }

    /// With its texts.
    #[must_use]
    pub fn with_text(mut self, title: &str, message: impl Into<String>) -> Self {
        (self.title, self.message) = (title.to_owned(), message.into());
        self
    }

    /// With its line, from 1. Has no effect on an issue without a path.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Self {
        if let Some(location) = &mut self.location {
            location.line = line;
        }
        self
    }

    /// With a fix, described as what it does.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        (self.fixable, self.suggested_fix) = (true, Some(fix.into()));
        self
    }

    /// Whether it keeps the report from being good.
    pub fn is_serious(&self) -> bool {
        self.status != IssueStatus::Resolved && self.severity >= Severity::Error
    }

    /// The order of issues of one severity.
    pub(crate) fn place(&self) -> (GateName, &str, u32, &str) {
        let (path, line) = self.location.as_ref().map_or(("", 0), |location| (location.path.as_str(), location.line));
        (self.gate, path, line, &self.issue_id)
    }
}

impl ValidationReport {
    /// The report of these gates and issues, in its order and without repetitions.
    pub fn new(profile: ValidationProfile, mut gates: Vec<GateResult>, mut issues: Vec<Issue>) -> Self {
        issues.sort_by(|one, other| one.place().cmp(&other.place()));
        // The first of equal faults stands for all of them: a fix removes them together.
        let mut seen = std::collections::BTreeSet::new();
        issues.retain(|issue| seen.insert(issue.issue_id.clone()));
        gates.sort_by_key(|gate| gate.name);
        for gate in &mut gates {
            gate.ok = !issues.iter().any(|issue| issue.gate == gate.name && issue.is_serious());
        }
        let ok = !issues.iter().any(Issue::is_serious);
        Self { schema_version: "1.0".into(), ok, profile, gates, issues }
    }

    /// How many open issues are blockers.
    pub fn open_blockers(&self) -> usize {
        self.issues.iter().filter(|issue| issue.severity == Severity::Blocker && issue.is_serious()).count()
    }

    /// The issue to fix next: blockers before errors before warnings before remarks, then in the order of the report. `failed` counts the failed
    /// attempts by issue, of which each may have `max_attempts`.
    pub fn next_fix(&self, failed: &BTreeMap<String, u32>, max_attempts: u32) -> NextFix<'_> {
        let fixable = self.issues.iter().filter(|issue| issue.fixable && issue.status == IssueStatus::Open);
        let next = fixable
            .min_by(|one, other| other.severity.cmp(&one.severity).then_with(|| one.place().cmp(&other.place())));
        match next {
            None => NextFix::NoneFixable,
            Some(issue) if failed.get(&issue.issue_id).copied().unwrap_or_default() >= max_attempts => {
                NextFix::Exhausted(issue)
            }
            Some(issue) => NextFix::Issue(issue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(gate: GateName, severity: Severity, path: &str, line: u32) -> Issue {
        Issue::new(gate, severity, "CODE", Some(path), &line.to_string()).at_line(line).with_fix("do it")
    }

    fn report(issues: Vec<Issue>) -> ValidationReport {
        let gates = [GateName::TruthLock, GateName::Schema]
            .map(|name| GateResult { name, ok: true, skipped: None, log: None })
            .to_vec();
        ValidationReport::new(ValidationProfile::Local, gates, issues)
    }

    #[test]
    fn the_next_issue_is_the_worst_then_the_first_in_the_order_of_gates() {
        let expected = [
            issue(GateName::TruthLock, Severity::Blocker, "a.md", 1),
            issue(GateName::Schema, Severity::Error, "b.md", 9),
            issue(GateName::MarkdownLint, Severity::Error, "a.md", 2),
            issue(GateName::MarkdownLint, Severity::Error, "a.md", 10),
            issue(GateName::MarkdownLint, Severity::Error, "b.md", 1),
            issue(GateName::Schema, Severity::Warn, "a.md", 1),
            issue(GateName::Schema, Severity::Info, "a.md", 3),
        ];
        // Whatever order the gates report in, and whatever was fixed before.
        for rotation in 0..expected.len() {
            let mut left = expected.to_vec();
            left.rotate_left(rotation);
            for wanted in &expected {
                let report = report(left.clone());
                assert_eq!(report.next_fix(&BTreeMap::new(), 3), NextFix::Issue(wanted));
                left.retain(|issue| issue != wanted);
            }
            assert_eq!(report(left).next_fix(&BTreeMap::new(), 3), NextFix::NoneFixable);
        }
    }

    #[test]
    fn issues_without_a_fix_and_resolved_ones_are_passed_over() {
        let unfixable = Issue::new(GateName::Schema, Severity::Blocker, "CODE", None, "");
        let mut resolved = issue(GateName::Schema, Severity::Blocker, "a.md", 1);
        resolved.status = IssueStatus::Resolved;
        let open = issue(GateName::Schema, Severity::Info, "a.md", 2);
        let all = report(vec![unfixable, resolved, open.clone()]);
        assert_eq!(all.next_fix(&BTreeMap::new(), 3), NextFix::Issue(&open));
        assert_eq!(all.next_fix(&BTreeMap::from([(open.issue_id.clone(), 3)]), 3), NextFix::Exhausted(&open));
        assert_eq!(all.next_fix(&BTreeMap::from([(open.issue_id.clone(), 2)]), 3), NextFix::Issue(&open));
        assert_eq!((all.ok, all.open_blockers()), (false, 1));
    }

    #[test]
    fn a_report_is_good_without_serious_issues() {
        assert!(report(Vec::new()).ok);
        assert!(report(vec![issue(GateName::Schema, Severity::Warn, "a.md", 1)]).ok);
        let bad = report(vec![issue(GateName::Schema, Severity::Error, "a.md", 1)]);
        assert!(!bad.ok);
        let gates: Vec<(GateName, bool)> = bad.gates.iter().map(|gate| (gate.name, gate.ok)).collect();
        assert_eq!(gates, [(GateName::Schema, false), (GateName::TruthLock, true)]);
    }

    #[test]
    fn identifiers_survive_moved_lines_and_other_texts() {
        let one = Issue::new(GateName::Schema, Severity::Error, "DEAD_LINK", Some("a.md"), "x.md").at_line(3);
        let moved = Issue::new(GateName::Schema, Severity::Error, "DEAD_LINK", Some("a.md"), "x.md")
            .at_line(9)
            .with_text("T", "M");
        let other = Issue::new(GateName::Schema, Severity::Error, "DEAD_LINK", Some("a.md"), "y.md");
        assert_eq!(one.issue_id, moved.issue_id);
        assert_ne!(one.issue_id, other.issue_id);
        assert_eq!(
            report(vec![moved.clone(), one.clone()]).issues,
            [one],
            "equal faults are one issue, at their first line"
        );
    }

    #[test]
    fn the_wire_form_is_that_of_the_contract() {
        let value = serde_json::to_value(issue(GateName::TruthLock, Severity::Blocker, "a.md", 1)).unwrap();
        assert_eq!((value["gate"].as_str(), value["severity"].as_str()), (Some("TruthLock"), Some("blocker")));
        assert_eq!((value["status"].as_str(), value["location"]["line"].as_u64()), (Some("OPEN"), Some(1)));
        let id = value["issue_id"].as_str().unwrap();
        assert!(id.len() == 16 && id.starts_with("iss_"), "{id}");
    }
}
