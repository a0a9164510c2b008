//! Finds a server's program: first in codeyard's own installation, then on the `PATH`.
//!
//! A program on the `PATH` counts only if its version probe exits with 0 in time (a rustup proxy without the
//! component doesn't), if the version is one that codeyard knows, and if it answers as a language server. Folders of the `PATH` inside the workspace are skipped: a repository must not bring its own
//! servers.

use std::collections::{BTreeMap, HashMap};
use std::env::split_paths;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use globset::Glob;
use parking_lot::Mutex;

use super::{Installer, environment, handshake, record};
use crate::limits::MAX_MARKER_ENTRIES;
use crate::registry::{InstallSource, ServerSpec};
use codeyard_process::tool::Tool;

/// Longest time a program may take to print its version, in milliseconds.
const PROBE_TIMEOUT_MS: u64 = 10_000;
/// The time that a program may take to answer as a language server, in times of a version probe.
const HANDSHAKE_TIMES: u32 = 3;
/// Probes whose results are cached.
const MAX_PROBES: usize = 1_024;

/// The time limit of a probe.
pub(super) const PROBE_LIMIT: Duration = Duration::from_millis(PROBE_TIMEOUT_MS);
/// The longest version that is kept, in characters.
const MAX_VERSION: usize = 80;

/// The version, or why the program is unusable.
pub(super) type ProbeResult = Result<Option<String>, String>;
/// Results by program, its arguments, and the modification time of its file.
pub(super) type ProbeResults = Mutex<HashMap<(PathBuf, Vec<String>, SystemTime), ProbeResult>>;

/// Whether a server's program can be started.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramStatus {
    /// It can be started.
    Ready(ServerProgram),
    /// It is missing.
    NotInstalled {
        /// The one command that installs it, or what to do.
        command: String,
    },
    /// It exists but is unusable.
    Broken {
        why: String,
        /// The one command that mends it, or what to do.
        command: String,
    },
}

/// A program that can be started.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerProgram {
    /// Its path, absolute.
    pub program: PathBuf,
    /// Its arguments, with placeholders (see [`LaunchConfig::prepare`](crate::registry::LaunchConfig::prepare)).
    pub args: Vec<String>,
    /// The environment that it needs besides the one in the registry.
    pub env: BTreeMap<String, String>,
    /// The version that it prints.
    pub version: Option<String>,
    /// Where it comes from.
    pub source: ProgramSource,
    /// `{install}`: the installation's folder.
    pub install: Option<PathBuf>,
    /// `{bin}`: the folder of the installation's programs.
    pub bin: Option<PathBuf>,
    /// The program that it runs for its diagnostics.
    pub checker: Option<PathBuf>,
}

/// Where a program comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramSource {
    /// Installed by codeyard.
    Installed,
    /// Found on the `PATH`.
    Path,
    /// A path from the configuration.
    Configured,
    /// The codeyard program itself.
    Builtin,
}

impl Installer {
    /// Finds a server's program. Takes up to 10 s when the program's probe hangs. Results of probes are cached.
    pub fn locate(&self, kind: &str, server: &ServerSpec, workspace_root: Option<&Path>) -> ProgramStatus {
        let mut status = self.locate_server(kind, server, workspace_root);
        if let (ProgramStatus::Ready(program), Some(checker)) = (&mut status, &server.checker) {
            program.checker = self.on_path(&checker.program, workspace_root);
        }
        status
    }

    fn locate_server(&self, kind: &str, server: &ServerSpec, workspace_root: Option<&Path>) -> ProgramStatus {
        let Some(first) = server.command.first() else {
            return broken(kind, server, "its entry has no command".into());
        };
        if server.install == Some(InstallSource::Builtin {}) {
            return builtin(kind, server);
        }
        if first.contains('/') {
            return self.configured(kind, Path::new(first), server);
        }
        let installed = self.folder(kind, server).and_then(|folder| Some((record(&folder)?, folder)));
        if let Some((record, folder)) = installed
            && let Some(program) = in_folder(&folder, server)
        {
            return ProgramStatus::Ready(ServerProgram { version: Some(record.version), ..program });
        }
        match self.on_path(first, workspace_root) {
            Some(path) => self.checked(kind, path, ProgramSource::Path, server),
            None => ProgramStatus::NotInstalled { command: advice(kind, server) },
        }
    }

    /// Checks a program that codeyard didn't install: its version, and that it is a language server.
    fn proof(&self, program: &ServerProgram, server: &ServerSpec) -> ProbeResult {
        let version = self.probe(program, server)?;
        if program.source != ProgramSource::Path {
            return Ok(version);
        }
        if let (Some(version), Some(below)) = (&version, &server.below_version)
            && numbers(version) >= numbers(below)
        {
            let name = &server.command[0];
            return Err(format!("`{name}` is version {version}; codeyard can use versions below {below}"));
        }
        remembered(&self.handshakes, program, &|| {
            handshake::run(program, server, &self.path, self.limits.0 * HANDSHAKE_TIMES)
        })?;
        Ok(version)
    }

    /// Runs the version probe of a program, if it has one.
    pub(super) fn probe(&self, program: &ServerProgram, server: &ServerSpec) -> ProbeResult {
        if server.version_args.is_empty() {
            return Ok(None);
        }
        remembered(&self.probes, program, &|| self.run_probe(program, server))
    }

