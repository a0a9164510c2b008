//! `codeyard servers`: what kinds of language servers there are, and putting them where codeyard finds them.

use std::cell::Cell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::{RegistryArgs, ServersCommand};
use super::survey::{self, Surveyor};
use super::{Failure, assemble, output, running};
use codeyard_lsp::install::{Error, Installer, Located, Progress, Step};
use codeyard_lsp::registry::{Registry, Role, Selection};

/// Between two lines of progress where lines can't be overwritten, in seconds.
const LINE_EVERY_S: u64 = 10;

/// Lists, installs, removes or finds.
pub fn run(command: ServersCommand) -> Result<(), Failure> {
    match command {
        ServersCommand::List { registry, json } => list(&open(&registry)?, json),
        ServersCommand::Install { kinds, for_path, registry, json } => {
            install(&open(&registry)?, kinds, for_path.as_deref(), json)
        }
        ServersCommand::Uninstall { kinds, state } => uninstall(&open(&RegistryArgs { config: None, state })?, &kinds),
        ServersCommand::Running { state, json } => running::list(&state, json),
        ServersCommand::Restart(args) => running::restart(&args),
        ServersCommand::Stop(args) => running::stop(&args),
        ServersCommand::Path { kind, registry } => path(&open(&registry)?, kind.as_deref()),
    }
}

/// A registry, and the installer of a state directory.
pub struct Shelf {
    /// The registry, the configuration's entries laid over it.
    pub registry: Registry,
    /// The installer.
    pub installer: Installer,
}

/// Opens what the flags name.
pub fn open(args: &RegistryArgs) -> Result<Shelf, Failure> {
    let state = assemble::open_state(args.state.state_dir.as_deref())?;
    let registry = match &args.config {
        Some(file) => assemble::registry_of(&assemble::read_config(file)?)?,
        None => Registry::builtin(),
    };
    Ok(Shelf { registry, installer: assemble::installer(&state) })
}

/// Installs kinds and tells progress on standard error.
pub fn install_kinds(shelf: &Shelf, kinds: &[String]) -> Result<Vec<codeyard_lsp::install::Installed>, Error> {
    let terminal = std::io::stderr().is_terminal();
    let last = Cell::new(None);
    shelf.installer.install(&shelf.registry, kinds, &|progress| {
        let running = matches!(progress.step, Step::Fetching { .. });
        let slot = progress.elapsed.as_secs() / LINE_EVERY_S;
        // Where lines can't be overwritten a running step is told now and then.
        if terminal || !running || last.replace(Some(slot)) != Some(slot) {
            tell(&progress, terminal && running, terminal);
        }
    })
}

/// An installer's error as a failure of the command.
pub fn failure(error: &Error) -> Failure {
    let message = error.to_string();
    match error {
        Error::UnknownKind(_) => Failure::missing(message),
        Error::Failed { kind, .. } | Error::Unusable { kind, .. } => {
            Failure::new(format!("{message}\nthen `codeyard servers install {kind}` again"))
        }
        _ => Failure::new(message),
    }
}

/// One row of `servers list`.
#[derive(Debug, Serialize)]
struct Row<'a> {
    kind: &'a str,
    languages: &'a [String],
    group: &'a str,
    role: Role,
    available: bool,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    tested: bool,
    description: &'a str,
}

fn list(shelf: &Shelf, json: bool) -> Result<(), Failure> {
    let kinds = shelf.registry.servers.keys();
    let rows: Vec<Row<'_>> = kinds.filter_map(|kind| row(shelf, kind)).collect();
    output::print_either(json, &rows, || {
        let cells = |row: &Row<'_>| {
            let last = row.command.clone().unwrap_or_else(|| row.version.clone().unwrap_or_default());
            vec![row.kind.to_owned(), row.state.to_owned(), row.languages.join(","), last]
        };
        let head = ["KIND", "STATE", "LANGUAGES", "VERSION OR NEXT STEP"].map(str::to_owned).to_vec();
        let all: Vec<Vec<String>> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
        output::columns(&all)
    })
}

