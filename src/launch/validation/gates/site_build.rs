//! The gate `SiteBuild`: the real Hugo builds the site, with a closed security policy.

use std::collections::BTreeSet;

use codeyard_runs::stage::{StageError, StopFlag};

use super::build_settings::{self, RefusedSetting};
use super::{Finding, Scene, is_page};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::site::hugo::{self, BuiltSite, SiteBuildOrder};

/// Size of a built site, in bytes.
const MAX_BUILD_BYTES: u64 = 1024 * 1024 * 1024;

/// Lines of Hugo's output that a report shows.
const LOG_LINES: usize = 20;

/// What the gate has found.
pub(crate) struct BuildOutcome {
    pub(crate) findings: Vec<Finding>,
    /// The last lines of Hugo's output.
    pub(crate) log: Option<String>,
    /// The files of the built site.
    pub(crate) files: Option<BTreeSet<String>>,
}

/// Builds the site.
///
/// # Errors
/// `TOOLCHAIN_MISSING` without Hugo, `CANCELLED` if it was stopped.
pub(crate) fn run(scene: &Scene<'_>, stop: &StopFlag) -> Result<BuildOutcome, StageError> {
    let input = scene.input;
    let tools = scene.input.tools;
    let refused = refused_settings(scene);
    if !refused.is_empty() {
        return Ok(BuildOutcome { findings: refused, log: None, files: None });
    }
    let scratch = tools.scratch.join("build");
    let no_hugo = |why: String| if stop.is_set() { StageError::cancelled() } else { hugo::missing(&why) };
    let found = hugo::find(tools.hugo.as_deref(), &|| scene.stop.is_set()).map_err(no_hugo);
    let built = found.and_then(|program| {
        hugo::build(&SiteBuildOrder {
            program: &program,
            site: input.site,
            scratch: &scratch,
            limit: tools.build_limit,
            max_bytes: MAX_BUILD_BYTES,
            // The copy of the site counts too.
            stop: &scene.stop,
        })
    });
    let built = match built {
        Err(_) if scene.stop.is_set() && !stop.is_set() => BuiltSite::over_time(tools.build_limit),
        built => built?,
    };
    let _ = std::fs::remove_dir_all(&scratch);
    let lines: Vec<&str> = built.output.lines().filter(|line| !line.trim().is_empty()).collect();
    let log = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    let findings = findings(scene, &built);
    let files = built.ok.then(|| built.files.into_iter().collect());
    // Durations differ from build to build.
    let log: Vec<&str> =
        log.lines().filter(|line| !line.contains("Total in ") && !line.starts_with("hugo v")).collect();
    let log = (!built.ok).then(|| log.join("\n"));
    Ok(BuildOutcome { findings, log, files })
}

fn findings(scene: &Scene<'_>, built: &BuiltSite) -> Vec<Finding> {
    let issue = |severity: Severity, code: &str, path: Option<&str>, subject: &str| {
        Issue::new(GateName::SiteBuild, severity, code, path, subject)
    };
    if let Some(why) = &built.ended {
        let code = if why.contains("longer than") { "GATE_TIMEOUT" } else { "BUILD_TOO_LARGE" };
        let message = format!("{why}; look at the templates of the site");
        return vec![Finding::of(issue(Severity::Blocker, code, None, "").with_text("The build was ended", message))];
    }
    let mut findings = Vec::new();
    for line in built.output.lines() {
        let severity = match line.trim_start() {
            line if line.starts_with("ERROR") || line.starts_with("Error:") => Severity::Blocker,
            line if line.starts_with("WARN") => Severity::Warn,
            _ => continue,
        };
        let page = scene.diff.files.iter().find(|file| is_page(&file.path) && line.contains(&file.path));
        let path = page.map(|page| page.path.as_str());
        // What the site's own pages and templates warn about isn't the run's.
        if severity == Severity::Warn && path.is_none() {
            continue;
        }
        let code = if severity == Severity::Blocker { "BUILD_FAILED" } else { "BUILD_WARNING" };
        let subject: String = line.chars().filter(|c| !c.is_ascii_digit()).take(200).collect();
        let at = path.and_then(|path| line_after(line, path)).unwrap_or(1);
        let shown: String = line.trim().chars().take(500).collect();
        let issue = issue(severity, code, path, &subject).at_line(at).with_text("Hugo reports a fault", shown);
        findings.push(Finding::of(issue));
    }
    if !built.ok && !findings.iter().any(|finding| finding.issue.severity == Severity::Blocker) {
        let message = "Hugo ended with an error; the log of the gate has its last lines";
        findings.push(Finding::of(
            issue(Severity::Blocker, "BUILD_FAILED", None, "").with_text("The site can't be built", message),
        ));
    }
    findings
}

/// The number after `path:`.
fn line_after(line: &str, path: &str) -> Option<u32> {
    let rest = &line[line.find(path)? + path.len()..];
    let digits: String = rest.strip_prefix(':')?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|line| *line > 0)
}

/// Settings of the site that it isn't built with.
fn refused_settings(scene: &Scene<'_>) -> Vec<Finding> {
    let refused = build_settings::refused(scene.input.site).into_iter();
    let findings = refused.map(|RefusedSetting { file, key, reason }| {
        let issue = Issue::new(GateName::SiteBuild, Severity::Blocker, "UNSAFE_SETTING", Some(&file), &key);
        let message = format!("{file}: {reason}; the site isn't built");
        Finding::of(issue.with_text("A setting of the site leads out of it", message))
    });
    findings.collect()
}
