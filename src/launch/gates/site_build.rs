//! The gate `SiteBuild`: the real Hugo builds the site, with a closed security policy.

use std::collections::BTreeSet;
use std::path::Path;

use codeyard_runs::stage::{StageError, StopFlag};
use serde_json::Value;

use super::{Finding, Scene, is_page};
use crate::hugo::{self, BuiltSite, SiteBuildOrder};
use crate::issue::{GateName, Issue, Severity};
use crate::limits::{MAX_BUILD_BYTES, MAX_PAGE_BYTES};

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
    let (input, tools) = (scene.input, scene.input.tools);
    let refused = refused_settings(scene);
    if !refused.is_empty() {
        return Ok(BuildOutcome { findings: refused, log: None, files: None });
    }
    let program = hugo::find(tools.hugo.as_deref()).ok_or_else(|| hugo::missing(&"it isn't on the PATH"))?;
    let scratch = tools.scratch.join("build");
    let order = SiteBuildOrder {
        program: &program,
        site: input.site,
        scratch: &scratch,
        limit: tools.build_limit,
        max_bytes: MAX_BUILD_BYTES,
        stop,
    };
    let built = hugo::build(&order)?;
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

/// Settings of the site by which Hugo would read files outside of it, and settings that nobody can check.
fn refused_settings(scene: &Scene<'_>) -> Vec<Finding> {
    let mut files = scene.input.site_context.config_files.clone();
    files.extend(theme_configs(scene.input.site));
    let mut findings = Vec::new();
    for file in &files {
        let path = scene.input.site.join(file);
        let found = std::fs::symlink_metadata(&path).ok().filter(std::fs::Metadata::is_file);
        let text =
            found.filter(|found| found.len() <= MAX_PAGE_BYTES).and_then(|_| std::fs::read_to_string(&path).ok());
        let Some(config) = text.and_then(|text| parsed(file, &text)) else {
            let issue = Issue::new(GateName::SiteBuild, Severity::Blocker, "UNSAFE_SETTING", Some(file), "unreadable");
            let message =
                format!("{file} can't be read, so nobody can say what it makes Hugo read; the site isn't built");
            findings.push(Finding::of(issue.with_text("The site's configuration can't be checked", message)));
            continue;
        };
        let mut outside = Vec::new();
        folders_outside(&config, "", &mut outside);
        for (key, value) in outside {
            let issue = Issue::new(GateName::SiteBuild, Severity::Blocker, "UNSAFE_SETTING", Some(file), &key);
            let message = format!("{key} = {value:?} makes Hugo read files outside of the site, so it isn't built");
            findings.push(Finding::of(issue.with_text("The site reads files outside of it", message)));
        }
    }
    findings
}

/// The configurations of the site's own themes, which Hugo reads, too.
fn theme_configs(site: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let entries = |folder: &str| {
        let read = std::fs::read_dir(site.join(folder)).into_iter().flatten().filter_map(Result::ok);
        read.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<String>>()
    };
    let is_config = |name: &str| {
        name.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "toml" | "yaml" | "yml" | "json"))
    };
    for theme in entries("themes") {
        for folder in [
            format!("themes/{theme}"),
            format!("themes/{theme}/config/_default"),
            format!("themes/{theme}/config/production"),
        ] {
            let is_top = folder.matches('/').count() == 1;
            let names = entries(&folder).into_iter().filter(|name| is_config(name));
            let names = names.filter(|name| !is_top || name.starts_with("hugo.") || name.starts_with("config."));
            found.extend(names.map(|name| format!("{folder}/{name}")));
        }
    }
    found.sort_unstable();
    found
}

fn parsed(file: &str, text: &str) -> Option<Value> {
    match file.rsplit('.').next() {
        Some("toml") => toml::from_str::<toml::Table>(text).ok().and_then(|table| serde_json::to_value(table).ok()),
        Some("json") => serde_json::from_str(text).ok(),
        _ => serde_saphyr::from_str::<Value>(text).ok(),
    }
}

/// Keys that name folders or modules, with values that lead out of the site.
fn folders_outside(config: &Value, at: &str, found: &mut Vec<(String, String)>) {
    match config {
        Value::Object(members) => {
            for (key, value) in members {
                let name = key.to_ascii_lowercase();
                // Parameters are for templates, which read no files outside of the site.
                if at.is_empty() && name == "params" {
                    continue;
                }
                let here = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                let is_folder = name.ends_with("dir")
                    || matches!(name.as_str(), "source" | "path" | "workspace" | "replacements" | "theme");
                if is_folder {
                    let texts: Vec<&str> = value
                        .as_str()
                        .into_iter()
                        .chain(value.as_array().into_iter().flatten().filter_map(Value::as_str))
                        .collect();
                    let is_outside =
                        |text: &&str| text.starts_with('/') || text.split(['/', '\\']).any(|part| part == "..");
                    found.extend(texts.into_iter().filter(is_outside).map(|text| (here.clone(), text.to_owned())));
                }
                folders_outside(value, &here, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| folders_outside(item, at, found)),
        _ => {}
    }
}
