//! Where a server's program is: our own installation first, then the `PATH`.
//!
//! A program of the `PATH` counts only if its version probe exits with 0 in time (a rustup proxy without the component
//! doesn't). Folders of the `PATH` inside the workspace are passed over: a repository must not bring its own servers.

use std::collections::BTreeMap;
use std::env::split_paths;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use globset::Glob;

use super::{Installer, environment, record};
use crate::limits::{MAX_MARKER_ENTRIES, MAX_PROBES, PROBE_TIMEOUT_MS};
use crate::registry::{InstallSource, ServerSpec};
use codeyard_process::run::run;

/// Longest time of a probe.
pub(super) const PROBE_LIMIT: Duration = Duration::from_millis(PROBE_TIMEOUT_MS);
/// Longest version that is kept, in characters.
const MAX_VERSION: usize = 80;

/// A version, or why the program is of no use.
pub(super) type ProbeResult = Result<Option<String>, String>;

/// What there is of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramStatus {
    /// It can be started.
    Ready(ServerProgram),
    /// It isn't there.
    NotInstalled {
        /// The one command that would fix it, or what to do.
        command: String,
    },
    /// It is there and of no use.
    Broken {
        /// Why.
        why: String,
    },
}

/// A program that can be started.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerProgram {
    /// Its path, absolute.
    pub program: PathBuf,
    /// Its arguments; placeholders are still in them (see `registry::prepare`).
    pub args: Vec<String>,
    /// Environment it needs besides the registry's.
    pub env: BTreeMap<String, String>,
    /// What it says its version is.
    pub version: Option<String>,
    /// Where it comes from.
    pub source: ProgramSource,
    /// `{install}`: the installation's folder.
    pub install: Option<PathBuf>,
    /// `{bin}`: the folder of the installation's programs.
    pub bin: Option<PathBuf>,
}

/// Where a program comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramSource {
    /// InstalledServer by us.
    Installed,
    /// Found on the `PATH`.
    Path,
    /// A path of the configuration.
    Configured,
    /// This program itself.
    Builtin,
}

impl Installer {
    /// Where a server's program is. Takes up to 10 s when the probe of a program hangs; what a probe said is remembered.
    pub fn locate(&self, kind: &str, server: &ServerSpec, workspace_root: Option<&Path>) -> ProgramStatus {
        let Some(first) = server.command.first() else { return ProgramStatus::Broken { why: "no command".into() } };
        if server.install == Some(InstallSource::Builtin {}) {
            return builtin(server);
        }
        if first.contains('/') {
            return self.configured(Path::new(first), server);
        }
        let installed = self.folder(kind, server).and_then(|folder| Some((record(&folder)?, folder)));
        if let Some((record, folder)) = installed
            && let Some(program) = in_folder(&folder, server)
        {
            return ProgramStatus::Ready(ServerProgram { version: Some(record.version), ..program });
        }
        match self.on_path(first, workspace_root) {
            Some(path) => self.checked(path, ProgramSource::Path, server),
            None => ProgramStatus::NotInstalled { command: advice(kind, server) },
        }
    }

    /// Asks a program for its version, if it can be asked.
    pub(super) fn probe(&self, program: &ServerProgram, server: &ServerSpec) -> ProbeResult {
        if server.version_args.is_empty() {
            return Ok(None);
        }
        let modified = fs::metadata(&program.program).and_then(|meta| meta.modified());
        let key = (program.program.clone(), modified.unwrap_or(SystemTime::UNIX_EPOCH));
        if let Some(said) = self.probes.lock().get(&key) {
            return said.clone();
        }
        let said = self.ask(program, server);
        let mut probes = self.probes.lock();
        if probes.len() >= MAX_PROBES {
            probes.clear();
        }
        probes.insert(key, said.clone());
        said
    }

    fn ask(&self, program: &ServerProgram, server: &ServerSpec) -> ProbeResult {
        #[expect(clippy::disallowed_methods, reason = "version probes are run here")]
        let mut command = Command::new(&program.program);
        // What precedes the server's own arguments (a script for its interpreter) precedes the probe's too.
        let before = program.args.len().saturating_sub(server.command.len() - 1);
        command.args(&program.args[..before]).args(&server.version_args);
        // A configured wrapper may need the entry's own variables. Those with placeholders mean nothing before a start.
        command.envs(server.env.iter().filter(|(_, value)| !value.contains('{')));
        // A neutral folder: a version asked for in a repository could be the repository's doing.
        command.envs(&program.env).env("PATH", &self.path).env("RUSTUP_AUTO_INSTALL", "0").current_dir("/");
        let ended = run(command, self.limits.0, &|| ()).map_err(|e| format!("it can't be started: {e}"))?;
        if !ended.success() {
            let first = ended.output.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
            let told: String = first.trim().chars().take(200).collect();
            let asked = server.version_args.join(" ");
            return Err(format!("`{}` with `{asked}`: {} ({told})", server.command[0], ended.why()));
        }
        Ok(version_in(&ended.output))
    }

