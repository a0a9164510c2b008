//! `codeyard doctor`: what would serve the files here and why not, what this machine allows, how the running server is. For one
//! file: which server serves it, from which project root, and why not the others.

mod file;
mod kernel;
mod places;
mod running;

use std::path::Path;

use serde_json::{Value, json};

use self::running::Status;
use super::args::DoctorArgs;
use super::servers::{self, Shelf};
use super::survey::{Candidate, Survey, Surveyor, Verdict};
use super::{Failure, assemble, output};
use codeyard_lsp::registry::Selection;
use codeyard_protocol::names::SERVER_VERSION;
use codeyard_server::admin::client::{AdminClient, Error};

/// Looks, and tells.
pub(crate) fn run(args: DoctorArgs) -> Result<(), Failure> {
    let shown = args.path.display();
    let missing = |error| {
        Failure::missing(format!("{shown} can't be looked at: {error}; correct the path, or `codeyard doctor .`"))
    };
    let path = args.path.canonicalize().map_err(missing)?;
    if !path.is_dir() && !path.is_file() {
        return Err(Failure::missing(format!("{shown} is neither a file nor a folder; name one to `codeyard doctor`")));
    }
    let shelf = servers::open(&args.registry)?;
    if let Some(kind) = shelf.registry.unknown_kind(&args.server) {
        return Err(Failure::missing(format!(
            "no language server is called `{kind}`; `codeyard servers list` shows them"
        )));
    }
    let state = assemble::open_state(args.registry.state.state_dir.as_deref())?;
    let client = AdminClient::new(&state.admin_socket());
    let (status, problem) = match super::runtime()?.block_on(running::ask(&client)) {
        Ok(status) => (Some(status), None),
        Err(Error::Nobody) => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let limits = kernel::limits();
    let mut document = json!({
        "version": SERVER_VERSION, "state_dir": state.path(), "servers_dir": shelf.installer.servers_dir(),
        "limits": limits, "server": status.as_ref().map(|status| &status.document), "server_problem": problem,
    });
    if path.is_file() {
        let report = file::report(&args, &shelf, &path, status.as_ref())?;
        document["file"] = json!(report);
        return output::print_either(args.json, &document, || {
            let mut lines = report.lines();
            match &args.registry.config {
                _ if status.is_some() || problem.is_some() => {
                    lines.extend([String::new(), server_line(status.as_ref(), problem.as_deref())]);
                }
                Some(config) => lines.extend([
                    String::new(),
                    format!("no server runs here; `codeyard serve --config {}` starts one", config.display()),
                ]),
                // The report says it, with the root that fits.
                None => {}
            }
            lines.join("\n") + "\n"
        });
    }
    let survey = survey_of(&args, &shelf, &path);
    document["files"] = json!(survey);
    output::print_either(args.json, &document, || {
        let mut lines = vec![format!("codeyard {SERVER_VERSION}, state in {}", state.path().display())];
        survey_lines(&survey, &mut lines);
        lines.push("\nthis machine".to_owned());
        lines.extend(limits.iter().map(kernel::Limit::line));
        lines.push(String::new());
        match &status {
            Some(status) => running::lines(&status.document, &mut lines),
            None => lines.push(server_line(None, problem.as_deref())),
        }
        lines.join("\n") + "\n"
    })
}

fn survey_of(args: &DoctorArgs, shelf: &Shelf, folder: &Path) -> Survey {
    let selection = Selection { chosen: args.server.clone(), ..Selection::default() };
    Surveyor::of_folder(&shelf.registry, &shelf.installer, &selection, folder).folder(folder)
}

/// One line about the running server.
fn server_line(status: Option<&Status>, problem: Option<&str>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (status, problem) {
        (Some(Status { document, .. }), _) => format!(
            "the server that runs is process {}, listening {}; `codeyard doctor` tells how it is",
            text(&document["pid"]),
            text(&document["listen"])
        ),
        (None, Some(problem)) => problem.to_owned(),
        (None, None) => "no server runs here; `codeyard serve --root .` starts one".to_owned(),
    }
}

fn survey_lines(survey: &Survey, lines: &mut Vec<String>) {
    lines.push(format!("\nfiles in {}{}", survey.root.display(), if survey.cut { " (not all looked at)" } else { "" }));
    if survey.languages.is_empty() {
        lines.push("  nothing that a language server knows; `codeyard servers list` shows what is known".to_owned());
    }
    for language in &survey.languages {
        let example = language.example.display();
        lines.push(format!("  {} ({} files, such as {example})", language.language, language.files));
        for server in &language.servers {
            lines.push(format!("    {}", verdict_line(server)));
            if !server.project_roots.is_empty() {
                let roots: Vec<String> =
                    server.project_roots.iter().take(8).map(|at| at.display().to_string()).collect();
                let more = server.project_roots.len().saturating_sub(roots.len());
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                lines.push(format!("      project roots: {}{more}", roots.join(", ")));
            }
            lines.extend(server.command.iter().map(|command| format!("      next: {command}")));
        }
    }
    if let Some(language) = survey.languages.first() {
        lines.push(format!(
            "  `codeyard doctor FILE` shows for one file who serves it, from which project root: `codeyard doctor {}`",
            survey.root.join(&language.example).display()
        ));
    }
}

/// A kind with its verdict.
fn verdict_line(server: &Candidate) -> String {
    let version = server.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let verdict = match server.verdict {
        Verdict::Serves => "serves",
        Verdict::NotNeeded => "not needed",
        Verdict::NotInstalled => "not installed",
        Verdict::Broken => "broken",
        Verdict::NotMeant => "not meant",
        Verdict::Off => "off",
    };
    format!("{}{version}: {verdict}; {}", server.kind, server.why)
}