    fn run_probe(&self, program: &ServerProgram, server: &ServerSpec) -> ProbeResult {
        // Arguments before the server's own ones (a script for its interpreter) also precede those of the probe.
        let before = program.args.len().saturating_sub(server.command.len() - 1);
        let mut command = Tool::new(&program.program).args(&program.args[..before]).args(&server.version_args);
        // A configured wrapper may need the entry's variables. Those with placeholders are meaningless before a
        // start.
        let fixed = server.env.iter().filter(|(_, value)| !value.contains('{'));
        for (name, value) in fixed.chain(&program.env) {
            command = command.env(name, value);
        }
        // A neutral folder: in a repository, the project could influence the version that is printed.
        let command = command.env("PATH", &self.path).env("RUSTUP_AUTO_INSTALL", "0").current_dir("/");
        let ended = command.run(self.limits.0, &|| ()).map_err(|e| format!("it cannot be started: {e}"))?;
        if !ended.success() {
            let first = ended.output.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
            let excerpt: String = first.trim().chars().take(200).collect();
            let probe_args = server.version_args.join(" ");
            return Err(format!("`{}` with `{probe_args}`: {} ({excerpt})", server.command[0], ended.why()));
        }
        Ok(version_in(&ended.output))
    }

    fn configured(&self, kind: &str, path: &Path, server: &ServerSpec) -> ProgramStatus {
        if !path.is_absolute() {
            return broken(kind, server, format!("`{}` is neither a name nor an absolute path", path.display()));
        }
        if !executable(path) {
            return broken(kind, server, format!("`{}` is not a program", path.display()));
        }
        self.checked(kind, path.into(), ProgramSource::Configured, server)
    }

    fn checked(&self, kind: &str, path: PathBuf, source: ProgramSource, server: &ServerSpec) -> ProgramStatus {
        let program = ServerProgram {
            program: path,
            args: server.command[1..].to_vec(),
            env: BTreeMap::new(),
            version: None,
            source,
            install: None,
            bin: None,
            checker: None,
        };
        match self.proof(&program, server) {
            Ok(version) => ProgramStatus::Ready(ServerProgram { version, ..program }),
            Err(why) => broken(kind, server, why),
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

/// The result for this program, from `known` unless its file has changed.
fn remembered(known: &ProbeResults, program: &ServerProgram, run: &dyn Fn() -> ProbeResult) -> ProbeResult {
    let modified = fs::metadata(&program.program).and_then(|meta| meta.modified());
    let key = (program.program.clone(), program.args.clone(), modified.unwrap_or(SystemTime::UNIX_EPOCH));
    if let Some(result) = known.lock().get(&key) {
        return result.clone();
    }
    let result = run();
    let mut known = known.lock();
    if known.len() >= MAX_PROBES {
        known.clear();
    }
    known.insert(key, result.clone());
    result
}

/// The program inside an installation: without the package's wrapper where possible, otherwise by name.
pub(super) fn in_folder(folder: &Path, server: &ServerSpec) -> Option<ServerProgram> {
    let bin = match &server.install {
        Some(InstallSource::Npm { .. }) => folder.join("node_modules/.bin"),
        _ => folder.join("bin"),
    };
    let direct: Option<Vec<PathBuf>> = server.direct.iter().map(|path| globbed(folder, path)).collect();
    // Only a package's own script needs to find the package. Other programs would also search that folder for the
    // project's imports.
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
        checker: None,
    })
}

/// The file that a path with globs names. For each part, the first name in order that leads to a file.
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

/// The running codeyard program.
fn builtin(kind: &str, server: &ServerSpec) -> ProgramStatus {
    match std::env::current_exe() {
        Ok(program) => ProgramStatus::Ready(ServerProgram {
            program,
            args: server.command[1..].to_vec(),
            env: BTreeMap::new(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            source: ProgramSource::Builtin,
            install: None,
            bin: None,
            checker: None,
        }),
        Err(error) => broken(kind, server, format!("the path of the codeyard program is unknown: {error}")),
    }
}

/// A program that is there and unusable.
fn broken(kind: &str, server: &ServerSpec, why: String) -> ProgramStatus {
    let is_path = server.command.first().is_none_or(|first| first.contains('/'));
    let command = match &server.install {
        Some(InstallSource::Builtin {}) => "start codeyard by its absolute path".into(),
        // An installation doesn't replace a configured path.
        _ if is_path => format!("correct `command` of `[servers.{kind}]` in the configuration"),
        _ => advice(kind, server),
    };
    ProgramStatus::Broken { why, command }
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

/// The first word of the output that looks like a version, or else its first line.
fn version_in(output: &str) -> Option<String> {
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let word = output
        .split(|c: char| c.is_whitespace() || "(),".contains(c))
        .map(|w| w.trim_start_matches('v'))
        .find(is_version);
    let line = || output.lines().map(str::trim).find(|line| !line.is_empty());
    Some(word.or_else(line)?.chars().take(MAX_VERSION).collect())
}

/// The numbers of a version, to compare it with another one.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map_while(|part| part.parse().ok()).collect()
}
