//! `codeyard servers`: lists, removes and locates language servers; `install.rs` installs them, `running.rs` controls those of the running
//! server.

mod install;
mod running;

use std::path::PathBuf;

use serde::Serialize;

use crate::Failure;
use crate::args::{RegistryArgs, ServersCommand};
use crate::shared::output;
use crate::shared::server_installation::{InstallContext, install_failure};
use codeyard_lsp::install::{InstallError, ProgramStatus};
use codeyard_lsp::registry::ServerRole;

pub(crate) fn run(command: ServersCommand) -> Result<(), Failure> {
    match command {
        ServersCommand::List { registry, json } => list(&InstallContext::open(&registry)?, json),
        ServersCommand::Install(args) => install::run(&args),
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
