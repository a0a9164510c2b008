//! `codeyard doctor`: diagnoses a folder (which language servers would serve its files), the limits of this machine, and the running
//! server. For one file: which server serves it, from which project root, and why the others do not.

mod builds;
mod candidate_workspaces;
mod file;
mod isolation;
mod machine_limits;
mod next_step;
mod projects;
mod running;
mod scratch_folder;

use std::path::Path;

use serde_json::{Value, json};

use self::running::ServerStatus;
use crate::Failure;
use crate::args::DoctorArgs;
use crate::shared::server_diagnosis::{
    CandidateVerdict, FolderDiagnosis, LanguageDiagnosis, ServerCandidate, ServerDiagnosis,
};
use crate::shared::server_installation::InstallContext;
use crate::shared::{assemble, output, server_diagnosis};
use codeyard_protocol::names::SERVER_VERSION;
use codeyard_server::admin::client::{AdminClient, AdminClientError};

/// Diagnoses and prints the result.
pub(crate) fn run(args: DoctorArgs) -> Result<(), Failure> {
    let shown = args.path.display();
    let missing =
        |error| Failure::missing(format!("cannot read {shown}: {error}; correct the path, or run `codeyard doctor .`"));
    let path = args.path.canonicalize().map_err(missing)?;
    if !path.is_dir() && !path.is_file() {
        return Err(Failure::missing(format!(
            "{shown} is neither a file nor a folder; pass one of these to `codeyard doctor`"
        )));
    }
    let state = assemble::open_state(args.registry.state.state_dir.as_deref())?;
    let client = AdminClient::new(&state.admin_socket());
    let (status, problem) = match crate::runtime()?.block_on(running::request_status(&client)) {
        Ok(status) => (Some(status), None),
        Err(AdminClientError::NotRunning) => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let entries = status.as_ref().and_then(|status| status.registry.as_ref());
    let context = InstallContext::open_or_running(&args.registry, entries)?;
    if let Some(kind) = context.registry.unknown_kind(&args.server) {
        return Err(Failure::missing(format!(
            "no language server is called `{kind}`; `codeyard servers list` shows the known kinds"
        )));
    }
    let registry = RegistrySource::of(&args, entries.is_some());
    let limits = machine_limits::read();
    let isolation = isolation::IsolationReport::read(&args, &state)?;
    let mut document = json!({
        "version": SERVER_VERSION, "registry": registry.name(), "state_dir": state.path(),
        "servers_dir": context.installer.servers_dir(), "limits": limits, "isolation": isolation, "server": status.as_ref().map(|status| &status.document), "server_problem": problem,
    });
    if path.is_file() {
        let report = file::report(&args, &context, &path, status.as_ref())?;
        document["file"] = json!(report);
        return output::print_json_or(args.json, &document, || {
            let mut lines = report.lines();
            lines.push(format!("  {}", registry.line()));
            match &args.registry.config {
                _ if status.is_some() || problem.is_some() => {
                    lines.extend([String::new(), server_line(status.as_ref(), problem.as_deref())]);
                }
                Some(config) => lines.extend([
                    String::new(),
                    format!("no server runs here; `codeyard serve --config {}` starts one", config.display()),
                ]),
                // The report already names the command, with the right root.
                None => {}
            }
            lines.join("\n") + "\n"
        });
    }
    let (files, cut) = server_diagnosis::files_below(&path);
    let selection = candidate_workspaces::selection_of_folder(&args, &path, status.as_ref())?;
    let diagnosis = ServerDiagnosis::of_folder(&context.registry, &context.installer, &selection, &path);
    let folder_diagnosis = diagnosis.files(&path, &files, cut);
    let builds = builds::BuildPermissions::read(&args, status.as_ref(), state.path())?;
    let known = projects::KnownState { status: status.as_ref(), builds: &builds, state: state.path() };
    let projects = projects::examine(&context.registry, &path, &files, &folder_diagnosis, &known)?;
    document["files"] = json!(folder_diagnosis);
    document["projects"] = json!(projects);
    let next_step = next_step::next_step(&folder_diagnosis, &projects, status.is_some() || problem.is_some());
    document["do_this_now"] = json!(next_step);
    output::print_json_or(args.json, &document, || {
        let mut lines =
            vec![format!("codeyard {SERVER_VERSION}, state in {}", state.path().display()), registry.line()];
        lines.extend(next_step.map(|step| format!("\ndo this now: {step}")));
        diagnosis_lines(&folder_diagnosis, &mut lines);
        projects.lines(&mut lines);
        lines.push("\nthis machine".to_owned());
        lines.extend(limits.iter().map(machine_limits::MachineLimit::line));
        isolation.lines(&mut lines);
        lines.push(String::new());
        match &status {
            Some(status) => running::lines(&status.document, &mut lines),
            None => lines.push(server_line(None, problem.as_deref())),
        }
        lines.join("\n") + "\n"
    })
}

/// Where the known languages and language servers come from.
enum RegistrySource<'a> {
    /// A configuration file that was named.
    File(&'a Path),
    /// The configuration of the running server.
    RunningServer,
    /// What codeyard brings along.
    BuiltIn,
}

impl<'a> RegistrySource<'a> {
    fn of(args: &'a DoctorArgs, is_running: bool) -> Self {
        match &args.registry.config {
            Some(file) => Self::File(file),
            None if is_running => Self::RunningServer,
            None => Self::BuiltIn,
        }
    }

    /// The value in JSON.
    fn name(&self) -> String {
        match self {
            Self::File(file) => file.display().to_string(),
            Self::RunningServer => "running_server".to_owned(),
            Self::BuiltIn => "built_in".to_owned(),
        }
    }

    fn line(&self) -> String {
        match self {
            Self::File(file) => format!("languages and servers: as configured in {}", file.display()),
            Self::RunningServer => "languages and servers: as the running server has them configured".to_owned(),
            Self::BuiltIn => {
                "languages and servers: the built-in ones; `--config FILE` adds those of a configuration".to_owned()
            }
        }
    }
}

/// One line about the running server.
fn server_line(status: Option<&ServerStatus>, problem: Option<&str>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (status, problem) {
        (Some(ServerStatus { document, .. }), _) => format!(
            "the running server is process {}, listening {}; `codeyard doctor` shows its status",
            text(&document["pid"]),
            text(&document["listen"])
        ),
        (None, Some(problem)) => problem.to_owned(),
        (None, None) => "no server runs here; `codeyard serve --root .` starts one".to_owned(),
    }
}

fn diagnosis_lines(folder_diagnosis: &FolderDiagnosis, lines: &mut Vec<String>) {
    lines.push(format!(
        "\nfiles in {}{}",
        folder_diagnosis.root.display(),
        if folder_diagnosis.cut { " (too many files; only a part was read)" } else { "" }
    ));
    if folder_diagnosis.languages.is_empty() {
        lines.push(
            "  no language with a known language server; `codeyard servers list` shows the known ones".to_owned(),
        );
    }
    let mut rest: Vec<&LanguageDiagnosis> = folder_diagnosis.languages.iter().collect();
    while let Some(first) = rest.first().copied() {
        let (same, others) = rest.into_iter().partition::<Vec<_>, _>(|language| language.servers == first.servers);
        for language in same {
            let example = language.example.display();
            lines.push(format!("  {} ({} files, such as {example})", language.language, language.files));
        }
        server_lines(&first.servers, lines);
        rest = others;
    }
    if let Some(language) = folder_diagnosis.languages.first() {
        lines.push(format!(
            "  `codeyard doctor FILE` shows which server serves one file, from which project root, and why the others are not used: `codeyard doctor {}`",
            folder_diagnosis.root.join(&language.example).display()
        ));
    }
}

/// The kinds of servers that know a language. Those that wouldn't be used are only named.
fn server_lines(servers: &[ServerCandidate], lines: &mut Vec<String>) {
    let is_unused = |server: &&ServerCandidate| {
        matches!(server.verdict, CandidateVerdict::NotNeeded | CandidateVerdict::Off | CandidateVerdict::NotMeant)
    };
    for server in servers.iter().filter(|server| !is_unused(server)) {
        lines.push(format!("    {}", verdict_line(server)));
        if !server.project_roots.is_empty() {
            let roots: Vec<String> = server.project_roots.iter().take(8).map(|at| at.display().to_string()).collect();
            let more = server.project_roots.len().saturating_sub(roots.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!("      project roots: {}{more}", roots.join(", ")));
        }
        lines.extend(server.command.iter().map(|command| format!("      next: {command}")));
    }
    let unused: Vec<&str> = servers.iter().filter(is_unused).map(|server| server.kind.as_str()).collect();
    if !unused.is_empty() {
        lines.push(format!("    not used: {}", unused.join(", ")));
    }
}

/// A kind of server with its verdict and reason.
fn verdict_line(server: &ServerCandidate) -> String {
    let version = server.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let verdict = match server.verdict {
        CandidateVerdict::Serves => "serves",
        CandidateVerdict::NotNeeded => "not needed",
        CandidateVerdict::NotInstalled => "not installed",
        CandidateVerdict::Broken => "broken",
        CandidateVerdict::NotMeant => "not applicable",
        CandidateVerdict::Off => "off",
    };
    format!("{}{version}: {verdict}; {}", server.kind, server.why)
}