    fn configured(&self, path: &Path, server: &ServerSpec) -> ProgramStatus {
        if !path.is_absolute() {
            return ProgramStatus::Broken {
                why: format!("`{}` is neither a name nor an absolute path", path.display()),
            };
        }
        if !executable(path) {
            return ProgramStatus::Broken { why: format!("`{}` is not a program", path.display()) };
        }
        self.checked(path.into(), ProgramSource::Configured, server)
    }

    fn checked(&self, path: PathBuf, source: ProgramSource, server: &ServerSpec) -> ProgramStatus {
        let program = ServerProgram {
            program: path,
            args: server.command[1..].to_vec(),
            env: BTreeMap::new(),
            version: None,
            source,
            install: None,
            bin: None,
        };
        match self.probe(&program, server) {
            Ok(version) => ProgramStatus::Ready(ServerProgram { version, ..program }),
            Err(why) => ProgramStatus::Broken { why },
        }
    }

    /// The first program of this name on the `PATH`, outside the workspace.
    pub(super) fn on_path(&self, name: &str, workspace_root: Option<&Path>) -> Option<PathBuf> {
        split_paths(&self.path)
            .filter(|folder| folder.is_absolute() && workspace_root.is_none_or(|root| !folder.starts_with(root)))
            .map(|folder| folder.join(name))
            .find(|path| executable(path))
    }
}

/// The program inside an installation: without the package's wrapper if that can be told, else by name.
pub(super) fn in_folder(folder: &Path, server: &ServerSpec) -> Option<ServerProgram> {
    let bin = match &server.install {
        Some(InstallSource::Npm { .. }) => folder.join("node_modules/.bin"),
        _ => folder.join("bin"),
    };
    let direct: Option<Vec<PathBuf>> = server.direct.iter().map(|path| globbed(folder, path)).collect();
    // Only a package's own script needs to find the package. To others the folder would be one more place to look for what
    // the project imports.
    let (program, before, env) = match direct.as_deref() {
        Some([first, before @ ..]) if executable(first) => (first.clone(), before.to_vec(), BTreeMap::new()),
        _ => (bin.join(server.command.first()?), Vec::new(), environment(folder, server)),
    };
    if !executable(&program) {
        return None;
    }
    let before = before.iter().map(|path| path.to_string_lossy().into_owned());
    Some(ServerProgram {
        program,
        args: before.chain(server.command[1..].iter().cloned()).collect(),
        env,
        version: None,
        source: ProgramSource::Installed,
        install: Some(folder.into()),
        bin: Some(bin),
    })
}

/// The file that a path with globs names: for each part the first name by order that leads to one.
fn globbed(folder: &Path, path: &str) -> Option<PathBuf> {
    let (part, rest) = path.split_once('/').map_or((path, None), |(part, rest)| (part, Some(rest)));
    let names = if part.contains(['*', '?', '[', '{']) {
        let matcher = Glob::new(part).ok()?.compile_matcher();
        let entries = fs::read_dir(folder).ok()?.take(MAX_MARKER_ENTRIES).flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).filter(|name| matcher.is_match(name)).collect();
        names.sort();
        names
    } else {
        vec![part.into()]
    };
    names.into_iter().map(|name| folder.join(name)).find_map(|at| match rest {
        Some(rest) => globbed(&at, rest),
        None => at.is_file().then_some(at),
    })
}

/// This program, as it was started.
fn builtin(server: &ServerSpec) -> ProgramStatus {
    match std::env::current_exe() {
        Ok(program) => ProgramStatus::Ready(ServerProgram {
            program,
            args: server.command[1..].to_vec(),
            env: BTreeMap::new(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            source: ProgramSource::Builtin,
            install: None,
            bin: None,
        }),
        Err(error) => ProgramStatus::Broken { why: format!("this program's own path can't be found: {error}") },
    }
}

fn executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn advice(kind: &str, server: &ServerSpec) -> String {
    match &server.install {
        Some(InstallSource::Manual { hint }) => hint.clone(),
        Some(_) => format!("codeyard servers install {kind}"),
        None => format!("put `{}` on the PATH", server.command[0]),
    }
}

/// The first word of the output that looks like a version, else its first line.
fn version_in(output: &str) -> Option<String> {
    let looks = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let word =
        output.split(|c: char| c.is_whitespace() || "(),".contains(c)).map(|w| w.trim_start_matches('v')).find(looks);
    let line = || output.lines().map(str::trim).find(|line| !line.is_empty());
    Some(word.or_else(line)?.chars().take(MAX_VERSION).collect())
}
