//! `codeyard doctor`: what would serve the files here and why not, what this machine allows, how the running server is.

mod kernel;
mod running;

use serde_json::json;

use super::args::DoctorArgs;
use super::survey::{self, Survey, Surveyor, Verdict};
use super::{Failure, assemble, output, servers};
use crate::admin::client::{AdminClient, Error};
use crate::lsp::registry::Selection;
use crate::protocol::names::SERVER_VERSION;

/// Looks, and tells.
pub fn run(args: DoctorArgs) -> Result<(), Failure> {
    let missing = |error| Failure::missing(format!("{} can't be looked at: {error}", args.path.display()));
    let path = args.path.canonicalize().map_err(missing)?;
    let shelf = servers::open(&args.registry)?;
    if let Some(kind) = shelf.registry.unknown_kind(&args.server) {
        return Err(Failure::missing(format!(
            "no language server is called `{kind}`; `codeyard servers list` shows them"
        )));
    }
    let selection = Selection { chosen: args.server.clone(), ..Selection::default() };
    let surveyor = Surveyor { registry: &shelf.registry, installer: &shelf.installer, selection: &selection };
    let root = survey::root_for(&path);
    let survey =
        if path.is_dir() { surveyor.folder(&root) } else { surveyor.files(&root, std::slice::from_ref(&path), false) };
    let limits = kernel::limits();
    let state = assemble::open_state(args.registry.state.state_dir.as_deref())?;
    let client = AdminClient::new(&state.admin_socket());
    let (status, problem) = match super::runtime()?.block_on(running::ask(&client)) {
        Ok(status) => (Some(status), None),
        Err(Error::Nobody) => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let document = json!({
        "version": SERVER_VERSION, "state_dir": state.path(), "servers_dir": shelf.installer.servers_dir(),
        "files": survey, "limits": limits, "server": status, "server_problem": problem,
    });
    output::print_either(args.json, &document, || {
        let mut lines = vec![format!("codeyard {SERVER_VERSION}, state in {}", state.path().display())];
        survey_lines(&survey, &mut lines);
        lines.push("\nthis machine".to_owned());
        lines.extend(limits.iter().map(kernel::Limit::line));
        lines.push(String::new());
        match (&status, &problem) {
            (Some(status), _) => running::lines(status, &mut lines),
            (None, Some(problem)) => lines.push(problem.clone()),
            (None, None) => lines.push("no server runs here; `codeyard serve --root .` starts one".to_owned()),
        }
        lines.join("\n") + "\n"
    })
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
            let version = server.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
            let verdict = match server.verdict {
                Verdict::Serves => "serves",
                Verdict::NotNeeded => "not needed",
                Verdict::NotInstalled => "not installed",
                Verdict::Broken => "broken",
                Verdict::NotMeant => "not meant",
                Verdict::Off => "off",
            };
            lines.push(format!("    {}{version}: {verdict}; {}", server.kind, server.why));
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
}
