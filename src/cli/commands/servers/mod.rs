//! `codeyard servers`: lists, installs, removes and locates language servers; `running.rs` controls those of the running server.

mod running;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Failure;
use crate::args::{RegistryArgs, ServersCommand};
use crate::shared::output;
use crate::shared::server_diagnosis::{self, ServerDiagnosis};
use crate::shared::server_installation::{InstallContext, install_failure, install_kinds};
use codeyard_lsp::install::{InstallError, ProgramStatus};
use codeyard_lsp::registry::{InstallSource, ServerRole, ServerSelection};

pub(crate) fn run(command: ServersCommand) -> Result<(), Failure> {
    match command {
        ServersCommand::List { registry, json } => list(&InstallContext::open(&registry)?, json),
        ServersCommand::Install { kinds, for_path, yes, dry_run, registry, json } => {
            let consent = Consent::of(yes, dry_run);
            install(&InstallContext::open(&registry)?, kinds, for_path.as_deref(), consent, json)
        }
        ServersCommand::Uninstall { kinds, state } => {
            uninstall(&InstallContext::open(&RegistryArgs { config: None, state })?, &kinds)
        }
        ServersCommand::Running { state, json } => running::list(&state, json),
        ServersCommand::Restart(args) => running::restart(&args),
        ServersCommand::Stop(args) => running::stop(&args),
        ServersCommand::Path { kind, registry } => path(&InstallContext::open(&registry)?, kind.as_deref()),
    }
}

/// One row of `servers list`; the JSON output has these keys.
#[derive(Debug, Serialize)]
struct ServerRow<'a> {
    kind: &'a str,
    languages: &'a [String],
    group: &'a str,
    role: ServerRole,
    available: bool,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    tested: bool,
    description: &'a str,
}

fn list(context: &InstallContext, json: bool) -> Result<(), Failure> {
    let kinds = context.registry.servers.keys();
    let rows: Vec<ServerRow<'_>> = kinds.filter_map(|kind| row(context, kind)).collect();
    output::print_json_or(json, &rows, || {
        let cells = |row: &ServerRow<'_>| {
            let last = match (&row.command, &row.why) {
                (Some(command), Some(why)) => format!("{command} ({why})"),
                (Some(command), None) => command.clone(),
                (None, _) => row.version.clone().unwrap_or_default(),
            };
            vec![row.kind.to_owned(), row.state.to_owned(), row.languages.join(","), last]
        };
        let head = ["KIND", "STATE", "LANGUAGES", "VERSION OR NEXT STEP"].map(str::to_owned).to_vec();
        let all: Vec<Vec<String>> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
        output::columns(&all)
    })
}

fn row<'a>(context: &'a InstallContext, kind: &str) -> Option<ServerRow<'a>> {
    let (kind, server) = context.registry.servers.get_key_value(kind)?;
    let mut row = ServerRow {
        kind,
        languages: &server.languages,
        group: &server.group,
        role: server.role,
        available: false,
        state: "missing",
        version: None,
        program: None,
        command: None,
        why: None,
        tested: server.tested,
        description: &server.description,
    };
    match context.installer.locate(kind, server, None) {
        ProgramStatus::Ready(program) => {
            row.available = true;
            row.state = match program.source {
                codeyard_lsp::install::ProgramSource::Installed => "installed",
                codeyard_lsp::install::ProgramSource::Path => "on the PATH",
                codeyard_lsp::install::ProgramSource::Configured => "configured",
                codeyard_lsp::install::ProgramSource::Builtin => "built in",
            };
            row.version = program.version;
            row.program = Some(program.program);
        }
        ProgramStatus::NotInstalled { command } => row.command = Some(command),
        ProgramStatus::Broken { why, command } => {
            row.state = "broken";
            (row.command, row.why) = (Some(command), Some(why));
        }
    }
    Some(row)
}

/// Whether the person agrees to what would be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// Not asked yet.
    Ask,
    /// `--yes`, or a script that nobody can answer for.
    Given,
    /// `--dry-run`: install nothing.
    DryRun,
}

impl Consent {
    fn of(yes: bool, dry_run: bool) -> Self {
        match () {
            () if dry_run => Self::DryRun,
            () if yes || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() => Self::Given,
            () => Self::Ask,
        }
    }
}

/// Shows the kinds with their sources and sizes.
fn show_plan(context: &InstallContext, kinds: &[String]) {
    let mut total = 0;
    let mut unknown = 0;
    for kind in kinds {
        let Some(server) = context.registry.servers.get(kind) else { continue };
        let size = match server.installed_mib {
            0 => "size unknown".to_owned(),
            size => format!("{size} MiB"),
        };
        total += server.installed_mib;
        unknown += u32::from(server.installed_mib == 0);
        let source = server.install.as_ref().map_or_else(String::new, install_source);
        output::eprint_line(format_args!("  {kind:<28} {size:>12}  {source}"));
    }
    let count =
        if kinds.len() == 1 { "1 language server".to_owned() } else { format!("{} language servers", kinds.len()) };
    let unknown = if unknown == 0 { String::new() } else { format!(" and {unknown} of unknown size") };
    output::eprint_line(format_args!("{count}, about {total} MiB on disk{unknown}"));
}

