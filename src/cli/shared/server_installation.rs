//! Installing language servers from the command line: the registry, the installer, progress lines on standard error, errors as
//! failures.

use std::cell::Cell;
use std::io::IsTerminal;

use serde_json::{Map, Value};

use crate::Failure;
use crate::args::RegistryArgs;
use crate::shared::assemble;
use codeyard_lsp::install::{InstallError, InstallProgress, InstallStep, Installer};
use codeyard_lsp::registry::Registry;
use codeyard_process::interruption::SignalWatch;

/// Seconds between two progress lines where a line cannot be overwritten.
const LINE_INTERVAL_S: u64 = 10;

/// The registry of language servers, and the installer of a state directory.
pub struct InstallContext {
    /// The registry, merged with the entries of the configuration.
    pub registry: Registry,
    pub installer: Installer,
}

impl InstallContext {
    /// The registry of the flags; without `--config` that of the running server, whose entries are `running`.
    pub(crate) fn open_or_running(args: &RegistryArgs, running: Option<&Map<String, Value>>) -> Result<Self, Failure> {
        let (None, Some(running)) = (&args.config, running) else { return Self::open(args) };
        let unusable = |error: String| {
            Failure::new(format!("the registry of the running server can't be used: {error}; pass --config FILE"))
        };
        let tables = toml::Table::try_from(running).map_err(|error| unusable(error.to_string()))?;
        let registry = Registry::merged(&tables).map_err(|error| unusable(error.to_string()))?;
        let state = assemble::open_state(args.state.state_dir.as_deref())?;
        Ok(Self { registry, installer: assemble::installer(&state) })
    }

    /// The registry and the state directory that the flags name.
    pub(crate) fn open(args: &RegistryArgs) -> Result<Self, Failure> {
        let state = assemble::open_state(args.state.state_dir.as_deref())?;
        let registry = match &args.config {
            Some(file) => assemble::registry_of(&assemble::read_config(file)?)?,
            None => Registry::builtin(),
        };
        Ok(Self { registry, installer: assemble::installer(&state) })
    }
}

/// Installs kinds of language servers. Prints progress on standard error. A signal that would end this process ends the installation with
/// [`InstallError::Interrupted`].
pub(crate) fn install_kinds(
    context: &InstallContext,
    kinds: &[String],
) -> Result<Vec<codeyard_lsp::install::InstalledServer>, InstallError> {
    let _watch = SignalWatch::begin();
    let terminal = std::io::stderr().is_terminal();
    let last_interval = Cell::new(None);
    context.installer.install(&context.registry, kinds, &|progress| {
        let running = matches!(progress.step, InstallStep::Fetching { .. });
        let interval = Some(progress.elapsed.as_secs() / LINE_INTERVAL_S);
        // A terminal line is overwritten each time. Elsewhere a running step prints one line per interval.
        if terminal || !running || last_interval.replace(interval) != interval {
            print_progress(&progress, terminal && running, terminal);
        }
    })
}

/// The failure of a command for an error of the installer.
pub fn install_failure(error: &InstallError) -> Failure {
    let message = error.to_string();
    match error {
        InstallError::UnknownKind(_) => Failure::missing(message),
        InstallError::Interrupted { signal, .. } => Failure { message, code: signal.exit_code() },
        InstallError::Failed { kind, .. } | InstallError::Unusable { kind, .. } => {
            Failure::new(format!("{message}\nthen run `codeyard servers install {kind}` again"))
        }
        _ => Failure::new(message),
    }
}

/// Prints one line of progress. The next line overwrites an `open` one.
fn print_progress(progress: &InstallProgress, open: bool, terminal: bool) {
    let kind = &progress.kind;
    let seconds = progress.elapsed.as_secs_f32();
    let step = match &progress.step {
        InstallStep::Waiting => "waiting; another process is installing it".to_owned(),
        InstallStep::Fetching { packages, tool } => format!("fetching {packages} with {tool}, {seconds:.0} s"),
        InstallStep::Checking => "checking that it runs".to_owned(),
        InstallStep::Done { version } => format!("{version} installed in {seconds:.1} s"),
        InstallStep::AlreadyThere { version } => format!("{version} is already installed"),
    };
    let step = codeyard_base::visible::visible_line(&step);
    let begin = if terminal { "\r\x1b[K" } else { "" };
    eprint!("{begin}{kind}: {step}{}", if open { "" } else { "\n" });
}