fn row<'a>(shelf: &'a Shelf, kind: &str) -> Option<Row<'a>> {
    let (kind, server) = shelf.registry.servers.get_key_value(kind)?;
    let mut row = Row {
        kind,
        languages: &server.languages,
        group: &server.group,
        role: server.role,
        available: false,
        state: "missing",
        version: None,
        program: None,
        command: None,
        tested: server.tested,
        description: &server.description,
    };
    match shelf.installer.locate(kind, server, None) {
        Located::Ready(program) => {
            row.available = true;
            row.state = match program.source {
                codeyard_lsp::install::Source::Installed => "installed",
                codeyard_lsp::install::Source::Path => "on the PATH",
                codeyard_lsp::install::Source::Configured => "configured",
                codeyard_lsp::install::Source::Builtin => "built in",
            };
            row.version = program.version;
            row.program = Some(program.program);
        }
        Located::NotInstalled { command } => row.command = Some(command),
        Located::Broken { why } => {
            row.state = "broken";
            row.command = Some(why);
        }
    }
    Some(row)
}

fn install(shelf: &Shelf, mut kinds: Vec<String>, for_path: Option<&Path>, json: bool) -> Result<(), Failure> {
    if let Some(path) = for_path {
        kinds.extend(called_for(shelf, path)?);
    }
    if kinds.is_empty() {
        eprintln!("nothing is missing; `codeyard doctor PATH` shows what serves the files there");
    }
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for kind in kinds {
        match install_kinds(shelf, std::slice::from_ref(&kind)) {
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
    // Each is tried; the first code stands for all.
    let code = failed.first().map(|error| failure(error).code);
    let messages: Vec<String> = failed.iter().map(|error| failure(error).message).collect();
    code.map_or(Ok(()), |code| Err(Failure { message: messages.join("\n"), code }))
}

/// What the files at a path call for and isn't there.
fn called_for(shelf: &Shelf, path: &Path) -> Result<Vec<String>, Failure> {
    let path = path.canonicalize().map_err(|error| Failure::missing(format!("{}: {error}", path.display())))?;
    let selection = Selection::default();
    let root = survey::root_for(&path);
    let surveyor = Surveyor::of_folder(&shelf.registry, &shelf.installer, &selection, &root);
    let survey =
        if path.is_dir() { surveyor.folder(&root) } else { surveyor.files(&root, std::slice::from_ref(&path), false) };
    let missing = survey.missing().into_iter();
    Ok(missing.filter(|kind| installable(shelf, kind)).collect())
}

/// Whether codeyard can install the kind; otherwise says what to do.
fn installable(shelf: &Shelf, kind: &str) -> bool {
    use codeyard_lsp::registry::Install;
    match shelf.registry.servers.get(kind).and_then(|server| server.install.as_ref()) {
        Some(Install::Manual { hint }) => {
            eprintln!("{kind}: {hint}");
            false
        }
        Some(_) => true,
        None => {
            eprintln!("{kind}: put its program on the PATH");
            false
        }
    }
}

fn uninstall(shelf: &Shelf, kinds: &[String]) -> Result<(), Failure> {
    for kind in kinds {
        if !shelf.installer.uninstall(kind).map_err(|error| failure(&error))? {
            return Err(Failure::missing(format!("{kind} is not installed; `codeyard servers list` shows what is")));
        }
        eprintln!("{kind}: removed");
    }
    Ok(())
}

fn path(shelf: &Shelf, kind: Option<&str>) -> Result<(), Failure> {
    let Some(kind) = kind else {
        return output::print(format_args!("{}\n", shelf.installer.servers_dir().display()));
    };
    let server = shelf.registry.servers.get(kind).ok_or_else(|| failure(&Error::UnknownKind(kind.to_owned())))?;
    match shelf.installer.locate(kind, server, None) {
        Located::Ready(program) => output::print(format_args!("{}\n", program.program.display())),
        Located::NotInstalled { command } => Err(Failure::missing(format!("{kind} is not there: {command}"))),
        Located::Broken { why } => Err(Failure::new(format!("{kind} doesn't work: {why}"))),
    }
}

/// One line of progress; an open one is overwritten by the next.
fn tell(progress: &Progress, open: bool, terminal: bool) {
    let (kind, seconds) = (&progress.kind, progress.elapsed.as_secs_f32());
    let what = match &progress.step {
        Step::Waiting => "another process is installing it; waiting".to_owned(),
        Step::Fetching { packages, tool } => format!("fetching {packages} with {tool}, {seconds:.0} s"),
        Step::Checking => "checking that it runs".to_owned(),
        Step::Done { version } => format!("{version} installed in {seconds:.1} s"),
        Step::AlreadyThere { version } => format!("{version} is already installed"),
    };
    let begin = if terminal { "\r\x1b[K" } else { "" };
    eprint!("{begin}{kind}: {what}{}", if open { "" } else { "\n" });
}