fn install_source(source: &InstallSource) -> String {
    let Some(packages) = source.packages() else { return String::new() };
    let compiled = if packages.are_compiled { ", compiled here" } else { "" };
    format!("{}{compiled}: {}", packages.registry, packages.names.join(" "))
}

fn is_confirmed() -> Result<bool, Failure> {
    eprint!("Install? [Y/n] ");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| Failure::new(format!("no answer: {error}; pass --yes")))?;
    // An end of the input is no answer.
    Ok(line.ends_with('\n') && matches!(line.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

fn install(
    context: &InstallContext,
    mut kinds: Vec<String>,
    for_path: Option<&Path>,
    consent: Consent,
    json: bool,
) -> Result<(), Failure> {
    if let Some(path) = for_path {
        kinds.extend(needed_kinds(context, path)?);
    }
    if !kinds.is_empty() && (for_path.is_some() || consent == Consent::DryRun) {
        show_plan(context, &kinds);
        if consent == Consent::DryRun || consent == Consent::Ask && !is_confirmed()? {
            output::eprint_line(format_args!(
                "nothing was installed; `codeyard servers install KIND` installs one of them"
            ));
            return Ok(());
        }
    }
    if kinds.is_empty() {
        output::eprint_line(format_args!(
            "nothing to install; `codeyard doctor PATH` shows which servers serve the files there"
        ));
    }
    let mut done = Vec::new();
    let mut failed = Vec::new();
    let count = kinds.len();
    for (number, kind) in kinds.into_iter().enumerate() {
        if count > 1 {
            output::eprint_line(format_args!("{} of {count}: {kind}", number + 1));
        }
        match install_kinds(context, std::slice::from_ref(&kind)) {
            Ok(installed) => done.extend(installed),
            Err(error) => failed.push(error),
        }
    }
    if json {
        let shown: Vec<serde_json::Value> = done
            .iter()
            .map(|one| serde_json::json!({"kind": one.kind, "version": one.version, "folder": one.folder}))
            .collect();
        output::print_json(&shown)?;
    }
    // All kinds are tried. The exit code is that of the first failure.
    let code = failed.first().map(|error| install_failure(error).code);
    let messages: Vec<String> = failed.iter().map(|error| install_failure(error).message).collect();
    code.map_or(Ok(()), |code| Err(Failure { message: messages.join("\n"), code }))
}

/// The kinds that the files at a path need and that are not installed.
fn needed_kinds(context: &InstallContext, path: &Path) -> Result<Vec<String>, Failure> {
    let path = path.canonicalize().map_err(|error| {
        Failure::missing(format!("cannot read {}: {error}; check the path given to --for", path.display()))
    })?;
    let selection = ServerSelection::default();
    let root = server_diagnosis::root_for(&path);
    let diagnosis = ServerDiagnosis::of_folder(&context.registry, &context.installer, &selection, &root);
    let folder_diagnosis = if path.is_dir() {
        diagnosis.folder(&root)
    } else {
        diagnosis.files(&root, std::slice::from_ref(&path), false)
    };
    let missing = folder_diagnosis.missing().into_iter();
    Ok(missing.filter(|kind| is_installable(context, kind)).collect())
}

/// Whether codeyard can install the kind. Prints what to do where it cannot.
fn is_installable(context: &InstallContext, kind: &str) -> bool {
    match context.registry.servers.get(kind).and_then(|server| server.install.as_ref()) {
        Some(InstallSource::Manual { hint }) => {
            output::eprint_line(format_args!("{kind}: {hint}"));
            false
        }
        Some(_) => true,
        None => {
            output::eprint_line(format_args!("{kind}: codeyard cannot install it; put its program on the PATH"));
            false
        }
    }
}

fn uninstall(context: &InstallContext, kinds: &[String]) -> Result<(), Failure> {
    for kind in kinds {
        if !context.installer.uninstall(kind).map_err(|error| install_failure(&error))? {
            return Err(Failure::missing(format!(
                "{kind} is not installed; `codeyard servers list` shows which kinds are"
            )));
        }
        output::eprint_line(format_args!("{kind}: removed"));
    }
    Ok(())
}

fn path(context: &InstallContext, kind: Option<&str>) -> Result<(), Failure> {
    let Some(kind) = kind else {
        return output::print(format_args!("{}\n", context.installer.servers_dir().display()));
    };
    let server = context
        .registry
        .servers
        .get(kind)
        .ok_or_else(|| install_failure(&InstallError::UnknownKind(kind.to_owned())))?;
    match context.installer.locate(kind, server, None) {
        ProgramStatus::Ready(program) => output::print(format_args!("{}\n", program.program.display())),
        ProgramStatus::NotInstalled { command } => {
            Err(Failure::missing(format!("{kind} is not installed; run `{command}`")))
        }
        ProgramStatus::Broken { why, command } => {
            Err(Failure::new(format!("{kind} is installed but does not work: {why}\n  next: {command}")))
        }
    }
}
